//! Searching in what was said.

use expect_test::{Expect, expect};
use recto_context::{Message, MessageBody, Text};
use recto_store::Store;

use crate::support::{StoreBench, id, key, new_message, new_session, talk};

/// A store in which this was said.
async fn talked() -> StoreBench {
    let bench = StoreBench::new();
    let home = vec![
        new_message(Message::user(1, "How do I reset my ROUTER?\nIt blinks.")),
        new_message(Message::assistant(2, "Hold the button on the router's back for 10 seconds.")),
        new_message(Message::user(3, "好的，今天北京的天气怎么样？")),
        new_message(Message {
            id: id(4),
            body: MessageBody::Tool {
                call: recto_context::CallId("c".into()),
                name: "weather".into(),
                content: vec![recto_context::ContentPart::Text(
                    "Peking: 100% \"sunny\", 7_000 lux".into(),
                )],
            },
        }),
        new_message(Message {
            id: id(5),
            body: MessageBody::Error(Text::new("the server did not answer")),
        }),
    ];
    bench.store.import(key("home"), new_session("home"), home).await.unwrap();
    let long = format!("{} reset {}", talk(1, 5_000), talk(2, 5_000));
    let work = vec![
        new_message(Message::user(1, "RESET the build")),
        new_message(Message::assistant(2, long)),
    ];
    bench.store.import(key("work"), new_session("work"), work).await.unwrap();
    bench
}

async fn check(store: &Store, query: &str, expected: Expect) {
    let hits = store.search(query, 10).await.unwrap();
    let lines = hits.iter().map(|hit| {
        let (name, found) = (hit.name.as_ref().unwrap(), &hit.snippet[hit.found.clone()]);
        format!("{name} {} {:?}: {found}", hit.message.0, hit.role)
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join(" | "));
}

#[tokio::test]
async fn all_words_are_found_newest_first() {
    let bench = talked().await;
    let store = &bench.store;
    check(
        store,
        "reset",
        expect!["work 2 Assistant: reset | work 1 User: RESET | home 1 User: reset"],
    )
    .await;
    check(store, "router  RESET", expect!["home 1 User: reset"]).await;
    check(store, "router build", expect![""]).await;
    check(store, "oute", expect!["home 2 Assistant: oute | home 1 User: OUTE"]).await;
}

#[tokio::test]
async fn every_script_and_every_character_can_be_looked_for() {
    let bench = talked().await;
    let store = &bench.store;
    check(store, "北京", expect!["home 3 User: 北京"]).await;
    check(store, "%", expect!["home 4 Tool: %"]).await;
    check(store, "7_0", expect!["home 4 Tool: 7_0"]).await;
    check(store, "\"SUNNY\"", expect![[r#"home 4 Tool: "sunny""#]]).await;
    check(store, "did not answer", expect!["home 5 Error: did"]).await;
    // Names of fields and tools are nothing that was said.
    check(store, "role", expect![""]).await;
    check(store, "\\", expect![""]).await;
    check(store, " \n", expect![""]).await;
}

#[tokio::test]
async fn no_more_is_given_than_was_asked_for() {
    let bench = talked().await;
    let hits = bench.store.search("reset", 2).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.message.0).collect::<Vec<_>>(), [2, 1]);
    assert!(hits[0].snippet.len() < 200);
    assert_eq!(bench.store.search("reset", 0).await, Ok(Vec::new()));
}
