//! A model that must call does, and every call can be read.

use recto_context::{
    CallId, ItemId, ItemKind, Mode, ModeDecision, ModeReason, ToolSpec, read_calls,
};
use recto_llm::FinishReason;
use serde_json::{Value, json};

use super::*;

fn tools() -> Vec<Value> {
    vec![
        json!({"name": "read_file", "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "from": {"type": "integer", "minimum": 1}},
            "required": ["path"]}}),
        json!({"name": "write_file", "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"},
            "mode": {"enum": ["create", "append"]}}, "required": ["path", "content", "mode"]}}),
        json!({"name": "now", "parameters": {"type": "object", "properties": {}}}),
    ]
}

/// The body of a request that must be answered by a call.
fn forced(talk: &Talk, message: &str, reply: u32) -> String {
    let mut body: Value = serde_json::from_str(&talk.body(message)).unwrap();
    body["calls"] = json!({"style": "page", "must": true, "tools": tools()});
    body["max_tokens"] = reply.into();
    body.to_string()
}

async fn call(talk: &Talk, message: &str, reply: u32) -> (String, Value) {
    let done = collect(talk.client.stream(forced(talk, message, reply))).await.unwrap();
    assert_eq!(done.finish, FinishReason::Stop, "{}", done.text());
    let (calls, rest) = read_calls(&done.text(), |place| CallId(place.to_string().into()));
    assert_eq!((calls.len(), rest.as_str()), (1, ""), "{}", done.text());
    let arguments = serde_json::from_str(&calls[0].arguments).unwrap();
    (calls[0].name.to_string(), arguments)
}

#[tokio::test]
async fn every_call_is_one_of_the_tools_with_what_it_needs() {
    let talk = Talk::new();
    for message in ["Read notes.txt", "Write 'hello' to a.txt", "What time is it?", "🙂", "Hm?"] {
        let (name, arguments) = call(&talk, message, 256).await;
        match name.as_str() {
            "read_file" => assert!(arguments["path"].is_string()),
            "write_file" => {
                assert!(arguments["path"].is_string() && arguments["content"].is_string());
                assert!(["create", "append"].contains(&arguments["mode"].as_str().unwrap()));
            }
            "now" => assert_eq!(arguments, json!({})),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_call_is_brought_to_its_end_before_the_room_is_used_up() {
    let talk = Talk::new();
    let message = "Write a very long poem about the sea, with many verses, to sea.txt";
    for room in [60, 80] {
        call(&talk, message, room).await;
    }
}

#[tokio::test]
async fn a_call_reads_back_as_the_tokens_that_were_generated() {
    let talk = Talk::new();
    let catalog = Catalog {
        tools: tools()
            .into_iter()
            .map(|tool| {
                let name = tool["name"].as_str().unwrap();
                let id = ItemId::new(ItemKind::Tool, name);
                ToolSpec::new(id, "A tool.", tool["parameters"].clone())
            })
            .collect(),
        ..Catalog::default()
    };
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
    let items = catalog.session_at_start();
    let mode = ModeDecision::new(Mode::Minimal, ModeReason::Marked);
    let inputs = AssemblyInputs::new(&catalog, "Read notes.txt")
        .message_id(MessageId(1))
        .session(&items)
        .mode(mode)
        .layout(layout)
        .window(Window::from_config(Tokens::new(2_048)));
    let request = inputs.assemble().unwrap();
    let body = encode(talk.client.wire(), &talk.call, &request);
    assert_eq!(body["calls"]["must"], true);
    let reply = collect(talk.client.stream_cached(talk.lane, body.to_string())).await.unwrap();
    let (calls, _) = read_calls(&reply.text(), |_| CallId("1".into()));
    let content: Vec<_> =
        reply.content.into_iter().filter(|part| part.as_text().is_none()).collect();
    let result = MessageBody::Tool {
        call: calls[0].id.clone(),
        name: calls[0].name.clone(),
        content: vec![recto_context::ContentPart::Text("It says hello.".into())],
    };
    let rounds = [
        Arc::new(Message { id: MessageId(2), body: MessageBody::Assistant { content, calls } }),
        Arc::new(Message { id: MessageId(3), body: result }),
    ];
    let next = inputs.clone().rounds(&rounds).assemble().unwrap();
    let body = encode(talk.client.wire(), &talk.call, &next);
    let spliced = body["prompt"].as_array().unwrap().iter().any(|each| each["tokens"].is_array());
    assert!(spliced, "{body:#}");
    let second = collect(talk.client.stream_cached(talk.lane, body.to_string())).await.unwrap();
    let read = reply.usage.prompt.unwrap() + reply.usage.completion.unwrap();
    assert!(second.usage.cached.unwrap() + 1 >= read, "{:?} {:?}", reply.usage, second.usage);
}

#[tokio::test]
async fn a_string_is_as_long_as_its_schema_allows() {
    let talk = Talk::new();
    let mut body: Value = serde_json::from_str(&talk.body(
        "Remember that my sister is called Ada, that she likes jazz, and that she lives in Lisbon",
    ))
    .unwrap();
    let tool = json!({"name": "remember", "parameters": {"type": "object", "properties": {
        "text": {"type": "string", "maxLength": 24}}, "required": ["text"]}});
    body["calls"] = json!({"style": "page", "must": true, "tools": [tool]});
    body["max_tokens"] = 400.into();
    let done = collect(talk.client.stream(body.to_string())).await.unwrap();
    let (calls, _) = read_calls(&done.text(), |place| CallId(place.to_string().into()));
    let arguments: Value = serde_json::from_str(&calls[0].arguments).unwrap();
    assert!(arguments["text"].as_str().unwrap().chars().count() <= 24, "{arguments}");
}

/// Promise: `nothing-repeats-to-the-limit`
#[tokio::test]
async fn a_call_that_goes_in_circles_is_brought_to_its_end() {
    let talk = Talk::new();
    let message = "Write the word jazz to a.txt, again and again and again: jazz jazz jazz jazz";
    let done = collect(talk.client.stream(forced(&talk, message, 900))).await.unwrap();
    let (calls, rest) = read_calls(&done.text(), |place| CallId(place.to_string().into()));
    assert_eq!((calls.len(), rest.as_str()), (1, ""), "{}", done.text());
    assert!(done.usage.completion.unwrap() < 800, "{:?} {}", done.finish, done.text());
}

/// Promise: `nothing-repeats-to-the-limit`
#[tokio::test]
async fn no_reply_says_an_earlier_one_again_word_for_word() {
    let mut talk = Talk::new();
    talk.reply = 48;
    let mut replies = Vec::new();
    for _ in 0..4 {
        replies.push(talk.say("Tell me about the sea.").await.text());
    }
    let mut told = replies.clone();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), replies.len(), "{replies:#?}");
}
