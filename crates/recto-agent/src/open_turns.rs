//! Turns that are open: how each of them stands, in one word for all who tell of it, and what it
//! is about.

use recto_context::{ContentPart, Text, first_chars, one_line};
use recto_store::{
    Moment, Store, StoreResult, StoredApproval, StoredSession, StoredTurn, TurnOwner, TurnStatus,
};
use serde::Serialize;

/// Characters of a message that tell people which one it is.
const MOST_WORDS: usize = 48;

/// How a turn stands that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenTurnStanding {
    /// It has not begun: its time comes in the process that has it.
    Queued,
    /// It has not begun, and its process has ended: it is taken up with its session.
    Left,
    /// It runs in this process.
    RunsHere,
    /// It runs in another process.
    RunsElsewhere,
    /// A tool may not run unless a person says so.
    AwaitsApproval,
    /// Its process has ended in the middle of it: it is taken up with its session.
    CutShort,
}

/// A turn that has not ended, with all that is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenTurn {
    /// The turn itself.
    pub turn: StoredTurn,
    /// The name or number of its session.
    pub session: String,
    /// The question that it waits with.
    pub question: Option<StoredApproval>,
    /// How it stands.
    pub standing: OpenTurnStanding,
}

/// All turns of a store that have not ended.
pub async fn list_open_turns(store: &Store) -> StoreResult<Vec<OpenTurn>> {
    let asked = store.open_approvals(Moment::now()).await?;
    let mut open = Vec::new();
    for turn in store.open_turns().await?.turns {
        open.extend(describe_open(store, turn, &asked).await?);
    }
    Ok(open)
}

/// A turn with all that is told of it, unless it has ended.
pub async fn find_open_turn(store: &Store, turn: &StoredTurn) -> StoreResult<Option<OpenTurn>> {
    let asked = store.open_approvals(Moment::now()).await?;
    describe_open(store, turn.clone(), &asked).await
}

async fn describe_open(
    store: &Store,
    turn: StoredTurn,
    asked: &[StoredApproval],
) -> StoreResult<Option<OpenTurn>> {
    let question = asked.iter().find(|approval| approval.turn == turn.id).cloned();
    let Some(standing) = find_standing(&turn, question.as_ref()) else { return Ok(None) };
    let session = store.session(turn.session).await?;
    let session = session.as_ref().map_or_else(|| turn.session.to_string(), StoredSession::label);
    Ok(Some(OpenTurn { turn, session, question, standing }))
}

/// How a turn stands: with its question, where it has one that is open. Nothing once it has
/// ended.
pub fn find_standing(
    turn: &StoredTurn,
    question: Option<&StoredApproval>,
) -> Option<OpenTurnStanding> {
    Some(match (turn.status, turn.owner) {
        (TurnStatus::Ended(_), _) => return None,
        (TurnStatus::Queued, Some(TurnOwner::Gone)) => OpenTurnStanding::Left,
        (TurnStatus::Queued, _) => OpenTurnStanding::Queued,
        (TurnStatus::Running, _) if question.is_some() => OpenTurnStanding::AwaitsApproval,
        (TurnStatus::Running, Some(TurnOwner::Here)) => OpenTurnStanding::RunsHere,
        (TurnStatus::Running, Some(TurnOwner::Elsewhere)) => OpenTurnStanding::RunsElsewhere,
        (TurnStatus::Running, Some(TurnOwner::Gone) | None) => OpenTurnStanding::CutShort,
    })
}

/// The first words of the message that a turn answers, on one line.
pub async fn first_words(store: &Store, turn: &StoredTurn) -> StoreResult<String> {
    let content = match (&turn.inbound, turn.first_message) {
        (Some(inbound), _) => inbound.clone(),
        (None, Some(first)) => {
            let messages = store.messages_within(turn.session, first..=first).await?;
            messages.first().map(|stored| stored.message.content().to_vec()).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    };
    Ok(shorten_words(&content))
}

/// The first words of a text, on one line.
pub fn shorten_words(content: &[ContentPart]) -> String {
    let texts = content.iter().filter_map(|part| part.as_text().map(Text::as_str));
    first_chars(&one_line(&texts.collect::<Vec<_>>().join(" ")), MOST_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_stand_on_one_line() {
        let text = |text: &str| shorten_words(&[ContentPart::Text(text.into())]);
        assert_eq!(text("  one\n\ntwo\tthree "), "one two three");
        assert_eq!(text(&"ä".repeat(48)), "ä".repeat(48));
        assert_eq!(text(&"ä".repeat(49)), "ä".repeat(48) + "…");
        assert_eq!(shorten_words(&[]), "");
    }
}
