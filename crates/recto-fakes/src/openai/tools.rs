//! What OpenAI refuses in tools, and in the choice among them.

use serde_json::{Map, Value};

use super::check::{flag, given};
use super::messages::{object, text};
use super::problem::{CheckResult, OpenAiProblem};

/// The most tools in a request.
const MOST: usize = 128;

/// The most characters of a tool's name.
const LONGEST_NAME: usize = 64;

/// The choices that are just a word.
const CHOICES: [&str; 3] = ["none", "auto", "required"];

pub(super) fn check(body: &Map<String, Value>) -> CheckResult<&[Value]> {
    let tools = match given(body, "tools") {
        None => return without_tools(body),
        Some(Value::Array(tools)) if tools.is_empty() => {
            return Err(OpenAiProblem::empty_list("tools"));
        }
        Some(Value::Array(tools)) => tools,
        Some(other) => {
            return Err(OpenAiProblem::wrong_type("tools", "an array of objects", other));
        }
    };
    if tools.len() > MOST {
        let length = tools.len();
        let message = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {MOST}, but \
             got an array with length {length} instead."
        );
        return Err(OpenAiProblem::new(message).param("tools").code("array_above_max_length"));
    }
    let names = tools.iter().enumerate().map(|(index, it)| tool(&format!("tools[{index}]"), it));
    let names: Vec<&str> = names.collect::<Result<_, _>>()?;
    choice(given(body, "tool_choice"), &names)?;
    flag(body, "parallel_tool_calls", "parallel_tool_calls")?;
    Ok(tools)
}

/// Some parameters make no sense without tools.
fn without_tools(body: &Map<String, Value>) -> CheckResult<&[Value]> {
    for name in ["tool_choice", "parallel_tool_calls"] {
        if given(body, name).is_some() {
            let message = format!(
                "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            );
            return Err(OpenAiProblem::new(message).param(name));
        }
    }
    Ok(&[])
}

/// A tool's name, once all of the tool is as it should be.
fn tool<'a>(place: &str, tool: &'a Value) -> CheckResult<&'a str> {
    let Some(fields) = tool.as_object() else {
        return Err(OpenAiProblem::wrong_type(place, "an object", tool));
    };
    let param = format!("{place}.type");
    let kind = text(fields, "type", &param)?;
    if kind != "function" {
        return Err(OpenAiProblem::unsupported(&param, kind, &["function", "custom"]));
    }
    let place = format!("{place}.function");
    let function = object(fields, "function", &place)?;
    let name = name(function, &format!("{place}.name"))?;
    if given(function, "description").is_some() {
        text(function, "description", &format!("{place}.description"))?;
    }
    if given(function, "parameters").is_some() {
        let param = format!("{place}.parameters");
        schema(name, object(function, "parameters", &param)?, &param)?;
    }
    Ok(name)
}

fn name<'a>(function: &'a Map<String, Value>, param: &str) -> CheckResult<&'a str> {
    let name = text(function, "name", param)?;
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return Err(OpenAiProblem::too_long(param, LONGEST_NAME, length));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(fits) {
        let message = format!(
            "Invalid '{param}': string does not match pattern. Expected a string that matches \
             the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(OpenAiProblem::new(message).param(param).code("invalid_value"));
    }
    Ok(name)
}

fn schema(name: &str, schema: &Map<String, Value>, param: &str) -> CheckResult<()> {
    let kind = schema.get("type").and_then(Value::as_str);
    // An empty schema stands for a function without parameters.
    if kind == Some("object") || schema.is_empty() {
        return Ok(());
    }
    let kind = kind.unwrap_or("None");
    let message = format!(
        "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \
         \"object\"', got 'type: \"{kind}\"'."
    );
    Err(OpenAiProblem::new(message).param(param).code("invalid_function_parameters"))
}

fn choice(choice: Option<&Value>, names: &[&str]) -> CheckResult<()> {
    match choice {
        None => Ok(()),
        Some(Value::String(word)) if CHOICES.contains(&word.as_str()) => Ok(()),
        Some(Value::String(word)) => Err(OpenAiProblem::unsupported("tool_choice", word, &CHOICES)),
        Some(Value::Object(fields)) => chosen_function(fields, names),
        Some(other) => {
            Err(OpenAiProblem::wrong_type("tool_choice", "one of a string or object", other))
        }
    }
}

fn chosen_function(choice: &Map<String, Value>, names: &[&str]) -> CheckResult<()> {
    let kind = text(choice, "type", "tool_choice.type")?;
    if kind != "function" {
        return Err(OpenAiProblem::unsupported("tool_choice.type", kind, &["function"]));
    }
    let function = object(choice, "function", "tool_choice.function")?;
    let name = text(function, "name", "tool_choice.function.name")?;
    if names.contains(&name) {
        return Ok(());
    }
    let message = format!("Tool choice '{name}' not found in 'tools' parameter.");
    Err(OpenAiProblem::new(message).param("tool_choice").code("invalid_value"))
}
