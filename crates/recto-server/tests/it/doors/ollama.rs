//! `/ollama`.

use recto_fakes::{FakeAnswer, FakeCall};
use serde_json::{Value, json};

use super::{endings, last_sent, post, send, transcript, weather_tool};
use crate::support::TestServer;

const CHAT: &str = "/ollama/api/chat";

fn lines(body: &str) -> Vec<Value> {
    body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn said(text: &str) -> Value {
    json!({"model": "main:latest", "messages": [{"role": "user", "content": text}]})
}

/// Promise: `ollama-door`
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_streams_as_lines_unless_the_client_says_otherwise() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::thinking("hm hm").text("All is wéll."));
    let response = send(&server, CHAT, &[], &said("hi")).await;
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    assert!(response.headers().contains_key("x-recto-turn"));
    let lines = lines(&response.text().await.unwrap());
    let (last, pieces) = lines.split_last().unwrap();
    let join = |name: &str| -> String {
        pieces.iter().filter_map(|line| line["message"][name].as_str()).collect()
    };
    assert_eq!((join("content").as_str(), join("thinking").as_str()), ("All is wéll.", "hm hm"));
    assert!(pieces.iter().all(|line| line["done"] == false));
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("stop")));
    let counts = ["total_duration", "prompt_eval_count", "eval_count"];
    assert!(counts.iter().all(|name| last[*name].as_u64().unwrap() > 0), "{last}");
    assert!(last.get("load_duration").is_none());
    let mut body = said("hi");
    body["stream"] = false.into();
    body["keep_alive"] = "5m".into();
    body["options"] =
        json!({"temperature": 0.25, "num_predict": 77, "num_ctx": 4096, "mirostat": 1});
    server.fake.push(FakeAnswer::text("Ahoy."));
    let reply = post(&server, CHAT, &[], &body).await;
    assert_eq!(reply.body["message"], json!({"role": "assistant", "content": "Ahoy."}));
    assert_eq!(server.fake.chats().last().unwrap()["temperature"], 0.25);
}

/// Ollama's own client sends back calls without ids, and results with the tool's name alone.
///
/// Promise: `client-tools-handed-back`
#[tokio::test(flavor = "multi_thread")]
async fn calls_without_ids_find_their_turn_and_are_stored_once() {
    let server = TestServer::start().await;
    let call = |city: &str| FakeCall::new("weather", json!({ "city": city }));
    server.fake.push(FakeAnswer::calls([call("Oslo"), call("Rome")]));
    server.fake.push(FakeAnswer::text("Snow, and sun."));
    server.fake.push(FakeAnswer::text("Gladly."));
    let mut body = said("How is it?");
    body["stream"] = false.into();
    body["tools"] = weather_tool();
    let first = post(&server, CHAT, &[], &body).await;
    let mut message = first.body["message"].clone();
    let calls = message["tool_calls"].as_array_mut().unwrap();
    assert_eq!(calls[0]["function"]["arguments"], json!({"city": "Oslo"}), "{}", first.body);
    for call in calls {
        call.as_object_mut().unwrap().remove("id");
    }
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(message);
    for text in ["snow", "sun"] {
        messages.push(json!({"role": "tool", "tool_name": "weather", "content": text}));
    }
    let second = post(&server, CHAT, &[], &body).await;
    assert_eq!(second.body["message"]["content"], "Snow, and sun.", "{}", second.body);
    assert_eq!(second.session, first.session);
    let session = first.session.unwrap();
    assert_eq!(endings(&server, session).await, ["Ended(HandedOut)", "Ended(Done)"]);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(second.body["message"].clone());
    messages.push(json!({"role": "user", "content": "Thanks."}));
    let third = post(&server, CHAT, &[], &body).await;
    assert_eq!((third.status, third.session), (200, first.session), "{}", third.body);
    let expected = [
        "How is it?",
        "[\"weather\", \"weather\"]",
        "snow",
        "sun",
        "Snow, and sun.",
        "Thanks.",
        "Gladly.",
    ];
    assert_eq!(transcript(&server, session).await, expected);
    assert_eq!(server.fake.rejections(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_by_itself_is_answered_and_an_empty_one_loads_nothing() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text("A blue one."));
    let body =
        json!({"model": "main", "prompt": "A boat?", "system": "You sell boats.", "stream": false});
    let reply = post(&server, "/ollama/api/generate", &[], &body).await;
    assert_eq!(reply.body["response"], "A blue one.", "{}", reply.body);
    let sent = last_sent(&server);
    assert!(sent[0].1.contains("You sell boats."), "{sent:?}");
    let empty = post(&server, "/ollama/api/generate", &[], &json!({"model": "main"})).await;
    assert_eq!((&empty.body["done_reason"], empty.session), (&json!("load"), None));
    let empty = post(&server, CHAT, &[], &json!({"model": "main", "messages": []})).await;
    assert_eq!(empty.body["done_reason"], "load");
    assert_eq!(server.fake.chats().len(), 1);
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_refused_in_ollamas_form() {
    let server = TestServer::start().await;
    let with = |name: &str, value: Value| {
        let mut body = said("hi");
        body[name] = value;
        body
    };
    let image = json!([{"role": "user", "content": "x", "images": ["aGk="]}]);
    let refused = [
        (CHAT, with("model", json!("llama3")), 404, "`llama3` does not exist"),
        (CHAT, with("messages", image), 400, "PNG"),
        (
            "/ollama/api/generate",
            json!({"model": "main", "prompt": "x", "raw": true}),
            400,
            "`raw`",
        ),
        (
            "/ollama/api/generate",
            json!({"model": "main", "prompt": "x", "context": [1]}),
            400,
            "/api/chat",
        ),
        ("/ollama/api/show", json!({"model": "llama3"}), 404, "does not exist"),
        ("/ollama/api/pull", json!({"model": "llama3"}), 404, "`/ollama/api/pull`"),
        ("/ollama/api/embed", json!({"model": "main", "input": "x"}), 404, "all-minilm"),
        ("/ollama/api/embed", json!({"model": "main"}), 404, "all-minilm"),
        ("/ollama/api/embed", json!({"model": "all-minilm", "input": [3]}), 400, "`input`"),
        // Without a text the encoder is only loaded, which is not there.
        ("/ollama/api/embed", json!({"model": "all-minilm"}), 503, "embedding"),
        ("/ollama/api/embeddings", json!({"model": "all-minilm"}), 503, "embedding"),
    ];
    for (path, body, status, words) in refused {
        let reply = post(&server, path, &[], &body).await;
        let error = reply.body["error"].as_str().unwrap_or_else(|| panic!("{}", reply.body));
        assert!(
            reply.status == status && error.contains(words),
            "{path} {}: {error}",
            reply.status
        );
    }
    server.fake.push(FakeAnswer::refusal(400, r#"{"error": {"message": "boom"}}"#));
    let failed = post(&server, CHAT, &[], &said("hi")).await;
    assert_eq!(failed.status, 502, "{}", failed.body);
    assert!(failed.session.is_some(), "an error says what it is part of, too");
    server.fake.push(FakeAnswer::text("one two three").error_after(2, "boom"));
    let body = send(&server, CHAT, &[], &said("hi")).await.text().await.unwrap();
    assert!(lines(&body).last().unwrap()["error"].is_string(), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn models_can_be_listed_and_looked_at() {
    let server = TestServer::start().await;
    let (_, tags) = server.get("/ollama/api/tags").await;
    let names =
        tags["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["recto:latest", "main:latest", "main/fake:latest", "all-minilm:latest"]);
    for name in &names[..3] {
        let shown = post(&server, "/ollama/api/show", &[], &json!({ "model": name })).await;
        assert_eq!(shown.body["capabilities"], json!(["completion", "tools"]), "{}", shown.body);
        assert_eq!(shown.body["model_info"]["recto.context_length"], 8_192);
    }
    assert_eq!(server.get("/ollama/api/ps").await, (200, json!({"models": []})));
    assert!(server.get("/ollama/api/version").await.1["version"].is_string());
    for path in ["/ollama", "/ollama/"] {
        assert_eq!(server.get(path).await, (200, json!("Ollama is running")));
        assert_eq!(server.request("HEAD", path).send().await.unwrap().status().as_u16(), 200);
    }
}
