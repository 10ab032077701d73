//! Replies of Anthropic's messages: events that begin, fill and end numbered
//! blocks.
//!
//! Blocks of thought are signed, and go back as they came; so does every block
//! of a kind that is not known here. The prompt's tokens are counted in three
//! numbers: fresh, read from the cache, and written to it.

use recto_context::{ContentPart, OpaqueKind};
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

/// The blocks of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: Vec<Block>,
    calls: usize,
    usage: ReportedUsage,
}

/// A block as it began, filled with what followed.
#[derive(Debug)]
struct Block {
    index: u64,
    fields: Map<String, Value>,
    /// A call's arguments, which come as text.
    input: String,
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

/// The latest counts of tokens that the server has sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReportedUsage {
    input_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    output_tokens: Count,
}

impl Reader {
    /// Adds an event of the stream to the reply.
    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        gathered: &mut Gathered,
    ) -> Result<(), FrameProblem> {
        match parse(frame)? {
            Event::MessageStart { message } => self.usage.update(message.usage),
            Event::ContentBlockStart { index, content_block } => {
                let block = Block { index, fields: content_block, input: String::new() };
                self.begin(block, frame.len(), gathered)?;
            }
            Event::ContentBlockDelta { index, delta } => self.fill(index, delta, gathered)?,
            Event::MessageDelta { delta, usage } => {
                self.usage.update(usage);
                let finish = delta.stop_reason.as_deref().map(finish);
                gathered.finish = finish.or(gathered.finish.take());
            }
            Event::MessageStop => gathered.is_complete = true,
            Event::Error => return Err(FrameProblem::Failed),
            Event::Other => {}
        }
        Ok(())
    }

    /// Takes a new block, which came in a frame of this size. A call that begins
    /// with more than it may have is refused with its frame.
    fn begin(
        &mut self,
        block: Block,
        size: usize,
        gathered: &mut Gathered,
    ) -> Result<(), FrameProblem> {
        within(self.blocks.len() + 1, MOST_BLOCKS, "blocks")?;
        if block.is_call() {
            self.calls += 1;
            few_calls(self.calls)?;
            few_bytes_of_call(size)?;
        } else {
            gathered.kept += size;
        }
        let text = |field: &str| block.fields.get(field).and_then(Value::as_str).map(str::to_owned);
        gathered.tell(Delta::Thinking(text("thinking").unwrap_or_default()));
        gathered.tell(Delta::Text(text("text").unwrap_or_default()));
        self.blocks.push(block);
        Ok(())
    }

    fn fill(
        &mut self,
        index: u64,
        piece: BlockPiece,
        gathered: &mut Gathered,
    ) -> Result<(), FrameProblem> {
        let block = self.blocks.iter_mut().rfind(|block| block.index == index);
        let block = block.ok_or(FrameProblem::Unexpected("a piece of a block that never began"))?;
        match &piece {
            BlockPiece::InputJsonDelta { partial_json } if block.is_call() => {
                few_bytes_of_call(block.input.len() + partial_json.len())?;
            }
            piece => gathered.kept += piece.len(),
        }
        match piece {
            BlockPiece::TextDelta { text } => {
                block.append("text", &text);
                gathered.tell(Delta::Text(text));
            }
            BlockPiece::ThinkingDelta { thinking } => {
                block.append("thinking", &thinking);
                gathered.tell(Delta::Thinking(thinking));
            }
            BlockPiece::SignatureDelta { signature } => block.append("signature", &signature),
            BlockPiece::InputJsonDelta { partial_json } => block.input.push_str(&partial_json),
            BlockPiece::Other => {}
        }
        Ok(())
    }

    pub(crate) fn finish(self, gathered: &mut Gathered) {
        gathered.usage = self.usage.into();
        for block in self.blocks {
            match block.kind() {
                "tool_use" => gathered.calls.push(block.into_call()),
                "text" => gathered.content.extend(block.into_text()),
                _ => {
                    let fields = block.into_fields();
                    gathered.content.push(opaque(Wire::Anthropic, OpaqueKind::Thought, &fields));
                }
            }
        }
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

impl ReportedUsage {
    fn update(&mut self, newer: Option<Self>) {
        let newer = newer.unwrap_or_default();
        self.input_tokens.update(newer.input_tokens);
        self.cache_read_input_tokens.update(newer.cache_read_input_tokens);
        self.cache_creation_input_tokens.update(newer.cache_creation_input_tokens);
        self.output_tokens.update(newer.output_tokens);
    }
}

impl From<ReportedUsage> for Usage {
    fn from(usage: ReportedUsage) -> Self {
        let (read, written) =
            (usage.cache_read_input_tokens.0, usage.cache_creation_input_tokens.0);
        let cached = [read, written].into_iter().flatten();
        let prompt = usage.input_tokens.0.map(|fresh| cached.fold(fresh, u32::saturating_add));
        Usage { prompt, cached: read, completion: usage.output_tokens.0 }
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
