//! `/memories`: what the agent remembers of anybody, to be seen, added, changed, forgotten and
//! brought back.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use recto_agent::{Agent, MemoryEdit, Right, is_allowed};
use recto_context::{ContentHash, ContentSource, Memory, MemoryMarks, MemoryScope, one_line};
use recto_workspace::{AllMemories, TextMarks};
use serde::Deserialize;

use super::files::file_address;
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::{PageResult, problem_block};
use super::workspace::{agent_tabs, asked_agent};
use crate::access::Caller;
use crate::extract::{PageFields, PageQuery};
use crate::gateway::Gateway;
use crate::problem::ApiProblem;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/memories", get(show_memories))
        .route("/memories/add", post(add_memory))
        .route("/memories/edit", post(edit_memory))
        .route("/memories/forget", post(forget_memory))
        .route("/memories/restore", post(restore_memory))
}

/// The agent whose memories are looked at.
#[derive(Debug, Default, Deserialize)]
struct MemoriesQuery {
    agent: Option<String>,
}

/// What a form of this page sends. A mark that is not set is not sent.
#[derive(Debug, Deserialize)]
struct MemoryForm {
    agent: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    text: String,
    important: Option<String>,
    shared: Option<String>,
}

impl MemoryForm {
    fn marks(&self) -> MemoryMarks {
        MemoryMarks { important: self.important.is_some(), shared: self.shared.is_some() }
    }
}

async fn show_memories(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<MemoriesQuery>,
) -> PageResult<Markup> {
    let agent = asked_agent(&gateway, query.agent.as_deref())?;
    render_memories(&gateway, &visitor, agent, None).await
}

/// What somebody typed that could not be remembered so, and why.
#[derive(Debug, Clone, Copy)]
struct RefusedMemory<'a> {
    form: &'a MemoryForm,
    problem: &'a ApiProblem,
}

/// The page, with what was typed in vain where it can be sent anew.
async fn render_memories(
    gateway: &Gateway,
    visitor: &PageVisitor,
    agent: &Agent,
    refused: Option<RefusedMemory<'_>>,
) -> PageResult<Markup> {
    let remembered = agent.all_memories(&visitor.actor).await?;
    let forgotten = agent.forgotten_memories(&visitor.actor).await?;
    let chrome = PageChrome::load(gateway, visitor, agent.name()).await?;
    let list = MemoryList {
        chrome: &chrome,
        agent: agent.name(),
        refused,
        may_change: is_allowed(visitor.actor.role, Right::ChangeWorkspace),
    };
    let body = memories_page(gateway, agent, list, &remembered, &forgotten);
    let frame = PageFrame {
        title: "Memories",
        page: Some(NavPage::Memories),
        body_class: "",
        scripts: &[],
    };
    Ok(chrome.render(frame, &body))
}

async fn add_memory(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageFields(form): PageFields<MemoryForm>,
) -> PageResult<Response> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    let in_text = TextMarks::Taken;
    match agent.add_memory(&visitor.actor, &form.text, form.marks(), in_text).await {
        Ok(added) => Ok(back_to(agent, &added.memory).into_response()),
        Err(error) => refuse_memory(&gateway, &visitor, agent, &form, error.into()).await,
    }
}

async fn edit_memory(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageFields(form): PageFields<MemoryForm>,
) -> PageResult<Response> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    let edit = MemoryEdit { text: Some(form.text.clone()), marks: Some(form.marks()) };
    match agent.edit_memory(&visitor.actor, &form.name, edit).await {
        Ok(edited) => Ok(back_to(agent, &edited).into_response()),
        Err(error) => refuse_memory(&gateway, &visitor, agent, &form, error.into()).await,
    }
}

/// Says why a memory was not kept, with all that was typed: a memory that somebody else has
/// forgotten meanwhile can be remembered anew.
async fn refuse_memory(
    gateway: &Gateway,
    visitor: &PageVisitor,
    agent: &Agent,
    form: &MemoryForm,
    problem: ApiProblem,
) -> PageResult<Response> {
    if !is_allowed(visitor.actor.role, Right::ChangeWorkspace) {
        return Err(problem.into());
    }
    let refused = RefusedMemory { form, problem: &problem };
    let page = render_memories(gateway, visitor, agent, Some(refused)).await?;
    Ok((problem.status(), page).into_response())
}

async fn forget_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<MemoryForm>,
) -> PageResult<Redirect> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    let forgotten = agent.forget_memory(&actor, &form.name).await?;
    Ok(back_to(agent, &forgotten.memory))
}

async fn restore_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<MemoryForm>,
) -> PageResult<Redirect> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    let restored = agent.restore_memory(&actor, &form.name).await?;
    Ok(back_to(agent, &restored.memory))
}

fn back_to(agent: &Agent, memory: &Memory) -> Redirect {
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("agent", agent.name()).finish();
    Redirect::to(&format!("/memories?{query}#{}", anchor(memory)))
}

/// The id of a memory on the page.
fn anchor(memory: &Memory) -> String {
    format!("m-{}", ContentHash::of_bytes(memory.name.as_bytes()).short())
}

fn memories_page(
    gateway: &Gateway,
    agent: &Agent,
    list: MemoryList<'_>,
    remembered: &AllMemories,
    forgotten: &AllMemories,
) -> Markup {
    let mut newest: Vec<&Memory> = remembered.memories.iter().collect();
    newest.sort_by_key(|memory| (std::cmp::Reverse(memory.added), memory.name.clone()));
    html! {
        main.page.narrow-page id="main" {
            header.head {
                div {
                    h1 { "Memories" }
                    p.q { "agent " (agent.name()) " · " (newest.len()) " remembered" }
                    @if gateway.agents().len() > 1 { (agent_tabs(gateway, "/memories", agent)) }
                }
            }
            @if remembered.has_gaps {
                p.wait { "Not every file of memories can be read; `memory check` names them." }
            }
            @if list.may_change { (list.add_form()) }
            section aria-label="What is remembered" {
                @if newest.is_empty() { p.empty { "Nothing is remembered yet." } }
                ul.memories { @for memory in newest { (list.remembered(memory)) } }
            }
            @if !forgotten.memories.is_empty() {
                details.fold id="forgotten" {
                    summary { (forgotten.memories.len()) " forgotten" }
                    ul.memories {
                        @for memory in forgotten.memories.iter() { (list.forgotten(memory)) }
                    }
                }
            }
        }
    }
}

/// How memories are listed.
#[derive(Clone, Copy)]
struct MemoryList<'a> {
    chrome: &'a PageChrome,
    agent: &'a str,
    may_change: bool,
    refused: Option<RefusedMemory<'a>>,
}

impl MemoryList<'_> {
    fn add_form(self) -> Markup {
        let typed = self.refused.map(|refused| refused.form);
        let marks = typed.map_or(MemoryMarks::default(), MemoryForm::marks);
        let content = html! {
            (self.agent_field())
            label for="new-memory" { "Remember" }
            // A field of one line, which Enter sends.
            input id="new-memory" name="text" required autocomplete="off" dir="auto"
                value=[typed.map(|typed| one_line(&typed.text))]
                placeholder="a fact or a wish, in one sentence";
            div.acts {
                (mark_boxes(marks))
                button.btn.first type="submit" { "Remember" }
            }
        };
        html! {
            @if let Some(refused) = self.refused {
                (problem_block(refused.problem))
                p.wait { "What you typed stands below, to be remembered anew." }
            }
            (self.chrome.post_form("/memories/add", "memo", &content))
        }
    }

    fn agent_field(self) -> Markup {
        html! { input type="hidden" name="agent" value=(self.agent); }
    }

    fn remembered(self, memory: &Memory) -> Markup {
        html! {
            li.memory id=(anchor(memory)) {
                p.said-of { (memory.text.as_str()) }
                (self.facts(memory))
                @if self.may_change { (self.changes(memory)) }
            }
        }
    }

    /// When it came, whose it is, and where it stands.
    fn facts(self, memory: &Memory) -> Markup {
        html! {
            p.q {
                @if let Some(day) = day(memory.added) { (day) " · " }
                (scope_words(&memory.scope))
                @if memory.marks.important { " · " b { "important" } }
                @if memory.marks.shared { " · " b { "shared" } }
                " · "
                @match &memory.source {
                    ContentSource::File(path) => {
                        a href=(file_address(self.agent, path)) { (memory.name) }
                    },
                    _ => (memory.name),
                }
            }
        }
    }

    fn changes(self, memory: &Memory) -> Markup {
        let id = anchor(memory);
        let fields = html! {
            (self.agent_field())
            input type="hidden" name="name" value=(memory.name);
        };
        let edit = html! {
            (fields)
            label.vh for={ (id) "-text" } { "Text" }
            textarea id={ (id) "-text" } name="text" rows="3" required { (memory.text.as_str()) }
            div.acts {
                (mark_boxes(memory.marks))
                button.btn type="submit" { "Save" }
            }
        };
        let forget = html! { (fields) button.btn.plain type="submit" { "Forget" } };
        html! {
            div.changes {
                details.fold { summary { "Edit" } (self.chrome.post_form("/memories/edit", "memo", &edit)) }
                (self.chrome.post_form("/memories/forget", "", &forget))
            }
        }
    }

    fn forgotten(self, memory: &Memory) -> Markup {
        let restore = html! {
            (self.agent_field())
            input type="hidden" name="name" value=(memory.name);
            button.btn.plain type="submit" { "Restore" }
        };
        html! {
            li.memory id=(anchor(memory)) {
                p.said-of { (memory.text.as_str()) }
                p.q {
                    @if let Some(day) = day(memory.added) { (day) " · " }
                    (scope_words(&memory.scope)) " · " (memory.name)
                }
                @if self.may_change {
                    div.changes { (self.chrome.post_form("/memories/restore", "", &restore)) }
                }
            }
        }
    }
}

/// The marks of a memory, to be set and taken off.
fn mark_boxes(marks: MemoryMarks) -> Markup {
    let boxes = [
        ("important", "Important", "on the page of every session", marks.important),
        ("shared", "Shared", "guests and groups may see it", marks.shared),
    ];
    html! {
        @for (name, label, meaning, is_set) in boxes {
            label.tick title=(meaning) {
                input type="checkbox" name=(name) value="yes" checked[is_set];
                " " (label)
            }
        }
    }
}

fn scope_words(scope: &MemoryScope) -> String {
    match scope {
        MemoryScope::Global => "the owner's".to_owned(),
        MemoryScope::Person(id) => format!("person {id}"),
        MemoryScope::Conversation(key) => format!("conversation {key}"),
        MemoryScope::Agent(id) => format!("agent {id}"),
    }
}

/// The day on which something was added, where one is known.
fn day(added: Option<i64>) -> Option<String> {
    const DAY: i64 = 24 * 60 * 60;
    let at = Timestamp::from_second(added?).ok()?;
    // Where only the day is known, its beginning stands for it, wherever one is.
    let zone = if at.as_second() % DAY == 0 { TimeZone::UTC } else { TimeZone::system() };
    Some(at.to_zoned(zone).strftime("%Y-%m-%d").to_string())
}
