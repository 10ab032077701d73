//! Anthropic's messages.
//!
//! A message is a list of blocks here, and roles take turns, so neighbours of
//! one role become one message: results with the user's text behind them, picks
//! with the message they came for. System texts stand apart from the messages.
//!
//! The cache keeps a prompt up to a mark. One stands at the end of the system
//! texts, which no turn changes, and one at the end of the history, which turns
//! only append to; four would be allowed.

mod decode;
mod ids;

use recto_context::{
    ChatMessage, ChatRole, ContentPart, ContentPiece, Image, Layer, OfferedTool, RequestContext,
    ToolCall, ToolChoice,
};
use serde_json::{Value, json};

use super::{
    CallOptions, JsonObject, Wire, arguments_object, layer, native_tools, own_opaque, safe_name,
    tool_choice,
};
pub(super) use decode::AnthropicDecoder;
use ids::CallIdMap;

/// Stands in front of a conversation that does not begin with a user message.
/// Anthropic refuses those, and leaving the reply out could part a result from
/// its call.
const OPENING: &str = "[the conversation goes on]";

pub(super) fn encode(options: &CallOptions, request: &RequestContext) -> Value {
    JsonObject::new()
        .with("model", options.model.as_str())
        .with_list("system", system(request))
        .with("messages", messages(request))
        .with_list("tools", native_tools(request).iter().map(tool).collect())
        .with_some("tool_choice", choice(request))
        .with("max_tokens", request.budget.reply.get())
        .with_some("temperature", options.temperature)
        .with_some("top_p", options.top_p)
        .with_texts("stop_sequences", &options.reply.stop)
        .with("stream", true)
        .into()
}

fn choice(request: &RequestContext) -> Option<Value> {
    match tool_choice(request) {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!({ "type": "any" })),
        ToolChoice::Named(name) => Some(json!({ "type": "tool", "name": &**name })),
    }
}

fn system(request: &RequestContext) -> Vec<Value> {
    let messages = request.messages.iter().filter(|message| is_system(message));
    let mut blocks: Vec<Value> = messages.flat_map(content).collect();
    mark_end(&mut blocks);
    blocks
}

fn is_system(message: &ChatMessage) -> bool {
    message.role == ChatRole::System
}

/// A message under construction: neighbouring blocks of one role.
struct RoleBlocks {
    role: ChatRole,
    blocks: Vec<Value>,
}

fn messages(request: &RequestContext) -> Vec<Value> {
    let history_end = request.messages.iter().rposition(|message| is_history(request, message));
    let mut ids = CallIdMap::new(&request.messages);
    let mut turns = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if is_system(message) {
            continue;
        }
        let mut blocks = blocks(message, &mut ids);
        if history_end == Some(index) {
            mark_end(&mut blocks);
        }
        append(&mut turns, role(message), blocks);
    }
    begin_with_user(&mut turns);
    let message = |turn: RoleBlocks| json!({ "role": turn.role.name(), "content": turn.blocks });
    turns.into_iter().map(message).collect()
}

fn is_history(request: &RequestContext, message: &ChatMessage) -> bool {
    layer(request, message) == Some(Layer::History)
}

/// Results are the user's to bring.
fn role(message: &ChatMessage) -> ChatRole {
    match message.role {
        ChatRole::Assistant => ChatRole::Assistant,
        _ => ChatRole::User,
    }
}

fn append(turns: &mut Vec<RoleBlocks>, role: ChatRole, blocks: Vec<Value>) {
    match turns.last_mut() {
        _ if blocks.is_empty() => {}
        Some(turn) if turn.role == role => turn.blocks.extend(blocks),
        _ => turns.push(RoleBlocks { role, blocks }),
    }
}

fn begin_with_user(turns: &mut Vec<RoleBlocks>) {
    if turns.first().is_some_and(|turn| turn.role != ChatRole::User) {
        let blocks = text(OPENING).into_iter().collect();
        turns.insert(0, RoleBlocks { role: ChatRole::User, blocks });
    }
}

fn blocks<'a>(message: &'a ChatMessage, ids: &mut CallIdMap<'a>) -> Vec<Value> {
    if let Some((id, _)) = &message.answers {
        return vec![result(&ids.answered_id(id), content(message))];
    }
    let calls = message.calls.iter().zip(ids.assign_calls(&message.calls));
    content(message).into_iter().chain(calls.map(|(made, id)| call(made, &id))).collect()
}

fn content(message: &ChatMessage) -> Vec<Value> {
    message.content.iter().filter_map(block).collect()
}

fn block(piece: &ContentPiece) -> Option<Value> {
    match piece {
        ContentPiece::Text(content) => text(content),
        ContentPiece::Other(ContentPart::Text(content)) => text(content),
        ContentPiece::Other(ContentPart::Image(shown)) => Some(image(shown)),
        ContentPiece::Other(ContentPart::Opaque(opaque)) => {
            own_opaque(Wire::Anthropic, opaque).map(Value::from)
        }
        // Files stand in the text.
        ContentPiece::Other(ContentPart::File(_)) => None,
    }
}

/// `None` for a text without a visible character: Anthropic refuses such blocks.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn image(image: &Image) -> Value {
    json!({
        "type": "image",
        "source": { "type": "base64", "media_type": &*image.media_type, "data": image.data.as_str() },
    })
}

fn call(call: &ToolCall, id: &str) -> Value {
    json!({
        "type": "tool_use",
        "id": id,
        "name": safe_name(&call.name),
        "input": arguments_object(call),
    })
}

fn result(id: &str, content: Vec<Value>) -> Value {
    JsonObject::new()
        .with("type", "tool_result")
        .with("tool_use_id", id)
        .with_list("content", content)
        .into()
}

fn tool(tool: &OfferedTool) -> Value {
    let spec = &tool.spec;
    JsonObject::new()
        .with("name", &*spec.called)
        .with_some("description", spec.description.as_deref())
        .with("input_schema", Value::clone(&spec.parameters))
        .into()
}

/// Marks the last block that may carry a mark: reasoning may not.
fn mark_end(blocks: &mut [Value]) {
    let last = blocks.iter_mut().rfind(|block| can_be_marked(block));
    if let Some(Value::Object(block)) = last {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

fn can_be_marked(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    matches!(kind, "text" | "image" | "tool_use" | "tool_result")
}
