//! Turns a server's answer to a call into text for the model.
//!
//! Pictures and sounds are noted, not told: models get text from tools. Keys that
//! Recto gave to the server are taken out, whether it succeeded or not.

use recto_context::grouped_digits;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::log::Redactor;
use crate::tool::{ToolError, ToolOutput};

/// What stands for kinds of content that came up later.
const UNKNOWN: &str = "[something that this version of Recto does not know]";

/// The text of a result, or the error that it tells of.
pub(super) fn tool_output(result: &CallToolResult, redact: &Redactor) -> ToolOutput {
    let text = redact.apply(&text(result));
    match result.is_error {
        Some(true) if text.is_empty() => Err(ToolError::new("the server gave no reason")),
        Some(true) => Err(ToolError::new(text)),
        _ => Ok(text),
    }
}

/// Texts joined by line breaks; structured content where there is nothing else.
fn text(result: &CallToolResult) -> String {
    if result.content.is_empty() {
        return match &result.structured_content {
            Some(value) => value.to_string(),
            None => String::new(),
        };
    }
    result.content.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn part(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => note("image", Some(&image.mime_type), &image.data),
        ContentBlock::Audio(audio) => note("audio", Some(&audio.mime_type), &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => format!("[link to {}: {}]", link.name, link.uri),
        _ => UNKNOWN.to_owned(),
    }
}

fn resource(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource {uri}]\n{text}")
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            note(&format!("resource {uri}"), mime_type.as_deref(), blob)
        }
        _ => UNKNOWN.to_owned(),
    }
}

/// What stands for data that is no text. The data is in base64.
fn note(what: &str, kind: Option<&str>, data: &str) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = grouped_digits(((data.len() - padding) * 3 / 4) as u64);
    match kind {
        Some(kind) => format!("[{what} {kind}, {bytes} bytes]"),
        None => format!("[{what}, {bytes} bytes]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn output(value: Value) -> ToolOutput {
        tool_output(&serde_json::from_value(value).unwrap(), &Redactor::for_key("s3cr3t-\"token\""))
    }

    #[test]
    fn texts_come_one_below_the_other() {
        let content = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(output(json!({"content": content})).unwrap(), "a\nb");
        assert_eq!(output(json!({"content": []})).unwrap(), "");
    }

    #[test]
    fn structured_content_is_told_where_there_is_no_other() {
        let value = json!({"content": [], "structuredContent": {"sum": 3}});
        assert_eq!(output(value).unwrap(), r#"{"sum":3}"#);
        let both = json!({
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"sum": 3},
        });
        assert_eq!(output(both).unwrap(), "3");
    }

    #[test]
    fn what_is_no_text_is_noted() {
        let content = json!([
            {"type": "image", "mimeType": "image/png", "data": "A".repeat(1_646) + "=="},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a://c", "blob": "AAA="}},
            {"type": "resource_link", "uri": "a://d", "name": "d"},
        ]);
        assert_eq!(
            output(json!({"content": content})).unwrap(),
            "[image image/png, 1,234 bytes]\n[audio audio/wav, 3 bytes]\n[resource a://b]\ninside\n\
             [resource a://c, 2 bytes]\n[link to d: a://d]"
        );
    }

    #[test]
    fn a_key_is_in_no_kind_of_result() {
        let key = "s3cr3t-\"token\"";
        let content = json!([
            {"type": "text", "text": format!("key={key};")},
            {"type": "text", "text": json!({ "key": key }).to_string()},
            {"type": "resource", "resource": {"uri": "a://b", "text": key}},
        ]);
        let expected = "key=…;\n{\"key\":\"…\"}\n[resource a://b]\n…";
        assert_eq!(output(json!({"content": content})).unwrap(), expected);
        let error = output(json!({"content": content, "isError": true})).unwrap_err();
        assert_eq!(error.to_string(), expected);
        let structured = json!({"content": [], "structuredContent": {"key": key}});
        assert_eq!(output(structured).unwrap(), "{\"key\":\"…\"}");
    }

    #[test]
    fn an_error_is_an_error() {
        let content = json!([{"type": "text", "text": "no such file"}]);
        let error = output(json!({"content": content, "isError": true})).unwrap_err();
        assert_eq!(error.to_string(), "no such file");
        let error = output(json!({"content": [], "isError": true})).unwrap_err();
        assert_eq!(error.to_string(), "the server gave no reason");
    }
}
