//! Names why two prompts part. Only these causes exist; a break that has none
//! of them would be a broken promise.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::item_id;
use crate::context::{OfferedTool, RequestContext};
use crate::item::{ContentSource, ItemId, ItemKind};
use crate::layer::Layer;
use crate::message::MessageId;
use crate::page::{Part, PartReason};

/// The reason why two prompts stop to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeCause {
    /// Another model reads it.
    ModelChanged,
    /// Minimal became full, or the other way round.
    ModeFlipped,
    /// A workspace file or an item is another than before, came, or left.
    ItemChanged,
    /// A person added an item to the session, by hand or by its name in a message.
    ItemAdded,
    /// What the page says of where the agent runs: the day or time, the folder, the version, the
    /// number of tools.
    SurroundingsChanged,
    /// The session's memory snapshot was replaced.
    MemoryReplaced,
    /// A tool is offered for the first time.
    ToolOffered,
    /// Old exchanges left.
    HistoryTrimmed,
    /// The message is another, in a mode without history, and nothing that was said before was sent
    /// with either. No break: agreement is only promised up to it.
    MessageAlone,
    /// A person took an exchange back.
    ExchangeTakenBack,
    /// A result of the turn had to be shortened.
    ResultShortened,
    /// Picks, memories or skill bodies were cut to fit, or came back at a trim.
    LayerCut,
    /// Picks left with their turn. No break: agreement is only promised up to them.
    PicksLeft,
    /// The client sent another history or system text than before, or left tools out.
    ClientChanged,
    /// The two are not of one session, or its history was rewritten.
    Unrelated,
}

impl ChangeCause {
    /// The cause in words.
    pub fn describe(self) -> &'static str {
        match self {
            ChangeCause::ModelChanged => "the model changed",
            ChangeCause::ModeFlipped => "the mode flipped",
            ChangeCause::ItemChanged => "a workspace file or item changed",
            ChangeCause::ItemAdded => "an item was added to the session",
            ChangeCause::SurroundingsChanged => {
                "what the page says of where the agent runs changed (time, folder, version, tools)"
            }
            ChangeCause::MemoryReplaced => "the memory snapshot was replaced",
            ChangeCause::ToolOffered => "a tool is offered for the first time",
            ChangeCause::HistoryTrimmed => "history was trimmed, summarised or expanded",
            ChangeCause::MessageAlone => "only the message is new: no history was sent",
            ChangeCause::ExchangeTakenBack => "an exchange was taken back",
            ChangeCause::ResultShortened => "a tool result was shortened",
            ChangeCause::LayerCut => "a layer was cut to fit the window",
            ChangeCause::PicksLeft => "picks left with their turn",
            ChangeCause::ClientChanged => {
                "the client sent another history, system text or list of tools"
            }
            ChangeCause::Unrelated => "the requests do not continue each other",
        }
    }

    /// Whether the earlier request ended to agree before the place up to which that is promised.
    pub fn is_break(self) -> bool {
        !matches!(self, ChangeCause::PicksLeft | ChangeCause::MessageAlone)
    }
}

/// The cause of a difference among the tool schemas.
pub(super) fn tools_cause(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&OfferedTool>,
    new: Option<&OfferedTool>,
) -> ChangeCause {
    if let Some(cause) = whole_request_cause(before, after) {
        cause
    } else if new.is_some_and(|tool| !offers(before, &tool.spec.id)) {
        ChangeCause::ToolOffered
    } else if was_trimmed(before, after) && !old.is_some_and(|tool| offers(after, &tool.spec.id)) {
        ChangeCause::HistoryTrimmed
    } else if old.or(new).is_some_and(|tool| tool.spec.is_client_tool()) {
        ChangeCause::ClientChanged
    } else {
        ChangeCause::ItemChanged
    }
}

/// The cause of a difference on the page.
pub(super) fn parts_cause(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&Part>,
    new: Option<&Part>,
) -> ChangeCause {
    if before.model != after.model {
        return ChangeCause::ModelChanged;
    }
    if was_edited(old, new) {
        return match new.map(|part| part.layer) {
            Some(Layer::Memory) => ChangeCause::MemoryReplaced,
            Some(Layer::Bootstrap) => ChangeCause::SurroundingsChanged,
            _ => ChangeCause::ItemChanged,
        };
    }
    if let Some(cause) = whole_request_cause(before, after) {
        return cause;
    }
    let same_turn = before.sent.id == after.sent.id;
    let is_pick = |part: Option<&Part>| {
        part.is_some_and(|part| part.reason == PartReason::Found && part.layer != Layer::Tools)
    };
    let old_layer = old.map(|part| part.layer);
    let in_front = new.is_some_and(|part| part.layer < Layer::History);
    let behind = old_layer == Some(Layer::Picks) && !in_front;
    if behind || (is_pick(old) && old_layer != Some(Layer::History)) {
        return picks_cause(before, after);
    }
    if [old, new].into_iter().flatten().any(is_from_client) {
        return ChangeCause::ClientChanged;
    }
    if let Some(cause) = offered_tools_cause(before, after, old, new) {
        return cause;
    }
    match super::changed_layer(old, new) {
        Layer::Memory if shed_changed(before, after, ItemKind::Memory) => ChangeCause::LayerCut,
        Layer::Skills if shed_changed(before, after, ItemKind::Skill) => ChangeCause::LayerCut,
        Layer::Memory => ChangeCause::MemoryReplaced,
        Layer::Tools if shows_tool_unknown_to(before, new) => ChangeCause::ToolOffered,
        Layer::Tools if was_trimmed(before, after) && shows_tool_unknown_to(after, old) => {
            ChangeCause::HistoryTrimmed
        }
        Layer::Bootstrap => ChangeCause::SurroundingsChanged,
        layer @ (Layer::Skills | Layer::Items) if was_only_added_to(before, after, layer) => {
            ChangeCause::ItemAdded
        }
        Layer::System | Layer::Skills | Layer::Tools | Layer::Items => ChangeCause::ItemChanged,
        Layer::Picks if same_turn => ChangeCause::LayerCut,
        Layer::Picks => ChangeCause::PicksLeft,
        Layer::History | Layer::Message | Layer::Rounds => conversation_cause(before, after),
    }
}

/// Picks leave with their turn, unless they are kept: then only a trim takes them.
fn picks_cause(before: &RequestContext, after: &RequestContext) -> ChangeCause {
    let kept = before.sent.as_user().is_some_and(|user| !user.picks.is_empty());
    if before.sent.id == after.sent.id {
        ChangeCause::LayerCut
    } else if kept && was_trimmed(before, after) {
        ChangeCause::HistoryTrimmed
    } else {
        ChangeCause::PicksLeft
    }
}

/// In minimal mode the system text and the list of skills follow from the tools
/// that are offered.
fn offered_tools_cause(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&Part>,
    new: Option<&Part>,
) -> Option<ChangeCause> {
    let follows = |part: Option<&Part>| {
        part.is_some_and(|part| matches!(part.layer, Layer::System | Layer::Skills))
    };
    if !after.mode.chosen.is_minimal() || !(follows(old) || follows(new)) {
        return None;
    }
    let lacks_any = |context: &RequestContext, of: &RequestContext| {
        of.tools.iter().any(|tool| !offers(context, &tool.spec.id))
    };
    if lacks_any(before, after) {
        Some(ChangeCause::ToolOffered)
    } else {
        let left = was_trimmed(before, after) && lacks_any(after, before);
        left.then_some(ChangeCause::HistoryTrimmed)
    }
}

fn offers(context: &RequestContext, tool: &ItemId) -> bool {
    context.tools.iter().any(|offered| offered.spec.id == *tool)
}

/// What changes everything at once.
fn whole_request_cause(before: &RequestContext, after: &RequestContext) -> Option<ChangeCause> {
    if before.model != after.model {
        return Some(ChangeCause::ModelChanged);
    }
    (before.mode.chosen != after.mode.chosen).then_some(ChangeCause::ModeFlipped)
}

fn conversation_cause(before: &RequestContext, after: &RequestContext) -> ChangeCause {
    let chosen_anew = before.sent.id != after.sent.id && !after.mode.chosen.sends_history();
    if chosen_anew && ![before, after].into_iter().any(shows_history) {
        ChangeCause::MessageAlone
    } else if before.carry.taken_back != after.carry.taken_back {
        ChangeCause::ExchangeTakenBack
    } else if was_trimmed(before, after) || (chosen_anew && some_left(before, after)) {
        ChangeCause::HistoryTrimmed
    } else if before.carry.shortened != after.carry.shortened {
        ChangeCause::ResultShortened
    } else if [before, after].into_iter().any(shows_client_history) {
        ChangeCause::ClientChanged
    } else {
        ChangeCause::Unrelated
    }
}

/// Whether a part of the system side is the client's own text.
fn is_from_client(part: &Part) -> bool {
    part.layer == Layer::System && part.source == ContentSource::Client
}

fn shows_history(context: &RequestContext) -> bool {
    context.layer(Layer::History).next().is_some()
}

/// Whether something that was said stood in the earlier request and does not in the later.
fn some_left(before: &RequestContext, after: &RequestContext) -> bool {
    let said = |context: &RequestContext| -> BTreeSet<MessageId> {
        context.parts.iter().filter_map(Part::message).map(|message| message.id).collect()
    };
    !said(before).is_subset(&said(after))
}

fn shows_client_history(context: &RequestContext) -> bool {
    context.layer(Layer::History).any(|part| part.reason == PartReason::ClientHistory)
}

fn was_trimmed(before: &RequestContext, after: &RequestContext) -> bool {
    before.carry.trims != after.carry.trims
}

/// Whether two parts show the same file or item in the same form, with another
/// text.
fn was_edited(old: Option<&Part>, new: Option<&Part>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let same_item = item_id(old) == item_id(new);
    let same_file = matches!(old.source, ContentSource::File(_)) && old.source == new.source;
    let same_form = old.lead.is_empty() == new.lead.is_empty() && old.reason == new.reason;
    let stable = old.layer <= Layer::Items && old.layer == new.layer;
    let same = same_item && (old.item.is_some() || same_file);
    stable && same_form && same && old.hash() != new.hash()
}

/// Whether a part documents a tool that the other request does not offer.
fn shows_tool_unknown_to(other: &RequestContext, part: Option<&Part>) -> bool {
    part.and_then(item_id).is_some_and(|id| id.kind == ItemKind::Tool && !offers(other, id))
}

/// Whether all that is new in a layer are items that a person added, and none left it.
fn was_only_added_to(before: &RequestContext, after: &RequestContext, layer: Layer) -> bool {
    let shown = |context: &RequestContext, id: &ItemId| {
        context.layer(layer).any(|part| item_id(part) == Some(id))
    };
    let left = before.layer(layer).filter_map(item_id).any(|id| !shown(after, id));
    let is_new = |part: &&Part| item_id(part).is_some_and(|id| !shown(before, id));
    let mut new = after.layer(layer).filter(is_new).peekable();
    let by_person =
        |reason: &PartReason| matches!(reason, PartReason::Mentioned | PartReason::AddedByHand);
    !left && new.peek().is_some() && new.all(|part| by_person(&part.reason))
}

fn shed_changed(before: &RequestContext, after: &RequestContext, kind: ItemKind) -> bool {
    before.carry.shed.symmetric_difference(&after.carry.shed).any(|id| id.kind == kind)
}
