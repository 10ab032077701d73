//! How a turn stands that has not ended, in the words of all commands that tell of it.

use recto_agent::{OpenTurnStanding, find_standing};
use recto_store::{StoredApproval, StoredTurn};

use crate::output::tame;

/// Says how a turn stands, and what a person can do; nothing once it has ended.
pub(crate) fn open_turn(
    turn: &StoredTurn,
    question: Option<&StoredApproval>,
    session: &str,
) -> Option<String> {
    let session = tame(session);
    let stop = format!("`recto sessions stop {session}` stops it");
    Some(match (find_standing(turn, question)?, question) {
        (OpenTurnStanding::Queued, _) => "is queued".to_owned(),
        (OpenTurnStanding::Left, _) => {
            format!("is queued; `recto chat --session {session}` sends it, {stop}")
        }
        (OpenTurnStanding::RunsHere, _) => "is running here".to_owned(),
        (OpenTurnStanding::RunsElsewhere, _) => format!("is running in another process; {stop}"),
        (OpenTurnStanding::AwaitsApproval, Some(StoredApproval { id, question, .. })) => {
            let (tool, title) = (tame(&question.tool.key()), tame(&question.title));
            format!(
                "waits for your word: {tool} wants to run {title}; `recto approvals answer {id} \
                 allow`"
            )
        }
        (OpenTurnStanding::AwaitsApproval | OpenTurnStanding::CutShort, _) => {
            format!("was cut short; the next `recto chat` goes on with it, {stop}")
        }
    })
}
