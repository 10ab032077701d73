//! A text taken out of what was said and sent, with a mark in its place.
//!
//! A redaction looks at texts alone: at what people, models, tools and files said, never at the
//! names and words in which Recto writes things down. So whatever was redacted is still a message or
//! a request like any other, and a request that is encoded anew gives a body without the text.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::context::{OfferedTool, RequestContext};
use crate::item::{Pick, RespelledWord};
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
    /// without its other half. Of a run of backslashes only the first is a place where it can begin:
    /// whatever begins within the run begins there, too.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let first = self.0.chars().next()?;
        let mut before = None;
        let mut places = text.char_indices().filter(|(_, c)| {
            let is_within_run = *c == '\\' && before == Some('\\');
            before = Some(*c);
            (*c == first || *c == '\\') && !is_within_run
        });
        places.find_map(|(start, _)| {
            let rest = self.rest_behind(&text[start..])?;
            Some(begin_of_escape(text, start)..text.len() - rest.len())
        })
    }

    /// What follows it in a text that begins with it.
    fn rest_behind<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut rest = text;
        let mut backslashes = 0;
        for wanted in self.0.chars() {
            if wanted == '\\' {
                backslashes += 1;
                continue;
            }
            if backslashes > 0 {
                rest = behind_backslashes(rest, backslashes)?;
            }
            let plain = rest.strip_prefix(wanted);
            let escaped = plain.or_else(|| behind_escaped(rest, wanted));
            // The last of the backslashes may have been those of its escape.
            let shared = || (backslashes > 0).then(|| behind_letter(rest, wanted)).flatten();
            rest = escaped.or_else(shared)?;
            backslashes = 0;
        }
        match backslashes {
            0 => Some(rest),
            count => behind_last_backslashes(rest, count),
        }
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
        self.words(&mut redacted.mode.matched);
        if let Some(call) = &mut redacted.mode.wanted_call {
            if let Some(fact) = self.text(&call.fact) {
                call.fact = fact.into();
            }
            self.words(&mut call.matched);
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

    fn words(&self, words: &mut [String]) {
        for word in words {
            if let Some(text) = self.text(word) {
                *word = text;
            }
        }
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
        let redacted = |text: &Arc<str>| self.text(text).map_or_else(|| text.clone(), Into::into);
        let words = pick
            .put_right
            .iter()
            .map(|word| RespelledWord { typed: redacted(&word.typed), read: redacted(&word.read) });
        pick.put_right = words.collect();
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
fn behind_escaped(text: &str, wanted: char) -> Option<&str> {
    let escape = text.trim_start_matches('\\');
    (escape.len() < text.len()).then_some(escape).and_then(|escape| behind_letter(escape, wanted))
}

/// What follows a character that stands behind the backslashes of its escape: as a letter, or by its
/// number.
fn behind_letter(escape: &str, wanted: char) -> Option<&str> {
    let letter = match wanted {
        '"' | '/' => Some(wanted),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        _ => None,
    };
    let behind = letter.and_then(|letter| escape.strip_prefix(letter));
    behind.or_else(|| behind_units(escape, wanted))
}

/// Whether a character means something behind a backslash of JSON.
fn is_escapable(c: char) -> bool {
    matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')
}

/// Where the escape begins that a place of a text is within: there, where it is in none. In JSON that
/// is a text of JSON, an even number of backslashes can be one.
fn begin_of_escape(text: &str, place: usize) -> usize {
    let before = text[..place].trim_end_matches('\\').len();
    match place - before {
        _ if text[place..].starts_with(is_escapable) => before,
        run if run % 2 == 1 => place - 1,
        _ => place,
    }
}

/// What follows so many backslashes, each as it is, as several, or by its number. The whole run
/// counts: its last ones may escape what follows.
fn behind_backslashes(text: &str, count: usize) -> Option<&str> {
    let (mut rest, mut wanted) = (text, count);
    loop {
        let behind = rest.trim_start_matches('\\');
        let run = rest.len() - behind.len();
        let is_numbered = run > 0 && behind_units(behind, '\\').is_some();
        rest = behind_units(behind, '\\').filter(|_| is_numbered).unwrap_or(behind);
        wanted = wanted.saturating_sub(run);
        match (wanted, run) {
            (0, _) => return Some(rest),
            (_, 0) => return None,
            _ => {}
        }
    }
}

/// What follows so many backslashes at the end of the text that is looked for. They are as many in a
/// text, or twice as many in JSON, or four times; what is left of the run is what escapes the next
/// character.
fn behind_last_backslashes(text: &str, count: usize) -> Option<&str> {
    let behind = text.trim_start_matches('\\');
    let run = text.len() - behind.len();
    if run < count || behind_units(behind, '\\').is_some() {
        return behind_backslashes(text, count);
    }
    let mut taken = count;
    while taken * 2 <= run {
        taken *= 2;
    }
    // One alone may be the next character's.
    if taken % 2 == 1 && (taken < run || behind.starts_with(is_escapable)) {
        taken -= 1;
    }
    Some(&text[taken..])
}

/// What follows a character that is written by its number, or by two.
fn behind_units(escape: &str, wanted: char) -> Option<&str> {
    let mut units = [0; 2];
    let mut rest = escape;
    for (place, unit) in wanted.encode_utf16(&mut units).iter().enumerate() {
        if place > 0 {
            let behind = rest.trim_start_matches('\\');
            rest = (behind.len() < rest.len()).then_some(behind)?;
        }
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
            (r"C:\zoo\new", r#"{"q":"C:\u005czoo\u005Cnew now"}"#),
            ("\\\"zebra", r#"{"q":"\\\"zebra now"}"#),
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

    /// What is left can be read as what it was, whichever way the end of the text is written.
    #[test]
    fn a_text_that_ends_in_a_backslash_leaves_json_whole() {
        let redaction = |text| Redaction::new(text).unwrap();
        let whole = redaction(r"C:\secret\");
        let followed = ["", "\"q", "\nq", "\\q", " q"].map(|rest| format!("in C:\\secret\\{rest}"));
        for value in &followed {
            let once = json!([value]).to_string();
            let twice = json!([once]).to_string();
            let by_number = once.replace(r"\\", r"\u005c");
            for text in [value, &once, &twice, &by_number] {
                let redacted = whole.text(text).unwrap();
                assert!(!redacted.contains("secret"), "{redacted}");
            }
            let read = |text: &str| -> Vec<String> {
                serde_json::from_str(&whole.text(text).unwrap())
                    .unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            assert!(read(&once)[0].contains(Redaction::MARK));
            assert!(read(&by_number)[0].contains(Redaction::MARK));
            let inner: Vec<String> = serde_json::from_str(&read(&twice)[0]).unwrap();
            assert!(inner[0].contains(Redaction::MARK), "{inner:?}");
        }
        // What only seems to end in one, in JSON and as it is.
        let ends = redaction(r"secret\");
        assert_eq!(ends.text(r#"["my secret\"s"]"#).unwrap(), r#"["my [redacted]\"s"]"#);
        assert_eq!(ends.text(r"my secret\ zoo").unwrap(), "my [redacted] zoo");
    }

    #[test]
    fn half_an_escape_goes_with_what_it_is_the_other_half_of() {
        let twice = json!([json!(["a\nothing"]).to_string()]).to_string();
        let redacted = redaction("nothing").text(&twice).unwrap();
        let outer: Vec<String> = serde_json::from_str(&redacted).unwrap();
        let inner: Vec<String> = serde_json::from_str(&outer[0]).unwrap();
        assert_eq!(inner, ["a[redacted]"]);
    }

    /// It took minutes, when each backslash was a place to begin at.
    #[test]
    fn a_long_run_of_backslashes_is_read_once() {
        let text = "\\".repeat(400_000);
        assert_eq!(redaction("zebra").text(&text), None);
        assert_eq!(redaction(r"\zebra").text(&text), None);
        assert_eq!(redaction(r"zebra\").text(&format!("{text}zebra\\")).unwrap().len(), 400_010);
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
