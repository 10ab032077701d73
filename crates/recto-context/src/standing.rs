//! What became of each item in a request: the one answer that every view tells.
//!
//! It is read from the request alone, so that a recorded one says the same as the one that was
//! sent. Of memories that a record does not name it knows nothing.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Serialize;

use crate::context::{DropReason, DroppedEntry, RequestContext};
use crate::item::{IncludeMode, ItemId, ItemKind, Pick, Scores};
use crate::item_reading::{loaded_item, loaded_items};
use crate::layer::Layer;
use crate::memory::PinReason;
use crate::message::Message;
use crate::page::{ItemUse, Part, PartReason};
use crate::tokens::Tokens;

/// What became of an item in a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemStanding {
    /// The item that it is about.
    pub item: ItemId,
    /// What it costs, in all its places on the page, or would have cost.
    pub tokens: Tokens,
    /// How much of it stands there, and why, or why nothing does.
    #[serde(flatten)]
    pub status: ItemStatus,
    /// Where else it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ItemPlacement>,
    /// When the model loaded it by its name, if it did and the page shows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ItemReading>,
}

/// When a model loaded an item by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemReading {
    /// In this turn.
    ThisTurn,
    /// In an earlier turn, which is in the history.
    EarlierTurn,
}

impl ItemReading {
    /// What happened, in words.
    pub fn describe(self) -> &'static str {
        match self {
            ItemReading::ThisTurn => {
                "read by the model in this turn, and what it read stands on the page (rounds)"
            }
            ItemReading::EarlierTurn => {
                "read by the model in an earlier turn, and what it read stands in the history"
            }
        }
    }
}

/// How much of an item a request has, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ItemStatus {
    /// All of it stands on the page.
    InFull(ItemPlacement),
    /// Its name and description stand on the page.
    Listed {
        /// Where they stand, and why.
        #[serde(flatten)]
        place: ItemPlacement,
        /// Why the rest of it does not stand there, if more is known of that.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<Box<ItemStatus>>,
    },
    /// A tool that the model can call.
    Offered(ItemPlacement),
    /// A skill that is not on the page, though the model can call these of its tools.
    ToolsOffered {
        /// The tools that are offered.
        tools: Vec<ItemId>,
    },
    /// It was meant to stand in this layer, and was left out.
    LeftOut {
        /// Where it would have stood.
        layer: Layer,
        /// Why it was left out.
        reason: DropReason,
        /// What search said of it, where it looked at it.
        #[serde(skip_serializing_if = "Option::is_none")]
        candidate: Option<Pick>,
    },
    /// Search looked at it and did not take it.
    NotTaken {
        /// What search said of it.
        candidate: Pick,
    },
    /// Search left it, because it says what a better one says.
    SaysTheSame {
        /// The better one.
        of: ItemId,
        /// How near the two are, where that was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        cosine: Option<f32>,
    },
    /// A person took it out of the session.
    Removed,
    /// A tool whose skill a person took out of the session.
    RemovedWithSkill {
        /// The skill that it comes from.
        skill: ItemId,
    },
    /// Nobody added it, and its include mode is *manual*.
    NotAdded,
    /// Its include mode is *agent*, and search did not get to it.
    NotRanked {
        /// At how many items search looked of those that it ranks together with this one.
        looked_at: usize,
    },
    /// Its include mode is *always*, and it was not in the session.
    NotJoined,
}

/// A place on the page at which an item stands, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemPlacement {
    /// The layer of the place.
    pub layer: Layer,
    /// How the item came in.
    pub include: IncludeMode,
    /// Why it stands there.
    pub reason: PartReason,
    /// What search said of it, where search brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Pick>,
}

/// How much of an item a part shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemForm {
    /// Its name, or a note that it stands elsewhere.
    Listed,
    /// What a model needs to call it.
    Offered,
    /// All of it.
    InFull,
}

/// An item that search left, because it says what a better one says.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct AlikeItem {
    /// The item that was left.
    pub item: ItemId,
    /// The better one.
    pub of: ItemId,
    /// How near the two are, where their vectors tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
}

impl ItemStatus {
    /// How much of the item is on the page; `None` where nothing is.
    pub fn form(&self) -> Option<ItemForm> {
        match self {
            ItemStatus::InFull(_) => Some(ItemForm::InFull),
            ItemStatus::Offered(_) => Some(ItemForm::Offered),
            ItemStatus::Listed { .. } => Some(ItemForm::Listed),
            _ => None,
        }
    }

    /// The place that shows most of it.
    pub fn place(&self) -> Option<&ItemPlacement> {
        match self {
            ItemStatus::InFull(place)
            | ItemStatus::Offered(place)
            | ItemStatus::Listed { place, .. } => Some(place),
            _ => None,
        }
    }

    /// What keeps an item out that nobody wanted for the page, in a word or two.
    pub fn absence_name(&self) -> Option<&'static str> {
        match self {
            ItemStatus::NotJoined => Some(IncludeMode::Always.name()),
            ItemStatus::NotAdded => Some(IncludeMode::Manual.name()),
            ItemStatus::NotRanked { .. } => Some(IncludeMode::Agent.name()),
            ItemStatus::Removed | ItemStatus::RemovedWithSkill { .. } => Some("removed"),
            ItemStatus::ToolsOffered { .. } => Some("its tools are offered"),
            _ => None,
        }
    }

    /// Whether the item was wanted for the page, and did not come.
    pub fn is_passed_over(&self) -> bool {
        matches!(
            self,
            ItemStatus::LeftOut { .. }
                | ItemStatus::NotTaken { .. }
                | ItemStatus::SaysTheSame { .. }
        )
    }
}

impl Part {
    /// How much of its item it shows; `None` where it shows none.
    pub(crate) fn item_form(&self) -> Option<ItemForm> {
        let item = self.item.as_ref()?;
        Some(match self.reason {
            PartReason::StandsAbove(_) => ItemForm::Listed,
            _ if self.is_list_entry() => ItemForm::Listed,
            _ if item.id.kind == ItemKind::Tool => ItemForm::Offered,
            _ => ItemForm::InFull,
        })
    }
}

impl RequestContext {
    /// What became of every item that the request knows: those on the page in its order, then
    /// the others.
    pub fn item_standings(&self) -> Vec<ItemStanding> {
        let mut standings = StandingList::default();
        for part in &self.parts {
            if let (Some(item), Some(form)) = (&part.item, part.item_form()) {
                let place = self.placement(item, part.layer, &part.reason);
                standings.place(&item.id, form, place, part.tokens);
            }
        }
        for tool in &self.tools {
            let place = self.placement(&tool.item, Layer::Tools, &tool.reason);
            standings.place(&tool.item.id, ItemForm::Offered, place, tool.tokens);
        }
        for dropped in &self.dropped {
            if let Some(item) = &dropped.item {
                let DroppedEntry { layer, reason, before, .. } = dropped.clone();
                let candidate = self.searched(item);
                standings.miss(item, before, ItemStatus::LeftOut { layer, reason, candidate });
            }
        }
        self.place_read_items(&mut standings);
        for AlikeItem { item, of, cosine } in &self.alike {
            let status = ItemStatus::SaysTheSame { of: of.clone(), cosine: *cosine };
            standings.miss(item, Tokens::ZERO, status);
        }
        for candidate in &self.candidates {
            let status = ItemStatus::NotTaken { candidate: candidate.clone() };
            standings.miss(&candidate.item, Tokens::ZERO, status);
        }
        self.add_absent(&mut standings);
        self.note_reading(&mut standings.list);
        standings.list
    }

    /// Adds what search found and did not bring once more: the history shows it as the model read
    /// it.
    fn place_read_items(&self, standings: &mut StandingList) {
        for pick in &self.found {
            let key = (pick.item.kind, pick.item.key());
            let is_it = |message: &Message| loaded_item(&message.body).as_ref() == Some(&key);
            let shows = |part: &&Part| part.message().is_some_and(is_it);
            if standings.get(&pick.item).is_some() {
                continue;
            }
            let Some(part) = self.layer(Layer::History).rfind(shows) else { continue };
            let place = ItemPlacement {
                layer: part.layer,
                include: IncludeMode::Agent,
                reason: part.reason.clone(),
                found: Some(pick.clone()),
            };
            standings.push(&pick.item, part.tokens, ItemStatus::InFull(place));
        }
    }

    /// Notes what the model has loaded, by the calls and results on the page.
    fn note_reading(&self, standings: &mut [ItemStanding]) {
        let loaded_in = |layer: Layer| loaded_items(self.layer(layer).filter_map(Part::message));
        let (now, earlier) = (loaded_in(Layer::Rounds), loaded_in(Layer::History));
        if now.is_empty() && earlier.is_empty() {
            return;
        }
        for standing in standings {
            let key = (standing.item.kind, standing.item.key());
            standing.read = match (now.contains(&key), earlier.contains(&key)) {
                (true, _) => Some(ItemReading::ThisTurn),
                (false, true) => Some(ItemReading::EarlierTurn),
                (false, false) => None,
            };
        }
    }

    /// Every item that the request knows, whatever became of it.
    pub fn known_items(&self) -> Vec<ItemId> {
        self.item_standings().into_iter().map(|standing| standing.item).collect()
    }

    /// Adds what is neither on the page nor was wanted for it.
    fn add_absent(&self, standings: &mut StandingList) {
        for item in &self.removed {
            standings.add_absent(item, || self.without_page(item, ItemStatus::Removed));
        }
        for (item, include) in &self.available {
            standings.add_absent(item, || {
                let by_include = match include {
                    IncludeMode::Always => ItemStatus::NotJoined,
                    IncludeMode::Manual => ItemStatus::NotAdded,
                    IncludeMode::Agent => {
                        ItemStatus::NotRanked { looked_at: self.looked_at(item.kind) }
                    }
                };
                self.without_page(item, by_include)
            });
        }
    }

    /// What search said of an item for this message, whether it took it or not.
    fn searched(&self, item: &ItemId) -> Option<Pick> {
        self.found.iter().chain(&self.candidates).find(|pick| pick.item == *item).cloned()
    }

    /// At how many items search looked that it ranks together with those of a kind.
    fn looked_at(&self, kind: ItemKind) -> usize {
        let ranked = self.candidates.iter().chain(&self.found).map(|pick| &pick.item);
        let ranked = ranked.chain(self.alike.iter().map(|alike| &alike.item));
        ranked.filter(|item| item.kind.is_ranked_with(kind)).count()
    }

    /// Why nothing of an item is on the page, where `otherwise` says what its include mode makes
    /// of that.
    fn without_page(&self, item: &ItemId, otherwise: ItemStatus) -> ItemStatus {
        let of_item = |tool: &&ItemId| tool.server.as_ref() == Some(&item.name);
        let offered = self.tools.iter().map(|tool| &tool.item.id);
        let tools: Vec<ItemId> = match item.kind {
            ItemKind::Skill => offered.filter(of_item).cloned().collect(),
            _ => Vec::new(),
        };
        let skill = item.server.as_ref().map(|name| ItemId::new(ItemKind::Skill, name.clone()));
        let skill = skill.filter(|skill| self.removed.contains(skill));
        match (skill, otherwise) {
            (_, ItemStatus::Removed) => ItemStatus::Removed,
            (Some(skill), _) => ItemStatus::RemovedWithSkill { skill },
            _ if !tools.is_empty() => ItemStatus::ToolsOffered { tools },
            (None, otherwise) => self.left_with_others(item, otherwise),
        }
    }

    /// Skills that a mode has no place for are counted and not named, but for those that only a
    /// person brings: nobody who did not bring one misses it.
    fn left_with_others(&self, item: &ItemId, otherwise: ItemStatus) -> ItemStatus {
        let is_of_many =
            |dropped: &&DroppedEntry| dropped.layer == Layer::Skills && dropped.item.is_none();
        let is_counted = item.kind == ItemKind::Skill && otherwise != ItemStatus::NotAdded;
        match self.dropped.iter().find(is_of_many).filter(|_| is_counted) {
            Some(many) => ItemStatus::LeftOut {
                layer: many.layer,
                reason: many.reason.clone(),
                candidate: None,
            },
            None => otherwise,
        }
    }

    fn placement(&self, item: &ItemUse, layer: Layer, reason: &PartReason) -> ItemPlacement {
        let now = self.found.iter().find(|pick| pick.item == item.id).cloned();
        let found =
            now.or_else(|| found_earlier(item, reason)).or_else(|| self.pinned(item, reason));
        ItemPlacement { layer, include: item.include, reason: reason.clone(), found }
    }

    /// What search said of a memory when it was pinned, where that is why it was.
    fn pinned(&self, item: &ItemUse, reason: &PartReason) -> Option<Pick> {
        let by_search = matches!(reason, PartReason::Pinned(PinReason::Fits));
        let snapshot = self.carry.snapshot.as_ref().filter(|_| by_search)?;
        let pinned = snapshot.entries.iter().find(|pinned| pinned.item == item.id)?;
        // Its place was one among others for another message.
        let scores = Scores { rank: None, ..pinned.scores? };
        Some(Pick::new(item.id.clone(), scores))
    }
}

/// What search said of a tool in the turn in which it found it.
fn found_earlier(item: &ItemUse, reason: &PartReason) -> Option<Pick> {
    let is_earlier = matches!(reason, PartReason::FoundInTurn(_));
    let scores = item.scores.filter(|_| is_earlier)?;
    Some(Pick::new(item.id.clone(), scores))
}

/// The standings as they are found, each item once.
#[derive(Default)]
struct StandingList {
    list: Vec<ItemStanding>,
    by_item: HashMap<ItemId, usize>,
}

impl StandingList {
    fn get(&mut self, item: &ItemId) -> Option<&mut ItemStanding> {
        self.by_item.get(item).and_then(|at| self.list.get_mut(*at))
    }

    fn push(&mut self, item: &ItemId, tokens: Tokens, status: ItemStatus) {
        self.by_item.insert(item.clone(), self.list.len());
        let (item, also, read) = (item.clone(), Vec::new(), None);
        self.list.push(ItemStanding { item, tokens, status, also, read });
    }

    /// Adds a place on the page.
    fn place(&mut self, item: &ItemId, form: ItemForm, place: ItemPlacement, tokens: Tokens) {
        let Some(known) = self.get(item) else {
            return self.push(item, tokens, form.status(place));
        };
        known.tokens += tokens;
        if known.status.form() < Some(form) {
            let before = std::mem::replace(&mut known.status, form.status(place));
            known.also.extend(before.place().cloned());
        } else if known.status.place().is_none_or(|known| known.layer != place.layer) {
            known.also.push(place);
        }
    }

    /// Adds why an item, or the rest of it, is not there.
    fn miss(&mut self, item: &ItemId, tokens: Tokens, status: ItemStatus) {
        match self.get(item).map(|known| &mut known.status) {
            None => self.push(item, tokens, status),
            Some(ItemStatus::Listed { body: body @ None, place })
                if !matches!(place.reason, PartReason::StandsAbove(_)) =>
            {
                *body = Some(Box::new(status));
            }
            Some(_) => {}
        }
    }

    fn add_absent(&mut self, item: &ItemId, status: impl FnOnce() -> ItemStatus) {
        if !self.by_item.contains_key(item) {
            self.push(item, Tokens::ZERO, status());
        }
    }
}

impl ItemForm {
    fn status(self, place: ItemPlacement) -> ItemStatus {
        match self {
            ItemForm::InFull => ItemStatus::InFull(place),
            ItemForm::Offered => ItemStatus::Offered(place),
            ItemForm::Listed => ItemStatus::Listed { place, body: None },
        }
    }
}
