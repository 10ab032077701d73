//! Replies of Anthropic's messages: events that begin, fill and end numbered
//! blocks.
//!
//! Blocks of thought are signed, and go back as they came; so does every block
//! of a kind that is not known here. The prompt's tokens are counted in three
//! numbers: fresh, read from the cache, and written to it.

use recto_context::ContentPart;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::reply::{Finish, Usage};
use crate::wire::Wire;
use crate::wire::decode::{
    Count, Delta, FrameProblem, Gathered, GatheredCall, arguments_text, few_bytes_of_call,
    few_calls, opaque, parse, within,
};

/// The most blocks of a reply, calls among them.
const MOST_BLOCKS: usize = 1_024;

/// Gathers a reply.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: Vec<Block>,
    calls: usize,
    /// The bytes that are kept, besides calls.
    kept: usize,
    counts: Counts,
    finish: Option<Finish>,
    done: bool,
}

/// A block as it began, filled with what followed.
#[derive(Debug)]
struct Block {
    index: u64,
    fields: Map<String, Value>,
    /// A call's arguments, which come as text.
    input: String,
}

/// The latest counts.
#[derive(Debug, Default)]
struct Counts {
    fresh: Option<u32>,
    read: Option<u32>,
    written: Option<u32>,
    output: Option<u32>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockPiece,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<ReportedUsage>,
    },
    MessageStop,
    Error,
    /// The end of a block, a sign of life, or something new.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    usage: Option<ReportedUsage>,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockPiece {
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

#[derive(Deserialize)]
struct ReportedUsage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
}

impl Reader {
    pub(crate) fn is_complete(&self) -> bool {
        self.done
    }

    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        match parse(frame)? {
            Event::MessageStart { message } => self.counts.update(message.usage),
            Event::ContentBlockStart { index, content_block } => {
                let block = Block { index, fields: content_block, input: String::new() };
                self.begin(block, frame.len(), deltas)?;
            }
            Event::ContentBlockDelta { index, delta } => self.fill(index, delta, deltas)?,
            Event::MessageDelta { delta, usage } => {
                self.counts.update(usage);
                self.finish = delta.stop_reason.as_deref().map(finish).or(self.finish.take());
            }
            Event::MessageStop => self.done = true,
            Event::Error => return Err(FrameProblem::Failed),
            Event::Other => {}
        }
        Ok(())
    }

    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// Takes a new block, which came in a frame of this size. A call that begins
    /// with more than it may have is refused with its frame.
    fn begin(
        &mut self,
        block: Block,
        size: usize,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        within(self.blocks.len() + 1, MOST_BLOCKS, "blocks")?;
        if block.is_call() {
            self.calls += 1;
            few_calls(self.calls)?;
            few_bytes_of_call(size)?;
        } else {
            self.kept += size;
        }
        let text = |field: &str| block.fields.get(field).and_then(Value::as_str).map(str::to_owned);
        deltas.extend(text("thinking").map(Delta::Thinking));
        deltas.extend(text("text").map(Delta::Text));
        self.blocks.push(block);
        Ok(())
    }

    fn fill(
        &mut self,
        index: u64,
        piece: BlockPiece,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        let block = self.blocks.iter_mut().rfind(|block| block.index == index);
        let block = block.ok_or(FrameProblem::Unexpected("a piece of a block that never began"))?;
        match &piece {
            BlockPiece::InputJsonDelta { partial_json } if block.is_call() => {
                few_bytes_of_call(block.input.len() + partial_json.len())?;
            }
            piece => self.kept += piece.len(),
        }
        match piece {
            BlockPiece::TextDelta { text } => {
                block.append("text", &text);
                deltas.push(Delta::Text(text));
            }
            BlockPiece::ThinkingDelta { thinking } => {
                block.append("thinking", &thinking);
                deltas.push(Delta::Thinking(thinking));
            }
            BlockPiece::SignatureDelta { signature } => block.append("signature", &signature),
            BlockPiece::InputJsonDelta { partial_json } => block.input.push_str(&partial_json),
            BlockPiece::Other => {}
        }
        Ok(())
    }

    pub(crate) fn gathered(self) -> Option<Gathered> {
        let mut gathered =
            Gathered { finish: self.finish?, usage: self.counts.usage(), ..Gathered::default() };
        for block in self.blocks {
            match block.kind() {
                "tool_use" => gathered.calls.push(block.into_call()),
                "text" => gathered.content.extend(block.into_text()),
                _ => gathered.content.push(opaque(Wire::Anthropic, &block.into_fields())),
            }
        }
        Some(gathered)
    }
}

impl BlockPiece {
    fn len(&self) -> usize {
        match self {
            BlockPiece::TextDelta { text: piece }
            | BlockPiece::ThinkingDelta { thinking: piece }
            | BlockPiece::SignatureDelta { signature: piece }
            | BlockPiece::InputJsonDelta { partial_json: piece } => piece.len(),
            BlockPiece::Other => 0,
        }
    }
}

impl Block {
    fn is_call(&self) -> bool {
        self.kind() == "tool_use"
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
    fn into_call(mut self) -> GatheredCall {
        let begun_with = self.take("input");
        let arguments = if self.input.is_empty() { begun_with } else { self.input.clone() };
        GatheredCall { id: self.take("id"), name: self.take("name"), arguments }
    }

    fn into_fields(mut self) -> Value {
        if let Ok(input) = serde_json::from_str::<Value>(&self.input) {
            self.fields.insert("input".to_owned(), input);
        }
        self.fields.into()
    }
}

impl Counts {
    fn update(&mut self, usage: Option<ReportedUsage>) {
        let Some(usage) = usage else { return };
        self.fresh = usage.input_tokens.0.or(self.fresh);
        self.read = usage.cache_read_input_tokens.0.or(self.read);
        self.written = usage.cache_creation_input_tokens.0.or(self.written);
        self.output = usage.output_tokens.0.or(self.output);
    }

    fn usage(&self) -> Usage {
        let cached = [self.read, self.written].into_iter().flatten();
        let prompt = self.fresh.map(|fresh| cached.fold(fresh, u32::saturating_add));
        Usage { prompt, cached: self.read, completion: self.output }
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}
