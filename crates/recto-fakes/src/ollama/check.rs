//! What Ollama refuses before it asks a model.
//!
//! The real server reads bodies with Go's JSON decoder into typed structs: a
//! field of another type is an error, `null` is as good as nothing, and unknown
//! fields are let pass.
//!
//! In three cases this is stricter, since no client means what the real server
//! makes of them: an unknown role (which no template shows), a tool without a
//! name, and a tool that is no function.

use serde_json::{Map, Value, json};

use super::{error, runner_error};
use crate::base64;
use crate::model::{Capability, FakeModel};
use crate::reaction::Rejection;

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// A chat that holds nothing of the wrong type.
#[derive(Debug)]
pub(super) struct FakeOllamaChat {
    pub(super) model: String,
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) options: Map<String, Value>,
    pub(super) stream: bool,
    pub(super) truncate: bool,
    pub(super) shift: bool,
    think: bool,
}

/// The name of the model that a client wants shown.
pub(super) fn show(body: &[u8]) -> Result<String, Rejection> {
    let body = object(body, "api.ShowRequest")?;
    let fields = GoFields { of: "ShowRequest", fields: &body };
    let name = match fields.text("model")? {
        "" => fields.text("name")?,
        name => name,
    };
    if name.is_empty() { Err(error(400, "model is required")) } else { Ok(name.to_owned()) }
}

/// Reads a chat, and refuses what has the wrong type.
pub(super) fn chat(body: &[u8]) -> Result<FakeOllamaChat, Rejection> {
    let body = object(body, "api.ChatRequest")?;
    let fields = GoFields { of: "ChatRequest", fields: &body };
    let chat = FakeOllamaChat {
        model: fields.text("model")?.to_owned(),
        messages: fields.list("messages", "[]api.Message")?.to_vec(),
        tools: fields.list("tools", "api.Tools")?.to_vec(),
        options: fields.map("options", "map[string]interface {}")?.cloned().unwrap_or_default(),
        stream: fields.flag("stream")?.unwrap_or(true),
        truncate: fields.flag("truncate")?.unwrap_or(true),
        shift: fields.flag("shift")?.unwrap_or(true),
        think: think(&body)?,
    };
    keep_alive(&body)?;
    chat.messages.iter().try_for_each(message)?;
    chat.tools.iter().try_for_each(tool)?;
    if chat.model.is_empty() { Err(error(400, "model is required")) } else { Ok(chat) }
}

/// Refuses what the model can't do.
pub(super) fn abilities(chat: &FakeOllamaChat, model: &FakeModel) -> Result<(), Rejection> {
    let name = &chat.model;
    if chat.think && !model.can(Capability::Thinking) {
        return Err(error(400, format!("{name:?} does not support thinking")));
    }
    if !model.can(Capability::Completion) {
        return Err(error(400, format!("{name:?} does not support chat")));
    }
    if !chat.tools.is_empty() && !model.can(Capability::Tools) {
        let full_name = format!("registry.ollama.ai/library/{}", super::full_name(name));
        return Err(error(400, format!("{full_name} does not support tools")));
    }
    Ok(())
}

/// Refuses pictures for a model without eyes.
pub(super) fn images(chat: &FakeOllamaChat, model: &FakeModel) -> Result<(), Rejection> {
    let shown = |message: &Value| message["images"].as_array().is_some_and(|it| !it.is_empty());
    if model.can(Capability::Vision) || !chat.messages.iter().any(shown) {
        return Ok(());
    }
    let why = "Multimodal data provided, but model does not support multimodal requests.";
    let problem = json!({ "code": 400, "message": why, "type": "invalid_request_error" });
    Err(runner_error(why, &problem))
}

fn think(body: &Map<String, Value>) -> Result<bool, Rejection> {
    match body.get("think") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(think)) => Ok(*think),
        Some(Value::String(level)) if ["high", "medium", "low", "max"].contains(&&**level) => {
            Ok(true)
        }
        Some(other) => Err(error(400, format!("invalid think value: {other}"))),
    }
}

/// A number of seconds, or a text like `5m`.
fn keep_alive(body: &Map<String, Value>) -> Result<(), Rejection> {
    match body.get("keep_alive") {
        None | Some(Value::Null | Value::Number(_) | Value::String(_)) => Ok(()),
        Some(other) => Err(error(400, format!("Unsupported type: '{}'", kind(other)))),
    }
}

fn message(message: &Value) -> Result<(), Rejection> {
    let fields = GoFields::from_value("Message", message, "api.Message")?;
    let role = fields.text("role")?.to_lowercase();
    if !ROLES.contains(&&*role) {
        return Err(error(400, format!("invalid role: {role:?}")));
    }
    for name in ["content", "thinking", "tool_name", "tool_call_id"] {
        fields.text(name)?;
    }
    fields.list("images", "[]api.ImageData")?.iter().try_for_each(image)?;
    fields.list("tool_calls", "[]api.ToolCall")?.iter().try_for_each(tool_call)
}

fn image(image: &Value) -> Result<(), Rejection> {
    let Some(data) = image.as_str() else {
        return Err(wrong_type(image, "field Message.images", "api.ImageData"));
    };
    match base64::first_illegal_byte(data) {
        None => Ok(()),
        Some(at) => Err(error(400, format!("illegal base64 data at input byte {at}"))),
    }
}

fn tool_call(call: &Value) -> Result<(), Rejection> {
    let fields = GoFields::from_value("ToolCall", call, "api.ToolCall")?;
    fields.text("id")?;
    let Some(function) = fields.map("function", "api.ToolCallFunction")? else { return Ok(()) };
    let fields = GoFields { of: "ToolCallFunction", fields: function };
    fields.text("name")?;
    fields.map("arguments", "api.ToolCallFunctionArguments")?;
    Ok(())
}

fn tool(tool: &Value) -> Result<(), Rejection> {
    let fields = GoFields::from_value("Tool", tool, "api.Tool")?;
    if fields.text("type")? != "function" {
        return Err(error(400, "tools: the type must be \"function\""));
    }
    let Some(function) = fields.map("function", "api.ToolFunction")? else {
        return Err(error(400, "tools: the function is missing"));
    };
    let fields = GoFields { of: "ToolFunction", fields: function };
    if fields.text("name")?.is_empty() {
        return Err(error(400, "tools: the function has no name"));
    }
    fields.text("description")?;
    let parameters = fields.map("parameters", "api.ToolFunctionParameters")?;
    parameters.map_or(Ok(()), |parameters| schema("ToolFunctionParameters", parameters))
}

/// A schema as far as the real server reads it. One that is just `true`, which
/// JSON Schema allows, is among what it can't read.
fn schema(of: &'static str, schema: &Map<String, Value>) -> Result<(), Rejection> {
    let fields = GoFields { of, fields: schema };
    fields.text("description")?;
    fields.list("enum", "[]interface {}")?;
    schema_type(of, schema.get("type"))?;
    for name in fields.list("required", "[]string")? {
        if !name.is_string() {
            return Err(wrong_type(name, &format!("field {of}.required"), "string"));
        }
    }
    let properties = fields.map("properties", "map[string]api.ToolProperty")?;
    let any_of = fields.list("anyOf", "[]api.ToolProperty")?;
    for property in properties.into_iter().flat_map(Map::values).chain(any_of) {
        let fields = GoFields::from_value("ToolProperty", property, "api.ToolProperty")?;
        self::schema("ToolProperty", fields.fields)?;
    }
    Ok(())
}

/// A type or a list of types.
fn schema_type(of: &str, given: Option<&Value>) -> Result<(), Rejection> {
    match given {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(Value::Array(types)) if types.iter().all(Value::is_string) => Ok(()),
        Some(other) => Err(wrong_type(other, &format!("field {of}.type"), "api.PropertyType")),
    }
}

fn object(body: &[u8], go_type: &str) -> Result<Map<String, Value>, Rejection> {
    if body.is_empty() {
        return Err(error(400, "missing request body"));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(wrong_type(&other, "value", go_type)),
        Err(problem) => Err(error(400, format!("invalid JSON: {problem}"))),
    }
}

/// The fields of a Go struct.
struct GoFields<'a> {
    of: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> GoFields<'a> {
    fn from_value(of: &'static str, value: &'a Value, go_type: &str) -> Result<Self, Rejection> {
        let fields = value.as_object().ok_or_else(|| wrong_type(value, "value", go_type))?;
        Ok(GoFields { of, fields })
    }

    fn text(&self, name: &str) -> Result<&'a str, Rejection> {
        Ok(self.get(name, "string", Value::as_str)?.unwrap_or_default())
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Rejection> {
        self.get(name, "bool", Value::as_bool)
    }

    fn list(&self, name: &str, go_type: &str) -> Result<&'a [Value], Rejection> {
        let list = self.get(name, go_type, Value::as_array)?;
        Ok(list.map(Vec::as_slice).unwrap_or_default())
    }

    fn map(&self, name: &str, go_type: &str) -> Result<Option<&'a Map<String, Value>>, Rejection> {
        self.get(name, go_type, Value::as_object)
    }

    fn get<T>(
        &self,
        name: &str,
        go_type: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Rejection> {
        match self.fields.get(name).filter(|value| !value.is_null()) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(wrong_type(value, &format!("field {}.{name}", self.of), go_type)),
            },
        }
    }
}

/// As Go words it.
fn wrong_type(value: &Value, place: &str, go_type: &str) -> Rejection {
    let place = match place {
        "value" => "Go value".to_owned(),
        field => format!("Go struct {field}"),
    };
    let kind = kind(value);
    error(400, format!("json: cannot unmarshal {kind} into {place} of type {go_type}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
