//! What has to hold of files with sessions whatever bytes come, for fuzzing and for the test that
//! goes over its inputs. Built for these alone.

use std::path::Path;

use recto_agent::{SessionExportForm, transcript_json};
use recto_context::{
    MarkdownHeader, MarkdownRetraction, MessageBody, MessageId, TimedMessage, to_markdown,
};
use recto_store::{Moment, NewMessage, NewRetraction, StoredMessage, StoredRetraction};
use serde_json::{Value, json};

use super::ImportedSession;

/// Files with sessions: what was imported is imported again as the same, from either form in
/// which it is exported; every call has its result, and no file gives rights. What is refused
/// is told.
pub fn check_session_import(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let session = match ImportedSession::parse(Path::new("talk.md"), &text) {
        Ok(session) => session,
        Err(failure) => return assert!(!failure.to_string().is_empty()),
    };
    let approval = session.settings.get("approval");
    assert!(approval.is_none_or(|approval| approval == "always"), "{approval:?}");
    check_calls(&session);
    let (messages, retractions) = (timed(&session), session.retractions());
    let known = json!({
        "name": session.exported,
        "created": session.begun,
        "settings": session.settings,
    });
    for exported in
        [jsonl(&known, &messages, &retractions), markdown(&known, &messages, &retractions)]
    {
        let again = ImportedSession::parse(Path::new("again.md"), &exported);
        let again = again.unwrap_or_else(|failure| panic!("{failure}\n{exported}"));
        assert_eq!(timed(&again), messages, "{exported}");
        assert_eq!(ranges(&again.retractions()), ranges(&retractions), "{exported}");
        assert_eq!(again.settings, session.settings, "{exported}");
        assert_eq!(again.exported, session.exported, "{exported}");
        // A session without a time begins with its first message.
        assert!(session.begun.is_none() || again.begun == session.begun, "{exported}");
        assert_eq!(again.warnings, Vec::<String>::new(), "{exported}");
    }
}

/// The messages with their times; those that have none were said at one moment.
fn timed(session: &ImportedSession) -> Vec<NewMessage> {
    let mut messages = session.timed();
    if session.begun.is_none() {
        let untimed = session.messages.iter().take_while(|imported| imported.at.is_none()).count();
        let at = Moment::new(jiff::Timestamp::UNIX_EPOCH);
        messages.iter_mut().take(untimed).for_each(|message| message.at = at);
    }
    messages
}

/// Every call has a result before somebody speaks again, and numbers grow.
fn check_calls(session: &ImportedSession) {
    let mut open = Vec::new();
    let mut last = MessageId(0);
    for imported in &session.messages {
        let message = &imported.message;
        assert!(message.id > last, "{:?} behind {last:?}", message.id);
        last = message.id;
        match &message.body {
            MessageBody::Tool { call, .. } => open.retain(|made| made != call),
            _ if !message.is_for_models() => {}
            _ => assert!(open.is_empty(), "{open:?} have no result before {message:?}"),
        }
        open.extend(message.calls().iter().map(|call| call.id.clone()));
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

fn ranges(retractions: &[NewRetraction]) -> Vec<(MessageId, MessageId, &'static str, Moment)> {
    let range = |mark: &NewRetraction| (mark.first, mark.last, mark.reason.name(), mark.at);
    retractions.iter().map(range).collect()
}

fn jsonl(session: &Value, messages: &[NewMessage], retractions: &[NewRetraction]) -> String {
    let (Ok(session_id), Ok(id)) = ("1".parse(), "1".parse()) else { panic!("1 is a number") };
    let stored: Vec<StoredMessage> = messages
        .iter()
        .map(|NewMessage { message, at }| StoredMessage {
            message: message.clone(),
            at: *at,
            turn: None,
            brought_by: None,
        })
        .collect();
    let marks: Vec<StoredRetraction> = retractions
        .iter()
        .map(|mark| StoredRetraction {
            id,
            session: session_id,
            first: mark.first,
            last: mark.last,
            turn: None,
            reason: mark.reason,
            actor: mark.actor.clone(),
            at: mark.at,
            replaced_by: None,
        })
        .collect();
    let (format, version) = (SessionExportForm::FORMAT, SessionExportForm::VERSION);
    let header = json!({"format": format, "version": version, "session": session});
    let lines = std::iter::once(header).chain(transcript_json(&stored, &marks));
    lines.map(|line| format!("{line}\n")).collect()
}

fn markdown(session: &Value, messages: &[NewMessage], retractions: &[NewRetraction]) -> String {
    let times: Vec<String> = messages.iter().map(|message| message.at.to_string()).collect();
    let timed: Vec<TimedMessage<'_>> = messages
        .iter()
        .zip(&times)
        .map(|(new, at)| TimedMessage { message: &new.message, at, shown: "2026-11-15 10:03" })
        .collect();
    let mark = |mark: &NewRetraction| MarkdownRetraction {
        first: mark.first,
        last: mark.last,
        reason: mark.reason.name().to_owned(),
        at: mark.at.to_string(),
    };
    let marks: Vec<MarkdownRetraction> = retractions.iter().map(mark).collect();
    to_markdown(&MarkdownHeader { title: "talk", session }, &timed, &marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_that_was_kept_holds() {
        let inputs = recto_fakes::fuzz_inputs("session_import");
        inputs.iter().for_each(|(_, input)| check_session_import(input));
    }
}
