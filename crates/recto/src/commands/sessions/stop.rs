//! `recto sessions stop`: ends what is open in a session, whichever process has it.

use recto_agent::{StopOutcome, StopReport, stop_session};
use recto_store::{Store, StoredSession};
use serde_json::json;

use crate::failure::CliResult;
use crate::output::{print_json, tame, tell};
use crate::setup;

/// Stops everything that is open in a session.
pub(super) async fn stop(store: &Store, session: &StoredSession, as_json: bool) -> CliResult {
    let report = stop_session(store, &setup::actor(), session).await?;
    if as_json {
        return print_json(&json!(report));
    }
    tell(&stop_text(&report));
    Ok(())
}

/// Says what became of the wish to stop.
pub(crate) fn stop_text(StopReport { session, outcome }: &StopReport) -> String {
    let session = tame(session);
    match outcome {
        StopOutcome::Now => format!("session {session}: stopping"),
        StopOutcome::Elsewhere => {
            format!("session {session}: asked the process that runs it to stop")
        }
        StopOutcome::Closed => {
            format!("session {session}: stopped; the process that had it was gone")
        }
        StopOutcome::NothingRuns => format!("nothing runs in session {session}"),
    }
}
