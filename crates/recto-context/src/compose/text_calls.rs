//! Tools, calls and results as text, for models whose server knows no tools:
//! how they are shown, and (in `read.rs`) how what the model wrote is read.

mod read;

use std::sync::Arc;

use crate::context::OfferedTool;
use crate::message::{ContentPart, Message, MessageBody};
use crate::text::Text;

pub use read::{read_calls, text_before_calls};

/// Stands before a call that a model writes.
const OPEN: &str = "<tool_call>";
/// Stands behind a call that a model writes.
const CLOSE: &str = "</tool_call>";

/// Stands before a result where the model's server knows no tools.
pub(super) fn result_lead(tool: &str) -> Text {
    format!("[result of {tool}]\n").into()
}

/// A message whose calls stand in its text, the way a model without native tool
/// calls is told to write them.
pub(super) fn calls_as_text(message: Arc<Message>) -> Arc<Message> {
    let content = match &message.body {
        MessageBody::Assistant { content, calls } if !calls.is_empty() => {
            let written = calls.iter().map(|call| {
                let name = serde_json::Value::from(&*call.name);
                let arguments = json_or_string(&call.arguments);
                let call = format!("{OPEN}{{\"name\": {name}, \"arguments\": {arguments}}}{CLOSE}");
                ContentPart::Text(call.into())
            });
            content.iter().cloned().chain(written).collect()
        }
        MessageBody::Tool { content, .. } => content.clone(),
        _ => return message,
    };
    let body = MessageBody::Assistant { content, calls: Vec::new() };
    Arc::new(Message { id: message.id, body })
}

/// Arguments as the model wrote them, if they are JSON; else as a JSON string.
fn json_or_string(arguments: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(arguments) {
        Ok(_) => arguments.to_owned(),
        Err(_) => serde_json::Value::from(arguments).to_string(),
    }
}

/// The docs of a tool for models that get tools as text.
pub(super) fn tool_doc(tool: &OfferedTool) -> Text {
    let spec = &tool.spec;
    let mut doc = format!("### {}", spec.called);
    if let Some(description) = &spec.description {
        doc.push('\n');
        doc.push_str(description);
    }
    let required = |name: &str| {
        let list = spec.parameters["required"].as_array();
        list.is_some_and(|list| list.iter().any(|entry| entry == name))
    };
    for (name, schema) in spec.parameters["properties"].as_object().into_iter().flatten() {
        let kind = schema["type"].as_str().unwrap_or("any");
        let need = if required(name) { "required" } else { "optional" };
        doc.push_str(&format!("\n- `{name}` ({kind}, {need})"));
        if let Some(description) = schema["description"].as_str() {
            doc.push_str(": ");
            doc.push_str(description);
        }
    }
    doc.into()
}
