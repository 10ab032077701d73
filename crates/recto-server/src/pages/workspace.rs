//! `/workspace`: all that an agent has, with when it is included, what it costs and how it is used;
//! problems of files; and a box that shows what would fit a message.
//!
//! Include modes are written into the config by the program around the server, and hold in the
//! running agents from the next turn on.

mod helpers;
mod item_table;

use std::collections::HashMap;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{Agent, AgentInventory, Right, is_allowed, list_items};
use recto_context::{IncludeMode, ItemId, ItemKind, Tokens};
use recto_store::ItemUsage;
use recto_workspace::{Severity, SkipReason, SkippedItem, WorkspaceProblem};
use serde::Deserialize;

use super::chart::newest_chart;
use super::context::kind_title;
use super::item_search::{find_fitting, search_section};
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use crate::access::Caller;
use crate::extract::{PageFields, PageQuery};
use crate::gateway::Gateway;
use crate::host::{IncludeChange, IncludeTarget};
use crate::includes;
use crate::problem::ApiProblem;
use helpers::sub_agent_section;
use item_table::{WorkspaceTable, item_anchor, server_anchor};

/// The kinds that stand on the page, in its order.
const KINDS: [ItemKind; 4] = [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool];

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/workspace", get(show_workspace))
        .route("/workspace/include", post(set_include))
}

/// The agent that is looked at, and a message to search with.
#[derive(Debug, Default, Deserialize)]
struct WorkspaceQuery {
    agent: Option<String>,
    message: Option<String>,
}

async fn show_workspace(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<WorkspaceQuery>,
) -> PageResult<Markup> {
    let agent = asked_agent(&gateway, query.agent.as_deref())?;
    let inventory = agent.inventory(&visitor.actor).await?;
    let usage = read_usage(&gateway, agent.name()).await?;
    let message = query.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let found = match message {
        Some(message) => {
            let (actor, catalog) = (&visitor.actor, &inventory.catalog);
            Some((message, find_fitting(agent, actor, catalog, message).await))
        }
        None => None,
    };
    let found = found.as_ref().map(|(message, report)| (*message, report));
    let search = search_section(&gateway, agent.name(), &inventory.catalog, found);
    let chart = newest_chart(&gateway, &visitor.actor, agent.name()).await?;
    let schedules = agent.schedules(&visitor.actor).await?.len();
    let above = html! {
        div.duo {
            (search)
            @if let Some(chart) = chart { (chart) }
        }
        (sub_agent_section(&inventory.snapshot.sub_agents))
    };
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let table = WorkspaceTable {
        chrome: &chrome,
        agent: agent.name(),
        inventory: &inventory,
        usage: &usage,
        may_change: is_allowed(visitor.actor.role, Right::ChangeWorkspace),
    };
    let body = workspace_page(&gateway, agent, &table, schedules, &above);
    let frame =
        PageFrame { title: "Items", page: Some(NavPage::Workspace), body_class: "", scripts: &[] };
    Ok(chrome.render(frame, &body))
}

/// The agent of that name, or the default.
pub(crate) fn asked_agent<'g>(gateway: &'g Gateway, name: Option<&str>) -> PageResult<&'g Agent> {
    match name {
        None => Ok(gateway.default_agent()?),
        Some(name) => Ok(gateway.agent(name).ok_or_else(|| {
            let title = format!("there is no agent `{name}`");
            ApiProblem::new(StatusCode::NOT_FOUND, "no_such_agent", title)
        })?),
    }
}

async fn read_usage(gateway: &Gateway, agent: &str) -> PageResult<HashMap<ItemId, ItemUsage>> {
    let since = None;
    let usage = gateway.store().usage(agent, since).await?;
    Ok(usage.items.into_iter().map(|usage| (usage.item.clone(), usage)).collect())
}

fn workspace_page(
    gateway: &Gateway,
    agent: &Agent,
    table: &WorkspaceTable<'_>,
    schedules: usize,
    above: &Markup,
) -> Markup {
    let AgentInventory { catalog, snapshot, .. } = table.inventory;
    html! {
        main.page id="main" {
            header.head {
                div {
                    h1 { "Items of the workspace" }
                    p.q {
                        "agent " (agent.name()) " · "
                        "about " (always_tokens(table.inventory)) " tokens go into every session · "
                        a href={ "/schedules?agent=" (agent.name()) } {
                            @match schedules {
                                0 => "no schedules",
                                1 => "1 schedule",
                                some => { (some) " schedules" },
                            }
                        }
                    }
                    @if gateway.agents().len() > 1 { (agent_tabs(gateway, "/workspace", agent)) }
                }
                nav.tabs.kinds aria-label="Kinds" {
                    @for kind in KINDS {
                        a href={ "#" (kind) "s" } {
                            (kind_title(kind)) small { (list_items(catalog, kind).len()) }
                        }
                    }
                }
            }
            (above)
            (problems(gateway, &snapshot.problems, &snapshot.skipped))
            section aria-label="All items" {
                @for kind in KINDS { (table.render(kind)) }
            }
        }
    }
}

/// The agents of the gateway, where there are several.
pub(crate) fn agent_tabs(gateway: &Gateway, path: &str, current: &Agent) -> Markup {
    html! {
        nav.tabs aria-label="Agents" {
            @for agent in gateway.agents() {
                @let is_current = agent.name() == current.name();
                a href={ (path) "?agent=" (agent.name()) }
                    aria-current=[is_current.then_some("true")] { (agent.name()) }
            }
        }
    }
}

/// What the items cost that every new session begins with.
fn always_tokens(inventory: &AgentInventory) -> Tokens {
    let items = KINDS.into_iter().flat_map(|kind| list_items(&inventory.catalog, kind));
    items.filter(|item| item.include == IncludeMode::Always).map(|item| item.tokens).sum()
}

/// What is wrong with files, and what was left out on purpose.
fn problems(gateway: &Gateway, problems: &[WorkspaceProblem], skipped: &[SkippedItem]) -> Markup {
    html! {
        @if !problems.is_empty() || !skipped.is_empty() {
            section aria-labelledby="problem-title" {
                h2 id="problem-title" { "Problems of files" }
                ul.problems {
                    @for problem in problems {
                        li {
                            @match problem.severity {
                                Severity::Error => span.no-ok { "✗ error" },
                                Severity::Warning => span.wait { "! warning" },
                            }
                            " " code { (problem.path.display()) }
                            @if let Some(line) = problem.line { ":" (line) }
                            " " (problem.what)
                            @if let Some(hint) = &problem.hint { " " span.q { (hint) } }
                            @if let Some(remedy) = &problem.remedy {
                                " " span.q { (gateway.describe_remedy(remedy)) }
                            }
                        }
                    }
                    @for item in skipped {
                        li {
                            span.q { "left out" } " " (item.item) " "
                            code { (item.path.display()) } " " (skip_words(&item.reason))
                        }
                    }
                }
            }
        }
    }
}

fn skip_words(reason: &SkipReason) -> String {
    match reason {
        SkipReason::Disabled => "disabled in the config".to_owned(),
        SkipReason::Overwritten { by } => format!("overwritten by {}", by.display()),
        SkipReason::MissingPrograms(programs) => {
            format!("these programs are missing: {}", programs.join(", "))
        }
    }
}

/// An include mode that somebody chose on the page.
#[derive(Debug, Deserialize)]
struct IncludeForm {
    agent: String,
    /// The kind of the item; `server` for all tools of an MCP server.
    kind: String,
    name: String,
    /// The server or skill that a tool comes from.
    server: Option<String>,
    include: String,
}

async fn set_include(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<IncludeForm>,
) -> PageResult<Redirect> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    let (target, anchor) = form.target()?;
    let change = IncludeChange { agent: form.agent.clone(), target, include: form.include_mode()? };
    includes::set_include(&gateway, &actor, change).await?;
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("agent", agent.name()).finish();
    Ok(Redirect::to(&format!("/workspace?{query}#{anchor}")))
}

impl IncludeForm {
    /// What is meant, and where it stands on the page.
    fn target(&self) -> PageResult<(IncludeTarget, String)> {
        if self.kind == "server" {
            return Ok((IncludeTarget::Server(self.name.clone()), server_anchor(&self.name)));
        }
        let kind = KINDS.into_iter().find(|kind| kind.name() == self.kind);
        let kind = kind.ok_or_else(|| bad_form(format!("there is no kind `{}`", self.kind)))?;
        let server = self.server.as_deref().filter(|server| !server.is_empty());
        let item = ItemId { kind, name: self.name.as_str().into(), server: server.map(Into::into) };
        let anchor = item_anchor(&item);
        Ok((IncludeTarget::Item(item), anchor))
    }

    /// The mode; none where nothing is to be set any more.
    fn include_mode(&self) -> PageResult<Option<IncludeMode>> {
        let modes = [IncludeMode::Always, IncludeMode::Manual, IncludeMode::Agent];
        match modes.into_iter().find(|mode| mode.name() == self.include) {
            Some(mode) => Ok(Some(mode)),
            None if self.include == "unset" => Ok(None),
            None => Err(bad_form(format!("there is no include mode `{}`", self.include)).into()),
        }
    }
}

fn bad_form(title: String) -> ApiProblem {
    ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_form", title)
}
