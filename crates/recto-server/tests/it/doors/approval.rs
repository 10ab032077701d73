//! Tools that need a person's word, in clients in which nobody can be asked.

use std::time::Duration;

use recto_fakes::{FakeAnswer, FakeCall};
use recto_store::SessionId;
use serde_json::{Value, json};

use super::{endings, last_sent, post, send, transcript};
use crate::support::TestServer;

const OPENAI: &str = "/v1/chat/completions";
const OLLAMA: &str = "/ollama/api/chat";

fn ask_to_write(server: &TestServer) {
    let arguments = json!({"path": "a.txt", "content": "x"});
    server.fake.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
}

fn messages(texts: &[&str]) -> Value {
    let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |(index, text): (usize, &&str)| json!({"role": role(index), "content": text});
    texts.iter().enumerate().map(message).collect()
}

fn said(texts: &[&str]) -> Value {
    json!({"model": "main", "messages": messages(texts), "stream": false})
}

/// What a reply of either door says.
fn reply_text(body: &Value) -> String {
    let text = body["choices"][0]["message"]["content"].as_str();
    text.or(body["message"]["content"].as_str()).unwrap_or_else(|| panic!("{body}")).to_owned()
}

async fn answer(server: &TestServer, approval: i64, answer: &str) {
    let path = format!("/api/approvals/{approval}");
    let (status, told) = server.post(&path, &json!({ "answer": answer })).await;
    assert_eq!(status, 200, "{told}");
}

/// Waits until a question is asked.
async fn wait_for_question(server: &TestServer) -> i64 {
    loop {
        let (_, listed) = server.get("/api/approvals").await;
        if let Some(approval) = listed["approvals"][0]["id"].as_i64() {
            return approval;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until all turns of a session are over, and says how they ended.
async fn wait_for_ends(server: &TestServer, session: SessionId) -> Vec<String> {
    loop {
        let endings = endings(server, session).await;
        if endings.iter().all(|ending| ending.starts_with("Ended")) {
            return endings;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Promise: `doors-park-turns`
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_names_the_question_and_the_turn_goes_on_when_it_is_answered() {
    for door in [OPENAI, OLLAMA] {
        let server = TestServer::start_with_files(Duration::from_millis(300)).await;
        ask_to_write(&server);
        let first = post(&server, door, &[], &said(&["write it"])).await;
        let notice = reply_text(&first.body);
        let session = first.session.unwrap();
        let words = [
            "Recto waits for a person's word in turn 1: approval 1, write_file: ",
            "a.txt",
            "AnswerApproval { approval: 1 }",
            &format!("http://{}/sessions/{session}", server.address),
        ];
        assert!(words.iter().all(|words| notice.contains(words)), "{door}: {notice}");
        // The next message waits behind it, and is answered all the same.
        let second = post(&server, door, &[], &said(&["write it", &notice, "and?"])).await;
        let behind = reply_text(&second.body);
        assert_eq!(second.session, first.session, "{behind}");
        assert!(behind.contains("in turn 2: approval 1 of turn 1, write_file"), "{behind}");
        assert_eq!(endings(&server, session).await, ["Running", "Queued"]);
        server.fake.push(FakeAnswer::text("Written."));
        server.fake.push(FakeAnswer::text("All is well."));
        answer(&server, 1, "once").await;
        assert_eq!(wait_for_ends(&server, session).await, ["Ended(Done)", "Ended(Done)"]);
        // What the client took for replies are the real ones now.
        server.fake.push(FakeAnswer::text("Aye."));
        let list = ["write it", &notice, "and?", &behind, "good"];
        let third = post(&server, door, &[], &said(&list)).await;
        assert_eq!((third.session, reply_text(&third.body).as_str()), (first.session, "Aye."));
        let sent = last_sent(&server);
        let roles: Vec<&str> = sent.iter().map(|(role, _)| role.as_str()).collect();
        let expected = ["system", "user", "assistant", "tool", "assistant", "user", "assistant"];
        assert_eq!(roles[..7], expected, "{sent:?}");
        assert!(!sent.iter().any(|(_, text)| text.contains("person's word")), "{sent:?}");
        assert_eq!(sent[6].1, "All is well.");
        assert!(transcript(&server, session).await.contains(&"Written.".to_owned()));
        assert_eq!(server.fake.rejections(), [""; 0]);
    }
}

/// Promise: `doors-park-turns`
#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_the_notice_too() {
    for (door, end) in [(OPENAI, "data: [DONE]"), (OLLAMA, "\"done_reason\":\"stop\"")] {
        let server = TestServer::start_with_files(Duration::ZERO).await;
        ask_to_write(&server);
        let mut body = said(&["write it"]);
        body["stream"] = true.into();
        let stream = send(&server, door, &[], &body).await.text().await.unwrap();
        assert!(stream.contains("approval 1, write_file"), "{stream}");
        assert!(stream.contains(end), "{stream}");
        let turn = server.store.last_turn(None).await.unwrap().unwrap();
        assert_eq!(format!("{:?}", turn.status), "Running");
    }
}

/// Promise: `doors-park-turns`
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_time_is_all_that_the_client_waits_for() {
    let server = TestServer::start_with_files(Duration::from_secs(60)).await;
    for (number, word) in [(1, "once"), (2, "deny")] {
        ask_to_write(&server);
        server.fake.push(FakeAnswer::text("So be it."));
        let body = said(&["write it"]);
        let asking = post(&server, OPENAI, &[], &body);
        let answering = async {
            let approval = wait_for_question(&server).await;
            assert_eq!(approval, number);
            answer(&server, approval, word).await;
        };
        let (reply, ()) = tokio::join!(asking, answering);
        assert_eq!(reply_text(&reply.body), "So be it.");
    }
}

/// Promise: `doors-park-turns`
#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_the_client_that_brought_it_about() {
    let server = TestServer::start_with_files(Duration::from_secs(60)).await;
    for is_stream in [true, false] {
        ask_to_write(&server);
        let mut body = said(&["write it"]);
        body["stream"] = is_stream.into();
        let request = server.request("POST", OPENAI).header("content-type", "application/json");
        let sending = tokio::spawn(request.body(body.to_string()).send());
        let approval = wait_for_question(&server).await;
        sending.abort();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(wait_for_question(&server).await, approval);
        server.fake.push(FakeAnswer::text("Written."));
        answer(&server, approval, "once").await;
        let turn = server.store.last_turn(None).await.unwrap().unwrap();
        assert_eq!(wait_for_ends(&server, turn.session).await, ["Ended(Done)"]);
    }
}

/// Words of Recto's own would be no JSON.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_in_a_form_is_an_error_while_its_turn_waits() {
    let server = TestServer::start_with_files(Duration::ZERO).await;
    ask_to_write(&server);
    let mut body = said(&["write it"]);
    body["response_format"] = json!({"type": "json_object"});
    let reply = post(&server, OPENAI, &[], &body).await;
    let error = &reply.body["error"];
    assert_eq!((reply.status, error["code"].as_str()), (409, Some("approval_pending")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("approval 1, write_file"), "{error}");
    let turn = server.store.last_turn(None).await.unwrap().unwrap();
    assert_eq!(format!("{:?}", turn.status), "Running");
}
