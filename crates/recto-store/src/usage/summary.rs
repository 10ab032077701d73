//! Days added up.

use std::collections::HashMap;

use crate::sql::SqlConnection;
use jiff::civil::Date;
use recto_context::{ItemId, ItemKind};

use super::day::{DayCounts, DayItem, DayTotals};
use super::{
    EndingCounts, ItemCounts, LastUse, SELECTION_BINS, SelectionBin, TokenCounts, day_from_number,
    days_since_1970,
};
use crate::rows::DbResult;

/// What an agent has used from a day on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageSummary {
    /// The first day on which anything was counted, of all that there are.
    pub first_day: Option<Date>,
    /// How many days have counts that can't be read.
    pub damaged_days: usize,
    /// How the turns ended.
    pub endings: EndingCounts,
    /// The tokens of their requests.
    pub tokens: TokenCounts,
    /// Calls that were not run, because nobody allowed them.
    pub refused_calls: u64,
    /// What search chose, the least probable first.
    pub selection: [SelectionBin; SELECTION_BINS],
    /// The days on which something was counted, in order.
    pub days: Vec<DayUsage>,
    /// Every item that was ever counted, in the order of their identities.
    pub items: Vec<ItemUsage>,
}

/// What was used on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayUsage {
    /// The day, in UTC.
    pub day: Date,
    /// How the turns ended that began on it.
    pub endings: EndingCounts,
    /// The tokens of their requests.
    pub tokens: TokenCounts,
    /// The counts of all items added up.
    pub items: ItemCounts,
}

/// What is counted of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemUsage {
    /// The identity of the item, whether it is still there or not.
    pub item: ItemId,
    /// From the day on that was asked for.
    pub counts: ItemCounts,
    /// The last turn that had it on the page with its text, or was seen to use it;
    /// of all that were counted.
    pub last_used: Option<LastUse>,
}

/// Adds up the days of an agent. The counts of days before `since` are left out.
pub(super) fn read(db: &SqlConnection, agent: &str, since: Option<Date>) -> DbResult<UsageSummary> {
    let mut summary = UsageSummary::default();
    let mut items = ItemTable::default();
    let first = since.map_or(i64::MIN, days_since_1970);
    let sql = "SELECT day, totals, items FROM usage_days WHERE agent = ?1 ORDER BY day";
    db.all(sql, [agent], |row| {
        let number: i64 = row.get("day")?;
        let totals = row.value("totals")?.as_str().unwrap_or_default();
        let items_of_day = row.value("items")?.as_blob().unwrap_or_default();
        let counts = DayCounts::read(totals, items_of_day);
        let (Some(counts), Some(day)) = (counts, day_from_number(number)) else {
            summary.damaged_days += 1;
            return Ok(());
        };
        summary.first_day.get_or_insert(day);
        let counts_items = number >= first;
        for item in &counts.items {
            items.add(item, counts_items);
        }
        if counts_items {
            summary.add_day(day, counts);
        }
        Ok(())
    })?;
    summary.items = items.into_items();
    Ok(summary)
}

impl UsageSummary {
    fn add_day(&mut self, day: Date, counts: DayCounts<'_>) {
        let DayTotals { endings, tokens, selection, refused_calls } = counts.totals;
        self.refused_calls += refused_calls;
        self.endings.add(&endings);
        self.tokens.add(&tokens);
        for (sum, bin) in self.selection.iter_mut().zip(selection) {
            sum.add(bin);
        }
        let mut items = ItemCounts::default();
        counts.items.iter().for_each(|item| items.add(item.counts));
        self.days.push(DayUsage { day, endings, tokens, items });
    }
}

/// Items by what they are called. The same names come day after day, so that
/// looking one up must not cost a string.
#[derive(Default)]
struct ItemTable(HashMap<Box<str>, Vec<ItemUsage>>);

impl ItemTable {
    fn add(&mut self, item: &DayItem<'_>, counts_items: bool) {
        let (kind, name, server) = item.key;
        if !self.0.contains_key(name) {
            self.0.insert(name.into(), Vec::new());
        }
        let Some(namesakes) = self.0.get_mut(name) else { return };
        let is_it =
            |known: &ItemUsage| known.item.kind == kind && known.item.server.as_deref() == server;
        let at = namesakes.iter().position(is_it).unwrap_or_else(|| {
            namesakes.push(new_usage(kind, name, server));
            namesakes.len() - 1
        });
        let known = &mut namesakes[at];
        if counts_items {
            known.counts.add(item.counts);
        }
        known.last_used = known.last_used.max(item.last_use());
    }

    fn into_items(self) -> Vec<ItemUsage> {
        let mut items: Vec<ItemUsage> = self.0.into_values().flatten().collect();
        items.sort_by(|a, b| a.item.cmp(&b.item));
        items
    }
}

fn new_usage(kind: ItemKind, name: &str, server: Option<&str>) -> ItemUsage {
    let item = ItemId { kind, name: name.into(), server: server.map(Into::into) };
    ItemUsage { item, counts: ItemCounts::default(), last_used: None::<LastUse> }
}
