//! A chat or a prompt as Ollama's clients send it. Fields that say how a model is loaded or
//! sampled, beyond those named here, are ignored.

use std::sync::Arc;

use axum::body::Bytes;
use recto_agent::SessionSettings;
use recto_context::{
    CallId, ClientMessage, ClientTool, ContentPart, MessageBody, Text, ToolCall, UserMessage,
};
use recto_llm::{ReplyFormat, ReplySchema};
use serde::Deserialize;
use serde_json::Value;

use crate::front_door::{
    ClientList, SteeringNumbers, name_calls, read_base64_image, read_door_body, reply_rules,
};
use crate::problem::{ApiProblem, ApiResult};

/// The body of `/api/chat`.
#[derive(Debug, Deserialize)]
pub(super) struct OllamaChatBody {
    pub(super) model: String,
    #[serde(default)]
    messages: Option<Vec<MessageJson>>,
    #[serde(default)]
    tools: Option<Vec<ToolJson>>,
    #[serde(skip)]
    pub(super) manner: MannerJson,
}

/// The body of `/api/generate`.
#[derive(Debug, Deserialize)]
pub(super) struct PromptBody {
    pub(super) model: String,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    images: Option<Vec<String>>,
    /// What is looked at only to be refused.
    #[serde(default)]
    suffix: Option<String>,
    #[serde(default)]
    template: Option<String>,
    #[serde(default)]
    context: Option<Vec<Value>>,
    #[serde(default)]
    raw: Option<bool>,
    #[serde(skip)]
    pub(super) manner: MannerJson,
}

/// What both bodies say of how the reply is to be. It is read apart: of a field of a flattened struct,
/// serde could not say where it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MannerJson {
    stream: Option<bool>,
    options: Option<OptionsJson>,
    format: Option<Value>,
    think: Option<Value>,
    keep_alive: Option<Value>,
    logprobs: Option<bool>,
    /// Recto's own: full, minimal or auto.
    pub(super) context_mode: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OptionsJson {
    num_predict: Option<f64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Option<Value>,
    #[serde(flatten)]
    numbers: SteeringNumbers,
}

/// How a reply is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineDelivery {
    /// In one object.
    Whole,
    /// A line for each piece.
    Streamed,
}

#[derive(Debug, Deserialize)]
struct MessageJson {
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    images: Option<Vec<String>>,
    #[serde(default)]
    tool_calls: Option<Vec<CallJson>>,
    #[serde(default, alias = "name")]
    tool_name: Option<String>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CallJson {
    #[serde(default)]
    id: Option<String>,
    function: FunctionCallJson,
}

#[derive(Debug, Deserialize)]
struct FunctionCallJson {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Deserialize)]
struct ToolJson {
    function: FunctionJson,
}

#[derive(Debug, Deserialize)]
struct FunctionJson {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Value,
}

impl OllamaChatBody {
    pub(super) async fn read(body: Bytes) -> ApiResult<Self> {
        let manner = read_door_body(body.clone()).await?;
        Ok(OllamaChatBody { manner, ..read_door_body(body).await? })
    }

    /// Whether it has no messages: that only loads a model.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.as_ref().is_none_or(Vec::is_empty)
    }

    /// The client's messages.
    pub(super) fn take_list(&mut self) -> ApiResult<ClientList> {
        let messages = self.messages.take().into_iter().flatten();
        let mut messages = messages.map(read_message).collect::<ApiResult<Vec<_>>>()?;
        name_calls(&mut messages);
        ClientList::read(messages)
    }

    /// The client's tools.
    pub(super) fn tools(&self) -> Vec<ClientTool> {
        let tool = |tool: &ToolJson| ClientTool {
            name: tool.function.name.as_str().into(),
            description: tool.function.description.as_deref().unwrap_or_default().into(),
            parameters: tool.function.parameters.clone(),
        };
        self.tools.iter().flatten().map(tool).collect()
    }
}

impl PromptBody {
    pub(super) async fn read(body: Bytes) -> ApiResult<Self> {
        let manner = read_door_body(body.clone()).await?;
        Ok(PromptBody { manner, ..read_door_body(body).await? })
    }

    /// Whether it asks for nothing: that only loads a model.
    pub(super) fn is_empty(&self) -> bool {
        self.prompt.as_deref().is_none_or(str::is_empty)
            && self.images.iter().flatten().count() == 0
    }

    /// The prompt as a list of messages.
    pub(super) fn take_list(&mut self) -> ApiResult<ClientList> {
        self.refuse_unsupported()?;
        let system = self.system.take().filter(|text| !text.is_empty());
        let system = system.map(|text| ClientMessage::System(text.into()));
        let content = read_content(self.prompt.take(), self.images.take())?;
        let message = MessageBody::User(UserMessage { content, ..UserMessage::default() });
        ClientList::read(system.into_iter().chain([ClientMessage::Said(message)]).collect())
    }

    fn refuse_unsupported(&self) -> ApiResult<()> {
        let has_text = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let refused = [
            (self.raw == Some(true), "`raw`"),
            (has_text(&self.suffix), "`suffix`"),
            (has_text(&self.template), "`template`"),
            (self.context.as_ref().is_some_and(|tokens| !tokens.is_empty()), "`context`"),
        ];
        match refused.iter().find(|(is_set, _)| *is_set) {
            Some((_, what)) => Err(ApiProblem::unsupported(
                what,
                "send the conversation to /api/chat; Recto puts the prompt together",
            )),
            None => Ok(()),
        }
    }
}

impl MannerJson {
    /// How the reply is to be sent: in pieces, unless the client says otherwise.
    pub(super) fn delivery(&self) -> LineDelivery {
        match self.stream {
            Some(false) => LineDelivery::Whole,
            Some(true) | None => LineDelivery::Streamed,
        }
    }

    /// Whether the client wants no reasoning.
    pub(super) fn hides_thinking(&self) -> bool {
        self.think == Some(Value::Bool(false))
    }

    /// Why a request without a message is answered: it has the model loaded, or let go.
    pub(super) fn load_reason(&self) -> &'static str {
        let is_zero = |value: &Value| match value {
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.trim_end_matches(char::is_alphabetic) == "0",
            _ => false,
        };
        if self.keep_alive.as_ref().is_some_and(is_zero) { "unload" } else { "load" }
    }

    /// The form that the reply is to have, where that is not text.
    fn reply_format(&self) -> ApiResult<Option<ReplyFormat>> {
        match &self.format {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(format)) if format.is_empty() => Ok(None),
            Some(Value::String(format)) if format == "json" => Ok(Some(ReplyFormat::Json)),
            Some(schema @ Value::Object(_)) => Ok(Some(ReplyFormat::Schema(ReplySchema {
                name: "reply".to_owned(),
                description: None,
                schema: Arc::new(schema.clone()),
                strict: None,
            }))),
            Some(_) => Err(ApiProblem::invalid("`format` is `json` or a JSON schema")),
        }
    }

    /// The settings that the client asks for. Limits below one mean none to Ollama.
    pub(super) fn settings(&self) -> ApiResult<SessionSettings> {
        if self.logprobs == Some(true) {
            return Err(ApiProblem::unsupported("`logprobs`", "leave it out"));
        }
        let none = OptionsJson::default();
        let OptionsJson { num_predict, temperature, top_p, stop, numbers } =
            self.options.as_ref().unwrap_or(&none);
        // A number that is too large for it is as good as none.
        let tokens = num_predict.map(|tokens| tokens as u32);
        Ok(SessionSettings {
            reply: reply_rules(stop.as_ref(), self.reply_format()?, numbers)?,
            temperature: temperature.filter(|value| (0.0..=2.0).contains(value)),
            top_p: top_p.filter(|value| (0.0..=1.0).contains(value)),
            max_output_tokens: tokens.filter(|tokens| *tokens > 0),
            ..SessionSettings::default()
        })
    }
}

fn read_message(message: MessageJson) -> ApiResult<ClientMessage> {
    Ok(match message.role.to_ascii_lowercase().as_str() {
        "system" => ClientMessage::System(message.content.unwrap_or_default().into()),
        "user" => ClientMessage::Said(MessageBody::User(UserMessage {
            content: read_content(message.content, message.images)?,
            ..UserMessage::default()
        })),
        "assistant" => ClientMessage::Said(MessageBody::Assistant {
            content: read_content(message.content, None)?,
            calls: message.tool_calls.into_iter().flatten().map(read_call).collect(),
        }),
        "tool" => ClientMessage::Said(MessageBody::Tool {
            call: CallId(message.tool_call_id.unwrap_or_default().into()),
            name: message.tool_name.unwrap_or_default().into(),
            content: read_content(message.content, None)?,
        }),
        role => {
            return Err(ApiProblem::invalid(format!(
                "`{role}` is no role: system, user, assistant and tool are"
            )));
        }
    })
}

fn read_content(text: Option<String>, images: Option<Vec<String>>) -> ApiResult<Vec<ContentPart>> {
    let text = text.filter(|text| !text.is_empty());
    let text = text.map(|text| Ok(ContentPart::Text(Text::from(text))));
    let images = images.into_iter().flatten();
    let images = images.map(|image| Ok(ContentPart::Image(read_base64_image(&image)?)));
    text.into_iter().chain(images).collect()
}

fn read_call(call: CallJson) -> ToolCall {
    let arguments = match call.function.arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text,
        value => value.to_string(),
    };
    ToolCall {
        id: CallId(call.id.unwrap_or_default().into()),
        name: call.function.name.into(),
        arguments: arguments.into(),
    }
}
