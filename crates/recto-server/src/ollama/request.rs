//! A chat or a prompt as Ollama's clients send it. Fields that say how a model is loaded or
//! sampled, beyond those named here, are ignored.

use recto_agent::SessionSettings;
use recto_context::{
    CallId, ClientMessage, ClientTool, ContentPart, MessageBody, Text, ToolCall, UserMessage,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::front_door::{ClientList, name_calls, read_base64_image};
use crate::problem::{ApiProblem, ApiResult};

/// The body of `/api/chat`.
#[derive(Debug, Deserialize)]
pub(super) struct OllamaChatBody {
    pub(super) model: String,
    #[serde(default)]
    messages: Option<Vec<MessageJson>>,
    #[serde(default)]
    tools: Option<Vec<ToolJson>>,
    #[serde(flatten)]
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
    #[serde(flatten)]
    pub(super) manner: MannerJson,
}

/// What both bodies say of how the reply is to be.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MannerJson {
    stream: Option<bool>,
    options: Option<OptionsJson>,
    format: Option<Value>,
    think: Option<Value>,
    logprobs: Option<bool>,
    /// Recto's own: full, minimal or auto.
    pub(super) context_mode: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OptionsJson {
    num_predict: Option<i64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
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

/// Reads a body. Ollama's clients don't always say that it is JSON.
pub(super) fn read_body<T: DeserializeOwned>(body: &[u8]) -> ApiResult<T> {
    serde_json::from_slice(body)
        .map_err(|error| ApiProblem::invalid(format!("the body can't be read: {error}")))
}

impl OllamaChatBody {
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

    /// The settings that the client asks for. Limits below one mean none to Ollama.
    pub(super) fn settings(&self) -> ApiResult<SessionSettings> {
        let has_format = match &self.format {
            None | Some(Value::Null) => false,
            Some(Value::String(format)) => !format.is_empty(),
            Some(_) => true,
        };
        if has_format {
            return Err(ApiProblem::unsupported(
                "`format`",
                "describe the form in a message, or give a tool whose parameters have it",
            ));
        }
        if self.logprobs == Some(true) {
            return Err(ApiProblem::unsupported("`logprobs`", "leave it out"));
        }
        let none = OptionsJson::default();
        let OptionsJson { num_predict, temperature, top_p } =
            self.options.as_ref().unwrap_or(&none);
        let tokens = num_predict.and_then(|tokens| u32::try_from(tokens).ok());
        Ok(SessionSettings {
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
