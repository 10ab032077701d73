//! The wires, and what they share.
//!
//! A vendor's module says what its bodies look like, there and back, and
//! nothing else. What two of them have in common stands here. Nothing in this
//! module does I/O, but that a chat template is rendered by a process of its own.

mod anthropic;
mod decode;
pub(crate) mod embedded;
pub(crate) mod failure;
mod frame;
mod key_guard;
mod ollama;
mod openai;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use recto_context::{
    CallDemand, ChatMessage, ContentPart, ContentPiece, Image, Layer, OfferedTool, Opaque,
    RequestContext, ToolCall, ToolCalls, ToolChoice,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::reply_rules::ReplyRules;

pub use decode::{ReplyDecoder, ReplyDelta};
pub(crate) use embedded::do_written_work;
pub use embedded::{CallStyle, ChatTemplate};

/// A vendor's way to write requests down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Wire {
    /// Ollama's own interface, `/api/chat`.
    Ollama,
    /// Chat completions, as OpenAI, LM Studio, llama.cpp and vLLM take them.
    OpenAi,
    /// The interface of Anthropic, `/v1/messages`.
    Anthropic,
    /// The prompt itself, as the embedded model reads it.
    Embedded,
}

impl Wire {
    /// The name that the config uses, and that opaque parts carry as their provider.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it can demand of a reply. Where tools stand on the page as text, a server knows of
    /// none that it could demand; the embedded model is held to what the page says.
    ///
    /// Servers that speak like OpenAI often know the words alone, and refuse or overlook a tool
    /// that is named. A model that must call one, and was asked for this one, is likely to take it.
    pub fn call_demand(self, tool_calls: ToolCalls) -> CallDemand {
        match (self, tool_calls) {
            (Wire::Embedded, _) => CallDemand::NamedTool,
            (Wire::Ollama, _) | (_, ToolCalls::Text) => CallDemand::Nothing,
            (Wire::OpenAi, ToolCalls::Native) => CallDemand::AnyTool,
            (Wire::Anthropic, ToolCalls::Native) => CallDemand::NamedTool,
        }
    }
}

/// The options of a call that a model entry sets. The window and the room for the reply
/// are not among it: they come with the request, which was made to fit them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CallOptions {
    /// The model's name on its server.
    pub model: String,
    /// How freely the model chooses its words; the server decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How much of the probable words it chooses from; the server decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// What a client asks of the reply.
    #[serde(default, skip_serializing_if = "ReplyRules::is_empty")]
    pub reply: ReplyRules,
    /// How the embedded model wants conversations written down. It belongs to the
    /// record of a request, so that its prompt can be written anew without the
    /// model's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Arc<ChatTemplate>>,
}

/// Encodes the body of a request, its keys always in the same order. The reply is asked
/// for as a stream: whoever wants it whole collects it.
///
/// ```
/// use recto_context::{Catalog, AssemblyInputs};
/// use recto_llm::{CallOptions, Wire, encode};
///
/// let request = AssemblyInputs::new(&Catalog::default(), "hello").assemble()?;
/// let options = CallOptions { model: "qwen3".to_owned(), ..CallOptions::default() };
/// let body = encode(Wire::Ollama, &options, &request);
/// assert_eq!(body["model"], "qwen3");
/// assert_eq!(body["options"]["num_ctx"], 4_096);
/// # Ok::<(), recto_context::OverBudget>(())
/// ```
pub fn encode(wire: Wire, options: &CallOptions, request: &RequestContext) -> Value {
    match wire {
        Wire::Ollama => ollama::encode(options, request),
        Wire::OpenAi => openai::encode(options, request),
        Wire::Anthropic => anthropic::encode(options, request),
        Wire::Embedded => embedded::encode(options, request),
    }
}

/// The model that a body asks for, which stands under the same name on every
/// wire; empty when it names none.
pub(crate) fn requested_model(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct RequestedModel {
        model: String,
    }
    serde_json::from_slice(body).map(|request: RequestedModel| request.model).unwrap_or_default()
}

/// The layer of the page that a message stands in.
fn layer(request: &RequestContext, message: &ChatMessage) -> Option<Layer> {
    let first = message.spans.first().and_then(|span| request.parts.get(span.part));
    first.map(|part| part.layer)
}

/// The tools to send as schemas: none when they stand on the page as text.
fn native_tools(request: &RequestContext) -> &[OfferedTool] {
    match request.tool_calls {
        ToolCalls::Native => &request.tools,
        ToolCalls::Text => &[],
    }
}

/// Whether the model must call a tool, and which. Servers refuse that without tools.
fn tool_choice(request: &RequestContext) -> &ToolChoice {
    match native_tools(request).is_empty() {
        true => &ToolChoice::Auto,
        false => &request.tool_choice,
    }
}

/// The tools in the form that OpenAI made and Ollama took over.
fn function_tools(request: &RequestContext) -> Vec<Value> {
    let function = |tool: &OfferedTool| {
        let spec = &tool.spec;
        let function = JsonObject::new()
            .with("name", &*spec.called)
            .with_some("description", spec.description.as_deref())
            .with("parameters", Value::clone(&spec.parameters));
        json!({"type": "function", "function": Value::from(function)})
    };
    native_tools(request).iter().map(function).collect()
}

/// A call's arguments for wires that take an object. What a model wrote is kept
/// even when it is no object: the model then sees its own mistake.
fn arguments_object(call: &ToolCall) -> Value {
    if call.arguments.is_empty() {
        return json!({});
    }
    match object(&call.arguments) {
        Some(arguments) => arguments.into(),
        None => json!({ "_raw": call.arguments.as_str() }),
    }
}

/// A name that servers take: a model may have made one up that they refuse, and
/// with it the whole conversation. Those of real tools are safe already.
fn safe_name(name: &str) -> String {
    const LONGEST: usize = 64;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(safe).take(LONGEST).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

fn images(message: &ChatMessage) -> impl Iterator<Item = &Image> {
    message.content.iter().filter_map(|piece| match piece {
        ContentPiece::Other(ContentPart::Image(image)) => Some(image),
        _ => None,
    })
}

/// An opaque part as the provider sent it, if `wire` is the provider's. Anyone
/// else could not read it, and has no business to.
fn own_opaque(wire: Wire, opaque: &Opaque) -> Option<Map<String, Value>> {
    (&*opaque.provider == wire.name()).then(|| object(&opaque.json)).flatten()
}

/// The opaque parts of a message that are `wire`'s own, on wires whose messages
/// have fields for them: each is an object of such fields.
fn own_fields(wire: Wire, message: &ChatMessage) -> impl Iterator<Item = (String, Value)> {
    let opaque = move |piece: &ContentPiece| match piece {
        ContentPiece::Other(ContentPart::Opaque(opaque)) => own_opaque(wire, opaque),
        _ => None,
    };
    message.content.iter().filter_map(opaque).flatten()
}

/// A JSON object under construction. Keys stand in the order in which they are added.
struct JsonObject(Map<String, Value>);

impl JsonObject {
    fn new() -> Self {
        JsonObject(Map::new())
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Nothing is added for `None`.
    fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// A list of texts; nothing is added where it is empty.
    fn with_texts(self, key: &str, texts: &[String]) -> Self {
        self.with_list(key, texts.iter().map(|text| text.as_str().into()).collect())
    }

    /// Nothing is added for an empty list.
    fn with_list(self, key: &str, list: Vec<Value>) -> Self {
        if list.is_empty() { self } else { self.with(key, list) }
    }

    /// Adds the fields that are not there yet.
    fn with_new(mut self, fields: impl Iterator<Item = (String, Value)>) -> Self {
        for (key, value) in fields {
            self.0.entry(key).or_insert(value);
        }
        self
    }
}

impl From<JsonObject> for Value {
    fn from(object: JsonObject) -> Value {
        object.0.into()
    }
}
