//! The counts of one agent and day, in the form in which they are kept.
//!
//! The form is compact, because a day is read and written with every turn: an item
//! is a list of its identity, its counts and the last turn that used it.

use std::borrow::Cow;

use recto_context::{ItemId, ItemKind};
use serde::{Deserialize, Serialize};

use super::{
    EndingCounts, ItemCounts, ItemPlace, ItemTally, LastUse, SELECTION_BINS, SearchVerdict,
    SelectionBin, TokenCounts, TurnTally,
};
use crate::commit::TurnOutcome;
use crate::ids::{Moment, TurnId};
use crate::turns::TurnEnding;

/// All that is counted of one day.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct DayCounts<'a> {
    pub(super) endings: EndingCounts,
    pub(super) tokens: TokenCounts,
    pub(super) selection: [SelectionBin; SELECTION_BINS],
    /// In the order of their identities.
    #[serde(borrow)]
    pub(super) items: Vec<DayItem<'a>>,
}

/// An item, and what is counted of it on one day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DayItem<'a>(
    ItemKind,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    pub(super) ItemCounts,
    /// The moment and the number of the turn.
    Option<(i64, i64)>,
);

impl<'a> DayCounts<'a> {
    /// Reads a day; nothing where it can't be read.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Adds a turn.
    pub(super) fn count(&mut self, tally: &TurnTally, this: LastUse) {
        self.tokens.add(&tally.tokens);
        for (id, item) in &tally.items {
            self.count_verdict(item);
            let place = self.items.binary_search_by(|known| known.key().cmp(&key_of(id)));
            let at = place.unwrap_or_else(|at| {
                self.items.insert(at, DayItem::new(id));
                at
            });
            self.items[at].count(item, this);
        }
    }

    fn count_verdict(&mut self, item: &ItemTally) {
        let used = u64::from(item.used);
        let (probability, bin) = match item.verdict {
            Some(SearchVerdict::Picked(probability)) => {
                (probability, SelectionBin::from([1, used, 0, 0]))
            }
            Some(SearchVerdict::PassedOver(probability)) => {
                (probability, SelectionBin::from([0, 0, 1, used]))
            }
            None => return,
        };
        // What is no number counts as the least probable.
        let range = (probability * SELECTION_BINS as f32) as usize;
        self.selection[range.min(SELECTION_BINS - 1)].add(bin);
    }
}

type ItemKey<'k> = (ItemKind, &'k str, Option<&'k str>);

fn key_of(id: &ItemId) -> ItemKey<'_> {
    (id.kind, &id.name, id.server.as_deref())
}

impl DayItem<'_> {
    fn new(id: &ItemId) -> Self {
        let owned = |text: &str| Cow::Owned(text.to_owned());
        DayItem(
            id.kind,
            owned(&id.name),
            id.server.as_deref().map(owned),
            ItemCounts::default(),
            None,
        )
    }

    pub(super) fn key(&self) -> ItemKey<'_> {
        (self.0, &self.1, self.2.as_deref())
    }

    fn count(&mut self, item: &ItemTally, this: LastUse) {
        self.3.add((*item).into());
        // What stands on the page with its text is used; the rest when it is seen.
        if item.used || item.place == Some(ItemPlace::Taken) {
            let this = (this.at.microseconds(), this.turn.0);
            self.4 = self.4.max(Some(this));
        }
    }

    pub(super) fn last(&self) -> Option<LastUse> {
        let (at, turn) = self.4?;
        Some(LastUse { at: Moment::from_microseconds(at)?, turn: TurnId(turn) })
    }
}

impl EndingCounts {
    pub(super) fn count(&mut self, outcome: &TurnOutcome, started: Option<Moment>) {
        let ended = match outcome.ending {
            TurnEnding::Done => &mut self.done,
            TurnEnding::Failed => &mut self.failed,
            TurnEnding::Stopped => &mut self.stopped,
            TurnEnding::Interrupted => &mut self.interrupted,
        };
        *ended += 1;
        let took = started.map_or(0, |started| {
            outcome.at.microseconds().saturating_sub(started.microseconds()) / 1_000
        });
        // A clock may have been set back in between.
        self.milliseconds += u64::try_from(took).unwrap_or(0);
    }
}
