//! Compares two requests: how far they agree, and what ended it.
//!
//! A server keeps its work on a prompt exactly as far as the next one agrees
//! with it from the start. So the comparison walks both prompts in the order in
//! which servers read them (tool schemas, then messages), finds the first byte
//! that differs, and names the layer, the item and the cause.

mod cause;
mod excerpt;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Serialize, Serializer};

use crate::context::{OfferedTool, RequestContext};
use crate::item::{ContentSource, ItemId};
use crate::layer::Layer;
use crate::layout::ToolCalls;
use crate::page::{ChatMessage, ContentPiece, Part, PartReason};
use crate::text::ContentHash;
use crate::tokens::Tokens;

pub use cause::ChangeCause;
pub use excerpt::ChangeExcerpt;

/// How far two requests agree from their start, and what changed between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Bytes from the start in which both agree: schemas and texts.
    pub agreed_bytes: usize,
    /// What the agreement saves.
    pub agreed_tokens: Tokens,
    /// What has to be read from there on.
    pub fresh_tokens: Tokens,
    /// What of that had been read before: it stood behind the change, in the same words.
    pub reread_tokens: Tokens,
    /// Parts of the earlier request that are wholly in the agreement.
    pub agreed_parts: usize,
    /// Where and why the agreement ends; absent when the earlier request is
    /// wholly contained in the later.
    pub change: Option<PromptChange>,
    /// Items that came onto the page.
    pub added: Vec<ItemId>,
    /// Items that left it.
    pub removed: Vec<ItemId>,
    /// Items whose text is another.
    pub changed: Vec<ItemId>,
}

/// The place where two prompts stop to agree, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptChange {
    /// The message in which it is; `None` among the tool schemas.
    #[serde(serialize_with = "count_from_one")]
    pub message: Option<usize>,
    /// The byte within that message's text, or within all schemas.
    pub byte: usize,
    /// The layer that changed.
    pub layer: Layer,
    /// The item, if one is concerned.
    pub item: Option<ItemId>,
    /// Where the text comes from that is another, came or left.
    pub source: Option<ContentSource>,
    /// Why the agreement ends there.
    pub cause: ChangeCause,
    /// The text around the place, of both.
    pub excerpt: ChangeExcerpt,
}

/// Compares a request with one before it.
pub fn compare_requests(before: &RequestContext, after: &RequestContext) -> Comparison {
    let point = divergence(before, after);
    let agreed_tokens = agreed_tokens(after, &point);
    let (added, removed, changed) = item_changes(before, after);
    Comparison {
        agreed_bytes: point.agreed_bytes,
        agreed_tokens,
        fresh_tokens: after.prompt_tokens() - agreed_tokens,
        reread_tokens: reread_tokens(before, after, &point),
        agreed_parts: point.before_part,
        change: point.place.map(|place| describe(before, after, &point, place)),
        added,
        removed,
        changed,
    }
}

/// Where two prompts part.
#[derive(Default)]
struct Divergence {
    agreed_bytes: usize,
    agreed_tools: usize,
    /// The first part of each that is not wholly agreed on.
    before_part: usize,
    after_part: usize,
    place: Option<DivergencePlace>,
}

#[derive(Clone, Copy)]
enum DivergencePlace {
    Tool { byte: usize },
    Message { message: usize, byte: usize },
}

fn divergence(before: &RequestContext, after: &RequestContext) -> Divergence {
    if before.model != after.model {
        // Another model has read nothing yet, whatever the bytes.
        let place = Some(DivergencePlace::Message { message: 0, byte: 0 });
        return Divergence { place, ..Divergence::default() };
    }
    if after.tool_calls == ToolCalls::Text {
        return message_divergence(before, after, 0);
    }
    let same_tools = before.tools.iter().zip(&after.tools);
    let agreed_tools = same_tools.take_while(|(a, b)| a.spec.schema == b.spec.schema).count();
    let schemas = before.tools[..agreed_tools].iter();
    let tool_bytes: usize = schemas.map(|tool| tool.spec.schema.len()).sum();
    if agreed_tools < before.tools.len().max(after.tools.len()) {
        let differing = before.tools.get(agreed_tools).zip(after.tools.get(agreed_tools));
        let common = differing.map_or(0, |(a, b)| common_prefix(&a.spec.schema, &b.spec.schema));
        let agreed_bytes = tool_bytes + common;
        let place = Some(DivergencePlace::Tool { byte: agreed_bytes });
        return Divergence { agreed_bytes, agreed_tools, place, ..Divergence::default() };
    }
    message_divergence(before, after, tool_bytes)
}

fn message_divergence(
    before: &RequestContext,
    after: &RequestContext,
    tool_bytes: usize,
) -> Divergence {
    let pairs = before.messages.iter().zip(&after.messages);
    let agreed = pairs.take_while(|(a, b)| same_message(a, b)).count();
    let agreed_texts = before.messages[..agreed].iter();
    let mut agreed_bytes =
        tool_bytes + agreed_texts.map(ChatMessage::compared_bytes).sum::<usize>();
    let mut place = None;
    let (mut before_part, mut after_part) = (first_part(before, agreed), first_part(after, agreed));
    if agreed < before.messages.len() {
        let byte = match (before.messages.get(agreed), after.messages.get(agreed)) {
            (Some(a), Some(b)) if a.role == b.role => common_prefix(first_text(a), first_text(b)),
            _ => 0,
        };
        before_part = part_at(before, agreed, byte);
        after_part = part_at(after, agreed, byte);
        agreed_bytes += byte;
        place = Some(DivergencePlace::Message { message: agreed, byte });
    }
    Divergence { agreed_bytes, agreed_tools: after.tools.len(), before_part, after_part, place }
}

/// Whether two messages are the same to a model; where their bytes come from
/// does not matter.
fn same_message(a: &ChatMessage, b: &ChatMessage) -> bool {
    a.role == b.role && a.content == b.content && a.calls == b.calls && a.answers == b.answers
}

/// Writes a message's place as people count it: the first is number 1.
#[expect(clippy::ref_option, reason = "serde hands it over like this")]
fn count_from_one<S: Serializer>(
    message: &Option<usize>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    message.map(|message| message + 1).serialize(serializer)
}

impl ChatMessage {
    /// How many bytes it has where requests are compared: those of its texts and calls.
    pub fn compared_bytes(&self) -> usize {
        let texts = self.content.iter().filter_map(ContentPiece::as_text).map(str::len);
        texts.chain(self.calls.iter().map(|call| call.name.len() + call.arguments.len())).sum()
    }
}

fn first_text(message: &ChatMessage) -> &str {
    message.content.first().and_then(ContentPiece::as_text).unwrap_or_default()
}

/// How far two texts agree, in bytes and never within a character.
fn common_prefix(a: &str, b: &str) -> usize {
    let bytes = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.floor_char_boundary(bytes)
}

/// The part with which a message begins, or the number of all parts behind the last.
fn first_part(context: &RequestContext, message: usize) -> usize {
    let span = context.messages.get(message).and_then(|message| message.spans.first());
    span.map_or(context.parts.len(), |span| span.part)
}

/// The part that holds a byte of a message's first text. A byte just behind the
/// text belongs to what else the message holds, or else to the part that follows.
fn part_at(context: &RequestContext, message: usize, byte: usize) -> usize {
    let Some(message) = context.messages.get(message) else { return context.parts.len() };
    if let Some(span) = message.spans.iter().find(|span| byte < span.bytes.end) {
        return span.part;
    }
    let holds_more =
        message.content.len() > 1 || !message.calls.is_empty() || first_text(message).is_empty();
    let last = message.spans.last().map(|span| span.part + usize::from(!holds_more));
    last.unwrap_or(context.parts.len())
}

fn agreed_tokens(after: &RequestContext, point: &Divergence) -> Tokens {
    let tools: Tokens = after.tools[..point.agreed_tools].iter().map(|tool| tool.tokens).sum();
    let parts: Tokens = after.parts[..point.after_part].iter().map(|part| part.tokens).sum();
    tools + parts
}

/// The tokens of what stands behind the change and stood there before. Nothing is read again
/// where the later request only goes on.
fn reread_tokens(before: &RequestContext, after: &RequestContext, point: &Divergence) -> Tokens {
    if point.place.is_none() {
        return Tokens::ZERO;
    }
    let shown = |part: &Part| (part.role, part.lead.hash(), part.hash());
    let read: HashSet<_> = before.parts[point.before_part..].iter().map(shown).collect();
    let parts = after.parts[point.after_part..].iter().filter(|part| read.contains(&shown(part)));
    let tools = after.tools[point.agreed_tools..].iter().filter(|tool| offers(before, tool));
    parts.map(|part| part.tokens).chain(tools.map(|tool| tool.tokens)).sum()
}

fn describe(
    before: &RequestContext,
    after: &RequestContext,
    point: &Divergence,
    place: DivergencePlace,
) -> PromptChange {
    match place {
        DivergencePlace::Tool { byte } => {
            let (a, b) =
                (before.tools.get(point.agreed_tools), after.tools.get(point.agreed_tools));
            let named = b.filter(|tool| !offers(before, tool)).or(a).or(b);
            let item = named.map(|tool| tool.spec.id.clone());
            let source = named.map(|tool| tool.spec.source.clone());
            let cause = cause::tools_cause(before, after, a, b);
            let excerpt = excerpt::around_tool([a, b]);
            PromptChange { message: None, byte, layer: Layer::Tools, item, source, cause, excerpt }
        }
        DivergencePlace::Message { message, byte } => {
            let old = before.parts.get(point.before_part);
            let new = after.parts.get(point.after_part);
            let cause = cause::parts_cause(before, after, old, new);
            let layer = changed_layer(old, new);
            let part = concerned_part(before, old, new, layer);
            let item = part.and_then(item_id).cloned();
            let source = part.map(|part| part.source.clone());
            let sides = [before, after].map(|context| context.messages.get(message));
            let excerpt = excerpt::around_byte(sides, byte);
            PromptChange { message: Some(message), byte, layer, item, source, cause, excerpt }
        }
    }
}

fn offers(context: &RequestContext, tool: &OfferedTool) -> bool {
    context.tools.iter().any(|other| other.spec.schema == tool.spec.schema)
}

/// The part that came or changed; if the new one was there before, the old one
/// that left.
fn concerned_part<'a>(
    before: &RequestContext,
    old: Option<&'a Part>,
    new: Option<&'a Part>,
    layer: Layer,
) -> Option<&'a Part> {
    let (old, new) = [old, new].map(|part| part.filter(|part| part.layer == layer)).into();
    let was_there = |part: &&Part| before.parts.iter().any(|other| shows_the_same(part, other));
    new.filter(|part| !was_there(part)).or(old).or(new)
}

fn shows_the_same(a: &Part, b: &Part) -> bool {
    let same_item = item_id(a) == item_id(b);
    same_item && a.layer == b.layer && a.source == b.source && a.hash() == b.hash()
}

fn item_id(part: &Part) -> Option<&ItemId> {
    part.item.as_ref().map(|item| &item.id)
}

/// Picks leave with their turn, and what then stands in their place is history:
/// the layer that changed is theirs. Otherwise it is the earlier of the two.
fn changed_layer(old: Option<&Part>, new: Option<&Part>) -> Layer {
    match (old.map(|part| part.layer), new.map(|part| part.layer)) {
        (Some(Layer::Picks), Some(new)) if new < Layer::History => new,
        (Some(Layer::Picks), _) => Layer::Picks,
        (Some(a), Some(b)) => a.min(b),
        (Some(layer), None) | (None, Some(layer)) => layer,
        (None, None) => Layer::Rounds,
    }
}

type ItemChanges = (Vec<ItemId>, Vec<ItemId>, Vec<ItemId>);

/// Items that came, left, and changed.
fn item_changes(before: &RequestContext, after: &RequestContext) -> ItemChanges {
    let (old, new) = (items(before), items(after));
    let added = new.keys().filter(|id| !old.contains_key(*id)).cloned().collect();
    let removed = old.keys().filter(|id| !new.contains_key(*id)).cloned().collect();
    // An item may be shown twice, such as in a list and in full; one of the two may
    // come or leave without the item being another.
    let is_another =
        |before: &BTreeSet<_>, now: &BTreeSet<_>| !before.is_subset(now) && !now.is_subset(before);
    let changed =
        old.iter().filter(|(id, texts)| new.get(*id).is_some_and(|now| is_another(texts, now)));
    (added, removed, changed.map(|(id, _)| id.clone()).collect())
}

/// What an item shows in one place: the hashes of its heading, if it has one, and
/// of its text.
type ShownHashes = (Option<ContentHash>, ContentHash);

/// The items on the page, with what they show. A note that one stands further up
/// shows nothing of it.
fn items(context: &RequestContext) -> BTreeMap<ItemId, BTreeSet<ShownHashes>> {
    let shows = |part: &&Part| {
        part.layer != Layer::History && !matches!(part.reason, PartReason::StandsAbove(_))
    };
    let parts = context.parts.iter().filter(shows);
    let parts = parts
        .filter_map(|part| Some((item_id(part)?.clone(), (Some(part.lead.hash()), part.hash()))));
    let tools =
        context.tools.iter().map(|tool| (tool.spec.id.clone(), (None, tool.spec.schema.hash())));
    let mut items: BTreeMap<ItemId, BTreeSet<ShownHashes>> = BTreeMap::new();
    for (id, showing) in parts.chain(tools) {
        items.entry(id).or_default().insert(showing);
    }
    items
}
