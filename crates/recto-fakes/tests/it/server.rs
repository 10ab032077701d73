//! What all fakes have in common: the log, the key, the thread.

use std::io::Read;
use std::net::TcpStream;

use recto_fakes::{AnswerEnding, AnswerGate, FakeAnswer, FakeServer, ReceivedRequest};
use serde_json::json;

use crate::support::{NextChunk, get, post, send, write};

fn hello() -> serde_json::Value {
    json!({ "model": "fake", "messages": [{ "role": "user", "content": "hello there" }] })
}

#[test]
fn every_request_is_kept() {
    let fake = FakeServer::ollama().start();
    post(&fake, "/api/chat", &hello()).body();
    send(&fake, "POST", "/api/chat?x=1", "X-Custom: Some Value\r\n", b"{not json").body();

    let log = fake.log();
    assert_eq!(log.len(), 2);
    let first = &log[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/api/chat"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.body, hello().to_string().as_bytes());
    assert_eq!(first.json, Some(hello()));
    assert_eq!((first.status, &first.rejected), (Some(200), &None));
    assert_eq!(first.ending, AnswerEnding::Sent);

    let second = &log[1];
    assert_eq!(second.path, "/api/chat");
    assert_eq!(second.header("x-custom"), Some("Some Value"));
    assert_eq!((second.body.as_slice(), &second.json), (b"{not json".as_slice(), &None));
    assert_eq!(second.status, Some(400));
    assert!(second.rejected.as_ref().unwrap().contains("invalid JSON"));

    assert_eq!(fake.chats(), [hello()]);
    assert_eq!(fake.rejections().len(), 1);
}

#[test]
fn chats_take_answers_in_order_and_then_hear_themselves() {
    let fake = FakeServer::openai().answer(FakeAnswer::text("one")).start();
    fake.push(FakeAnswer::text("two"));
    let said = || post(&fake, "/v1/chat/completions", &hello()).body();
    assert!(said().contains("\"content\":\"one\""));
    assert!(said().contains("\"content\":\"two\""));
    assert!(said().contains("\"content\":\"You said: hello there\""));
}

#[test]
fn a_rejected_chat_takes_no_answer() {
    let fake = FakeServer::openai().answer(FakeAnswer::text("one")).start();
    assert_eq!(post(&fake, "/v1/chat/completions", &json!({})).status, 400);
    assert!(post(&fake, "/v1/chat/completions", &hello()).body().contains("one"));
}

#[test]
fn a_key_is_asked_for() {
    for (fake, path) in [(FakeServer::ollama(), "/api/tags"), (FakeServer::openai(), "/v1/models")]
    {
        let fake = fake.api_key("secret").start();
        let status = |headers: &str| send(&fake, "GET", path, headers, b"").status;
        assert_eq!(status(""), 401);
        assert_eq!(status("authorization: Bearer other\r\n"), 401);
        assert_eq!(status("authorization: Bearer secret\r\n"), 200);
        assert_eq!(fake.rejections().len(), 2);
    }
}

#[test]
fn a_wrong_key_is_told_from_a_missing_one() {
    let fake = FakeServer::openai().api_key("secret").start();
    let body = |headers: &str| send(&fake, "GET", "/v1/models", headers, b"").body();
    assert!(body("").contains("\"code\":null"));
    assert!(body("authorization: Bearer other\r\n").contains("\"code\":\"invalid_api_key\""));
}

#[test]
fn unknown_places_and_methods_are_rejected() {
    let ollama = FakeServer::ollama().start();
    assert_eq!(get(&ollama, "/v1/models").0, 404);
    assert_eq!(get(&ollama, "/api/chat").0, 405);
    let openai = FakeServer::openai().start();
    assert_eq!(get(&openai, "/api/tags").0, 404);
    assert_eq!(get(&openai, "/props").0, 404);
    assert_eq!(get(&openai, "/v1/chat/completions").0, 405);
    assert_eq!(openai.rejections().len(), 3);
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let gate = AnswerGate::new();
    let fake = FakeServer::ollama()
        .answer(FakeAnswer::text("one two").held(&gate))
        .answer(FakeAnswer::Silence)
        .start();
    let mut answering = post(&fake, "/api/chat", &hello());
    gate.release(1);
    assert!(matches!(answering.next(), NextChunk::Piece(_)));
    drop(answering);
    let left = |number: usize| {
        move |log: &[ReceivedRequest]| {
            log.len() > number && log[number].ending == AnswerEnding::ClientLeft
        }
    };
    let log = fake.wait_until(left(0));
    assert_eq!(log[0].status, Some(200));

    let waiting = write(&fake, "POST", "/api/chat", "", hello().to_string().as_bytes());
    let log = fake.wait_until(|log| log.len() == 2);
    assert_eq!((log[1].status, log[1].ending), (None, AnswerEnding::Open));
    drop(waiting);
    fake.wait_until(left(1));
}

#[test]
fn dropping_the_fake_ends_everything() {
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let address = fake.address();
    let body = hello().to_string();
    let headers = "content-type: application/json\r\n";
    let mut waiting = write(&fake, "POST", "/v1/chat/completions", headers, body.as_bytes());
    fake.wait_until(|log| log.len() == 1);
    drop(fake);
    let mut rest = Vec::new();
    let read = waiting.read_to_end(&mut rest);
    assert!(read.is_err() || rest.is_empty(), "nothing was ever answered");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn fakes_live_side_by_side_and_answer_many_at_once() {
    let gate = AnswerGate::new();
    let slow = FakeServer::ollama().answer(FakeAnswer::text("late").held(&gate)).start();
    let other = FakeServer::ollama().start();
    let mut held = post(&slow, "/api/chat", &hello());
    gate.wait_for(1);
    // Neither another chat nor another fake waits for the one that is held.
    assert!(post(&slow, "/api/chat", &hello()).body().contains("You "));
    assert!(post(&other, "/api/chat", &hello()).body().contains("You "));
    assert_eq!(other.log().len(), 1);
    gate.open();
    assert!(held.body().contains("late"));
}
