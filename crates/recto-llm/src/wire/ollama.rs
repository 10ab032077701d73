//! Ollama's `/api/chat`.
//!
//! Ollama cuts a prompt that is longer than its window from the front, without
//! a word. So every request says how large the window is, and forbids both
//! ways of cutting: `truncate` before the reply and `shift` during it. Servers
//! that don't know the two ignore them.
//!
//! There is no `tool_choice` here, and results are matched with calls by their
//! order and the tool's name, not by ids.

mod decode;

use recto_context::{ChatMessage, RequestContext, ToolCall};
use serde_json::{Value, json};

use super::{CallOptions, JsonObject, Wire, arguments_object, function_tools, images, own_fields};
use crate::reply_rules::ReplyFormat;

pub(super) use decode::decode_line;

pub(super) fn encode(options: &CallOptions, request: &RequestContext) -> Value {
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    JsonObject::new()
        .with("model", options.model.as_str())
        .with("messages", messages)
        .with_list("tools", function_tools(request))
        .with_some("format", options.reply.format.as_ref().map(format))
        .with("stream", true)
        .with("truncate", false)
        .with("shift", false)
        .with("options", settings(options, request))
        .into()
}

fn settings(options: &CallOptions, request: &RequestContext) -> JsonObject {
    let rules = &options.reply;
    JsonObject::new()
        .with("num_ctx", request.window.tokens.get())
        .with("num_predict", request.budget.reply.get())
        .with_some("temperature", options.temperature)
        .with_some("top_p", options.top_p)
        .with_some("presence_penalty", rules.presence_penalty)
        .with_some("frequency_penalty", rules.frequency_penalty)
        .with_some("seed", rules.seed)
        .with_texts("stop", &rules.stop)
}

/// The form of a reply: a word for any JSON, or the schema itself.
fn format(format: &ReplyFormat) -> Value {
    match format {
        ReplyFormat::Json => "json".into(),
        ReplyFormat::Schema(schema) => Value::clone(&schema.schema),
    }
}

fn message(message: &ChatMessage) -> Value {
    let images = images(message).map(|image| image.data.as_str().into()).collect();
    let calls = message.calls.iter().map(call).collect();
    JsonObject::new()
        .with("role", message.role.name())
        .with("content", message.text())
        .with_list("images", images)
        .with_list("tool_calls", calls)
        .with_some("tool_name", message.answers.as_ref().map(|(_, name)| &**name))
        .with_new(own_fields(Wire::Ollama, message).filter(|(field, _)| !is_encoded(field)))
        .into()
}

/// The fields of a message that are written here, or that mean something to other
/// versions of the server. An opaque part could otherwise add calls that nothing
/// answers, or images.
const ENCODED: [&str; 6] = ["role", "content", "images", "tool_calls", "tool_call_id", "tool_name"];

/// Ollama ignores the case of names, and takes `ſ` for an `s`, so this does too.
fn is_encoded(field: &str) -> bool {
    let field = field.to_uppercase();
    ENCODED.iter().any(|name| name.to_uppercase() == field)
}

fn call(call: &ToolCall) -> Value {
    json!({ "function": { "name": &*call.name, "arguments": arguments_object(call) } })
}
