//! The plan of a page: everything that belongs on it, before it must fit.
//!
//! The plan knows items, exchanges and picks as units that can be cut; it does
//! not know how they look (see `compose`) nor how much room there is (`fit`).

mod history;
mod listing;
mod picks;
mod skills;
mod tools;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::carry::{Carry, TargetModel};
use crate::catalog::{Catalog, CatalogDocument};
use crate::compose::item_lead;
use crate::context::{DropReason, DroppedEntry, OfferedTool};
use crate::exchange::mend_rounds;
use crate::inputs::AssemblyInputs;
use crate::item::{IncludeMode, ItemId, ItemKind, ItemOrigin, Pick, Scores};
use crate::item_reading::{LoadedKey, loaded_items};
use crate::layer::Layer;
use crate::memory::{Memory, MemorySnapshot, PinnedMemory};
use crate::message::Message;
use crate::page::{Part, PartReason};
use crate::tokens::Tokens;

pub(crate) use history::Exchange;
pub(crate) use listing::{PlannedLine, list_heading};
pub(crate) use picks::{PlannedPick, shows_kept_picks};
pub(crate) use skills::{PlannedSkill, SkillForm, shed_body, skill_id};
pub(crate) use tools::brought_tools;
pub use tools::has_tools;

/// Everything that belongs on the page, in units that can be cut.
pub(crate) struct Plan<'a> {
    pub inputs: &'a AssemblyInputs<'a>,
    /// What will be handed to the next request.
    pub carry: Carry,
    pub tools: Vec<OfferedTool>,
    pub memories: Vec<PlannedMemory<'a>>,
    pub skills: Vec<PlannedSkill<'a>>,
    pub items: Vec<PlannedItem<'a>>,
    /// Stands for messages that have left.
    pub summary: Option<Part>,
    /// The exchanges to send, oldest first.
    pub history: Vec<Exchange>,
    pub picks: Vec<PlannedPick>,
    /// What is only named, because it may fit the message.
    pub list: Vec<PlannedLine>,
    pub rounds: Vec<Arc<Message>>,
    /// What the model has loaded in this turn.
    loaded: HashSet<LoadedKey>,
    pub dropped: Vec<DroppedEntry>,
}

/// A memory of the session's snapshot.
pub(crate) struct PlannedMemory<'a> {
    pub memory: &'a Memory,
    /// Why it was chosen, if anybody chose.
    pub pinned: Option<PinnedMemory>,
}

/// A rule or reference of the session.
pub(crate) struct PlannedItem<'a> {
    pub kind: ItemKind,
    pub document: &'a CatalogDocument,
    pub include: IncludeMode,
    pub reason: PartReason,
}

/// Plans the page for `inputs`, going on from `carry`.
pub(crate) fn plan_page<'a>(inputs: &'a AssemblyInputs<'a>, mut carry: Carry) -> Plan<'a> {
    if carry.message != Some(inputs.message_id) {
        carry.message = Some(inputs.message_id);
        carry.cut_picks.clear();
        carry.too_long.clear();
    }
    let made_for = TargetModel { model: inputs.model.clone(), window: inputs.window.tokens };
    if carry.made_for.as_ref() != Some(&made_for) {
        // Another model reads everything anew, and may have more room.
        carry.made_for = Some(made_for);
        carry.shed.clear();
    }
    let session = inputs.session.iter().map(|item| (&item.item, item.joined)).collect();
    let mut plan = Plan {
        inputs,
        carry,
        tools: Vec::new(),
        memories: Vec::new(),
        skills: Vec::new(),
        items: Vec::new(),
        summary: None,
        history: Vec::new(),
        picks: Vec::new(),
        list: Vec::new(),
        rounds: Vec::new(),
        loaded: loaded_items(inputs.rounds.iter().map(|message| &**message)),
        dropped: Vec::new(),
    };
    plan.note_vanished_items(&session);
    plan.note_off_tools(&session);
    plan.note_hidden_files();
    plan.offer_tools(&session);
    plan.plan_memories();
    plan.plan_skills(&session);
    plan.plan_items(&session);
    plan.plan_history();
    plan.plan_summary();
    plan.plan_picks(&session);
    plan.plan_list(&session);
    plan.rounds = mend_rounds(inputs.rounds, Layer::Rounds, &inputs.counter, &mut plan.dropped);
    plan
}

/// How each item of the session came into it.
type SessionLookup<'a> = HashMap<&'a ItemId, ItemOrigin>;

fn reason(joined: ItemOrigin) -> PartReason {
    match joined {
        ItemOrigin::AtStart => PartReason::Always,
        ItemOrigin::Late => PartReason::JoinedLate,
        ItemOrigin::ByHand => PartReason::AddedByHand,
        ItemOrigin::Mentioned => PartReason::Mentioned,
    }
}

impl<'a> Plan<'a> {
    pub(crate) fn drop(&mut self, what: String, layer: Layer, tokens: Tokens, reason: DropReason) {
        self.dropped.push(DroppedEntry::whole(what, layer, tokens, reason));
    }

    /// Notes an item that is left out.
    pub(crate) fn drop_item(
        &mut self,
        item: &ItemId,
        layer: Layer,
        tokens: Tokens,
        reason: DropReason,
    ) {
        self.dropped.push(DroppedEntry::item(item, layer, tokens, reason));
    }

    /// Whether it was noted that an item is left out for this reason.
    pub(crate) fn has_dropped(&self, item: &ItemId, reason: &DropReason) -> bool {
        let is_it = |dropped: &DroppedEntry| {
            dropped.item.as_ref() == Some(item) && dropped.reason == *reason
        };
        self.dropped.iter().any(is_it)
    }

    /// Notes an item that is not in the catalog: it is switched off, or gone.
    fn drop_missing(&mut self, item: &ItemId) {
        let off = self.inputs.catalog.off_tools.iter().find(|off| off.item == *item);
        let reason = off.map_or(DropReason::Vanished, |off| DropReason::Off(off.why));
        // The session may have it, and search have found it.
        if !self.has_dropped(item, &reason) {
            self.drop_item(item, item_layer(item.kind), Tokens::ZERO, reason);
        }
    }

    /// Items that the session has and the workspace no longer does.
    fn note_vanished_items(&mut self, session: &SessionLookup<'_>) {
        if session.is_empty() {
            return;
        }
        let there: HashSet<ItemId> = self.inputs.catalog.items().map(|(id, _)| id).collect();
        let items = self.inputs.session.iter().map(|item| &item.item);
        items.filter(|item| !there.contains(item)).for_each(|item| self.drop_missing(item));
    }

    /// Tools that are switched off and that the session does not have.
    fn note_off_tools(&mut self, session: &SessionLookup<'_>) {
        let catalog = self.inputs.catalog;
        for off in catalog.off_tools.iter().filter(|off| !session.contains_key(&off.item)) {
            self.drop_missing(&off.item);
        }
    }

    /// Items that are neither in the session nor brought for this turn, and those that the
    /// session has in vain: a tool without its skill, a skill that has no place in the list.
    pub(crate) fn available(&self) -> Vec<(ItemId, IncludeMode)> {
        let AssemblyInputs { catalog, session, picks, .. } = self.inputs;
        let here: HashSet<&ItemId> = session.iter().map(|item| &item.item).collect();
        let brought: HashSet<&ItemId> = picks.iter().map(|pick| &pick.item).collect();
        let shown: HashSet<&ItemId> = self.tools.iter().map(|tool| &tool.spec.id).collect();
        let listed: HashSet<ItemId> =
            self.skills.iter().map(|planned| skill_id(planned.skill)).collect();
        let is_missing = |id: &ItemId| match id.kind {
            ItemKind::Tool => !shown.contains(id) && !brought.contains(id),
            ItemKind::Skill if here.contains(id) => !listed.contains(id),
            _ => !here.contains(id) && !brought.contains(id),
        };
        catalog.items().filter(|(id, _)| is_missing(id)).collect()
    }

    /// Files that the mode or the preset has no place for, or that are not for those who read along.
    fn note_hidden_files(&mut self) {
        let AssemblyInputs { catalog, layout, mode, counter, .. } = self.inputs;
        for file in &catalog.withheld {
            let tokens = counter.text(&file.text);
            self.drop(file.source.name(), Layer::System, tokens, DropReason::Withheld);
        }
        let system = &catalog.system;
        let tools = (Layer::Tools, &catalog.tools_doc);
        let in_system = [&system.soul, &system.identity, &system.user];
        let (files, reason) = if layout.preset.is_plain() {
            let system = in_system.map(|file| (Layer::System, file));
            (
                system.into_iter().chain([tools]).collect(),
                DropReason::Preset(layout.preset.name().into()),
            )
        } else if mode.chosen.is_minimal() {
            (vec![tools], DropReason::Mode)
        } else {
            return;
        };
        for (layer, file) in files {
            let Some(file) = file else { continue };
            let tokens = self.inputs.counter.text(&file.text);
            self.drop(file.source.name(), layer, tokens, reason.clone());
        }
    }

    /// The session's snapshot, or the first memories where nobody chose any, as far
    /// as the limits allow. One that did not fit into the window keeps its place
    /// among them: another in its stead would change the layer once more.
    fn plan_memories(&mut self) {
        let AssemblyInputs { limits, counter, catalog, .. } = self.inputs;
        let hidden = self.hides_layer(Layer::Memory);
        let snapshot = self.carry.snapshot.clone();
        let chosen = snapshot_memories(catalog, snapshot.as_ref());
        let mut others = DropTally::default();
        let mut names: HashSet<&str> = chosen.iter().map(|(memory, _)| &*memory.name).collect();
        names.extend(self.ranked_names(ItemKind::Memory));
        for memory in catalog.memories.iter().filter(|memory| !names.contains(&*memory.name)) {
            others.add(counter.line(&memory.lead, &memory.text));
        }
        let mut left_out = DropTally::default();
        let (mut taken, mut used) = (0, Tokens::ZERO);
        for (memory, pinned) in chosen {
            let tokens = counter.line(&memory.lead, &memory.text);
            let fits = taken < limits.memory_entries && used + tokens <= limits.memory_tokens;
            if hidden.is_some() || !fits {
                left_out.add(tokens);
                continue;
            }
            (taken, used) = (taken + 1, used + tokens);
            if self.carry.shed.contains(&memory.id()) {
                self.drop_item(&memory.id(), Layer::Memory, tokens, DropReason::NoRoom);
            } else {
                self.memories.push(PlannedMemory { memory, pinned: pinned.cloned() });
            }
        }
        let names = ["memory", "memories"];
        let beyond = hidden.clone().unwrap_or(DropReason::NotInSnapshot);
        self.dropped.extend(others.dropped(Layer::Memory, names, beyond));
        let reason = hidden.unwrap_or(DropReason::MemoryLimit);
        self.dropped.extend(left_out.dropped(Layer::Memory, names, reason));
    }

    /// The items of a kind that search looked at: each has a word of its own, and is not counted
    /// with those that were left out together.
    fn ranked_names(&self, kind: ItemKind) -> impl Iterator<Item = &'a str> + use<'a> {
        let AssemblyInputs { picks, candidates, alike, .. } = *self.inputs;
        let ranked = picks.iter().chain(candidates).map(|pick| &pick.item);
        let ranked = ranked.chain(alike.iter().map(|alike| &alike.item));
        ranked.filter(move |item| item.kind == kind).map(|item| &*item.name)
    }

    fn plan_items(&mut self, session: &SessionLookup<'_>) {
        let catalog = self.inputs.catalog;
        let kinds = [(ItemKind::Rule, &catalog.rules), (ItemKind::Reference, &catalog.references)];
        for (kind, documents) in kinds {
            let hidden = self.hides_items(kind);
            for document in documents {
                let id = ItemId::new(kind, document.name.clone());
                let Some(&joined) = session.get(&id) else { continue };
                if let Some(reason) = hidden.clone() {
                    let lead = item_lead(kind, &document.name);
                    let tokens = self.inputs.counter.line(&lead, &document.text);
                    self.drop_item(&id, Layer::Items, tokens, reason);
                    continue;
                }
                let (include, reason) = (joined.include(), reason(joined));
                self.items.push(PlannedItem { kind, document, include, reason });
            }
        }
    }

    /// Why a whole layer is left out, if it is.
    fn hides_layer(&self, layer: Layer) -> Option<DropReason> {
        let AssemblyInputs { layout, mode, .. } = self.inputs;
        match layer {
            _ if layout.preset.is_plain() => Some(DropReason::Preset(layout.preset.name().into())),
            Layer::Memory if mode.chosen.is_minimal() => Some(DropReason::Mode),
            _ => None,
        }
    }

    fn hides_items(&self, kind: ItemKind) -> Option<DropReason> {
        let in_minimal = self.inputs.mode.chosen.is_minimal() && kind != ItemKind::Rule;
        self.hides_layer(Layer::Items).or(in_minimal.then_some(DropReason::Mode))
    }
}

/// The layer in which an item of this kind stands when the session has it.
pub(crate) fn item_layer(kind: ItemKind) -> Layer {
    match kind {
        ItemKind::Rule | ItemKind::Reference => Layer::Items,
        ItemKind::Skill => Layer::Skills,
        ItemKind::Tool => Layer::Tools,
        ItemKind::Memory => Layer::Memory,
    }
}

/// The memories that are to stand on the page, best first.
fn snapshot_memories<'a, 's>(
    catalog: &'a Catalog,
    snapshot: Option<&'s MemorySnapshot>,
) -> Vec<(&'a Memory, Option<&'s PinnedMemory>)> {
    let Some(snapshot) = snapshot else {
        return catalog.memories.iter().map(|memory| (memory, None)).collect();
    };
    let by_name: HashMap<&str, &Memory> =
        catalog.memories.iter().map(|memory| (&*memory.name, memory)).collect();
    let entry = |pinned: &'s PinnedMemory| Some((*by_name.get(&*pinned.item.name)?, Some(pinned)));
    snapshot.entries.iter().filter_map(entry).collect()
}

/// Several things left out for one reason, reported as one.
#[derive(Default)]
pub(crate) struct DropTally {
    pub count: usize,
    pub tokens: Tokens,
}

impl DropTally {
    pub(crate) fn add(&mut self, tokens: Tokens) {
        self.count += 1;
        self.tokens += tokens;
    }

    pub(crate) fn add_exchange(&mut self, exchange: &Exchange) {
        self.count += exchange.messages.len();
        self.tokens += exchange.tokens();
    }

    /// Part of what left is shown after all.
    pub(crate) fn take_back(&mut self, exchange: &Exchange) {
        self.count -= exchange.messages.len();
        self.tokens = self.tokens - exchange.tokens();
    }

    pub(crate) fn dropped(
        &self,
        layer: Layer,
        [one, many]: [&str; 2],
        reason: DropReason,
    ) -> Option<DroppedEntry> {
        let name = if self.count == 1 { one } else { many };
        let what = format!("{} {name}", Tokens::new(self.count as u32));
        (self.count > 0).then(|| DroppedEntry::whole(what, layer, self.tokens, reason))
    }
}

/// What search said of an item, if it was found.
pub(crate) fn scores_of(picks: &[Pick], id: &ItemId) -> Option<Scores> {
    picks.iter().find(|pick| pick.item == *id).map(|pick| pick.scores)
}
