//! What listeners hear, and in which order.

use expect_test::expect;
use recto_agent::{EventCursor, EventKind};
use recto_fakes::{FakeAnswer, FakeServer};
use recto_store::TurnEnding;

use crate::support::{
    Bench, ended, events, finished, holds, next, owner, runtime, say, session, submit, transcript,
};

fn describe(event: &EventKind) -> String {
    match event {
        EventKind::Accepted => "accepted".to_owned(),
        EventKind::TakenBack(event) => format!("taken back, {}", event.reason.name()),
        EventKind::Requested { number, .. } => format!("requested {number}"),
        EventKind::Retrying { .. } => "retrying".to_owned(),
        EventKind::Text { text } => format!("text {text:?}"),
        EventKind::Thinking { text } => format!("thinking {text:?}"),
        EventKind::Asked(question) => format!("asked {}: {}", question.tool, question.title),
        EventKind::Decided { answer, .. } => format!("decided {}", answer.name()),
        EventKind::Call(call) => format!("call {} {}", call.name, call.arguments),
        EventKind::Result { name, outcome, text, .. } => {
            format!("result {name} {}: {text}", outcome.name())
        }
        EventKind::Notice(notice) => format!("notice {}", notice.text),
        EventKind::Finished(finished) => {
            format!("finished {}: {:?}", finished.status.name(), finished.reply)
        }
        EventKind::Snapshot(snapshot) => format!("snapshot {:?}", snapshot.text),
        EventKind::Delivered { schedule, .. } => format!("delivered by {schedule}"),
    }
}

/// Promise: `every-round-streams`
#[test]
fn events_come_in_the_order_of_the_turn_and_text_streams_in_every_round() {
    let fake = FakeServer::openai()
        .answer(
            FakeAnswer::thinking("hm hm")
                .text("I hold it.")
                .calls([recto_fakes::FakeCall::new("hold", serde_json::json!({"what": "a"}))]),
        )
        .answer(FakeAnswer::text("It is held."))
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
fn joined(events: Vec<EventKind>) -> Vec<EventKind> {
    let mut all: Vec<EventKind> = Vec::new();
    for event in events {
        match (all.last_mut(), &event) {
            (Some(EventKind::Text { text }), EventKind::Text { text: more })
            | (Some(EventKind::Thinking { text }), EventKind::Thinking { text: more }) => {
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
    const TURNS: usize = 300;
    let fake = FakeServer::openai().start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        // Each turn has four events at the least.
        let mut deaf = agent.listen(&owner(), session, EventCursor::Now).await.unwrap();
        for _ in 1..TURNS {
            assert_eq!(say(&agent, session, "hello").await.status, TurnEnding::Done);
        }
        let last = submit(&agent, session, "the end").await;
        let turn = last.turn;
        assert_eq!(finished(last).await.status, TurnEnding::Done);
        let missed = next(&mut deaf).await;
        assert!(matches!(missed.event, EventKind::Snapshot(_)), "{missed:?}");
        // One who looked away for long still hears the end, with all of the reply.
        let end = ended(&mut deaf, turn).await;
        assert_eq!(end.status, TurnEnding::Done);
        assert!(end.reply.unwrap().ends_with("the end"));
    });
}

#[test]
fn what_an_event_tells_is_stored_by_then() {
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let (bench, runtime) = (Bench::new(), runtime());
    bench.held.let_go(1);
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        // Another process sees it.
        let store = bench.store();
        let mut submission = submit(&agent, session, "work").await;
        loop {
            let event = next(&mut submission.events).await;
            let turn = store.turn(submission.turn).await.unwrap().unwrap();
            let transcript = transcript(&store, session).await;
            assert!(transcript.contains("user: work"), "{transcript}");
            match event.event {
                EventKind::Requested { request, .. } => {
                    assert!(store.request(request).await.unwrap().is_some());
                    assert!(!store.body(request).await.unwrap().is_empty());
                }
                EventKind::Call(_) => assert!(transcript.contains("[hold"), "{transcript}"),
                EventKind::Finished(_) => {
                    assert!(turn.ended.is_some());
                    assert!(transcript.contains("assistant: You said"), "{transcript}");
                    break;
                }
                _ => {}
            }
        }
    });
}

/// Promise: `turns-elsewhere-are-heard`
#[test]
fn what_is_said_in_another_process_is_heard_while_it_is_said_and_can_be_stopped() {
    let half = FakeAnswer::text("half of").piece(" a word").stall_after(1);
    let fake = FakeServer::openai().answer(half).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "shared").await;
        let mut heard = theirs.listen(&owner(), shared, EventCursor::Now).await.unwrap();
        let turn = submit(&ours, shared, "one").await.turn;
        let mut said = String::new();
        while !said.starts_with("half") {
            let event = next(&mut heard).await;
            assert_eq!(event.turn, Some(turn));
            match event.event {
                EventKind::Snapshot(snapshot) => said = snapshot.text,
                EventKind::Text { text } => said.push_str(&text),
                other => panic!("{other:?}"),
            }
        }
        theirs.stop_turn(&owner(), shared, turn).await.unwrap();
        assert_eq!(ended(&mut heard, turn).await.status, TurnEnding::Stopped);
        // Also what is over before anybody looks.
        let second = submit(&ours, shared, "two").await;
        let (turn, told) = (second.turn, finished(second).await);
        let heard = ended(&mut heard, turn).await;
        assert_eq!((heard.status, told.status), (TurnEnding::Done, TurnEnding::Done));
        assert!(heard.reply.unwrap().ends_with("two"));
    });
}
