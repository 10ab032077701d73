//! Turns that end without a reply, or not while their client waits: what it is told says whose
//! fault that is, and whether the same message is worth sending again.

use std::time::Duration;

use recto_fakes::{AnswerGate, FakeAnswer, FakeCall};
use reqwest::Response;
use serde_json::{Value, json};

use super::{endings, post, send, weather_tool};
use crate::support::TestServer;

const OPENAI: &str = "/v1/chat/completions";
const OLLAMA: &str = "/ollama/api/chat";

fn said(text: &str) -> Value {
    json!({"model": "main", "stream": false, "messages": [{"role": "user", "content": text}]})
}

/// Waits until the model's server has been held so many times.
async fn held(gate: &AnswerGate, times: usize) {
    let gate = gate.clone();
    tokio::task::spawn_blocking(move || gate.wait_for(times)).await.unwrap();
}

/// Sends a message whose reply is held after so many pieces, and ends the server meanwhile.
async fn ask_until_the_end(door: &str, is_stream: bool, pieces: usize) -> (TestServer, Response) {
    let (server, gate) = (TestServer::start().await, AnswerGate::new());
    server.fake.push(FakeAnswer::text("one two three").held(&gate));
    gate.release(pieces);
    let mut body = said("count");
    body["stream"] = is_stream.into();
    let ending = async {
        held(&gate, pieces + 1).await;
        // What was said is on its way.
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.end.notify_one();
    };
    let (response, ()) = tokio::join!(send(&server, door, &[], &body), ending);
    (server, response)
}

/// Promise: `doors-park-turns`
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_when_the_server_ends_is_told_that_the_turn_goes_on() {
    for (door, is_stream) in [(OPENAI, false), (OLLAMA, false), (OPENAI, true), (OLLAMA, true)] {
        let (_server, response) = ask_until_the_end(door, is_stream, 0).await;
        assert_eq!(response.status().as_u16(), 503, "{door}");
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-should-retry"), "false");
        let (turn, session) = (header("x-recto-turn"), header("x-recto-session"));
        let text = response.text().await.unwrap();
        let told = format!("turn {turn} goes on after the restart, in session {session}");
        assert!(text.contains(&told) && text.contains("another turn"), "{door}: {text}");
    }
    // Once something was said, it is an error in the stream.
    for door in [OPENAI, OLLAMA] {
        let (_server, response) = ask_until_the_end(door, true, 1).await;
        assert_eq!(response.status().as_u16(), 200, "{door}");
        let text = response.text().await.unwrap();
        assert!(text.contains("turn 1 goes on after the restart"), "{door}: {text}");
    }
}

/// Promise: `client-tools-handed-back`
#[tokio::test(flavor = "multi_thread")]
async fn the_same_results_at_once_are_answered_once_and_refused_once() {
    let (server, gate) = (TestServer::start().await, AnswerGate::new());
    server.fake.push(FakeAnswer::calls([FakeCall::new("weather", json!({"city": "Oslo"}))]));
    server.fake.push(FakeAnswer::text("Snow.").held(&gate));
    let mut body = said("How is it?");
    body["tools"] = weather_tool();
    let first = post(&server, OPENAI, &[], &body).await;
    let asked = first.body["choices"][0]["message"].clone();
    let call = asked["tool_calls"][0]["id"].clone();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(asked);
    messages.push(json!({"role": "tool", "tool_call_id": call, "content": "snow"}));
    let session = first.session.unwrap();
    let again = async {
        held(&gate, 1).await;
        post(&server, OPENAI, &[], &body).await
    };
    let opening = async {
        while endings(&server, session).await.len() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        gate.open();
    };
    let (goes_on, again, ()) = tokio::join!(post(&server, OPENAI, &[], &body), again, opening);
    assert_eq!(goes_on.status, 200, "{}", goes_on.body);
    let error = &again.body["error"];
    assert_eq!((again.status, &error["code"]), (409, &json!("answered_call")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("send each result once"), "{error}");
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_says_nothing_is_a_failure_of_the_model() {
    let server = TestServer::start().await;
    for door in [OPENAI, OLLAMA] {
        server.fake.push(FakeAnswer::text(" "));
        let reply = post(&server, door, &[], &said("hi")).await;
        assert_eq!(reply.status, 502, "{door}: {}", reply.body);
        assert!(reply.body.to_string().contains("choose another model"), "{}", reply.body);
    }
}
