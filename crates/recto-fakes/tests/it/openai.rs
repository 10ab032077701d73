//! What the fakes of OpenAI-compatible servers take and refuse.

use recto_fakes::{Capability, FakeDialect, FakeModel, FakeServer};
use serde_json::{Value, json};

use crate::support::{get, post, refused, send};

const CHAT: &str = "/v1/chat/completions";

/// A chat that uses all that Recto needs, and is right.
fn everything() -> Value {
    let call = |id: &str| {
        json!({
            "id": id,
            "type": "function",
            "function": { "name": "look", "arguments": "{\"at\": \"it\"}" },
        })
    };
    json!({
        "model": "fake",
        "messages": [
            { "role": "system", "content": "Be brief." },
            {
                "role": "user",
                "content": [
                    { "type": "text", "text": "What is this?" },
                    {
                        "type": "image_url",
                        "image_url": { "url": "data:image/png;base64,iVBORw0=" },
                    },
                ],
            },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "content": "a dog", "tool_call_id": "b" },
            { "role": "tool", "content": "a cat", "tool_call_id": "a" },
            { "role": "assistant", "content": "Both." },
            { "role": "user", "content": "Thanks" },
        ],
        "tools": [{
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": { "type": "object", "properties": { "at": { "type": "string" } } },
            },
        }],
        "tool_choice": "required",
        "parallel_tool_calls": true,
        "max_tokens": 512,
        "temperature": 0.7,
        "top_p": 0.95,
        "stream": true,
        "stream_options": { "include_usage": true },
    })
}

#[test]
fn a_right_chat_is_answered() {
    let fake = FakeServer::openai().start();
    let mut answering = post(&fake, CHAT, &everything());
    assert_eq!(answering.status, 200);
    let events = "content-type: text/event-stream; charset=utf-8".to_owned();
    assert!(answering.headers.contains(&events));
    assert!(answering.body().ends_with("data: [DONE]\n\n"));
    assert!(fake.rejections().is_empty());
}

/// Refuses the right chat once `change` was made to it; `expected` is a part of
/// the message, the parameter and the code.
fn check(change: impl FnOnce(&mut Value), expected: (&str, Value, Value)) {
    let fake = FakeServer::openai().start();
    let mut body = everything();
    change(&mut body);
    let mut answering = post(&fake, CHAT, &body);
    assert_eq!(answering.status, 400, "{expected:?}");
    let answer: Value = serde_json::from_str(&answering.body()).unwrap();
    let error = &answer["error"];
    let (message, param, code) = expected;
    let said = error["message"].as_str().unwrap();
    assert!(said.contains(message), "{said}");
    assert_eq!((&error["param"], &error["code"]), (&param, &code), "{said}");
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(fake.rejections(), [said]);
}

/// As `check`, with `value` put at `place`.
fn wrong(place: &str, value: Value, message: &str, code: Value) {
    let param = place[1..].split('/').fold(String::new(), |path, step| {
        if step.parse::<usize>().is_ok() {
            format!("{path}[{step}]")
        } else if path.is_empty() {
            step.to_owned()
        } else {
            format!("{path}.{step}")
        }
    });
    let change = |body: &mut Value| *body.pointer_mut(place).unwrap() = value;
    check(change, (message, json!(param), code));
}

#[test]
fn wrong_parameters_are_refused() {
    let kind = || json!("invalid_type");
    let value = || json!("invalid_value");
    wrong("/model", json!(1), "expected a string, but got an integer instead", kind());
    wrong("/stream", json!("yes"), "expected a boolean", kind());
    wrong("/stream_options", json!(true), "expected an object", kind());
    wrong("/stream_options/include_usage", json!("yes"), "expected a boolean", kind());
    wrong("/temperature", json!("hot"), "expected a decimal", kind());
    wrong("/temperature", json!(2.5), ">= 0 and <= 2, but got 2.5", value());
    wrong("/top_p", json!(-1), ">= 0 and <= 1", value());
    wrong("/max_tokens", json!(1.5), "expected an integer, but got a decimal", kind());
    wrong("/max_tokens", json!(0), "expected a value >= 1, but got 0", value());
    let null = || Value::Null;
    check(|body| body["num_ctx"] = json!(1), ("argument supplied: num_ctx", null(), null()));
    check(|body| *body = json!({ "messages": [] }), ("provide a model", null(), null()));
    check(|body| *body = json!([]), ("could not parse the JSON body", null(), null()));
    check(
        |body| body["stream"] = json!(false),
        ("only allowed when 'stream' is enabled", json!("stream_options"), null()),
    );
    check(
        |body| body["max_completion_tokens"] = json!(1),
        ("at the same time", null(), json!("invalid_parameter_combination")),
    );
}

#[test]
fn wrong_messages_are_refused() {
    let kind = || json!("invalid_type");
    let missing = || json!("missing_required_parameter");
    let value = || json!("invalid_value");
    wrong("/messages", json!("hi"), "expected an array of objects, but got a string", kind());
    wrong("/messages", json!([]), "empty array", json!("empty_array"));
    wrong("/messages/0", json!("hi"), "expected an object, but got a string instead", kind());
    wrong("/messages/0/role", json!("model"), "Invalid value: 'model'. Supported", value());
    wrong("/messages/0/role", json!(1), "expected a string", kind());
    wrong("/messages/0/content", json!(1), "one of a string or array of objects", kind());
    wrong("/messages/0/content", json!([]), "empty array", json!("empty_array"));
    wrong("/messages/0/content", Value::Null, "expected a string, got null", Value::Null);
    // Without calls, even an assistant has to say something.
    wrong("/messages/5/content", Value::Null, "expected a string, got null", Value::Null);
    wrong("/messages/1/content/0", json!("hi"), "expected an object", kind());
    wrong("/messages/1/content/0/type", json!("input_text"), "Invalid value", value());
    wrong("/messages/1/content/0/text", json!(1), "expected a string", kind());
    wrong("/messages/1/content/1/image_url", json!("data:"), "expected an object", kind());
    let url = "/messages/1/content/1/image_url/url";
    wrong(url, json!("data:image/png;base64,a-b_"), "base64-encoded data URL", value());
    wrong(url, json!("iVBORw0="), "base64-encoded data URL", value());
    let picture = || json!([{ "type": "image_url", "image_url": { "url": "https://a/b.png" } }]);
    let of = |message: usize| json!(format!("messages[{message}].content[0].type"));
    for message in [0, 3, 5] {
        let change = |body: &mut Value| body["messages"][message]["content"] = picture();
        check(change, ("Supported values are: 'text'.", of(message), value()));
    }
    check(
        |body| drop(body["messages"][6].as_object_mut().unwrap().remove("content")),
        ("Missing required parameter", json!("messages[6].content"), missing()),
    );
    check(
        |body| drop(body.as_object_mut().unwrap().remove("messages")),
        ("Missing required parameter: 'messages'", json!("messages"), missing()),
    );
}

#[test]
fn wrong_calls_are_refused() {
    let kind = || json!("invalid_type");
    let call = |place: &str| format!("/messages/2/tool_calls/0{place}");
    wrong("/messages/2/tool_calls", json!({}), "expected an array of objects", kind());
    wrong("/messages/2/tool_calls", json!([]), "empty array", json!("empty_array"));
    wrong(&call(""), json!("look"), "expected an object", kind());
    wrong(&call("/id"), Value::Null, "expected a string, but got null", kind());
    let long = json!("x".repeat(41));
    wrong(&call("/id"), long, "maximum length 40", json!("string_above_max_length"));
    wrong(&call("/type"), json!("custom"), "Invalid value", json!("invalid_value"));
    wrong(&call("/function"), json!("look"), "expected an object", kind());
    wrong(&call("/function/name"), json!(1), "expected a string", kind());
    wrong(
        &call("/function/arguments"),
        json!({ "at": "it" }),
        "expected a string, but got an object instead",
        kind(),
    );
    check(
        |body| body["messages"][2]["tool_calls"][1]["id"] = json!("a"),
        ("Duplicate value", json!("messages.[2].tool_calls"), Value::Null),
    );
}

#[test]
fn calls_are_answered_where_they_have_to_be() {
    let role = |index: usize| json!(format!("messages.[{index}].role"));
    let remove = |index: usize| {
        move |body: &mut Value| drop(body["messages"].as_array_mut().unwrap().remove(index))
    };
    let truncate = |length: usize| {
        move |body: &mut Value| body["messages"].as_array_mut().unwrap().truncate(length)
    };
    let unanswered = "did not have response messages: ";
    check(remove(3), (&format!("{unanswered}b"), role(4), Value::Null));
    check(truncate(4), (&format!("{unanswered}a"), role(4), Value::Null));
    check(truncate(3), (&format!("{unanswered}a, b"), role(3), Value::Null));
    // A user message between the calls and a result.
    let move_last = |body: &mut Value| body["messages"].as_array_mut().unwrap().swap(4, 6);
    check(move_last, (&format!("{unanswered}a"), role(4), Value::Null));
    let orphan = "must be a response to a preceeding message with 'tool_calls'";
    check(remove(2), (orphan, role(2), Value::Null));
    let late = |body: &mut Value| {
        let result = body["messages"][4].clone();
        body["messages"].as_array_mut().unwrap().push(result);
    };
    check(late, (orphan, role(7), Value::Null));
    let id = || json!("messages.[4].tool_call_id");
    // An id that was never given, and one that is answered twice.
    for other in ["c", "b"] {
        let change = |body: &mut Value| body["messages"][4]["tool_call_id"] = json!(other);
        let message = format!("'tool_call_id' of '{other}' not found in 'tool_calls'");
        check(change, (&message, id(), Value::Null));
    }
    wrong(
        "/messages/3/tool_call_id",
        Value::Null,
        "expected a string, but got null",
        json!("invalid_type"),
    );
}

#[test]
fn wrong_tools_are_refused() {
    let kind = || json!("invalid_type");
    let value = || json!("invalid_value");
    wrong("/tools", json!({}), "expected an array of objects", kind());
    wrong("/tools", json!([]), "empty array", json!("empty_array"));
    let many = json!(vec![everything()["tools"][0].clone(); 129]);
    wrong("/tools", many, "maximum length 128", json!("array_above_max_length"));
    wrong("/tools/0", json!("look"), "expected an object", kind());
    wrong("/tools/0/type", json!("web"), "Supported values are: 'function'", value());
    let name = "/tools/0/function/name";
    for bad in ["look at", "skill.look", "schauen_ü", ""] {
        wrong(name, json!(bad), "does not match pattern", value());
    }
    wrong(name, json!("x".repeat(65)), "maximum length 64", json!("string_above_max_length"));
    wrong("/tools/0/function/description", json!(1), "expected a string", kind());
    wrong("/tools/0/function/parameters", json!("{}"), "expected an object", kind());
    wrong(
        "/tools/0/function/parameters",
        json!({ "properties": {} }),
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'",
        json!("invalid_function_parameters"),
    );
    wrong("/tool_choice", json!("any"), "Supported values are: 'none'", value());
    wrong("/tool_choice", json!(1), "one of a string or object", kind());
    wrong(
        "/tool_choice",
        json!({ "type": "function", "function": { "name": "listen" } }),
        "Tool choice 'listen' not found in 'tools' parameter",
        value(),
    );
    wrong("/parallel_tool_calls", json!(1), "expected a boolean", kind());
    let without = |body: &mut Value| drop(body.as_object_mut().unwrap().remove("tools"));
    let only = "only allowed when 'tools' are specified";
    check(without, (only, json!("tool_choice"), Value::Null));
    let neither = |body: &mut Value| {
        without(body);
        body["tool_choice"] = Value::Null;
    };
    check(neither, (only, json!("parallel_tool_calls"), Value::Null));
}

#[test]
fn a_function_can_be_chosen() {
    let fake = FakeServer::openai().start();
    let mut body = everything();
    body["tool_choice"] = json!({ "type": "function", "function": { "name": "look" } });
    assert_eq!(post(&fake, CHAT, &body).status, 200);
}

#[test]
fn the_body_must_be_called_json() {
    let fake = FakeServer::openai().start();
    let body = everything().to_string();
    let status = |headers: &str| send(&fake, "POST", CHAT, headers, body.as_bytes()).status;
    assert_eq!(status(""), 400);
    assert_eq!(status("content-type: text/plain\r\n"), 400);
    assert_eq!(status("content-type: Application/JSON; charset=utf-8\r\n"), 200);
}

#[test]
fn an_unknown_model_is_not_found() {
    let fake = FakeServer::openai().model("gpt").start();
    let mut answering = post(&fake, CHAT, &everything());
    assert_eq!(answering.status, 404);
    let body = answering.body();
    assert!(body.contains("The model `fake` does not exist"));
    assert!(body.contains("\"code\":\"model_not_found\""));
}

/// The error of a prompt that does not fit.
fn overflow(dialect: FakeDialect, window: u32) -> Option<Value> {
    let model = FakeModel::new("fake").window(window);
    let fake = FakeServer::openai_dialect(dialect).model(model).start();
    let body = json!({
        "model": "fake",
        // With the names of its fields, 100 tokens.
        "messages": [{ "role": "user", "content": "u".repeat(400 - 15) }],
        "max_tokens": 50,
    });
    let mut answering = post(&fake, CHAT, &body);
    let body: Value = serde_json::from_str(&answering.body()).unwrap();
    (answering.status == 400).then(|| body["error"].clone())
}

#[test]
fn what_does_not_fit_is_refused_as_each_server_says_it() {
    for dialect in [FakeDialect::OpenAi, FakeDialect::LmStudio] {
        assert_eq!(overflow(dialect, 150), None);
        let error = overflow(dialect, 149).unwrap();
        assert_eq!(error["code"], "context_length_exceeded");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("maximum context length is 149 tokens"), "{message}");
        assert!(message.contains("150 tokens (100 in the messages, 50 in"), "{message}");
    }
    assert_eq!(overflow(FakeDialect::Vllm, 150), None);
    let error = overflow(FakeDialect::Vllm, 149).unwrap();
    assert_eq!((&error["type"], &error["code"]), (&json!("BadRequestError"), &json!(400)));
    assert_eq!(error["param"], "input_tokens");
    assert_eq!(overflow(FakeDialect::LlamaCpp, 100), None);
    let error = overflow(FakeDialect::LlamaCpp, 99).unwrap();
    assert_eq!(error["type"], "exceed_context_size_error");
    assert_eq!((&error["n_prompt_tokens"], &error["n_ctx"]), (&json!(100), &json!(99)));
}

#[test]
fn each_server_tells_its_window_in_its_own_way() {
    let models = |dialect| {
        let fake = FakeServer::openai_dialect(dialect)
            .model(FakeModel::new("big").trained_for(131_072).window(16_384))
            .model(FakeModel::new("seer").capabilities([Capability::Vision]));
        fake.start()
    };
    let openai = models(FakeDialect::OpenAi);
    let (_, list) = get(&openai, "/v1/models");
    assert_eq!(list["data"][0]["id"], "big");
    assert_eq!(list["data"][0]["max_model_len"], Value::Null);

    let (_, list) = get(&models(FakeDialect::Vllm), "/v1/models");
    assert_eq!(list["data"][0]["max_model_len"], 16_384);
    assert_eq!(list["data"][1]["max_model_len"], 32_768);

    let llama = models(FakeDialect::LlamaCpp);
    let (_, properties) = get(&llama, "/props");
    assert_eq!(properties["default_generation_settings"]["n_ctx"], 16_384);
    assert_eq!(get(&llama, "/v1/models").1["data"][0]["meta"]["n_ctx_train"], 131_072);

    let (_, list) = get(&models(FakeDialect::LmStudio), "/api/v0/models");
    let (big, seer) = (&list["data"][0], &list["data"][1]);
    assert_eq!((&big["state"], &big["type"]), (&json!("loaded"), &json!("llm")));
    assert_eq!(big["loaded_context_length"], 16_384);
    assert_eq!(big["max_context_length"], 131_072);
    assert_eq!(big["capabilities"], json!(["tool_use"]));
    assert_eq!((&seer["state"], &seer["type"]), (&json!("not-loaded"), &json!("vlm")));
    assert_eq!(seer["loaded_context_length"], Value::Null);
    assert_eq!(openai.loads(), 0);
}

#[test]
fn parts_of_text_are_heard() {
    let fake = FakeServer::openai().start();
    let parts = json!([{ "type": "text", "text": "one " }, { "type": "text", "text": "two" }]);
    let body = json!({ "model": "fake", "messages": [{ "role": "user", "content": parts }] });
    assert!(post(&fake, CHAT, &body).body().contains("You said: one two"));
    let (status, _) = refused(&fake, CHAT, &json!({ "model": "fake", "messages": [] }));
    assert_eq!(status, 400);
}
