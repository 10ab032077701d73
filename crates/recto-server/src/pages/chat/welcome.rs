//! The page of a new session, where nothing was said yet: who answers, and what every conversation
//! begins with.

use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, AgentError, ListedItem, Right, SessionSettings, is_allowed, list_items,
};
use recto_context::{Catalog, IncludeMode, ItemKind, Tokens};

use super::composer::{ComposerDraft, MessageComposer};
use super::key_list::key_list;
use super::side_list::SideList;
use super::talk_obstacle::TalkObstacle;
use crate::gateway::Gateway;
use crate::pages::context::CONTEXT_SCRIPT;
use crate::pages::layout::{NavPage, PageChrome, PageFrame, PageVisitor, with_code};
use crate::pages::page_problem::PageResult;
use crate::pages::session_panel::effective_mode;
use crate::pages::workspace::agent_tabs;

/// The kinds that a session can begin with, each with its name alone and in number.
const KINDS: [(ItemKind, &str, &str); 4] = [
    (ItemKind::Rule, "rule", "rules"),
    (ItemKind::Reference, "reference", "references"),
    (ItemKind::Skill, "skill", "skills"),
    (ItemKind::Tool, "tool", "tools"),
];

/// The page on which a session begins.
#[derive(Debug, Default)]
pub(crate) struct NewSessionPage {
    /// The agent that it is to be with; the default where none is named.
    pub(crate) agent: Option<String>,
    /// What a command has answered.
    pub(crate) answer: Markup,
}

impl NewSessionPage {
    /// The page as it is for somebody, with the sessions at its side.
    pub(crate) async fn render(
        &self,
        gateway: &Gateway,
        visitor: &PageVisitor,
        side: &SideList,
    ) -> PageResult<Markup> {
        let agent = gateway.agent_or_default(self.agent.as_deref())?;
        let is_choice = gateway.agents().len() > 1;
        let chrome = PageChrome::load(gateway, visitor, agent.name()).await?;
        let frame = PageFrame {
            title: "New session",
            page: Some(NavPage::Chat),
            body_class: "chat alone",
            scripts: &["chat.js", CONTEXT_SCRIPT],
        };
        let lead = html! {
            @if is_choice { input type="hidden" name="agent" value=(agent.name()); }
        };
        let mode = effective_mode(&SessionSettings::default(), agent.models().first());
        let draft = &ComposerDraft::Empty;
        let composer = MessageComposer { action: "/sessions", draft, mode, lead: &lead };
        let obstacle = TalkObstacle::find_for(&visitor.actor);
        let catalog = agent.catalog().await;
        let body = html! {
            (side.render(&chrome, None))
            main.talk #main data-agent=[is_choice.then_some(agent.name())] {
                header {
                    button.btn.plain.narrow type="button" popovertarget="sessions" { "Sessions" }
                    h1.cut { "New session" }
                }
                div.scroll {
                    div.turns {
                        div #answers role="status" { (self.answer) }
                        @if is_choice { (agent_tabs(gateway, "/new", agent)) }
                        (welcome_words(gateway, &visitor.actor, (agent, &catalog), &chrome))
                    }
                }
                @match &obstacle {
                    Some(obstacle) => (obstacle.render(gateway)),
                    None => (composer.render(&chrome)),
                }
            }
            (key_list())
        };
        Ok(chrome.render(frame, &body))
    }
}

/// The words of an empty conversation.
fn welcome_words(
    gateway: &Gateway,
    actor: &Actor,
    (agent, catalog): (&Agent, &Catalog),
    chrome: &PageChrome,
) -> Markup {
    let items = format!("/workspace{}", chrome.agent_query);
    html! {
        div.empty.welcome {
            h2 { "Talk to " (agent.name()) }
            @match agent.models().first() {
                Some(model) => p {
                    b { (model.name) } " answers. Under every reply stands "
                    b { "View context" } ": all that the model saw, and why."
                },
                None => (no_model_words(gateway, actor)),
            }
            @if is_allowed(actor.role, Right::SeeWorkspace) {
                dl.facts {
                    (included(catalog, IncludeMode::Always, "Always there", &items))
                    (included(catalog, IncludeMode::Agent, "When it fits", &items))
                    (included(catalog, IncludeMode::Manual, "When named", &items))
                }
            }
        }
    }
}

/// What to do where there is no model, as the terminal and `doctor` say it.
fn no_model_words(gateway: &Gateway, actor: &Actor) -> Markup {
    let (hint, remedy) = (AgentError::NoModel.hint(), AgentError::NoModel.remedy());
    html! {
        p.no-model { b { "No model answers yet." } " It is looked for all the time: once there is one, this page has it." }
        @if is_allowed(actor.role, Right::SeeWorkspace) {
            @if let Some(remedy) = &remedy { p { "In a terminal: " (with_code(&gateway.describe_remedy(remedy))) } }
            p {
                @if let Some(hint) = hint { (sentence(&hint)) " " }
                a href="/models" { "Models" } " shows where one was looked for."
            }
        } @else {
            p { "The agent's owner can add one." }
        }
    }
}

/// A hint as a sentence of its own.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// The items of an include mode, counted, and what they take; nothing where there are none.
fn included(catalog: &Catalog, include: IncludeMode, title: &str, items: &str) -> Markup {
    let of_kind = |kind| {
        let items = list_items(catalog, kind).into_iter();
        items.filter(|item| item.include == include).collect::<Vec<ListedItem<'_>>>()
    };
    let counted: Vec<(Vec<ListedItem<'_>>, &str, &str)> =
        KINDS.iter().map(|(kind, one, many)| (of_kind(*kind), *one, *many)).collect();
    let tokens: Tokens = counted.iter().flat_map(|(items, ..)| items).map(|it| it.tokens).sum();
    let words = counted.iter().filter(|(items, ..)| !items.is_empty());
    let words = words.map(|(items, one, many)| {
        let name = if items.len() == 1 { one } else { many };
        format!("{} {name}", items.len())
    });
    let words: Vec<String> = words.collect();
    html! {
        @if !words.is_empty() {
            dt { (title) }
            dd {
                a href=(items) { (words.join(", ")) } ", about " (tokens) " tokens"
                @if include == IncludeMode::Manual { ": type " code { "@" } }
            }
        }
    }
}
