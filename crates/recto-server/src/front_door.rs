//! What the doors of OpenAI and Ollama share: a client that owns its conversation sends all of
//! it with each message, and gets a turn of the same engine as everybody else.
//!
//! ```text
//! vendor's JSON ─► DoorRequest ─► session found or begun ─► turn ─► DoorEvents ─► vendor's JSON
//! ```
//!
//! The JSON is the doors' own (`openai`, `ollama`). Here is which agent a model name means, in
//! which session a conversation goes on, and the turn as its client follows it. Nothing here
//! decides what a model sees, nor what somebody may do.

mod client_list;
mod conversations;
mod embedding;
mod images;
mod model_name;
mod parked;
mod rules;
mod turn;
mod vendor_form;

use axum::Json;
use axum::body::Bytes;
use axum::http::HeaderMap;
use recto_agent::{Actor, ActorRole, Agent, Conversation, SOLE_ACCOUNT, SessionSettings};
use recto_context::{ClientTool, ClientToolChoice, ContextMode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::extract::{parse_body, reason};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult, DoorParameter};

pub(crate) use client_list::{ClientList, name_calls};
pub(crate) use conversations::ConversationIndex;
pub(crate) use embedding::{embed_all, read_texts};
pub(crate) use images::{IMAGE_TYPES, read_base64_image, read_data_url};
pub(crate) use model_name::{
    OfferedModel, embedding_model, find_model, is_embedding_model, offered_models,
};
pub(crate) use parked::AnswerPlaces;
pub(crate) use rules::{SteeringNumbers, reply_rules};
pub(crate) use turn::{DoorEvent, DoorTurn, FinishedReply, ReplyEnd};
pub(crate) use vendor_form::{VendorForm, problem_json, translate_problems, unknown_path};

/// The header by which a client names a session, and by which a reply names its own.
pub(crate) const SESSION_HEADER: &str = "x-recto-session";
/// The header of a reply that names its turn.
pub(crate) const TURN_HEADER: &str = "x-recto-turn";
/// The header by which a client says how much of the page it wants.
const MODE_HEADER: &str = "x-recto-context-mode";

/// Reads a client's body. Ollama's clients don't always say that it is JSON.
pub(crate) async fn read_door_body<T>(body: Bytes) -> ApiResult<T>
where
    T: DeserializeOwned + Send + 'static,
{
    let parse = |body: &[u8]| match Json::<T>::from_bytes(body) {
        Ok(Json(read)) => Ok(read),
        Err(rejection) => Err(refuse_door_body(&reason(&rejection.body_text()))),
    };
    parse_body(body, parse).await
}

/// The problem of a body that is not what a door takes. It begins with the field that it is about,
/// where it is about one.
fn refuse_door_body(problem: &str) -> ApiProblem {
    let field = problem.split(['.', '[', ':']).next().unwrap_or_default();
    let refused = ApiProblem::invalid(format!("the body can't be read: {problem}"));
    match field.parse::<DoorParameter>() {
        Ok(parameter) => refused.about(parameter),
        Err(_) => refused,
    }
}

/// Something that a client of a front door wants answered.
#[derive(Debug)]
pub(crate) struct DoorRequest {
    /// The door that it came through.
    pub(crate) form: VendorForm,
    pub(crate) actor: Actor,
    /// The agent that is to answer.
    pub(crate) agent: Agent,
    /// All that was said, as the client has it.
    pub(crate) list: ClientList,
    /// Tools that the client runs itself.
    pub(crate) tools: Vec<ClientTool>,
    /// What the client asks of the first reply.
    pub(crate) tool_choice: ClientToolChoice,
    /// Settings for this turn.
    pub(crate) settings: SessionSettings,
    /// The session that the client names, if it does.
    pub(crate) session: Option<String>,
    /// Where questions that nobody can be asked in the client are answered.
    pub(crate) answers: AnswerPlaces,
    /// Whom the client speaks for, where it serves several: their conversations are apart.
    pub(crate) user: Option<String>,
}

impl DoorRequest {
    /// The conversation of that name at this door.
    fn conversation(&self, name: &str) -> Conversation {
        let account = account_name(&self.actor);
        let user = self.user.clone();
        let surface = self.form.surface();
        Conversation { user, ..Conversation::in_private(surface, &account, name, &self.actor) }
    }
}

/// The account that somebody uses a door by: their token, or none. A token's name is its holder's
/// choice and may be given again; its id is neither.
fn account_name(actor: &Actor) -> String {
    match actor.role {
        ActorRole::Token(_) => actor.id.to_string(),
        _ => SOLE_ACCOUNT.to_owned(),
    }
}

/// Where questions of a client's turns are answered: on the pages of the server that it has
/// reached, and as the program around the server says.
pub(crate) fn answer_places(gateway: &Gateway, headers: &HeaderMap) -> AnswerPlaces {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text("host").map(|host| match text("x-forwarded-proto") {
        Some("https") => format!("https://{host}"),
        _ => format!("http://{host}"),
    });
    AnswerPlaces { origin: origin.unwrap_or_default(), remedy_words: gateway.remedy_words() }
}

/// The session that a client names in a header, if it does.
pub(crate) fn named_session(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(SESSION_HEADER)?;
    Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
        .filter(|name| !name.is_empty())
}

/// The mode that a client asks for, in the body or in a header; the body goes first.
pub(crate) fn named_mode(
    headers: &HeaderMap,
    in_body: Option<&Value>,
) -> ApiResult<Option<ContextMode>> {
    let header = headers.get(MODE_HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let named = match in_body {
        Some(Value::Null) | None => header.map(|header| Value::from(header.trim())),
        Some(value) => Some(value.clone()),
    };
    let Some(named) = named else { return Ok(None) };
    match serde_json::from_value(named) {
        Ok(mode) => Ok(Some(mode)),
        Err(_) => Err(ApiProblem::invalid("`context_mode` is `full`, `minimal` or `auto`")),
    }
}

impl ApiProblem {
    /// The problem of a request that can't be meant like this.
    pub(crate) fn invalid(title: impl Into<String>) -> Self {
        ApiProblem::new(axum::http::StatusCode::BAD_REQUEST, "invalid_request", title)
    }

    /// The problem of a request for something that can't be had here.
    pub(crate) fn unsupported(what: &str, hint: &str) -> Self {
        let title = format!("{what} is not supported by Recto");
        let status = axum::http::StatusCode::BAD_REQUEST;
        ApiProblem::new(status, "unsupported_parameter", title).hint(hint)
    }
}
