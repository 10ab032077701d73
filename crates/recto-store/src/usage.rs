//! How the context is used over time: what each turn put on the page and what came
//! of it, summed up by day.
//!
//! A turn is counted in the transaction that ends it, so that it counts once or, if
//! that is not committed, not yet. A day is one row; counting a turn reads and
//! writes that row alone, and a year is read in a few hundred rows. Days are those
//! of UTC, because processes in several time zones may share a store; a turn
//! belongs to the day on which its message came in.
//!
//! What is on a page, and what can be seen of its use, is for the caller to say.

mod day;
mod item_list;
mod summary;

use std::collections::BTreeMap;

use crate::sql::{SqlConnection, SqlRow, params};
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::{IncludeMode, ItemId, Layer};
use serde::{Deserialize, Serialize};

use crate::commit::TurnOutcome;
use crate::error::StoreResult;
use crate::ids::{Moment, SessionId, TurnId};
use crate::item_uses::UsedItems;
use crate::records::RequestUsage;
use crate::rows::{self, DbResult};
use crate::store::Store;
use day::DayCounts;

pub use summary::{DayUsage, ItemUsage, UsageSummary};

/// How many ranges of probability picks are sorted into.
pub const SELECTION_BINS: usize = 10;

/// What a turn put on the page, and what came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnTally {
    /// The tokens of all its requests.
    pub tokens: TokenCounts,
    /// What became of each item.
    pub items: BTreeMap<ItemId, ItemTally>,
    /// Calls that were not run, because nobody allowed them. They are no use of their tools.
    pub refused_calls: u64,
    /// What speaks for items in messages like the turn's own.
    pub uses: UsedItems,
}

/// What became of an item in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ItemTally {
    /// Where the turn's page had it; absent where it was not considered for it.
    pub place: Option<ItemPlace>,
    /// How it came onto the page, if it did.
    pub include: Option<IncludeMode>,
    /// Whether its use was seen: a tool called, a skill read, a memory recalled.
    pub used: bool,
    /// What search decided in this turn; only where use could have been seen.
    pub verdict: Option<SearchVerdict>,
}

/// Where a turn's page had an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemPlace {
    /// Not on it: search looked at it and did not take it, or it was dropped.
    Left,
    /// As something to call or to ask for: a tool by its schema, a skill by its name.
    Offered,
    /// With its text.
    Taken,
}

/// What search decided about an item, with the probability that it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants say it")]
pub enum SearchVerdict {
    Picked(f32),
    PassedOver(f32),
}

/// Tokens of requests: by Recto's own count where layers are told apart, by the
/// server's otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    /// Requests that were made.
    pub requests: u64,
    /// Those that showed a page: all but those that asked for a summary.
    pub pages: u64,
    /// What the pages took, by layer.
    pub layers: BTreeMap<Layer, u64>,
    /// Tokens of the pages that did not agree with the request before.
    pub fresh: u64,
    /// Tokens of the prompts, as servers counted them.
    pub prompt: u64,
    /// Tokens of the prompts that came from a cache.
    pub cached: u64,
    /// Tokens of those prompts of which the server said how much was cached.
    pub cached_of: u64,
    /// Tokens of the replies.
    pub completion: u64,
}

impl TokenCounts {
    /// Adds what a server counted for a request.
    pub fn add_usage(&mut self, usage: &RequestUsage) {
        let prompt = u64::from(usage.prompt.unwrap_or(0));
        self.prompt += prompt;
        self.completion += u64::from(usage.completion.unwrap_or(0));
        if let Some(cached) = usage.cached {
            self.cached += u64::from(cached);
            self.cached_of += prompt;
        }
    }

    /// The share of the prompts that came from a cache, where servers told it.
    pub fn cached_share(&self) -> Option<f64> {
        (self.cached_of > 0).then(|| self.cached as f64 / self.cached_of as f64)
    }

    /// Adds other counts to these.
    pub fn add(&mut self, other: &TokenCounts) {
        let TokenCounts { requests, pages, fresh, prompt, cached, cached_of, completion, .. } =
            *other;
        self.requests += requests;
        self.pages += pages;
        self.fresh += fresh;
        self.prompt += prompt;
        self.cached += cached;
        self.cached_of += cached_of;
        self.completion += completion;
        for (layer, tokens) in &other.layers {
            *self.layers.entry(*layer).or_default() += tokens;
        }
    }
}

/// How many turns ended in which way, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the endings say it")]
pub struct EndingCounts {
    pub done: u64,
    pub failed: u64,
    pub stopped: u64,
    pub interrupted: u64,
    pub handed_out: u64,
    /// From the start of each turn to its end, waiting for people included.
    pub milliseconds: u64,
}

impl EndingCounts {
    /// How many turns there were.
    pub fn all(&self) -> u64 {
        self.done + self.failed + self.stopped + self.interrupted + self.handed_out
    }

    pub(crate) fn add(&mut self, other: &EndingCounts) {
        self.done += other.done;
        self.failed += other.failed;
        self.stopped += other.stopped;
        self.interrupted += other.interrupted;
        self.handed_out += other.handed_out;
        self.milliseconds += other.milliseconds;
    }
}

/// In how many turns an item was where, how it came there, and whether it was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemCounts {
    /// On the page with its text.
    pub taken: u64,
    /// On the page to be called or asked for.
    pub offered: u64,
    /// Considered, and not on the page.
    pub left: u64,
    /// Use was seen.
    pub used: u64,
    /// On the page by itself.
    pub by_always: u64,
    /// On the page because a person added it.
    pub by_hand: u64,
    /// On the page because search found it.
    pub by_search: u64,
}

impl From<[u64; 7]> for ItemCounts {
    fn from([taken, offered, left, used, by_always, by_hand, by_search]: [u64; 7]) -> Self {
        ItemCounts { taken, offered, left, used, by_always, by_hand, by_search }
    }
}

impl From<ItemCounts> for [u64; 7] {
    fn from(counts: ItemCounts) -> Self {
        let ItemCounts { taken, offered, left, used, by_always, by_hand, by_search } = counts;
        [taken, offered, left, used, by_always, by_hand, by_search]
    }
}

impl ItemCounts {
    /// Adds other counts to these.
    pub fn add(&mut self, other: ItemCounts) {
        let (mut sum, other) = (<[u64; 7]>::from(*self), <[u64; 7]>::from(other));
        sum.iter_mut().zip(other).for_each(|(count, more)| *count += more);
        *self = sum.into();
    }
}

impl From<ItemTally> for ItemCounts {
    fn from(tally: ItemTally) -> Self {
        let is_at = |place| u64::from(tally.place == Some(place));
        let came_by = |include| u64::from(tally.include == Some(include));
        ItemCounts {
            taken: is_at(ItemPlace::Taken),
            offered: is_at(ItemPlace::Offered),
            left: is_at(ItemPlace::Left),
            used: u64::from(tally.used),
            by_always: came_by(IncludeMode::Always),
            by_hand: came_by(IncludeMode::Manual),
            by_search: came_by(IncludeMode::Agent),
        }
    }
}

/// What search chose within a range of probability, and what turned out to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct SelectionBin {
    /// Picked.
    pub picked: u64,
    /// Picked and used.
    pub picked_used: u64,
    /// Passed over, and still within the model's reach.
    pub passed: u64,
    /// Passed over and used all the same.
    pub passed_used: u64,
}

impl From<[u64; 4]> for SelectionBin {
    fn from([picked, picked_used, passed, passed_used]: [u64; 4]) -> Self {
        SelectionBin { picked, picked_used, passed, passed_used }
    }
}

impl From<SelectionBin> for [u64; 4] {
    fn from(bin: SelectionBin) -> Self {
        [bin.picked, bin.picked_used, bin.passed, bin.passed_used]
    }
}

impl SelectionBin {
    /// The probabilities between which the range of this number lies.
    pub fn edges(index: usize) -> [f64; 2] {
        [index, index + 1].map(|edge| edge as f64 / SELECTION_BINS as f64)
    }

    pub(crate) fn add(&mut self, other: SelectionBin) {
        self.picked += other.picked;
        self.picked_used += other.picked_used;
        self.passed += other.passed;
        self.passed_used += other.passed_used;
    }
}

/// The last turn that used an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LastUse {
    /// When the message of the turn came in.
    pub at: Moment,
    /// The turn that used it.
    pub turn: TurnId,
}

/// What one session has used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionUsage {
    /// Its turns, running ones included.
    pub turns: u64,
    /// The tokens that servers counted. Layers are not told apart.
    pub tokens: TokenCounts,
}

impl Store {
    /// What an agent has used from a day on, and when it last used each item at all.
    pub async fn usage(&self, agent: &str, since: Option<Date>) -> StoreResult<UsageSummary> {
        let agent = agent.to_owned();
        self.read(move |db| summary::read(db, &agent, since)).await
    }

    /// What a session has used.
    pub async fn session_usage(&self, session: SessionId) -> StoreResult<SessionUsage> {
        self.read(move |db| session_usage(db, session)).await
    }

    /// The requests of a turn, and the tokens that servers counted. Needs none of their
    /// documents, so that a damaged one takes nothing from the counts. Layers are not told
    /// apart.
    pub async fn turn_tokens(&self, turn: TurnId) -> StoreResult<TokenCounts> {
        self.read(move |db| sum_requests(db, "turn = ?1", turn.0)).await
    }
}

/// Counts a turn that ends now.
pub(crate) fn count_turn(
    db: &SqlConnection,
    turn: TurnId,
    outcome: &TurnOutcome,
    tally: Option<&TurnTally>,
) -> DbResult<()> {
    let sql = "SELECT sessions.agent, turns.accepted, turns.started
               FROM turns JOIN sessions ON sessions.id = turns.session WHERE turns.id = ?1";
    let known = db.first(sql, [turn.0], |row| {
        let agent: String = row.get("agent")?;
        let started = rows::optional_moment(row, "started")?;
        Ok((agent, rows::moment(row, "accepted")?, started))
    });
    // A turn that can't be read ends all the same.
    let Some((agent, accepted, started)) = rows::unless_damaged(known)? else { return Ok(()) };
    let day = days_since_1970(accepted.timestamp().to_zoned(TimeZone::UTC).date());
    let sql = "SELECT id, totals, items FROM usage_days WHERE agent = ?1 AND day = ?2";
    let known = db.first(sql, params![agent, day], |row| {
        Ok((row.get::<_, i64>("id")?, row.get::<_, String>("totals")?, row.get("items")?))
    })?;
    let (row, totals, items): (_, _, Vec<u8>) =
        known.map_or_else(Default::default, |(id, totals, items)| (Some(id), totals, items));
    // A day that can't be read is begun anew: no turn fails for its statistics.
    let mut counts = DayCounts::read(&totals, &items).unwrap_or_default();
    counts.totals.endings.count(outcome, started);
    if let Some(tally) = tally {
        counts.count(tally, LastUse { at: accepted, turn });
    }
    let (totals, items) = counts.to_columns()?;
    match row {
        Some(row) => {
            let sql = "UPDATE usage_days SET totals = ?2, items = ?3 WHERE id = ?1";
            db.execute(sql, params![row, totals, items]).map(drop)
        }
        None => {
            let sql = "INSERT INTO usage_days (agent, day, totals, items) VALUES (?1, ?2, ?3, ?4)";
            db.execute(sql, params![agent, day, totals, items]).map(drop)
        }
    }
}

fn session_usage(db: &SqlConnection, session: SessionId) -> DbResult<SessionUsage> {
    let sql = "SELECT count(*) FROM turns WHERE session = ?1";
    let turns: i64 = db.only(sql, [session.0])?;
    let of_session = "turn IN (SELECT id FROM turns WHERE session = ?1)";
    let tokens = sum_requests(db, of_session, session.0)?;
    Ok(SessionUsage { turns: turns.unsigned_abs(), tokens })
}

fn sum_requests(db: &SqlConnection, condition: &str, id: i64) -> DbResult<TokenCounts> {
    let sql = format!("SELECT prompt, cached, completion FROM requests WHERE {condition}");
    let mut tokens = TokenCounts::default();
    db.all(&sql, [id], |row| {
        tokens.requests += 1;
        tokens.add_usage(&read_usage(row)?);
        Ok(())
    })?;
    Ok(tokens)
}

fn read_usage(row: &SqlRow<'_>) -> DbResult<RequestUsage> {
    Ok(RequestUsage {
        prompt: rows::unsigned(row, "prompt")?,
        cached: rows::unsigned(row, "cached")?,
        completion: rows::unsigned(row, "completion")?,
    })
}

/// The number under which a day is kept.
fn days_since_1970(day: Date) -> i64 {
    day.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
}

/// The day of that number, if it is one.
fn day_from_number(days: i64) -> Option<Date> {
    let span = 0.days().try_days(days).ok()?;
    Date::constant(1970, 1, 1).checked_add(span).ok()
}
