//! `recto agents run`: a task for a sub-agent, given by hand.

use std::process::ExitCode;

use recto_agent::{Agent, FinishedTurn, TaskOutcome};
use recto_store::TurnEnding;
use serde_json::json;
use tokio::signal::ctrl_c;

use crate::cli::RunAgentArgs;
use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print_data, print_json, tell};
use crate::setup;

pub(super) fn run(
    home: &RectoHome,
    config: &LoadedConfig,
    args: &RunAgentArgs,
) -> CliResult<ExitCode> {
    let task = input::message(&args.task.join(" "))?;
    let settings = setup::asked_settings(config, &args.agent)?.clone();
    let runtime = setup::runtime()?;
    let (agent, outcome) = runtime.block_on(async {
        let settings = setup::with_model(settings, None).await?;
        let store = setup::settled_store(&settings).await?;
        let agent = setup::idle_agent(home, &settings, store)?;
        let outcome = run_until_interrupted(&agent, &args.id, &task).await;
        Ok::<_, CliFailure>((agent, outcome))
    })?;
    setup::shut_down(runtime, agent);
    report(args, outcome?)
}

/// Has the task done, unless the person wants no more of it.
async fn run_until_interrupted(
    agent: &Agent,
    id: &str,
    task: &str,
) -> CliResult<Option<TaskOutcome>> {
    let actor = setup::actor();
    let outcome = {
        let running = agent.run_sub_agent(&actor, id, task);
        tokio::select! {
            outcome = running => Some(outcome),
            _ = ctrl_c() => None,
        }
    };
    match outcome {
        Some(outcome) => Ok(Some(outcome?)),
        None => {
            // It was told to stop, and says so in its record.
            agent.finished().await;
            Ok(None)
        }
    }
}

fn report(args: &RunAgentArgs, outcome: Option<TaskOutcome>) -> CliResult<ExitCode> {
    let Some(TaskOutcome { session, turn, finished }) = outcome else {
        tell(&"stopped");
        return Ok(ExitCode::from(130));
    };
    let FinishedTurn { status, reply, error, .. } = finished;
    let code = if status == TurnEnding::Done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json.json {
        let error = error.map(|error| json!({"code": error.code, "message": error.message}));
        print_json(&json!({
            "agent": args.id,
            "session": session,
            "turn": turn,
            "status": status,
            "reply": reply,
            "error": error,
        }))?;
        return Ok(code);
    }
    if let Some(reply) = reply {
        print_data(&format!("{}\n", reply.trim_end_matches('\n')))?;
    }
    if let Some(error) = error {
        return Err(CliFailure::new(error.message)
            .hint(format!("see what is stored with `recto show {turn}`")));
    }
    tell(&format_args!("turn {turn}; `recto show {turn}` shows what it was sent"));
    Ok(code)
}
