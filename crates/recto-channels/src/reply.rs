//! What a conversation is told of a turn that is over, from what the store has of it. Pure.

use recto_agent::{NoticeFacts, TurnNotice};
use recto_context::{MessageBody, Reveal, reveal, visible_text};
use recto_store::{StoredMessage, StoredTurn, TurnEnding, TurnStatus};

/// The reply of a turn, in Markdown. A turn that failed, was stopped or said nothing has words,
/// too: nobody waits for an answer that never comes.
pub(crate) fn reply_markdown(
    turn: &StoredTurn,
    messages: &[StoredMessage],
    notices: &[TurnNotice],
) -> String {
    let mut said = String::new();
    let mut error = None;
    for stored in messages {
        match &stored.message.body {
            MessageBody::Assistant { content, .. } => said = visible_text(content),
            // What was said before a tool ran is not the reply.
            MessageBody::Tool { .. } => said.clear(),
            MessageBody::Error(text) => error = Some(text.to_string()),
            MessageBody::User(_) | MessageBody::Approval(_) => {}
        }
    }
    let mut parts = Vec::new();
    if !said.trim().is_empty() {
        parts.push(reveal(said.trim(), Reveal::Lines));
    }
    if let Some(error) = error {
        parts.push(error_note(&error));
    }
    if parts.is_empty() {
        parts.push(empty_words(turn));
    }
    let about_reply = notices.iter().filter(|notice| is_about_reply(&notice.facts));
    parts.extend(about_reply.map(|notice| format!("({})", reveal(&notice.text, Reveal::Lines))));
    parts.join("\n\n")
}

/// An error as people read it in a chat.
fn error_note(error: &str) -> String {
    format!("⚠️ {}", reveal(error, Reveal::Lines))
}

/// What is said of a turn that left nothing to read.
fn empty_words(turn: &StoredTurn) -> String {
    let why = match turn.status {
        TurnStatus::Ended(TurnEnding::Stopped) => "stopped",
        TurnStatus::Ended(TurnEnding::Interrupted) => {
            "interrupted before it was done; send it again"
        }
        TurnStatus::Ended(TurnEnding::Failed) => "it failed",
        _ => "the model's answer was empty",
    };
    error_note(turn.detail.as_deref().unwrap_or(why))
}

/// Whether a notice is about the reply itself, and not about how the agent is set up.
fn is_about_reply(facts: &NoticeFacts) -> bool {
    matches!(
        facts,
        NoticeFacts::ReplyCutOff { .. }
            | NoticeFacts::ReplyWithheld
            | NoticeFacts::ReplyRepeated
            | NoticeFacts::NothingRemembered
    )
}
