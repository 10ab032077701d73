//! The messages of a request as chat templates expect them, and the other forms of the same
//! conversation for templates that refuse it.
//!
//! Templates come with assumptions: no system role, users and models strictly in turn, one call
//! at a time. The page follows none of them. So there are forms to try one after the other, from
//! the page as it is to one that meets them all. Each says the same in the same order; what is
//! merged is joined by a blank line.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object};
use recto_context::{
    ChatMessage, ChatRole, ContentHash, ContentPart, ContentPiece, Layer, OpaqueKind,
    RequestContext, ToolCall,
};
use serde::{Deserialize, Serialize};

use super::marks::{MarkedTexts, RequiredMarks, TextMark};
use super::{PromptSegment, THOUGHT};
use crate::wire::{Wire, arguments_object, function_tools, layer, own_fields, own_opaque};

/// Stands where a picture is. The engine reads text alone.
const PICTURE: &str = "[a picture, which this model cannot see]";

/// Stands in front of a conversation that begins with the model.
const GOES_ON: &str = "[the conversation goes on]";

/// A conversation, its texts behind marks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TemplateConversation {
    messages: Vec<TemplateMessage>,
    tools: Vec<TemplateTool>,
    pub(super) musts: RequiredMarks,
    /// Joins what is merged.
    blank_line: TextMark,
    goes_on: TextMark,
}

/// A message of the conversation, as far as templates look at it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TemplateMessage {
    role: ChatRole,
    content: Vec<TextMark>,
    thought: Option<TextMark>,
    calls: Vec<TemplateCall>,
    /// The call that it answers, and the tool's name.
    answers: Option<(TextMark, TextMark)>,
    /// Which call that is, among those of the message before.
    answers_id: Option<Arc<str>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TemplateCall {
    id: Arc<str>,
    id_mark: TextMark,
    name: TextMark,
    arguments: TemplateData,
}

/// Data for a template, such as a call's arguments, its strings behind marks: each value in front of
/// those that it holds, so that it can be written down however deep it goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct TemplateData(Vec<DataNode>);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum DataNode {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    /// A mark, or a word that templates may read.
    Text(String),
    /// So many values, which follow.
    List(usize),
    /// Fields whose names others chose, with the marks of these names. Their values follow.
    Fields(Vec<(String, TextMark)>),
}

/// A tool, as far as templates look at it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TemplateTool {
    /// Its name and description, as far as it has them.
    words: Vec<(String, TextMark)>,
    parameters: TemplateData,
}

/// What is done to a conversation that a template refuses.
#[derive(Debug, Clone, Copy)]
struct TemplateRepair {
    /// What the system says goes in front of the first user message.
    system: bool,
    /// Messages of the same role in a row become one.
    turns: bool,
    /// A message with several calls becomes several with one each.
    calls: bool,
}

impl TemplateConversation {
    /// The conversation of `request`. Its texts are kept in `texts`.
    pub(super) fn new(model: &str, request: &RequestContext, texts: &mut MarkedTexts) -> Self {
        let messages: Vec<TemplateMessage> = request
            .messages
            .iter()
            .map(|message| template_message(model, request, message, texts))
            .collect();
        let tools =
            function_tools(request).iter().map(|tool| TemplateTool::new(tool, texts)).collect();
        let system = messages.iter().filter(|message| message.role == ChatRole::System);
        let last = messages.iter().rfind(|message| message.role == ChatRole::User);
        let musts = RequiredMarks {
            system: system.flat_map(|message| message.content.clone()).collect(),
            last: last.map(|message| message.content.clone()).unwrap_or_default(),
        };
        let (blank_line, goes_on) = (texts.keep_text("\n\n"), texts.keep_text(GOES_ON));
        TemplateConversation { messages, tools, musts, blank_line, goes_on }
    }

    /// The tools, as templates know them.
    pub(super) fn tools(&self) -> Option<Vec<Value>> {
        let tools = self.tools.iter().map(TemplateTool::value).collect();
        (!self.tools.is_empty()).then_some(tools)
    }

    /// How many messages, tools and calls there are.
    pub(super) fn size(&self) -> usize {
        let calls: usize = self.messages.iter().map(|message| message.calls.len()).sum();
        self.messages.len() + self.tools.len() + calls
    }

    /// The forms to try, the page as it is first. Forms that would be the same as one before are
    /// left out.
    pub(super) fn forms(&self) -> impl Iterator<Item = Vec<Value>> {
        let repairs = [false, true].into_iter().flat_map(|calls| {
            [(false, false), (true, false), (false, true), (true, true)]
                .map(|(system, turns)| TemplateRepair { system, turns, calls })
        });
        repairs.filter_map(|repair| self.repaired(repair))
    }

    /// The messages after `repair`, if all that it does changes something.
    fn repaired(&self, repair: TemplateRepair) -> Option<Vec<Value>> {
        let mut messages = self.messages.clone();
        let changes = (!repair.calls || self.split_calls(&mut messages))
            && (!repair.system || self.merge_system(&mut messages))
            && (!repair.turns || self.merge_turns(&mut messages));
        changes.then(|| messages.iter().map(TemplateMessage::value).collect())
    }

    /// Puts what the system says in front of the first user message.
    fn merge_system(&self, messages: &mut Vec<TemplateMessage>) -> bool {
        let is_system = |message: &TemplateMessage| message.role == ChatRole::System;
        let system: Vec<TemplateMessage> =
            messages.iter().filter(|message| is_system(message)).cloned().collect();
        let has_user = messages.iter().any(|message| message.role == ChatRole::User);
        if system.is_empty() || !has_user {
            return false;
        }
        messages.retain(|message| !is_system(message));
        if let Some(first) = messages.iter_mut().find(|message| message.role == ChatRole::User) {
            let texts = system.into_iter().map(|message| message.content);
            first.content = self.joined(texts.chain([std::mem::take(&mut first.content)]));
        }
        true
    }

    /// Makes users and models speak in turn, the user first. Results stay apart: each answers a
    /// call of its own.
    fn merge_turns(&self, messages: &mut Vec<TemplateMessage>) -> bool {
        let before = messages.len();
        let mut merged: Vec<TemplateMessage> = Vec::with_capacity(before);
        for next in messages.drain(..) {
            match merged.last_mut() {
                Some(last) if last.role == next.role && next.role != ChatRole::Tool => {
                    last.content = self.joined([std::mem::take(&mut last.content), next.content]);
                    last.thought = last.thought.or(next.thought);
                    last.calls.extend(next.calls);
                }
                _ => merged.push(next),
            }
        }
        let first = merged.iter().position(|message| message.role != ChatRole::System);
        if let Some(first) = first.filter(|at| merged[*at].role != ChatRole::User) {
            merged.insert(first, TemplateMessage::plain(ChatRole::User, vec![self.goes_on]));
        }
        let changed = merged.len() != before;
        *messages = merged;
        changed
    }

    /// Lets every message call once, its result right behind it.
    fn split_calls(&self, messages: &mut Vec<TemplateMessage>) -> bool {
        let before = messages.len();
        let mut split: Vec<TemplateMessage> = Vec::with_capacity(before);
        let mut rest = std::mem::take(messages).into_iter().peekable();
        while let Some(mut message) = rest.next() {
            if message.calls.len() < 2 {
                split.push(message);
                continue;
            }
            let mut results = Vec::new();
            while let Some(result) = rest.next_if(|next| next.role == ChatRole::Tool) {
                results.push(result);
            }
            for call in std::mem::take(&mut message.calls) {
                let answer =
                    results.iter().position(|result| result.answers_id.as_ref() == Some(&call.id));
                let calling = TemplateMessage { calls: vec![call], ..message };
                // Only the first says what was said before all of them.
                message = TemplateMessage::plain(ChatRole::Assistant, Vec::new());
                split.push(calling);
                split.extend(answer.map(|at| results.remove(at)));
            }
            split.extend(results);
        }
        *messages = split;
        messages.len() != before
    }

    fn joined(&self, texts: impl IntoIterator<Item = Vec<TextMark>>) -> Vec<TextMark> {
        let mut joined = Vec::new();
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            if !joined.is_empty() {
                joined.push(self.blank_line);
            }
            joined.extend(text);
        }
        joined
    }
}

impl TemplateMessage {
    fn plain(role: ChatRole, content: Vec<TextMark>) -> Self {
        TemplateMessage {
            role,
            content,
            thought: None,
            calls: Vec::new(),
            answers: None,
            answers_id: None,
        }
    }

    /// The message as templates know it. Its content is always a string: templates that find none
    /// write down that there is none.
    fn value(&self) -> Value {
        let content: String = self.content.iter().map(TextMark::to_string).collect();
        let mut fields =
            vec![("role", Value::from(self.role.name())), ("content", Value::from(content))];
        if let Some(thought) = self.thought {
            fields.push((THOUGHT, Value::from(thought.to_string())));
        }
        if !self.calls.is_empty() {
            fields.push(("tool_calls", self.calls.iter().map(TemplateCall::value).collect()));
        }
        if let Some((id, name)) = self.answers {
            fields.push(("name", Value::from(name.to_string())));
            fields.push(("tool_call_id", Value::from(id.to_string())));
        }
        Value::from_pairs(fields)
    }
}

impl TemplateCall {
    fn value(&self) -> Value {
        let function =
            [("name", Value::from(self.name.to_string())), ("arguments", self.arguments.value())];
        Value::from_pairs([
            ("type", Value::from("function")),
            ("id", Value::from(self.id_mark.to_string())),
            ("function", Value::from_pairs(function)),
        ])
    }
}

fn template_message(
    model: &str,
    request: &RequestContext,
    message: &ChatMessage,
    texts: &mut MarkedTexts,
) -> TemplateMessage {
    let segment = content(model, message);
    // Templates ask whether there is any content.
    let content = if segment.text().is_empty() { vec![] } else { vec![texts.keep(segment)] };
    let call = |call: &ToolCall| TemplateCall {
        id: Arc::clone(&call.id.0),
        id_mark: texts.keep_text(&*call.id.0),
        name: texts.keep_text(&*call.name),
        arguments: TemplateData::new(&arguments_object(call), ReadableWords::Marked, texts),
    };
    let calls = message.calls.iter().map(call).collect();
    let answers = message.answers.as_ref();
    let marks = answers.map(|(id, name)| (texts.keep_text(&*id.0), texts.keep_text(&**name)));
    TemplateMessage {
        role: message.role,
        content,
        thought: thought(request, message).map(|thought| texts.keep_text(thought)),
        calls,
        answers: marks,
        answers_id: answers.map(|(id, _)| Arc::clone(&id.0)),
    }
}

fn content(model: &str, message: &ChatMessage) -> PromptSegment {
    let text = message.text();
    if let Some(tokens) = echo(model, message, &text) {
        return PromptSegment::Reply { text, tokens };
    }
    let has_picture =
        |piece: &ContentPiece| matches!(piece, ContentPiece::Other(ContentPart::Image(_)));
    if !message.content.iter().any(has_picture) {
        return PromptSegment::Text { text };
    }
    let piece = |piece: &ContentPiece| match piece {
        ContentPiece::Text(text) => Some(text.clone()),
        ContentPiece::Other(ContentPart::Image(_)) => Some(PICTURE.to_owned()),
        ContentPiece::Other(_) => None,
    };
    let pieces: Vec<String> = message.content.iter().filter_map(piece).collect();
    PromptSegment::Text { text: pieces.join("\n") }
}

/// The tokens of a reply, if this model generated it and the message still says
/// what it said. To another model they would be other words.
fn echo(model: &str, message: &ChatMessage, text: &str) -> Option<Vec<i32>> {
    #[derive(Deserialize)]
    struct Echo {
        model: String,
        text: ContentHash,
        tokens: Vec<i32>,
    }
    if message.role != ChatRole::Assistant || text.is_empty() {
        return None;
    }
    let echoes = message.content.iter().filter_map(|piece| match piece {
        ContentPiece::Other(ContentPart::Opaque(opaque)) if opaque.kind == OpaqueKind::Echo => {
            let echo = own_opaque(Wire::Embedded, opaque)?;
            serde_json::from_value::<Echo>(echo.into()).ok()
        }
        _ => None,
    });
    let hash = ContentHash::of_bytes(text.as_bytes());
    echoes.into_iter().find(|echo| echo.text == hash && echo.model == model).map(|echo| echo.tokens)
}

/// What the model thought before a call of this turn. Models are trained without their earlier
/// thoughts.
fn thought(request: &RequestContext, message: &ChatMessage) -> Option<String> {
    if layer(request, message) != Some(Layer::Rounds) {
        return None;
    }
    let mut fields = own_fields(Wire::Embedded, message).filter(|(field, _)| field == THOUGHT);
    fields.next().and_then(|(_, thought)| thought.as_str().map(str::to_owned))
}

impl TemplateTool {
    /// A tool in the form of [`function_tools`].
    fn new(tool: &serde_json::Value, texts: &mut MarkedTexts) -> Self {
        let function = &tool["function"];
        let mut word = |field: &str| {
            let mark = texts.keep_text(function[field].as_str()?);
            Some((field.to_owned(), mark))
        };
        let words = ["name", "description"].into_iter().filter_map(&mut word).collect();
        let parameters = TemplateData::new(&function["parameters"], ReadableWords::OfSchema, texts);
        TemplateTool { words, parameters }
    }

    fn value(&self) -> Value {
        let words = self.words.iter();
        let words = words.map(|(field, mark)| (field.as_str(), Value::from(mark.to_string())));
        let fields = words.chain([("parameters", self.parameters.value())]);
        let function = Value::from_pairs(fields);
        Value::from_pairs([("type", Value::from("function")), ("function", function)])
    }
}

/// Which strings of some data templates may read: none, unless the data are a schema.
#[derive(Clone, Copy, PartialEq)]
enum ReadableWords {
    Marked,
    /// The names of types, which they look at to describe parameters.
    OfSchema,
    /// This is where such a name stands.
    OfType,
}

impl ReadableWords {
    /// Those of the value of a field.
    fn within(self, key: &str) -> Self {
        match self {
            ReadableWords::Marked => ReadableWords::Marked,
            _ if key == "type" => ReadableWords::OfType,
            _ => ReadableWords::OfSchema,
        }
    }
}

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

impl TemplateData {
    fn new(json: &serde_json::Value, words: ReadableWords, texts: &mut MarkedTexts) -> Self {
        let mut data = TemplateData::default();
        data.add(json, words, texts);
        data
    }

    fn add(&mut self, json: &serde_json::Value, words: ReadableWords, texts: &mut MarkedTexts) {
        let node = match json {
            serde_json::Value::Null => DataNode::Null,
            serde_json::Value::Bool(bool) => DataNode::Bool(*bool),
            serde_json::Value::Number(number) => DataNode::Number(number.clone()),
            serde_json::Value::String(text) => match words {
                ReadableWords::OfType if TYPES.contains(&text.as_str()) => {
                    DataNode::Text(text.clone())
                }
                _ => DataNode::Text(texts.keep_text(text).to_string()),
            },
            serde_json::Value::Array(list) => DataNode::List(list.len()),
            serde_json::Value::Object(fields) => {
                let marked = |key: &String| (key.clone(), texts.keep_text(key));
                DataNode::Fields(fields.keys().map(marked).collect())
            }
        };
        self.0.push(node);
        match json {
            serde_json::Value::Array(list) => {
                list.iter().for_each(|item| self.add(item, words, texts));
            }
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    self.add(value, words.within(key), texts);
                }
            }
            _ => {}
        }
    }

    /// The data as templates know them.
    fn value(&self) -> Value {
        read_value(&mut self.0.iter())
    }
}

/// The next value, with all that it holds.
fn read_value(nodes: &mut std::slice::Iter<'_, DataNode>) -> Value {
    match nodes.next() {
        None | Some(DataNode::Null) => Value::from(()),
        Some(DataNode::Bool(bool)) => Value::from(*bool),
        Some(DataNode::Number(number)) => number_value(number),
        Some(DataNode::Text(text)) => Value::from(text),
        Some(DataNode::List(length)) => (0..*length).map(|_| read_value(nodes)).collect(),
        Some(DataNode::Fields(fields)) => {
            let field = |(key, mark): &(String, TextMark)| MarkedField {
                key: key.clone(),
                mark: mark.to_string(),
                value: read_value(nodes),
            };
            Value::from_object(MarkedFields(fields.iter().map(field).collect()))
        }
    }
}

fn number_value(number: &serde_json::Number) -> Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Value::from(number),
        (_, Some(number)) => Value::from(number),
        _ => Value::from(number.as_f64()),
    }
}

/// An object whose keys others chose. A template finds a field by its key, but when it goes
/// through them, it sees marks.
#[derive(Debug)]
struct MarkedFields(Vec<MarkedField>);

#[derive(Debug)]
struct MarkedField {
    key: String,
    mark: String,
    value: Value,
}

impl Object for MarkedFields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let field = self.0.iter().find(|field| field.key == key || field.mark == key);
        field.map(|field| field.value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|field| Value::from(&field.mark)).collect())
    }
}
