//! Names why two prompts part. Only these causes exist; a break that has none
//! of them would be a broken promise.

use serde::Serialize;

use super::item_id;
use crate::context::{OfferedTool, RequestContext};
use crate::item::{ItemId, ItemKind, Source};
use crate::layer::Layer;
use crate::page::{Part, Reason};

/// The reason why two prompts stop to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another model reads it.
    ModelChanged,
    /// Minimal became full, or the other way round.
    ModeFlipped,
    /// A workspace file or an item is another than before, came, or left.
    ItemChanged,
    /// What the page says of where the agent runs: the day, the folder, the version.
    SurroundingsChanged,
    /// The session's memory snapshot was replaced.
    MemoryReplaced,
    /// A tool is offered for the first time.
    ToolOffered,
    /// Old exchanges left, or the mode sends none.
    HistoryTrimmed,
    /// A result of the turn had to be shortened.
    ResultShortened,
    /// Picks, memories or skill bodies were cut to fit, or came back at a trim.
    LayerCut,
    /// Picks left with their turn. No break: agreement is only promised up to them.
    PicksLeft,
    /// The two are not of one session, or its history was rewritten.
    Unrelated,
}

impl Cause {
    /// The cause in words.
    pub fn describe(self) -> &'static str {
        match self {
            Cause::ModelChanged => "the model changed",
            Cause::ModeFlipped => "the mode flipped",
            Cause::ItemChanged => "a workspace file or item changed",
            Cause::SurroundingsChanged => {
                "what the page says of where the agent runs changed (day, folder, version)"
            }
            Cause::MemoryReplaced => "the memory snapshot was replaced",
            Cause::ToolOffered => "a tool is offered for the first time",
            Cause::HistoryTrimmed => "history was trimmed, summarised or expanded",
            Cause::ResultShortened => "a tool result was shortened",
            Cause::LayerCut => "a layer was cut to fit the window",
            Cause::PicksLeft => "picks left with their turn",
            Cause::Unrelated => "the requests do not continue each other",
        }
    }
}

/// The cause of a difference among the tool schemas.
pub(super) fn of_tools(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&OfferedTool>,
    new: Option<&OfferedTool>,
) -> Cause {
    if let Some(cause) = of_the_whole(before, after) {
        cause
    } else if new.is_some_and(|tool| !offers(before, &tool.spec.id)) {
        Cause::ToolOffered
    } else if was_trimmed(before, after) && !old.is_some_and(|tool| offers(after, &tool.spec.id)) {
        Cause::HistoryTrimmed
    } else {
        Cause::ItemChanged
    }
}

/// The cause of a difference on the page.
pub(super) fn of_parts(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&Part>,
    new: Option<&Part>,
) -> Cause {
    if before.model != after.model {
        return Cause::ModelChanged;
    }
    if was_edited(old, new) {
        return match new.map(|part| part.layer) {
            Some(Layer::Memory) => Cause::MemoryReplaced,
            Some(Layer::Bootstrap) => Cause::SurroundingsChanged,
            _ => Cause::ItemChanged,
        };
    }
    if let Some(cause) = of_the_whole(before, after) {
        return cause;
    }
    let same_turn = before.sent.id == after.sent.id;
    let is_pick = |part: Option<&Part>| part.is_some_and(|part| part.reason == Reason::Found);
    let old_layer = old.map(|part| part.layer);
    let in_front = new.is_some_and(|part| part.layer < Layer::History);
    let behind = old_layer == Some(Layer::Picks) && !in_front;
    if behind || (is_pick(old) && old_layer != Some(Layer::History)) {
        return of_picks(before, after);
    }
    if let Some(cause) = of_offered_tools(before, after, old, new) {
        return cause;
    }
    match super::changed_layer(old, new) {
        Layer::Memory if shed_changed(before, after, ItemKind::Memory) => Cause::LayerCut,
        Layer::Skills if shed_changed(before, after, ItemKind::Skill) => Cause::LayerCut,
        Layer::Memory => Cause::MemoryReplaced,
        Layer::Tools if shows_tool_unknown_to(before, new) => Cause::ToolOffered,
        Layer::Tools if was_trimmed(before, after) && shows_tool_unknown_to(after, old) => {
            Cause::HistoryTrimmed
        }
        Layer::Bootstrap => Cause::SurroundingsChanged,
        Layer::System | Layer::Skills | Layer::Tools | Layer::Items => Cause::ItemChanged,
        Layer::Picks if same_turn => Cause::LayerCut,
        Layer::Picks => Cause::PicksLeft,
        Layer::History | Layer::Message | Layer::Rounds => of_conversation(before, after),
    }
}

/// Picks leave with their turn, unless they are kept: then only a trim takes them.
fn of_picks(before: &RequestContext, after: &RequestContext) -> Cause {
    let kept = before.sent.as_user().is_some_and(|user| !user.picks.is_empty());
    if before.sent.id == after.sent.id {
        Cause::LayerCut
    } else if kept && was_trimmed(before, after) {
        Cause::HistoryTrimmed
    } else {
        Cause::PicksLeft
    }
}

/// In minimal mode the system text and the list of skills follow from the tools
/// that are offered.
fn of_offered_tools(
    before: &RequestContext,
    after: &RequestContext,
    old: Option<&Part>,
    new: Option<&Part>,
) -> Option<Cause> {
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
        Some(Cause::ToolOffered)
    } else {
        let left = was_trimmed(before, after) && lacks_any(after, before);
        left.then_some(Cause::HistoryTrimmed)
    }
}

fn offers(context: &RequestContext, tool: &ItemId) -> bool {
    context.tools.iter().any(|offered| offered.spec.id == *tool)
}

/// What changes everything at once.
fn of_the_whole(before: &RequestContext, after: &RequestContext) -> Option<Cause> {
    if before.model != after.model {
        return Some(Cause::ModelChanged);
    }
    (before.mode.chosen != after.mode.chosen).then_some(Cause::ModeFlipped)
}

fn of_conversation(before: &RequestContext, after: &RequestContext) -> Cause {
    if was_trimmed(before, after) || !after.mode.chosen.sends_history() {
        Cause::HistoryTrimmed
    } else if before.carry.shortened != after.carry.shortened {
        Cause::ResultShortened
    } else {
        Cause::Unrelated
    }
}

fn was_trimmed(before: &RequestContext, after: &RequestContext) -> bool {
    before.carry.trims != after.carry.trims
}

/// Whether two parts show the same file or item in the same form, with another
/// text.
fn was_edited(old: Option<&Part>, new: Option<&Part>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let same_item = item_id(old) == item_id(new);
    let same_file = matches!(old.source, Source::File(_)) && old.source == new.source;
    let same_form = old.lead.is_empty() == new.lead.is_empty() && old.reason == new.reason;
    let stable = old.layer <= Layer::Items && old.layer == new.layer;
    let same = same_item && (old.item.is_some() || same_file);
    stable && same_form && same && old.hash() != new.hash()
}

/// Whether a part documents a tool that the other request does not offer.
fn shows_tool_unknown_to(other: &RequestContext, part: Option<&Part>) -> bool {
    part.and_then(item_id).is_some_and(|id| id.kind == ItemKind::Tool && !offers(other, id))
}

fn shed_changed(before: &RequestContext, after: &RequestContext, kind: ItemKind) -> bool {
    before.carry.shed.symmetric_difference(&after.carry.shed).any(|id| id.kind == kind)
}
