//! Reading while others write, and reading only what is asked for.

use std::task::Poll;
use std::time::Duration;

use recto_context::Message;
use recto_store::{NewMessage, SessionCursor};

use crate::support::{StoreBench, at, exchange, id, key, new_message, new_session};

/// How long something may take that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_reader_does_not_wait_for_a_writer() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    let writer = bench.database();
    writer.execute_batch("BEGIN EXCLUSIVE; UPDATE sessions SET agent = 'x'").unwrap();
    // As of before the transaction, and while it is open.
    let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    assert_eq!((state.session.agent.as_str(), state.messages.len()), ("main", 2));
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(
        bench.store.load(session.id, SessionCursor::default()).await.unwrap().session.agent,
        "x"
    );
}

#[tokio::test]
async fn a_watch_tells_of_changes_whoever_makes_them() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let mut watch = bench.store.watch_changes();
    assert!(watch.has_changed().await.unwrap(), "at first all is new");
    assert!(!watch.has_changed().await.unwrap());
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    assert!(watch.has_changed().await.unwrap());
    assert!(!watch.has_changed().await.unwrap());
    let another = bench.another();
    exchange(&another, &session, 3, ["and", "so"]).await;
    assert!(watch.has_changed().await.unwrap());
    // Who only looks changes nothing.
    bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    assert!(!watch.has_changed().await.unwrap());
}

#[tokio::test]
async fn many_can_read_at_once() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    let mut reads = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (store, session) = (bench.store.clone(), session.id);
        reads.spawn(async move { store.messages(session, None).await.unwrap().len() });
    }
    assert!(reads.join_all().await.iter().all(|count| *count == 2));
}

/// Whoever begins to read and is kept from going on holds nobody up: neither those that have a
/// connection, nor those that wait for one.
#[tokio::test]
async fn reads_that_nobody_goes_on_with_keep_no_other_from_reading() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    let mut begun = Vec::new();
    for _ in 0..40 {
        let mut read = Box::pin(bench.store.messages(session.id, None));
        let is_pending =
            std::future::poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending()));
        assert!(is_pending.await);
        begun.push(read);
    }
    for _ in 0..3 {
        let another = tokio::time::timeout(PATIENCE, bench.store.messages(session.id, None));
        assert_eq!(another.await.expect("nobody stands in its way").unwrap().len(), 2);
    }
    for read in begun {
        assert_eq!(read.await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn only_what_is_new_is_loaded() {
    let bench = StoreBench::new();
    let message =
        |n: u64| NewMessage { at: at(0), ..new_message(Message::user(n, format!("message {n}"))) };
    let messages: Vec<_> = (1..=10_000).map(message).collect();
    let session = bench.store.import(key("long"), new_session("long"), messages).await.unwrap();
    let state = bench
        .store
        .load(
            session.id,
            SessionCursor { messages_up_to: Some(id(9_998)), ..SessionCursor::default() },
        )
        .await
        .unwrap();
    let ids: Vec<u64> = state.messages.iter().map(|stored| stored.message.id.0).collect();
    assert_eq!((ids, state.last_message), (vec![9_999, 10_000], Some(id(10_000))));
    assert!(
        bench
            .store
            .load(
                session.id,
                SessionCursor { messages_up_to: Some(id(u64::MAX)), ..SessionCursor::default() }
            )
            .await
            .unwrap()
            .messages
            .is_empty()
    );
}

#[test]
fn what_a_turn_reads_is_found_by_indexes() {
    let bench = StoreBench::in_file();
    let plan = |sql: &str| -> String {
        let database = bench.database();
        let mut explain = database.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explain.query_map([], |row| row.get::<_, String>("detail")).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for sql in [
        "SELECT id, turn, at, body FROM messages
         WHERE session = 1 AND id > 2 AND id <= 9 ORDER BY id",
        "SELECT max(id) AS id FROM messages WHERE session = 1",
        "SELECT id, owner FROM turns WHERE session = 1 AND ended IS NULL ORDER BY id LIMIT 1",
        "SELECT id FROM turns INDEXED BY open_turns WHERE ended IS NULL ORDER BY id",
        "SELECT number, id FROM requests WHERE turn = 1 ORDER BY number",
        "SELECT requests.id FROM turns JOIN requests ON requests.turn = turns.id
         WHERE turns.session = 1 ORDER BY turns.number DESC, requests.number DESC LIMIT 1",
    ] {
        let plan = plan(sql);
        assert!(plan.contains("INDEX"), "{sql}: {plan}");
        assert!(!plan.contains("SCAN messages"), "{sql}: {plan}");
        assert!(!plan.contains("SCAN requests"), "{sql}: {plan}");
    }
}
