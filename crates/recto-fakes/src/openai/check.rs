//! What OpenAI refuses before it asks a model: the request as a whole. Messages
//! and tools have files of their own.

use serde_json::{Map, Value};

use super::problem::{CheckResult, OpenAiProblem};
use super::{messages, tools};
use crate::log::ReceivedRequest;

/// The parameters that the API knows.
const PARAMETERS: &str = "\
    audio frequency_penalty function_call functions logit_bias logprobs \
    max_completion_tokens max_tokens messages metadata modalities model \
    n parallel_tool_calls prediction presence_penalty prompt_cache_key \
    prompt_cache_retention reasoning_effort response_format \
    safety_identifier seed service_tier stop store stream stream_options \
    temperature tool_choice tools top_logprobs top_p user verbosity \
    web_search_options";

/// A chat that holds nothing wrong.
#[derive(Debug)]
pub(super) struct FakeOpenAiChat {
    pub(super) model: String,
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// The room that the client wants for the reply.
    pub(super) reply_tokens: u32,
}

pub(super) fn chat(received: &ReceivedRequest) -> CheckResult<FakeOpenAiChat> {
    let body = body(received)?;
    let is_known = |name: &&String| PARAMETERS.split(' ').any(|known| known == **name);
    if let Some(unknown) = body.keys().find(|name| !is_known(name)) {
        let message = format!("Unrecognized request argument supplied: {unknown}");
        return Err(OpenAiProblem::new(message));
    }
    let model = model(body)?;
    let messages = messages::check(body.get("messages"))?.to_vec();
    let tools = tools::check(body)?.to_vec();
    let stream = flag(body, "stream", "stream")?;
    let include_usage = include_usage(body, stream)?;
    within(body, "temperature", 2.0)?;
    within(body, "top_p", 1.0)?;
    let reply_tokens = reply_tokens(body)?;
    Ok(FakeOpenAiChat { model, messages, tools, stream, include_usage, reply_tokens })
}

fn body(received: &ReceivedRequest) -> CheckResult<&Map<String, Value>> {
    if !received.is_of_type("application/json") {
        let given = received.header("content-type").unwrap_or_default();
        let message = format!(
            "Unsupported content type: '{given}'. This API method only accepts \
             'application/json' requests, but you specified the header 'Content-Type: {given}'."
        );
        return Err(OpenAiProblem::new(message).code("unsupported_content_type"));
    }
    received.json.as_ref().and_then(Value::as_object).ok_or_else(|| {
        let message = "We could not parse the JSON body of your request. The OpenAI API expects a \
                       JSON payload.";
        OpenAiProblem::new(message)
    })
}

fn model(body: &Map<String, Value>) -> CheckResult<String> {
    match body.get("model") {
        None => Err(OpenAiProblem::new("you must provide a model parameter")),
        Some(Value::String(name)) => Ok(name.clone()),
        Some(other) => Err(OpenAiProblem::wrong_type("model", "a string", other)),
    }
}

fn include_usage(body: &Map<String, Value>, stream: bool) -> CheckResult<bool> {
    let Some(options) = given(body, "stream_options") else { return Ok(false) };
    if !stream {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(OpenAiProblem::new(message).param("stream_options"));
    }
    let Some(options) = options.as_object() else {
        return Err(OpenAiProblem::wrong_type("stream_options", "an object", options));
    };
    flag(options, "include_usage", "stream_options.include_usage")
}

/// A flag that may be left out. `param` is what the client calls it.
pub(super) fn flag(fields: &Map<String, Value>, name: &str, param: &str) -> CheckResult<bool> {
    match given(fields, name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(OpenAiProblem::wrong_type(param, "a boolean", other)),
    }
}

/// A field that is there and says something.
pub(super) fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn within(body: &Map<String, Value>, name: &str, most: f64) -> CheckResult<()> {
    let Some(value) = given(body, name) else { return Ok(()) };
    match value.as_f64() {
        None => Err(OpenAiProblem::wrong_type(name, "a decimal", value)),
        Some(number) if (0.0..=most).contains(&number) => Ok(()),
        Some(_) => Err(OpenAiProblem::out_of_range(name, &format!(">= 0 and <= {most}"), value)),
    }
}

fn reply_tokens(body: &Map<String, Value>) -> CheckResult<u32> {
    let newer = tokens(body, "max_completion_tokens")?;
    let older = tokens(body, "max_tokens")?;
    if newer.is_some() && older.is_some() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not \
                       supported.";
        return Err(OpenAiProblem::new(message).code("invalid_parameter_combination"));
    }
    Ok(newer.or(older).unwrap_or(0))
}

fn tokens(body: &Map<String, Value>, name: &str) -> CheckResult<Option<u32>> {
    let Some(value) = given(body, name) else { return Ok(None) };
    match value.as_i64() {
        None => Err(OpenAiProblem::wrong_type(name, "an integer", value)),
        Some(..1) => Err(OpenAiProblem::out_of_range(name, ">= 1", value)),
        Some(tokens) => Ok(Some(u32::try_from(tokens).unwrap_or(u32::MAX))),
    }
}
