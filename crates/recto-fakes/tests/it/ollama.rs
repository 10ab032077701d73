//! What the fake of Ollama takes and refuses.

use expect_test::expect;
use recto_fakes::{Capability, FakeAnswer, FakeModel, FakeServer};
use serde_json::{Value, json};

use crate::support::{get, post, refused};

/// A chat that uses all there is, and is right.
fn everything() -> Value {
    json!({
        "model": "seer",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "What is this?", "images": ["iVBORw0="] },
            {
                "role": "assistant",
                "content": "",
                "thinking": "Let me look.",
                "tool_calls": [
                    { "function": { "name": "look", "arguments": { "at": "it" } } },
                    { "id": "call_2", "function": { "name": "look", "arguments": {} } },
                ],
            },
            { "role": "tool", "content": "a cat", "tool_name": "look" },
            { "role": "tool", "content": "a dog", "tool_name": "look" },
        ],
        "tools": [{
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "at": { "type": ["string", "null"], "enum": ["it", null] },
                        "how": { "anyOf": [{ "type": "string" }, { "type": "number" }] },
                    },
                    "required": ["at"],
                },
            },
        }],
        "stream": true,
        "truncate": false,
        "shift": false,
        "think": true,
        "keep_alive": "5m",
        "unheard_of": 1,
        "options": { "num_ctx": 8192, "num_predict": 512, "temperature": 0.7, "other": "x" },
    })
}

fn seer() -> FakeModel {
    let all = [Capability::Completion, Capability::Tools, Capability::Thinking, Capability::Vision];
    FakeModel::new("seer").capabilities(all)
}

#[test]
fn a_right_chat_is_answered() {
    let fake = FakeServer::ollama().model(seer()).start();
    let mut answering = post(&fake, "/api/chat", &everything());
    assert_eq!(answering.status, 200);
    assert!(answering.headers.contains(&"content-type: application/x-ndjson".to_owned()));
    assert!(answering.body().contains("\"content\":\"You \""));
    assert!(fake.rejections().is_empty());
}

/// Refuses the right chat once `value` stands at `place` of it.
fn check(place: &str, value: Value, status: u16, message: &str) {
    let fake = FakeServer::ollama().model(seer()).start();
    let mut body = everything();
    *body.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
    let (got, said) = refused(&fake, "/api/chat", &body);
    assert_eq!(got, status, "{place}: {said}");
    assert!(said.contains(message), "{place}: {said}");
    assert_eq!(fake.rejections().len(), 1);
}

#[test]
fn wrong_types_are_refused() {
    let wrong = |place: &str, value: Value, part: &str| check(place, value, 400, part);
    wrong("", json!([]), "cannot unmarshal array into Go value of type api.ChatRequest");
    wrong("/model", json!(1), "number into Go struct field ChatRequest.model of type string");
    wrong("/model", json!(""), "model is required");
    wrong("/messages", json!("hi"), "string into Go struct field ChatRequest.messages");
    wrong("/messages/0", json!("hi"), "string into Go value of type api.Message");
    wrong("/messages/0/role", json!("developer"), "invalid role: \"developer\"");
    wrong("/messages/0/content", json!(["hi"]), "array into Go struct field Message.content");
    wrong("/messages/1/images", json!("iVBORw0="), "string into Go struct field Message.images");
    wrong("/messages/1/images/0", json!("no base64"), "illegal base64 data at input byte 2");
    wrong("/messages/1/images/0", json!(1), "of type api.ImageData");
    wrong("/messages/2/thinking", json!(true), "bool into Go struct field Message.thinking");
    wrong("/messages/2/tool_calls", json!({}), "object into Go struct field Message.tool_calls");
    wrong(
        "/messages/2/tool_calls/0/function/arguments",
        json!("{\"at\":\"it\"}"),
        "string into Go struct field ToolCallFunction.arguments",
    );
    wrong("/messages/3/tool_name", json!(3), "number into Go struct field Message.tool_name");
    wrong("/stream", json!("yes"), "string into Go struct field ChatRequest.stream of type bool");
    wrong("/truncate", json!(0), "number into Go struct field ChatRequest.truncate");
    wrong("/shift", json!("no"), "string into Go struct field ChatRequest.shift");
    wrong("/think", json!(3), "invalid think value: 3");
    wrong("/keep_alive", json!([]), "Unsupported type: 'array'");
    wrong("/options", json!([]), "array into Go struct field ChatRequest.options");
}

#[test]
fn wrong_tools_are_refused() {
    let function = "/tools/0/function";
    let wrong = |place: &str, value: Value, part: &str| check(place, value, 400, part);
    wrong("/tools", json!({}), "object into Go struct field ChatRequest.tools");
    wrong("/tools/0/type", json!("custom"), "the type must be \"function\"");
    wrong(function, Value::Null, "the function is missing");
    wrong(&format!("{function}/name"), json!(""), "the function has no name");
    wrong(&format!("{function}/description"), json!(1), "ToolFunction.description of type string");
    let parameters = format!("{function}/parameters");
    wrong(&parameters, json!("{}"), "string into Go struct field ToolFunction.parameters");
    wrong(&format!("{parameters}/type"), json!(1), "ToolFunctionParameters.type");
    wrong(&format!("{parameters}/required"), json!("at"), "ToolFunctionParameters.required");
    wrong(&format!("{parameters}/required/0"), json!(0), "number into Go struct field");
    wrong(&format!("{parameters}/properties"), json!([]), "map[string]api.ToolProperty");
    wrong(&format!("{parameters}/properties/at"), json!(true), "bool into Go value");
    wrong(&format!("{parameters}/properties/at/type"), json!([1]), "ToolProperty.type");
    wrong(&format!("{parameters}/properties/how/anyOf/1"), json!("number"), "api.ToolProperty");
}

#[test]
fn wrong_options_are_refused_the_way_ollama_does() {
    let wrong = |value: Value, part: &str| check("/options", value, 500, part);
    wrong(json!({ "num_ctx": "8192" }), "option \"num_ctx\" must be of type integer");
    wrong(json!({ "temperature": "hot" }), "option \"temperature\" must be of type float32");
    wrong(json!({ "use_mmap": 1 }), "option \"use_mmap\" must be of type boolean");
    wrong(json!({ "stop": "end" }), "option \"stop\" must be of type array");
    wrong(json!({ "stop": [1] }), "must be of an array of strings");
}

#[test]
fn null_is_as_good_as_nothing() {
    let fake = FakeServer::ollama().start();
    let body = json!({
        "model": "fake",
        "messages": [{ "role": "user", "content": null, "images": null, "tool_calls": null }],
        "tools": null,
        "options": { "num_ctx": null },
        "stream": null,
    });
    assert_eq!(post(&fake, "/api/chat", &body).status, 200);
}

#[test]
fn a_body_is_needed() {
    let fake = FakeServer::ollama().start();
    let mut answering = crate::support::send(&fake, "POST", "/api/chat", "", b"");
    assert_eq!(answering.status, 400);
    assert_eq!(answering.body(), r#"{"error":"missing request body"}"#);
}

#[test]
fn models_are_known_by_name_and_tag() {
    let fake = FakeServer::ollama().model("qwen3").model("llama3:8b").start();
    let status = |model: &str| {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "hi" }] });
        refused(&fake, "/api/chat", &body)
    };
    assert_eq!(status("qwen3").0, 200);
    assert_eq!(status("qwen3:latest").0, 200);
    assert_eq!(status("llama3:8b").0, 200);
    assert_eq!(status("llama3"), (404, "model 'llama3' not found".to_owned()));
    assert_eq!(status("qwen3:8b").0, 404);
}

#[test]
fn a_model_does_what_it_can() {
    let fake =
        FakeServer::ollama().model(FakeModel::new("seer").capabilities([Capability::Completion]));
    let fake = fake.start();
    let mut body = everything();
    let mut check = |message: &str, field: &str, value: Value| {
        let (status, said) = refused(&fake, "/api/chat", &body);
        assert_eq!(status, 400, "{said}");
        assert!(said.contains(message), "{said}");
        *body.pointer_mut(field).unwrap() = value;
    };
    check("\"seer\" does not support thinking", "/think", json!(false));
    check("seer:latest does not support tools", "/tools", json!([]));
    check("model does not support multimodal requests", "/messages/1/images", json!([]));
    assert_eq!(post(&fake, "/api/chat", &body).status, 200);

    let embedder = FakeModel::new("embedder").capabilities([]);
    let fake = FakeServer::ollama().model(embedder).start();
    let body = json!({ "model": "embedder", "messages": [] });
    assert!(refused(&fake, "/api/chat", &body).1.contains("does not support chat"));
}

/// `count` exchanges of about 100 bytes behind a system message.
fn long_chat(count: usize) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": "s".repeat(100) })];
    for _ in 0..count {
        messages.push(json!({ "role": "user", "content": "u".repeat(100) }));
        messages.push(json!({ "role": "assistant", "content": "a".repeat(100) }));
    }
    messages.push(json!({ "role": "user", "content": "last" }));
    json!({ "model": "fake", "messages": messages, "stream": false })
}

fn counted(fake: &FakeServer, body: &Value) -> u64 {
    let answer: Value = serde_json::from_str(&post(fake, "/api/chat", body).body()).unwrap();
    answer["prompt_eval_count"].as_u64().unwrap()
}

#[test]
fn an_over_long_prompt_loses_its_front_in_silence() {
    let fake = FakeServer::ollama().start();
    let mut body = long_chat(10);
    let whole = counted(&fake, &body);
    assert!(whole > 500, "{whole}");
    body["options"] = json!({ "num_ctx": 200 });
    let cut = counted(&fake, &body);
    // The system message, the last one, and as many exchanges as fit.
    assert!(cut <= 200 && cut > 150, "{cut}");
    assert!(fake.rejections().is_empty());
    // With room for nothing else, these two stay.
    body["options"] = json!({ "num_ctx": 40 });
    let mut alone = long_chat(0);
    alone["options"] = json!({ "num_ctx": 40 });
    assert_eq!(counted(&fake, &body), counted(&fake, &alone));
    // And they are cut themselves in the end.
    body["options"] = json!({ "num_ctx": 10 });
    assert_eq!(counted(&fake, &body), 10);
}

#[test]
fn a_result_is_not_cut_from_its_call() {
    let fake = FakeServer::ollama().start();
    let call = json!({ "function": { "name": "look", "arguments": {} } });
    let mut body = json!({
        "model": "fake",
        "messages": [
            { "role": "user", "content": "u".repeat(400) },
            { "role": "assistant", "content": "a".repeat(100), "tool_calls": [call.clone(), call] },
            { "role": "tool", "content": "one" },
            { "role": "tool", "content": "two" },
        ],
        "stream": false,
        "options": { "num_ctx": 100 },
    });
    let from_call = counted(&fake, &body);
    // Too small for the call: then nothing smaller is tried.
    body["options"] = json!({ "num_ctx": 30 });
    assert_eq!(counted(&fake, &body), 30);
    body["messages"].as_array_mut().unwrap().remove(0);
    body["options"] = json!({ "num_ctx": 4096 });
    assert_eq!(from_call, counted(&fake, &body));
}

#[test]
fn an_over_long_prompt_is_refused_when_nothing_may_be_cut() {
    let fake = FakeServer::ollama().start();
    let mut body = long_chat(10);
    let whole = counted(&fake, &body);
    body["truncate"] = json!(false);
    body["options"] = json!({ "num_ctx": 200 });
    let (status, said) = refused(&fake, "/api/chat", &body);
    assert_eq!(status, 400);
    // The runner's error comes as a string that holds JSON.
    let inner: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(inner["error"]["type"], "exceed_context_size_error");
    assert_eq!(inner["error"]["n_prompt_tokens"], whole);
    assert_eq!(inner["error"]["n_ctx"], 200);
    body["options"] = json!({ "num_ctx": whole });
    assert_eq!(counted(&fake, &body), whole);
}

#[test]
fn another_window_loads_the_model_again() {
    let fake = FakeServer::ollama().start();
    assert_eq!(fake.loads(), 0);
    let mut body = long_chat(0);
    let mut ask = |name: &str, value: Value| {
        body[name] = value;
        counted(&fake, &body);
        fake.loads()
    };
    assert_eq!(ask("options", json!({ "num_ctx": 4096, "num_predict": 5 })), 1);
    assert_eq!(ask("options", json!({ "num_ctx": 4096, "num_predict": 9 })), 1);
    // The same as the default.
    assert_eq!(ask("options", json!({})), 1);
    assert_eq!(ask("options", json!({ "num_ctx": 8192 })), 2);
    assert_eq!(ask("truncate", json!(false)), 2);
    assert_eq!(ask("shift", json!(false)), 3);
    assert_eq!(ask("options", json!({ "num_ctx": 4096 })), 4);
}

#[test]
fn no_window_is_larger_than_the_model_was_trained_for() {
    let fake = FakeServer::ollama().model(FakeModel::new("fake").trained_for(100)).start();
    let mut body = long_chat(10);
    body["options"] = json!({ "num_ctx": 8192 });
    assert!(counted(&fake, &body) <= 100);
}

#[test]
fn a_chat_without_messages_loads_the_model() {
    let fake = FakeServer::ollama().answer(FakeAnswer::text("kept")).start();
    let body = json!({ "model": "fake", "messages": [], "options": { "num_ctx": 2048 } });
    assert!(post(&fake, "/api/chat", &body).body().contains("\"done_reason\":\"load\""));
    assert_eq!(get(&fake, "/api/ps").1["models"][0]["context_length"], 2048);
    assert!(post(&fake, "/api/chat", &long_chat(0)).body().contains("kept"));
}

#[test]
fn it_tells_what_it_serves() {
    let fake = FakeServer::ollama()
        .model(FakeModel::new("qwen3:8b").trained_for(40_960).window(8_192))
        .model(seer())
        .start();
    let shown = |name: &str| {
        let body = json!({ "model": name });
        let shown = post(&fake, "/api/show", &body).body();
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&shown).unwrap()).unwrap()
    };
    expect![[r#"
        {
          "modelfile": "FROM qwen3:8b\n",
          "template": "{{ .Prompt }}",
          "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "llama",
            "families": [
              "llama"
            ],
            "parameter_size": "1B",
            "quantization_level": "Q4_0"
          },
          "model_info": {
            "general.architecture": "llama",
            "llama.context_length": 40960
          },
          "capabilities": [
            "completion",
            "tools"
          ],
          "modified_at": "2026-01-01T00:00:00Z",
          "parameters": "num_ctx                        8192\nstop                           \"<|end|>\""
        }"#]].assert_eq(&shown("qwen3:8b"));
    let seer: Value = serde_json::from_str(&shown("seer")).unwrap();
    assert_eq!(seer["parameters"], Value::Null);
    assert_eq!(seer["capabilities"], json!(["completion", "tools", "thinking", "vision"]));

    let (_, tags) = get(&fake, "/api/tags");
    assert_eq!(tags["models"][0]["name"], "qwen3:8b");
    assert_eq!(tags["models"][1]["model"], "seer:latest");
    assert_eq!(get(&fake, "/api/ps").1, json!({ "models": [] }));
    assert!(get(&fake, "/api/version").1["version"].is_string());

    let missing = refused(&fake, "/api/show", &json!({ "model": "other" }));
    assert_eq!(missing, (404, "model 'other' not found".to_owned()));
    let nameless = refused(&fake, "/api/show", &json!({}));
    assert_eq!(nameless, (400, "model is required".to_owned()));
}
