//! Bodies that no client should send. Each is answered, or refused with status 400; none reaches
//! the model's server in a form that it refuses, and none keeps the next from being answered.

use recto_fakes::FakeAnswer;
use serde_json::{Value, json};

use super::post;
use crate::support::TestServer;

const OPENAI: &str = "/v1/chat/completions";
const OLLAMA: &str = "/ollama/api/chat";

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "snow"})
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Lists that a client may come to by bugs of its own.
fn odd_lists() -> Vec<Value> {
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    vec![
        // Results without calls, calls without results, both twice, and in the wrong order.
        json!([user("a"), result("x"), user("b")]),
        json!([user("a"), calls(&["x"]), user("b")]),
        json!([user("a"), calls(&["x", "x"]), result("x"), result("x"), user("b")]),
        json!([user("a"), calls(&["x"]), result("y"), user("b")]),
        json!([user("a"), calls(&["x", "y"]), result("y"), user("b")]),
        json!([user("a"), calls(&["x"]), result("x"), calls(&["x"]), result("x"), user("b")]),
        json!([user("a"), calls(&["x"]), user("b"), result("x"), user("c")]),
        json!([calls(&["x"]), result("x"), user("b")]),
        json!([user("a"), calls(&["x"]), result("x"), result("z")]),
        json!([user("a"), calls(&[""]), user("b")]),
        json!([user("a"), calls(&["a b/c\u{1f6a2}"]), result("a b/c\u{1f6a2}"), user("b")]),
        json!([user("a"), {"role": "assistant", "content": null, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "we ather!", "arguments": "no json"}}
        ]}, result("x"), user("b")]),
        // Empty and blank texts, and the same speaker twice.
        json!([user(""), assistant(""), user("b")]),
        json!([user("a"), assistant(" \n"), user("b")]),
        json!([assistant("hello"), user("b")]),
        json!([user("a"), user("a"), user("a")]),
        json!([user("a"), {"role": "assistant"}, user("b")]),
        json!([{"role": "system", "content": ""}, user("b")]),
        json!([user("b"), {"role": "system", "content": "late"}]),
        json!([user("a"), {"role": "assistant", "content": null, "tool_calls": []}, user("b")]),
        json!([user("a"), {"role": "assistant", "content": [{"type": "text", "text": "x"}], "refusal": null}, user("b")]),
    ]
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn odd_conversations_are_answered_or_refused_and_never_a_fault() {
    let server = TestServer::start().await;
    let tools = super::weather_tool();
    for (door, list) in [OPENAI, OLLAMA]
        .into_iter()
        .flat_map(|door| odd_lists().into_iter().map(move |list| (door, list)))
    {
        // Ollama has no parts, and its arguments are objects.
        if door == OLLAMA && list.to_string().contains("\"type\":\"text\"") {
            continue;
        }
        let body = json!({"model": "main", "messages": list, "tools": tools, "stream": false});
        let reply = post(&server, door, &[], &body).await;
        assert!(
            [200, 400].contains(&reply.status),
            "{door} {list}: {} {}",
            reply.status,
            reply.body
        );
        assert_eq!(server.fake.rejections(), [""; 0], "{door} {list}");
    }
    server.fake.push(FakeAnswer::text("Aye."));
    let body = json!({"model": "main", "messages": [user("still there?")], "stream": false});
    assert_eq!(post(&server, OPENAI, &[], &body).await.status, 200);
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn wrong_types_and_huge_numbers_are_refused_with_a_status_of_the_clients() {
    let server = TestServer::start().await;
    let said = json!([user("hi")]);
    let mut bodies: Vec<String> = [
        "",
        "null",
        "[]",
        "\"x\"",
        "{",
        "{}",
        "{\"model\": 1}",
        "{\"model\": null, \"messages\": []}",
        "{\"model\": \"main\"}",
        "{\"model\": \"main\", \"messages\": null}",
        "{\"model\": \"main\", \"messages\": {}}",
        "{\"model\": \"main\", \"messages\": [null]}",
        "{\"model\": \"main\", \"messages\": [1, \"x\"]}",
        "\u{feff}{}",
        "{\"a\": 1e999}",
    ]
    .map(str::to_owned)
    .to_vec();
    let odd = [json!(1e308), json!(-1), json!(u64::MAX), json!("x"), json!([[]]), json!({"a": {}})];
    let names = [
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "n",
        "seed",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "user",
        "logprobs",
        "logit_bias",
        "modalities",
        "functions",
        "response_format",
        "stop",
        "presence_penalty",
        "format",
        "options",
        "think",
        "keep_alive",
        "context_mode",
        "reasoning_effort",
    ];
    for (name, value) in names.iter().flat_map(|name| odd.iter().map(move |value| (name, value))) {
        bodies.push(json!({"model": "main", "messages": said, *name: value}).to_string());
        bodies.push(
            json!({"model": "main", "messages": said, "options": {*name: value}}).to_string(),
        );
    }
    let contents = [
        json!(5),
        json!({}),
        json!([{}]),
        json!([{"type": "text"}]),
        json!([null]),
        json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,???"}}]),
    ];
    for content in contents {
        let list = json!([{"role": "user", "content": content}]);
        bodies.push(json!({"model": "main", "messages": list}).to_string());
    }
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    bodies.push(format!("{{\"model\": \"main\", \"messages\": {deep}}}"));
    for (door, body) in
        [OPENAI, OLLAMA].into_iter().flat_map(|door| bodies.iter().map(move |body| (door, body)))
    {
        let request = server.request("POST", door).header("content-type", "application/json");
        let response = request.body(body.clone()).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        assert!([200, 400, 404].contains(&status), "{door} {body}: {status} {text}");
        assert!(status == 200 || text.contains("\"error\""), "{door} {body}: {text}");
    }
    assert_eq!(server.fake.rejections(), [""; 0]);
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_names_its_field() {
    let server = TestServer::start().await;
    for (name, value, told) in [
        (
            "messages",
            json!([{"role": "user", "content": 5}]),
            "messages[0].content: expected a text",
        ),
        ("max_tokens", json!(-5), "max_tokens: "),
        ("max_tokens", json!(1_000_000_000_000_u64), "from 0 to 4294967295"),
        ("seed", json!(u64::MAX), "to 9223372036854775807"),
        ("frequency_penalty", json!("a"), "`frequency_penalty` is a number between -2 and 2"),
        ("messages", json!([user("a"), calls(&["x"]), result("y")]), "call `y` belongs to none"),
        ("messages", json!([user("a"), calls(&["x", "x"]), result("x")]), "two calls of one"),
        ("temperature", json!(9), "`temperature` is between"),
        ("top_p", json!("x"), "top_p: "),
        ("tool_choice", json!("maybe"), "tool_choice"),
        ("tools", json!([{"type": "function"}]), "has no `function`"),
    ] {
        let mut body = json!({"model": "main", "messages": [user("hi")]});
        body[name] = value;
        let reply = post(&server, OPENAI, &[], &body).await;
        let error = &reply.body["error"];
        assert_eq!((reply.status, &error["param"]), (400, &json!(name)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
    }
    let body = json!({"model": "main", "messages": [{"role": "user", "content": 5}]});
    let reply = post(&server, OLLAMA, &[], &body).await;
    let error = reply.body["error"].as_str().unwrap();
    assert!(error.contains("messages[0].content: "), "{error}");
    for (name, value, told) in [
        ("options", json!({"temperature": "x"}), "options.temperature: "),
        ("stream", json!("x"), "stream: "),
    ] {
        let mut body = json!({"model": "main", "messages": [user("hi")]});
        body[name] = value;
        let reply = post(&server, OLLAMA, &[], &body).await;
        let error = reply.body["error"].as_str().unwrap();
        assert!(reply.status == 400 && error.contains(told), "{error}");
    }
}

/// Two clients that say the same conversation on at once get an answer each.
#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_in_one_conversation_are_both_answered() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text("One."));
    let first = json!({"model": "main", "messages": [user("hi")]});
    let began = post(&server, OPENAI, &[], &first).await;
    let next = |text: &str| {
        let list = json!([user("hi"), {"role": "assistant", "content": "One."}, user(text)]);
        json!({"model": "main", "messages": list})
    };
    server.fake.push(FakeAnswer::text("Two."));
    server.fake.push(FakeAnswer::text("Three."));
    let (a, b) = (next("a"), next("b"));
    let (a, b) = tokio::join!(post(&server, OPENAI, &[], &a), post(&server, OPENAI, &[], &b));
    assert_eq!((a.status, b.status), (200, 200), "{} {}", a.body, b.body);
    assert_eq!((a.session, b.session), (began.session, began.session));
    let endings = super::endings(&server, began.session.unwrap()).await;
    assert_eq!(endings, ["Ended(Done)"; 3]);
    // Each was sent its own conversation, without the other's message.
    for chat in &server.fake.chats()[1..] {
        let texts = chat["messages"].to_string();
        assert!(!(texts.contains("\\na\"") && texts.contains("\\nb\"")), "{texts}");
    }
}
