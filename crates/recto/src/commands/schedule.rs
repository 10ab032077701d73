//! `recto schedule`: tasks that are done at set times, and what came of them.

use std::future::pending;
use std::process::ExitCode;

use recto_agent::{
    Agent, AgentError, RequestedRun, RunView, ScheduleDraft, ScheduleSettings, ScheduleView,
};
use recto_context::ContextMode;
use recto_store::TurnEnding;
use serde_json::json;
use tokio::signal::ctrl_c;

use super::sessions::local_with_zone;
use crate::cli::{ScheduleAddArgs, ScheduleArgs, ScheduleCommand};
use crate::config::Settings;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print_as, print_data, print_json, print_list, tame, tell};
use crate::setup;

/// The exit code of a run that a person did not want any more.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(home: &RectoHome, args: &ScheduleArgs) -> CliResult<ExitCode> {
    let config = setup::load_config(home, Vec::new())?;
    let settings = setup::asked_settings(&config, &args.agent)?.clone();
    if let ScheduleCommand::Run { name, json } = &args.command {
        return run_now(home, settings, name, json.json);
    }
    setup::runtime()?.block_on(async {
        let agent = setup::idle_agent(home, &settings, setup::store(&settings)?)?;
        match &args.command {
            ScheduleCommand::Add(args) => add(&agent, args).await,
            ScheduleCommand::List(format) => list(&agent, format.json).await,
            ScheduleCommand::Remove { name, json } => remove(&agent, name, json.json).await,
            ScheduleCommand::Log { name, count, json } => {
                log(&agent, name.as_deref(), *count, json.json).await
            }
            ScheduleCommand::Run { .. } => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn add(agent: &Agent, args: &ScheduleAddArgs) -> CliResult {
    let draft = ScheduleDraft {
        name: args.name.clone(),
        task: input::message(&args.task.join(" "))?,
        cron: args.cron.clone(),
        at: args.at.clone(),
        zone: args.zone.clone(),
        to: args.to.clone(),
        settings: ScheduleSettings {
            model: args.model.clone(),
            context_mode: args.context_mode.map(ContextMode::from),
        },
    };
    let added = agent.add_typed_schedule(&setup::actor(), draft).await;
    let view = added.map_err(|error| match error {
        AgentError::NoSuchSession { .. } => {
            let hint = "`recto sessions list` lists those that there are; a chat is named as \
                        `telegram:CHAT` or `discord:CHANNEL`";
            CliFailure::new(error.to_string()).hint(hint)
        }
        error => error.into(),
    })?;
    let name = tame(&view.stored.name);
    let draw = || format!("schedule `{name}`: {}\n", tame(&view.describe_plan()));
    print_as(args.json.json, || view.json(), draw)?;
    let next = view.describe_next();
    tell(&format_args!(
        "next run {next}, while `recto serve` is up; the answer goes to {}",
        tame(&view.answer_to)
    ));
    Ok(())
}

async fn list(agent: &Agent, as_json: bool) -> CliResult {
    let views = agent.schedules(&setup::actor()).await?;
    let nothing = "there are no schedules; `recto schedule add NAME TASK --cron PATTERN` makes one";
    print_list(as_json, "schedules", &views, ScheduleView::json, || draw_list(&views), &nothing)
}

fn draw_list(views: &[ScheduleView]) -> String {
    let mut table = TextTable::new(["name", "when", "next run", "last run", "answer", "task"]);
    for view in views {
        let last = view.last_run.as_ref().map_or_else(
            || "none yet".to_owned(),
            |last| format!("{}, {}", view.show_time(last.run.begun), last.outcome()),
        );
        table.row([
            view.stored.name.clone(),
            view.describe_plan(),
            view.describe_next(),
            last,
            view.answer_to.clone(),
            view.stored.task.clone(),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}

async fn remove(agent: &Agent, name: &str, as_json: bool) -> CliResult {
    let removed = agent.remove_schedule(&setup::actor(), name).await?;
    let draw = || format!("schedule `{}` is removed\n", tame(&removed.stored.name));
    print_as(as_json, || removed.json(), draw)
}

async fn log(agent: &Agent, name: Option<&str>, count: u32, as_json: bool) -> CliResult {
    let runs = agent.schedule_log(&setup::actor(), name, count).await?;
    let draw = || draw_runs(&runs);
    print_list(as_json, "runs", &runs, RunView::json, draw, &"nothing has run yet")
}

fn draw_runs(runs: &[RunView]) -> String {
    let mut table = TextTable::new(["run", "schedule", "begun", "outcome", "turn", "more"]);
    table.align_right(0);
    for logged in runs {
        let RunView { run, schedule, .. } = logged;
        table.row([
            run.id.to_string(),
            schedule.clone(),
            local_with_zone(run.begun),
            logged.outcome().to_owned(),
            run.turn.map_or_else(String::new, |turn| turn.to_string()),
            logged.remarks().join("; "),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}

fn run_now(home: &RectoHome, settings: Settings, name: &str, as_json: bool) -> CliResult<ExitCode> {
    // As the server runs it: wherever one stands, its tools work in the agent's own workspace.
    let settings = Settings { project: None, ..settings };
    let runtime = setup::runtime()?;
    let (agent, ran) = runtime.block_on(async {
        let settings = setup::with_model(settings, None).await?;
        let store = setup::settled_store(&settings).await?;
        let agent = setup::idle_agent(home, &settings, store)?;
        let ran = run_until_interrupted(&agent, name).await;
        Ok::<_, CliFailure>((agent, ran))
    })?;
    setup::shut_down(runtime, agent);
    let Some(RequestedRun { view, is_taken_over, reply }) = ran? else {
        tell(&"the run is left as it is; `recto serve` goes on with it");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    if is_taken_over {
        tell(&format_args!("run {} had broken off, and was finished", view.run.id));
    }
    report(&view, reply, as_json)
}

/// Runs a schedule, unless the person wants no more of it: then its turn is stopped, and the run
/// ends with that. Who interrupts once more leaves the run, and gets none.
async fn run_until_interrupted(agent: &Agent, name: &str) -> CliResult<Option<RequestedRun>> {
    let actor = setup::actor();
    let mut running = Box::pin(agent.run_schedule(&actor, name));
    tokio::select! {
        ran = &mut running => return Ok(Some(ran?)),
        _ = ctrl_c() => tell(&"the run is being stopped"),
    }
    let stopping = async {
        if let Err(error) = agent.stop_schedule_run(&actor, name).await {
            tell(&CliFailure::from(error));
        }
        // The run says when it is over.
        pending::<()>().await;
    };
    tokio::select! {
        ran = &mut running => Ok(Some(ran?)),
        () = stopping => Ok(None),
        _ = ctrl_c() => Ok(None),
    }
}

fn report(logged: &RunView, reply: Option<String>, as_json: bool) -> CliResult<ExitCode> {
    let is_done = logged.run.outcome == Some(TurnEnding::Done);
    let code = match logged.run.outcome {
        Some(TurnEnding::Done) => ExitCode::SUCCESS,
        Some(TurnEnding::Stopped) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::FAILURE,
    };
    if as_json {
        let mut shown = logged.json();
        shown["reply"] = json!(reply);
        print_json(&shown)?;
        return Ok(code);
    }
    if let Some(reply) = reply {
        print_data(&format!("{}\n", reply.trim_end_matches('\n')))?;
    }
    if logged.run.outcome == Some(TurnEnding::Stopped) {
        tell(&"stopped");
        return Ok(code);
    }
    if !is_done {
        let why = logged.run.detail.clone().unwrap_or_else(|| logged.outcome().to_owned());
        let name = tame(&logged.schedule);
        return Err(CliFailure::new(format!("the run of `{name}` ended: {why}")));
    }
    for remark in logged.remarks() {
        tell(&tame(&remark));
    }
    if let Some(turn) = logged.run.turn {
        tell(&format_args!("turn {turn}; `recto show {turn}` shows what was sent"));
    }
    Ok(code)
}
