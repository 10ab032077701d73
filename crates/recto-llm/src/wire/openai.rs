//! Chat completions, in the dialect that OpenAI, LM Studio, llama.cpp and vLLM
//! have in common: `max_tokens` instead of its newer name, and plain strings
//! wherever a message holds nothing but text.

use recto_context::{
    ChatMessage, ChatRole, ContentPart, ContentPiece, Image, RequestContext, ToolCall,
};
use serde_json::{Value, json};

use super::{CallOptions, Object, Wire, function_tools, images, must_call, own_fields};

pub(super) fn encode(options: &CallOptions, request: &RequestContext) -> Value {
    Object::new()
        .with("model", options.model.as_str())
        .with("messages", messages(request))
        .with_list("tools", function_tools(request))
        .with_some("tool_choice", must_call(request).then_some("required"))
        .with("max_tokens", request.budget.reply.get())
        .with_some("temperature", options.temperature)
        .with_some("top_p", options.top_p)
        .with("stream", true)
        .with("stream_options", json!({ "include_usage": true }))
        .into()
}

fn messages(request: &RequestContext) -> Vec<Value> {
    let both_results = |a: &ChatMessage, b: &ChatMessage| is_result(a) && is_result(b);
    request.messages.chunk_by(both_results).flat_map(run).collect()
}

fn is_result(message: &ChatMessage) -> bool {
    message.role == ChatRole::Tool
}

/// A message alone, or results in a row. Results may hold only text on this
/// wire, and nothing may stand between them, so a user message behind the last
/// one shows their images.
fn run(run: &[ChatMessage]) -> Vec<Value> {
    let mut messages: Vec<Value> = run.iter().map(message).collect();
    let shown: Vec<Value> =
        run.iter().filter(|message| is_result(message)).flat_map(images).map(image).collect();
    if !shown.is_empty() {
        messages.push(json!({ "role": ChatRole::User.name(), "content": shown }));
    }
    messages
}

fn message(message: &ChatMessage) -> Value {
    Object::new()
        .with("role", message.role.name())
        .with("content", content(message))
        .with_list("tool_calls", message.calls.iter().map(call).collect())
        .with_some("tool_call_id", message.answers.as_ref().map(|(id, _)| &*id.0))
        .with_new(own_fields(Wire::OpenAi, message))
        .into()
}

fn content(message: &ChatMessage) -> Value {
    if !is_result(message) && images(message).next().is_some() {
        return message.content.iter().filter_map(part).collect();
    }
    let text = message.text();
    if text.is_empty() && !message.calls.is_empty() { Value::Null } else { text.into() }
}

fn part(piece: &ContentPiece) -> Option<Value> {
    match piece {
        ContentPiece::Text(content) => Some(text(content)),
        ContentPiece::Other(ContentPart::Text(content)) => Some(text(content)),
        ContentPiece::Other(ContentPart::Image(shown)) => Some(image(shown)),
        ContentPiece::Other(ContentPart::Opaque(_)) => None,
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// The arguments go back as the model wrote them, JSON or not.
fn call(call: &ToolCall) -> Value {
    json!({
        "id": &*call.id.0,
        "type": "function",
        "function": { "name": &*call.name, "arguments": call.arguments.as_str() },
    })
}
