//! How turns are counted: once, on the day of their message, and with what they used.

use recto_context::{IncludeMode, ItemId, ItemKind, Layer};
use recto_store::{
    EndingCounts, ItemCounts, ItemPlace, ItemTally, ItemUsage, NewTurn, RequestUsage,
    SearchVerdict, SelectionBin, StoredSession, TokenCounts, TurnCommit, TurnEnding, TurnId,
    TurnOutcome, TurnTally, UsageSummary,
};

use crate::support::{StoreBench, at, done, new_turn};

const DAY: i64 = 24 * 60 * 60;

/// The end of the first day: the moments of these tests begin at eight.
const MIDNIGHT: i64 = 16 * 60 * 60;

fn rule(name: &str) -> ItemId {
    ItemId::new(ItemKind::Rule, name)
}

fn tool(name: &str) -> ItemId {
    ItemId::tool(Some("git".into()), name)
}

/// A turn that had a rule on the page, a tool that search picked, and one that it left.
fn tally() -> TurnTally {
    let on_page = |place, include| ItemTally {
        place: Some(place),
        include: Some(include),
        ..ItemTally::default()
    };
    let picked = ItemTally {
        used: true,
        verdict: Some(SearchVerdict::Picked(0.75)),
        ..on_page(ItemPlace::Offered, IncludeMode::Agent)
    };
    let left = ItemTally { place: Some(ItemPlace::Left), ..ItemTally::default() };
    let mut tokens = TokenCounts { requests: 1, pages: 1, fresh: 5, ..TokenCounts::default() };
    tokens.layers.insert(Layer::System, 30);
    tokens.add_usage(&RequestUsage { prompt: Some(40), cached: Some(10), completion: Some(3) });
    TurnTally {
        tokens,
        items: [
            (rule("tone"), on_page(ItemPlace::Taken, IncludeMode::Always)),
            (tool("log"), picked),
            (tool("push"), left),
        ]
        .into(),
        refused_calls: 2,
        ..TurnTally::default()
    }
}

impl StoreBench {
    /// Begins a turn so many seconds after some moment.
    async fn begin_at(&self, session: &StoredSession, seconds: i64) -> TurnId {
        let inbound = NewTurn { at: at(seconds), ..new_turn(session, "hi") };
        self.store.begin(inbound, TurnCommit::default()).await.unwrap().turn
    }

    async fn count(&self, session: &StoredSession, seconds: i64, tally: TurnTally) -> TurnId {
        let turn = self.begin_at(session, seconds).await;
        let outcome =
            Some(TurnOutcome { ending: TurnEnding::Done, detail: None, at: at(seconds + 2) });
        let commit = TurnCommit { outcome, tally: Some(tally), ..TurnCommit::default() };
        self.store.advance(turn, commit).await.unwrap();
        turn
    }

    async fn usage(&self) -> UsageSummary {
        self.store.usage("main", None).await.unwrap()
    }
}

fn item<'a>(usage: &'a UsageSummary, id: &ItemId) -> &'a ItemUsage {
    usage.items.iter().find(|usage| usage.item == *id).unwrap()
}

/// Promise: `counted-once`
#[tokio::test]
async fn a_turn_counts_with_its_end_and_only_once() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = bench.begin_at(&session, 1).await;
    // A step that goes on, and one that is refused, count nothing.
    let step = TurnCommit { tally: Some(tally()), ..TurnCommit::default() };
    bench.store.advance(turn, step.clone()).await.unwrap();
    assert_eq!(bench.usage().await, UsageSummary::default());
    let end = TurnCommit { outcome: done(), ..step };
    bench.store.advance(turn, end.clone()).await.unwrap();
    assert!(bench.store.advance(turn, end.clone()).await.is_err());
    assert!(bench.another().advance(turn, end).await.is_err());

    let bench = bench.reopened();
    let usage = bench.usage().await;
    let endings = EndingCounts { done: 1, milliseconds: 8_000, ..EndingCounts::default() };
    assert_eq!((usage.endings, usage.damaged_days), (endings, 0));
    assert_eq!((&usage.tokens, usage.refused_calls), (&tally().tokens, 2));
    assert_eq!(usage.tokens.cached_share(), Some(0.25));
    let tone = item(&usage, &rule("tone"));
    assert_eq!(tone.counts, ItemCounts { taken: 1, by_always: 1, ..ItemCounts::default() });
    assert_eq!(tone.last_used.map(|last| (last.turn, last.at)), Some((turn, at(1))));
    let log = item(&usage, &tool("log"));
    let counts = ItemCounts { offered: 1, used: 1, by_search: 1, ..ItemCounts::default() };
    assert_eq!((log.counts, log.last_used.is_some()), (counts, true));
    let push = item(&usage, &tool("push"));
    let counts = ItemCounts { left: 1, ..ItemCounts::default() };
    assert_eq!((push.counts, push.last_used), (counts, None));
    let mut selection = [SelectionBin::default(); 10];
    selection[7] = SelectionBin { picked: 1, picked_used: 1, ..SelectionBin::default() };
    assert_eq!(usage.selection, selection);
    assert_eq!(bench.store.usage("other", None).await, Ok(UsageSummary::default()));
}

#[tokio::test]
async fn days_add_up_and_the_last_use_is_that_of_any_day() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let mut used_once = tally();
    used_once.items.insert(rule("old"), used_once.items[&rule("tone")]);
    let first = bench.count(&session, 10, used_once).await;
    bench.count(&session, MIDNIGHT - 1, tally()).await;
    bench.count(&session, MIDNIGHT, tally()).await;
    let last = bench.count(&session, 3 * DAY, tally()).await;

    let usage = bench.usage().await;
    let days: Vec<(String, u64, u64)> = usage
        .days
        .iter()
        .map(|day| (day.day.to_string(), day.endings.all(), day.items.taken))
        .collect();
    let day = |day: &str, turns, taken| (day.to_owned(), turns, taken);
    let expected = [day("2025-11-15", 2, 3), day("2025-11-16", 1, 1), day("2025-11-18", 1, 1)];
    assert_eq!(days, expected);
    assert_eq!((usage.endings.all(), usage.tokens.requests, usage.tokens.cached), (4, 4, 40));
    assert_eq!(usage.tokens.layers[&Layer::System], 120);
    assert_eq!(item(&usage, &rule("tone")).last_used.map(|used| used.turn), Some(last));

    let since = Some("2025-11-16".parse().unwrap());
    let recent = bench.store.usage("main", since).await.unwrap();
    assert_eq!((recent.endings.all(), recent.days.len()), (2, 2));
    assert_eq!(recent.first_day, usage.first_day);
    assert_eq!(item(&recent, &rule("tone")).counts.taken, 2);
    // What was not used since is known all the same.
    let old = item(&recent, &rule("old"));
    assert_eq!(
        (old.counts, old.last_used.map(|used| used.turn)),
        (ItemCounts::default(), Some(first))
    );
}

#[tokio::test]
async fn a_turn_that_never_began_counts_without_items() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let queued = bench.store.accept(new_turn(&session, "hi")).await.unwrap();
    let outcome = TurnOutcome { ending: TurnEnding::Stopped, detail: None, at: at(9) };
    bench.store.withdraw(queued.id, outcome).await.unwrap();
    let usage = bench.usage().await;
    assert_eq!(usage.endings, EndingCounts { stopped: 1, ..EndingCounts::default() });
    assert!(usage.items.is_empty());
}

/// Promise: `one-fault-fails-no-turn`
#[tokio::test]
async fn a_day_that_cannot_be_read_fails_no_turn() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    bench.count(&session, 1, tally()).await;
    bench.count(&session, DAY, tally()).await;
    let damage = "UPDATE usage_days
                  SET totals = CASE WHEN id = 1 THEN 'x' ELSE totals END,
                      items = CASE WHEN id = 2 THEN x'ff' ELSE items END";
    bench.change(damage);
    let usage = bench.usage().await;
    assert_eq!((usage.damaged_days, usage.endings.all()), (2, 0));
    bench.count(&session, DAY + 5, tally()).await;
    let usage = bench.usage().await;
    assert_eq!((usage.damaged_days, usage.endings.all()), (1, 1));
}

#[tokio::test]
async fn odd_probabilities_and_names_are_counted() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let judged = |verdict| ItemTally {
        place: Some(ItemPlace::Offered),
        verdict: Some(verdict),
        ..ItemTally::default()
    };
    let probabilities = [f32::NAN, -1.0, 0.0, 1.0, f32::INFINITY];
    let items = probabilities.iter().enumerate().map(|(index, probability)| {
        let name = format!("a \"quoted\"\n\\ name \u{0} {index}");
        (tool(&name), judged(SearchVerdict::PassedOver(*probability)))
    });
    let tally = TurnTally { items: items.collect(), ..TurnTally::default() };
    bench.count(&session, 1, tally.clone()).await;
    bench.count(&session, 2, tally.clone()).await;
    let usage = bench.usage().await;
    let passed = usage.selection.map(|bin| bin.passed);
    assert_eq!(passed, [6, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
    let names: Vec<&ItemId> = usage.items.iter().map(|usage| &usage.item).collect();
    assert_eq!(names, tally.items.keys().collect::<Vec<_>>());
    assert!(usage.items.iter().all(|usage| usage.counts.offered == 2));
}

#[tokio::test]
async fn a_session_s_own_use_is_that_of_its_requests() {
    let bench = StoreBench::new();
    let (session, other) = (bench.session("a").await, bench.session("b").await);
    bench.count(&session, 1, tally()).await;
    crate::support::sent(&bench.store, &session, crate::support::request(1, &["{}"])).await;
    let usage = bench.store.session_usage(session.id).await.unwrap();
    assert_eq!((usage.turns, usage.tokens.requests), (2, 1));
    let none = bench.store.session_usage(other.id).await.unwrap();
    assert_eq!((none.turns, none.tokens.requests), (0, 0));
}
