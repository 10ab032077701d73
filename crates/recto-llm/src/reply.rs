//! What comes back from a model: events while it speaks, and the reply when it
//! has spoken.

use std::time::Duration;

use recto_context::{ContentPart, Text, ToolCall};
use serde::{Deserialize, Serialize};

use crate::error::LlmError;

/// An event of a call while it goes on. [`StreamEvent::Done`] comes exactly once, as the
/// last event; a call that fails ends with an error instead.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The server was not ready. The call is made again after a while; nothing
    /// of the reply had arrived.
    Retrying {
        /// How long the call waits.
        after: Duration,
        /// Why the attempt before failed.
        error: LlmError,
    },
    /// A piece of the reply's text.
    Text(String),
    /// A piece of what the model thinks before and while it replies.
    Thinking(String),
    /// The whole reply. The texts before add up to its text.
    Done(ModelReply),
}

/// A model's whole reply: what it said, what it wants run, and why it ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelReply {
    /// What it said, with what its provider wants back verbatim.
    pub content: Vec<ContentPart>,
    /// What it wants run. Ids are unique within the reply.
    pub calls: Vec<ToolCall>,
    /// Why the server says that it ended.
    pub finish: FinishReason,
    /// What the server counted.
    pub usage: TokenUsage,
}

impl ModelReply {
    /// The texts of its content, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(|part| part.as_text().map(Text::as_str)).collect()
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    #[default]
    Stop,
    /// There was no more room. The last call may be cut short.
    Length,
    /// The model waits for the results of its calls. There is at least one,
    /// whatever word the server used.
    ToolCalls,
    /// The provider withheld the rest.
    Filtered,
    /// It went in circles and was ended there. A call is whole all the same.
    Repetition,
    /// A reason that only the server knows, in its words.
    Other(String),
}

impl FinishReason {
    /// Whether the reply ended where the model wanted it to, as far as the server says.
    pub fn is_usual(&self) -> bool {
        match self {
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => true,
            FinishReason::Length | FinishReason::Filtered | FinishReason::Repetition => false,
        }
    }
}

/// The tokens that the server counted; what it did not say stays unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens of the prompt, those from the server's cache among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// How many of them came from the server's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u32>,
    /// Tokens of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<u32>,
}

impl TokenUsage {
    /// Takes over what a newer report says; what it does not say stays.
    pub(crate) fn update(&mut self, newer: TokenUsage) {
        self.prompt = newer.prompt.or(self.prompt);
        self.cached = newer.cached.or(self.cached);
        self.completion = newer.completion.or(self.completion);
    }
}
