//! The counts of one agent and day, and how a turn is added to them.

use recto_context::{ItemId, ItemKind};
use serde::{Deserialize, Serialize};

use super::item_list;
use super::{
    EndingCounts, ItemCounts, ItemPlace, ItemTally, LastUse, SELECTION_BINS, SearchVerdict,
    SelectionBin, TokenCounts, TurnTally,
};
use crate::commit::TurnOutcome;
use crate::error::StoreResult;
use crate::ids::{Moment, TurnId};
use crate::rows;
use crate::turns::TurnEnding;

/// All that is counted of one day.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DayCounts<'a> {
    pub(super) totals: DayTotals,
    /// In the order of their identities.
    pub(super) items: Vec<DayItem<'a>>,
}

/// What is counted of one day beside its items.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct DayTotals {
    pub(super) endings: EndingCounts,
    pub(super) tokens: TokenCounts,
    pub(super) selection: [SelectionBin; SELECTION_BINS],
    /// Not there in days of before it was counted.
    #[serde(default)]
    pub(super) refused_calls: u64,
}

/// An item, and what is counted of it on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DayItem<'a> {
    pub(super) key: ItemKey<'a>,
    pub(super) counts: ItemCounts,
    /// The last turn that used it, by its moment and its number.
    pub(super) last: Option<(i64, i64)>,
}

/// The identity of an item, in the order in which days keep them.
pub(super) type ItemKey<'a> = (ItemKind, &'a str, Option<&'a str>);

impl<'a> DayCounts<'a> {
    /// Reads a day; nothing where it can't be read.
    pub(super) fn read(totals: &str, items: &'a [u8]) -> Option<Self> {
        let totals = serde_json::from_str(totals).ok()?;
        Some(DayCounts { totals, items: item_list::decode_items(items)? })
    }

    /// The two columns of a day.
    pub(super) fn to_columns(&self) -> StoreResult<(String, Vec<u8>)> {
        Ok((rows::to_json(&self.totals)?, item_list::encode_items(&self.items)))
    }

    /// Adds a turn.
    pub(super) fn count(&mut self, tally: &'a TurnTally, this: LastUse) {
        self.totals.tokens.add(&tally.tokens);
        self.totals.refused_calls += tally.refused_calls;
        for (id, item) in &tally.items {
            self.totals.count_verdict(item);
            let key = key_of(id);
            let place = self.items.binary_search_by(|known| known.key.cmp(&key));
            let at = place.unwrap_or_else(|at| {
                self.items.insert(at, DayItem { key, counts: ItemCounts::default(), last: None });
                at
            });
            self.items[at].count(item, this);
        }
    }
}

fn key_of(id: &ItemId) -> ItemKey<'_> {
    (id.kind, &id.name, id.server.as_deref())
}

impl DayTotals {
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

impl DayItem<'_> {
    fn count(&mut self, item: &ItemTally, this: LastUse) {
        self.counts.add((*item).into());
        // What stands on the page with its text is used; the rest when it is seen.
        if item.used || item.place == Some(ItemPlace::Taken) {
            let this = (this.at.microseconds(), this.turn.0);
            self.last = self.last.max(Some(this));
        }
    }

    pub(super) fn last_use(&self) -> Option<LastUse> {
        let (at, turn) = self.last?;
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
            TurnEnding::HandedOut => &mut self.handed_out,
        };
        *ended += 1;
        let took = started.map_or(0, |started| {
            outcome.at.microseconds().saturating_sub(started.microseconds()) / 1_000
        });
        // A clock may have been set back in between.
        self.milliseconds += u64::try_from(took).unwrap_or(0);
    }
}
