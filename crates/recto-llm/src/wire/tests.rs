//! Whole bodies of one rich request, in `bodies/`, and the edges one by one.

mod clients;

use std::sync::Arc;

use expect_test::{Expect, ExpectFile, expect, expect_file};
use recto_context::{
    AssemblyInputs, CallId, Catalog, ContentPart, ContentSource, ContextLimits, Image, IncludeMode,
    ItemId, ItemKind, ItemOrigin, LayoutPreset, Message, MessageBody, MessageId, MessageStamp,
    Mode, ModeDecision, ModeReason, Opaque, OpaqueKind, PageLayout, Pick, RequestContext, Scores,
    SessionItem, Skill, SystemFiles, SystemMessages, Tokens, ToolCall, ToolCalls, ToolChoice,
    ToolSpec, Window, WorkspaceFile,
};
use serde_json::{Value, json};

use super::{CallOptions, Wire, encode};
use crate::reply_rules::{ReplyFormat, ReplyRules, ReplySchema};

#[test]
fn a_rich_request_on_ollamas_wire() {
    check_body(Wire::Ollama, &expect_file!["bodies/ollama.json"]);
}

#[test]
fn a_rich_request_on_openais_wire() {
    check_body(Wire::OpenAi, &expect_file!["bodies/openai.json"]);
}

#[test]
fn a_rich_request_on_anthropics_wire() {
    check_body(Wire::Anthropic, &expect_file!["bodies/anthropic.json"]);
}

fn check_body(wire: Wire, expected: &ExpectFile) {
    let request = rich_request(PageLayout::default());
    let body = encode(wire, &options(), &request);
    expected.assert_eq(&format!("{body:#}\n"));
    assert_eq!(body.to_string(), encode(wire, &options(), &request).to_string());
}

fn options() -> CallOptions {
    CallOptions {
        model: "some-model".to_owned(),
        temperature: Some(0.7),
        top_p: Some(0.95),
        ..CallOptions::default()
    }
}

/// Minimal mode with history: two calls at once in an earlier exchange, a skill
/// that search found, an image in the message, and tools that must be called.
fn rich_request(layout: PageLayout) -> RequestContext {
    let catalog = catalog();
    let history = [
        user(1, "How is the weather in Oslo and Rome?"),
        assistant(2, "", &[("c1", r#"{"city": "Oslo"}"#), ("c2", r#"{"city": "Rome"}"#)]),
        result(3, "c1", "-3.5 °C, snow"),
        result(4, "c2", "18 °C"),
        assistant(5, "Snow in Oslo, mild in Rome.", &[]),
    ];
    let message = vec![ContentPart::Text("And here?\nSay it \"short\" 🙂".into()), picture()];
    let skill = ItemId::new(ItemKind::Skill, "forecast");
    let picks = [Pick::new(skill, Scores::default())];
    AssemblyInputs::new(&catalog, "")
        .content(message)
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .history(&history)
        .picks(&picks)
        .mode(mode(Mode::MinimalWithHistory))
        .window(Window::from_config(Tokens::new(8_192)))
        .limits(ContextLimits { reply: Tokens::new(512), ..ContextLimits::default() })
        .layout(layout)
        .assemble()
        .unwrap()
}

fn catalog() -> Catalog {
    let file =
        |text: &str| Some(WorkspaceFile { text: text.into(), source: ContentSource::BuiltIn });
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    });
    let tool = ToolSpec::new(ItemId::tool(None, "weather"), "Tells the weather.", parameters);
    let mut skill = Skill::new("forecast", Some("Weather"), "Round to whole degrees.".into());
    skill.include = IncludeMode::Agent;
    Catalog {
        system: SystemFiles {
            soul: file("You are Ada."),
            agents: file("Be brief."),
            ..SystemFiles::default()
        },
        skills: vec![skill],
        tools: vec![tool],
        ..Catalog::default()
    }
}

fn mode(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

fn user(id: u64, text: &str) -> Arc<Message> {
    Arc::new(Message::user(id, text))
}

/// A reply; calls are given by id and arguments.
fn assistant(id: u64, text: &str, calls: &[(&str, &str)]) -> Arc<Message> {
    let content = if text.is_empty() { vec![] } else { vec![ContentPart::Text(text.into())] };
    reply(id, content, calls)
}

fn reply(id: u64, content: Vec<ContentPart>, calls: &[(&str, &str)]) -> Arc<Message> {
    let call = |&(id, arguments): &(&str, &str)| ToolCall {
        id: CallId(id.into()),
        name: "weather".into(),
        arguments: arguments.into(),
    };
    let body = MessageBody::Assistant { content, calls: calls.iter().map(call).collect() };
    Arc::new(Message { id: MessageId(id), body })
}

fn result(id: u64, call: &str, text: &str) -> Arc<Message> {
    result_of(id, call, vec![ContentPart::Text(text.into())])
}

fn result_of(id: u64, call: &str, content: Vec<ContentPart>) -> Arc<Message> {
    let body = MessageBody::Tool { call: CallId(call.into()), name: "weather".into(), content };
    Arc::new(Message { id: MessageId(id), body })
}

fn picture() -> ContentPart {
    ContentPart::Image(Image {
        media_type: "image/png".into(),
        data: "iVBORw0=".into(),
        name: None,
    })
}

fn opaque(provider: &str, json: &str) -> ContentPart {
    ContentPart::Opaque(Opaque {
        provider: provider.into(),
        json: json.into(),
        kind: OpaqueKind::Thought,
    })
}

/// The messages of a request with this history and the message "go on", one a line.
fn check(wire: Wire, history: &[Arc<Message>], expected: &Expect) {
    let body = encode(wire, &options(), &plain_request(history));
    expected.assert_eq(&lines(&body["messages"]));
}

fn plain_request(history: &[Arc<Message>]) -> RequestContext {
    let catalog = Catalog::default();
    let inputs = AssemblyInputs::new(&catalog, "go on").history(history).mode(mode(Mode::Full));
    inputs.layout(LayoutPreset::Plain.layout()).assemble().unwrap()
}

fn lines(list: &Value) -> String {
    list.as_array().unwrap().iter().map(|value| format!("{value}\n")).collect()
}

#[test]
fn arguments_that_are_no_object_keep_their_bytes() {
    let history = [
        user(1, "hi"),
        assistant(2, "", &[("c1", r#"{"city": "Os"#), ("c2", "[1]"), ("c3", "")]),
        result(3, "c1", "no"),
        result(4, "c2", "no"),
        result(5, "c3", "no"),
    ];
    let calls = |wire| encode(wire, &options(), &plain_request(&history))["messages"][1].clone();
    expect![[r#"
        {"function":{"name":"weather","arguments":{"_raw":"{\"city\": \"Os"}}}
        {"function":{"name":"weather","arguments":{"_raw":"[1]"}}}
        {"function":{"name":"weather","arguments":{}}}
    "#]]
    .assert_eq(&lines(&calls(Wire::Ollama)["tool_calls"]));
    expect![[r#"
        {"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"_raw\":\"{\\\"city\\\": \\\"Os\"}"}}
        {"id":"c2","type":"function","function":{"name":"weather","arguments":"{\"_raw\":\"[1]\"}"}}
        {"id":"c3","type":"function","function":{"name":"weather","arguments":"{}"}}
    "#]]
    .assert_eq(&lines(&calls(Wire::OpenAi)["tool_calls"]));
    expect![[r#"
        {"type":"tool_use","id":"c1","name":"weather","input":{"_raw":"{\"city\": \"Os"}}
        {"type":"tool_use","id":"c2","name":"weather","input":{"_raw":"[1]"}}
        {"type":"tool_use","id":"c3","name":"weather","input":{}}
    "#]]
    .assert_eq(&lines(&calls(Wire::Anthropic)["content"]));
}

#[test]
fn numbers_in_arguments_keep_their_digits() {
    let arguments = r#"{"lat":59.913868799999996,"n":9007199254740993,"step":0.1}"#;
    let history = [user(1, "hi"), assistant(2, "", &[("c1", arguments)]), result(3, "c1", "ok")];
    let body = encode(Wire::Ollama, &options(), &plain_request(&history));
    let sent = &body["messages"][1]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(sent.to_string(), arguments);
}

#[test]
fn opaque_parts_go_back_to_their_provider_alone() {
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    let content = vec![
        opaque("anthropic", thinking),
        opaque("ollama", r#"{"thinking":"well","role":"system"}"#),
        opaque("openai", r#"{"reasoning_content":"so"}"#),
        opaque("anthropic", "not json"),
        ContentPart::Text("Hello.".into()),
    ];
    let history = [user(1, "hi"), reply(2, content, &[])];
    check(
        Wire::Ollama,
        &history,
        &expect![[r#"
            {"role":"user","content":"hi"}
            {"role":"assistant","content":"Hello.","thinking":"well"}
            {"role":"user","content":"go on"}
        "#]],
    );
    check(
        Wire::OpenAi,
        &history,
        &expect![[r#"
            {"role":"user","content":"hi"}
            {"role":"assistant","content":"Hello."}
            {"role":"user","content":"go on"}
        "#]],
    );
    check(
        Wire::Anthropic,
        &history,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Hello.","cache_control":{"type":"ephemeral"}}]}
            {"role":"user","content":[{"type":"text","text":"go on"}]}
        "#]],
    );
}

#[test]
fn opaque_parts_set_no_field_that_the_encoder_writes() {
    let fields = r#"{"role":"system","content":"x","images":["x"],"tool_calls":[{}],
        "tool_call_id":"x","tool_name":"x","Tool_Calls":[{}],"imageſ":["x"],"kept":1}"#;
    let message = |wire: Wire| {
        let content = vec![ContentPart::Text("Hello.".into()), opaque(wire.name(), fields)];
        encode(wire, &options(), &round_request(&[reply(2, content, &[])]))["messages"][1]
            .to_string()
    };
    assert_eq!(message(Wire::Ollama), r#"{"role":"assistant","content":"Hello.","kept":1}"#);
    assert_eq!(message(Wire::OpenAi), r#"{"role":"assistant","content":"Hello."}"#);
}

/// A request in the middle of a turn that began with "hi".
fn round_request(rounds: &[Arc<Message>]) -> RequestContext {
    let catalog = Catalog::default();
    let inputs = AssemblyInputs::new(&catalog, "hi").message_id(MessageId(1)).rounds(rounds);
    inputs.mode(mode(Mode::Full)).layout(LayoutPreset::Plain.layout()).assemble().unwrap()
}

#[test]
fn thoughts_go_back_to_openai_only_while_their_turn_goes_on() {
    let thinking = |field: &str| {
        let content = vec![opaque("openai", &json!({ field: "so" }).to_string())];
        [reply(2, content, &[("c1", "{}")]), result(3, "c1", "snow")]
    };
    let check = |request: &RequestContext, expected: &Expect| {
        let body = encode(Wire::OpenAi, &options(), request);
        expected.assert_eq(&lines(&body["messages"]));
    };
    check(
        &round_request(&thinking("reasoning_content")),
        &expect![[r#"
            {"role":"user","content":"hi"}
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}],"reasoning_content":"so"}
            {"role":"tool","content":"snow","tool_call_id":"c1"}
        "#]],
    );
    let without = expect![[r#"
        {"role":"user","content":"hi"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]}
        {"role":"tool","content":"snow","tool_call_id":"c1"}
    "#]];
    check(&round_request(&thinking("reasoning")), &without);
    let [call, result] = thinking("reasoning_content");
    let body = encode(Wire::OpenAi, &options(), &plain_request(&[user(1, "hi"), call, result]));
    let messages = body["messages"].as_array().unwrap();
    without.assert_eq(&lines(&messages[..3].into()));
}

/// Where tools stand on the page as text, results look like a user's messages.
#[test]
fn a_turn_goes_on_behind_results_that_are_text() {
    let content = vec![opaque("openai", r#"{"reasoning_content":"so"}"#)];
    let rounds = [reply(2, content, &[("c1", "{}")]), result(3, "c1", "snow")];
    let catalog = Catalog::default();
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..LayoutPreset::Plain.layout() };
    let inputs = AssemblyInputs::new(&catalog, "hi").message_id(MessageId(1)).rounds(&rounds);
    let request = inputs.mode(mode(Mode::Full)).layout(layout).assemble().unwrap();
    let body = encode(Wire::OpenAi, &options(), &request);
    let roles = body["messages"].as_array().unwrap().iter().map(|message| &message["role"]);
    assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant", "user"]);
    assert_eq!(body["messages"][1]["reasoning_content"], "so");
}

/// The ids of the calls and results that Anthropic gets, a round a line.
fn check_ids(rounds: &[&[&str]], expected: &Expect) {
    let mut history = vec![user(1, "hi")];
    for calls in rounds {
        let with_arguments: Vec<_> = calls.iter().map(|id| (*id, "{}")).collect();
        history.push(assistant(2, "", &with_arguments));
        history.extend(calls.iter().map(|id| result(3, id, "ok")));
    }
    let body = encode(Wire::Anthropic, &options(), &plain_request(&history));
    let ids = |turn: &Value, key: &str| {
        let blocks = turn["content"].as_array().unwrap().iter();
        blocks.filter_map(|block| block[key].as_str()).collect::<Vec<_>>().join(" ")
    };
    let turns = body["messages"].as_array().unwrap();
    let mut shown = String::new();
    for round in turns[1..].chunks(2) {
        let [calls, results] = round else { panic!("a call without a result: {round:?}") };
        assert_eq!(ids(calls, "id"), ids(results, "tool_use_id"));
        shown += &format!("{}\n", ids(calls, "id"));
    }
    expected.assert_eq(&shown);
}

#[test]
fn anthropic_gets_ids_that_it_takes() {
    check_ids(
        &[&["a.b:0", "fine_-9"], &["", "é"], &["a/b/0"]],
        &expect![[r#"
            a_b_0 fine_-9
            call _
            a_b_0-2
        "#]],
    );
}

#[test]
fn anthropic_gets_every_id_once() {
    check_ids(
        &[&["c", "c"], &["c", "d"], &["c-2"], &["c"]],
        &expect![[r#"
            c c-3
            c-4 d
            c-2
            c-5
        "#]],
    );
}

#[test]
fn ids_that_are_fine_stay_when_others_would_become_them() {
    check_ids(
        &[&["a.b"], &["a_b"], &["a:b"]],
        &expect![[r#"
            a_b-2
            a_b
            a_b-3
        "#]],
    );
}

#[test]
fn anthropic_marks_the_block_before_trailing_reasoning() {
    let thinking = opaque("anthropic", r#"{"type":"redacted_thinking","data":"x"}"#);
    let history =
        [user(1, "hi"), reply(2, vec![ContentPart::Text("Hello.".into()), thinking], &[])];
    check(
        Wire::Anthropic,
        &history,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"text","text":"Hello.","cache_control":{"type":"ephemeral"}},{"type":"redacted_thinking","data":"x"}]}
            {"role":"user","content":[{"type":"text","text":"go on"}]}
        "#]],
    );
}

#[test]
fn anthropic_gets_results_and_the_text_behind_them_in_one_message() {
    let history = [
        user(1, "hi"),
        assistant(2, "Looking.", &[("c1", "{}"), ("c2", "{}")]),
        result(3, "c1", "snow"),
        result_of(4, "c2", vec![picture()]),
    ];
    check(
        Wire::Anthropic,
        &history,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"weather","input":{}},{"type":"tool_use","id":"c2","name":"weather","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"snow"}]},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="}}],"cache_control":{"type":"ephemeral"}},{"type":"text","text":"go on"}]}
        "#]],
    );
}

#[test]
fn anthropic_gets_no_blank_text() {
    let history = [
        user(1, "hi"),
        assistant(2, " \n", &[("c1", "{}")]),
        result(3, "c1", ""),
        assistant(4, "  ", &[]),
    ];
    check(
        Wire::Anthropic,
        &history,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"weather","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},{"type":"text","text":"go on"}]}
        "#]],
    );
}

#[test]
fn anthropic_conversations_begin_with_a_user_message() {
    let history = [assistant(1, "Good morning!", &[])];
    check(
        Wire::Anthropic,
        &history,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"[the conversation goes on]"}]}
            {"role":"assistant","content":[{"type":"text","text":"Good morning!","cache_control":{"type":"ephemeral"}}]}
            {"role":"user","content":[{"type":"text","text":"go on"}]}
        "#]],
    );
}

#[test]
fn openai_shows_images_of_results_in_a_user_message_behind_them() {
    let history = [
        user(1, "hi"),
        assistant(2, "", &[("c1", "{}"), ("c2", "{}")]),
        result_of(3, "c1", vec![ContentPart::Text("a map".into()), picture()]),
        result(4, "c2", "snow"),
        assistant(5, "Snow.", &[]),
    ];
    check(
        Wire::OpenAi,
        &history,
        &expect![[r#"
            {"role":"user","content":"hi"}
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"weather","arguments":"{}"}}]}
            {"role":"tool","content":"a map","tool_call_id":"c1"}
            {"role":"tool","content":"snow","tool_call_id":"c2"}
            {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0="}}]}
            {"role":"assistant","content":"Snow."}
            {"role":"user","content":"go on"}
        "#]],
    );
}

#[test]
fn texts_arrive_unchanged() {
    let text = "\"quoted\" \\ tab\t line\r\n\u{0}\u{1f}\u{2028} </script> é 🧑‍🚀 \u{feff}end ";
    let history = [user(1, text), assistant(2, text, &[("c1", "{}")]), result(3, "c1", text)];
    let request = plain_request(&history);
    for wire in [Wire::Ollama, Wire::OpenAi, Wire::Anthropic] {
        let sent = encode(wire, &options(), &request).to_string();
        let body: Value = serde_json::from_str(&sent).unwrap();
        let texts = match wire {
            Wire::Anthropic => {
                ["/0/content/0/text", "/1/content/0/text", "/2/content/0/content/0/text"]
            }
            _ => ["/0/content", "/1/content", "/2/content"],
        };
        for pointer in texts {
            assert_eq!(body["messages"].pointer(pointer), Some(&text.into()), "{wire:?} {pointer}");
        }
    }
}

#[test]
fn tools_that_stand_on_the_page_are_not_sent_again() {
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
    let request = rich_request(layout);
    assert!(!request.tools.is_empty());
    for wire in [Wire::Ollama, Wire::OpenAi, Wire::Anthropic] {
        let body = encode(wire, &options(), &request);
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None), "{wire:?}");
    }
}

#[test]
fn a_call_that_is_named_is_asked_for_as_far_as_the_wire_can_say_it() {
    let mut request = rich_request(PageLayout::default());
    request.tool_choice = ToolChoice::Named("weather".into());
    let choice = |wire| encode(wire, &options(), &request).get("tool_choice").cloned();
    assert_eq!(choice(Wire::Ollama), None);
    assert_eq!(choice(Wire::OpenAi), Some("required".into()));
    assert_eq!(choice(Wire::Anthropic), Some(json!({"type": "tool", "name": "weather"})));
    let calls = &encode(Wire::Embedded, &options(), &request)["calls"];
    assert_eq!((&calls["must"], &calls["tools"][0]["name"]), (&json!(true), &json!("weather")));
}

/// The page of a single tool that says nothing of itself.
fn untold_tool_request(tool: ToolSpec, layout: PageLayout) -> RequestContext {
    let session = [SessionItem { item: tool.id.clone(), joined: ItemOrigin::AtStart }];
    let catalog = Catalog { tools: vec![tool], ..Catalog::default() };
    let inputs = AssemblyInputs::new(&catalog, "go on").session(&session).mode(mode(Mode::Full));
    inputs.layout(layout).assemble().unwrap()
}

#[test]
fn a_tool_without_description_sends_none() {
    for description in ["", " \n"] {
        let tool = ToolSpec::new(ItemId::tool(None, "now"), description, json!({"type": "object"}));
        assert_eq!(
            &*tool.schema,
            r#"{"type":"function","function":{"name":"now","parameters":{"type":"object"}}}"#
        );
        let request = untold_tool_request(tool.clone(), PageLayout::default());
        for wire in [Wire::Ollama, Wire::OpenAi] {
            let tools = encode(wire, &options(), &request)["tools"].to_string();
            assert!(tools.contains("now") && !tools.contains("description"), "{wire:?} {tools}");
        }
        let tools = encode(Wire::Anthropic, &options(), &request)["tools"].clone();
        assert_eq!(tools[0]["name"], "now");
        assert_eq!(tools[0].get("description"), None);
        let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
        let page = encode(Wire::OpenAi, &options(), &untold_tool_request(tool, layout)).to_string();
        assert!(page.contains("### now") && !page.contains("### now\\n\\n\\n"), "{page}");
    }
}

#[test]
fn a_request_without_anything_optional_has_only_what_must_be_there() {
    let request = plain_request(&[]);
    let options = CallOptions { model: "m".to_owned(), ..CallOptions::default() };
    let body = |wire| encode(wire, &options, &request).to_string();
    expect![[r#"{"model":"m","messages":[{"role":"user","content":"go on"}],"stream":true,"truncate":false,"shift":false,"options":{"num_ctx":4096,"num_predict":1024}}"#]].assert_eq(&body(Wire::Ollama));
    expect![[r#"{"model":"m","messages":[{"role":"user","content":"go on"}],"max_tokens":1024,"stream":true,"stream_options":{"include_usage":true}}"#]].assert_eq(&body(Wire::OpenAi));
    expect![[r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"go on"}]}],"max_tokens":1024,"stream":true}"#]].assert_eq(&body(Wire::Anthropic));
}

#[test]
fn anthropic_marks_the_last_of_several_system_texts() {
    let layout = PageLayout { system_messages: SystemMessages::PerLayer, ..PageLayout::default() };
    let body = encode(Wire::Anthropic, &options(), &rich_request(layout));
    let system = body["system"].as_array().unwrap();
    let is_marked = |block: &Value| block.get("cache_control").is_some();
    assert!(system.len() > 1);
    assert_eq!(system.iter().position(is_marked), Some(system.len() - 1));
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
}

#[test]
fn wires_are_named_as_in_the_config() {
    for wire in [Wire::Ollama, Wire::OpenAi, Wire::Anthropic] {
        assert_eq!(serde_json::to_value(wire).unwrap(), wire.name());
    }
}

#[test]
fn names_that_a_model_made_up_go_back_in_a_form_that_servers_take() {
    // Strict servers refuse the whole conversation for one of them.
    let made_up = ["clock.utc_time", "", "rm\u{1b}[31m", &"x".repeat(5_000), "fine_name-1"];
    for name in made_up {
        let call = ToolCall { id: CallId("c1".into()), name: name.into(), arguments: "{}".into() };
        let body = MessageBody::Assistant { content: Vec::new(), calls: vec![call] };
        let history =
            [user(1, "hi"), Arc::new(Message { id: MessageId(2), body }), result(3, "c1", "no")];
        let sent = |wire| encode(wire, &options(), &plain_request(&history))["messages"][1].clone();
        let openai = sent(Wire::OpenAi)["tool_calls"][0]["function"]["name"].clone();
        let anthropic = sent(Wire::Anthropic)["content"][0]["name"].clone();
        let openai = openai.as_str().unwrap();
        assert_eq!(anthropic, openai);
        assert!((1..=64).contains(&openai.len()), "{openai}");
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        assert!(openai.bytes().all(is_safe), "{openai}");
    }
}

/// Promise: `replies-keep-to-rules`
#[test]
fn rules_for_a_reply_stand_in_each_wires_own_form() {
    let schema = ReplySchema {
        name: "a person".to_owned(),
        description: None,
        schema: Arc::new(json!({"type": "object"})),
        strict: Some(true),
    };
    let reply = ReplyRules {
        stop: vec!["END".to_owned(), "\n".to_owned()],
        format: Some(ReplyFormat::Schema(schema)),
        seed: Some(7),
        presence_penalty: Some(0.5),
        frequency_penalty: Some(-1.0),
    };
    let options = CallOptions { model: "m".to_owned(), reply, ..CallOptions::default() };
    let request = plain_request(&[]);
    let body = |wire| encode(wire, &options, &request);
    let openai = body(Wire::OpenAi);
    let format = json!({"name": "a_person", "schema": {"type": "object"}, "strict": true});
    assert_eq!(openai["response_format"], json!({"type": "json_schema", "json_schema": format}));
    assert_eq!((&openai["stop"], &openai["seed"]), (&json!(["END", "\n"]), &json!(7)));
    let ollama = body(Wire::Ollama);
    assert_eq!(ollama["format"], json!({"type": "object"}));
    for (name, value) in [("presence_penalty", 0.5), ("frequency_penalty", -1.0)] {
        assert_eq!((&openai[name], &ollama["options"][name]), (&json!(value), &json!(value)));
    }
    let settings = &ollama["options"];
    assert_eq!((&settings["stop"], &settings["seed"]), (&json!(["END", "\n"]), &json!(7)));
    let anthropic = body(Wire::Anthropic);
    assert_eq!(anthropic["stop_sequences"], json!(["END", "\n"]));
    assert_eq!((anthropic.get("seed"), anthropic.get("presence_penalty")), (None, None));
    let embedded = body(Wire::Embedded);
    assert_eq!(embedded["reply"]["format"]["schema"], json!({"type": "object"}));
    // What is recorded makes the same body again.
    let recorded: CallOptions =
        serde_json::from_value(serde_json::to_value(&options).unwrap()).unwrap();
    for wire in [Wire::OpenAi, Wire::Ollama, Wire::Anthropic, Wire::Embedded] {
        assert_eq!(encode(wire, &recorded, &request).to_string(), body(wire).to_string());
    }
}
