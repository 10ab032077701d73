//! A model that plays a file.
//!
//! For tests and demonstrations, so it cuts no corners: an answer becomes the
//! bytes that an OpenAI server would send, and is decoded like those; an error
//! becomes a status and a body, and is typed and retried like those. Only the
//! socket is missing.
//!
//! A line of the file is an answer, `{"content": "…"}`, with `"tool_calls"` or
//! these alone; or `{"error": {"status": 503, "body": "…"}}`. Every attempt takes
//! the next line. When there is none left, the model repeats what the user said. `"delay_ms"` says
//! how long it thinks before it answers, `"pace_ms"` how long it takes for each word.
//! An answer ends before the first of the request's `stop` texts.
//! Token counts are sent only where the file gives them: made-up ones would
//! mislead whoever learns from them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recto_context::spoken_text;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::error::LlmError;
use crate::wire::failure::{self, ErrorResponse};
use crate::wire::{Wire, requested_model};

/// A file of answers, and how far it was played.
#[derive(Debug)]
pub(crate) struct Script {
    path: Option<PathBuf>,
    lines: Result<Vec<ScriptLine>, LlmError>,
    next: AtomicUsize,
}

/// What an answer is played from.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScriptLine {
    content: Option<String>,
    tool_calls: Vec<ScriptCall>,
    /// How long the model thinks before it answers.
    delay_ms: u64,
    /// How long it takes from one word to the next.
    pace_ms: u64,
    error: Option<ScriptFailure>,
    usage: Option<ScriptUsage>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    name: String,
    /// An object; or a text, which is sent as it is, JSON or not.
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFailure {
    status: u16,
    #[serde(default)]
    body: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptUsage {
    prompt: Option<u32>,
    completion: Option<u32>,
    cached: Option<u32>,
}

/// The bytes of a reply, in the pieces in which a server would send them.
#[derive(Debug, Default)]
pub(crate) struct ScriptChunks {
    pieces: VecDeque<Vec<u8>>,
    pace: Duration,
}

impl ScriptChunks {
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.pace.is_zero() {
            sleep(self.pace).await;
        }
        self.pieces.pop_front()
    }

    fn event(&mut self, data: &Value) {
        self.pieces.push_back(format!("data: {data}\n\n").into_bytes());
    }

    fn piece(&mut self, delta: &Value) {
        self.event(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }));
    }
}

impl Script {
    /// Reads the file at `path`, if there is one. What is wrong with it is told when the model
    /// is asked: one that nobody asks is in nobody's way.
    pub(crate) fn load(path: Option<PathBuf>) -> Self {
        let lines = path.as_deref().map_or_else(|| Ok(Vec::new()), read_lines);
        Script { path, lines, next: AtomicUsize::new(0) }
    }

    /// Whether the file can be played.
    pub(crate) fn check(&self) -> Result<(), LlmError> {
        self.lines.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The script's path, for people.
    pub(crate) fn describe(&self) -> String {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        path.unwrap_or_else(|| "scripted".to_owned())
    }

    /// What the next line says to `body`.
    pub(crate) async fn answer(&self, body: &[u8]) -> Result<ScriptChunks, LlmError> {
        let request: ScriptRequest<'_> = serde_json::from_slice(body).unwrap_or_default();
        let lines = self.lines.as_ref().map_err(Clone::clone)?;
        let Some(line) = lines.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
            let echo = format!("You said: {}", spoken_text(&request.last_user_text()));
            let line = ScriptLine { content: Some(echo), ..ScriptLine::default() };
            return Ok(chunks(&line, &request.stop));
        };
        sleep(Duration::from_millis(line.delay_ms)).await;
        match &line.error {
            Some(error) => Err(self.failure(error, body)),
            None => Ok(chunks(line, &request.stop)),
        }
    }

    fn failure(&self, failure: &ScriptFailure, body: &[u8]) -> LlmError {
        let answer = ErrorResponse {
            url: &self.describe(),
            status: failure.status,
            retry_after: None,
            location: None,
            body: &failure.body,
        };
        failure::error_from_response(Wire::OpenAi, &answer, &requested_model(body))
    }
}

/// The answers in a file. Blank lines and those that begin with `#` are for
/// people.
fn read_lines(path: &Path) -> Result<Vec<ScriptLine>, LlmError> {
    let at = |line: Option<usize>, problem: String| LlmError::Script {
        path: path.to_owned(),
        line,
        problem,
    };
    let text = fs::read_to_string(path).map_err(|error| at(None, error.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| parse(line).map_err(|problem| at(Some(number), problem)))
        .collect()
}

fn parse(text: &str) -> Result<ScriptLine, String> {
    let line: ScriptLine = serde_json::from_str(text).map_err(|error| without_place(&error))?;
    let answers = line.content.is_some() || !line.tool_calls.is_empty();
    match &line.error {
        Some(_) if answers => Err("it is an answer and an error at once".to_owned()),
        Some(error) if !(400..600).contains(&error.status) => {
            Err(format!("the status of an error lies between 400 and 599, not {}", error.status))
        }
        None if !answers => Err("it has none of `content`, `tool_calls` and `error`".to_owned()),
        _ => Ok(line),
    }
}

/// The parser counts lines, too, and knows of only one.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(problem) => format!("{problem} (column {})", error.column()),
        None => text,
    }
}

/// A reply as an OpenAI server streams it: the text word by word, calls without
/// ids, which the decoder then makes unique.
fn chunks(line: &ScriptLine, stops: &[String]) -> ScriptChunks {
    let pace = Duration::from_millis(line.pace_ms);
    let mut chunks = ScriptChunks { pace, ..ScriptChunks::default() };
    chunks.piece(&json!({ "role": "assistant" }));
    let content = line.content.as_deref().unwrap_or_default();
    let end = stops.iter().filter_map(|stop| content.find(stop)).min().unwrap_or(content.len());
    let content = &content[..end];
    for word in content.split_inclusive(char::is_whitespace) {
        chunks.piece(&json!({ "content": word }));
    }
    for (index, call) in line.tool_calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": arguments(call) });
        let call = json!({ "index": index, "type": "function", "function": function });
        chunks.piece(&json!({ "tool_calls": [call] }));
    }
    let finish = if line.tool_calls.is_empty() { "stop" } else { "tool_calls" };
    chunks.event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
    if let Some(counts) = &line.usage {
        chunks.event(&json!({ "choices": [], "usage": usage(counts) }));
    }
    chunks.pieces.push_back(b"data: [DONE]\n\n".to_vec());
    chunks
}

fn arguments(call: &ScriptCall) -> String {
    match &call.arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        object => object.to_string(),
    }
}

fn usage(counts: &ScriptUsage) -> Value {
    json!({
        "prompt_tokens": counts.prompt,
        "completion_tokens": counts.completion,
        "prompt_tokens_details": { "cached_tokens": counts.cached },
    })
}

/// What is read of a request: most of it, such as the tools, is passed over.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ScriptRequest<'a> {
    #[serde(borrow)]
    messages: Vec<ScriptMessage<'a>>,
    /// The texts at which the reply is to end.
    stop: Vec<String>,
}

#[derive(Deserialize)]
struct ScriptMessage<'a> {
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

impl ScriptRequest<'_> {
    /// The text of the last user message; empty when there is none.
    fn last_user_text(&self) -> String {
        let user = self.messages.iter().rfind(|message| message.role == "user");
        let content = user.and_then(|user| serde_json::from_str(user.content?.get()).ok());
        match content {
            Some(Value::String(text)) => text,
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect()
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
