//! Messages as JSON: one form to write, and a lenient reader for the forms
//! that people and other programs have.
//!
//! Read are `content` as a string or a list of parts, calls as `{id, name,
//! arguments}` or nested in `function` as OpenAI and Ollama write them, and
//! results by `tool_call_id` or, where a server gives no ids, by order.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{
    Body, CallId, ContentPart, Framing, Image, KeptPick, Message, MessageId, Opaque, Shown, Stamp,
    ToolCall, TurnNumber, UserMessage,
};
use crate::item::ItemId;
use crate::text::Text;

/// A line of a history file that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct HistoryProblem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads a history of one JSON message a line; blank lines are skipped.
/// Messages are numbered in order unless every one of them brings its own,
/// growing id. All lines that can't be read are reported at once.
pub fn read_jsonl(text: &str) -> Result<Vec<Arc<Message>>, Vec<HistoryProblem>> {
    let mut reader = HistoryReader::default();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Err(problem) = reader.read(line) {
            reader.problems.push(HistoryProblem { line: index + 1, problem });
        }
    }
    if reader.problems.is_empty() { Ok(reader.finish()) } else { Err(reader.problems) }
}

#[derive(Default)]
struct HistoryReader {
    messages: Vec<Message>,
    given_ids: Vec<Option<u64>>,
    /// Calls that no result has answered yet, oldest first.
    open_calls: VecDeque<(CallId, Arc<str>)>,
    problems: Vec<HistoryProblem>,
}

impl HistoryReader {
    fn read(&mut self, line: &str) -> Result<(), String> {
        let raw: RawMessage = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let given = raw.id;
        let number = self.messages.len() as u64 + 1;
        let body = self.body(raw, number)?;
        self.messages.push(Message { id: MessageId(number), body });
        self.given_ids.push(given);
        Ok(())
    }

    fn body(&mut self, raw: RawMessage, number: u64) -> Result<Body, String> {
        match raw.role.as_str() {
            "user" => Ok(Body::User(UserMessage {
                content: raw.content.into_parts(),
                stamp: raw.stamp.as_deref().map(Stamp::new),
                framing: raw.framing,
                picks: raw.picks.into_iter().map(KeptPick::from).collect(),
            })),
            "assistant" => {
                let calls = raw.tool_calls.into_iter().enumerate();
                let calls: Vec<_> = calls.map(|(n, call)| call.into_call(number, n)).collect();
                self.open_calls
                    .extend(calls.iter().map(|call| (call.id.clone(), call.name.clone())));
                Ok(Body::Assistant { content: raw.content.into_parts(), calls })
            }
            "tool" => {
                let (call, name) = self.answered_call(raw.tool_call_id, raw.name, number);
                Ok(Body::Tool { call, name, content: raw.content.into_parts() })
            }
            "error" => Ok(Body::Error(raw.content.into_text())),
            "approval" => Ok(Body::Approval(raw.content.into_text())),
            "system" => Err("a history holds no system messages: Recto makes them".to_owned()),
            other => Err(format!(
                "unknown role `{other}`; known are user, assistant, tool, error, approval"
            )),
        }
    }

    /// The call that a result answers: the one it names, or the oldest open one.
    fn answered_call(
        &mut self,
        id: Option<String>,
        name: Option<String>,
        number: u64,
    ) -> (CallId, Arc<str>) {
        let position = match &id {
            Some(id) => self.open_calls.iter().position(|(open, _)| *open.0 == **id),
            None => self
                .open_calls
                .iter()
                .position(|(_, open)| name.as_deref().is_none_or(|name| **open == *name)),
        };
        let open = position.and_then(|at| self.open_calls.remove(at));
        let fallback = || CallId(Arc::from(format!("result_{number}")));
        let (open_id, open_name) = open.unzip();
        let id = id.map(|id| CallId(id.into())).or(open_id).unwrap_or_else(fallback);
        (id, name.map(Arc::from).or(open_name).unwrap_or_else(|| Arc::from("tool")))
    }

    fn finish(mut self) -> Vec<Arc<Message>> {
        let given: Option<Vec<u64>> = self.given_ids.iter().copied().collect();
        if let Some(ids) = given.filter(|ids| ids.is_sorted_by(|a, b| a < b)) {
            for (message, id) in self.messages.iter_mut().zip(ids) {
                message.id = MessageId(id);
            }
        }
        self.messages.into_iter().map(Arc::new).collect()
    }
}

/// A message in any of the forms that are read.
#[derive(Deserialize)]
struct RawMessage {
    role: String,
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    content: RawContent,
    #[serde(default, deserialize_with = "null_as_default")]
    tool_calls: Vec<RawCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default, alias = "tool_name")]
    name: Option<String>,
    #[serde(default)]
    stamp: Option<String>,
    #[serde(default)]
    framing: Framing,
    #[serde(default)]
    picks: Vec<RawPick>,
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum RawContent {
    Text(String),
    Parts(Vec<RawPart>),
    #[default]
    Null,
}

impl RawContent {
    fn into_parts(self) -> Vec<ContentPart> {
        match self {
            RawContent::Text(text) => vec![ContentPart::Text(text.into())],
            RawContent::Parts(parts) => parts.into_iter().map(ContentPart::from).collect(),
            RawContent::Null => Vec::new(),
        }
    }

    fn into_text(self) -> Text {
        let parts = self.into_parts();
        let texts: Vec<&str> = parts.iter().filter_map(|p| p.as_text().map(Text::as_str)).collect();
        texts.concat().into()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RawPart {
    Text { text: Text },
    Image(Image),
    Opaque(Opaque),
}

impl From<RawPart> for ContentPart {
    fn from(raw: RawPart) -> Self {
        match raw {
            RawPart::Text { text } => ContentPart::Text(text),
            RawPart::Image(image) => ContentPart::Image(image),
            RawPart::Opaque(opaque) => ContentPart::Opaque(opaque),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawCall {
    Nested {
        id: Option<String>,
        function: RawFunction,
    },
    Flat {
        id: Option<String>,
        #[serde(flatten)]
        function: RawFunction,
    },
}

#[derive(Deserialize)]
struct RawFunction {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl RawCall {
    fn into_call(self, message: u64, index: usize) -> ToolCall {
        let (RawCall::Nested { id, function } | RawCall::Flat { id, function }) = self;
        let id = id.unwrap_or_else(|| format!("call_{message}_{index}"));
        let arguments = match function.arguments {
            Value::String(json) => json,
            Value::Null => "{}".to_owned(),
            object => object.to_string(),
        };
        ToolCall { id: CallId(id.into()), name: function.name.into(), arguments: arguments.into() }
    }
}

#[derive(Serialize, Deserialize)]
struct RawPick {
    item: ItemId,
    since: TurnNumber,
    /// Absent when the item only was named as standing above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
}

impl From<RawPick> for KeptPick {
    fn from(raw: RawPick) -> Self {
        let shown = raw.text.map_or(Shown::Above, Shown::Text);
        KeptPick { item: raw.item, since: raw.since, shown }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenMessage::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawMessage::deserialize(deserializer)?;
        let id = MessageId(raw.id.unwrap_or_default());
        let body = HistoryReader::default().body(raw, id.0).map_err(serde::de::Error::custom)?;
        Ok(Message { id, body })
    }
}

/// A message in the form that is written.
#[derive(Serialize)]
struct WrittenMessage<'a> {
    id: MessageId,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<&'a Stamp>,
    #[serde(skip_serializing_if = "is_plain")]
    framing: Framing,
    content: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    picks: Vec<RawPick>,
}

fn is_plain(framing: &Framing) -> bool {
    *framing == Framing::Plain
}

impl<'a> WrittenMessage<'a> {
    fn of(message: &'a Message) -> Self {
        let mut written = WrittenMessage {
            id: message.id,
            role: "user",
            stamp: None,
            framing: Framing::Plain,
            content: content_json(message.content()),
            tool_calls: message.calls().iter().map(call_json).collect(),
            tool_call_id: None,
            name: None,
            picks: Vec::new(),
        };
        match &message.body {
            Body::User(user) => {
                written.stamp = user.stamp.as_ref();
                written.framing = user.framing;
                written.picks = user.picks.iter().map(raw_pick).collect();
            }
            Body::Assistant { .. } => written.role = "assistant",
            Body::Tool { call, name, .. } => {
                written.role = "tool";
                written.tool_call_id = Some(call);
                written.name = Some(name);
            }
            Body::Error(text) => (written.role, written.content) = ("error", text.as_str().into()),
            Body::Approval(text) => {
                (written.role, written.content) = ("approval", text.as_str().into());
            }
        }
        written
    }
}

/// A lone text as a string, as everybody writes it; anything else as parts.
pub(crate) fn content_json(content: &[ContentPart]) -> Value {
    match content {
        [] => Value::Null,
        [ContentPart::Text(text)] => text.as_str().into(),
        parts => parts.iter().map(part_json).collect(),
    }
}

fn part_json(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text(text) => serde_json::json!({"type": "text", "text": text.as_str()}),
        ContentPart::Image(Image { media_type, data }) => {
            serde_json::json!({"type": "image", "media_type": &**media_type, "data": data.as_str()})
        }
        ContentPart::Opaque(Opaque { provider, json }) => {
            serde_json::json!({"type": "opaque", "provider": &**provider, "json": json.as_str()})
        }
    }
}

/// A call; its arguments as the string that the model wrote.
pub(crate) fn call_json(call: &ToolCall) -> Value {
    serde_json::json!({
        "id": &*call.id.0,
        "name": &*call.name,
        "arguments": call.arguments.as_str(),
    })
}

fn raw_pick(pick: &KeptPick) -> RawPick {
    let text = match &pick.shown {
        Shown::Text(text) => Some(text.clone()),
        Shown::Above => None,
    };
    RawPick { item: pick.item.clone(), since: pick.since, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(line: &str) -> Message {
        let messages = read_jsonl(line).unwrap();
        let written = serde_json::to_string(&*messages[0]).unwrap();
        let again: Message = serde_json::from_str(&written).unwrap();
        assert_eq!(*messages[0], again, "{written}");
        again
    }

    #[test]
    fn every_kind_of_message_survives_its_json() {
        round_trip(
            r###"{"role":"user","content":"a\n## Assistant\n \\n b ","stamp":"2026-11-15 08:07","framing":"call_tools"}"###,
        );
        round_trip(
            r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","media_type":"image/png","data":"aGk="}]}"#,
        );
        round_trip(
            r#"{"role":"user","content":"x","picks":[{"item":{"kind":"rule","name":"tone"},"since":2,"text":"be brief"},{"item":{"kind":"rule","name":"b"},"since":1}]}"#,
        );
        round_trip(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"time","arguments":"{ \"z\": 1 }"}]}"#,
        );
        round_trip(r#"{"role":"tool","tool_call_id":"a","name":"time","content":"12:00"}"#);
        round_trip(r#"{"role":"error","content":"no answer"}"#);
        round_trip(r#"{"role":"approval","content":"allowed once"}"#);
    }

    #[test]
    fn the_shapes_of_other_programs_are_read() {
        let history = read_jsonl(concat!(
            r#"{"role":"user","content":"time?"}"#, "\n\n",
            r#"{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"time","arguments":{"zone":"UTC"}}}]}"#, "\n",
            r#"{"role":"tool","content":"12:00"}"#, "\n",
        ))
        .unwrap();
        let [call] = history[1].calls() else { panic!("one call") };
        assert_eq!(call.arguments.as_str(), r#"{"zone":"UTC"}"#);
        let Body::Tool { call: answered, name, .. } = &history[2].body else { panic!("a result") };
        assert_eq!((answered, &**name), (&call.id, "time"));
    }

    #[test]
    fn every_bad_line_is_reported() {
        let problems =
            read_jsonl("{\"role\":\"user\",\"content\":\"ok\"}\nnope\n{\"role\":\"king\"}\n")
                .unwrap_err();
        let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [2, 3]);
        assert!(problems[1].problem.contains("unknown role `king`"));
    }
}
