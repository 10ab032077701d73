//! Messages as JSON: one form to write, and a lenient reader for the forms
//! that people and other programs have.
//!
//! Read are `content` as a string or a list of parts (also OpenAI's images),
//! calls as `{id, name, arguments}` or nested in `function` as OpenAI and Ollama
//! write them, and results by `tool_call_id` or, where a server gives no ids, by
//! order within their round.

use std::collections::HashMap;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{
    AttachedFile, CallId, ContentPart, Framing, Image, KeptPick, Message, MessageBody, MessageId,
    MessageStamp, Opaque, OpaqueKind, PickDisplay, SpeakerName, ToolCall, TurnNumber, UserMessage,
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
/// growing number. All lines that can't be read are reported at once.
pub fn read_jsonl(text: &str) -> Result<Vec<Arc<Message>>, Vec<HistoryProblem>> {
    let mut reader = HistoryReader::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Err(problem) = reader.read_line(line) {
            reader.problems.push(HistoryProblem { line: index + 1, problem });
        }
    }
    if reader.problems.is_empty() { Ok(reader.finish()) } else { Err(reader.problems) }
}

/// The largest number that a message can bring along. All programs read it from
/// JSON as it is, and it leaves room for the messages that follow.
const LARGEST_NUMBER: u64 = 1 << 53;

#[derive(Default)]
struct HistoryReader {
    messages: Vec<Message>,
    given_ids: Vec<Option<u64>>,
    round: OpenRound,
    problems: Vec<HistoryProblem>,
}

impl HistoryReader {
    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| json_problem(&error))?;
        if !value.is_object() {
            return Err("a message is a JSON object".to_owned());
        }
        let raw: RawMessage = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let given = raw.id.as_u64();
        let number = self.messages.len() as u64 + 1;
        let body = self.body(raw, number)?;
        self.messages.push(Message { id: MessageId(number), body });
        self.given_ids.push(given);
        Ok(())
    }

    fn body(&mut self, raw: RawMessage, number: u64) -> Result<MessageBody, String> {
        let content = parts(raw.content)?;
        match raw.role.as_str() {
            "user" => {
                self.round = OpenRound::default();
                Ok(MessageBody::User(UserMessage {
                    content,
                    stamp: raw.stamp.as_deref().map(MessageStamp::new),
                    speaker: raw.speaker,
                    framing: raw.framing,
                    picks: raw.picks.into_iter().map(KeptPick::from).collect(),
                }))
            }
            "assistant" => {
                let calls = raw.tool_calls.into_iter().enumerate();
                let calls: Vec<_> = calls.map(|(n, call)| call.into_call(number, n)).collect();
                self.round = OpenRound::from_calls(&calls);
                Ok(MessageBody::Assistant { content, calls })
            }
            "tool" => {
                let (call, name) = self.round.answer(raw.tool_call_id, raw.name, number);
                Ok(MessageBody::Tool { call, name, content })
            }
            "error" => Ok(MessageBody::Error(joined_text(&content))),
            "approval" => Ok(MessageBody::Approval(joined_text(&content))),
            "system" => Err("a history holds no system messages: Recto makes them".to_owned()),
            other => Err(format!(
                "unknown role `{}`; known are user, assistant, tool, error, approval",
                other.escape_debug()
            )),
        }
    }

    fn finish(mut self) -> Vec<Arc<Message>> {
        let given: Option<Vec<u64>> = self.given_ids.iter().copied().collect();
        let usable = |ids: &Vec<u64>| {
            ids.is_sorted_by(|a, b| a < b) && ids.last().is_none_or(|last| *last <= LARGEST_NUMBER)
        };
        if let Some(ids) = given.filter(usable) {
            for (message, id) in self.messages.iter_mut().zip(ids) {
                message.id = MessageId(id);
            }
        }
        self.messages.into_iter().map(Arc::new).collect()
    }
}

/// The calls of the last assistant message, and which of them are answered.
#[derive(Default)]
struct OpenRound {
    calls: Vec<(CallId, Arc<str>)>,
    answered: Vec<bool>,
    by_id: HashMap<CallId, usize>,
}

impl OpenRound {
    fn from_calls(calls: &[ToolCall]) -> Self {
        OpenRound {
            calls: calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect(),
            answered: vec![false; calls.len()],
            by_id: calls.iter().enumerate().map(|(at, call)| (call.id.clone(), at)).collect(),
        }
    }

    /// The call that a result answers: the one it names, or the oldest open one
    /// of its tool.
    fn answer(
        &mut self,
        id: Option<String>,
        name: Option<String>,
        number: u64,
    ) -> (CallId, Arc<str>) {
        let id = id.map(|id| CallId(id.into()));
        let at = match &id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.oldest_open(name.as_deref()),
        };
        if let Some(at) = at {
            self.answered[at] = true;
        }
        let (open_id, open_name) = at.map(|at| self.calls[at].clone()).unzip();
        let fallback = || CallId(Arc::from(format!("result_{number}")));
        let id = id.or(open_id).unwrap_or_else(fallback);
        (id, name.map(Arc::from).or(open_name).unwrap_or_else(|| Arc::from("tool")))
    }

    fn oldest_open(&self, name: Option<&str>) -> Option<usize> {
        let fits = |at: &usize| name.is_none_or(|name| *self.calls[*at].1 == *name);
        (0..self.calls.len()).filter(|at| !self.answered[*at]).find(fits)
    }
}

/// A message in any of the forms that are read.
#[derive(Deserialize)]
struct RawMessage {
    role: String,
    /// Any kind of id is accepted; only numbers are used.
    #[serde(default)]
    id: Value,
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "null_as_default")]
    tool_calls: Vec<RawToolCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default, alias = "tool_name")]
    name: Option<String>,
    #[serde(default)]
    stamp: Option<String>,
    #[serde(default)]
    speaker: Option<SpeakerName>,
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

/// The parts of a message: none, one text, or a list.
/// What is wrong with a line, and at which of its characters: the error would call it line 1.
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some("recursion limit exceeded") => "it is nested more than 127 deep".to_owned(),
        Some(what) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

fn parts(content: Value) -> Result<Vec<ContentPart>, String> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![ContentPart::Text(text.into())]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Err("`content` is a text or a list of parts".to_owned()),
    }
}

fn part(value: &Value) -> Result<ContentPart, String> {
    let kind = value["type"].as_str().unwrap_or("none").to_owned();
    let read = |field: &str| value[field].as_str().map(str::to_owned);
    let part = match kind.as_str() {
        "text" => read("text").map(|text| ContentPart::Text(text.into())),
        "image" => read("data").zip(read("media_type")).map(|(data, media_type)| {
            let name = read("name").map(Arc::from);
            ContentPart::Image(Image { media_type: media_type.into(), data: data.into(), name })
        }),
        "file" => read("name")
            .zip(read("text"))
            .map(|(name, text)| ContentPart::File(AttachedFile::new(&name, text))),
        "image_url" => {
            value["image_url"]["url"].as_str().and_then(data_url).map(ContentPart::Image)
        }
        kind @ ("opaque" | "echo") => read("provider").zip(read("json")).map(|(provider, json)| {
            let kind = if kind == "echo" { OpaqueKind::Echo } else { OpaqueKind::Thought };
            ContentPart::Opaque(Opaque { provider: provider.into(), json: json.into(), kind })
        }),
        _ => None,
    };
    part.ok_or_else(|| {
        format!(
            "can't read a part of type `{}`; known are text (`text`), image (`media_type` and \
             base64 `data`, or `image_url` with a data URL), file (`name`, `text`), opaque and \
             echo (`provider`, `json`)",
            kind.escape_debug()
        )
    })
}

/// An image within its URL; one that would have to be fetched is none.
fn data_url(url: &str) -> Option<Image> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Image { media_type: media_type.into(), data: data.into(), name: None })
}

fn joined_text(parts: &[ContentPart]) -> Text {
    let texts: Vec<&str> = parts.iter().filter_map(|p| p.as_text().map(Text::as_str)).collect();
    texts.concat().into()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawToolCall {
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

impl RawToolCall {
    fn into_call(self, message: u64, index: usize) -> ToolCall {
        let (RawToolCall::Nested { id, function } | RawToolCall::Flat { id, function }) = self;
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
    /// Its line, where it was only listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<Text>,
}

impl From<&KeptPick> for RawPick {
    fn from(pick: &KeptPick) -> Self {
        let KeptPick { item, since, shown } = pick.clone();
        RawPick { item, since, text: shown.text().cloned(), line: shown.line().cloned() }
    }
}

impl From<RawPick> for KeptPick {
    fn from(raw: RawPick) -> Self {
        let shown = PickDisplay::from_parts(raw.text, raw.line);
        KeptPick { item: raw.item, since: raw.since, shown }
    }
}

/// What is absent or empty is not written.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (role, content) = match &self.body {
            MessageBody::User(user) => ("user", content_json(&user.content)),
            MessageBody::Assistant { content, .. } => ("assistant", content_json(content)),
            MessageBody::Tool { content, .. } => ("tool", content_json(content)),
            MessageBody::Error(text) => ("error", text.as_str().into()),
            MessageBody::Approval(text) => ("approval", text.as_str().into()),
        };
        let nothing = UserMessage::default();
        let user = self.as_user().unwrap_or(&nothing);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("role", role)?;
        if let Some(stamp) = &user.stamp {
            map.serialize_entry("stamp", stamp)?;
        }
        if let Some(speaker) = &user.speaker {
            map.serialize_entry("speaker", speaker)?;
        }
        if !user.framing.is_plain() {
            map.serialize_entry("framing", &user.framing)?;
        }
        map.serialize_entry("content", &content)?;
        if !self.calls().is_empty() {
            let calls: Vec<Value> = self.calls().iter().map(call_json).collect();
            map.serialize_entry("tool_calls", &calls)?;
        }
        if let MessageBody::Tool { call, name, .. } = &self.body {
            map.serialize_entry("tool_call_id", call)?;
            map.serialize_entry("name", name)?;
        }
        if !user.picks.is_empty() {
            let picks: Vec<RawPick> = user.picks.iter().map(RawPick::from).collect();
            map.serialize_entry("picks", &picks)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawMessage::deserialize(deserializer)?;
        let id = MessageId(raw.id.as_u64().unwrap_or_default());
        let body = HistoryReader::default().body(raw, id.0).map_err(serde::de::Error::custom)?;
        Ok(Message { id, body })
    }
}

/// A lone text as a string, as everybody writes it; anything else as parts.
fn content_json(content: &[ContentPart]) -> Value {
    match content {
        [] => Value::Null,
        [ContentPart::Text(text)] => text.as_str().into(),
        parts => parts.iter().map(part_json).collect(),
    }
}

pub(crate) fn part_json(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text(text) => serde_json::json!({"type": "text", "text": text.as_str()}),
        ContentPart::Image(Image { media_type, data, name }) => {
            let mut json = serde_json::json!({
                "type": "image", "media_type": &**media_type, "data": data.as_str(),
            });
            if let Some(name) = name {
                json["name"] = (**name).into();
            }
            json
        }
        ContentPart::File(file) => {
            serde_json::json!({"type": "file", "name": &**file.name(), "text": file.text().as_str()})
        }
        ContentPart::Opaque(Opaque { provider, json, kind }) => {
            let kind = match kind {
                OpaqueKind::Thought => "opaque",
                OpaqueKind::Echo => "echo",
            };
            serde_json::json!({"type": kind, "provider": &**provider, "json": json.as_str()})
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
        round_trip(r#"{"role":"user","content":"a","speaker":"Ada","stamp":"2026-11-15 08:07"}"#);
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
        round_trip(
            r#"{"role":"user","content":[{"type":"file","name":"a b.txt","text":"x\n"},{"type":"image","media_type":"image/png","data":"aGk=","name":"p.png"}]}"#,
        );
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
        let MessageBody::Tool { call: answered, name, .. } = &history[2].body else {
            panic!("a result")
        };
        assert_eq!((answered, &**name), (&call.id, "time"));
    }

    #[test]
    fn a_result_without_an_id_answers_a_call_of_its_own_round() {
        let history = read_jsonl(concat!(
            r#"{"role":"assistant","tool_calls":[{"function":{"name":"time"}}]}"#,
            "\n",
            r#"{"role":"user","content":"again"}"#,
            "\n",
            r#"{"role":"assistant","tool_calls":[{"function":{"name":"time"}}]}"#,
            "\n",
            r#"{"role":"tool","content":"12:00"}"#,
        ))
        .unwrap();
        let MessageBody::Tool { call, .. } = &history[3].body else { panic!("a result") };
        assert_eq!(*call, history[2].calls()[0].id);
    }

    #[test]
    fn ids_of_any_kind_a_mark_at_the_start_and_images_in_urls_are_read() {
        let history = read_jsonl(concat!(
            "\u{feff}",
            r#"{"id":"msg_1","role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}"#,
        ))
        .unwrap();
        assert!(matches!(history[0].content(), [ContentPart::Image(_)]));
        let last =
            read_jsonl(r#"{"id":18446744073709551615,"role":"user","content":"x"}"#).unwrap();
        assert_eq!(last[0].id, MessageId(1), "a number must be left for the next message");
    }

    #[test]
    fn problems_are_told_in_the_words_of_people() {
        let problem = |line: &str| read_jsonl(line).unwrap_err()[0].problem.clone();
        assert_eq!(problem(r#"["x"]"#), "a message is a JSON object");
        assert_eq!(
            problem(r#"{"role":"user","content":7}"#),
            "`content` is a text or a list of parts"
        );
        assert!(problem(r#"{"role":"user","content":[{"type":"video"}]}"#).contains("`video`"));
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
