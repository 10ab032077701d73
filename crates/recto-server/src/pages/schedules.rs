//! `/schedules`: what an agent does at set times, when each runs next and how it last went, with the
//! forms that add one, run one now and remove it.

use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{
    Agent, Right, RunView, ScheduleDraft, ScheduleSettings, ScheduleView, is_allowed,
};
use recto_store::{TurnEnding, TurnId};
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
        .route("/schedules/add", post(add_schedule))
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
            @if may_change { (add_form(&chrome, agent, schedules.is_empty())) }
            (run_section(&runs, &schedules))
        }
    };
    Ok(chrome.render(frame, &body))
}

fn schedule_table(chrome: &PageChrome, schedules: &[ScheduleView], may_change: bool) -> Markup {
    html! {
        section aria-label="All schedules" {
            @if schedules.is_empty() {
                p.empty { "Nothing is scheduled." }
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
                    Some(last) => {
                        (outcome_words(last)) " " span.q { (view.show_time(last.run.begun)) }
                        (turn_link(last.run.turn))
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

/// The form for a new schedule, which is folded away where there are some.
fn add_form(chrome: &PageChrome, agent: &Agent, is_open: bool) -> Markup {
    let content = html! {
        input type="hidden" name="agent" value=(agent.name());
        label for="schedule-name" { "Name" }
        input id="schedule-name" name="name" required maxlength="64" autocomplete="off"
            placeholder="news";
        label for="schedule-task" { "Task" }
        textarea id="schedule-task" name="task" rows="2" required
            placeholder="what to do, in full: a run has no history" {}
        label for="schedule-cron" { "Again and again" }
        input id="schedule-cron" name="cron" autocomplete="off" placeholder="0 8 * * 1-5"
            aria-describedby="schedule-cron-help";
        p.q id="schedule-cron-help" {
            "minute, hour, day, month, weekday; " code { "0 8 * * 1-5" }
            " is eight o'clock from Monday to Friday"
        }
        label for="schedule-at" { "Or once" }
        input id="schedule-at" name="at" autocomplete="off" placeholder="2027-01-31 09:00";
        label for="schedule-zone" { "Time zone" }
        input id="schedule-zone" name="zone" autocomplete="off"
            placeholder="the server's, or one such as Europe/Berlin";
        label for="schedule-to" { "Answer also to" }
        input id="schedule-to" name="to" autocomplete="off"
            placeholder="a session, or a chat such as telegram:4711";
        label for="schedule-model" { "Model" }
        select id="schedule-model" name="model" {
            option value="" { "the agent's" }
            @for model in agent.models() { option value=(model.name) { (model.name) } }
        }
        div.acts { button.btn.first type="submit" { "Schedule" } }
    };
    html! {
        details.fold open[is_open] id="add-schedule" {
            summary { "Add a schedule" }
            (chrome.post_form("/schedules/add", "memo", &content))
        }
    }
}

fn outcome_words(view: &RunView) -> Markup {
    let class = match view.run.outcome {
        None => "wait",
        Some(TurnEnding::Done) => "ok",
        Some(_) => "no-ok",
    };
    html! { span class=(class) { (view.outcome()) } }
}

fn turn_link(turn: Option<TurnId>) -> Markup {
    html! { @if let Some(turn) = turn { " " a href={ "/turns/" (turn) } { "turn " (turn) } } }
}

/// Past runs, those of schedules that are removed included.
fn run_section(runs: &[RunView], schedules: &[ScheduleView]) -> Markup {
    let begun = |logged: &RunView| {
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
                                td { (outcome_words(logged)) (turn_link(logged.run.turn)) }
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
fn times_of_machine(logged: &RunView) -> String {
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

/// A new schedule as the form sends it: what is left out is sent as nothing.
#[derive(Debug, Deserialize)]
struct NewScheduleForm {
    agent: String,
    name: String,
    task: String,
    cron: Option<String>,
    at: Option<String>,
    zone: Option<String>,
    to: Option<String>,
    model: Option<String>,
}

async fn add_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<NewScheduleForm>,
) -> PageResult<Redirect> {
    let NewScheduleForm { agent, name, task, cron, at, zone, to, model } = form;
    let asked = asked_agent(&gateway, Some(&agent))?;
    let model = model.filter(|model| !model.is_empty());
    let settings = ScheduleSettings { model, context_mode: None };
    let draft = ScheduleDraft { name, task, cron, at, zone, to, settings };
    let added = asked.add_typed_schedule(&actor, draft).await?;
    Ok(ScheduleForm { agent, name: added.stored.name }.back())
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
