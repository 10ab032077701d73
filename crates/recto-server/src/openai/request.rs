//! A chat completion as a client asks for it.

use std::sync::Arc;

use axum::body::Bytes;
use recto_agent::SessionSettings;
use recto_context::{
    CallId, ClientMessage, ClientTool, ClientToolChoice, ContentPart, MessageBody, ToolCall,
    UserMessage,
};
use recto_llm::{ReplyFormat, ReplySchema};
use serde::Deserialize;
use serde_json::Value;

use crate::front_door::{ClientList, SteeringNumbers, read_data_url, read_door_body, reply_rules};
use crate::problem::{ApiProblem, ApiResult, DoorParameter};

/// The body of a request for a chat completion. What is not named here is ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenAiChatBody {
    pub(super) model: String,
    messages: Vec<MessageJson>,
    tools: Option<Vec<ToolJson>>,
    tool_choice: Option<Value>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    pub(super) user: Option<String>,
    /// Recto's own: full, minimal or auto.
    pub(super) context_mode: Option<Value>,
    stop: Option<Value>,
    response_format: Option<Value>,
    #[serde(flatten)]
    numbers: SteeringNumbers,
    /// What is looked at only to be refused.
    n: Option<u64>,
    logprobs: Option<bool>,
    logit_bias: Option<Value>,
    modalities: Option<Vec<String>>,
    functions: Option<Value>,
    function_call: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// How a reply is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyDelivery {
    Whole,
    Streamed,
    /// Streamed, with what it cost at its end.
    StreamedWithUsage,
}

#[derive(Debug, Deserialize)]
struct MessageJson {
    role: String,
    #[serde(default)]
    content: Option<ContentJson>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallJson>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of parts")]
enum ContentJson {
    Text(String),
    Parts(Vec<PartJson>),
}

#[derive(Debug, Deserialize)]
struct PartJson {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageJson>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected an address, or an object with `url`")]
enum ImageJson {
    Object { url: String },
    Url(String),
}

#[derive(Debug, Deserialize)]
struct CallJson {
    #[serde(default)]
    id: String,
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
    #[serde(rename = "type")]
    kind: String,
    function: Option<FunctionJson>,
}

#[derive(Debug, Deserialize)]
struct FunctionJson {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Value,
}

impl OpenAiChatBody {
    /// Reads a body, and refuses what would change the meaning of a reply and can't be had.
    pub(super) async fn read(body: Bytes) -> ApiResult<Self> {
        let body: OpenAiChatBody = read_door_body(body).await?;
        if body.model.trim().is_empty() {
            return Err(ApiProblem::invalid("`model` is missing").about(DoorParameter::Model));
        }
        body.refuse_unsupported()?;
        Ok(body)
    }

    fn refuse_unsupported(&self) -> ApiResult<()> {
        let is_set = |value: &Option<Value>| match value {
            None | Some(Value::Null) => false,
            Some(Value::Array(values)) => !values.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            Some(_) => true,
        };
        let has_audio = |kinds: &Vec<String>| kinds.iter().any(|kind| kind != "text");
        let refused = [
            (
                self.n.is_some_and(|n| n > 1),
                DoorParameter::N,
                "`n` above 1",
                "send the request several times",
            ),
            (self.logprobs == Some(true), DoorParameter::Logprobs, "`logprobs`", "leave it out"),
            (is_set(&self.logit_bias), DoorParameter::LogitBias, "`logit_bias`", "leave it out"),
            (
                self.modalities.as_ref().is_some_and(has_audio),
                DoorParameter::Modalities,
                "a modality other than text",
                "leave `modalities` out",
            ),
            (
                is_set(&self.functions) || is_set(&self.function_call),
                DoorParameter::Functions,
                "`functions`",
                "send `tools`, which have taken their place",
            ),
        ];
        match refused.into_iter().find(|(is_refused, ..)| *is_refused) {
            Some((_, name, what, hint)) => Err(ApiProblem::unsupported(what, hint).about(name)),
            None => Ok(()),
        }
    }

    /// How the reply is to be sent.
    pub(super) fn delivery(&self) -> ReplyDelivery {
        let wants_usage =
            self.stream_options.as_ref().and_then(|options| options.include_usage) == Some(true);
        match (self.stream == Some(true), wants_usage) {
            (false, _) => ReplyDelivery::Whole,
            (true, false) => ReplyDelivery::Streamed,
            (true, true) => ReplyDelivery::StreamedWithUsage,
        }
    }

    /// The settings that the client asks for, for its turn.
    pub(super) fn settings(&self) -> ApiResult<SessionSettings> {
        let within = |parameter: DoorParameter, value: Option<f64>, most: f64| match value {
            Some(value) if !(0.0..=most).contains(&value) => {
                let title = format!("`{}` is between 0 and {most}", parameter.name());
                Err(ApiProblem::invalid(title).about(parameter))
            }
            value => Ok(value),
        };
        let tokens = self.max_completion_tokens.or(self.max_tokens);
        if tokens == Some(0) {
            let parameter = match self.max_completion_tokens {
                Some(_) => DoorParameter::MaxCompletionTokens,
                None => DoorParameter::MaxTokens,
            };
            let title = format!("`{}` is at least 1", parameter.name());
            return Err(ApiProblem::invalid(title).about(parameter));
        }
        Ok(SessionSettings {
            temperature: within(DoorParameter::Temperature, self.temperature, 2.0)?,
            top_p: within(DoorParameter::TopP, self.top_p, 1.0)?,
            max_output_tokens: tokens,
            reply: reply_rules(self.stop.as_ref(), self.reply_format()?, &self.numbers)?,
            ..SessionSettings::default()
        })
    }

    /// The form that the reply is to have, where that is not text.
    fn reply_format(&self) -> ApiResult<Option<ReplyFormat>> {
        let invalid = |title: &str| ApiProblem::invalid(title).about(DoorParameter::ResponseFormat);
        let Some(format) = self.response_format.as_ref().filter(|format| !format.is_null()) else {
            return Ok(None);
        };
        match (format["type"].as_str(), &format["json_schema"], format.get("schema")) {
            (Some("text"), ..) => Ok(None),
            (Some("json_object"), _, Some(schema @ Value::Object(_))) => {
                // As llama.cpp and others take it.
                let name = "reply".to_owned();
                let schema = Arc::new(schema.clone());
                let schema = ReplySchema { name, description: None, schema, strict: None };
                Ok(Some(ReplyFormat::Schema(schema)))
            }
            (Some("json_object"), ..) => Ok(Some(ReplyFormat::Json)),
            (Some("json_schema"), given, _) if given["schema"].is_object() => {
                let text = |name: &str| given[name].as_str().map(str::to_owned);
                Ok(Some(ReplyFormat::Schema(ReplySchema {
                    name: text("name").unwrap_or_else(|| "reply".to_owned()),
                    description: text("description"),
                    schema: Arc::new(given["schema"].clone()),
                    strict: given["strict"].as_bool(),
                })))
            }
            (Some("json_schema"), ..) => {
                Err(invalid("`response_format.json_schema.schema` has to be a schema"))
            }
            _ => Err(invalid("`response_format.type` is `text`, `json_object` or `json_schema`")),
        }
    }

    /// What the client asks of the first reply.
    pub(super) fn tool_choice(&self) -> ApiResult<ClientToolChoice> {
        let unsupported = || {
            ApiProblem::unsupported(
                "this `tool_choice`",
                "`auto`, `none`, `required` or one of the functions in `tools` can be chosen",
            )
            .about(DoorParameter::ToolChoice)
        };
        match &self.tool_choice {
            None | Some(Value::Null) => Ok(ClientToolChoice::Free),
            Some(Value::String(choice)) => match choice.as_str() {
                "auto" | "none" => Ok(ClientToolChoice::Free),
                "required" => Ok(ClientToolChoice::Required),
                _ => Err(unsupported()),
            },
            Some(choice) => {
                let name = choice["function"]["name"].as_str().unwrap_or_default();
                let functions =
                    self.tools.iter().flatten().filter_map(|tool| tool.function.as_ref());
                let mut functions = functions.filter(|function| function.name == name);
                functions
                    .next()
                    .map(|_| ClientToolChoice::Named(name.into()))
                    .ok_or_else(unsupported)
            }
        }
    }

    /// The client's tools, as far as it lets the model call them.
    pub(super) fn tools(&self) -> ApiResult<Vec<ClientTool>> {
        if self.tool_choice.as_ref().is_some_and(|choice| choice == "none") {
            return Ok(Vec::new());
        }
        let tool = |tool: &ToolJson| match &tool.function {
            Some(function) if tool.kind == "function" => Ok(ClientTool {
                name: function.name.as_str().into(),
                description: function.description.as_deref().unwrap_or_default().into(),
                parameters: function.parameters.clone(),
            }),
            None if tool.kind == "function" => {
                Err(ApiProblem::invalid("a tool of `tools` has no `function`")
                    .about(DoorParameter::Tools))
            }
            _ => Err(ApiProblem::unsupported(
                &format!("a tool of type `{}`", tool.kind),
                "send tools of type `function`",
            )
            .about(DoorParameter::Tools)),
        };
        self.tools.iter().flatten().map(tool).collect()
    }

    /// The client's messages.
    pub(super) fn take_list(&mut self) -> ApiResult<ClientList> {
        let messages = std::mem::take(&mut self.messages).into_iter();
        ClientList::read(messages.map(read_message).collect::<ApiResult<Vec<_>>>()?)
    }
}

fn read_message(message: MessageJson) -> ApiResult<ClientMessage> {
    let content = read_content(message.content)?;
    Ok(match message.role.as_str() {
        "system" | "developer" => {
            ClientMessage::System(recto_context::visible_text(&content).into())
        }
        "user" => ClientMessage::Said(MessageBody::User(UserMessage {
            content,
            ..UserMessage::default()
        })),
        "assistant" => {
            let mut content = content;
            content.extend(message.refusal.map(|text| ContentPart::Text(text.into())));
            let calls = message.tool_calls.into_iter().flatten().map(read_call).collect();
            ClientMessage::Said(MessageBody::Assistant { content, calls })
        }
        "tool" => {
            let id = message.tool_call_id.filter(|id| !id.is_empty()).ok_or_else(|| {
                ApiProblem::invalid("a message of role `tool` needs its `tool_call_id`")
            })?;
            let (call, name): (CallId, Arc<str>) = (CallId(id.into()), "".into());
            ClientMessage::Said(MessageBody::Tool { call, name, content })
        }
        role => {
            return Err(ApiProblem::invalid(format!(
                "`{role}` is no role: system, developer, user, assistant and tool are"
            )));
        }
    })
}

fn read_content(content: Option<ContentJson>) -> ApiResult<Vec<ContentPart>> {
    match content {
        None => Ok(Vec::new()),
        Some(ContentJson::Text(text)) => Ok(vec![ContentPart::Text(text.into())]),
        Some(ContentJson::Parts(parts)) => parts.into_iter().map(read_part).collect(),
    }
}

fn read_part(part: PartJson) -> ApiResult<ContentPart> {
    match (part.kind.as_str(), part.text.or(part.refusal), part.image_url) {
        ("text" | "refusal", Some(text), _) => Ok(ContentPart::Text(text.into())),
        ("image_url", _, Some(ImageJson::Object { url } | ImageJson::Url(url))) => {
            Ok(ContentPart::Image(read_data_url(&url)?))
        }
        ("text" | "refusal" | "image_url", ..) => {
            Err(ApiProblem::invalid(format!("a part of type `{}` has no content", part.kind)))
        }
        (kind, ..) => Err(ApiProblem::unsupported(
            &format!("content of type `{kind}`"),
            "send text, or images as data URLs",
        )),
    }
}

fn read_call(call: CallJson) -> ToolCall {
    let arguments = match call.function.arguments {
        Value::String(text) => text,
        Value::Null => "{}".to_owned(),
        value => value.to_string(),
    };
    ToolCall {
        id: CallId(call.id.into()),
        name: call.function.name.into(),
        arguments: arguments.into(),
    }
}
