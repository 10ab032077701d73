//! What has to hold of transcripts whatever bytes come, for fuzzing and for the tests that go
//! over its inputs. Built for these alone.
//!
//! An input is read twice: as the text of a file, and as a list of messages. `0xff`, which no
//! UTF-8 has, ends a message, and `0xfe` a part of one; so what mutates bytes also moves
//! messages about.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::item::{ItemId, ItemKind};
use crate::message::{
    AttachedFile, CallId, ContentPart, Framing, HistoryProblem, Image, KeptPick, MarkdownHeader,
    MarkdownSession, Message, MessageBody, MessageId, MessageStamp, Opaque, OpaqueKind,
    PickDisplay, SpeakerName, TimedMessage, ToolCall, TurnNumber, UserMessage, from_markdown,
    read_jsonl, to_markdown,
};

/// A time as Recto writes it.
const AT: &str = "2026-11-15T10:03:04.000001Z";

/// Markdown: what was read is read again as the same once it is written, and so is every
/// message; what can't be read has a line of the file.
pub fn check_markdown(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match from_markdown(&text) {
        Ok(session) => check_written_again(&session),
        Err(problems) => check_lines(&problems, &text),
    }
    let messages = messages(data);
    let header = MarkdownHeader { title: &text, session: &json!({"id": 7, "name": text}) };
    let timed = |message| TimedMessage { message, at: AT, shown: "2026-11-15 10:03" };
    let written = to_markdown(&header, &messages.iter().map(timed).collect::<Vec<_>>(), &[]);
    let found = read_own(&written);
    let bodies: Vec<&Message> = found.messages.iter().map(|found| &*found.message).collect();
    assert_eq!(bodies, messages.iter().collect::<Vec<_>>(), "{written}");
    assert!(found.messages.iter().all(|found| found.untouched), "{written}");
    assert_eq!(found.session.as_ref(), Some(header.session), "{written}");
}

/// Histories in JSON: what was read is read again as the same once it is written, and so is
/// every message; what can't be read has a line of the file.
pub fn check_history(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match read_jsonl(&text) {
        Ok(messages) => check_jsonl(&messages),
        Err(problems) => check_lines(&problems, &text),
    }
    check_jsonl(&messages(data).into_iter().map(Arc::new).collect::<Vec<_>>());
}

fn check_jsonl(messages: &[Arc<Message>]) {
    let lines: String = messages.iter().map(|message| format!("{}\n", json!(message))).collect();
    let again = read_jsonl(&lines);
    assert_eq!(again.as_deref(), Ok(messages), "{lines}");
}

/// Problems are there, and each names a line that the text has.
fn check_lines(problems: &[HistoryProblem], text: &str) {
    let count = text.split('\n').count();
    assert!(!problems.is_empty(), "it is refused without a word");
    for problem in problems {
        assert!((1..=count).contains(&problem.line), "{problem} of {count} lines");
        assert!(!problem.problem.contains(" at line "), "{problem}: another line than its own");
    }
}

/// What was read from any file comes back from what is written of it.
fn check_written_again(session: &MarkdownSession) {
    let known = session.session.clone().unwrap_or(Value::Null);
    let header = MarkdownHeader { title: "again", session: &known };
    let timed = session.messages.iter().map(|found| TimedMessage {
        message: &found.message,
        at: found.at.as_deref().unwrap_or(AT),
        shown: "",
    });
    let is_numbered = |found: &crate::MarkdownMessage| found.written == Some(found.message.id);
    let keeps_numbers = session.messages.iter().all(is_numbered);
    let retractions = if keeps_numbers { &*session.retractions } else { &[] };
    let written = to_markdown(&header, &timed.collect::<Vec<_>>(), retractions);
    let again = read_own(&written);
    assert_eq!(again.session, Some(known), "{written}");
    assert_eq!(again.messages.len(), session.messages.len(), "{written}");
    for (found, before) in again.messages.iter().zip(&session.messages) {
        assert_eq!(found.message, before.message, "{written}");
        assert_eq!(found.at.as_deref(), Some(before.at.as_deref().unwrap_or(AT)), "{written}");
        assert!(found.untouched, "{written}");
    }
    assert_eq!(again.retractions.len(), retractions.len(), "{written}");
    assert!(retractions.iter().all(|mark| again.retractions.contains(mark)), "{written}");
}

/// What Recto wrote itself can be read, and nothing of it is left out.
fn read_own(written: &str) -> MarkdownSession {
    let found = from_markdown(written);
    let found = found.unwrap_or_else(|problems| panic!("{problems:?}\n{written}"));
    assert_eq!(found.notices, [], "{written}");
    found
}

/// The messages that the bytes stand for.
fn messages(data: &[u8]) -> Vec<Message> {
    let pieces = data.split(|byte| *byte == 0xff).filter_map(|piece| piece.split_first());
    let numbered = (1..).zip(pieces);
    numbered.map(|(number, (kind, rest))| message(number, *kind, rest)).collect()
}

fn message(number: u64, kind: u8, rest: &[u8]) -> Message {
    let mut texts = rest.split(|byte| *byte == 0xfe).map(String::from_utf8_lossy);
    let mut text = || texts.next().unwrap_or_default().into_owned();
    let body = match kind % 5 {
        0 => MessageBody::User(UserMessage {
            stamp: (kind & 8 > 0).then(|| MessageStamp::new(&text())),
            speaker: (kind & 16 > 0).then(|| SpeakerName::new(&text())),
            framing: if kind & 32 > 0 { Framing::CallTools } else { Framing::Plain },
            picks: if kind & 64 > 0 { vec![pick(&mut text)] } else { Vec::new() },
            content: content(kind, &mut text),
        }),
        1 => MessageBody::Assistant {
            calls: (0..kind / 64).map(|_| call(&mut text)).collect(),
            content: content(kind, &mut text),
        },
        2 => MessageBody::Tool {
            call: CallId(text().into()),
            name: text().into(),
            content: content(kind, &mut text),
        },
        3 => MessageBody::Error(text().into()),
        _ => MessageBody::Approval(text().into()),
    };
    Message { id: MessageId(number), body }
}

fn call(text: &mut impl FnMut() -> String) -> ToolCall {
    ToolCall { id: CallId(text().into()), name: text().into(), arguments: text().into() }
}

fn pick(text: &mut impl FnMut() -> String) -> KeptPick {
    let (name, shown) = (text(), text());
    let shown = if shown.is_empty() { PickDisplay::Above } else { PickDisplay::Text(shown.into()) };
    KeptPick { item: ItemId::new(ItemKind::Rule, name), since: TurnNumber(1), shown }
}

fn content(kind: u8, text: &mut impl FnMut() -> String) -> Vec<ContentPart> {
    let mut parts = vec![ContentPart::Text(text().into())];
    match kind / 5 % 5 {
        0 => {}
        1 => parts.push(ContentPart::Text(text().into())),
        2 => parts.push(ContentPart::Image(Image {
            media_type: text().into(),
            data: text().into(),
            name: (kind & 128 > 0).then(|| text().into()),
        })),
        3 => parts.push(ContentPart::File(AttachedFile::new(&text(), text()))),
        _ => parts.push(ContentPart::Opaque(Opaque {
            provider: text().into(),
            json: text().into(),
            kind: if kind & 128 > 0 { OpaqueKind::Echo } else { OpaqueKind::Thought },
        })),
    }
    parts
}

#[cfg(test)]
mod tests {
    use recto_fakes::fuzz_inputs;

    use super::*;

    #[test]
    fn every_input_that_was_kept_holds() {
        fuzz_inputs("markdown").iter().for_each(|(_, input)| check_markdown(input));
        fuzz_inputs("history").iter().for_each(|(_, input)| check_history(input));
    }
}
