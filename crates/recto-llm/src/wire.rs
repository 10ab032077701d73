//! The wires, and what they share.
//!
//! A vendor's module says what its body looks like and nothing else. What two
//! of them have in common stands here.

mod anthropic;
mod ollama;
mod openai;
#[cfg(test)]
mod tests;

use recto_context::{
    ChatMessage, ContentPart, ContentPiece, Image, OfferedTool, Opaque, RequestContext, ToolCall,
    ToolCalls, ToolChoice,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A vendor's way to write requests down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// Chat completions, as OpenAI, LM Studio, llama.cpp and vLLM take them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl Wire {
    /// The name that the config uses, and that opaque parts carry as their provider.
    pub fn name(self) -> &'static str {
        match self {
            Wire::Ollama => "ollama",
            Wire::OpenAi => "openai",
            Wire::Anthropic => "anthropic",
        }
    }
}

/// What a model entry sets for its calls. The window and the room for the reply
/// are not among it: they come with the request, which was made to fit them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallOptions {
    /// The model's name on its server.
    pub model: String,
    /// How freely the model chooses its words; the server decides when absent.
    pub temperature: Option<f64>,
    /// How much of the probable words it chooses from; the server decides when absent.
    pub top_p: Option<f64>,
}

/// The body of a request, its keys always in the same order. The reply is asked
/// for as a stream: whoever wants it whole collects it.
///
/// ```
/// use recto_context::{Catalog, Inputs};
/// use recto_llm::{CallOptions, Wire, encode};
///
/// let request = Inputs::new(&Catalog::default(), "hello").assemble()?;
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
    }
}

/// The tools to send as schemas: none when they stand on the page as text.
fn native_tools(request: &RequestContext) -> &[OfferedTool] {
    match request.tool_calls {
        ToolCalls::Native => &request.tools,
        ToolCalls::Text => &[],
    }
}

/// Whether the model must call a tool. Servers refuse that without tools.
fn must_call(request: &RequestContext) -> bool {
    request.tool_choice == ToolChoice::Required && !native_tools(request).is_empty()
}

/// The tools in the form that OpenAI made and Ollama took over.
fn function_tools(request: &RequestContext) -> Vec<Value> {
    let function = |tool: &OfferedTool| {
        let spec = &tool.spec;
        json!({
            "type": "function",
            "function": {
                "name": &*spec.id.name,
                "description": &*spec.description,
                "parameters": &*spec.parameters,
            },
        })
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
fn own(wire: Wire, opaque: &Opaque) -> Option<Map<String, Value>> {
    (&*opaque.provider == wire.name()).then(|| object(&opaque.json)).flatten()
}

/// The fields of a message that its encoder writes, on one wire or the other. An
/// opaque part could otherwise add calls that nothing answers, or images.
const ENCODED: [&str; 6] = ["role", "content", "images", "tool_calls", "tool_call_id", "tool_name"];

/// Ollama ignores the case of names, and takes `ſ` for an `s`, so this does too.
fn is_encoded(field: &str) -> bool {
    let field = field.to_uppercase();
    ENCODED.iter().any(|name| name.to_uppercase() == field)
}

/// Opaque parts on wires whose messages have fields for them, such as Ollama's
/// `thinking`: each is an object of such fields.
fn own_fields(wire: Wire, message: &ChatMessage) -> impl Iterator<Item = (String, Value)> {
    let opaque = move |piece: &ContentPiece| match piece {
        ContentPiece::Other(ContentPart::Opaque(opaque)) => own(wire, opaque),
        _ => None,
    };
    message.content.iter().filter_map(opaque).flatten().filter(|(field, _)| !is_encoded(field))
}

/// A JSON object under construction. Keys stand in the order in which they are added.
struct Object(Map<String, Value>);

impl Object {
    fn new() -> Self {
        Object(Map::new())
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

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        object.0.into()
    }
}
