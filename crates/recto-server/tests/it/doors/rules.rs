//! What a client asks of its reply: where it ends, and the form that it has.

use recto_fakes::{FakeAnswer, FakeCall};
use serde_json::{Value, json};

use super::{post, send};
use crate::support::TestServer;

const OPENAI: &str = "/v1/chat/completions";
const OLLAMA: &str = "/ollama/api/chat";

fn said() -> Value {
    json!({"model": "main", "messages": [{"role": "user", "content": "hi"}], "stream": false})
}

fn with(name: &str, value: Value) -> Value {
    let mut body = said();
    body[name] = value;
    body
}

/// What the model's server was last sent of these names, without what it was not.
fn last_sent(server: &TestServer) -> Value {
    let names = ["stop", "response_format", "seed", "presence_penalty", "frequency_penalty"];
    let sent = server.fake.chats().last().unwrap().clone();
    let fields =
        names.iter().filter_map(|name| Some(((*name).to_owned(), sent.get(*name)?.clone())));
    Value::Object(fields.collect())
}

/// Promise: `replies-keep-to-rules`
#[tokio::test(flavor = "multi_thread")]
async fn rules_for_a_reply_reach_the_models_server_from_both_doors() {
    let server = TestServer::start().await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let wrapped = json!({"type": "json_schema", "json_schema": {"name": "A", "schema": schema, "strict": true}});
    let from_ollama =
        json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}});
    let any = json!({"type": "json_object"});
    let asked = [
        (OPENAI, with("stop", json!("END")), json!({"stop": ["END"]})),
        (OPENAI, with("stop", json!(["a", "", "b"])), json!({"stop": ["a", "b"]})),
        (OPENAI, with("seed", json!(-7)), json!({"seed": -7})),
        (OPENAI, with("presence_penalty", json!(1.5)), json!({"presence_penalty": 1.5})),
        (OPENAI, with("frequency_penalty", json!(0)), json!({})),
        (OPENAI, with("response_format", any.clone()), json!({ "response_format": any })),
        (OPENAI, with("response_format", wrapped.clone()), json!({ "response_format": wrapped })),
        (OLLAMA, with("format", json!("json")), json!({ "response_format": any })),
        (OLLAMA, with("format", schema), json!({ "response_format": from_ollama })),
        (
            OLLAMA,
            with("options", json!({"stop": ["x"], "seed": 3.0, "frequency_penalty": 0.5})),
            json!({"stop": ["x"], "seed": 3, "frequency_penalty": 0.5}),
        ),
        // What asks for nothing is asked of nobody.
        (OPENAI, with("stop", json!([])), json!({})),
        (OPENAI, with("response_format", json!({"type": "text"})), json!({})),
        (OPENAI, with("logprobs", json!(false)), json!({})),
        (OPENAI, with("n", json!(1)), json!({})),
        (OLLAMA, with("format", json!("")), json!({})),
        (OLLAMA, with("options", json!({"stop": null, "num_predict": -1})), json!({})),
    ];
    for (turn, (door, body, sent)) in (1..).zip(asked) {
        server.fake.push(FakeAnswer::text("{}"));
        let reply = post(&server, door, &[], &body).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.body);
        assert_eq!(last_sent(&server), sent, "{body}");
        // They are part of the record: the body can be made again, and what was asked is told.
        let verified = server.get(&format!("/api/turns/{turn}/verify")).await.1;
        assert_eq!(verified["requests"][0]["identical"], true, "{verified}");
        let last = server.store.last_turn(None).await.unwrap().unwrap();
        let options = server.store.requests(last.id).await.unwrap()[0].options.clone();
        assert_eq!(options.get("reply").is_some(), sent != json!({}), "{options}");
    }
    assert_eq!(server.fake.rejections(), [""; 0]);
}

/// Promise: `doors-refuse-clearly`
#[tokio::test(flavor = "multi_thread")]
async fn rules_that_make_no_sense_are_refused_by_name() {
    let server = TestServer::start().await;
    let refused = [
        (OPENAI, with("stop", json!(5)), "`stop`"),
        (OPENAI, with("stop", json!([5])), "`stop`"),
        (OPENAI, with("stop", json!(vec!["x"; 17])), "at most 16"),
        (OPENAI, with("stop", json!("x".repeat(2_000))), "at most 1000 bytes"),
        (OPENAI, with("seed", json!("many")), "`seed`"),
        (OPENAI, with("seed", json!(1.5)), "`seed`"),
        (OPENAI, with("presence_penalty", json!(3)), "`presence_penalty`"),
        (OPENAI, with("response_format", json!({"type": "xml"})), "`response_format.type`"),
        (OPENAI, with("response_format", json!("json")), "`response_format.type`"),
        (
            OPENAI,
            with("response_format", json!({"type": "json_schema", "json_schema": {"name": "a"}})),
            "json_schema.schema",
        ),
        (OLLAMA, with("format", json!("xml")), "`format`"),
        (OLLAMA, with("format", json!(true)), "`format`"),
        (OLLAMA, with("options", json!({"stop": {}})), "`stop`"),
    ];
    for (door, body, words) in refused {
        let reply = post(&server, door, &[], &body).await;
        let error = &reply.body["error"];
        let message = error["message"].as_str().or(error.as_str()).unwrap().to_owned();
        assert!(reply.status == 400 && message.contains(words), "{body}: {}", reply.body);
        if door == OPENAI {
            assert!(error["param"].is_string(), "{error}");
        }
    }
    assert_eq!(server.fake.chats().len(), 0);
}

/// A reply that ends before its first word is one, where the client asked for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_may_be_empty_where_it_may_end_anywhere() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text(""));
    let reply = post(&server, OPENAI, &[], &with("stop", json!("\n"))).await;
    let choice = &reply.body["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!(""), &json!("stop"))
    );
    server.fake.push(FakeAnswer::text(""));
    let mut body = with("options", json!({"stop": ["\n"]}));
    body["stream"] = true.into();
    let lines = send(&server, OLLAMA, &[], &body).await.text().await.unwrap();
    assert!(lines.contains("\"done_reason\":\"stop\""), "{lines}");
    server.fake.push(FakeAnswer::text(""));
    assert_eq!(post(&server, OPENAI, &[], &said()).await.status, 502);
}

/// What is said before a tool runs is no part of a reply in a form.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_reply_in_a_form_is_the_last_words_alone() {
    let server = TestServer::start_with_files(std::time::Duration::ZERO).await;
    let call = FakeCall::new("list_files", json!({}));
    for (door, name, value) in [
        (OPENAI, "response_format", json!({"type": "json_object"})),
        (OLLAMA, "format", json!("json")),
    ] {
        server.fake.push(FakeAnswer::text("{\"step\": 1}").calls([call.clone()]));
        server.fake.push(FakeAnswer::text("{\"step\": 2}"));
        let reply = post(&server, door, &[], &with(name, value)).await;
        let choice = reply.body["choices"][0]["message"]["content"].as_str();
        let text = choice.or(reply.body["message"]["content"].as_str());
        assert_eq!(text, Some("{\"step\": 2}"), "{}", reply.body);
    }
}
