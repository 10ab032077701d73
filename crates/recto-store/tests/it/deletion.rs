//! Sessions that are deleted for good.

use std::fs;
use std::path::Path;

use recto_context::Message;
use recto_store::{
    NewRequest, RowId, SessionFilter, SessionHolder, StoreError, StoredSession, TurnCommit,
};

use crate::compactions::compaction;
use crate::support::{
    StoreBench, at, begin, done, exchange, key, new_message, new_session, request, sent, talk,
    transcript,
};

/// Whether these bytes stand in one of the database's files.
fn is_in_files(bench: &StoreBench, text: &str) -> bool {
    let database = bench.path();
    let folder = database.parent().unwrap();
    let has_it = |path: &Path| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    fs::read_dir(folder).unwrap().any(|entry| has_it(&entry.unwrap().path()))
}

fn with_long_text(seed: u64) -> NewRequest {
    request(1, &["{", &talk(seed, 3_000), "}"])
}

/// Promise: `deleted-for-good`
#[tokio::test]
async fn nothing_of_a_deleted_session_is_left_in_the_files() {
    let bench = StoreBench::in_file();
    let (kept, gone) = (bench.session("kept").await, bench.session("gone").await);
    exchange(&bench.store, &kept, 1, ["hello", "good day"]).await;
    exchange(&bench.store, &gone, 1, ["the code is zebra-4711", "noted: zebra-4711"]).await;
    sent(&bench.store, &gone, request(1, &["{\"content\":\"zebra-4711\"}"])).await;
    assert!(is_in_files(&bench, "zebra-4711"));
    let deleted = bench.store.delete_session(gone.id, at(60)).await.unwrap();
    assert_eq!((deleted.messages, deleted.turns, deleted.is_wiped), (2, 2, true));
    assert!(!is_in_files(&bench, "zebra-4711"));
    let texts = transcript(&bench.store, &kept).await;
    assert_eq!(texts, [(1, "hello".to_owned()), (2, "good day".to_owned())]);
}

#[tokio::test]
async fn texts_that_others_have_stay_and_the_rest_goes() {
    let bench = StoreBench::new();
    let (kept, gone) = (bench.session("kept").await, bench.session("gone").await);
    let request = sent(&bench.store, &kept, with_long_text(1)).await;
    sent(&bench.store, &gone, with_long_text(1)).await;
    sent(&bench.store, &gone, with_long_text(2)).await;
    assert_eq!(bench.number("SELECT count(*) FROM parts"), 2);
    bench.store.delete_session(gone.id, at(60)).await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM parts"), 1);
    let body = bench.store.body(request).await.unwrap();
    assert_eq!(body, format!("{{{}}}", talk(1, 3_000)).as_bytes());
}

#[tokio::test]
async fn a_deleted_session_is_nowhere_and_its_numbers_never_come_back() {
    let bench = StoreBench::new();
    let gone = bench.session("gone").await;
    exchange(&bench.store, &gone, 1, ["one", "two"]).await;
    let turn = bench.store.turns(gone.id).await.unwrap()[0].id;
    bench.store.delete_session(gone.id, at(60)).await.unwrap();
    let store = &bench.store;
    assert_eq!(store.session(gone.id).await.unwrap(), None);
    assert_eq!(store.find_session("main", &SessionHolder::owner(), "gone").await.unwrap(), None);
    assert_eq!(store.sessions(SessionFilter::All).await.unwrap(), []);
    assert_eq!(store.sessions_brief().await.unwrap(), []);
    assert!(store.turn(turn).await.unwrap().is_none());
    // The row that keeps the number says nothing of who was there.
    let traces = "SELECT count(*) FROM turns WHERE begun_by IS NOT NULL OR stop_by IS NOT NULL";
    assert_eq!(bench.number(traces), 0);
    assert_eq!(store.search("two", 9).await.unwrap(), []);
    let again = store.delete_session(gone.id, at(61)).await;
    assert_eq!(again, Err(StoreError::NotFound(RowId::Session(gone.id))));
    // The same conversation begins anew, under other numbers.
    let new = store.bind(key("gone"), new_session("gone")).await.unwrap();
    assert!(new.id > gone.id);
    exchange(store, &new, 1, ["three", "four"]).await;
    assert!(store.turns(new.id).await.unwrap()[0].id > turn);
    assert_eq!(bench.number("SELECT count(*) FROM messages WHERE position <= 1"), 0);
}

#[tokio::test]
async fn a_session_with_an_open_turn_is_kept() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let begun = begin(&bench.store, &session, 1, "wait").await.unwrap();
    let refused = bench.store.delete_session(session.id, at(60)).await;
    assert!(matches!(refused, Err(StoreError::Busy { turn, .. }) if turn == begun.turn));
    assert_eq!(transcript(&bench.store, &session).await.len(), 1);
}

/// Summaries that replaced each other, requests that are kept against each other.
#[tokio::test]
async fn rows_that_refer_to_each_other_go_together() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    for number in 0..40 {
        sent(&bench.store, &session, request(1, &[&format!("request {number}")])).await;
    }
    summarise(&bench, &session).await;
    bench.store.delete_session(session.id, at(60)).await.unwrap();
    for table in
        ["requests", "compactions", "retractions", "approvals", "session_items", "bindings"]
    {
        assert_eq!(bench.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

async fn summarise(bench: &StoreBench, session: &StoredSession) {
    for id in [1, 3] {
        let begun = begin(&bench.store, session, id, "talk").await.unwrap();
        let commit = TurnCommit {
            messages: vec![new_message(Message::assistant(id + 1, "more"))],
            compaction: Some(compaction(1..=id, "in short")),
            outcome: done(),
            ..TurnCommit::default()
        };
        bench.store.advance(begun.turn, commit).await.unwrap();
    }
}

/// Promise: `deleted-for-good`
#[tokio::test]
async fn what_a_deletion_left_is_wiped_by_the_next_who_looks() {
    let bench = StoreBench::in_file();
    let gone = bench.session("gone").await;
    exchange(&bench.store, &gone, 1, ["the code is zebra-4711", "noted"]).await;
    bench.store.delete_session(gone.id, at(60)).await.unwrap();
    assert!(bench.store.wipe_deleted().await.unwrap());
    // As if the process had been killed behind the commit.
    bench.change("UPDATE sessions SET wiped = NULL");
    assert!(bench.store.wipe_deleted().await.unwrap());
    assert_eq!(bench.number("SELECT count(*) FROM sessions WHERE wiped IS NULL"), 0);
}
