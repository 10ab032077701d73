//! Bytes from a server to a reply. Pure: no socket, no clock.
//!
//! The way is bytes, frames ([`super::frame`]), then a reader for each wire,
//! which knows what a frame means and gathers the reply. What all wires share
//! at the end stands here: calls get ids, and the reason for the end is brought
//! in line with the calls. So do the limits of what a server may send: a reply is
//! kept in memory, and no server says beforehand how long it goes on.

use std::collections::HashSet;

use recto_context::{CallId, ContentHash, ContentPart, Opaque, OpaqueKind, Text, ToolCall};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::frame::{Frames, TooLong};
use super::{Wire, anthropic, embedded, failure, model_of, ollama, openai};
use crate::error::LlmError;
use crate::reply::{Finish, Reply, Usage};
use crate::secret::Secret;

/// The most bytes of a reply's text, thoughts and whatever else goes back to its
/// provider, together.
const MOST_TEXT: usize = 8 * 1024 * 1024;

/// The most calls of a reply.
const MOST_CALLS: usize = 128;

/// The most bytes of a call: its arguments, with its name and id.
const LARGEST_CALL: usize = 2 * 1024 * 1024;

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Of its text.
    Text(String),
    /// Of what the model thinks.
    Thinking(String),
}

/// Reads a reply from the bytes of a server's stream, however they are cut.
///
/// ```
/// use recto_llm::{Decoder, Delta, Wire};
///
/// let mut decoder = Decoder::new(Wire::Ollama, br#"{"model":"qwen3"}"#);
/// let mut deltas = Vec::new();
/// decoder.push(b"{\"message\":{\"content\":\"Hel", &mut deltas)?;
/// decoder.push(b"lo\"}}\n{\"done\":true}\n", &mut deltas)?;
/// assert_eq!(deltas, [Delta::Text("Hello".to_owned())]);
/// assert_eq!(decoder.finish()?.text(), "Hello");
/// # Ok::<(), recto_llm::LlmError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    wire: Wire,
    frames: Frames,
    reader: Reader,
    /// The request, from which calls without ids get theirs.
    request: ContentHash,
    model: String,
    /// The key, which no error may show.
    key: Option<Secret>,
    /// How many frames came.
    frames_read: u64,
    /// Whether a frame was read that is part of a reply.
    has_begun: bool,
}

/// What a frame means, on each wire.
#[derive(Debug)]
enum Reader {
    Ollama(ollama::Reader),
    OpenAi(openai::Reader),
    Anthropic(anthropic::Reader),
    Embedded(embedded::Reader),
}

/// What a reader has when the reply is at its end.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) content: Vec<ContentPart>,
    pub(super) calls: Vec<GatheredCall>,
    pub(super) finish: Finish,
    pub(super) usage: Usage,
}

/// A call as the server sent it.
#[derive(Debug, Default)]
pub(super) struct GatheredCall {
    /// Empty where the server gave none.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl GatheredCall {
    /// Fails when the call is larger than it may be.
    pub(super) fn check(&self) -> Result<(), FrameProblem> {
        few_bytes_of_call(self.id.len() + self.name.len() + self.arguments.len())
    }
}

impl Decoder {
    /// A decoder for the reply to `request`, the body as it was sent.
    pub fn new(wire: Wire, request: &[u8]) -> Self {
        let (frames, reader) = match wire {
            Wire::Ollama => (Frames::lines(), Reader::Ollama(ollama::Reader::default())),
            Wire::OpenAi => (Frames::events(), Reader::OpenAi(openai::Reader::default())),
            Wire::Anthropic => (Frames::events(), Reader::Anthropic(anthropic::Reader::default())),
            Wire::Embedded => (Frames::lines(), Reader::Embedded(embedded::Reader::new(request))),
        };
        Decoder {
            wire,
            frames,
            reader,
            request: ContentHash::of(request),
            model: model_of(request),
            key: None,
            frames_read: 0,
            has_begun: false,
        }
    }

    /// The same decoder, which keeps `key` out of its errors.
    pub(crate) fn keeping(self, key: Option<Secret>) -> Self {
        Decoder { key, ..self }
    }

    /// How many frames have come. Comments and blank lines are none.
    pub(crate) fn frames(&self) -> u64 {
        self.frames_read
    }

    /// Takes the next bytes. The pieces of the reply that they complete are
    /// appended to `deltas`, also those before an error. After an error there
    /// is nothing more to decode.
    pub fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), LlmError> {
        let mut frames = Vec::new();
        let framed = self.frames.push(bytes, &mut frames);
        let read = frames.iter().try_for_each(|frame| self.read(frame, deltas));
        let endless = |TooLong| malformed("a line of more than 16 MiB", b"");
        read.and(framed.map_err(endless)).map_err(|error| error.told(self.key.as_ref()))
    }

    /// Whether the server has said that this was all. Bytes that follow are
    /// not looked at.
    pub fn is_complete(&self) -> bool {
        match &self.reader {
            Reader::Ollama(reader) => reader.is_complete(),
            Reader::OpenAi(reader) => reader.is_complete(),
            Reader::Anthropic(reader) => reader.is_complete(),
            Reader::Embedded(reader) => reader.is_complete(),
        }
    }

    /// Tells that no more bytes come. Servers leave out the end of the last
    /// line, so what stands there is read, too.
    pub fn close(&mut self, deltas: &mut Vec<Delta>) -> Result<(), LlmError> {
        let Some(rest) = self.frames.close() else { return Ok(()) };
        match self.read(&rest, deltas) {
            // Half a frame is no JSON. It is cut off rather than wrong, unless
            // there has been nothing else, and it does not even begin as JSON.
            Err(LlmError::Malformed { .. }) if self.has_begun || is_cut(&rest) => Ok(()),
            read => read.map_err(|error| error.told(self.key.as_ref())),
        }
    }

    /// The reply, if its end has come. Call [`Decoder::close`] before, where
    /// the stream has ended.
    pub fn finish(self) -> Result<Reply, LlmError> {
        let gathered = match self.reader {
            Reader::Ollama(reader) => reader.gathered(),
            Reader::OpenAi(reader) => reader.gathered(),
            Reader::Anthropic(reader) => reader.gathered(),
            Reader::Embedded(reader) => reader.gathered(),
        };
        match gathered {
            Some(gathered) => Ok(reply(gathered, self.request)),
            None if self.has_begun => Err(cut()),
            None => {
                let error = never_begun(self.wire, self.frames.stray(), &self.model);
                Err(error.told(self.key.as_ref()))
            }
        }
    }

    fn read(&mut self, frame: &[u8], deltas: &mut Vec<Delta>) -> Result<(), LlmError> {
        if self.is_complete() {
            return Ok(());
        }
        self.frames_read += 1;
        let before = deltas.len();
        let read = match &mut self.reader {
            Reader::Ollama(reader) => reader.read(frame, deltas),
            Reader::OpenAi(reader) => reader.read(frame, deltas),
            Reader::Anthropic(reader) => reader.read(frame, deltas),
            Reader::Embedded(reader) => reader.read(frame, deltas),
        };
        // Servers send empty pieces, which are nothing to tell anyone about.
        let empty =
            |delta: &Delta| matches!(delta, Delta::Text(s) | Delta::Thinking(s) if s.is_empty());
        let told = deltas.split_off(before).into_iter().filter(|delta| !empty(delta));
        deltas.extend(told);
        self.has_begun |= read.is_ok();
        let read = read.and_then(|()| within(self.kept(), MOST_TEXT, "bytes of text"));
        read.map_err(|problem| match problem {
            FrameProblem::Unreadable(error) => {
                malformed(&format!("what cannot be read ({error})"), frame)
            }
            FrameProblem::Unexpected(what) => malformed(what, frame),
            FrameProblem::TooLarge { what, limit } => LlmError::TooLarge { what, limit },
            FrameProblem::Failed => failure::in_stream(self.wire, frame, &self.model),
        })
    }

    /// The bytes that are kept of the reply, besides its calls.
    fn kept(&self) -> usize {
        match &self.reader {
            Reader::Ollama(reader) => reader.kept(),
            Reader::OpenAi(reader) => reader.kept(),
            Reader::Anthropic(reader) => reader.kept(),
            Reader::Embedded(reader) => reader.kept(),
        }
    }
}

/// Why a frame is no part of a reply.
#[derive(Debug)]
pub(super) enum FrameProblem {
    /// It is not the JSON it should be.
    Unreadable(serde_json::Error),
    /// It does not fit what came before it.
    Unexpected(&'static str),
    /// The reply has grown too large with it.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it may be there.
        limit: usize,
    },
    /// The server tells of an error in it.
    Failed,
}

/// Fails when there is more of something than there may be.
pub(super) fn within(amount: usize, limit: usize, what: &'static str) -> Result<(), FrameProblem> {
    if amount > limit { Err(FrameProblem::TooLarge { what, limit }) } else { Ok(()) }
}

/// Fails when a call has more bytes than it may have.
pub(super) fn few_bytes_of_call(bytes: usize) -> Result<(), FrameProblem> {
    within(bytes, LARGEST_CALL, "bytes in a call")
}

/// Fails when a reply has more calls than it may have.
pub(super) fn few_calls(count: usize) -> Result<(), FrameProblem> {
    within(count, MOST_CALLS, "calls")
}

impl From<serde_json::Error> for FrameProblem {
    fn from(error: serde_json::Error) -> Self {
        FrameProblem::Unreadable(error)
    }
}

/// A frame's JSON. Unknown fields are left alone.
pub(super) fn parse<T: DeserializeOwned>(frame: &[u8]) -> Result<T, FrameProblem> {
    Ok(serde_json::from_slice(frame)?)
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
        return failure::in_stream(wire, stray, model);
    }
    malformed("something else than a stream of events", stray)
}

fn reply(gathered: Gathered, request: ContentHash) -> Reply {
    let calls = named(gathered.calls, request);
    let finish = match gathered.finish {
        Finish::Stop if !calls.is_empty() => Finish::ToolCalls,
        Finish::ToolCalls if calls.is_empty() => Finish::Stop,
        finish => finish,
    };
    Reply { content: gathered.content, calls, finish, usage: gathered.usage }
}

/// The calls with ids. An id that is missing, or given twice, is made from the
/// request: no two requests of a session are the same, so no two of its calls
/// get the same id, not even from two processes.
fn named(calls: Vec<GatheredCall>, request: ContentHash) -> Vec<ToolCall> {
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
    let call = |call: GatheredCall| ToolCall {
        id: name(call.id),
        name: call.name.into(),
        arguments: call.arguments.into(),
    };
    calls.into_iter().map(call).collect()
}

/// The content of a reply on wires where thoughts are a field of the message:
/// the field under its name, then the text. Either is left out when empty.
pub(super) fn thought_and_said(
    wire: Wire,
    field: &str,
    thought: &str,
    said: String,
) -> Vec<ContentPart> {
    let mut content = Vec::new();
    if !thought.is_empty() {
        content.push(opaque(wire, &json!({ field: thought })));
    }
    if !said.is_empty() {
        content.push(ContentPart::Text(said.into()));
    }
    content
}

/// A part that `wire` gets back as it came.
pub(super) fn opaque(wire: Wire, value: &Value) -> ContentPart {
    ContentPart::Opaque(Opaque {
        provider: wire.name().into(),
        json: Text::new(value.to_string()),
        kind: OpaqueKind::Thought,
    })
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

/// A count that some servers leave out or fill with nonsense. A reply is not
/// lost over it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count(pub(super) Option<u32>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Count(value.as_u64().and_then(|count| u32::try_from(count).ok())))
    }
}

#[cfg(test)]
mod tests;
