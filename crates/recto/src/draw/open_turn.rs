//! How a turn stands that has not ended, in the words of all commands that tell of it.

use recto_agent::{OpenTurn, OpenTurnStanding};
use recto_store::StoredApproval;

use super::question::mentioned_title;
use crate::output::tame;

/// Says how a turn stands, and what a person can do.
pub(crate) fn open_turn(open: &OpenTurn) -> String {
    let session = tame(&open.session);
    let stop = format!("`recto sessions stop {session}` stops it");
    match (open.standing, &open.question) {
        (OpenTurnStanding::Queued, _) => "is queued".to_owned(),
        (OpenTurnStanding::Left, _) => {
            format!("is queued; `recto chat --session {session}` sends it, {stop}")
        }
        (OpenTurnStanding::RunsHere, _) => "is running here".to_owned(),
        (OpenTurnStanding::RunsElsewhere, _) => format!("is running in another process; {stop}"),
        (OpenTurnStanding::AwaitsApproval, Some(StoredApproval { id, question, .. })) => {
            let (tool, title) = (tame(&question.tool.key()), mentioned_title(&question.title));
            format!(
                "waits for your word: {tool} wants to run {title}; `recto approvals show {id}` has \
                 all of it, `recto approvals answer {id} allow` allows it"
            )
        }
        (OpenTurnStanding::AwaitsApproval | OpenTurnStanding::CutShort, _) => {
            format!("was cut short; `recto chat --session {session}` goes on with it, {stop}")
        }
    }
}
