//! Replies of Anthropic's messages: events that begin, fill and end numbered
//! blocks.
//!
//! Blocks of thought are signed, and go back as they came; so does every block
//! of a kind that is not known here. The prompt's tokens are counted in three
//! numbers: fresh, read from the cache, and written to it.

use recto_context::{ContentPart, OpaqueKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::reply::{FinishReason, TokenUsage};
use crate::wire::Wire;
use crate::wire::decode::{
    DecodedCall, DecodedReply, FrameProblem, FrameResult, LenientCount, ReplyDelta, arguments_text,
    check_call_count, check_call_size, check_limit, opaque, parse,
};

/// The most blocks of a reply, calls among them.
const MOST_BLOCKS: usize = 1_024;

/// The blocks of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct AnthropicDecoder {
    blocks: Vec<ContentBlock>,
    calls: usize,
    /// The bytes of the frames that began them.
    begun_bytes: usize,
    usage: AnthropicUsage,
}

/// A block as it began, filled with what followed.
#[derive(Debug)]
struct ContentBlock {
    index: u64,
    fields: Map<String, Value>,
    /// A call's arguments, which come as text.
    input: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    MessageDelta {
        delta: EndingDelta,
        usage: Option<AnthropicUsage>,
    },
    MessageStop,
    Error,
    /// The end of a block, a sign of life, or something new.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct StartedMessage {
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct EndingDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    /// Such as citations, which are not asked for.
    #[serde(other)]
    Other,
}

/// The latest counts of tokens that the server has sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: LenientCount,
    cache_read_input_tokens: LenientCount,
    cache_creation_input_tokens: LenientCount,
    output_tokens: LenientCount,
}

impl AnthropicDecoder {
    /// Adds an event of the stream to the reply.
    pub(crate) fn decode(&mut self, frame: &[u8], reply: &mut DecodedReply) -> FrameResult {
        match parse(frame)? {
            AnthropicEvent::MessageStart { message } => self.usage.update(message.usage),
            AnthropicEvent::ContentBlockStart { index, content_block } => {
                let block = ContentBlock { index, fields: content_block, input: String::new() };
                self.begin(block, frame.len(), reply)?;
            }
            AnthropicEvent::ContentBlockDelta { index, delta } => self.fill(index, delta, reply)?,
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.usage.update(usage);
                let finish = delta.stop_reason.as_deref().map(finish);
                reply.finish = finish.or(reply.finish.take());
            }
            AnthropicEvent::MessageStop => reply.is_complete = true,
            AnthropicEvent::Error => return Err(FrameProblem::Failed),
            AnthropicEvent::Other => {}
        }
        Ok(())
    }

    /// Takes a new block, which came in a frame of this size. A call that begins
    /// with more than it may have is refused with its frame.
    fn begin(&mut self, block: ContentBlock, size: usize, reply: &mut DecodedReply) -> FrameResult {
        check_limit(self.blocks.len() + 1, MOST_BLOCKS, "blocks")?;
        if block.is_call() {
            self.calls += 1;
            check_call_count(self.calls)?;
            check_call_size(size)?;
            self.begun_bytes += size;
        } else {
            reply.size += size;
        }
        let text = |field: &str| block.fields.get(field).and_then(Value::as_str).map(str::to_owned);
        reply.push_delta(ReplyDelta::Thinking(text("thinking").unwrap_or_default()));
        if block.is_text() {
            reply.push_delta(ReplyDelta::Text(text("text").unwrap_or_default()));
        }
        self.blocks.push(block);
        Ok(())
    }

    fn fill(&mut self, index: u64, piece: BlockDelta, reply: &mut DecodedReply) -> FrameResult {
        let block = self.blocks.iter_mut().rfind(|block| block.index == index);
        let block = block.ok_or(FrameProblem::Unexpected("a piece of a block that never began"))?;
        match &piece {
            BlockDelta::InputJsonDelta { partial_json } if block.is_call() => {
                check_call_size(block.input.len() + partial_json.len())?;
            }
            piece => reply.size += piece.len(),
        }
        match piece {
            BlockDelta::TextDelta { text } => {
                block.append("text", &text);
                // What goes back as it came is no part of the reply's text, so nobody is told it.
                if block.is_text() {
                    reply.push_delta(ReplyDelta::Text(text));
                }
            }
            BlockDelta::ThinkingDelta { thinking } => {
                block.append("thinking", &thinking);
                reply.push_delta(ReplyDelta::Thinking(thinking));
            }
            BlockDelta::SignatureDelta { signature } => block.append("signature", &signature),
            BlockDelta::InputJsonDelta { partial_json } => block.input.push_str(&partial_json),
            BlockDelta::Other => {}
        }
        Ok(())
    }

    /// The bytes of all calls so far, with the frames that began them.
    pub(crate) fn call_bytes(&self) -> usize {
        self.begun_bytes + self.blocks.iter().map(|block| block.input.len()).sum::<usize>()
    }

    pub(crate) fn finish(self, reply: &mut DecodedReply) {
        reply.usage = self.usage.into();
        for block in self.blocks {
            match block.kind() {
                "tool_use" => reply.calls.push(block.into_call()),
                "text" => reply.content.extend(block.into_text()),
                _ => {
                    let fields = block.into_fields();
                    reply.content.push(opaque(Wire::Anthropic, OpaqueKind::Thought, &fields));
                }
            }
        }
    }
}

impl BlockDelta {
    fn len(&self) -> usize {
        match self {
            BlockDelta::TextDelta { text: piece }
            | BlockDelta::ThinkingDelta { thinking: piece }
            | BlockDelta::SignatureDelta { signature: piece }
            | BlockDelta::InputJsonDelta { partial_json: piece } => piece.len(),
            BlockDelta::Other => 0,
        }
    }
}

impl ContentBlock {
    fn is_call(&self) -> bool {
        self.kind() == "tool_use"
    }

    fn is_text(&self) -> bool {
        self.kind() == "text"
    }

    fn kind(&self) -> &str {
        self.fields.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Appends to a field that holds text.
    fn append(&mut self, field: &str, piece: &str) {
        match self.fields.get_mut(field) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => {
                self.fields.insert(field.to_owned(), piece.into());
            }
        }
    }

    /// The value of a field that holds text, which is then gone.
    fn take(&mut self, field: &str) -> String {
        self.fields.remove(field).map(arguments_text).unwrap_or_default()
    }

    /// `None` for an empty text.
    fn into_text(mut self) -> Option<ContentPart> {
        let text = self.take("text");
        (!text.is_empty()).then(|| ContentPart::Text(text.into()))
    }

    /// Input that came with the block's beginning counts when no text followed.
    fn into_call(mut self) -> DecodedCall {
        let begun_with = self.take("input");
        let arguments = if self.input.is_empty() { begun_with } else { self.input.clone() };
        DecodedCall { id: self.take("id"), name: self.take("name"), arguments }
    }

    fn into_fields(mut self) -> Value {
        if let Ok(input) = serde_json::from_str::<Value>(&self.input) {
            self.fields.insert("input".to_owned(), input);
        }
        self.fields.into()
    }
}

impl AnthropicUsage {
    fn update(&mut self, newer: Option<Self>) {
        let newer = newer.unwrap_or_default();
        self.input_tokens.update(newer.input_tokens);
        self.cache_read_input_tokens.update(newer.cache_read_input_tokens);
        self.cache_creation_input_tokens.update(newer.cache_creation_input_tokens);
        self.output_tokens.update(newer.output_tokens);
    }
}

impl From<AnthropicUsage> for TokenUsage {
    fn from(usage: AnthropicUsage) -> Self {
        let (read, written) =
            (usage.cache_read_input_tokens.0, usage.cache_creation_input_tokens.0);
        let cached = [read, written].into_iter().flatten();
        let prompt = usage.input_tokens.0.map(|fresh| cached.fold(fresh, u32::saturating_add));
        TokenUsage { prompt, cached: read, completion: usage.output_tokens.0 }
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::Filtered,
        other => FinishReason::Other(other.to_owned()),
    }
}
