//! A text taken out of what was said and sent, with a mark in its place.
//!
//! A redaction looks at texts alone: at what people, models, tools and files said, never at the
//! names and words in which Recto writes things down. So whatever was redacted is still a message or
//! a request like any other, and a request that is encoded anew gives a body without the text.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::context::{OfferedTool, RequestContext};
use crate::item::Pick;
use crate::message::{
    AttachedFile, ContentPart, KeptPick, Message, MessageBody, Opaque, OpaqueKind, PickDisplay,
    ToolCall, UserMessage,
};
use crate::page::{Part, PartContent, render_messages};
use crate::text::Text;

/// A text that is to be nowhere any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction(String);

/// The reason why a text can't be redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// So short that it stands in words that have nothing to do with it.
    #[error("a text of fewer than {} characters stands in too much else", Redaction::SHORTEST)]
    TooShort,
    /// It would be found in the mark that stands in its place.
    #[error("it is a part of the mark `{}`", Redaction::MARK)]
    InMark,
}

impl Redaction {
    /// What stands in place of the text.
    pub const MARK: &'static str = "[redacted]";

    /// How many characters it has to have.
    pub const SHORTEST: usize = 4;

    /// Takes a text as it stands there, but for blanks around it.
    pub fn new(text: &str) -> Result<Self, RedactionError> {
        let text = text.trim();
        if text.chars().count() < Redaction::SHORTEST {
            return Err(RedactionError::TooShort);
        }
        if Redaction::MARK.contains(text) {
            return Err(RedactionError::InMark);
        }
        Ok(Redaction(text.to_owned()))
    }

    /// Whether the text stands here, as it is or as JSON may write it.
    pub fn is_in(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// A text without it; nothing where it is not there.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut found = self.find(text)?;
        let (mut redacted, mut rest) = (String::with_capacity(text.len()), text);
        loop {
            redacted.push_str(&rest[..found.start]);
            redacted.push_str(Redaction::MARK);
            rest = &rest[found.end..];
            found = match self.find(rest) {
                Some(found) => found,
                None => return Some(redacted + rest),
            };
        }
    }

    /// Where it stands first. A backslash in front of it may be half of an escape, which can't stay
    /// without its other half.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let first = self.0.chars().next()?;
        let mut places = text.char_indices().filter(|(_, c)| *c == first || *c == '\\');
        places.find_map(|(start, _)| {
            let rest = self.rest_behind(&text[start..])?;
            let start = if ends_in_open_escape(&text[..start]) { start - 1 } else { start };
            Some(start..text.len() - rest.len())
        })
    }

    /// What follows it in a text that begins with it.
    fn rest_behind<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut before = None;
        let mut rest = text;
        for wanted in self.0.chars() {
            rest = rest.strip_prefix(wanted).or_else(|| behind_escaped(rest, wanted, before))?;
            before = Some(wanted);
        }
        Some(rest)
    }

    /// JSON without it in any of its texts; keys are left alone. Nothing where it is not there.
    pub fn json(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => self.text(text).map(Value::String),
            Value::Array(list) => {
                let new: Vec<Option<Value>> = list.iter().map(|value| self.json(value)).collect();
                let is_changed = new.iter().any(Option::is_some);
                let pairs = new.into_iter().zip(list);
                is_changed
                    .then(|| pairs.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect())
            }
            Value::Object(fields) => {
                let mut new = fields.clone();
                let mut is_changed = false;
                for value in new.values_mut() {
                    if let Some(redacted) = self.json(value) {
                        (*value, is_changed) = (redacted, true);
                    }
                }
                is_changed.then_some(Value::Object(new))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    /// A message without it; nothing where it is not there.
    pub fn message(&self, message: &Message) -> Option<Message> {
        let body = match &message.body {
            MessageBody::User(user) => MessageBody::User(UserMessage {
                content: self.content(&user.content),
                picks: user.picks.iter().map(|pick| self.kept_pick(pick)).collect(),
                ..user.clone()
            }),
            MessageBody::Assistant { content, calls } => MessageBody::Assistant {
                content: self.content(content),
                calls: calls.iter().map(|call| self.call(call)).collect(),
            },
            MessageBody::Tool { call, name, content } => MessageBody::Tool {
                call: call.clone(),
                name: name.clone(),
                content: self.content(content),
            },
            MessageBody::Error(text) => MessageBody::Error(self.shared(text)),
            MessageBody::Approval(text) => MessageBody::Approval(self.shared(text)),
        };
        (body != message.body).then_some(Message { id: message.id, body })
    }

    /// A request without it; nothing where it is not there.
    pub fn request(&self, request: &RequestContext) -> Option<RequestContext> {
        let mut redacted = request.clone();
        for part in &mut redacted.parts {
            self.part(part);
        }
        redacted.tools.iter_mut().for_each(|tool| self.tool(tool));
        redacted.found.iter_mut().for_each(|pick| self.pick(pick));
        redacted.candidates.iter_mut().for_each(|pick| self.pick(pick));
        for entry in &mut redacted.descriptions {
            entry.text = self.shared(&entry.text);
        }
        for dropped in &mut redacted.dropped {
            if let Some(what) = self.text(&dropped.what) {
                dropped.what = what;
            }
        }
        let wanted = redacted.mode.wanted_call.as_mut();
        let (fact, words) = wanted.map(|call| (&mut call.fact, &mut call.matched)).unzip();
        if let Some((fact, text)) = fact.and_then(|fact| self.text(fact).map(|text| (fact, text))) {
            *fact = text.into();
        }
        for word in redacted.mode.matched.iter_mut().chain(words.into_iter().flatten()) {
            if let Some(text) = self.text(word) {
                *word = text;
            }
        }
        if let Some(sent) = self.message(&request.sent) {
            redacted.sent = Arc::new(sent);
        }
        if redacted == *request {
            return None;
        }
        redacted.messages = render_messages(&redacted.parts);
        Some(redacted)
    }

    /// A text without it, the same one where it is not there.
    fn shared(&self, text: &Text) -> Text {
        self.text(text).map_or_else(|| text.clone(), Text::from)
    }

    fn content(&self, content: &[ContentPart]) -> Vec<ContentPart> {
        let redacted: Vec<ContentPart> =
            content.iter().map(|part| self.content_part(part)).collect();
        if redacted == content {
            return redacted;
        }
        // Tokens that were generated say what the text said.
        let is_echo = |part: &ContentPart| matches!(part, ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo);
        redacted.into_iter().filter(|part| !is_echo(part)).collect()
    }

    fn content_part(&self, part: &ContentPart) -> ContentPart {
        match part {
            ContentPart::Text(text) => ContentPart::Text(self.shared(text)),
            ContentPart::File(file) => match (self.text(file.name()), self.text(file.text())) {
                (None, None) => part.clone(),
                (name, text) => {
                    let name = name.unwrap_or_else(|| file.name().to_string());
                    let text = text.map_or_else(|| file.text().clone(), Text::from);
                    ContentPart::File(AttachedFile::new(&name, text))
                }
            },
            ContentPart::Opaque(opaque) => {
                let json = self.shared(&opaque.json);
                ContentPart::Opaque(Opaque { json, ..opaque.clone() })
            }
            ContentPart::Image(_) => part.clone(),
        }
    }

    fn call(&self, call: &ToolCall) -> ToolCall {
        ToolCall { arguments: self.shared(&call.arguments), ..call.clone() }
    }

    fn kept_pick(&self, pick: &KeptPick) -> KeptPick {
        let shown = match &pick.shown {
            PickDisplay::Text(text) => PickDisplay::Text(self.shared(text)),
            PickDisplay::Line(line) => PickDisplay::Line(self.shared(line)),
            PickDisplay::Above => PickDisplay::Above,
        };
        KeptPick { shown, ..pick.clone() }
    }

    fn part(&self, part: &mut Part) {
        part.lead = self.shared(&part.lead);
        match &mut part.content {
            PartContent::Text(text) => *text = self.shared(text),
            PartContent::Message(message) => {
                if let Some(redacted) = self.message(message) {
                    *message = Arc::new(redacted);
                }
            }
        }
    }

    fn pick(&self, pick: &mut Pick) {
        let chunk = pick.best_chunk.as_deref().and_then(|chunk| self.text(chunk));
        if let Some(chunk) = chunk {
            pick.best_chunk = Some(chunk.into());
        }
    }

    fn tool(&self, tool: &mut OfferedTool) {
        let spec = &mut tool.spec;
        let description = spec.description.as_deref().and_then(|text| self.text(text));
        if let Some(description) = description {
            spec.description = Some(description.into());
        }
        if let Some(parameters) = self.json(&spec.parameters) {
            spec.parameters = Arc::new(parameters);
        }
        let schema = serde_json::from_str(&spec.schema).ok().and_then(|json| self.json(&json));
        if let Some(schema) = schema {
            spec.schema = schema.to_string().into();
        }
    }
}

/// What follows a character that a text begins with as JSON may write it: behind one backslash, or
/// behind several where JSON is a text of JSON.
fn behind_escaped(text: &str, wanted: char, before: Option<char>) -> Option<&str> {
    let escape = behind_backslashes(text)?;
    let letter = match wanted {
        '"' | '/' => wanted,
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        // The backslash that it follows is written as two.
        _ if before == Some('\\') => wanted,
        _ => return behind_units(escape, wanted),
    };
    escape.strip_prefix(letter).or_else(|| behind_units(escape, wanted))
}

/// Whether the last backslash of a text belongs to what follows.
fn ends_in_open_escape(text: &str) -> bool {
    let others = text.trim_end_matches('\\');
    (text.len() - others.len()) % 2 == 1
}

fn behind_backslashes(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('\\');
    (rest.len() < text.len()).then_some(rest)
}

/// What follows a character that is written by its number, or by two.
fn behind_units(escape: &str, wanted: char) -> Option<&str> {
    let mut units = [0; 2];
    let mut rest = escape;
    for (place, unit) in wanted.encode_utf16(&mut units).iter().enumerate() {
        rest = if place == 0 { rest } else { behind_backslashes(rest)? };
        let digits = rest.strip_prefix('u')?.get(..4)?;
        if u16::from_str_radix(digits, 16) != Ok(*unit) {
            return None;
        }
        rest = &rest[5..];
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{CallId, MessageId};

    fn redaction(text: &str) -> Redaction {
        Redaction::new(text).unwrap()
    }

    #[test]
    fn a_text_goes_in_every_form_that_it_is_written_in() {
        let redaction = redaction("say \"zebra\"");
        let once = "{\"a\":\"say \\\"zebra\\\" now\"}";
        let twice = json!({ "arguments": once }).to_string();
        let by_number = r#"{"a":"say \u0022\u007aebra\u0022"}"#;
        for text in ["I say \"zebra\" now", once, &twice, by_number] {
            let redacted = redaction.text(text).unwrap();
            assert!(
                redacted.contains(Redaction::MARK) && !redacted.contains("zebra"),
                "{redacted}"
            );
        }
        assert_eq!(redaction.text("a zebra"), None);
    }

    #[test]
    fn json_has_many_ways_to_write_a_text() {
        for (text, written) in [
            ("straße/7", r#"{"q":"stra\u00DFe\/7 now"}"#),
            ("blue 🦓 stripes", r#"{"q":"blue \ud83e\udd93 stripes now"}"#),
            (r"C:\zoo\new", r#"{"q":"C:\\zoo\\new now"}"#),
            ("one\ntwo", r#"{"q":"one\ntwo now"}"#),
        ] {
            let redacted = redaction(text).text(written);
            assert_eq!(redacted.as_deref(), Some(r#"{"q":"[redacted] now"}"#), "{text}");
        }
        assert_eq!(
            redaction("nothing").text(r#"{"q":"a\nothing"}"#).unwrap(),
            r#"{"q":"a[redacted]"}"#,
            "a path or a line break: it is gone, and what is left can be read"
        );
        assert_eq!(
            redaction("zebra").text("zebrazebra, a zebr").unwrap(),
            "[redacted][redacted], a zebr"
        );
    }

    #[test]
    fn the_name_of_a_file_goes_with_it() {
        let file = |name: &str| ContentPart::File(AttachedFile::new(name, "of stripes"));
        let told = |name: &str| MessageBody::Tool {
            call: CallId("c".into()),
            name: "read_file".into(),
            content: vec![file(name)],
        };
        let message = Message { id: MessageId(3), body: told("zebra.txt") };
        let redacted = redaction("zebra").message(&message).unwrap();
        assert_eq!(redacted.body, told("[redacted].txt"));
    }

    #[test]
    fn what_is_too_short_or_the_mark_itself_is_refused() {
        assert_eq!(Redaction::new(" abc "), Err(RedactionError::TooShort));
        assert_eq!(Redaction::new("redacted"), Err(RedactionError::InMark));
        assert!(Redaction::new("日本語文").is_ok());
    }

    #[test]
    fn only_texts_of_json_are_looked_at() {
        let value = json!({"user": ["the user", 1, {"user": "none"}]});
        let redacted = redaction("user").json(&value).unwrap();
        assert_eq!(redacted, json!({"user": ["the [redacted]", 1, {"user": "none"}]}));
        assert_eq!(redaction("nobody").json(&value), None);
    }

    #[test]
    fn a_message_is_the_same_but_for_the_text() {
        let call = ToolCall {
            id: CallId("c".into()),
            name: "zebra".into(),
            arguments: "{\"q\":\"zebra\"}".into(),
        };
        let echo =
            Opaque { provider: "embedded".into(), json: "[1,2]".into(), kind: OpaqueKind::Echo };
        let content = vec![ContentPart::Text("a zebra".into()), ContentPart::Opaque(echo)];
        let body = MessageBody::Assistant { content, calls: vec![call.clone()] };
        let message = Message { id: MessageId(3), body };
        let redacted = redaction("zebra").message(&message).unwrap();
        let expected = MessageBody::Assistant {
            content: vec![ContentPart::Text("a [redacted]".into())],
            calls: vec![ToolCall { arguments: "{\"q\":\"[redacted]\"}".into(), ..call }],
        };
        assert_eq!(redacted, Message { id: MessageId(3), body: expected });
        assert_eq!(redaction("horse").message(&message), None);
    }
}
