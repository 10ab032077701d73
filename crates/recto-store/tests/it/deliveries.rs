//! Messages that a surface delivers more than once.

use std::collections::BTreeSet;

use recto_store::{
    BindingKey, DeliveryKey, NewTurn, Store, StoreError, StoredSession, TurnCommit, TurnId,
};

use crate::support::{StoreBench, begin, done, key, new_turn};

fn delivered(session: &StoredSession, conversation: BindingKey, message: &str) -> NewTurn {
    let delivery = Some(DeliveryKey { conversation, message: message.to_owned() });
    NewTurn { delivery, ..new_turn(session, "hi") }
}

/// Takes a message in as a session's task does: at once, or behind the turn that runs.
async fn take_in(store: &Store, inbound: NewTurn) -> Result<TurnId, StoreError> {
    match store.begin(inbound.clone(), TurnCommit::default()).await {
        Err(StoreError::Busy { .. }) => store.accept(inbound).await.map(|turn| turn.id),
        begun => begun.map(|begun| begun.turn),
    }
}

#[tokio::test]
async fn a_message_that_was_taken_in_is_known_by_its_conversation_and_id() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = take_in(&bench.store, delivered(&session, key("a"), "7")).await.unwrap();
    let known = Err(StoreError::Delivered { turn });
    assert_eq!(take_in(&bench.store, delivered(&session, key("a"), "7")).await, known);
    let accepted = bench.store.accept(delivered(&session, key("a"), "7")).await;
    assert_eq!(accepted.map(|turn| turn.id), known);

    // Another session of the same conversation, after a restart.
    let bench = bench.reopened();
    let next = bench.session("b").await;
    assert_eq!(take_in(&bench.store, delivered(&next, key("a"), "7")).await, known);
    let delivery = DeliveryKey { conversation: key("a"), message: "7".into() };
    assert_eq!(bench.store.delivered(&delivery).await, Ok(Some(turn)));

    // The same id in another conversation, or through another account, is another message.
    let account = BindingKey { account: "second bot".into(), ..key("a") };
    let user = BindingKey { user: Some("ada".into()), ..key("a") };
    let others = [(key("b"), "7"), (account, "7"), (user, "7"), (key("a"), "8"), (key("a"), "")];
    let mut turns = BTreeSet::from([turn]);
    for (conversation, message) in others {
        turns.insert(take_in(&bench.store, delivered(&next, conversation, message)).await.unwrap());
    }
    assert_eq!(turns.len(), 6);
}

#[tokio::test]
async fn a_message_whose_turn_was_not_stored_is_not_known() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let running = begin(&bench.store, &session, 1, "first").await.unwrap().turn;
    let inbound = delivered(&session, key("a"), "7");
    let busy = bench.store.begin(inbound.clone(), TurnCommit::default()).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    bench.store.advance(running, end).await.unwrap();
    bench.store.begin(inbound, TurnCommit::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_deliveries_at_once_begins_a_turn() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let stores = [bench.store.clone(), bench.another()];
    let mut tasks = Vec::new();
    for task in 0..8 {
        let (store, session) = (stores[task % 2].clone(), session.clone());
        tasks.push(tokio::spawn(async move {
            let mut turns = Vec::new();
            for _ in 0..25 {
                turns.push(match take_in(&store, delivered(&session, key("a"), "7")).await {
                    Ok(turn) | Err(StoreError::Delivered { turn }) => turn,
                    Err(error) => panic!("{error}"),
                });
            }
            turns
        }));
    }
    let mut turns = BTreeSet::new();
    for task in tasks {
        turns.extend(task.await.unwrap());
    }
    assert_eq!(turns.len(), 1);
    assert_eq!(bench.number("SELECT count(*) FROM turns"), 1);
}
