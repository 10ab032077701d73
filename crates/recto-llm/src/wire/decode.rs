//! Bytes from a server to a reply. Pure: no socket, no clock.
//!
//! The way is bytes, frames ([`super::frame`]), then a decoder for each wire,
//! which knows what a frame means and puts it into [`DecodedReply`]. What all wires
//! share at the end stands here: calls get ids, and the reason for the end is
//! brought in line with the calls. So do the limits of what a server may send: a
//! reply is kept in memory, and no server says beforehand how long it goes on.

use std::collections::HashSet;

use recto_context::{CallId, ContentHash, ContentPart, Opaque, OpaqueKind, Text, ToolCall};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::anthropic::AnthropicDecoder;
use super::embedded::EmbeddedDecoder;
use super::frame::{FrameSplitter, FrameTooLong};
use super::key_guard::KeyGuard;
use super::openai::OpenAiDecoder;
use super::{Wire, failure, ollama, requested_model};
use crate::api_key::ApiKey;
use crate::error::LlmError;
use crate::reply::{FinishReason, ModelReply, TokenUsage};

/// The most bytes of a reply's text, thoughts and whatever else goes back to its
/// provider, together.
const MOST_TEXT: usize = 8 * 1024 * 1024;

/// The most calls of a reply.
const MOST_CALLS: usize = 128;

/// The most bytes of a call: its arguments, with its name and id.
const LARGEST_CALL: usize = 2 * 1024 * 1024;

/// The most bytes of all calls of a reply.
const MOST_CALL_BYTES: usize = 8 * 1024 * 1024;

/// A piece of a reply: of its text, or of what the model thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say it")]
pub enum ReplyDelta {
    Text(String),
    Thinking(String),
}

/// Reads a reply from the bytes of a server's stream, however they are cut.
///
/// ```
/// use recto_llm::{ReplyDecoder, ReplyDelta, Wire};
///
/// let mut decoder = ReplyDecoder::new(Wire::Ollama, br#"{"model":"qwen3"}"#);
/// let mut deltas = Vec::new();
/// decoder.push(b"{\"message\":{\"content\":\"Hel", &mut deltas)?;
/// decoder.push(b"lo\"}}\n{\"done\":true}\n", &mut deltas)?;
/// assert_eq!(deltas, [ReplyDelta::Text("Hello".to_owned())]);
/// assert_eq!(decoder.finish()?.text(), "Hello");
/// # Ok::<(), recto_llm::LlmError>(())
/// ```
#[derive(Debug)]
pub struct ReplyDecoder {
    wire: Wire,
    frames: FrameSplitter,
    decoder: WireDecoder,
    reply: DecodedReply,
    /// The request, from which calls without ids get theirs.
    request: ContentHash,
    model: String,
    /// The key, which no error may show.
    key: Option<ApiKey>,
    /// Keeps the key out of the reply.
    guard: Option<KeyGuard>,
    /// How many frames came. Comments and blank lines are none.
    frames_read: u64,
    /// Whether a frame was read that is part of a reply.
    has_begun: bool,
}

/// What a frame means, on each wire, with what a wire has to remember between two.
#[derive(Debug)]
enum WireDecoder {
    Ollama,
    OpenAi(OpenAiDecoder),
    Anthropic(AnthropicDecoder),
    Embedded(EmbeddedDecoder),
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct DecodedReply {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) content: Vec<ContentPart>,
    pub(super) calls: Vec<DecodedCall>,
    /// Why it ended. Without a reason it did not.
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: TokenUsage,
    /// Whether the server has said that nothing more comes.
    pub(super) is_complete: bool,
    /// The bytes that are kept, besides calls.
    pub(super) size: usize,
    deltas: Vec<ReplyDelta>,
}

/// A call as the server sent it.
#[derive(Debug, Default)]
pub(super) struct DecodedCall {
    /// Empty where the server gave none.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl DecodedReply {
    pub(super) fn push_text(&mut self, text: String) {
        self.size += text.len();
        self.text.push_str(&text);
        self.push_delta(ReplyDelta::Text(text));
    }

    pub(super) fn push_thought(&mut self, thought: String) {
        self.size += thought.len();
        self.thought.push_str(&thought);
        self.push_delta(ReplyDelta::Thinking(thought));
    }

    /// Hands a piece on to whoever reads along. Servers send empty ones, which are
    /// nothing to tell anyone about.
    pub(super) fn push_delta(&mut self, delta: ReplyDelta) {
        let (ReplyDelta::Text(piece) | ReplyDelta::Thinking(piece)) = &delta;
        if !piece.is_empty() {
            self.deltas.push(delta);
        }
    }

    /// Makes content of what was thought and said, on wires where thoughts are a
    /// field of the message: the field under its name, then the text. Either is
    /// left out when empty.
    pub(super) fn add_content(&mut self, wire: Wire, field: &str) {
        if !self.thought.is_empty() {
            self.content.push(opaque(wire, OpaqueKind::Thought, &json!({ field: self.thought })));
        }
        if !self.text.is_empty() {
            self.content.push(ContentPart::Text(std::mem::take(&mut self.text).into()));
        }
    }
}

impl DecodedCall {
    /// Fails when the call is larger than it may be.
    pub(super) fn check(&self) -> FrameResult {
        check_call_size(self.bytes())
    }

    /// The bytes that are kept of it.
    pub(super) fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.len()
    }
}

impl ReplyDecoder {
    /// A decoder for the reply to `request`, the body as it was sent.
    pub fn new(wire: Wire, request: &[u8]) -> Self {
        let (frames, decoder) = match wire {
            Wire::Ollama => (FrameSplitter::lines(), WireDecoder::Ollama),
            Wire::OpenAi => {
                (FrameSplitter::events(), WireDecoder::OpenAi(OpenAiDecoder::default()))
            }
            Wire::Anthropic => {
                (FrameSplitter::events(), WireDecoder::Anthropic(AnthropicDecoder::default()))
            }
            Wire::Embedded => {
                (FrameSplitter::lines(), WireDecoder::Embedded(EmbeddedDecoder::new(request)))
            }
        };
        ReplyDecoder {
            wire,
            frames,
            decoder,
            reply: DecodedReply::default(),
            request: ContentHash::of_bytes(request),
            model: requested_model(request),
            key: None,
            guard: None,
            frames_read: 0,
            has_begun: false,
        }
    }

    /// The same decoder, which keeps `key` out of the reply and its errors.
    pub(crate) fn with_key(self, key: Option<ApiKey>) -> Self {
        let guard = key.as_ref().and_then(KeyGuard::new);
        ReplyDecoder { key, guard, ..self }
    }

    /// How far the reply has come: a number that grows with what belongs to it. Comments, signs
    /// of life and pieces without content are nothing. Our own engine sends a line for each token,
    /// and reads some of them as a part of something larger: each of its lines counts.
    pub(crate) fn progress(&self) -> u64 {
        let calls = match &self.decoder {
            WireDecoder::Embedded(_) => return self.frames_read,
            WireDecoder::Ollama => self.reply.calls.len(),
            WireDecoder::OpenAi(decoder) => decoder.call_bytes(),
            WireDecoder::Anthropic(decoder) => decoder.call_bytes(),
        };
        (self.reply.size + calls) as u64
    }

    /// Takes the next bytes. The pieces of the reply that they complete are
    /// appended to `deltas`, also those before an error. After an error there
    /// is nothing more to decode.
    pub fn push(&mut self, bytes: &[u8], deltas: &mut Vec<ReplyDelta>) -> Result<(), LlmError> {
        let mut frames = Vec::new();
        let framed = self.frames.push(bytes, &mut frames);
        let read = frames.iter().try_for_each(|frame| self.decode_frame(frame, deltas));
        if read.is_err() {
            self.tell_rest(deltas);
        }
        let endless = |FrameTooLong| malformed("a line of more than 16 MiB", self.frames.begun());
        read.and(framed.map_err(endless)).map_err(|error| error.redacted(self.key.as_ref()))
    }

    /// Whether the server has said that this was all. Bytes that follow are
    /// not looked at.
    pub fn is_complete(&self) -> bool {
        self.reply.is_complete
    }

    /// Tells that no more bytes come. Servers leave out the end of the last
    /// line, so what stands there is read, too.
    pub fn close(&mut self, deltas: &mut Vec<ReplyDelta>) -> Result<(), LlmError> {
        let Some(rest) = self.frames.close() else {
            self.tell_rest(deltas);
            return Ok(());
        };
        let read = self.decode_frame(&rest, deltas);
        self.tell_rest(deltas);
        match read {
            // Half a frame is no JSON. It is cut off rather than wrong, unless
            // there has been nothing else, and it does not even begin as JSON.
            Err(LlmError::Malformed { .. }) if self.has_begun || is_cut(&rest) => Ok(()),
            read => read.map_err(|error| error.redacted(self.key.as_ref())),
        }
    }

    /// The reply, if its end has come. Call [`ReplyDecoder::close`] before, where
    /// the stream has ended.
    pub fn finish(self) -> Result<ModelReply, LlmError> {
        if self.reply.finish.is_none() {
            let error = if self.has_begun {
                cut()
            } else {
                never_begun(self.wire, self.frames.stray(), &self.model)
            };
            return Err(error.redacted(self.key.as_ref()));
        }
        let mut reply = self.reply;
        match self.decoder {
            WireDecoder::Ollama => reply.add_content(Wire::Ollama, "thinking"),
            WireDecoder::OpenAi(decoder) => decoder.finish(&mut reply),
            WireDecoder::Anthropic(decoder) => decoder.finish(&mut reply),
            WireDecoder::Embedded(decoder) => decoder.finish(&mut reply),
        }
        if let Some(guard) = &self.guard {
            guard.redact(&mut reply);
        }
        let calls = assign_ids(reply.calls, self.request);
        let finish = match reply.finish.unwrap_or_default() {
            FinishReason::Stop if !calls.is_empty() => FinishReason::ToolCalls,
            FinishReason::ToolCalls if calls.is_empty() => FinishReason::Stop,
            finish => finish,
        };
        Ok(ModelReply { content: reply.content, calls, finish, usage: reply.usage })
    }

    /// Tells what was held back because the key could have followed.
    fn tell_rest(&mut self, deltas: &mut Vec<ReplyDelta>) {
        deltas.extend(self.guard.iter_mut().flat_map(KeyGuard::rest));
    }

    /// The bytes that are kept of all calls.
    fn call_bytes(&self) -> usize {
        match &self.decoder {
            WireDecoder::OpenAi(decoder) => decoder.call_bytes(),
            WireDecoder::Anthropic(decoder) => decoder.call_bytes(),
            WireDecoder::Ollama | WireDecoder::Embedded(_) => {
                self.reply.calls.iter().map(DecodedCall::bytes).sum()
            }
        }
    }

    fn decode_frame(&mut self, frame: &[u8], deltas: &mut Vec<ReplyDelta>) -> Result<(), LlmError> {
        if self.is_complete() {
            return Ok(());
        }
        self.frames_read += 1;
        let reply = &mut self.reply;
        let read = match &mut self.decoder {
            WireDecoder::Ollama => ollama::decode_line(frame, reply),
            WireDecoder::OpenAi(decoder) => decoder.decode(frame, reply),
            WireDecoder::Anthropic(decoder) => decoder.decode(frame, reply),
            WireDecoder::Embedded(decoder) => decoder.decode(frame, reply),
        };
        let told = std::mem::take(&mut reply.deltas);
        deltas.extend(match &mut self.guard {
            Some(guard) => guard.filter(told),
            None => told,
        });
        self.has_begun |= read.is_ok();
        let read = read
            .and_then(|()| check_limit(self.reply.size, MOST_TEXT, "bytes of text"))
            .and_then(|()| check_limit(self.call_bytes(), MOST_CALL_BYTES, "bytes in calls"));
        read.map_err(|problem| match problem {
            FrameProblem::Unreadable(error) => {
                malformed(&format!("what cannot be read ({error})"), frame)
            }
            FrameProblem::Unexpected(what) => malformed(what, frame),
            FrameProblem::TooLarge { what, limit } => LlmError::TooLarge { what, limit },
            FrameProblem::Failed => failure::error_in_stream(self.wire, frame, &self.model),
        })
    }
}

/// Whether a frame could be decoded.
pub(super) type FrameResult = Result<(), FrameProblem>;

/// Why a frame is no part of a reply.
#[derive(Debug)]
pub(super) enum FrameProblem {
    /// It is not the JSON it should be.
    Unreadable(serde_json::Error),
    /// It does not fit what came before it.
    Unexpected(&'static str),
    /// The reply has grown too large with it.
    TooLarge { what: &'static str, limit: usize },
    /// The server tells of an error in it.
    Failed,
}

/// Fails when there is more of something than there may be.
pub(super) fn check_limit(amount: usize, limit: usize, what: &'static str) -> FrameResult {
    if amount > limit { Err(FrameProblem::TooLarge { what, limit }) } else { Ok(()) }
}

/// Fails when a call has more bytes than it may have.
pub(super) fn check_call_size(bytes: usize) -> FrameResult {
    check_limit(bytes, LARGEST_CALL, "bytes in a call")
}

/// Fails when a reply has more calls than it may have.
pub(super) fn check_call_count(count: usize) -> FrameResult {
    check_limit(count, MOST_CALLS, "calls")
}

/// A frame's JSON. Unknown fields are left alone.
pub(super) fn parse<T: DeserializeOwned>(frame: &[u8]) -> Result<T, FrameProblem> {
    serde_json::from_slice(frame).map_err(FrameProblem::Unreadable)
}

fn malformed(what: &str, sample: &[u8]) -> LlmError {
    let sample = String::from_utf8_lossy(sample).into_owned();
    LlmError::Malformed { what: what.to_owned(), sample }
}

fn cut() -> LlmError {
    LlmError::Cut { cause: "the server stopped in the middle of it".to_owned() }
}

/// Whether more bytes could have made JSON of it.
fn is_cut(frame: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(frame).is_err_and(|error| error.is_eof())
}

/// Why there was no frame: cut off early, or never a stream in the first place.
fn never_begun(wire: Wire, stray: &[u8], model: &str) -> LlmError {
    if stray.is_empty() {
        return cut();
    }
    if failure::is_complaint(stray) {
        return failure::error_in_stream(wire, stray, model);
    }
    malformed("something else than a stream of events", stray)
}

/// The calls with ids. An id that is missing, or given twice, is made from the
/// request: no two requests of a session are the same, so no two of its calls
/// get the same id, not even from two processes.
fn assign_ids(calls: Vec<DecodedCall>, request: ContentHash) -> Vec<ToolCall> {
    let mut taken: HashSet<String> = HashSet::new();
    let seed = &request.to_string()[..16];
    let mut number = 0;
    let mut name = |given: String| {
        let mut id = given;
        while id.is_empty() || !taken.insert(id.clone()) {
            number += 1;
            id = format!("call_{seed}_{number}");
        }
        CallId(id.into())
    };
    let call = |call: DecodedCall| ToolCall {
        id: name(call.id),
        name: call.name.into(),
        arguments: call.arguments.into(),
    };
    calls.into_iter().map(call).collect()
}

/// A part that `wire` gets back as it came.
pub(super) fn opaque(wire: Wire, kind: OpaqueKind, value: &Value) -> ContentPart {
    let json = Text::new(value.to_string());
    ContentPart::Opaque(Opaque { provider: wire.name().into(), json, kind })
}

/// Arguments as the model wrote them where the wire has a string, and the
/// object in compact form where it has one.
pub(super) fn arguments_text(arguments: Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => text,
        object => object.to_string(),
    }
}

/// Why a reply ended, in the words of Ollama and of the embedded engine. Ollama's
/// servers before 2024 give no reason.
pub(super) fn finish_reason(reason: Option<&str>) -> FinishReason {
    match reason {
        None | Some("" | "stop") => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        Some("repetition") => FinishReason::Repetition,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

/// A count that some servers leave out or fill with nonsense. A reply is not
/// lost over it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LenientCount(pub(super) Option<u32>);

impl LenientCount {
    /// Takes over a newer count, if there is one.
    pub(super) fn update(&mut self, newer: Self) {
        self.0 = newer.0.or(self.0);
    }
}

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(LenientCount(value.as_u64().and_then(|count| u32::try_from(count).ok())))
    }
}

#[cfg(test)]
mod tests;
