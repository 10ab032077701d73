//! What a request leads to. The vendors' modules decide it, without touching a
//! socket; `server.rs` carries it out.

use std::time::Duration;

use serde_json::Value;

use crate::answer::{FakeAnswer, FakeRefusal, FakeReply};
use crate::gate::AnswerGate;

#[derive(Debug)]
pub(crate) enum Reaction {
    /// The answer of an endpoint other than chat.
    Json(Value),
    /// Refused by the rules of the server.
    Rejected(Rejection),
    /// Refused because the test wants it so.
    Refused(FakeRefusal),
    /// An answer to a chat, whole or in pieces.
    Stream { media_type: &'static str, steps: Vec<AnswerStep>, pace: Pace },
    /// Nothing at all, for as long as the client waits.
    Silence,
}

impl Reaction {
    /// Plays an answer; `write` puts a reply in the words of the wire.
    pub(crate) fn play(
        answer: FakeAnswer,
        write: impl FnOnce(&FakeReply) -> (&'static str, Vec<AnswerStep>),
    ) -> Self {
        match answer {
            FakeAnswer::Silence => Reaction::Silence,
            FakeAnswer::Refusal(refusal) => Reaction::Refused(refusal),
            FakeAnswer::Reply(reply) => {
                let (media_type, steps) = write(&reply);
                Reaction::Stream { media_type, steps, pace: reply.pace }
            }
        }
    }
}

/// A refusal in the server's own words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) media_type: &'static str,
    pub(crate) body: String,
    /// What the log says of it.
    pub(crate) why: String,
}

impl Rejection {
    pub(crate) fn json(status: u16, why: impl Into<String>, body: &Value) -> Self {
        let body = body.to_string();
        Rejection { status, media_type: "application/json", body, why: why.into() }
    }

    pub(crate) fn plain(status: u16, text: &str) -> Self {
        Rejection { status, media_type: "text/plain", body: text.into(), why: text.into() }
    }
}

/// A step of an answer under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerStep {
    /// Sends these bytes as one piece.
    Send(Vec<u8>),
    /// Breaks the connection off.
    Cut,
    /// Sends nothing more, and keeps the connection.
    Stall,
}

/// What an answer waits for before each of its steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    pub(crate) gate: Option<AnswerGate>,
    pub(crate) delay: Duration,
}
