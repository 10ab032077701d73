//! A request context as JSON: the form that the command line prints, the record
//! keeps and the web page reads.

use serde_json::{Value, json};

use crate::context::{DroppedEntry, OfferedTool, RequestContext};
use crate::item::{ContentSource, IncludeMode, ItemId, Pick};
use crate::layer::Layer;
use crate::layout::ToolCalls;
use crate::message::{call_json, part_json};
use crate::page::{ChatMessage, ContentPiece, ItemUse, Part, PartContent, PartReason};
use crate::text::ContentHash;
use crate::tokens::Tokens;

impl RequestContext {
    /// All of it as JSON. Every layer is listed, in order, also when empty.
    pub fn report(&self) -> Value {
        let layers: Vec<Value> =
            Layer::ALL.into_iter().map(|layer| self.layer_json(layer)).collect();
        json!({
            "model": &*self.model,
            "mode": {
                "chosen": self.mode.chosen,
                "reason": self.mode.reason.describe(),
                "matched": self.mode.matched,
            },
            "window": self.window,
            "budget": self.budget,
            "counted": self.counted,
            "layers": layers,
            "messages": self.messages.iter().map(message_json).collect::<Vec<_>>(),
            "tools": self.tools.iter().map(tool_json).collect::<Vec<_>>(),
            "tool_choice": self.tool_choice,
            "dropped": self.dropped.iter().map(dropped_json).collect::<Vec<_>>(),
            "available": self.available.iter().map(available_json).collect::<Vec<_>>(),
            "removed": self.removed.iter().map(item_json).collect::<Vec<_>>(),
            "found": self.found.iter().map(candidate_json).collect::<Vec<_>>(),
            "candidates": self.candidates.iter().map(candidate_json).collect::<Vec<_>>(),
            "notices": self.notices.iter().map(|notice| json!({
                "source": notice.source.to_string(),
                "problem": &*notice.problem,
            })).collect::<Vec<_>>(),
            "carry": self.carry,
        })
    }

    fn layer_json(&self, layer: Layer) -> Value {
        let parts = self.layer(layer).map(part_row);
        // Tools that are sent as text are parts of the page already.
        let as_schemas = layer == Layer::Tools && self.tool_calls == ToolCalls::Native;
        let tools = self.tools.iter().filter(|_| as_schemas).map(tool_row);
        let items: Vec<Value> = parts.chain(tools).collect();
        json!({"layer": layer, "tokens": self.layer_tokens(layer), "items": items})
    }
}

fn part_row(part: &Part) -> Value {
    let Part { source, item, tokens, reason, .. } = part;
    row(part.kind(), &part.name(), source, item.as_ref(), *tokens, reason, part.hash())
}

fn tool_row(OfferedTool { spec, item, tokens, reason }: &OfferedTool) -> Value {
    let hash = spec.schema.hash();
    row("tool", &item.id.name, &spec.source, Some(item), *tokens, reason, hash)
}

/// A row of a layer.
fn row(
    kind: &str,
    name: &str,
    source: &ContentSource,
    item: Option<&ItemUse>,
    tokens: Tokens,
    reason: &PartReason,
    hash: ContentHash,
) -> Value {
    json!({
        "kind": kind,
        "name": name,
        "server": item.and_then(|item| item.id.server.as_deref()),
        "source": source.to_string(),
        "include": item.map(|item| item.include),
        "priority": item.and_then(|item| item.priority),
        "scores": item.and_then(|item| item.scores),
        "tokens": tokens,
        "reason": reason.describe(),
        "hash": hash,
    })
}

impl Part {
    /// What the part is: an item's kind, a file, a message, or Recto's own text.
    pub fn kind(&self) -> &'static str {
        match (&self.item, &self.content, &self.source) {
            (Some(item), _, _) => item.id.kind.name(),
            (None, PartContent::Message(_), _) => "message",
            (None, PartContent::Text(_), ContentSource::File(_)) => "file",
            (None, PartContent::Text(_), ContentSource::Client) => "client",
            (None, PartContent::Text(_), _) => "built_in",
        }
    }

    /// What people call it: an item's name, a file's, a message's role and number.
    pub fn name(&self) -> String {
        match (&self.item, &self.content, &self.source) {
            (Some(item), _, _) => item.id.name.to_string(),
            (None, PartContent::Message(_), _) if self.layer == Layer::Message => {
                "message".to_owned()
            }
            (None, PartContent::Message(message), _) => {
                format!("{} {}", self.role.name(), message.id.0)
            }
            (None, _, ContentSource::File(_) | ContentSource::Client) => self.source.name(),
            _ => self.reason.describe(),
        }
    }
}

fn message_json(message: &ChatMessage) -> Value {
    let mut json = json!({"role": message.role.name(), "content": content_json(&message.content)});
    if !message.calls.is_empty() {
        json["tool_calls"] = message.calls.iter().map(call_json).collect();
    }
    if let Some((call, name)) = &message.answers {
        json["tool_call_id"] = (*call.0).into();
        json["name"] = (**name).into();
    }
    json
}

fn content_json(content: &[ContentPiece]) -> Value {
    match content {
        [] => "".into(),
        [ContentPiece::Text(text)] => text.as_str().into(),
        pieces => pieces.iter().map(piece_json).collect(),
    }
}

fn piece_json(piece: &ContentPiece) -> Value {
    match piece {
        ContentPiece::Text(text) => json!({"type": "text", "text": text}),
        ContentPiece::Other(part) => part_json(part),
    }
}

fn tool_json(tool: &OfferedTool) -> Value {
    let spec = &tool.spec;
    json!({
        "name": &*spec.id.name,
        "server": spec.id.server.as_deref(),
        "called": &*spec.called,
        "description": &*spec.description,
        "parameters": &*spec.parameters,
    })
}

fn dropped_json(dropped: &DroppedEntry) -> Value {
    json!({
        "what": dropped.what,
        "layer": dropped.layer,
        "tokens": dropped.tokens(),
        "before": dropped.before,
        "after": dropped.after,
        "reason": dropped.reason.describe(),
    })
}

fn item_json(item: &ItemId) -> Value {
    json!({"kind": item.kind, "name": &*item.name, "server": item.server.as_deref()})
}

fn available_json((item, include): &(ItemId, IncludeMode)) -> Value {
    let mut json = item_json(item);
    json["include"] = json!(include);
    json
}

fn candidate_json(candidate: &Pick) -> Value {
    let mut json = item_json(&candidate.item);
    json["scores"] = json!(candidate.scores);
    json["best_chunk"] = json!(candidate.best_chunk.as_deref());
    json
}
