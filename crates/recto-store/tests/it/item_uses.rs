//! Which items were used for which message: as long as the message stands.

use recto_context::{ItemId, ItemKind, MessageId};
use recto_store::{
    NewRetraction, NewSession, RetractionReason, SessionHolder, Store, StoredSession, TurnCommit,
    TurnId, TurnTally, UsedItems,
};
use serde_json::json;

use crate::support::{StoreBench, at, begin, done, key, new_session};

fn rule(name: &str) -> ItemId {
    ItemId::new(ItemKind::Rule, name)
}

fn uses(used: &[&str], added: &[&str]) -> UsedItems {
    let items = |names: &[&str]| names.iter().map(|name| rule(name)).collect();
    UsedItems { used: items(used), added: items(added) }
}

/// A turn whose message has the number `id`, and which has used something.
async fn turn(store: &Store, session: &StoredSession, id: u64, uses: UsedItems) -> TurnId {
    let begun = begin(store, session, id, "open the gate").await.unwrap();
    end(store, begun.turn, uses).await;
    begun.turn
}

async fn end(store: &Store, turn: TurnId, uses: UsedItems) {
    let tally = Some(TurnTally { uses, ..TurnTally::default() });
    let commit = TurnCommit { outcome: done(), tally, ..TurnCommit::default() };
    store.advance(turn, commit).await.unwrap();
}

/// The messages for which something was used, each with what.
async fn used(store: &Store, agent: &str) -> Vec<(i64, u64, Vec<String>)> {
    let turns = store.used_turns(agent, 100).await.unwrap().into_iter();
    let names = |items: Vec<ItemId>| items.iter().map(|item| item.name.to_string()).collect();
    turns.map(|one| (one.turn.get(), one.message.0, names(one.items))).collect()
}

#[tokio::test]
async fn a_turn_keeps_what_it_used_and_the_newest_comes_first() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    let before = store.uses_revision().await.unwrap();
    turn(store, &session, 1, uses(&["gate", "bell"], &[])).await;
    let one = store.uses_revision().await.unwrap();
    assert_ne!(one, before);
    turn(store, &session, 2, UsedItems::default()).await;
    assert_eq!(store.uses_revision().await.unwrap(), one);
    turn(store, &session, 3, uses(&["gate"], &[])).await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        used(store, "main").await,
        [(3, 3, names(&["gate"])), (1, 1, names(&["bell", "gate"]))]
    );
    assert_eq!(used(store, "other").await, []);
    let newest = &store.used_turns("main", 100).await.unwrap()[0];
    assert_eq!((newest.session, &newest.holder), (session.id, &SessionHolder::owner()));
}

#[tokio::test]
async fn what_a_person_added_counts_for_the_first_message_behind_it() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    turn(store, &session, 1, uses(&[], &["gate"])).await;
    turn(store, &session, 2, uses(&[], &["gate"])).await;
    let other = store.bind(key("b"), new_session("b")).await.unwrap();
    turn(store, &other, 1, uses(&[], &["gate"])).await;
    let turns: Vec<i64> = used(store, "main").await.into_iter().map(|(turn, ..)| turn).collect();
    assert_eq!(turns, [3, 1]);
}

#[tokio::test]
async fn a_turn_that_goes_on_counts_with_the_one_that_began() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    let first = turn(store, &session, 1, uses(&["gate"], &[])).await;
    let begun = begin(store, &session, 2, "").await.unwrap();
    bench.change(&format!("UPDATE turns SET continues = {first} WHERE id = {}", begun.turn));
    end(store, begun.turn, uses(&["bell"], &[])).await;
    assert_eq!(used(store, "main").await, [(1, 1, vec!["bell".to_owned(), "gate".to_owned()])]);
}

/// Promise: `own-use-goes-with-its-message`
#[tokio::test]
async fn what_was_taken_back_or_deleted_speaks_for_nothing() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    turn(store, &session, 1, uses(&["gate"], &[])).await;
    turn(store, &session, 2, uses(&["bell"], &[])).await;
    let before = store.uses_revision().await.unwrap();
    let undo = NewRetraction {
        first: MessageId(2),
        last: MessageId(2),
        reason: RetractionReason::Undo,
        actor: json!({"id": "owner"}),
        at: at(20),
    };
    store.retract(session.id, undo).await.unwrap();
    assert_ne!(store.uses_revision().await.unwrap(), before);
    assert_eq!(used(store, "main").await, [(1, 1, vec!["gate".to_owned()])]);
    let other = NewSession { agent: "main".into(), ..new_session("b") };
    let other = store.bind(key("b"), other).await.unwrap();
    turn(store, &other, 1, uses(&["bell"], &[])).await;
    store.delete_session(session.id, at(30)).await.unwrap();
    assert_eq!(used(store, "main").await, [(3, 1, vec!["bell".to_owned()])]);
    assert_eq!(bench.number("SELECT count(*) FROM item_uses"), 1);
}
