//! What the server asks of the program around it: the config and the setup are known here.

use recto_fs::blocking;
use recto_server::HostRequest;
use recto_store::StoredSession;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use crate::commands::doctor;
use crate::commands::sessions::{effective_settings, forget_elsewhere};
use crate::home::RectoHome;
use crate::setup;

/// Answers the server's requests until it has ended.
pub(super) async fn answer_requests(home: RectoHome, mut requests: Receiver<HostRequest>) {
    while let Some(request) = requests.recv().await {
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
                let home = home.clone();
                let report = blocking(move || doctor::report_json(&home)).await;
                // Nobody waits any more for what they don't take.
                let _ = answer.send(report);
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
