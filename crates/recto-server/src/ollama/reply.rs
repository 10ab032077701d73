//! A reply as Ollama's clients read it: a line of JSON for each piece, or one object. What is
//! not known, such as how long a model's server took to read, is left out.

use std::time::Duration;

use recto_agent::ClientCall;
use serde_json::{Map, Value, json};

use crate::front_door::{FinishedReply, ReplyEnd};

/// Where a reply's text stands in its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyField {
    /// In a message, as of `/api/chat`.
    Message,
    /// By itself, as of `/api/generate`.
    Response,
}

/// What is said of a reply in each of its lines.
#[derive(Debug, Clone)]
pub(super) struct LineHead {
    pub(super) field: ReplyField,
    /// The model's name, as the client asked for it.
    pub(super) model: String,
}

/// What a reply, or a piece of it, says.
#[derive(Debug, Default)]
pub(super) struct SpokenPiece {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) calls: Vec<ClientCall>,
}

impl LineHead {
    /// A piece of a reply that goes on.
    pub(super) fn piece(&self, piece: &SpokenPiece) -> Value {
        let mut line = self.line(piece);
        line["done"] = false.into();
        line
    }

    /// The end of a reply, with what has not been said of it.
    pub(super) fn end(&self, rest: &SpokenPiece, end: &FinishedReply) -> Value {
        let mut line = self.line(rest);
        line["done"] = true.into();
        let reason = if end.ended == ReplyEnd::Cut { "length" } else { "stop" };
        line["done_reason"] = reason.into();
        line["total_duration"] = nanoseconds(end.took).into();
        let counts =
            [("prompt_eval_count", end.usage.prompt), ("eval_count", end.usage.completion)];
        for (name, count) in counts {
            if let Some(count) = count {
                line[name] = count.into();
            }
        }
        line
    }

    /// The answer to a request that only has a model loaded, or let go.
    pub(super) fn without_reply(&self, reason: &str) -> Value {
        let mut line = self.line(&SpokenPiece::default());
        line["done"] = true.into();
        line["done_reason"] = reason.into();
        line
    }

    fn line(&self, piece: &SpokenPiece) -> Value {
        let created = jiff::Timestamp::now().to_string();
        let mut line = json!({ "model": self.model, "created_at": created });
        match self.field {
            ReplyField::Message => line["message"] = message_json(piece),
            ReplyField::Response => {
                line["response"] = piece.text.as_str().into();
                if !piece.thinking.is_empty() {
                    line["thinking"] = piece.thinking.as_str().into();
                }
            }
        }
        line
    }
}

fn message_json(piece: &SpokenPiece) -> Value {
    let mut message = json!({ "role": "assistant", "content": piece.text });
    if !piece.thinking.is_empty() {
        message["thinking"] = piece.thinking.as_str().into();
    }
    if !piece.calls.is_empty() {
        message["tool_calls"] = piece.calls.iter().enumerate().map(call_json).collect();
    }
    message
}

/// A call, whose arguments are an object here; what is no JSON is kept as a text in one.
fn call_json((index, call): (usize, &ClientCall)) -> Value {
    let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => Value::Object(arguments),
        Err(_) if call.arguments.trim().is_empty() => json!({}),
        Err(_) => json!({ "_raw": call.arguments }),
    };
    let function = json!({ "index": index, "name": call.name, "arguments": arguments });
    json!({ "id": call.id, "function": function })
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
