//! A conversation as Markdown: readable in any viewer, and nothing is lost.
//!
//! ```text
//! # work/today
//!
//! <!-- recto session {"format":"recto-session","version":1,"session":{…}} -->
//!
//! ## User · 2026-11-15 10:03
//!
//! <!-- recto message {"id":1,"role":"user","at":"2026-11-15T10:03:04.000001Z","text":"…"} -->
//!
//! What does a.txt say?
//! ```
//!
//! Headings and texts are for people. A comment, which viewers hide, has what people
//! need not read, and a hash of each text. A text stands as it is where nothing in it
//! could be taken for the file's own lines, or would draw what follows it into itself in
//! a viewer; any other stands in a fence that is longer than all in it. So no text is
//! ever escaped, and a line `## Assistant` in a message stays a line of that message.
//!
//! What a person changed by hand is read as changed: the hash tells, and what only
//! held for the text as it was (the tokens that a model generated) is then left out.
//! Files by hand or of other programs, without comments, are read by their headings.
//!
//! Times are texts in here: this crate has no calendar.

mod foreign;
mod lines;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use serde_json::Value;

use super::{HistoryProblem, Message, MessageId};

pub(super) use lines::fence_for;
pub use read::from_markdown;
pub use write::{more_markdown, to_markdown};

/// Says what a file is.
const FORMAT: &str = "recto-session";

/// The version of the form that is written.
const VERSION: u32 = 1;

/// The header of a conversation, which stands above the messages.
#[derive(Debug, Clone, Copy)]
pub struct MarkdownHeader<'a> {
    /// The heading of the whole.
    pub title: &'a str,
    /// What is known of the session; comes back as it is.
    pub session: &'a Value,
}

/// A message to be written, with its time.
#[derive(Debug, Clone, Copy)]
pub struct TimedMessage<'a> {
    /// The message to be written.
    pub message: &'a Message,
    /// When it was said, exactly; comes back as it is.
    pub at: &'a str,
    /// The same for people, such as `2026-11-15 10:03`.
    pub shown: &'a str,
}

/// An exchange that was taken back, which stands as a comment behind its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownRetraction {
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// The name of the reason.
    pub reason: String,
    /// When it was taken back, exactly; comes back as it is.
    pub at: String,
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkdownSession {
    /// What is known of the session, where Recto wrote the file.
    pub session: Option<Value>,
    /// The messages, in the order of the file.
    pub messages: Vec<MarkdownMessage>,
    /// What was taken back, by the numbers that the messages brought.
    pub retractions: Vec<MarkdownRetraction>,
    /// What was left out, and why.
    pub notices: Vec<HistoryProblem>,
}

/// A message that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkdownMessage {
    /// The message. All of a file are numbered in order, unless every one brought its own
    /// number and these grow.
    pub message: Arc<Message>,
    /// The number that it brought.
    pub written: Option<MessageId>,
    /// Its time as it stands there: exact, or as a person wrote it.
    pub at: Option<String>,
    /// Whether it is as Recto wrote it.
    pub untouched: bool,
}
