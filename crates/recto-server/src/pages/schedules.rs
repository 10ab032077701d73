//! `/schedules`: what an agent does at set times, when each runs next and how it last went, with the
//! forms that run one now and remove it.

use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{LoggedRun, Right, ScheduleView, describe_outcome, is_allowed};
use recto_store::{StoredRun, TurnEnding, TurnId};
use serde::Deserialize;

use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use super::visible_text::show_controls;
use super::workspace::{agent_tabs, asked_agent};
use crate::access::Caller;
use crate::extract::{PageFields, PageQuery};
use crate::gateway::Gateway;

/// The most past runs that are listed; the API has the others.
const MOST_RUNS: u32 = 20;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/schedules", get(show_schedules))
        .route("/schedules/run", post(run_schedule))
        .route("/schedules/remove", post(remove_schedule))
}

/// The agent that is looked at.
#[derive(Debug, Default, Deserialize)]
struct ScheduleQuery {
    agent: Option<String>,
}

async fn show_schedules(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<ScheduleQuery>,
) -> PageResult<Markup> {
    let agent = asked_agent(&gateway, query.agent.as_deref())?;
    let schedules = agent.schedules(&visitor.actor).await?;
    let runs = agent.schedule_log(&visitor.actor, None, MOST_RUNS).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let may_change = is_allowed(visitor.actor.role, Right::ChangeWorkspace);
    let frame = PageFrame {
        title: "Schedules",
        page: Some(NavPage::Workspace),
        body_class: "",
        scripts: &[],
    };
    let body = html! {
        main.page id="main" {
            header.head {
                div {
                    p.crumbs { a href={ "/workspace?agent=" (agent.name()) } { "Items" } }
                    h1 { "Schedules" }
                    p.q { "agent " (agent.name()) " · they run while the server is up" }
                    @if gateway.agents().len() > 1 { (agent_tabs(&gateway, "/schedules", agent)) }
                }
            }
            (schedule_table(&chrome, &schedules, may_change))
            (run_section(&runs, &schedules))
        }
    };
    Ok(chrome.render(frame, &body))
}

fn schedule_table(chrome: &PageChrome, schedules: &[ScheduleView], may_change: bool) -> Markup {
    html! {
        section aria-label="All schedules" {
            @if schedules.is_empty() {
                p.empty {
                    "Nothing is scheduled. In a terminal, "
                    code { "recto schedule add NAME TASK --cron PATTERN" } " makes one."
                }
            } @else {
                table.list {
                    thead {
                        tr {
                            th scope="col" { "Name" } th scope="col" { "When" }
                            th scope="col" { "Next run" } th scope="col" { "Last run" }
                            th scope="col" { "Answer" } th scope="col" { "" }
                        }
                    }
                    tbody {
                        @for view in schedules { (schedule_row(chrome, view, may_change)) }
                    }
                }
            }
        }
    }
}

fn schedule_row(chrome: &PageChrome, view: &ScheduleView, may_change: bool) -> Markup {
    let name = &view.stored.name;
    html! {
        tr id={ "schedule-" (name) } {
            td { b { (name) } br; span.q { (show_controls(&view.stored.task)) } }
            td { (show_controls(&view.describe_plan())) }
            td { (view.describe_next()) }
            td {
                @match &view.last_run {
                    Some(run) => {
                        (outcome_words(run)) " " span.q { (view.show_time(run.begun)) }
                        (turn_link(run.turn))
                    },
                    None => span.q { "none yet" },
                }
            }
            td { (show_controls(&view.answer_to)) }
            td {
                @if may_change {
                    (row_form(chrome, view, "/schedules/run", "Run now"))
                    (row_form(chrome, view, "/schedules/remove", "Remove"))
                }
            }
        }
    }
}

fn row_form(chrome: &PageChrome, view: &ScheduleView, action: &str, words: &str) -> Markup {
    let content = html! {
        input type="hidden" name="agent" value=(view.stored.agent);
        input type="hidden" name="name" value=(view.stored.name);
        button.btn.plain type="submit" aria-label={ (words) ": " (view.stored.name) } { (words) }
    };
    chrome.post_form(action, "", &content)
}

fn outcome_words(run: &StoredRun) -> Markup {
    let class = match run.outcome {
        None => "wait",
        Some(TurnEnding::Done) => "ok",
        Some(_) => "no-ok",
    };
    html! { span class=(class) { (describe_outcome(run)) } }
}

fn turn_link(turn: Option<TurnId>) -> Markup {
    html! { @if let Some(turn) = turn { " " a href={ "/turns/" (turn) } { "turn " (turn) } } }
}

/// Past runs, those of schedules that are removed included.
fn run_section(runs: &[LoggedRun], schedules: &[ScheduleView]) -> Markup {
    let begun = |logged: &LoggedRun| {
        let of_run = schedules.iter().find(|view| view.stored.id == logged.run.schedule);
        of_run.map_or_else(|| times_of_machine(logged), |view| view.show_time(logged.run.begun))
    };
    html! {
        @if !runs.is_empty() {
            section aria-labelledby="runs-title" {
                h2 id="runs-title" { "Past runs" }
                table.list {
                    thead {
                        tr {
                            th scope="col" { "Run" } th scope="col" { "Schedule" }
                            th scope="col" { "Begun" } th scope="col" { "Outcome" }
                            th scope="col" { "More" }
                        }
                    }
                    tbody {
                        @for logged in runs {
                            tr {
                                td { (logged.run.id) }
                                td { (show_controls(&logged.schedule)) }
                                td { (begun(logged)) }
                                td { (outcome_words(&logged.run)) (turn_link(logged.run.turn)) }
                                td.q { (show_controls(&logged.remarks().join("; "))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// When a run of a schedule that is removed was begun.
fn times_of_machine(logged: &LoggedRun) -> String {
    super::times::local(logged.run.begun).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// The schedule that a form is about.
#[derive(Debug, Deserialize)]
struct ScheduleForm {
    agent: String,
    name: String,
}

impl ScheduleForm {
    /// The way back to the page.
    fn back(&self) -> Redirect {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let query = query.append_pair("agent", &self.agent).finish();
        Redirect::to(&format!("/schedules?{query}"))
    }
}

async fn run_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<ScheduleForm>,
) -> PageResult<Redirect> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    agent.start_schedule(&actor, &form.name).await?;
    Ok(form.back())
}

async fn remove_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<ScheduleForm>,
) -> PageResult<Redirect> {
    let agent = asked_agent(&gateway, Some(&form.agent))?;
    agent.remove_schedule(&actor, &form.name).await?;
    Ok(form.back())
}
