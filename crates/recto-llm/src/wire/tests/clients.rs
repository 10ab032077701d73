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
    "#]],
    );
    check(
        Wire::OpenAi,
        PageLayout::default(),
        &expect![[r#"
    "#]],
    );
    check(
        Wire::Anthropic,
        PageLayout::default(),
        &expect![[r#"
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
    "#]],
    );
}
