//! `/v1`.

use std::time::Duration;

use recto_fakes::{AnswerGate, FakeAnswer, FakeCall};
use serde_json::{Value, json};

use super::{endings, last_sent, post, send, transcript, weather_tool};
use crate::support::TestServer;

const CHAT: &str = "/v1/chat/completions";

fn said(model: &str, text: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": text}]})
}

/// The data of a stream of events.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.split("\n\n").filter_map(|event| event.trim().strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}

/// Promise: `openai-door`
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_has_openais_form_and_the_clients_texts_their_places() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text("A blue one."));
    let body = json!({
        "model": "main",
        "messages": [
            {"role": "developer", "content": "You sell boats."},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": "Ahoy."},
            {"role": "user", "content": "A boat?"},
        ],
        "max_tokens": 33, "temperature": 0.5, "top_p": 0.9, "seed": 7, "made_up": {"x": 1},
    });
    let reply = post(&server, CHAT, &[], &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let choice = &reply.body["choices"][0];
    assert_eq!(choice["message"]["content"], "A blue one.");
    assert_eq!((&choice["finish_reason"], &choice["index"]), (&json!("stop"), &json!(0)));
    assert_eq!(
        (&reply.body["object"], &reply.body["model"]),
        (&json!("chat.completion"), &json!("main"))
    );
    let usage = &reply.body["usage"];
    let [prompt, completion, total] = ["prompt_tokens", "completion_tokens", "total_tokens"]
        .map(|name| usage[name].as_u64().unwrap());
    assert_eq!(prompt + completion, total);
    let sent = last_sent(&server);
    let roles: Vec<&str> = sent.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let (own, theirs) = ("You are a lighthouse keeper.", "You sell boats.");
    assert!(sent[0].1.find(own).unwrap() < sent[0].1.find(theirs).unwrap(), "{}", sent[0].1);
    let request = server.fake.chats().last().unwrap().clone();
    assert_eq!((&request["temperature"], &request["top_p"]), (&json!(0.5), &json!(0.9)));
    assert_eq!(server.fake.rejections(), [""; 0]);
}

/// Promise: `openai-door`
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_chunks_usage_where_asked_for_and_done() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text("All is well, ünïcode 🚢 too."));
    let mut body = said("recto", "hi");
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let response = send(&server, CHAT, &[], &body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = events(&response.text().await.unwrap());
    assert_eq!(events.last().unwrap(), "[DONE]");
    let chunks = &events[..events.len() - 1];
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let pieces = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    assert_eq!(pieces.collect::<String>(), "All is well, ünïcode 🚢 too.");
    let [.., finish, usage] = chunks else { panic!("{chunks:?}") };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let ids: Vec<&Value> = chunks.iter().map(|chunk| &chunk["id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

/// Promise: `client-tools-handed-back`
#[tokio::test(flavor = "multi_thread")]
async fn a_clients_calls_are_handed_out_and_its_results_go_on_with_the_turn() {
    let server = TestServer::start().await;
    let call = |city: &str| FakeCall::new("weather", json!({ "city": city }));
    server.fake.push(FakeAnswer::text("One moment.").calls([call("Oslo"), call("Rome")]));
    server.fake.push(FakeAnswer::text("Snow, and sun."));
    let mut body = said("main", "How is it?");
    body["tools"] = weather_tool();
    let first = post(&server, CHAT, &[], &body).await;
    let choice = &first.body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{}", first.body);
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1]["function"]["arguments"], r#"{"city":"Rome"}"#);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(choice["message"].clone());
    for (call, text) in calls.iter().zip(["snow", "sun"]) {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": text}));
    }
    let second = post(&server, CHAT, &[], &body).await;
    assert_eq!(
        second.body["choices"][0]["message"]["content"], "Snow, and sun.",
        "{}",
        second.body
    );
    assert_eq!(second.session, first.session);
    let session = first.session.unwrap();
    assert_eq!(endings(&server, session).await, ["Ended(HandedOut)", "Ended(Done)"]);
    assert_eq!(
        transcript(&server, session).await,
        ["How is it?", "One moment.[\"weather\", \"weather\"]", "snow", "sun", "Snow, and sun."]
    );
    // And the conversation goes on where it is.
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(second.body["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "Thanks."}));
    let third = post(&server, CHAT, &[], &body).await;
    assert_eq!(third.session, first.session);
    assert_eq!(transcript(&server, session).await.len(), 7);
    assert_eq!(server.fake.rejections(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_no_turn_waits_for_are_shown_to_the_model_all_the_same() {
    let server = TestServer::start().await;
    let call = json!({"id": "call_9", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let body = json!({"model": "main", "tools": weather_tool(), "messages": [
        {"role": "user", "content": "How is it?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_9", "content": "snow"},
    ]});
    for _ in 0..2 {
        let reply = post(&server, CHAT, &[], &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let sent = last_sent(&server);
        assert!(sent.contains(&("tool".into(), "snow".into())), "{sent:?}");
    }
    assert_eq!(server.fake.rejections(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_the_limit_of_tokens_are_told_in_streams() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::calls([FakeCall::new("weather", json!({"city": "Oslo"}))]));
    server.fake.push(FakeAnswer::text("It is a long").out_of_tokens());
    let mut body = said("main", "How is it?");
    body["stream"] = true.into();
    let plain = body.clone();
    body["tools"] = weather_tool();
    let chunks = events(&send(&server, CHAT, &[], &body).await.text().await.unwrap());
    let call = chunks.iter().find_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0));
    let call = call.unwrap();
    assert_eq!((&call["index"], &call["function"]["name"]), (&json!(0), &json!("weather")));
    let finish = |chunks: &[Value]| chunks[chunks.len() - 2]["choices"][0]["finish_reason"].clone();
    assert_eq!(finish(&chunks), "tool_calls");
    let chunks = events(&send(&server, CHAT, &[], &plain).await.text().await.unwrap());
    assert_eq!(finish(&chunks), "length");
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_refused_by_name_and_in_openais_form() {
    let server = TestServer::start().await;
    let with = |name: &str, value: Value| {
        let mut body = said("main", "hi");
        body[name] = value;
        body
    };
    let url = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]}]);
    let refused = [
        (with("model", json!("gpt-9")), 404, "`gpt-9` does not exist"),
        (with("n", json!(2)), 400, "`n` above 1"),
        (with("functions", json!([{"name": "f"}])), 400, "`tools`"),
        (with("temperature", json!(3)), 400, "`temperature` is between 0 and 2"),
        (with("context_mode", json!("huge")), 400, "`full`, `minimal` or `auto`"),
        (with("messages", json!([])), 400, "no message to answer"),
        (with("messages", json!([{"role": "assistant", "content": "x"}])), 400, "the model's"),
        (with("messages", json!([{"role": "robot", "content": "x"}])), 400, "no role"),
        (
            with("messages", json!([{"role": "tool", "tool_call_id": "1", "content": "x"}])),
            400,
            "call",
        ),
        (with("messages", url), 400, "data URL"),
        (with("messages", json!("x")), 400, "can't be read"),
        (with("messages", json!([{"role": "user", "content": " "}])), 400, "empty"),
    ];
    for (body, status, words) in refused {
        let reply = post(&server, CHAT, &[], &body).await;
        let error = &reply.body["error"];
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error.get("param").is_some() && error["code"].is_string(), "{error}");
    }
    assert_eq!(server.fake.chats().len(), 0);
    // What means nothing else is taken as it is meant.
    let body = with("stop", Value::Null);
    assert_eq!(post(&server, CHAT, &[], &body).await.status, 200);
    let body = with("response_format", json!({"type": "text"}));
    assert_eq!(post(&server, CHAT, &[], &body).await.status, 200);
    let (status, body) = server.get("/v1/made_up").await;
    assert_eq!((status, body["error"]["code"].as_str()), (404, Some("not_found")));
    // What newer clients ask for first says what to use instead.
    let (status, body) = server.post("/v1/responses", &json!({})).await;
    let message = body["error"]["message"].as_str().unwrap();
    assert!(status == 404 && message.contains("/v1/chat/completions"), "{body}");
    assert!(message.contains("there is no `/v1/responses` here"), "{body}");
}

/// Promise: `doors-tell-failures`
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_fails_is_a_status_or_an_error_in_the_stream() {
    let server = TestServer::start().await;
    let refusal = || FakeAnswer::refusal(400, r#"{"error": {"message": "boom"}}"#);
    server.fake.push(refusal());
    let response = send(&server, CHAT, &[], &said("main", "hi")).await;
    assert_eq!(response.status().as_u16(), 502);
    assert_eq!(response.headers()["x-should-retry"], "false");
    let mut body = said("main", "hi");
    body["stream"] = true.into();
    server.fake.push(refusal());
    let reply = post(&server, CHAT, &[], &body).await;
    assert_eq!(reply.status, 502, "{}", reply.body);
    assert!(reply.body["error"]["message"].as_str().unwrap().contains("boom"));
    server.fake.push(FakeAnswer::text("one two three").error_after(2, "boom"));
    let response = send(&server, CHAT, &[], &body).await;
    assert_eq!(response.status().as_u16(), 200);
    let events = events(&response.text().await.unwrap());
    let error = &events.last().unwrap()["error"];
    assert_eq!(error["type"], "server_error", "{events:?}");
}

/// Promise: `doors-tell-failures`
#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_to_repeat_no_turn_and_which_one_it_was() {
    let server = TestServer::start().await;
    let mut turns = Vec::new();
    for (status, stream) in [(503, false), (503, true), (429, false), (429, true)] {
        // The engine itself tries three times more.
        for _ in 0..4 {
            let refusal = FakeAnswer::refusal(status, r#"{"error": {"message": "not now"}}"#);
            server.fake.push(refusal.header("retry-after", "0"));
        }
        let mut body = said("main", "hi");
        body["stream"] = stream.into();
        let response = send(&server, CHAT, &[], &body).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!((response.status().as_u16(), &*header("x-should-retry")), (status, "false"));
        assert!(!header("x-recto-session").is_empty());
        turns.push(header("x-recto-turn"));
        let waits = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap());
        assert_eq!(waits, (status == 429).then_some("1"), "{status}");
    }
    assert_eq!(turns, ["1", "2", "3", "4"]);
    // Before there is a turn, the same may go well a moment later. The turn of another client holds
    // the server there, so that it can still refuse.
    let gate = AnswerGate::new();
    server.fake.push(FakeAnswer::text("one two").held(&gate));
    let path = format!("/api/sessions/{}/messages", server.own_session().await);
    assert_eq!(server.post(&path, &json!({"text": "hello"})).await.0, 202);
    server.end.notify_one();
    while server.request("GET", "/readyz").send().await.unwrap().status() == 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let refused = send(&server, CHAT, &[], &said("main", "hi")).await;
    assert_eq!(refused.status().as_u16(), 503);
    assert!(!refused.headers().contains_key("x-should-retry"));
}

/// Promise: `client-gone-turn-stopped`
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_stops_its_turn() {
    let server = TestServer::start().await;
    for is_stream in [true, false] {
        let gate = AnswerGate::new();
        server.fake.push(FakeAnswer::text("one two three").held(&gate));
        let mut body = said("main", "count");
        body["stream"] = is_stream.into();
        let request = server.request("POST", CHAT).header("content-type", "application/json");
        let sending = tokio::spawn(request.body(body.to_string()).send());
        gate.release(1);
        let waiting = gate.clone();
        tokio::task::spawn_blocking(move || waiting.wait_for(2)).await.unwrap();
        if is_stream {
            let mut response = sending.await.unwrap().unwrap();
            assert!(response.chunk().await.unwrap().is_some());
            drop(response);
        } else {
            sending.abort();
        }
        server.agent.finished().await;
        let turn = server.agent.store().last_turn(None).await.unwrap().unwrap();
        assert_eq!(format!("{:?}", turn.status), "Ended(Stopped)", "stream: {is_stream}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_choose_whether_its_tools_are_called() {
    let server = TestServer::start().await;
    let named = json!({"type": "function", "function": {"name": "weather"}});
    for (choice, sent) in [
        (json!("auto"), None),
        (json!("required"), Some(json!("required"))),
        // Not every model's server takes a name; all know the word.
        (named, Some(json!("required"))),
    ] {
        server.fake.push(FakeAnswer::calls([FakeCall::new("weather", json!({"city": "Oslo"}))]));
        let mut body = said("main", "How is it?");
        body["tools"] = weather_tool();
        body["tool_choice"] = choice;
        let reply = post(&server, CHAT, &[], &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(server.fake.chats().last().unwrap().get("tool_choice"), sent.as_ref());
    }
    let mut body = said("main", "How is it?");
    body["tools"] = weather_tool();
    body["tool_choice"] = "none".into();
    assert_eq!(post(&server, CHAT, &[], &body).await.status, 200);
    assert_eq!(server.fake.chats().last().unwrap().get("tools"), None);
    body["tool_choice"] = json!({"type": "function", "function": {"name": "other"}});
    assert_eq!(post(&server, CHAT, &[], &body).await.status, 400);
}

/// Who is not let in hears of it in the vendor's form, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_none_on_this_machine_unless_it_claims_to_be_a_token() {
    let server = TestServer::start().await;
    let key = |key: &str| format!("Bearer {key}");
    let body = said("main", "hi");
    let placeholder = post(&server, CHAT, &[("authorization", &key("none"))], &body).await;
    assert_eq!(placeholder.status, 200, "{}", placeholder.body);
    let wrong = key("recto_wrong");
    let refused = post(&server, CHAT, &[("authorization", &wrong)], &body).await;
    let error = &refused.body["error"];
    assert_eq!((refused.status, &error["type"]), (401, &json!("authentication_error")), "{error}");
    let refused = post(&server, "/ollama/api/chat", &[("authorization", &wrong)], &body).await;
    assert!(refused.status == 401 && refused.body["error"].is_string(), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_agents_their_entries_and_the_encoder() {
    let server = TestServer::start().await;
    let (status, list) = server.get("/v1/models").await;
    let ids: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!((status, ids), (200, vec!["recto", "main", "main/fake", "all-minilm"]));
    for name in ["recto", "main", "main/fake", "recto/fake", "all-MiniLM-L6-v2"] {
        let (status, model) = server.get(&format!("/v1/models/{name}")).await;
        assert_eq!((status, model["id"].as_str()), (200, Some(name)), "{model}");
    }
    let (status, error) = server.get("/v1/models/main/other").await;
    assert_eq!((status, error["error"]["param"].as_str()), (404, Some("model")));
    let reply = post(&server, CHAT, &[], &said("main/fake", "hi")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn embeddings_without_an_encoder_say_what_to_do() {
    let server = TestServer::start().await;
    let ask = async |body: Value| post(&server, "/v1/embeddings", &[], &body).await;
    let reply = ask(json!({"model": "all-minilm", "input": "a"})).await;
    assert_eq!((reply.status, reply.body["error"]["type"].as_str()), (503, Some("server_error")));
    let message = reply.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("PullEncoder"), "{message}");
    let tokens = ask(json!({"model": "all-minilm", "input": [1, 2]})).await;
    assert_eq!(tokens.status, 400, "{}", tokens.body);
    let other = ask(json!({"model": "main", "input": "a"})).await;
    assert_eq!(other.status, 404, "{}", other.body);
}
