//! How an agent's context is used over time: what the store has counted, beside what
//! the agent has. Counting itself is done by `tally`.

use std::collections::HashMap;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use recto_context::{AudienceKind, Catalog, IncludeMode, ItemId, ItemKind, Layer};
use recto_store::{
    DayUsage, EndingCounts, ItemCounts, ItemUsage, LastUse, SELECTION_BINS, SelectionBin,
    SessionId, SessionUsage, Store, TokenCounts, UsageSummary,
};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::agent_catalog::CatalogPurpose;
use crate::commands::CommandReply;
use crate::error::AgentResult;
use crate::rights::{Right, is_allowed};

/// The time that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSpan {
    /// So many days up to today.
    Days(u16),
    /// From this day on.
    From(Date),
    /// All that was counted.
    All,
}

impl Default for UsageSpan {
    fn default() -> Self {
        UsageSpan::Days(30)
    }
}

impl UsageSpan {
    /// The first day of it, in UTC.
    fn first_day(self, now: Timestamp) -> Option<Date> {
        match self {
            UsageSpan::Days(days) => {
                let before = i64::from(days.saturating_sub(1));
                now.to_zoned(TimeZone::UTC).date().checked_sub(before.days()).ok()
            }
            UsageSpan::From(day) => Some(day),
            UsageSpan::All => None,
        }
    }
}

/// The text is no span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it takes a number of days such as 30d, a date such as 2026-05-01, or all")]
pub struct ParseSpanError;

impl FromStr for UsageSpan {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        if text == "all" {
            return Ok(UsageSpan::All);
        }
        let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
        match days.filter(|days| *days > 0) {
            Some(days) => Ok(UsageSpan::Days(days)),
            None => text.parse().map(UsageSpan::From).map_err(|_| ParseSpanError),
        }
    }
}

/// A question how the context was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageQuery {
    /// The time that is asked about.
    pub span: UsageSpan,
    /// After how many days without use an item is listed as unused.
    pub unused_days: u16,
    /// The moment at which it is asked.
    pub now: Timestamp,
}

impl UsageQuery {
    /// After how many days an item is listed as unused where nobody says so.
    pub const USUAL_UNUSED: u16 = 30;

    /// What is asked about a span of time, now.
    pub fn now(span: UsageSpan) -> Self {
        UsageQuery { span, unused_days: Self::USUAL_UNUSED, now: Timestamp::now() }
    }

    /// The moment since which an item must have been used not to be listed as unused.
    pub fn unused_limit(&self) -> Timestamp {
        let hours = i64::from(self.unused_days) * 24;
        self.now.checked_sub(hours.hours()).unwrap_or(Timestamp::MIN)
    }
}

/// How an agent's context was used.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageReport {
    /// Whose context it is.
    pub agent: String,
    /// The question that it answers.
    pub query: UsageQuery,
    /// The first day that it is about; all where there is none.
    pub since: Option<Date>,
    /// All but what is told of items.
    pub totals: UsageSummary,
    /// Items that were counted in the span, in the order of their identities.
    pub items: Vec<ReportedItem>,
    /// Rules, references, skills and tools of the agent that nothing has used for the
    /// days that were asked for; those that were never used come first.
    pub unused: Vec<ReportedItem>,
    /// The session in which it was asked, if it was asked in one.
    pub session: Option<SessionUsage>,
}

/// An item, and what is counted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedItem {
    /// Its counts within the span, and its last use.
    pub usage: ItemUsage,
    /// Its include mode now; absent where the agent has it no more, and for memories.
    pub include: Option<IncludeMode>,
}

impl Agent {
    /// How the agent's context was used, and what this session did of it. Whoever may not see
    /// the sessions of others is told of this one alone: all counts are made of them.
    pub(crate) async fn usage(
        &self,
        actor: &Actor,
        query: UsageQuery,
        session: SessionId,
    ) -> AgentResult<CommandReply> {
        let of_session = self.store().session_usage(session).await?;
        // What was counted elsewhere is for the owner, and not before others.
        let here = self.settings(session).await?.audience();
        if !is_allowed(actor.role, Right::SeeSessions) || here.who != AudienceKind::Owner {
            return Ok(CommandReply::SessionUsage(of_session));
        }
        let catalog = self.shared.catalog(CatalogPurpose::Look).await.catalog;
        let report = report_usage(self.store(), self.name(), &catalog, query).await?;
        Ok(CommandReply::Usage(Box::new(UsageReport { session: Some(of_session), ..report })))
    }
}

impl Agent {
    /// How the agent's context was used in all sessions, for those who may see all of them.
    pub async fn usage_report(&self, actor: &Actor, query: UsageQuery) -> AgentResult<UsageReport> {
        actor.must_have(Right::SeeSessions)?;
        let catalog = self.shared.catalog(CatalogPurpose::Look).await.catalog;
        report_usage(self.store(), self.name(), &catalog, query).await
    }
}

/// Reports how the context of an agent was used that has this catalog.
pub async fn report_usage(
    store: &Store,
    agent: &str,
    catalog: &Catalog,
    query: UsageQuery,
) -> AgentResult<UsageReport> {
    let since = query.span.first_day(query.now);
    let mut totals = store.usage(agent, since).await?;
    let includes: HashMap<ItemId, IncludeMode> = catalog.items().collect();
    let counted = std::mem::take(&mut totals.items);
    let unused = unused_items(&counted, catalog, query);
    let items = counted.into_iter().filter(|usage| usage.counts != ItemCounts::default());
    let items = items
        .map(|usage| ReportedItem { include: includes.get(&usage.item).copied(), usage })
        .collect();
    Ok(UsageReport { agent: agent.to_owned(), query, since, totals, items, unused, session: None })
}

/// Items of the catalog without a use in the days before `query.now`.
fn unused_items(counted: &[ItemUsage], catalog: &Catalog, query: UsageQuery) -> Vec<ReportedItem> {
    let limit = query.unused_limit();
    let known: HashMap<&ItemId, &ItemUsage> =
        counted.iter().map(|usage| (&usage.item, usage)).collect();
    let report = |(item, include): (ItemId, IncludeMode)| {
        let usage = match known.get(&item) {
            Some(usage) => (*usage).clone(),
            None => ItemUsage { item, counts: ItemCounts::default(), last_used: None },
        };
        let is_used = usage.last_used.is_some_and(|last| last.at.timestamp() >= limit);
        (!is_used).then_some(ReportedItem { usage, include: Some(include) })
    };
    let mut unused: Vec<ReportedItem> = catalog.items().filter_map(report).collect();
    unused.sort_by(|a, b| {
        let order = |item: &ReportedItem| (item.usage.last_used, item.usage.item.clone());
        order(a).cmp(&order(b))
    });
    unused
}

impl ReportedItem {
    /// Whether it is gone from the agent. Of built-in tools and of memories the catalog
    /// does not tell.
    pub fn is_gone(&self) -> bool {
        let ItemId { kind, server, .. } = &self.usage.item;
        let is_told = match kind {
            ItemKind::Rule | ItemKind::Reference | ItemKind::Skill => true,
            ItemKind::Tool => server.is_some(),
            ItemKind::Memory => false,
        };
        is_told && self.include.is_none()
    }

    fn json(&self) -> Value {
        let ItemId { kind, name, server } = &self.usage.item;
        let mut value = usage_json(&self.usage);
        value["kind"] = json!(kind);
        value["name"] = json!(name);
        value["server"] = json!(server);
        value["include"] = json!(self.include);
        value["gone"] = json!(self.is_gone());
        value
    }
}

/// In how many turns an item was seen to be used; `None` where that can't be seen: whether a rule
/// or a reference made a difference, unless the model has read it by its name.
pub fn seen_uses(usage: &ItemUsage) -> Option<u64> {
    let used = usage.counts.used;
    match usage.item.kind {
        ItemKind::Rule | ItemKind::Reference => Some(used).filter(|used| *used > 0),
        ItemKind::Skill | ItemKind::Tool | ItemKind::Memory => Some(used),
    }
}

/// The last use and the counts of an item as JSON: `used` is null where use can't be
/// seen.
pub fn usage_json(usage: &ItemUsage) -> Value {
    let counts = &usage.counts;
    let used = seen_uses(usage);
    json!({
        "last_used": usage.last_used.map(last_json),
        "counts": {
            "taken": counts.taken,
            "offered": counts.offered,
            "left": counts.left,
            "used": used,
            "by": {
                "always": counts.by_always,
                "manual": counts.by_hand,
                "agent": counts.by_search,
            },
        },
    })
}

fn last_json(last: LastUse) -> Value {
    json!({"turn": last.turn, "at": last.at})
}

impl UsageReport {
    /// All of it as JSON.
    pub fn json(&self) -> Value {
        let UsageSummary { first_day, damaged_days, endings, tokens, selection, days, .. } =
            &self.totals;
        let list = |items: &[ReportedItem]| items.iter().map(ReportedItem::json).collect::<Value>();
        json!({
            "agent": self.agent,
            "since": self.since,
            "counted_since": first_day,
            "unreadable_days": damaged_days,
            "turns": endings_json(endings),
            "tokens": tokens_json(tokens),
            "refused_calls": self.totals.refused_calls,
            "days": days.iter().map(day_json).collect::<Value>(),
            "items": list(&self.items),
            "selection": selection_json(selection),
            "unused": {"days": self.query.unused_days, "items": list(&self.unused)},
            "session": self.session.as_ref().map(session_usage_json),
        })
    }
}

fn endings_json(endings: &EndingCounts) -> Value {
    let EndingCounts { done, failed, stopped, interrupted, handed_out, milliseconds } = endings;
    json!({
        "all": endings.all(),
        "done": done,
        "failed": failed,
        "stopped": stopped,
        "interrupted": interrupted,
        "handed_out": handed_out,
        "seconds": *milliseconds as f64 / 1_000.0,
    })
}

fn tokens_json(tokens: &TokenCounts) -> Value {
    let layers: serde_json::Map<String, Value> = Layer::ALL
        .into_iter()
        .map(|layer| {
            let cost = tokens.layers.get(&layer).copied().unwrap_or(0);
            (layer.name().to_owned(), cost.into())
        })
        .collect();
    let mut value = server_tokens_json(tokens);
    value["pages"] = tokens.pages.into();
    value["fresh"] = tokens.fresh.into();
    value["layers"] = layers.into();
    value
}

/// What servers have counted.
fn server_tokens_json(tokens: &TokenCounts) -> Value {
    json!({
        "requests": tokens.requests,
        "prompt": tokens.prompt,
        "cached": tokens.cached,
        "cached_share": tokens.cached_share(),
        "completion": tokens.completion,
    })
}

fn day_json(day: &DayUsage) -> Value {
    let ItemCounts { taken, offered, left, used, .. } = day.items;
    let mut value = server_tokens_json(&day.tokens);
    value["day"] = json!(day.day);
    value["turns"] = day.endings.all().into();
    value["items"] = json!({"taken": taken, "offered": offered, "left": left, "used": used});
    value
}

fn selection_json(selection: &[SelectionBin; SELECTION_BINS]) -> Value {
    let bin = |(index, bin): (usize, &SelectionBin)| {
        let [from, to] = SelectionBin::edges(index);
        json!({
            "from": from,
            "to": to,
            "picked": bin.picked,
            "picked_used": bin.picked_used,
            "passed_over": bin.passed,
            "passed_over_used": bin.passed_used,
        })
    };
    selection.iter().enumerate().map(bin).collect()
}

/// What one session has used as JSON.
pub fn session_usage_json(session: &SessionUsage) -> Value {
    let mut value = server_tokens_json(&session.tokens);
    value["turns"] = session.turns.into();
    value
}
