//! Chat completions, in the dialect that OpenAI, LM Studio, llama.cpp and vLLM
//! have in common: `max_tokens` instead of its newer name, and plain strings
//! wherever a message holds nothing but text.
//!
//! What the model thought is no part of that dialect. Servers that think want it
//! back as `reasoning_content`, and only while the turn goes on in which it was
//! thought: some do not go on without it. Stricter ones refuse a history that
//! holds it, and none wants `reasoning` back, under which others send it.

mod calls;
mod decode;

use recto_context::{
    ChatMessage, ChatRole, ContentPart, ContentPiece, Image, Layer, RequestContext, ToolCall,
    ToolChoice,
};
use serde_json::{Value, json};

use super::{
    CallOptions, JsonObject, Wire, arguments_object, function_tools, images, layer, object,
    own_fields, safe_name, tool_choice,
};
use crate::reply_rules::ReplyFormat;

pub(super) use decode::OpenAiDecoder;

pub(super) fn encode(options: &CallOptions, request: &RequestContext) -> Value {
    let rules = &options.reply;
    JsonObject::new()
        .with("model", options.model.as_str())
        .with("messages", messages(request))
        .with_list("tools", function_tools(request))
        .with_some("tool_choice", choice(request))
        .with("max_tokens", request.budget.reply.get())
        .with_some("temperature", options.temperature)
        .with_some("top_p", options.top_p)
        .with_some("presence_penalty", rules.presence_penalty)
        .with_some("frequency_penalty", rules.frequency_penalty)
        .with_some("seed", rules.seed)
        .with_texts("stop", &rules.stop)
        .with_some("response_format", rules.format.as_ref().map(response_format))
        .with("stream", true)
        .with("stream_options", json!({ "include_usage": true }))
        .into()
}

fn response_format(format: &ReplyFormat) -> Value {
    let schema = match format {
        ReplyFormat::Json => return json!({ "type": "json_object" }),
        ReplyFormat::Schema(schema) => schema,
    };
    let schema = JsonObject::new()
        .with("name", safe_name(&schema.name))
        .with_some("description", schema.description.as_deref())
        .with("schema", Value::clone(&schema.schema))
        .with_some("strict", schema.strict);
    json!({ "type": "json_schema", "json_schema": Value::from(schema) })
}

/// The words that such servers know: [`Wire::call_demand`] says why no tool is named.
fn choice(request: &RequestContext) -> Option<&'static str> {
    match tool_choice(request) {
        ToolChoice::Auto => None,
        ToolChoice::Required | ToolChoice::Named(_) => Some("required"),
    }
}

fn messages(request: &RequestContext) -> Vec<Value> {
    let both_results = |a: &ChatMessage, b: &ChatMessage| is_result(a) && is_result(b);
    request.messages.chunk_by(both_results).flat_map(|messages| run(request, messages)).collect()
}

fn is_result(message: &ChatMessage) -> bool {
    message.role == ChatRole::Tool
}

/// A message alone, or results in a row. Results may hold only text on this
/// wire, and nothing may stand between them, so a user message behind the last
/// one shows their images.
fn run(request: &RequestContext, run: &[ChatMessage]) -> Vec<Value> {
    let mut messages: Vec<Value> = run.iter().map(|each| message(request, each)).collect();
    let shown: Vec<Value> =
        run.iter().filter(|message| is_result(message)).flat_map(images).map(image).collect();
    if !shown.is_empty() {
        messages.push(json!({ "role": ChatRole::User.name(), "content": shown }));
    }
    messages
}

fn message(request: &RequestContext, message: &ChatMessage) -> Value {
    JsonObject::new()
        .with("role", message.role.name())
        .with("content", content(message))
        .with_list("tool_calls", message.calls.iter().map(call).collect())
        .with_some("tool_call_id", message.answers.as_ref().map(|(id, _)| &*id.0))
        .with_some(THOUGHT, thought(request, message))
        .into()
}

/// The field in which a thought of this turn goes back.
const THOUGHT: &str = "reasoning_content";

/// What the model thought before a call of this turn.
fn thought(request: &RequestContext, message: &ChatMessage) -> Option<Value> {
    let is_of_turn = layer(request, message) == Some(Layer::Rounds);
    let mut fields = own_fields(Wire::OpenAi, message).filter(|(field, _)| field == THOUGHT);
    is_of_turn.then(|| fields.next()).flatten().map(|(_, thought)| thought)
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
        // Files stand in the text.
        ContentPiece::Other(ContentPart::Opaque(_) | ContentPart::File(_)) => None,
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// Arguments go back as the model wrote them where they are a JSON object. Strict
/// servers refuse anything else, and would refuse the session from there on.
fn call(call: &ToolCall) -> Value {
    let arguments = match object(&call.arguments) {
        Some(_) => call.arguments.as_str().to_owned(),
        None => arguments_object(call).to_string(),
    };
    json!({
        "id": &*call.id.0,
        "type": "function",
        "function": { "name": safe_name(&call.name), "arguments": arguments },
    })
}
