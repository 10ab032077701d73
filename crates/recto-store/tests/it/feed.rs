//! What was said in all sessions, for an index of it.

use std::fs;

use recto_context::Message;
use recto_store::{MessagePosition, SessionId, Store};

use crate::support::{StoreBench, at, exchange, id, key, new_message, new_session, talk};

/// Sessions and numbers of all messages, read `limit` at a time.
async fn all(store: &Store, limit: usize) -> Vec<(SessionId, u64)> {
    let mut position: Option<MessagePosition> = None;
    let mut found = Vec::new();
    loop {
        let messages = store.messages_after(position, limit).await.unwrap();
        assert!(messages.len() <= limit);
        let Some((last, ..)) = messages.last() else { return found };
        assert!(Some(*last) > position);
        position = Some(*last);
        found.extend(messages.iter().map(|(_, session, stored)| (*session, stored.message.id.0)));
    }
}

#[tokio::test]
async fn messages_of_all_sessions_come_once_in_the_order_they_were_stored() {
    let bench = StoreBench::new();
    let (a, b) = (bench.session("a").await, bench.session("b").await);
    exchange(&bench.store, &a, 1, ["one", "1"]).await;
    exchange(&bench.store, &b, 7, ["two", "2"]).await;
    exchange(&bench.store, &a, 3, ["three", "3"]).await;
    let imported = vec![new_message(Message::user(5, "four"))];
    let c = bench.store.import(key("c"), new_session("c"), imported).await.unwrap();
    bench.store.archive(b.id, at(9)).await.unwrap();
    let expected = [(a.id, 1), (a.id, 2), (b.id, 7), (b.id, 8), (a.id, 3), (a.id, 4), (c.id, 5)];
    for limit in [1, 2, 3, 100] {
        assert_eq!(all(&bench.store, limit).await, expected);
    }
    assert_eq!(bench.store.messages_after(None, 0).await, Ok(Vec::new()));

    // Only what is new comes behind what was read, also after a restart.
    let messages = bench.store.messages_after(None, usize::MAX).await.unwrap();
    let first = bench.store.messages(a.id, None).await.unwrap();
    assert_eq!((&messages[0].2, &messages[4].2), (&first[0], &first[2]));
    let end = messages.last().map(|(position, ..)| *position);
    let bench = bench.reopened();
    assert_eq!(bench.store.messages_after(end, 10).await, Ok(Vec::new()));
    exchange(&bench.store, &a, 10, ["five", "5"]).await;
    let new = bench.store.messages_after(end, 10).await.unwrap();
    let numbers: Vec<_> = new.iter().map(|(_, _, stored)| stored.message.id).collect();
    assert_eq!(numbers, [id(10), id(11)]);
}

#[tokio::test]
async fn damaged_messages_are_passed_over() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    for n in 0..5 {
        exchange(&bench.store, &session, 2 * n + 1, ["question", "answer"]).await;
    }
    for (damage, message) in [
        ("body = x'28b52ffd00'", 3),
        ("body = CAST('{\"id\":9}' AS BLOB)", 4),
        ("body = x'ff'", 5),
        ("at = 9223372036854775807", 9),
        ("body = x''", 10),
    ] {
        let sql = format!("UPDATE messages SET {damage} WHERE id = {message}");
        assert_eq!(bench.change(&sql), 1);
    }
    let expected = [1, 2, 6, 7, 8].map(|number| (session.id, number));
    // Also where nothing of what was asked for first can be read.
    for limit in [1, 2, 100] {
        assert_eq!(all(&bench.store, limit).await, expected);
    }
}

#[tokio::test]
async fn a_page_that_is_damaged_costs_only_what_was_on_it() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    // Too long for the row's own page.
    exchange(&bench.store, &session, 1, [&talk(1, 300_000), "kept"]).await;
    exchange(&bench.store, &session, 3, ["hello", "hi"]).await;
    let path = bench.path();
    let bench = bench.reopened();
    let page = bench.number(
        "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'overflow' LIMIT 1",
    );
    let start = usize::try_from(page - 1).unwrap() * 4_096;
    let mut bytes = fs::read(&path).unwrap();
    // Where the text goes on.
    bytes[start..start + 4].fill(0xee);
    fs::write(&path, bytes).unwrap();
    let expected = [2, 3, 4].map(|number| (session.id, number));
    assert_eq!(all(&bench.store, 10).await, expected);
}

#[tokio::test]
async fn all_sessions_are_there_also_when_one_is_damaged() {
    let bench = StoreBench::new();
    let mut sessions = Vec::new();
    for name in ["a", "b", "c"] {
        sessions.push(bench.session(name).await);
    }
    let archived = bench.store.archive(sessions[1].id, at(9)).await.unwrap();
    sessions[1] = archived;
    assert_eq!(bench.store.sessions_brief().await, Ok(sessions.clone()));
    let sql = "UPDATE sessions SET settings = '[' WHERE id = 1";
    assert_eq!(bench.change(sql), 1);
    assert_eq!(bench.store.sessions_brief().await, Ok(sessions[1..].to_vec()));
}
