//! The page as the model reads it, part by part: every text as it was sent, and where it is from.

use recto_context::{ChatMessage, ContentPiece, Part, PartSpan, RequestContext, ToolCalls};
use serde_json::{Value, json};

/// The texts of a request with their sources: the schemas of its tools, and its messages.
pub fn page_text_json(request: &RequestContext) -> Value {
    // Where tools stand on the page as text, that text is all that the model reads of them.
    let as_schemas = request.tool_calls == ToolCalls::Native;
    let tools = request.tools.iter().filter(|_| as_schemas).map(|tool| {
        json!({
            "name": &*tool.spec.id.name,
            "server": tool.spec.id.server.as_deref(),
            "source": tool.spec.source.to_string(),
            "tokens": tool.tokens,
            "text": tool.spec.schema.as_str(),
        })
    });
    json!({
        "model": &*request.model,
        "tools": tools.collect::<Vec<_>>(),
        "messages": request.messages.iter().map(|message| message_text(request, message)).collect::<Vec<_>>(),
    })
}

fn message_text(request: &RequestContext, message: &ChatMessage) -> Value {
    let text = match message.content.first() {
        Some(ContentPiece::Text(text)) => text.as_str(),
        _ => "",
    };
    let part = |span: &PartSpan| {
        let part = request.parts.get(span.part)?;
        Some(part_text(part, text.get(span.bytes.clone()).unwrap_or_default()))
    };
    let calls = message.calls.iter().map(|call| {
        json!({"id": &*call.id.0, "name": &*call.name, "arguments": call.arguments.as_str()})
    });
    json!({
        "role": message.role.name(),
        "parts": message.spans.iter().filter_map(part).collect::<Vec<_>>(),
        "calls": calls.collect::<Vec<_>>(),
    })
}

/// A part with its text: its lead, and the line breaks that join it to the part before, included.
fn part_text(part: &Part, text: &str) -> Value {
    json!({
        "layer": part.layer,
        "kind": part.kind(),
        "name": part.name(),
        "source": part.source.to_string(),
        "reason": part.reason.describe(),
        "tokens": part.tokens,
        "text": text,
    })
}
