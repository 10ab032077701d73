//! Messages into Markdown.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::lines::{BETWEEN, COMMENT, CommentKind, fence_for, role_heading, stands_plainly};
use super::{FORMAT, MarkdownHeader, MarkdownRetraction, TimedMessage, VERSION};
use crate::text::ContentHash;

/// Writes a whole conversation as Markdown.
pub fn to_markdown(
    header: &MarkdownHeader<'_>,
    messages: &[TimedMessage<'_>],
    retractions: &[MarkdownRetraction],
) -> String {
    let mut out = format!("# {}\n\n", one_line(header.title));
    let fields = json!({"format": FORMAT, "version": VERSION, "session": header.session});
    comment(&mut out, CommentKind::Session, &fields);
    out.push_str(&more_markdown(messages, retractions));
    out
}

/// Writes further messages, to be appended to a conversation that ends with a line feed, and
/// which exchanges were taken back: those of the messages behind them, others in front.
pub fn more_markdown(messages: &[TimedMessage<'_>], retractions: &[MarkdownRetraction]) -> String {
    let mut out = String::new();
    let is_here = |retraction: &&MarkdownRetraction| {
        messages.iter().any(|timed| timed.message.id == retraction.last)
    };
    for retraction in retractions.iter().filter(|retraction| !is_here(retraction)) {
        write_retraction(&mut out, retraction);
    }
    for timed in messages {
        write_message(&mut out, timed);
        let behind = retractions.iter().filter(|found| found.last == timed.message.id);
        behind.for_each(|retraction| write_retraction(&mut out, retraction));
    }
    out
}

fn write_retraction(out: &mut String, retraction: &MarkdownRetraction) {
    let MarkdownRetraction { first, last, reason, at } = retraction;
    out.push('\n');
    let fields = json!({"first": first, "last": last, "reason": reason, "at": at});
    comment(out, CommentKind::Retraction, &fields);
    let reason = one_line(reason);
    let _ = write!(out, "\n{RETRACTED}messages {} to {} (/{reason}).\n", first.0, last.0);
}

/// How the line begins that says of messages to people that they were taken back.
pub(super) const RETRACTED: &str = "> Taken back: ";

fn write_message(out: &mut String, timed: &TimedMessage<'_>) {
    // Everything that JSON has of a message stands in the comment, but for what people see.
    let Ok(Value::Object(mut fields)) = serde_json::to_value(timed.message) else { return };
    let parts = match fields.get("content") {
        Some(Value::Array(parts)) => parts.clone(),
        Some(text @ Value::String(_)) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    };
    let calls = fields.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
    fields.retain(|key, _| key != "content" && key != "tool_calls");
    fields.insert("at".to_owned(), timed.at.into());
    let role = fields.get("role").and_then(Value::as_str).unwrap_or_default();
    let is_result = role == "tool";
    let _ = write!(out, "\n## {}", role_heading(role));
    let name = fields.get("name").or_else(|| fields.get("speaker")).and_then(Value::as_str);
    for field in [name, Some(timed.shown)] {
        let field = field.map(one_line).filter(|field| !field.is_empty());
        let _ = field.map_or(Ok(()), |field| write!(out, "{BETWEEN}{field}"));
    }
    out.push_str("\n\n");

    let mut parts = parts.iter().peekable();
    let first = parts
        .next_if(|part| part["type"] == "text")
        .map(|part| TextBlock::from_part(part, is_result));
    if let Some(first) = &first {
        fields.insert(first.form.name().to_owned(), hash(first.text).into());
    }
    comment(out, CommentKind::Message, &Value::Object(fields));
    first.into_iter().for_each(|block| block.write(out));
    parts.for_each(|part| write_part(out, part, is_result));
    calls.iter().for_each(|call| write_call(out, call));
}

/// How a text stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    Plain,
    Fenced,
}

impl TextForm {
    pub(super) const ALL: [Self; 2] = [Self::Plain, Self::Fenced];

    /// The field that has the hash of a text in this form.
    pub(super) fn name(self) -> &'static str {
        match self {
            TextForm::Plain => "text",
            TextForm::Fenced => "fenced",
        }
    }
}

struct TextBlock<'a> {
    text: &'a str,
    form: TextForm,
}

impl<'a> TextBlock<'a> {
    /// What a tool gave is rarely meant as Markdown.
    fn from_part(part: &'a Value, is_result: bool) -> Self {
        let text = part["text"].as_str().unwrap_or_default();
        let plain = !is_result && stands_plainly(text);
        TextBlock { text, form: if plain { TextForm::Plain } else { TextForm::Fenced } }
    }

    fn write(&self, out: &mut String) {
        match self.form {
            TextForm::Plain => out.extend(["\n", self.text, "\n"]),
            TextForm::Fenced => fenced(out, "text", self.text),
        }
    }
}

fn fenced(out: &mut String, language: &str, text: &str) {
    let fence = fence_for(text);
    let _ = write!(out, "\n{fence}{language}\n{text}\n{fence}\n");
}

/// Enough of a text's hash to see that somebody changed it.
pub(super) fn hash(text: &str) -> String {
    let mut hex = ContentHash::of_bytes(text.as_bytes()).to_string();
    hex.truncate(16);
    hex
}

fn write_part(out: &mut String, part: &Value, is_result: bool) {
    out.push('\n');
    let mut fields = part.as_object().cloned().unwrap_or_default();
    fields.retain(|key, _| key != "type");
    let fields = fields.into();
    match part["type"].as_str() {
        Some("text") => {
            let block = TextBlock::from_part(part, is_result);
            comment(out, CommentKind::Text, &json!({block.form.name(): hash(block.text)}));
            block.write(out);
        }
        Some("image") => match image_line(part) {
            Some(line) => {
                let mut fields = json!({"media_type": part["media_type"]});
                if let Some(name) = part.get("name") {
                    fields["name"] = name.clone();
                }
                comment(out, CommentKind::Image, &fields);
                let _ = write!(out, "\n{line}\n");
            }
            None => comment(out, CommentKind::Image, &fields),
        },
        Some("file") => {
            let text = part["text"].as_str().unwrap_or_default();
            let fields = json!({"name": part["name"], TextForm::Fenced.name(): hash(text)});
            comment(out, CommentKind::File, &fields);
            fenced(out, "text", text);
        }
        Some("echo") => comment(out, CommentKind::Echo, &fields),
        _ => comment(out, CommentKind::Opaque, &fields),
    }
}

/// An image that viewers can draw, if nothing in it could be misread.
fn image_line(part: &Value) -> Option<String> {
    let (media_type, data) = (part["media_type"].as_str()?, part["data"].as_str()?);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"/+.-".contains(&byte);
    let is_data = |byte: u8| byte.is_ascii_alphanumeric() || b"/+=".contains(&byte);
    (media_type.bytes().all(is_name) && data.bytes().all(is_data))
        .then(|| format!("![image](data:{media_type};base64,{data})"))
}

fn write_call(out: &mut String, call: &Value) {
    let arguments = call["arguments"].as_str().unwrap_or_default();
    out.push('\n');
    let fields = json!({"id": call["id"], "name": call["name"], "arguments": hash(arguments)});
    comment(out, CommentKind::Call, &fields);
    let name = one_line(call["name"].as_str().unwrap_or_default()).replace('`', "'");
    let _ = write!(out, "\nCalls `{name}`:\n");
    fenced(out, "json", arguments);
}

/// A comment on a line of its own. JSON has angle brackets in strings only, and without
/// them nothing in it can end the comment.
fn comment(out: &mut String, kind: CommentKind, fields: &Value) {
    let json = fields.to_string().replace('<', "\\u003c").replace('>', "\\u003e");
    let _ = writeln!(out, "{COMMENT}{} {json} -->", kind.name());
}

/// A text for a heading.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ").trim().to_owned()
}
