//! What the server asks of the program around it: the config and the setup are known here.

use recto_fs::blocking;
use recto_server::HostRequest;
use tokio::sync::mpsc::Receiver;

use crate::commands::doctor;
use crate::home::RectoHome;

/// Answers the server's requests until it has ended.
pub(super) async fn answer_requests(home: RectoHome, mut requests: Receiver<HostRequest>) {
    while let Some(request) = requests.recv().await {
        match request {
            HostRequest::Doctor { answer } => {
                let home = home.clone();
                let report = blocking(move || doctor::report_json(&home)).await;
                // Nobody waits any more for what they don't take.
                let _ = answer.send(report);
            }
        }
    }
}
