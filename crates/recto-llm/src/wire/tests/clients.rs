//! A client's system text, history and tools in the shape of each wire, behind ours.

use expect_test::{Expect, expect};
use recto_context::{ClientContext, ClientTool, HistoryOwner};

use super::*;

/// A turn that goes on: a client's history, its call and the result that it brought.
fn client_request(layout: PageLayout) -> RequestContext {
    let tool =
        ToolSpec::new(ItemId::tool(None, "time"), "Tells the time.", json!({"type": "object"}));
    let catalog = Catalog { tools: vec![tool], ..Catalog::default() };
    let client = ClientContext {
        system: vec!["You sell boats.".into()],
        tools: vec![ClientTool {
            name: "time".into(),
            description: "Tells the client's time.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }],
        ..ClientContext::default()
    };
    let (system, tools) = (client.system_texts(), client.tool_specs(&catalog));
    let call =
        ToolCall { id: CallId("c1".into()), name: tools[0].called.clone(), arguments: "{}".into() };
    let body = MessageBody::Assistant { content: Vec::new(), calls: vec![call.clone()] };
    let answer = MessageBody::Tool {
        call: call.id,
        name: call.name,
        content: vec![ContentPart::Text("noon".into())],
    };
    let history = [user(1, "hi"), assistant(2, "ahoy", &[])];
    let rounds = [
        Arc::new(Message { id: MessageId(4), body }),
        Arc::new(Message { id: MessageId(5), body: answer }),
    ];
    let session = catalog.session_at_start();
    let layout = PageLayout { preset: LayoutPreset::Plain, ..layout };
    AssemblyInputs::new(&catalog, "what time?")
        .message_id(MessageId(3))
        .session(&session)
        .history(&history)
        .rounds(&rounds)
        .history_owner(HistoryOwner::Client)
        .client_system(&system)
        .client_tools(&tools)
        .layout(layout)
        .assemble()
        .unwrap()
}

fn check(wire: Wire, layout: PageLayout, expected: &Expect) {
    let options = CallOptions { model: "m".to_owned(), ..CallOptions::default() };
    let body = encode(wire, &options, &client_request(layout));
    expected.assert_eq(&format!("{body}\n"));
}

#[test]
fn a_clients_turn_on_each_wire() {
    check(
        Wire::Ollama,
        PageLayout::default(),
        &expect![[r#"
            {"model":"m","messages":[{"role":"system","content":"You sell boats.\n\n"},{"role":"user","content":"hi"},{"role":"assistant","content":"ahoy"},{"role":"user","content":"what time?"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"client_time","arguments":{}}}]},{"role":"tool","content":"noon","tool_name":"client_time"}],"tools":[{"type":"function","function":{"name":"time","description":"Tells the time.","parameters":{"type":"object"}}},{"type":"function","function":{"name":"client_time","description":"Tells the client's time.","parameters":{"type":"object","properties":{}}}}],"stream":true,"truncate":false,"shift":false,"options":{"num_ctx":4096,"num_predict":1024}}
        "#]],
    );
    check(
        Wire::OpenAi,
        PageLayout::default(),
        &expect![[r#"
            {"model":"m","messages":[{"role":"system","content":"You sell boats.\n\n"},{"role":"user","content":"hi"},{"role":"assistant","content":"ahoy"},{"role":"user","content":"what time?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"client_time","arguments":"{}"}}]},{"role":"tool","content":"noon","tool_call_id":"c1"}],"tools":[{"type":"function","function":{"name":"time","description":"Tells the time.","parameters":{"type":"object"}}},{"type":"function","function":{"name":"client_time","description":"Tells the client's time.","parameters":{"type":"object","properties":{}}}}],"max_tokens":1024,"stream":true,"stream_options":{"include_usage":true}}
        "#]],
    );
    check(
        Wire::Anthropic,
        PageLayout::default(),
        &expect![[r#"
            {"model":"m","system":[{"type":"text","text":"You sell boats.\n\n","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"ahoy","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"text","text":"what time?"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"client_time","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"noon"}]}]}],"tools":[{"name":"time","description":"Tells the time.","input_schema":{"type":"object"}},{"name":"client_time","description":"Tells the client's time.","input_schema":{"type":"object","properties":{}}}],"max_tokens":1024,"stream":true}
        "#]],
    );
}

#[test]
fn a_clients_turn_where_calls_are_written_as_text() {
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
    check(
        Wire::OpenAi,
        layout,
        &expect![[r#"
            {"model":"m","messages":[{"role":"system","content":"You sell boats.\n\n### time\nTells the time.\n\n### client_time\nTells the client's time.\n\nTo call a tool, answer with <tool_call>{\"name\": \"TOOL\", \"arguments\": {…}}</tool_call> and nothing else.\n\n"},{"role":"user","content":"hi"},{"role":"assistant","content":"ahoy"},{"role":"user","content":"what time?"},{"role":"assistant","content":"<tool_call>{\"name\": \"client_time\", \"arguments\": {}}</tool_call>"},{"role":"user","content":"[result of client_time]\nnoon"}],"max_tokens":1024,"stream":true,"stream_options":{"include_usage":true}}
        "#]],
    );
}
