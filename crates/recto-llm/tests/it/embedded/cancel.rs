//! Whoever no longer listens is no longer answered.

use std::time::Duration;

use recto_llm::LlmError;
use tokio::time::timeout;

use super::*;

/// Long enough for any machine to answer a short question.
const A_WHILE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a_reply_that_nobody_waits_for_ends() {
    let mut talk = Talk::new();
    talk.reply = 1_024;
    talk.window = 8_192;
    let body = talk.body("Write a very long story about the sea. Never stop.");
    let mut stream = talk.client.stream(body);
    while let Some(event) = stream.next().await {
        if matches!(event.unwrap(), StreamEvent::Text(_)) {
            break;
        }
    }
    drop(stream);
    talk.reply = 4;
    // The engine answers one at a time, so this waits for the end of the other.
    timeout(A_WHILE, talk.say("Hello!")).await.unwrap();
}

#[tokio::test]
async fn reading_ends_too() {
    let mut talk = Talk::new();
    talk.window = 8_192;
    talk.reply = 4;
    let long = "The sea is wide and deep, and ships sail on it. ".repeat(400);
    let mut stream = talk.client.stream(talk.body(&long));
    // Nothing is sent before the stream is read from.
    let begun = timeout(Duration::from_millis(1_500), stream.next()).await;
    assert!(begun.is_err(), "{begun:?}");
    drop(stream);
    let reply = timeout(A_WHILE, talk.say("Hello!")).await.unwrap();
    assert!(reply.usage.completion.unwrap() > 0);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_with_both_numbers() {
    let talk = Talk::new();
    let mut body: serde_json::Value = serde_json::from_str(&talk.body("Hello!")).unwrap();
    body["window"] = 16.into();
    let error = collect(talk.client.stream(body.to_string())).await.unwrap_err();
    let LlmError::ContextOverflow { sent: Some(sent), window: Some(16), .. } = error else {
        panic!("{error:?}");
    };
    assert!(sent > 16);
}
