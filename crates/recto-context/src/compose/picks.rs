//! What search brought, between two lines that set it off; and what preset
//! `attached` puts behind the history instead.

use std::sync::LazyLock;

use super::{Composer, EMPTY, item_lead, system};
use crate::item::{IncludeMode, ItemId, ItemKind};
use crate::item_reading::item_label;
use crate::layer::Layer;
use crate::layout::{PickMessages, PickPlacement};
use crate::message::{KeptPick, PickDisplay, TurnNumber};
use crate::page::{ChatRole, ItemUse, Part, PartJoin, PartReason};
use crate::plan::{Plan, PlannedItem, PlannedLine, PlannedPick, list_heading};
use crate::text::Text;
use crate::tokens::Tokens;

static PICKS_BEGIN: LazyLock<Text> = LazyLock::new(|| Text::from("[context for this message]"));
static PICKS_END: LazyLock<Text> = LazyLock::new(|| Text::from("[end of context]"));

/// What a pick takes on the page.
pub(crate) fn pick_tokens(plan: &Plan<'_>, pick: &PlannedPick) -> Tokens {
    let composer = Composer::new(plan.inputs, &plan.carry);
    let mut parts = vec![composer.pick(pick, Layer::Picks, PartReason::Found)];
    if plan.inputs.layout.preset.attaches_items() {
        parts = composer.attach(parts);
    }
    parts.into_iter().map(|part| composer.price(part).tokens).sum()
}

/// What a line of the list takes on the page.
pub(crate) fn line_tokens(plan: &Plan<'_>, line: &Text) -> Tokens {
    plan.inputs.counter.line(&EMPTY, line)
}

impl Composer<'_> {
    /// The picks of this turn, where they stand behind the history.
    pub(super) fn picks(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.inputs.layout.preset.attaches_items() {
            parts = self.attachments(plan);
        } else if self.inputs.layout.picks != PickPlacement::InLayer {
            let picks =
                plan.picks.iter().map(|pick| self.pick(pick, Layer::Picks, PartReason::Found));
            let shown = picks.chain(self.list(plan)).collect();
            parts = self.delimit(shown, Layer::Picks);
        }
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// The list of what may fit.
    fn list(&self, plan: &Plan<'_>) -> Vec<Part> {
        let lines = plan.list.iter().map(|PlannedLine { item, line, source, .. }| Part {
            source: source.clone(),
            ..self.list_line(item.clone(), line, Layer::Picks, PartReason::Possible)
        });
        self.head_list(lines.collect(), Layer::Picks)
    }

    /// Lines of a list below their heading.
    fn head_list(&self, lines: Vec<Part>, layer: Layer) -> Vec<Part> {
        if lines.is_empty() {
            return lines;
        }
        let items = lines.iter().filter_map(|line| Some(&line.item.as_ref()?.id));
        let heading = self.part(layer, list_heading(self.inputs, items), PartReason::Heading);
        [Part { role: ChatRole::User, ..heading }].into_iter().chain(lines).collect()
    }

    fn list_line(&self, item: ItemUse, line: &Text, layer: Layer, reason: PartReason) -> Part {
        let part = self.part(layer, line, reason);
        Part { role: ChatRole::User, join: PartJoin::Line, item: Some(item), ..part }
    }

    /// Picks between a line that opens and one that closes them.
    fn delimit(&self, picks: Vec<Part>, layer: Layer) -> Vec<Part> {
        if picks.is_empty() {
            return picks;
        }
        let line = |text: &Text, join| Part {
            role: ChatRole::User,
            join,
            ..self.part(layer, text, PartReason::Heading)
        };
        let mut parts = vec![line(&PICKS_BEGIN, PartJoin::NewMessage)];
        parts.extend(picks);
        parts.push(line(&PICKS_END, PartJoin::Paragraph));
        parts
    }

    pub(super) fn pick(&self, pick: &PlannedPick, layer: Layer, reason: PartReason) -> Part {
        let part = self.shown_pick(&pick.item, &pick.shown, pick.since, layer, reason);
        Part { source: pick.source.clone(), ..part }
    }

    fn shown_pick(
        &self,
        item: &ItemUse,
        shown: &PickDisplay,
        since: TurnNumber,
        layer: Layer,
        reason: PartReason,
    ) -> Part {
        let label = item_label(&item.id);
        let (lead, text, reason) = match shown {
            PickDisplay::Text(text) => (format!("{label}\n").into(), text.clone(), reason),
            PickDisplay::Above => {
                let note = format!("{label} stands above, since turn {since}.");
                (EMPTY.clone(), Text::from(note), PartReason::StandsAbove(since))
            }
            PickDisplay::Line(line) => return self.list_line(item.clone(), line, layer, reason),
        };
        let part = self.part(layer, &text, reason);
        Part { role: ChatRole::User, lead, item: Some(item.clone()), ..part }
    }

    /// Picks that stay in front of an earlier message, as they were sent.
    pub(super) fn kept_picks(&self, picks: &[KeptPick]) -> Vec<Part> {
        let (listed, brought): (Vec<&KeptPick>, Vec<&KeptPick>) =
            picks.iter().partition(|pick| pick.shown.line().is_some());
        let kept = |pick: &KeptPick| {
            let item = ItemUse {
                id: pick.item.clone(),
                include: IncludeMode::Agent,
                priority: None,
                scores: None,
            };
            let reason = PartReason::KeptSince(pick.since);
            self.shown_pick(&item, &pick.shown, pick.since, Layer::History, reason)
        };
        let mut parts: Vec<Part> = brought.into_iter().map(kept).collect();
        if self.inputs.layout.preset.attaches_items() {
            return self.attach(parts);
        }
        parts.extend(self.head_list(listed.into_iter().map(kept).collect(), Layer::History));
        self.delimit(parts, Layer::History)
    }

    /// Preset `attached`: references, then rules, a user message each, first
    /// those of the session, then those that search brought.
    fn attachments(&self, plan: &Plan<'_>) -> Vec<Part> {
        let session = plan.items.iter().map(|item| self.session_item(item, Layer::Picks));
        let mut parts: Vec<Part> = session.collect();
        parts.sort_by_key(system::item_order);
        parts
            .extend(plan.picks.iter().map(|pick| self.pick(pick, Layer::Picks, PartReason::Found)));
        self.attach(parts)
    }

    fn attach(&self, mut parts: Vec<Part>) -> Vec<Part> {
        let form = |part: &Part| part.item.as_ref().map(|item| attached_as(item.id.kind));
        parts.sort_by_key(form);
        for part in &mut parts {
            part.lead = form(part).map_or(EMPTY.clone(), |(_, lead)| lead.into());
            (part.role, part.join) = (ChatRole::User, PartJoin::NewMessage);
        }
        parts
    }

    pub(super) fn session_item(&self, item: &PlannedItem<'_>, layer: Layer) -> Part {
        let document = item.document;
        let id = ItemId::new(item.kind, document.name.clone());
        let item_use =
            ItemUse { id, include: item.include, priority: Some(document.priority), scores: None };
        Part {
            lead: item_lead(item.kind, &document.name),
            source: document.source.clone(),
            item: Some(item_use),
            ..self.part(layer, &document.text, item.reason.clone())
        }
    }

    /// How a message follows what stands before it: within the message of its picks, where
    /// it has some and the layout merges them, or else in a message of its own.
    pub(super) fn join_behind(&self, has_picks: bool) -> PartJoin {
        let layout = &self.inputs.layout;
        let merged =
            layout.pick_messages == PickMessages::Merged && !layout.preset.attaches_items();
        if merged && has_picks { PartJoin::Paragraph } else { PartJoin::NewMessage }
    }
}

/// The place of an attached item among others, and what stands before it.
fn attached_as(kind: ItemKind) -> (u8, &'static str) {
    match kind {
        ItemKind::Reference => (0, "Reference: "),
        ItemKind::Rule => (1, "Rule: "),
        ItemKind::Skill => (2, "Skill: "),
        ItemKind::Memory => (3, "Memory: "),
        ItemKind::Tool => (4, "Tool: "),
    }
}
