//! What the server asks of the program around it: the config and the setup are known here.

use recto_agent::IncludeSettings;
use recto_fs::blocking;
use recto_server::{HostProblem, HostRequest, IncludeChange, IncludeTarget};
use recto_store::StoredSession;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use crate::cli::AgentArg;
use crate::commands::doctor;
use crate::commands::items::set::{set_item_include, set_server_include};
use crate::commands::sessions::{effective_settings, forget_elsewhere};
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::setup;

/// Answers the server's requests until it has ended.
pub(super) async fn answer_requests(home: RectoHome, mut requests: Receiver<HostRequest>) {
    while let Some(request) = requests.recv().await {
        let home = home.clone();
        // Nobody waits any more for an answer that is not taken.
        match request {
            HostRequest::SessionSettings { session, answer } => {
                let home = home.clone();
                let settings = blocking(move || settings_json(&home, &session)).await;
                let _ = answer.send(settings);
            }
            HostRequest::ForgetSession { session, said, answer } => {
                let home = home.clone();
                let forget = move || forget_elsewhere(&home, &session, &said);
                let forgotten = blocking(forget).await;
                let _ = answer.send(forgotten.map_err(|failure| failure.parts().0));
            }
            HostRequest::Doctor { answer } => {
                let report = blocking(move || doctor::report_json(&home)).await;
                let _ = answer.send(report);
            }
            HostRequest::SetInclude { change, answer } => {
                let done = blocking(move || set_include(&home, &change)).await;
                let _ = answer.send(done.map_err(host_problem));
            }
        }
    }
}

/// The settings that hold in a session by the config as it is now; nothing where it has errors.
fn settings_json(home: &RectoHome, session: &StoredSession) -> Value {
    match setup::load_config(home, Vec::new()) {
        Ok(config) => effective_settings(&config, session).json(),
        Err(_) => Value::Null,
    }
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
    let (message, hint) = failure.parts();
    HostProblem { message, hint }
}
