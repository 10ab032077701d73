//! The front doors: `openai` and `ollama` from `PyPI`, and `curl`.

use std::time::{Duration, Instant};

use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::{Store, StoreOptions, TurnEnding, TurnStatus};
use serde_json::{Value, json};

use super::{ServeProcess, curl, run_python};
use crate::servers::{ServedHome, Wire};
use crate::support::{Home, json as parse, with_encoder};

/// What both clients' scripts are played: a reply whole, one in pieces, a call and what follows
/// it, one in a form, a failure, and a reply that nobody waits for.
fn fake() -> recto_fakes::FakeBuilder {
    let boom = r#"{"error": {"message": "boom", "type": "invalid_request_error"}}"#;
    FakeServer::openai()
        .answer(FakeAnswer::text("Ahoy, ünïcode 🚢."))
        .answer(FakeAnswer::text("one two three"))
        .answer(FakeAnswer::calls([
            FakeCall::new("weather", json!({"city": "Oslo"})),
            FakeCall::new("weather", json!({"city": "Rome"})),
        ]))
        .answer(FakeAnswer::text("Snow, and sun."))
        .answer(FakeAnswer::text(r#"{"name": "Ann", "age": 3}"#))
        .answer(FakeAnswer::refusal(400, boom))
        .answer(FakeAnswer::text("word ".repeat(2_000)).delay(Duration::from_millis(20)))
}

/// How the last turn stands, once it is over.
fn last_ending(home: &Home) -> TurnStatus {
    let store = Store::open(&StoreOptions::new(home.path("data/recto.db"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    loop {
        let turn = runtime.block_on(store.last_turn(None)).unwrap().unwrap();
        if matches!(turn.status, TurnStatus::Ended(_)) || began.elapsed().as_secs() > 20 {
            return turn.status;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Promise: `openai-door`
#[test]
fn openais_own_client_works_unchanged() {
    let served = ServedHome::new(Wire::OpenAi, fake());
    with_encoder(&served.home);
    let server = ServeProcess::start(&served.home);
    let script = include_str!("openai_client.py");
    assert_eq!(run_python(script, &[&format!("{}v1", server.url)]), "done\n");
    assert_eq!(last_ending(&served.home), TurnStatus::Ended(TurnEnding::Stopped));
    assert_eq!(served.fake.rejections(), [""; 0]);
    server.end();
}

/// Promise: `ollama-door`
#[test]
fn ollamas_own_client_works_unchanged() {
    let served = ServedHome::new(Wire::OpenAi, fake());
    with_encoder(&served.home);
    let server = ServeProcess::start(&served.home);
    let script = include_str!("ollama_client.py");
    assert_eq!(run_python(script, &[&format!("{}ollama", server.url)]), "done\n");
    assert_eq!(last_ending(&served.home), TurnStatus::Ended(TurnEnding::Stopped));
    assert_eq!(served.fake.rejections(), [""; 0]);
    server.end();
}

fn post(url: &str, body: &Value) -> (String, Value) {
    let body = body.to_string();
    let text = curl(&["--include", "--json", &body, url]);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let session = head.lines().find_map(|line| line.strip_prefix("x-recto-session: "));
    (session.unwrap_or_default().trim().to_owned(), parse(body))
}

/// What was noted of conversations is gone with the process; their sessions are not.
///
/// Promise: `conversations-chain`
#[test]
fn a_conversation_goes_on_in_its_session_after_a_restart() {
    let call = r#"{"tool_calls":[{"name":"weather","arguments":{"city":"Oslo"}}]}"#;
    let home = Home::scripted(&[r#"{"content":"Ahoy."}"#, call]);
    let tools = json!([{"type": "function", "function": {"name": "weather"}}]);
    let mut body =
        json!({"model": "main", "tools": tools, "messages": [{"role": "user", "content": "hi"}]});
    let server = ServeProcess::start(&home);
    let (first, reply) = post(&format!("{}v1/chat/completions", server.url), &body);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(reply["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "How is it?"}));
    server.end();
    let server = ServeProcess::start(&home);
    let url = format!("{}v1/chat/completions", server.url);
    // Each process plays its script from the beginning.
    let (second, reply) = post(&url, &body);
    assert_eq!(
        (reply["choices"][0]["message"]["content"].as_str(), &second),
        (Some("Ahoy."), &first)
    );
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(reply["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "Well?"}));
    let (_, reply) = post(&url, &body);
    let asked = reply["choices"][0]["message"].clone();
    assert_eq!(asked["tool_calls"][0]["function"]["name"], "weather", "{reply}");
    server.end();
    // Results find the turn that waits for them, too.
    let server = ServeProcess::start(&home);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(asked.clone());
    messages.push(
        json!({"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "snow"}),
    );
    let (last, reply) = post(&format!("{}v1/chat/completions", server.url), &body);
    assert_eq!(
        (reply["choices"][0]["message"]["content"].as_str(), &last),
        (Some("Ahoy."), &first)
    );
    let shown = home.json(&["sessions", "show", &first, "--json"]);
    let texts: Vec<&str> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(texts, ["hi", "Ahoy.", "How is it?", "Ahoy.", "Well?", "", "snow", "Ahoy."]);
    server.end();
}

/// Nobody can be asked in the client, so it waits for an answer from elsewhere.
///
/// Promise: `doors-wait-for-approval`
#[test]
fn a_tool_that_needs_a_word_waits_for_one_from_the_terminal() {
    let call =
        r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;
    let home = Home::scripted(&[call, r#"{"content":"Written."}"#]);
    let server = ServeProcess::start(&home);
    let url = format!("{}v1/chat/completions", server.url);
    let body = json!({"model": "main", "messages": [{"role": "user", "content": "write it"}]});
    let waiting = std::thread::spawn(move || post(&url, &body).1);
    let began = Instant::now();
    while home.ok(&["approvals", "list"]).is_empty() {
        assert!(began.elapsed().as_secs() < 20, "nobody was asked");
    }
    assert!(!waiting.is_finished());
    home.ok(&["approvals", "answer", "1", "allow"]);
    let reply = waiting.join().unwrap();
    assert_eq!(reply["choices"][0]["message"]["content"], "Written.", "{reply}");
    assert!(home.path("workspace/a.txt").exists());
    server.end();
}

#[test]
fn curl_gets_what_the_documentation_shows() {
    let home = Home::scripted(&[]);
    let server = ServeProcess::start(&home);
    let url = |path: &str| format!("{}{path}", server.url);
    assert_eq!(curl(&[&url("ollama/")]), "Ollama is running");
    let said =
        r#"{"model": "main", "messages": [{"role": "user", "content": "hi"}], "stream": true}"#;
    let stream = curl(&["--json", said, &url("v1/chat/completions")]);
    assert!(stream.contains("You said: ") && stream.ends_with("data: [DONE]\n\n"), "{stream}");
    // Ollama's documentation shows calls that don't say they are JSON.
    let lines = curl(&["--data", said, &url("ollama/api/chat")]);
    let last = parse(lines.lines().last().unwrap());
    assert_eq!(last["done_reason"], "stop", "{lines}");
    server.end();
}

/// A client that has waited long enough is told of the question, and its turn goes on without it.
///
/// Promise: `doors-park-turns`
#[test]
fn a_reply_names_the_question_and_how_it_is_answered_in_the_terminal() {
    let call =
        r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;
    let home = Home::scripted(&[call, r#"{"content":"Written."}"#]);
    let server = ServeProcess::start_with(&home, &[("RECTO_TOOLS_APPROVAL_WAIT", "1")]);
    let body = json!({"model": "main", "messages": [{"role": "user", "content": "write it"}]});
    let (session, reply) = post(&format!("{}v1/chat/completions", server.url), &body);
    let notice = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(notice.contains("`recto approvals answer 1 allow`"), "{notice}");
    assert!(notice.contains(&format!("{}sessions/{session}", server.url)), "{notice}");
    // As it says.
    home.ok(&["approvals", "answer", "1", "allow"]);
    assert_eq!(last_ending(&home), TurnStatus::Ended(TurnEnding::Done));
    assert!(home.path("workspace/a.txt").exists());
    server.end();
}
