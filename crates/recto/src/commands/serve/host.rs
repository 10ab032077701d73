//! What the server asks of the program around it: the config and the setup are known here.

use std::sync::Arc;

use recto_agent::IncludeSettings;
use recto_fs::blocking;
use recto_server::{
    HostAnswer, HostObstacle, HostProblem, HostRequest, IncludeChange, IncludeTarget,
};
use tokio::sync::mpsc::Receiver;

use crate::cli::AgentArg;
use crate::commands::doctor;
use crate::commands::items::set::{set_item_include, set_server_include};
use crate::commands::sessions::{effective_settings, forget_elsewhere};
use crate::config::{LoadedConfig, Settings};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::setup;

/// Answers the server's requests until it has ended, each in a task of its own: none waits for
/// another, and what breaks in one is that one's alone.
pub(super) async fn answer_requests(
    home: RectoHome,
    config: LoadedConfig,
    mut requests: Receiver<HostRequest>,
) {
    let config = Arc::new(config);
    while let Some(request) = requests.recv().await {
        tokio::spawn(answer_request(home.clone(), config.clone(), request));
    }
}

async fn answer_request(home: RectoHome, config: Arc<LoadedConfig>, request: HostRequest) {
    match request {
        HostRequest::SessionSettings { session, answer } => {
            // By the config that the agents began with: what the file says since then does not hold
            // before the next start.
            send_answer(answer, move || Ok(effective_settings(&config, &session).json())).await;
        }
        HostRequest::ForgetSession { session, said, answer } => {
            send_answer(answer, move || forget_elsewhere(&home, &session, &said)).await;
        }
        HostRequest::Doctor { answer } => {
            send_answer(answer, move || Ok(doctor::report_json(&home))).await;
        }
        HostRequest::SetInclude { change, answer } => {
            send_answer(answer, move || set_include(&home, &change)).await;
        }
    }
}

async fn send_answer<T: Send + 'static>(
    answer: HostAnswer<T>,
    work: impl FnOnce() -> CliResult<T> + Send + 'static,
) {
    let done = blocking(work).await.map_err(host_problem);
    // Nobody waits any more for an answer that is not taken.
    let _ = answer.send(done);
}

/// Writes an include mode into the config, and gives what the config then says for each agent.
fn set_include(
    home: &RectoHome,
    change: &IncludeChange,
) -> CliResult<Vec<(String, IncludeSettings)>> {
    let IncludeChange { agent, target, include } = change;
    let is_one_of_several = setup::load_all(home, Vec::new())?.agents().count() > 1;
    let agent = AgentArg { agent: is_one_of_several.then(|| agent.clone()) };
    match target {
        IncludeTarget::Item(item) => set_item_include(home, &agent, item, *include)?,
        IncludeTarget::Server(server) => set_server_include(home, server, *include)?,
    }
    // Read again: what holds is what the file says now.
    let config = setup::load_all(home, Vec::new())?;
    let of_agent = |settings: &Settings| {
        (settings.agent.name.clone(), setup::include_settings(home, settings))
    };
    Ok(config.agents().map(of_agent).collect())
}

fn host_problem(failure: CliFailure) -> HostProblem {
    let obstacle = match failure.is("full") {
        true => HostObstacle::FullDisk,
        false => HostObstacle::State,
    };
    let (message, hint) = failure.parts();
    HostProblem { obstacle, message, hint }
}
