//! A request context as JSON: the form that the command line prints, the record
//! keeps and the web page reads.

use serde_json::{Value, json};

use crate::cached::{CachedPrefix, CachedShare, CachedShares};
use crate::context::{DroppedEntry, OfferedTool, RequestContext};
use crate::item::{ContentSource, IncludeMode, ItemId, Pick};
use crate::layer::Layer;
use crate::layout::ToolCalls;
use crate::message::{Image, call_json, part_json};
use crate::mode::{ModeDecision, ModeSource};
use crate::page::{ChatMessage, ContentPiece, ItemUse, Part, PartContent, PartPlace, PartReason};
use crate::standing::AlikeItem;
use crate::text::ContentHash;
use crate::tokens::Tokens;

impl RequestContext {
    /// All of it as JSON. Every layer is listed, in order, also when empty.
    pub fn report(&self) -> Value {
        self.report_cached(&CachedPrefix::default())
    }

    /// The same, with what was cached of each row and layer.
    pub fn report_cached(&self, prefix: &CachedPrefix) -> Value {
        let (shares, places) = (self.cached_shares(prefix), self.part_places());
        let rows = LayerRows { request: self, prefix, shares, places };
        let layers: Vec<Value> = Layer::ALL.into_iter().map(|layer| rows.layer(layer)).collect();
        json!({
            "model": &*self.model,
            "mode": mode_json(&self.mode),
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
            "found": self.found.iter().map(|pick| self.ranked_json(pick)).collect::<Vec<_>>(),
            "candidates":
                self.candidates.iter().map(|pick| self.ranked_json(pick)).collect::<Vec<_>>(),
            "alike": self.alike.iter().map(|alike| self.alike_json(alike)).collect::<Vec<_>>(),
            "items": self.item_standings(),
            "notices": self.notices.iter().map(|notice| json!({
                "source": notice.source.to_string(),
                "problem": &*notice.problem,
                "remedy": notice.remedy,
            })).collect::<Vec<_>>(),
            "carry": self.carry,
        })
    }

    fn ranked_json(&self, pick: &Pick) -> Value {
        let mut json = item_json(&pick.item);
        json["description"] = json!(self.description(&pick.item));
        json["scores"] = json!(pick.scores);
        json["best_chunk"] = json!(pick.best_chunk.as_deref());
        if !pick.put_right.is_empty() {
            json["put_right"] = json!(pick.put_right);
        }
        json
    }
}

impl RequestContext {
    fn alike_json(&self, alike: &AlikeItem) -> Value {
        let mut json = item_json(&alike.item);
        json["description"] = json!(self.description(&alike.item));
        json["of"] = item_json(&alike.of);
        json["cosine"] = json!(alike.cosine);
        json
    }
}

/// The rows of the layers, with all that they need to be written.
struct LayerRows<'a> {
    request: &'a RequestContext,
    prefix: &'a CachedPrefix,
    shares: CachedShares,
    places: Vec<PartPlace>,
}

impl LayerRows<'_> {
    fn layer(&self, layer: Layer) -> Value {
        let RequestContext { parts, tools, tool_calls, .. } = self.request;
        let parts = parts.iter().zip(&self.places).zip(&self.shares.parts);
        let parts = parts.filter(|((part, _), _)| part.layer == layer);
        let mut rows = Vec::new();
        let mut cached = CachedShare::default();
        for ((part, place), share) in parts {
            let mut row = self.row(&PageRow::from_part(part), share);
            row["message"] = place.message.into();
            row["bytes"] = json!([place.bytes.start, place.bytes.end]);
            let images: Vec<Value> = part.images().map(image_json).collect();
            if !images.is_empty() {
                row["images"] = images.into();
            }
            rows.push(row);
            cached = cached + share;
        }
        // Tools that are sent as text are parts of the page already.
        let as_schemas = layer == Layer::Tools && *tool_calls == ToolCalls::Native;
        for (tool, share) in tools.iter().zip(&self.shares.tools).filter(|_| as_schemas) {
            rows.push(self.row(&PageRow::from_tool(tool), share));
            cached = cached + share;
        }
        json!({
            "layer": layer,
            "tokens": self.request.layer_tokens(layer),
            "cached": self.cached(&cached),
            "items": rows,
        })
    }

    fn row(&self, row: &PageRow<'_>, share: &CachedShare) -> Value {
        let item = row.item;
        json!({
            "kind": row.kind,
            "name": row.name,
            "server": item.and_then(|item| item.id.server.as_deref()),
            "description": item.and_then(|item| self.request.description(&item.id)),
            "source": row.source.to_string(),
            "include": item.map(|item| item.include),
            "priority": item.and_then(|item| item.priority),
            "scores": item.and_then(|item| item.scores),
            "since": row.reason.since(),
            "tokens": row.tokens,
            "cached": self.cached(share),
            "reason": row.reason.describe(),
            "hash": row.hash,
            "message": null,
            "bytes": null,
        })
    }

    /// What is known to have been cached; each figure only where there is a witness for it.
    fn cached(&self, share: &CachedShare) -> Value {
        let agreed = self.prefix.agreed_bytes;
        json!({
            "bytes": agreed.map(|_| share.bytes),
            "agreed": agreed.map(|_| share.agreed),
            "served": self.prefix.served.map(|_| share.served),
        })
    }
}

/// A row of a layer: a part of the page, or a tool.
struct PageRow<'a> {
    kind: &'static str,
    name: String,
    source: &'a ContentSource,
    item: Option<&'a ItemUse>,
    tokens: Tokens,
    reason: &'a PartReason,
    hash: ContentHash,
}

impl<'a> PageRow<'a> {
    fn from_part(part: &'a Part) -> Self {
        let Part { source, item, tokens, reason, .. } = part;
        let (kind, name, hash) = (part.kind(), part.name(), part.hash());
        PageRow { kind, name, source, item: item.as_ref(), tokens: *tokens, reason, hash }
    }

    fn from_tool(tool: &'a OfferedTool) -> Self {
        let OfferedTool { spec, item, tokens, reason } = tool;
        PageRow {
            kind: item.id.kind.name(),
            name: item.id.name.to_string(),
            source: &spec.source,
            item: Some(item),
            tokens: *tokens,
            reason,
            hash: spec.schema.hash(),
        }
    }
}

fn image_json(image: &Image) -> Value {
    json!({
        "name": image.name.as_deref(),
        "media_type": &*image.media_type,
        "bytes": image.size(),
        "hash": image.data.hash(),
    })
}

fn mode_json(mode: &ModeDecision) -> Value {
    let mut written = json!({
        "chosen": mode.chosen,
        "reason": mode.reason.describe(),
        "matched": mode.matched,
        "setting": mode.source.map(ModeSource::setting),
        "setting_from": mode.source.map(ModeSource::name),
    });
    if let Some(wanted) = &mode.wanted_call {
        written["wanted_call"] = json!(wanted);
    }
    if let Some(tool) = &mode.sure_tool {
        written["sure_tool"] = json!(tool.key());
    }
    written
}

impl Part {
    /// What the part is: an item's kind, a file, a message, or Recto's own text.
    pub fn kind(&self) -> &'static str {
        match (&self.item, &self.content, &self.source) {
            (Some(item), _, _) => item.id.kind.name(),
            (None, PartContent::Message(_), _) => "message",
            (None, PartContent::Text(_), ContentSource::File(_)) => "file",
            (None, PartContent::Text(_), ContentSource::Client) => "client",
            (None, PartContent::Text(_), ContentSource::Attachment(_)) => "attachment",
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
            (
                None,
                _,
                ContentSource::File(_) | ContentSource::Client | ContentSource::Attachment(_),
            ) => self.source.name(),
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
        "description": spec.description.as_deref(),
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
