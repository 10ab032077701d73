//! What a test lets a fake answer. The same answer can be played on every wire;
//! how it looks there is written in the vendors' modules.

use std::time::Duration;

use serde_json::Value;

use crate::count;
use crate::gate::AnswerGate;
use crate::reaction::{AnswerStep, Pace};

/// The answer to one chat.
#[derive(Debug, Clone)]
pub enum FakeAnswer {
    /// What a model says.
    Reply(FakeReply),
    /// An error before the first byte of a reply.
    Refusal(FakeRefusal),
    /// Nothing, not even headers, for as long as the client waits.
    Silence,
}

impl FakeAnswer {
    /// A reply of this text, sent word by word.
    pub fn text(text: impl Into<String>) -> FakeReply {
        FakeReply::default().text(text)
    }

    /// A reply that calls these tools.
    pub fn calls(calls: impl IntoIterator<Item = FakeCall>) -> FakeReply {
        FakeReply::default().calls(calls)
    }

    /// A reply that begins with thoughts, sent word by word.
    pub fn thinking(thoughts: impl Into<String>) -> FakeReply {
        FakeReply::default().thinking(thoughts)
    }

    /// An error of this status; the body is sent as it is.
    pub fn refusal(status: u16, body: impl Into<String>) -> FakeRefusal {
        FakeRefusal { status, headers: Vec::new(), body: body.into() }
    }
}

impl From<FakeReply> for FakeAnswer {
    fn from(reply: FakeReply) -> Self {
        FakeAnswer::Reply(reply)
    }
}

impl From<FakeRefusal> for FakeAnswer {
    fn from(refusal: FakeRefusal) -> Self {
        FakeAnswer::Refusal(refusal)
    }
}

/// An error before the first byte of a reply.
#[derive(Debug, Clone)]
pub struct FakeRefusal {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl FakeRefusal {
    /// Adds a header, such as `retry-after`. The type is JSON unless one says
    /// otherwise.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// What a model says, piece by piece, and how it may go wrong on the way.
///
/// A *piece* is a word of text or thought, a call, or on OpenAI's wire a part
/// of a call. The end of the reply, with its reason and its usage, is a piece
/// of its own, which none of the `…_after` comes behind.
#[derive(Debug, Clone, Default)]
pub struct FakeReply {
    pub(crate) pieces: Vec<FakePiece>,
    pub(crate) pace: Pace,
    out_of_tokens: bool,
    prompt: Option<u32>,
    cached: u32,
    completion: Option<u32>,
    fault: Option<(usize, ReplyFault)>,
}

#[derive(Debug, Clone)]
pub(crate) enum FakePiece {
    Text(String),
    Thinking(String),
    Call(FakeCall),
}

#[derive(Debug, Clone)]
enum ReplyFault {
    Cut,
    Stall,
    InvalidJson,
    Error(String),
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FakeFinish {
    Stop,
    ToolCalls,
    Length,
}

/// How a wire writes what goes wrong in the middle of a reply.
pub(crate) struct FaultBytes {
    pub(crate) error: fn(&str) -> Vec<u8>,
    pub(crate) invalid_json: &'static [u8],
}

impl FakeReply {
    /// Adds a text, sent word by word.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        let words = text.into();
        self.pieces.extend(words.split_inclusive(' ').map(|word| FakePiece::Text(word.into())));
        self
    }

    /// Adds a text that is sent in one piece.
    pub fn piece(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(FakePiece::Text(text.into()));
        self
    }

    /// Adds thoughts, sent word by word: Ollama's `thinking`, or the
    /// `reasoning_content` that OpenAI-compatible servers have in common.
    pub fn thinking(mut self, thoughts: impl Into<String>) -> Self {
        let words = thoughts.into();
        self.pieces.extend(words.split_inclusive(' ').map(|word| FakePiece::Thinking(word.into())));
        self
    }

    /// Adds calls of tools, in their order.
    pub fn calls(mut self, calls: impl IntoIterator<Item = FakeCall>) -> Self {
        self.pieces.extend(calls.into_iter().map(FakePiece::Call));
        self
    }

    /// Says that the model was stopped because it had no tokens left.
    pub fn out_of_tokens(mut self) -> Self {
        self.out_of_tokens = true;
        self
    }

    /// Reports this usage, instead of what the fake counts.
    pub fn usage(mut self, usage: FakeUsage) -> Self {
        self.prompt = Some(usage.prompt);
        self.cached = usage.cached;
        self.completion = Some(usage.completion);
        self
    }

    /// Reports this count for the prompt, true or not. A count far below the
    /// truth is what a server gives that cut the prompt.
    pub fn prompt_tokens(mut self, tokens: u32) -> Self {
        self.prompt = Some(tokens);
        self
    }

    /// Breaks the connection off after so many pieces.
    pub fn cut_after(self, pieces: usize) -> Self {
        self.with_fault(pieces, ReplyFault::Cut)
    }

    /// Sends nothing more after so many pieces, and keeps the connection.
    pub fn stall_after(self, pieces: usize) -> Self {
        self.with_fault(pieces, ReplyFault::Stall)
    }

    /// Sends something that is no JSON after so many pieces, and then the rest.
    pub fn invalid_json_after(self, pieces: usize) -> Self {
        self.with_fault(pieces, ReplyFault::InvalidJson)
    }

    /// Ends with the server's own error object after so many pieces. This is
    /// what becomes of an error 500 when the status 200 has left already.
    pub fn error_after(self, pieces: usize, message: impl Into<String>) -> Self {
        self.with_fault(pieces, ReplyFault::Error(message.into()))
    }

    /// Waits so long before each piece.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.pace.delay = delay;
        self
    }

    /// Waits at the gate before each piece. The headers leave at once.
    pub fn held(mut self, gate: &AnswerGate) -> Self {
        self.pace.gate = Some(gate.clone());
        self
    }

    fn with_fault(mut self, pieces: usize, fault: ReplyFault) -> Self {
        self.fault = Some((pieces, fault));
        self
    }

    pub(crate) fn finish(&self) -> FakeFinish {
        if self.out_of_tokens {
            FakeFinish::Length
        } else if self.pieces.iter().any(|piece| matches!(piece, FakePiece::Call(_))) {
            FakeFinish::ToolCalls
        } else {
            FakeFinish::Stop
        }
    }

    /// The usage to report, where the prompt was counted as `prompt` tokens.
    pub(crate) fn reported(&self, prompt: u32) -> FakeUsage {
        let counted = || count::tokens(self.pieces.iter().map(FakePiece::bytes).sum());
        FakeUsage {
            prompt: self.prompt.unwrap_or(prompt),
            cached: self.cached,
            completion: self.completion.unwrap_or_else(counted),
        }
    }

    /// The steps of an answer whose pieces a wire has written down, with what
    /// goes wrong put where it belongs.
    pub(crate) fn steps(
        &self,
        mut pieces: Vec<Vec<u8>>,
        end: Vec<u8>,
        mishaps: &FaultBytes,
    ) -> Vec<AnswerStep> {
        let Some((after, fault)) = &self.fault else {
            pieces.push(end);
            return pieces.into_iter().map(AnswerStep::Send).collect();
        };
        let rest = pieces.split_off((*after).min(pieces.len()));
        let mut steps: Vec<AnswerStep> = pieces.into_iter().map(AnswerStep::Send).collect();
        match fault {
            ReplyFault::Cut => steps.push(AnswerStep::Cut),
            ReplyFault::Stall => steps.push(AnswerStep::Stall),
            ReplyFault::Error(message) => steps.push(AnswerStep::Send((mishaps.error)(message))),
            ReplyFault::InvalidJson => {
                steps.push(AnswerStep::Send(mishaps.invalid_json.to_vec()));
                steps.extend(rest.into_iter().chain([end]).map(AnswerStep::Send));
            }
        }
        steps
    }

    /// All of its text.
    pub(crate) fn whole_text(&self) -> String {
        self.joined(|piece| if let FakePiece::Text(text) = piece { Some(text) } else { None })
    }

    /// All of its thoughts.
    pub(crate) fn whole_thinking(&self) -> String {
        self.joined(|piece| if let FakePiece::Thinking(text) = piece { Some(text) } else { None })
    }

    fn joined<'a>(&'a self, part: impl Fn(&'a FakePiece) -> Option<&'a String>) -> String {
        self.pieces.iter().filter_map(part).map(String::as_str).collect()
    }
}

impl FakePiece {
    fn bytes(&self) -> usize {
        match self {
            FakePiece::Text(text) | FakePiece::Thinking(text) => text.len(),
            FakePiece::Call(call) => call.name.len() + call.arguments_text().len(),
        }
    }
}

/// A call that a model makes.
#[derive(Debug, Clone)]
pub struct FakeCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl FakeCall {
    /// A call of a tool. The arguments are an object as a rule. A string goes
    /// out as it is on wires where arguments are text, so that a test can play
    /// a model that writes broken JSON.
    pub fn new(name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        FakeCall { name: name.into(), arguments: arguments.into() }
    }

    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Tokens, as a server counts them. `prompt` includes `cached`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FakeUsage {
    /// Of the whole prompt.
    pub prompt: u32,
    /// Of the part of it that the server had read before. Not told by Ollama.
    pub cached: u32,
    /// Of the reply, with its thoughts and calls.
    pub completion: u32,
}
