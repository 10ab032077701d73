//! What search brought, between two lines that set it off; and what preset
//! `attached` puts behind the history instead.

use std::sync::LazyLock;

use super::{Composer, EMPTY, item_lead, system};
use crate::item::{IncludeMode, ItemId, ItemKind};
use crate::layer::Layer;
use crate::layout::{PickMessages, PickPlacement};
use crate::message::{KeptPick, PickDisplay, TurnNumber};
use crate::page::{ChatRole, ItemUse, Part, PartJoin, PartReason};
use crate::plan::{Plan, PlannedItem, PlannedPick, PossibleSkills, skill_id};
use crate::skill_texts::POSSIBLE_HEADING;
use crate::text::Text;

static PICKS_BEGIN: LazyLock<Text> = LazyLock::new(|| Text::from("[context for this message]"));
static PICKS_END: LazyLock<Text> = LazyLock::new(|| Text::from("[end of context]"));

impl Composer<'_> {
    /// The picks of this turn, where they stand behind the history.
    pub(super) fn picks(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.inputs.layout.preset.attaches_items() {
            parts = self.attachments(plan);
        } else if self.inputs.layout.picks != PickPlacement::InLayer {
            let picks =
                plan.picks.iter().map(|pick| self.pick(pick, Layer::Picks, PartReason::Found));
            let shown = picks.chain(self.possible_skills(plan)).collect();
            parts = self.delimit(shown, Layer::Picks);
        }
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// The list of skills that may fit, and how many others there are.
    fn possible_skills(&self, plan: &Plan<'_>) -> Vec<Part> {
        let PossibleSkills { listed, others } = &plan.possible;
        if listed.is_empty() {
            return Vec::new();
        }
        let line = |text: &Text, reason, join| Part {
            role: ChatRole::User,
            join,
            ..self.part(Layer::Picks, text, reason)
        };
        let heading = line(&POSSIBLE_HEADING, PartReason::Heading, PartJoin::Paragraph);
        let entries = listed.iter().map(|(skill, scores)| Part {
            source: skill.source.clone(),
            item: Some(ItemUse {
                id: skill_id(skill),
                include: IncludeMode::Agent,
                priority: None,
                scores: Some(*scores),
            }),
            ..line(&skill.entry, PartReason::Possible, PartJoin::Line)
        });
        let count = Text::from(format!("(and {others} more that fit less)"));
        let count = line(&count, PartReason::Heading, PartJoin::Line);
        let count = (*others > 0).then_some(count);
        [heading].into_iter().chain(entries).chain(count).collect()
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
        let label = format!("[{}: {}]", item.id.kind, item.id.name);
        let (lead, text, reason) = match shown {
            PickDisplay::Text(text) => (format!("{label}\n").into(), text.clone(), reason),
            PickDisplay::Above => {
                let note = format!("{label} stands above, since turn {since}.");
                (EMPTY.clone(), Text::from(note), PartReason::StandsAbove(since))
            }
        };
        let part = self.part(layer, &text, reason);
        Part { role: ChatRole::User, lead, item: Some(item.clone()), ..part }
    }

    /// Picks that stay in front of an earlier message, as they were sent.
    pub(super) fn kept_picks(&self, picks: &[KeptPick]) -> Vec<Part> {
        let kept = picks.iter().map(|pick| {
            let item = ItemUse {
                id: pick.item.clone(),
                include: IncludeMode::Agent,
                priority: None,
                scores: None,
            };
            let reason = PartReason::KeptSince(pick.since);
            self.shown_pick(&item, &pick.shown, pick.since, Layer::History, reason)
        });
        let parts = kept.collect();
        if self.inputs.layout.preset.attaches_items() {
            return self.attach(parts);
        }
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
