//! What listeners hear, and in which order.

use expect_test::expect;
use recto_agent::Event;
use recto_fakes::{Answer, Fake};
use recto_store::Ending;

use crate::support::{Bench, events, finished, holds, runtime, say, session, submit, transcript};

fn describe(event: &Event) -> String {
    match event {
        Event::Accepted => "accepted".to_owned(),
        Event::Requested { number, .. } => format!("requested {number}"),
        Event::Retrying { .. } => "retrying".to_owned(),
        Event::Text { text } => format!("text {text:?}"),
        Event::Thinking { text } => format!("thinking {text:?}"),
        Event::Asked(question) => format!("asked {}: {}", question.tool, question.title),
        Event::Decided { answer, .. } => format!("decided {}", answer.name()),
        Event::Call { name, arguments, .. } => format!("call {name} {arguments}"),
        Event::Result { name, outcome, text, .. } => format!("result {name} {outcome}: {text}"),
        Event::Notice { text } => format!("notice {text}"),
        Event::Finished(finished) => {
            format!("finished {}: {:?}", finished.status.name(), finished.reply)
        }
    }
}

/// Promise: `every-round-streams`
#[test]
fn events_come_in_the_order_of_the_turn_and_text_streams_in_every_round() {
    let fake = Fake::openai()
        .answer(
            Answer::thinking("hm hm")
                .text("I hold it.")
                .calls([recto_fakes::Call::new("hold", serde_json::json!({"what": "a"}))]),
        )
        .answer(Answer::text("It is held."))
        .start();
    let (bench, runtime) = (Bench::new(), runtime());
    bench.held.let_go(1);
    let heard = runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        events(submit(&agent, session, "work").await).await
    });
    let shown: String = joined(heard).iter().map(|event| describe(event) + "\n").collect();
    expect![[r#"
        accepted
        requested 1
        thinking "hm hm"
        text "I hold it."
        call hold {"what":"a"}
        result hold done: held
        requested 2
        text "It is held."
        finished done: Some("It is held.")
    "#]]
    .assert_eq(&shown);
}

/// The events with pieces of one text put together: how many there are depends on
/// how fast they come.
fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    for event in events {
        match (all.last_mut(), &event) {
            (Some(Event::Text { text }), Event::Text { text: more })
            | (Some(Event::Thinking { text }), Event::Thinking { text: more }) => {
                text.push_str(more);
            }
            _ => all.push(event),
        }
    }
    all
}

/// Promise: `slow-listener-hears-the-end`
#[test]
fn a_listener_that_never_listens_holds_nothing_up() {
    const TURNS: usize = 160;
    let fake = Fake::openai().start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        // Each turn has four events at the least.
        let mut deaf = agent.subscribe(session);
        for _ in 1..TURNS {
            assert_eq!(say(&agent, session, "hello").await.status, Ending::Done);
        }
        let last = submit(&agent, session, "the end").await;
        let turn = last.turn;
        assert_eq!(finished(last).await.status, Ending::Done);
        let missed = deaf.recv().await.unwrap_err();
        assert!(matches!(missed, tokio::sync::broadcast::error::RecvError::Lagged(_)));
        // One who looked away for long still hears the end, with all of the reply.
        let end = crate::support::ended(&mut deaf, turn).await;
        assert_eq!(end.status, Ending::Done);
        assert!(end.reply.unwrap().ends_with("the end"));
    });
}

#[test]
fn what_an_event_tells_is_stored_by_then() {
    let fake = Fake::openai().answer(holds(&["a"])).start();
    let (bench, runtime) = (Bench::new(), runtime());
    bench.held.let_go(1);
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        // Another process sees it.
        let store = bench.store();
        let mut submission = submit(&agent, session, "work").await;
        loop {
            let event = crate::support::next(&mut submission.events).await;
            let turn = store.turn(submission.turn).await.unwrap().unwrap();
            let transcript = transcript(&store, session).await;
            assert!(transcript.contains("user: work"), "{transcript}");
            match event.event {
                Event::Requested { request, .. } => {
                    assert!(store.request(request).await.unwrap().is_some());
                    assert!(!store.body(request).await.unwrap().is_empty());
                }
                Event::Call { .. } => assert!(transcript.contains("[hold"), "{transcript}"),
                Event::Finished(_) => {
                    assert!(turn.ended.is_some());
                    assert!(transcript.contains("assistant: You said"), "{transcript}");
                    break;
                }
                _ => {}
            }
        }
    });
}
