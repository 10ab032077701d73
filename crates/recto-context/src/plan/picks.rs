//! What search brought for this message, and what of it is on the page already.

use std::collections::{BTreeMap, HashMap};

use super::history::open_history;
use super::{Plan, SessionLookup, SkillForm};
use crate::carry::Carry;
use crate::catalog::{Catalog, CatalogDocument};
use crate::compose::pick_tokens;
use crate::context::DropReason;
use crate::item::{ContentSource, IncludeMode, ItemId, ItemKind, Pick, Priority};
use crate::item_reading::{LoadedKey, loaded_text};
use crate::layer::Layer;
use crate::layout::PickPlacement;
use crate::message::{KeptPick, MessageId, PickDisplay, TurnNumber};
use crate::page::ItemUse;
use crate::text::Text;
use crate::tokens::Tokens;

/// What search brought: a rule, a reference, a skill's body or a memory.
pub(crate) struct PlannedPick {
    pub item: ItemUse,
    pub source: ContentSource,
    pub shown: PickDisplay,
    pub since: TurnNumber,
}

impl Plan<'_> {
    pub(super) fn plan_picks(&mut self, session: &SessionLookup<'_>) {
        let inputs = self.inputs;
        let on_page = self.kept_on_page();
        let read = self.read_earlier();
        for pick in inputs.picks.iter().filter(|pick| pick.item.kind != ItemKind::Tool) {
            let Some((text, source, priority)) = pick_content(inputs.catalog, &pick.item) else {
                self.drop_missing(&pick.item);
                continue;
            };
            if session.contains_key(&pick.item) && pick.item.kind != ItemKind::Skill
                || self.memories.iter().any(|planned| planned.memory.id() == pick.item)
                || self.picks.iter().any(|planned| planned.item.id == pick.item)
                || self.shows_body_of(&pick.item)
                || read.has(&pick.item, &text)
            {
                continue;
            }
            let above = on_page.get(&pick.item).filter(|(shown, _)| *shown == text);
            let (shown, since) = match above {
                Some((_, since)) => (PickDisplay::Above, *since),
                None => (PickDisplay::Text(text), inputs.turn),
            };
            let item = ItemUse {
                id: pick.item.clone(),
                include: IncludeMode::Agent,
                priority,
                scores: Some(pick.scores),
            };
            let planned = PlannedPick { item, source, shown, since };
            let tokens = pick_tokens(self, &planned);
            match self.leaves_out_pick(pick, tokens) {
                Some(reason) => self.drop_item(&pick.item, Layer::Picks, tokens, reason),
                None => self.picks.push(planned),
            }
        }
    }

    /// Why a pick does not stand on the page, if it does not.
    fn leaves_out_pick(&self, pick: &Pick, tokens: Tokens) -> Option<DropReason> {
        let too_long = self.carry.too_long.iter().find(|long| long.item == pick.item);
        let too_long = too_long.map(|long| DropReason::TooLong { tokens, room: long.room });
        let cut = || self.carry.cut_picks.contains(&pick.item).then_some(DropReason::NoRoom);
        too_long.or_else(cut).or_else(|| self.hides_pick(pick))
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

    /// What the model loaded by its name in earlier turns, as far as the history still shows it.
    /// A trim that begins with this page may take it away.
    pub(super) fn read_earlier(&self) -> ReadTexts {
        let sends = self.inputs.mode.chosen.sends_history();
        let messages = self.history.iter().flat_map(|exchange| &exchange.messages);
        let stands = |id: MessageId| {
            sends && shows_kept_picks(&self.carry, id) && !self.carry.shortened.contains(&id)
        };
        let standing = messages.filter(|message| stands(message.id));
        ReadTexts(standing.filter_map(|message| loaded_text(&message.body)).collect())
    }

    /// Picks of earlier turns that are still on the page, with their texts.
    fn kept_on_page(&self) -> BTreeMap<ItemId, (Text, TurnNumber)> {
        let text =
            |pick: &KeptPick| Some((pick.item.clone(), (pick.shown.text()?.clone(), pick.since)));
        self.kept_picks().filter_map(text).collect()
    }

    /// What was brought or listed in earlier turns and is still on the page.
    pub(super) fn kept_picks(&self) -> impl Iterator<Item = &KeptPick> {
        let inputs = self.inputs;
        let keeps =
            inputs.layout.picks == PickPlacement::Kept && inputs.mode.chosen.sends_history();
        let messages = open_history(inputs, &self.carry).iter().filter(move |_| keeps);
        let shown = messages.filter(|message| shows_kept_picks(&self.carry, message.id));
        shown.filter_map(|message| message.as_user()).flat_map(|user| &user.picks)
    }
}

/// The texts of items that stand in the history because the model loaded them.
pub(super) struct ReadTexts(HashMap<LoadedKey, String>);

impl ReadTexts {
    fn has(&self, item: &ItemId, text: &Text) -> bool {
        self.0.get(&(item.kind, item.key())).is_some_and(|shown| **shown == **text)
    }

    /// Whether it stands there with the text that it has now.
    pub(super) fn shows(&self, item: &ItemId, catalog: &Catalog) -> bool {
        !self.0.is_empty()
            && pick_content(catalog, item).is_some_and(|(text, ..)| self.has(item, &text))
    }
}

/// Whether picks kept with this message are still shown.
pub(crate) fn shows_kept_picks(carry: &Carry, message: MessageId) -> bool {
    carry.picks_from.is_none_or(|from| message >= from)
}

/// The text of an item that search brought.
fn pick_content(catalog: &Catalog, id: &ItemId) -> Option<(Text, ContentSource, Option<Priority>)> {
    let document = |documents: &[CatalogDocument]| {
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
            Some((memory.shown(), memory.source.clone(), None))
        }
        ItemKind::Tool => None,
    }
}
