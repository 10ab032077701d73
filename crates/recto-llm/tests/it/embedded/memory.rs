//! What was read once is not read again.

use recto_context::{ContentPart, OpaqueKind};

use super::*;

#[tokio::test]
async fn a_conversation_is_read_once() {
    let mut talk = Talk::new();
    let first = talk.say("My name is Ada. What is yours?").await;
    let read = first.usage.prompt.unwrap() + first.usage.completion.unwrap();
    let second = talk.say("And what is my name?").await;
    // All of the first prompt and of the reply as it was generated, but for its
    // last token, which was never read.
    assert!(second.usage.cached.unwrap() + 1 >= read, "{:?} {:?}", first.usage, second.usage);
    let third = talk.say("Thank you.").await;
    let fresh = third.usage.prompt.unwrap() - third.usage.cached.unwrap();
    assert!(fresh < 30, "{:?}", third.usage);
}

#[tokio::test]
async fn two_conversations_keep_what_each_has_read() {
    let mut one = Talk::new();
    let mut other = one.beside(2);
    one.say("Name a bird.").await;
    let begun = other.say("Name a fish.").await;
    // They begin alike, and that is shared.
    assert!(begun.usage.cached.unwrap() > 10, "{:?}", begun.usage);
    for turn in ["Another one.", "And one more."] {
        for talk in [&mut one, &mut other] {
            let usage = talk.say(turn).await.usage;
            assert!(usage.prompt.unwrap() - usage.cached.unwrap() < 30, "{usage:?}");
        }
    }
}

/// What a model makes of a prompt depends in the last digits on how it was read,
/// so two replies may part at some time; but not at once.
fn first_tokens(reply: &ModelReply) -> Vec<i64> {
    let echo = reply.content.iter().find_map(|part| match part {
        ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo => Some(&opaque.json),
        _ => None,
    });
    let echo: serde_json::Value = serde_json::from_str(echo.unwrap()).unwrap();
    let tokens = echo["tokens"].as_array().unwrap().iter();
    tokens.take(4).map(|token| token.as_i64().unwrap()).collect()
}

#[tokio::test]
async fn what_is_remembered_changes_no_word() {
    let questions = [
        "What is the capital of Italy?",
        "Count from one to five.",
        "What is two plus two?",
        "Repeat after me: hello, world.",
    ];
    let shared = Talk::new();
    for (lane, question) in (10..).zip(questions) {
        let mut warm = shared.beside(lane);
        warm.say("Hello!").await;
        let body = warm.body(question);
        let remembered = collect(warm.client.stream_cached(warm.lane, body.clone())).await.unwrap();
        assert!(remembered.usage.cached.unwrap() > 0);
        let fresh = collect(Talk::new().client.stream(body)).await.unwrap();
        assert_eq!(fresh.usage.cached, Some(0));
        assert_eq!(first_tokens(&remembered), first_tokens(&fresh), "{question}");
    }
}

#[tokio::test]
async fn many_conversations_push_out_the_oldest_and_none_fails() {
    let mut talk = Talk::new();
    talk.reply = 2;
    talk.window = 512;
    for lane in 0..20 {
        let reply = talk.beside(lane).say(&format!("Say the number {lane}.")).await;
        assert!(reply.usage.completion.unwrap() > 0);
    }
}

#[tokio::test]
async fn a_larger_window_is_opened_when_one_is_asked_for() {
    let mut talk = Talk::new();
    talk.window = 512;
    talk.say("Hello!").await;
    talk.window = 1_024;
    assert_eq!(talk.say("Are you there?").await.usage.cached, Some(0));
    assert!(talk.say("Good.").await.usage.cached.unwrap() > 0);
}
