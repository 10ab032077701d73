//! A text taken out of what was said and sent, with a mark in its place.
//!
//! A redaction looks at texts alone: at what people, models, tools and files said, never at the
//! names and words in which Recto writes things down. So whatever was redacted is still a message or
//! a request like any other, and a request that is encoded anew gives a body without the text.

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
pub struct Redaction {
    /// The text as it is, as JSON writes it, and as JSON writes JSON that has it.
    forms: Vec<String>,
}

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
        let mut forms = vec![text.to_owned()];
        for _ in 0..2 {
            let written = forms.last().map_or_else(String::new, |form| as_json(form));
            if !forms.contains(&written) {
                forms.push(written);
            }
        }
        // What is longer first: it may hold what is shorter.
        forms.reverse();
        Ok(Redaction { forms })
    }

    /// Whether the text stands here, in whichever form.
    pub fn is_in(&self, text: &str) -> bool {
        self.forms.iter().any(|form| text.contains(form.as_str()))
    }

    /// A text without it; nothing where it is not there.
    pub fn text(&self, text: &str) -> Option<String> {
        if !self.is_in(text) {
            return None;
        }
        let take_out = |text: String, form: &String| text.replace(form.as_str(), Redaction::MARK);
        Some(self.forms.iter().fold(text.to_owned(), take_out))
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
            ContentPart::File(file) => match self.text(file.text()) {
                Some(text) => ContentPart::File(AttachedFile::new(file.name(), text)),
                None => part.clone(),
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

/// A text as JSON writes it, without the quotes around it.
fn as_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
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
        for text in ["I say \"zebra\" now", once, &twice] {
            let redacted = redaction.text(text).unwrap();
            assert!(
                redacted.contains(Redaction::MARK) && !redacted.contains("zebra"),
                "{redacted}"
            );
        }
        assert_eq!(redaction.text("a zebra"), None);
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
