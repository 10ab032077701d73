//! What OpenAI refuses in messages: each by itself, and calls that are not
//! answered where they have to be.

use serde_json::{Map, Value};

use super::check::given;
use super::problem::{CheckResult, OpenAiProblem};
use crate::base64;

const ROLES: [&str; 6] = ["system", "assistant", "user", "function", "tool", "developer"];

/// The most characters of a call's id.
const LONGEST_ID: usize = 40;

pub(super) fn check(messages: Option<&Value>) -> CheckResult<&[Value]> {
    let messages = match messages {
        None => return Err(OpenAiProblem::missing("messages")),
        Some(Value::Array(messages)) if messages.is_empty() => {
            return Err(OpenAiProblem::empty_list("messages"));
        }
        Some(Value::Array(messages)) => messages,
        Some(other) => {
            return Err(OpenAiProblem::wrong_type("messages", "an array of objects", other));
        }
    };
    let mut calls = PendingCalls::default();
    for (index, value) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let Some(fields) = value.as_object() else {
            return Err(OpenAiProblem::wrong_type(&place, "an object", value));
        };
        let message = CheckedMessage { place, fields };
        let role = message.role()?;
        message.content(role)?;
        calls.follow(index, role, &message)?;
    }
    calls.end(messages.len())?;
    Ok(messages)
}

/// A message, and what the client calls it.
struct CheckedMessage<'a> {
    place: String,
    fields: &'a Map<String, Value>,
}

impl<'a> CheckedMessage<'a> {
    fn role(&self) -> CheckResult<&'a str> {
        let param = format!("{}.role", self.place);
        let role = text(self.fields, "role", &param)?;
        if ROLES.contains(&role) {
            Ok(role)
        } else {
            Err(OpenAiProblem::unsupported(&param, role, &ROLES))
        }
    }

    fn content(&self, role: &str) -> CheckResult<()> {
        let param = format!("{}.content", self.place);
        match self.fields.get("content") {
            Some(Value::String(_)) => Ok(()),
            Some(Value::Array(parts)) if parts.is_empty() => Err(OpenAiProblem::empty_list(&param)),
            Some(Value::Array(parts)) => {
                let part = |(index, part)| content_part(role, &format!("{param}[{index}]"), part);
                parts.iter().enumerate().try_for_each(part)
            }
            None | Some(Value::Null) if role == "assistant" && self.makes_calls() => Ok(()),
            None => Err(OpenAiProblem::missing(&param)),
            Some(Value::Null) => {
                let message = "Invalid value for 'content': expected a string, got null.";
                Err(OpenAiProblem::new(message).param(param))
            }
            Some(other) => {
                let expected = "one of a string or array of objects";
                Err(OpenAiProblem::wrong_type(&param, expected, other))
            }
        }
    }

    fn makes_calls(&self) -> bool {
        given(self.fields, "tool_calls").is_some()
    }

    /// The ids of its calls, each of which has to be of the right form.
    fn calls(&self) -> CheckResult<Vec<&'a str>> {
        let param = format!("{}.tool_calls", self.place);
        let calls = match given(self.fields, "tool_calls") {
            None => return Ok(Vec::new()),
            Some(Value::Array(calls)) if calls.is_empty() => {
                return Err(OpenAiProblem::empty_list(&param));
            }
            Some(Value::Array(calls)) => calls,
            Some(other) => {
                return Err(OpenAiProblem::wrong_type(&param, "an array of objects", other));
            }
        };
        calls.iter().enumerate().map(|(index, it)| call(&format!("{param}[{index}]"), it)).collect()
    }
}

/// Text is for all; pictures are for the user to show.
fn content_part(role: &str, place: &str, part: &Value) -> CheckResult<()> {
    let Some(fields) = part.as_object() else {
        return Err(OpenAiProblem::wrong_type(place, "an object", part));
    };
    let param = format!("{place}.type");
    match (text(fields, "type", &param)?, role) {
        ("text", _) => text(fields, "text", &format!("{place}.text")).map(drop),
        ("refusal", "assistant") => text(fields, "refusal", &format!("{place}.refusal")).map(drop),
        ("image_url", "user") => image(fields, &format!("{place}.image_url")),
        (other, "user") => Err(OpenAiProblem::unsupported(&param, other, &["text", "image_url"])),
        (other, _) => Err(OpenAiProblem::unsupported(&param, other, &["text"])),
    }
}

fn image(part: &Map<String, Value>, place: &str) -> CheckResult<()> {
    let image = object(part, "image_url", place)?;
    let param = format!("{place}.url");
    let url = text(image, "url", &param)?;
    let is_link = url.starts_with("https://") || url.starts_with("http://");
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let is_picture = data.is_some_and(|(_, data)| base64::first_illegal_byte(data).is_none());
    if is_link || is_picture {
        return Ok(());
    }
    let message = format!(
        "Invalid '{param}'. Expected a base64-encoded data URL with an image MIME type (e.g. \
         'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got an invalid value instead."
    );
    Err(OpenAiProblem::new(message).param(param).code("invalid_value"))
}

/// A call's id, once all of the call is as it should be.
fn call<'a>(place: &str, call: &'a Value) -> CheckResult<&'a str> {
    let Some(fields) = call.as_object() else {
        return Err(OpenAiProblem::wrong_type(place, "an object", call));
    };
    let id = id(fields, "id", &format!("{place}.id"))?;
    let param = format!("{place}.type");
    let kind = text(fields, "type", &param)?;
    if kind != "function" {
        return Err(OpenAiProblem::unsupported(&param, kind, &["function"]));
    }
    let place = format!("{place}.function");
    let function = object(fields, "function", &place)?;
    text(function, "name", &format!("{place}.name"))?;
    text(function, "arguments", &format!("{place}.arguments"))?;
    Ok(id)
}

fn id<'a>(fields: &'a Map<String, Value>, name: &str, param: &str) -> CheckResult<&'a str> {
    let id = text(fields, name, param)?;
    let length = id.chars().count();
    if length > LONGEST_ID {
        Err(OpenAiProblem::too_long(param, LONGEST_ID, length))
    } else {
        Ok(id)
    }
}

/// A text that has to be there. `param` is what the client calls it.
pub(super) fn text<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    param: &str,
) -> CheckResult<&'a str> {
    match fields.get(name) {
        None => Err(OpenAiProblem::missing(param)),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(OpenAiProblem::wrong_type(param, "a string", other)),
    }
}

/// An object that has to be there. `param` is what the client calls it.
pub(super) fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    param: &str,
) -> CheckResult<&'a Map<String, Value>> {
    match fields.get(name) {
        None => Err(OpenAiProblem::missing(param)),
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(OpenAiProblem::wrong_type(param, "an object", other)),
    }
}

/// The calls of the last assistant message, on the way through the messages.
#[derive(Default)]
struct PendingCalls<'a> {
    made: Vec<&'a str>,
    unanswered: Vec<&'a str>,
}

impl<'a> PendingCalls<'a> {
    fn follow(
        &mut self,
        index: usize,
        role: &str,
        message: &CheckedMessage<'a>,
    ) -> CheckResult<()> {
        if role == "tool" {
            return self.answer(index, message);
        }
        self.end(index)?;
        self.made.clear();
        if role == "assistant" {
            self.made = message.calls()?;
            self.unanswered.clone_from(&self.made);
        }
        match repeated(&self.made) {
            None => Ok(()),
            Some(id) => {
                let message =
                    format!("Duplicate value for 'tool_call_id' of '{id}' in message[{index}].");
                Err(OpenAiProblem::new(message).param(format!("messages.[{index}].tool_calls")))
            }
        }
    }

    fn answer(&mut self, index: usize, message: &CheckedMessage<'a>) -> CheckResult<()> {
        if self.made.is_empty() {
            // The vendor spells it like this.
            let message = "Invalid parameter: messages with role 'tool' must be a response to a \
                           preceeding message with 'tool_calls'.";
            return Err(OpenAiProblem::new(message).param(format!("messages.[{index}].role")));
        }
        let param = format!("messages[{index}].tool_call_id");
        let id = id(message.fields, "tool_call_id", &param)?;
        let Some(at) = self.unanswered.iter().position(|unanswered| *unanswered == id) else {
            let message = format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of \
                 previous message."
            );
            return Err(
                OpenAiProblem::new(message).param(format!("messages.[{index}].tool_call_id"))
            );
        };
        self.unanswered.remove(at);
        Ok(())
    }

    /// What comes next is no result, or nothing.
    fn end(&self, index: usize) -> CheckResult<()> {
        if self.unanswered.is_empty() {
            return Ok(());
        }
        let ids = self.unanswered.join(", ");
        let message = format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding \
             to each 'tool_call_id'. The following tool_call_ids did not have response messages: \
             {ids}"
        );
        Err(OpenAiProblem::new(message).param(format!("messages.[{index}].role")))
    }
}

fn repeated<'a>(ids: &[&'a str]) -> Option<&'a str> {
    let before = |index: usize| &ids[..index];
    ids.iter().enumerate().find(|(index, id)| before(*index).contains(id)).map(|(_, id)| *id)
}
