//! Requests: what was sent, and what came back.

use recto_context::{ContentHash, Message, Text};
use recto_store::{
    Fidelity, NewRequest, RequestAnswer, RequestId, RequestUsage, RowId, StoreError, TurnCommit,
};
use serde_json::json;

use crate::support::{
    StoreBench, at, begin, done, exchange, id, new_message, new_turn, request, sent, talk,
};

#[tokio::test]
async fn a_request_comes_back_as_it_was_sent() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let (short, long) = (Text::new("short"), Text::new(talk(1, 3_000)));
    let new = NewRequest {
        number: 1,
        at: at(3),
        model: "qwen3".into(),
        wire: "ollama".into(),
        options: json!({"z": 1, "a": {"b": [1.5, null]}}),
        fidelity: Fidelity::Rendered,
        context: "{\"parts\": [ \"as\\nit\", \"is\" ]}\nand a second line \0".into(),
        contents: vec![short.clone(), long.clone(), short.clone()],
        body: ["{\"messages\":[", &talk(2, 900), ",", &talk(2, 900), "é\0]}"].iter().collect(),
        notes: json!({"shared": 17}),
    };
    let id = sent(&bench.store, &session, new.clone()).await;
    let bench = bench.reopened();
    let record = bench.store.request(id).await.unwrap().unwrap();
    assert_eq!((record.session, record.number, record.at), (session.id, 1, at(3)));
    assert_eq!((record.model, record.wire), (new.model, new.wire));
    assert_eq!(record.options.to_string(), new.options.to_string());
    assert_eq!((record.fidelity, record.context), (new.fidelity, new.context));
    assert_eq!((record.notes, record.answer), (new.notes, None));
    let body = new.body.into_text();
    assert_eq!(record.body_length, body.len() as u64);
    assert_eq!(bench.store.body(id).await.unwrap(), body.as_bytes());
    let contents = bench.store.contents(vec![long.hash(), short.hash()]).await.unwrap();
    assert_eq!((&contents[&short.hash()], &contents[&long.hash()]), (&short, &long));
}

/// Promise: `request-kept-as-sent`
#[tokio::test]
async fn what_came_back_stands_beside_its_request() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let commit = TurnCommit {
        messages: vec![new_message(Message::user(1, "time?"))],
        request: Some(request(1, &["first"])),
        ..TurnCommit::default()
    };
    let begun = bench.store.begin(new_turn(&session, "time?"), commit).await.unwrap();
    let first = begun.request.unwrap();
    let answer = |request| RequestAnswer {
        request,
        at: at(5),
        reply: Some(id(2)),
        usage: RequestUsage { prompt: Some(120), cached: None, completion: Some(7) },
        result: json!({"finish": "tool_calls", "first_token_at": "2026-11-15T08:00:00Z"}),
    };
    let commit = TurnCommit {
        messages: vec![
            new_message(Message::assistant(2, "")),
            new_message(Message::assistant(3, "12:00")),
        ],
        answer: Some(answer(first)),
        request: Some(request(2, &["first", "second"])),
        ..TurnCommit::default()
    };
    let second = bench.store.advance(begun.turn, commit).await.unwrap().unwrap();

    let again = TurnCommit { answer: Some(answer(first)), ..TurnCommit::default() };
    let answered = StoreError::Answered { request: first };
    assert_eq!(bench.store.advance(begun.turn, again).await, Err(answered));
    let missing: RequestId = "99".parse().unwrap();
    let unknown = TurnCommit { answer: Some(answer(missing)), ..TurnCommit::default() };
    let not_found = StoreError::NotFound(RowId::Request(missing));
    assert_eq!(bench.store.advance(begun.turn, unknown).await, Err(not_found.clone()));
    assert_eq!(bench.store.body(missing).await, Err(not_found));

    let bench = bench.reopened();
    let requests = bench.store.requests(begun.turn).await.unwrap();
    let ids: Vec<_> = requests.iter().map(|request| request.id).collect();
    assert_eq!(ids, [first, second]);
    let numbers = bench.store.request_ids(begun.turn).await.unwrap();
    assert_eq!(numbers, [(1, first), (2, second)]);
    assert_eq!(requests[0].answer, Some(answer(first)));
    assert_eq!(requests[1].answer, None);
    assert_eq!(bench.store.last_request(session.id).await.unwrap().unwrap().id, second);
    assert_eq!(bench.store.body(second).await.unwrap(), b"firstsecond");
}

/// How many rows the documents of all requests are read from, at most.
const FARTHEST: &str = "WITH RECURSIVE walk (id, parent, rows) AS (
        SELECT id, parent, 1 FROM requests
        UNION ALL
        SELECT walk.id, requests.parent, walk.rows + 1
        FROM walk JOIN requests ON requests.id = walk.parent
    ) SELECT max(rows) FROM walk";

/// A session in which every request repeats all that was before, over restarts:
/// chains of differences end and begin again.
#[tokio::test]
async fn long_chains_are_read_as_they_were_written() {
    let mut bench = StoreBench::new();
    let session = bench.session("a").await;
    let (mut body, mut context, mut written) = (Vec::new(), String::new(), Vec::new());
    for n in 0..300_u64 {
        // Now and then a piece that is short.
        body.push(talk(n, if n % 3 == 0 { 40 } else { 200 }));
        context.push_str(&format!("[{n},\"{}\"]", ContentHash::of_bytes(&n.to_le_bytes())));
        let new =
            NewRequest { context: context.clone(), body: body.iter().collect(), ..request(1, &[]) };
        let id = sent(&bench.store, &session, new).await;
        written.push((id, context.clone(), body.concat()));
        if n % 37 == 36 {
            bench = bench.reopened();
        }
    }
    let bench = bench.reopened();
    assert_eq!(bench.number("SELECT max(place) FROM requests"), 255);
    assert_eq!(bench.number("SELECT count(*) FROM requests WHERE parent IS NULL"), 2);
    assert_eq!(bench.number(FARTHEST), 31);
    for (id, context, body) in written {
        assert_eq!(bench.store.request(id).await.unwrap().unwrap().context, context);
        assert_eq!(bench.store.body(id).await.unwrap(), body.as_bytes());
    }
}

#[tokio::test]
async fn a_document_with_nothing_in_common_stands_by_itself() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let mut written = Vec::new();
    for n in 0..40 {
        // Every 7th begins something else, and those behind it follow it.
        let context = format!("{}{n}", talk(n / 7, 2_000));
        let new = NewRequest { context: context.clone(), ..request(1, &["x"]) };
        written.push((sent(&bench.store, &session, new).await, context));
    }
    let bench = bench.reopened();
    for (id, context) in written {
        assert_eq!(bench.store.request(id).await.unwrap().unwrap().context, context);
    }
}

#[tokio::test]
async fn what_two_stores_write_in_turns_is_read_by_both() {
    let bench = StoreBench::new();
    let other = bench.another();
    let session = bench.session("a").await;
    let mut body = Vec::new();
    let mut written = Vec::new();
    for n in 0..10 {
        body.push(talk(n, 300));
        let new = NewRequest { body: body.iter().collect(), ..request(1, &[]) };
        let store = if n % 2 == 0 { &bench.store } else { &other };
        written.push((sent(store, &session, new).await, body.concat()));
    }
    for (id, body) in written {
        assert_eq!(bench.store.body(id).await.unwrap(), body.as_bytes());
    }
}

#[tokio::test]
async fn a_record_that_is_gone_costs_a_request_nothing_but_room() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    let text = Text::new(talk(7, 500));
    let new = |n: u64| NewRequest {
        contents: vec![text.clone()],
        body: [talk(1, 900), talk(n, 900)].iter().collect(),
        ..request(1, &[])
    };
    let lost = sent(&bench.store, &session, new(2)).await;
    // Another process clears up all that nothing refers to.
    bench.database().execute_batch("DELETE FROM requests; DELETE FROM parts").unwrap();
    let kept = sent(&bench.store, &session, new(3)).await;
    assert_eq!(kept, lost, "the number is free again, and yet the parent is not taken for it");
    assert_eq!(bench.store.body(kept).await.unwrap(), new(3).body.as_str().as_bytes());
    assert_eq!(bench.store.contents(vec![text.hash()]).await.unwrap()[&text.hash()], text);
}

#[tokio::test]
async fn what_was_tampered_with_is_found_out() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    let text = Text::new(talk(7, 500));
    let new = NewRequest {
        contents: vec![text.clone()],
        body: [talk(1, 900), talk(2, 900)].iter().collect(),
        ..request(1, &[])
    };
    let id = sent(&bench.store, &session, new.clone()).await;
    let (hash, other) = (text.hash(), Text::new(talk(8, 500)));
    let tamper = |sql: &str, key: ContentHash| {
        let changed = bench.database().execute(sql, [&key.as_bytes()[..16]]).unwrap();
        assert_eq!(changed, 1);
    };
    let is_damaged = |error: StoreError| matches!(error, StoreError::Damaged { .. });

    tamper("UPDATE parts SET data = CAST('other words' AS BLOB) WHERE key = ?1", hash);
    assert!(is_damaged(bench.store.contents(vec![hash]).await.unwrap_err()));
    assert!(is_damaged(bench.store.contents(vec![other.hash()]).await.unwrap_err()));
    assert!(bench.store.body(id).await.is_ok(), "what is not touched can be read");

    let piece = ContentHash::of_bytes(talk(2, 900).as_bytes());
    tamper("UPDATE parts SET data = CAST(replace(data, 'a', 'b') AS BLOB) WHERE key = ?1", piece);
    let damaged = bench.store.body(id).await.unwrap_err();
    assert!(is_damaged(damaged.clone()), "{damaged}");
    tamper("DELETE FROM parts WHERE key = ?1", piece);
    assert!(is_damaged(bench.store.body(id).await.unwrap_err()));

    // A record that can't be read is no reason to refuse the next one.
    bench.change("UPDATE requests SET document = x'28b52ffd00'");
    assert!(is_damaged(bench.store.request(id).await.unwrap_err()));
    let turn = bench.store.last_turn(Some(session.id)).await.unwrap().unwrap().id;
    assert_eq!(bench.store.request_ids(turn).await, Ok(vec![(1, id)]));
    let bench = bench.reopened();
    let next = sent(&bench.store, &session, new.clone()).await;
    assert_eq!(bench.store.request(next).await.unwrap().unwrap().context, new.context);
}

#[tokio::test]
async fn every_request_of_a_turn_has_a_number_of_its_own() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["a", "b"]).await;
    let turn = begin(&bench.store, &session, 3, "c").await.unwrap().turn;
    let commit = || TurnCommit { request: Some(request(1, &["x"])), ..TurnCommit::default() };
    bench.store.advance(turn, commit()).await.unwrap();
    assert!(bench.store.advance(turn, commit()).await.is_err());
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    bench.store.advance(turn, end).await.unwrap();
    assert_eq!(bench.store.requests(turn).await.unwrap().len(), 1);
}
