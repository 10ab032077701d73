//! The plan of a page: everything that belongs on it, before it must fit.
//!
//! The plan knows items, exchanges and picks as units that can be cut; it does
//! not know how they look (see `compose`) nor how much room there is (`fit`).

mod offer;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::carry::Carry;
use crate::catalog::{Catalog, Document, Memory, Skill};
use crate::compose::Composer;
use crate::context::{DropReason, Dropped, OfferedTool};
use crate::exchange::{condense, exchanges, mend};
use crate::inputs::Inputs;
use crate::item::{Include, ItemId, ItemKind, Joined, Pick, Scores};
use crate::layer::Layer;
use crate::layout::{PickPlacement, SkillRender};
use crate::message::{Body, KeptPick, Message, MessageId, Shown, TurnNumber};
use crate::mode::words;
use crate::page::{ItemUse, Part, Reason};
use crate::text::Text;
use crate::tokens::Tokens;

/// Everything that belongs on the page, in units that can be cut.
pub(crate) struct Plan<'a> {
    pub inputs: &'a Inputs<'a>,
    /// What will be handed to the next request.
    pub carry: Carry,
    pub tools: Vec<OfferedTool>,
    pub memories: Vec<&'a Memory>,
    pub skills: Vec<PlannedSkill<'a>>,
    pub items: Vec<PlannedItem<'a>>,
    /// Oldest first.
    pub history: Vec<Exchange>,
    pub picks: Vec<PlannedPick>,
    pub rounds: Vec<Arc<Message>>,
    pub dropped: Vec<Dropped>,
}

pub(crate) struct PlannedSkill<'a> {
    pub skill: &'a Skill,
    pub form: SkillForm,
    pub include: Include,
    pub reason: Reason,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillForm {
    Full,
    Listed,
}

/// A rule or reference of the session.
pub(crate) struct PlannedItem<'a> {
    pub kind: ItemKind,
    pub document: &'a Document,
    pub include: Include,
    pub reason: Reason,
}

/// What search brought: a rule, a reference, a skill's body or a memory.
pub(crate) struct PlannedPick {
    pub item: ItemUse,
    pub text: Text,
    pub source: crate::item::Source,
    pub shown: Shown,
    pub since: TurnNumber,
}

/// An exchange of the history, and its parts on the page.
pub(crate) struct Exchange {
    pub messages: Vec<Arc<Message>>,
    pub parts: Vec<Part>,
}

impl Exchange {
    fn compose(messages: Vec<Arc<Message>>, composer: &Composer<'_>) -> Self {
        let parts = messages.iter().flat_map(|message| composer.history_message(message)).collect();
        Exchange { messages, parts }
    }

    /// The same exchange without its rounds; `None` when it has none, or when
    /// nothing would be left.
    pub(crate) fn condensed(&self, plan: &Plan<'_>) -> Option<Self> {
        let messages = condense(&self.messages);
        let shorter = !messages.is_empty() && messages.len() < self.messages.len();
        shorter.then(|| Exchange::compose(messages, &Composer::new(plan.inputs, &plan.carry)))
    }

    pub(crate) fn first(&self) -> Option<MessageId> {
        self.messages.first().map(|message| message.id)
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

/// Plans the page for `inputs`, going on from `carry`.
pub(crate) fn plan<'a>(inputs: &'a Inputs<'a>, carry: Carry) -> Plan<'a> {
    let session = Session::new(inputs);
    let mut plan = Plan {
        inputs,
        carry,
        tools: Vec::new(),
        memories: Vec::new(),
        skills: Vec::new(),
        items: Vec::new(),
        history: Vec::new(),
        picks: Vec::new(),
        rounds: Vec::new(),
        dropped: Vec::new(),
    };
    plan.note_vanished_items(&session);
    plan.offer_tools(&session);
    plan.plan_memories();
    plan.plan_skills(&session);
    plan.plan_items(&session);
    plan.plan_history();
    plan.plan_picks(&session);
    plan.rounds = mend(inputs.rounds, Layer::Rounds, &inputs.counter, &mut plan.dropped);
    plan
}

/// The session's items, to look up by what they are.
struct Session<'a> {
    items: HashMap<Key<'a>, Joined>,
}

type Key<'a> = (ItemKind, &'a str, Option<&'a str>);

fn key(id: &ItemId) -> Key<'_> {
    (id.kind, &id.name, id.server.as_deref())
}

impl<'a> Session<'a> {
    fn new(inputs: &Inputs<'a>) -> Self {
        let items = inputs.session.iter().map(|item| (key(&item.item), item.joined)).collect();
        Session { items }
    }

    fn joined(&self, kind: ItemKind, name: &str) -> Option<Joined> {
        self.items.get(&(kind, name, None)).copied()
    }

    fn holds(&self, id: &ItemId) -> Option<Joined> {
        self.items.get(&key(id)).copied()
    }
}

fn reason(joined: Joined) -> Reason {
    match joined {
        Joined::AtStart => Reason::Always,
        Joined::Late => Reason::JoinedLate,
        Joined::ByHand => Reason::AddedByHand,
    }
}

impl<'a> Plan<'a> {
    fn drop(&mut self, what: String, layer: Layer, tokens: Tokens, reason: DropReason) {
        self.dropped.push(Dropped::whole(what, layer, tokens, reason));
    }

    /// Items that the session has and the workspace no longer does.
    fn note_vanished_items(&mut self, session: &Session<'_>) {
        let catalog = self.inputs.catalog;
        let there: std::collections::HashSet<ItemId> = if session.items.is_empty() {
            Default::default()
        } else {
            catalog.items().map(|(id, _)| id).collect()
        };
        for item in self.inputs.session.iter().filter(|item| !there.contains(&item.item)) {
            self.drop(
                item.item.to_string(),
                layer_of(item.item.kind),
                Tokens::ZERO,
                DropReason::Vanished,
            );
        }
    }

    fn plan_memories(&mut self) {
        let Inputs { limits, counter, .. } = self.inputs;
        let hidden = self.hides_layer(Layer::Memory);
        let (mut used, mut left_out) = (Tokens::ZERO, LeftOut::default());
        for memory in self.inputs.memories {
            let tokens = counter.text(&memory.text);
            let full = self.memories.len() == limits.memory_entries
                || used + tokens > limits.memory_tokens;
            if hidden.is_some() || full {
                left_out.add(tokens);
            } else if self.carry.shed.contains(&memory_id(memory)) {
                self.drop(memory_id(memory).to_string(), Layer::Memory, tokens, DropReason::NoRoom);
            } else {
                used += tokens;
                self.memories.push(memory);
            }
        }
        let reason = hidden.unwrap_or(DropReason::MemoryLimit);
        self.dropped.extend(left_out.dropped(Layer::Memory, ["memory", "memories"], reason));
    }

    fn plan_skills(&mut self, session: &Session<'_>) {
        let Inputs { catalog, layout, mode, .. } = self.inputs;
        let mut skills: Vec<&Skill> = catalog.skills.iter().collect();
        if !layout.preset.is_plain() {
            skills.sort_by(|a, b| a.name.cmp(&b.name));
        }
        for skill in skills {
            let joined = session.joined(ItemKind::Skill, &skill.name);
            let picked = || scores_of(self.inputs.picks, &skill_id(skill)).is_some();
            if mode.chosen.is_minimal() && !self.offers_tool_of(skill) && !picked() {
                continue;
            }
            let bodies = layout.skills == SkillRender::Full && !mode.chosen.is_minimal();
            let shed = self.carry.shed.contains(&skill_id(skill));
            let (form, reason) = match joined {
                Some(_) if bodies && shed => (SkillForm::Listed, Reason::ListedForRoom),
                Some(joined) if bodies => (SkillForm::Full, reason(joined)),
                Some(joined) => (SkillForm::Listed, reason(joined)),
                None => (SkillForm::Listed, Reason::Listed),
            };
            let include = joined.map_or(skill.include, Joined::include);
            self.skills.push(PlannedSkill { skill, form, include, reason });
        }
        self.note_shed_bodies();
    }

    /// Bodies that have been out since an earlier turn are still missing.
    fn note_shed_bodies(&mut self) {
        let counter = &self.inputs.counter;
        let shed = self.skills.iter().filter(|planned| planned.reason == Reason::ListedForRoom);
        self.dropped.extend(shed.map(|planned| shed_body(planned.skill, counter)));
    }

    fn plan_items(&mut self, session: &Session<'_>) {
        let catalog = self.inputs.catalog;
        let kinds = [(ItemKind::Rule, &catalog.rules), (ItemKind::Reference, &catalog.references)];
        for (kind, documents) in kinds {
            let hidden = self.hides_items(kind);
            let first = self.items.len();
            for document in documents {
                let Some(joined) = session.joined(kind, &document.name) else { continue };
                if let Some(reason) = hidden.clone() {
                    let tokens = self.inputs.counter.text(&document.text);
                    self.drop(format!("{kind} {}", document.name), Layer::Items, tokens, reason);
                    continue;
                }
                let (include, reason) = (joined.include(), reason(joined));
                self.items.push(PlannedItem { kind, document, include, reason });
            }
            self.items[first..].sort_by_key(|item| (item.document.priority, &item.document.name));
        }
    }

    /// Why a whole layer is left out, if it is.
    fn hides_layer(&self, layer: Layer) -> Option<DropReason> {
        let Inputs { layout, mode, .. } = self.inputs;
        match layer {
            _ if layout.preset.is_plain() => Some(DropReason::Preset(layout.preset.name())),
            Layer::Memory if mode.chosen.is_minimal() => Some(DropReason::Mode),
            _ => None,
        }
    }

    fn hides_items(&self, kind: ItemKind) -> Option<DropReason> {
        let in_minimal = self.inputs.mode.chosen.is_minimal() && kind != ItemKind::Rule;
        self.hides_layer(Layer::Items).or(in_minimal.then_some(DropReason::Mode))
    }

    fn plan_history(&mut self) {
        let inputs = self.inputs;
        let messages = open_history(inputs, &self.carry);
        let mended = mend(messages, Layer::History, &inputs.counter, &mut self.dropped);
        let composer = Composer::new(inputs, &self.carry);
        let is_condensed = |exchange: &[Arc<Message>]| {
            exchange.first().is_some_and(|first| self.carry.condensed.contains(&first.id))
        };
        let history = exchanges(&mended).map(|exchange| {
            let condensed = is_condensed(exchange).then(|| condense(exchange));
            Exchange::compose(condensed.unwrap_or_else(|| exchange.to_vec()), &composer)
        });
        self.history = history.collect();
        self.note_earlier_trims();
        if !inputs.mode.chosen.sends_history() {
            self.keep_last_exchanges(kept_without_history(inputs));
        }
    }

    fn note_earlier_trims(&mut self) {
        let trimmed = self.carry.trimmed;
        let left_out = LeftOut { count: trimmed.messages, tokens: trimmed.tokens };
        let names = ["message", "messages"];
        self.dropped.extend(left_out.dropped(Layer::History, names, DropReason::TrimmedEarlier));
    }

    fn keep_last_exchanges(&mut self, count: usize) {
        let leaving = self.history.len().saturating_sub(count);
        let mut left_out = LeftOut::default();
        for exchange in self.history.drain(..leaving) {
            left_out.add_exchange(&exchange);
        }
        let names = ["message", "messages"];
        self.dropped.extend(left_out.dropped(Layer::History, names, DropReason::Mode));
    }

    fn plan_picks(&mut self, session: &Session<'_>) {
        let inputs = self.inputs;
        let on_page = self.kept_on_page();
        for pick in inputs.picks.iter().filter(|pick| pick.item.kind != ItemKind::Tool) {
            let Some((text, source, priority)) = content(inputs.catalog, &pick.item) else {
                let layer = layer_of(pick.item.kind);
                self.drop(pick.item.to_string(), layer, Tokens::ZERO, DropReason::Vanished);
                continue;
            };
            if session.holds(&pick.item).is_some() && pick.item.kind != ItemKind::Skill
                || self.memories.iter().any(|memory| memory_id(memory) == pick.item)
                || self.picks.iter().any(|planned| planned.item.id == pick.item)
                || self.shows_body_of(&pick.item)
            {
                continue;
            }
            if let Some(reason) = self.hides_pick(pick) {
                let tokens = inputs.counter.text(&text);
                self.drop(pick.item.to_string(), Layer::Picks, tokens, reason);
                continue;
            }
            let above = on_page.get(&pick.item).filter(|(shown, _)| *shown == text);
            let (shown, since) = match above {
                Some((_, since)) => (Shown::Above, *since),
                None => (Shown::Text(text.clone()), inputs.turn),
            };
            let item = ItemUse {
                id: pick.item.clone(),
                include: Include::Agent,
                priority,
                scores: Some(pick.scores),
            };
            self.picks.push(PlannedPick { item, text, source, shown, since });
        }
    }

    fn shows_body_of(&self, id: &ItemId) -> bool {
        id.kind == ItemKind::Skill
            && self.skills.iter().any(|s| s.form == SkillForm::Full && *s.skill.name == *id.name)
    }

    /// Minimal mode takes only what has to do with tools.
    fn hides_pick(&self, pick: &Pick) -> Option<DropReason> {
        let for_tools = matches!(pick.item.kind, ItemKind::Skill | ItemKind::Tool);
        let in_minimal = self.inputs.mode.chosen.is_minimal() && !for_tools;
        self.hides_layer(Layer::Picks).or(in_minimal.then_some(DropReason::Mode))
    }

    /// Picks of earlier turns that are still on the page, with their texts.
    fn kept_on_page(&self) -> BTreeMap<ItemId, (Text, TurnNumber)> {
        let inputs = self.inputs;
        if inputs.layout.picks != PickPlacement::Kept || !inputs.mode.chosen.sends_history() {
            return BTreeMap::new();
        }
        let messages = open_history(inputs, &self.carry).iter();
        let users = messages.filter(|message| shows_kept_picks(&self.carry, message.id));
        let kept = users.filter_map(|message| match &message.body {
            Body::User(user) => Some(&user.picks),
            _ => None,
        });
        kept.flatten().filter_map(shown_text).collect()
    }
}

fn shown_text(pick: &KeptPick) -> Option<(ItemId, (Text, TurnNumber))> {
    match &pick.shown {
        Shown::Text(text) => Some((pick.item.clone(), (text.clone(), pick.since))),
        Shown::Above => None,
    }
}

/// Whether picks kept with this message are still shown.
pub(crate) fn shows_kept_picks(carry: &Carry, message: MessageId) -> bool {
    carry.picks_from.is_none_or(|from| message >= from)
}

/// The messages that have not been trimmed away, without the current one.
fn open_history<'a>(inputs: &Inputs<'a>, carry: &Carry) -> &'a [Arc<Message>] {
    let from = carry.history_from.unwrap_or_default();
    let start = inputs.history.partition_point(|message| message.id < from);
    let end = inputs.history.partition_point(|message| message.id < inputs.message_id);
    &inputs.history[start..end.max(start)]
}

/// Exchanges that are sent in a mode without history: as set, or the last one
/// when the message means nothing without it.
fn kept_without_history(inputs: &Inputs<'_>) -> usize {
    if !inputs.mode.chosen.is_minimal() {
        return 0;
    }
    let text = inputs.message.content.iter().find_map(|part| part.as_text());
    let bare_reply = text.is_some_and(|text| words::is_bare_reply(text));
    inputs.limits.minimal_history.max(usize::from(bare_reply))
}

/// The text of an item that search brought.
fn content(
    catalog: &Catalog,
    id: &ItemId,
) -> Option<(Text, crate::item::Source, Option<crate::item::Priority>)> {
    let document = |documents: &[Document]| {
        let found = documents.iter().find(|document| document.name == id.name)?;
        Some((found.text.clone(), found.source.clone(), Some(found.priority)))
    };
    match id.kind {
        ItemKind::Rule => document(&catalog.rules),
        ItemKind::Reference => document(&catalog.references),
        ItemKind::Skill => {
            let skill = catalog.skills.iter().find(|skill| skill.name == id.name)?;
            Some((skill.body.clone(), skill.source.clone(), None))
        }
        ItemKind::Memory => {
            let memory = catalog.memories.iter().find(|memory| memory.name == id.name)?;
            Some((memory.text.clone(), memory.source.clone(), None))
        }
        ItemKind::Tool => None,
    }
}

/// The layer in which an item of this kind stands when the session has it.
pub(crate) fn layer_of(kind: ItemKind) -> Layer {
    match kind {
        ItemKind::Rule | ItemKind::Reference => Layer::Items,
        ItemKind::Skill => Layer::Skills,
        ItemKind::Tool => Layer::Tools,
        ItemKind::Memory => Layer::Memory,
    }
}

pub(crate) fn memory_id(memory: &Memory) -> ItemId {
    ItemId::new(ItemKind::Memory, memory.name.clone())
}

pub(crate) fn skill_id(skill: &Skill) -> ItemId {
    ItemId::new(ItemKind::Skill, skill.name.clone())
}

/// A skill's body that became a line in the list.
pub(crate) fn shed_body(skill: &Skill, counter: &crate::counter::Counter<'_>) -> Dropped {
    Dropped {
        what: format!("body of skill {}", skill.name),
        layer: Layer::Skills,
        before: counter.text(&skill.heading) + counter.text(&skill.body),
        after: counter.text(&skill.entry),
        reason: DropReason::NoRoom,
    }
}

/// Several things left out for one reason, reported as one.
#[derive(Default)]
pub(crate) struct LeftOut {
    pub count: usize,
    pub tokens: Tokens,
}

impl LeftOut {
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
    ) -> Option<Dropped> {
        let name = if self.count == 1 { one } else { many };
        let what = format!("{} {name}", self.count);
        (self.count > 0).then(|| Dropped::whole(what, layer, self.tokens, reason))
    }
}

/// What search said of an item, if it was found.
pub(crate) fn scores_of(picks: &[Pick], id: &ItemId) -> Option<Scores> {
    picks.iter().find(|pick| pick.item == *id).map(|pick| pick.scores)
}
