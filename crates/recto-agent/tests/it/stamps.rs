//! The stamp in front of each message, and replies that imitate it.

use recto_agent::EventKind;
use recto_context::{ContentPart, MessageBody};
use recto_fakes::{FakeAnswer, FakeServer};
use serde_json::json;

use crate::selection::requests;
use crate::support::{Bench, check_sound, events, runtime, say, session, submit, transcript};

/// Promise: `stamps-are-not-imitated`
#[test]
fn a_stamp_that_a_reply_imitates_is_taken_off_and_recorded() {
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("Sent 2026-11-15 08:07:\nHello, Kim."))
        .answer(FakeAnswer::text("[2026-11-15 08:08] And again."))
        .answer(FakeAnswer::text("Sent by Ada on 2026-11-15."))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        for (message, expected) in
            [("hi", "Hello, Kim."), ("so?", "And again."), ("who?", "Sent by Ada on 2026-11-15.")]
        {
            let told = events(submit(&agent, session, message).await).await;
            let text = |event: &EventKind| match event {
                EventKind::Text { text } => Some(text.clone()),
                _ => None,
            };
            assert_eq!(told.iter().filter_map(text).collect::<String>(), expected);
        }
        let said = transcript(agent.store(), session).await;
        assert!(said.contains("Hello, Kim.") && !said.contains("2026-11-15 08:07"), "{said}");
        let stored = agent.store().messages(session, None).await.unwrap();
        let replies = stored.iter().filter_map(|stored| match &stored.message.body {
            MessageBody::Assistant { content, .. } => {
                content.first().and_then(ContentPart::as_text)
            }
            _ => None,
        });
        let replies: Vec<&str> = replies.map(|text| text.as_str()).collect();
        assert_eq!(replies, ["Hello, Kim.", "And again.", "Sent by Ada on 2026-11-15."]);
        let mut taken_off = Vec::new();
        for turn in agent.store().turns(session).await.unwrap() {
            let request = agent.store().requests(turn.id).await.unwrap().remove(0);
            taken_off.push(request.answer.unwrap().result["stamp_taken_off"].clone());
        }
        let expected = json!(["Sent 2026-11-15 08:07:\n", "[2026-11-15 08:08] ", null]);
        assert_eq!(json!(taken_off), expected);
        check_sound(agent.store(), session).await;
    });
}

/// Promise: `message-exactly-once`
#[test]
fn a_message_that_looks_like_a_stamp_is_sent_byte_for_byte() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let message = "Sent 2026-11-15 08:07:\n\n[2026-11-15 08:07] is what it says";
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, message).await;
        let request = requests(agent.store(), session).await.remove(0);
        let sent = request.messages.last().unwrap().text().to_owned();
        let (stamp, rest) = sent.split_once('\n').unwrap();
        assert!(stamp.starts_with("Sent 20") && stamp.ends_with(':'), "{sent}");
        assert_eq!(rest, message);
    });
}
