//! What was taken back: the last exchange that stands, and nothing else.

use recto_context::MessageId;
use recto_store::{
    NewRetraction, NewTranscript, NewTurn, RetractionReason, SessionBasis, SessionCursor,
    StoreError, TurnCommit,
};
use serde_json::json;

use crate::support::{
    StoreBench, at, begin, exchange, key, new_message, new_session, new_turn, reply, transcript,
};

fn retraction(first: u64, last: u64, reason: RetractionReason) -> NewRetraction {
    NewRetraction {
        first: MessageId(first),
        last: MessageId(last),
        reason,
        actor: json!({"id": "owner"}),
        at: at(20),
    }
}

#[tokio::test]
async fn only_the_last_exchange_that_stands_can_be_taken_back() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    exchange(store, &session, 1, ["one", "1"]).await;
    exchange(store, &session, 3, ["two", "2"]).await;
    let undo =
        |first, last| store.retract(session.id, retraction(first, last, RetractionReason::Undo));
    let changed = || Err(StoreError::Changed { session: session.id });
    assert_eq!(undo(1, 2).await, changed());
    let undone = undo(3, 4).await.unwrap();
    assert_eq!((undone.turn.map(|turn| turn.get()), undone.replaced_by), (Some(2), None));
    assert_eq!(undo(3, 4).await, changed());
    undo(1, 2).await.unwrap();
    // Nothing is gone, and all of it is known.
    assert_eq!(transcript(store, &session).await.len(), 4);
    let state = store.load(session.id, SessionCursor::default()).await.unwrap();
    assert_eq!(state.retractions.len(), 2);
    assert_eq!(state.retractions, store.retractions(session.id).await.unwrap());
    assert_eq!(store.all_retractions().await.unwrap()[&session.id].len(), 2);
    // A message of a turn that is open can't be taken back.
    let begun = begin(store, &session, 5, "three").await.unwrap();
    assert!(matches!(undo(5, 5).await, Err(StoreError::Busy { .. })));
    reply(store, begun.turn, 6, "3").await;
    undo(5, 6).await.unwrap();
}

#[tokio::test]
async fn a_turn_that_replaces_an_exchange_takes_it_back_as_it_begins() {
    let bench = StoreBench::new();
    let store = &bench.store;
    let session = store.bind(key("a"), new_session("a")).await.unwrap();
    exchange(store, &session, 1, ["one", "1"]).await;
    let retraction = Some(retraction(1, 2, RetractionReason::Retry));
    let again = || NewTurn { retraction: retraction.clone(), ..new_turn(&session, "one") };
    // A turn that begins on what was read before the exchange was taken back is refused.
    let basis = SessionBasis { last_message: MessageId(2), summary: None, retraction: None };
    let commit = |id| TurnCommit {
        messages: vec![new_message(recto_context::Message::user(id, "one"))],
        basis: Some(basis),
        ..TurnCommit::default()
    };
    let begun = store.begin(again(), commit(3)).await.unwrap();
    let stored = &store.retractions(session.id).await.unwrap()[0];
    assert_eq!((stored.replaced_by, stored.reason), (Some(begun.turn), RetractionReason::Retry));
    let of_turn = store.retractions_of_turn(begun.turn).await.unwrap();
    assert_eq!((of_turn.replaces.as_ref(), of_turn.taken_back), (Some(stored), None));
    let of_old = store.retractions_of_turn(stored.turn.unwrap()).await.unwrap();
    assert_eq!(of_old.taken_back.as_ref(), Some(stored));
    // While it runs, nothing that would replace something is queued behind it.
    assert!(matches!(store.accept(again()).await, Err(StoreError::Busy { .. })));
    reply(store, begun.turn, 4, "1").await;
    assert_eq!(store.accept(again()).await, Err(StoreError::Changed { session: session.id }));
    let stale = store.begin(new_turn(&session, "x"), commit(5)).await;
    assert_eq!(stale, Err(StoreError::Changed { session: session.id }));
    assert_eq!(store.turns(session.id).await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_was_taken_back_elsewhere_comes_in_with_its_session() {
    let bench = StoreBench::new();
    let messages = (1..=4).map(|id| new_message(recto_context::Message::user(id, "hi"))).collect();
    let retractions = vec![retraction(3, 4, RetractionReason::Edit)];
    let new = NewTranscript { messages, retractions };
    let session = bench.store.import(key("a"), new_session("a"), new).await.unwrap();
    let kept = bench.store.retractions(session.id).await.unwrap();
    assert_eq!((kept.len(), kept[0].turn, kept[0].last), (1, None, MessageId(4)));
    let hits = bench.store.search("hi", 9).await.unwrap();
    let marked: Vec<bool> = hits.iter().map(|hit| hit.taken_back.is_some()).collect();
    assert_eq!(marked, [true, true, false, false]);
}

#[test]
fn the_names_of_reasons_are_read_again() {
    for reason in [RetractionReason::Undo, RetractionReason::Retry, RetractionReason::Edit] {
        assert_eq!(RetractionReason::from_name(reason.name()), Some(reason));
    }
    assert_eq!(RetractionReason::from_name("redo"), None);
}
