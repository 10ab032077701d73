//! The stamp in front of each message, and replies that imitate it.

use recto_agent::EventKind;
use recto_context::{ContentPart, MessageBody};
use recto_fakes::{FakeAnswer, FakeServer};
use serde_json::Value;

use crate::selection::requests;
use crate::support::{Bench, check_sound, events, runtime, say, session, submit};

/// Says something in the session of a new agent, and again with whatever reply the stamp of the
/// first message makes. Gives what was heard of that reply, what is stored of it, and what the
/// record says was taken off.
async fn heard_of(message: &str, reply: impl Fn(&str) -> String) -> (String, String, Value) {
    let bench = Bench::new();
    let first = FakeServer::openai().start();
    let agent = bench.agent(&first).await;
    let session = session(&agent, "k").await;
    say(&agent, session, "hi").await;
    let stored = agent.store().messages(session, None).await.unwrap();
    let MessageBody::User(said) = &stored[0].message.body else { panic!("no message") };
    let minute = said.stamp.as_ref().unwrap().minute().to_owned();
    drop(agent);
    let second = FakeServer::openai().answer(FakeAnswer::text(reply(&minute))).start();
    let agent = bench.agent(&second).await;
    let told = events(submit(&agent, session, &message.replace("MINUTE", &minute)).await).await;
    let heard = told.iter().filter_map(|event| match event {
        EventKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let heard: String = heard.collect();
    let stored = agent.store().messages(session, None).await.unwrap();
    let last = stored.last().unwrap().message.content();
    let kept = last.first().and_then(ContentPart::as_text).unwrap().as_str().to_owned();
    let turn = agent.store().turns(session).await.unwrap().pop().unwrap().id;
    let request = agent.store().requests(turn).await.unwrap().remove(0);
    check_sound(agent.store(), session).await;
    (heard, kept, request.answer.unwrap().result["stamp_taken_off"].clone())
}

/// Promise: `stamps-are-not-imitated`
#[test]
fn a_stamp_that_a_reply_imitates_is_taken_off_and_recorded() {
    runtime().block_on(async {
        let (heard, kept, taken_off) =
            heard_of("so?", |minute| format!("Sent {minute}:\nHello, Kim.")).await;
        assert_eq!((heard.as_str(), kept.as_str()), ("Hello, Kim.", "Hello, Kim."));
        let taken_off = taken_off.as_str().unwrap();
        assert!(taken_off.starts_with("Sent 20") && taken_off.ends_with(":\n"), "{taken_off}");
    });
}

/// Promise: `stamps-are-not-imitated`
#[test]
fn all_stamps_that_a_reply_begins_with_are_taken_off() {
    runtime().block_on(async {
        let twice = |minute: &str| format!("Sent {minute}:\nSent {minute}: \n\nHello, Kim.");
        let (heard, kept, taken_off) = heard_of("so?", twice).await;
        assert_eq!((heard.as_str(), kept.as_str()), ("Hello, Kim.", "Hello, Kim."));
        assert_eq!(taken_off.as_str().unwrap().matches("Sent 20").count(), 2, "{taken_off}");
        // The second is none of the page's.
        let quoting = |minute: &str| format!("Sent {minute}:\nSent 2020-11-15 08:07:\ndisk full");
        let (heard, kept, taken_off) = heard_of("so?", quoting).await;
        assert_eq!((heard.as_str(), &*heard), ("Sent 2020-11-15 08:07:\ndisk full", &*kept));
        assert_eq!(taken_off.as_str().unwrap().matches("Sent 20").count(), 1, "{taken_off}");
    });
}

/// Promise: `stamps-are-not-imitated`
#[test]
fn a_stamp_that_goes_on_with_a_minute_of_its_own_is_taken_off() {
    runtime().block_on(async {
        let later = |minute: &str| format!("Sent {} 24:61:\nHello, Kim.", &minute[..10]);
        let (heard, kept, taken_off) = heard_of("so?", later).await;
        assert_eq!((heard.as_str(), kept.as_str()), ("Hello, Kim.", "Hello, Kim."));
        assert!(taken_off.as_str().unwrap().contains(" 24:61:"), "{taken_off}");
        // In a line with other words it says something.
        let said = |minute: &str| format!("Sent {} 24:61: the letter.", &minute[..10]);
        let (_, kept, taken_off) = heard_of("so?", said).await;
        assert!(kept.ends_with("24:61: the letter.") && taken_off.is_null(), "{kept} {taken_off}");
    });
}

/// Promise: `stamps-are-not-imitated`
#[test]
fn a_time_that_a_reply_quotes_stays() {
    runtime().block_on(async {
        for (message, reply) in [
            // No message of the page was sent then.
            ("repeat it", "Sent 2020-11-15 08:07:\ndisk full"),
            ("repeat it", "[2020-11-15 08:07] disk full"),
            // Stamps of this page have another form.
            ("repeat it", "[MINUTE] disk full"),
            // The message speaks of it.
            ("repeat \"Sent MINUTE:\"", "Sent MINUTE:\nthat is it"),
            ("who?", "Sent by Ada on 2026-11-15."),
        ] {
            let made = |minute: &str| reply.replace("MINUTE", minute);
            let (heard, kept, taken_off) = heard_of(message, made).await;
            assert_eq!(heard, kept);
            assert!(heard.ends_with(reply.rsplit(['\n', ']']).next().unwrap()), "{heard}");
            assert_eq!(heard.len(), made("2020-11-15 08:07").len(), "{heard}");
            assert_eq!(taken_off, Value::Null);
        }
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
