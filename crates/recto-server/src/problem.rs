//! Errors as HTTP answers, in the form of RFC 9457: what happened, to what, and what to do.
//!
//! The front doors have forms of their own, made from the same [`ApiProblem`].

use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use recto_agent::{AgentError, RememberError};
use recto_context::Remedy;
use recto_store::StoreError;
use recto_workspace::MemoryError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::gateway::Gateway;

/// An error as a client is told of it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ApiProblem {
    /// Which problem it is, as an address: `urn:recto:problem:` and its code.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: Box<str>,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    pub(crate) status: u16,
    /// What programs tell problems apart by; it never changes.
    #[schema(value_type = String)]
    pub(crate) code: Box<str>,
    /// What happened, to what.
    pub(crate) title: String,
    /// More about this one, such as the place in a body that can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// What Recto itself can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RemedyAdvice>)]
    pub(crate) remedy: Option<Box<RemedyAdvice>>,
    /// The parameter that it is about, for vendors whose errors name it apart.
    #[serde(skip)]
    pub(crate) parameter: Option<DoorParameter>,
    /// Whether a turn ended with it: the same message again would be another turn.
    #[serde(skip)]
    pub(crate) is_of_turn: bool,
    /// How many seconds to wait before it is asked again, where that is known.
    #[serde(skip)]
    retry_seconds: Option<NonZeroU32>,
}

/// A parameter that a client of the front doors named, and that something is wrong with. A problem
/// has no room for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum DoorParameter {
    FrequencyPenalty,
    Functions,
    LogitBias,
    Logprobs,
    MaxCompletionTokens,
    MaxTokens,
    Messages,
    Modalities,
    Model,
    N,
    PresencePenalty,
    ResponseFormat,
    Seed,
    Stop,
    Stream,
    StreamOptions,
    Temperature,
    ToolChoice,
    Tools,
    TopP,
    User,
}

impl DoorParameter {
    /// The name that the vendors share.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// What Recto itself can do about a problem.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct RemedyAdvice {
    /// What can be done, by its code, with what it is done to.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub(crate) remedy: Remedy,
    /// How it is done, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) words: String,
}

/// How many seconds somebody waits who asks too often, where nobody says how long: model servers
/// count by the minute.
const USUAL_WAIT: u32 = 60;

/// Whole seconds to wait, as the header has them.
pub(crate) fn wait_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// The result of a handler.
pub(crate) type ApiResult<T> = Result<T, ApiProblem>;

impl ApiProblem {
    /// A problem with this status, code and text.
    pub(crate) fn new(status: StatusCode, code: &str, title: impl Into<String>) -> Self {
        ApiProblem {
            kind: format!("urn:recto:problem:{code}").into(),
            status: status.as_u16(),
            code: code.into(),
            title: title.into(),
            detail: None,
            hint: None,
            remedy: None,
            parameter: None,
            is_of_turn: false,
            retry_seconds: None,
        }
    }

    /// The same problem, with what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if(Some(hint.into()))
    }

    /// The same problem, with what to do about it, where that is known.
    pub(crate) fn hint_if(self, hint: Option<String>) -> Self {
        ApiProblem { hint: hint.or(self.hint), ..self }
    }

    /// The same problem, with the parameter that it is about.
    pub(crate) fn about(self, parameter: DoorParameter) -> Self {
        ApiProblem { parameter: Some(parameter), ..self }
    }

    /// The same problem, as one that a turn ended with.
    pub(crate) fn of_turn(self) -> Self {
        ApiProblem { is_of_turn: true, ..self }
    }

    /// The same problem, with more about it.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        ApiProblem { detail: Some(detail.into()), ..self }
    }

    /// The same problem, with how long to wait, where that is known.
    pub(crate) fn retry_after(self, retry_after: Option<Duration>) -> Self {
        let seconds = retry_after.map(|wait| u32::try_from(wait_seconds(wait)).unwrap_or(u32::MAX));
        let retry_seconds =
            seconds.map(|seconds| NonZeroU32::new(seconds).unwrap_or(NonZeroU32::MIN));
        ApiProblem { retry_seconds, ..self }
    }

    /// What to do about it, with the command that does it, where one is known.
    pub(crate) fn hint_with_remedy(&self) -> Option<String> {
        let words = self.remedy.as_ref().map(|advice| advice.words.as_str());
        match (&self.hint, words.filter(|words| !words.is_empty())) {
            (Some(hint), Some(words)) => Some(format!("{hint} ({words})")),
            (hint, words) => hint.clone().or_else(|| words.map(str::to_owned)),
        }
    }

    /// Its status as HTTP has it.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let form = HeaderValue::from_static("application/problem+json");
        let mut answer = (self.status(), [(header::CONTENT_TYPE, form)], body).into_response();
        if self.status() == StatusCode::TOO_MANY_REQUESTS {
            let seconds = self.retry_seconds.map_or(USUAL_WAIT, NonZeroU32::get);
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For the front doors, which tell of it in a form of their own.
        answer.extensions_mut().insert(self);
        answer
    }
}

/// Adds to a problem how its remedy is applied, in the words of the program around the server.
pub(crate) async fn describe_remedies(
    State(gateway): State<Gateway>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = next.run(request).await;
    let with_remedy = answer.extensions().get::<ApiProblem>().filter(|it| it.remedy.is_some());
    let Some(mut problem) = with_remedy.cloned() else { return answer };
    if let Some(advice) = &mut problem.remedy {
        advice.words = gateway.describe_remedy(&advice.remedy);
    }
    let described = problem.into_response();
    *answer.body_mut() = described.into_body();
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    answer
}

impl From<AgentError> for ApiProblem {
    fn from(error: AgentError) -> Self {
        let problem = ApiProblem::new(status_of(&error), error.code(), error.to_string());
        let advise = |remedy| Box::new(RemedyAdvice { remedy, words: String::new() });
        let hint = error.hint().or_else(|| hint_of_code(error.code()).map(str::to_owned));
        let problem = ApiProblem { hint, remedy: error.remedy().map(advise), ..problem };
        problem.retry_after(error.retry_after())
    }
}

/// What those can do who ask for something over HTTP, where the error itself does not say it.
fn hint_of_code(code: &str) -> Option<&'static str> {
    match code {
        "no_such_session" => Some("the list of sessions has those that you can reach"),
        "no_such_approval" => Some("the list of questions has those that wait for an answer"),
        "decided" => Some("look at its turn: it goes on, or is over"),
        "session_name" => Some("choose another name, or leave it out: sessions have numbers"),
        _ => None,
    }
}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> Self {
        AgentError::from(error).into()
    }
}

/// The status that an error is told with.
fn status_of(error: &AgentError) -> StatusCode {
    match error {
        AgentError::EmptyMessage
        | AgentError::NulInMessage { .. }
        | AgentError::NulFromClient { .. }
        | AgentError::NulInFile { .. }
        | AgentError::NoImages { .. }
        | AgentError::UnknownCall { .. }
        | AgentError::AnsweredCall { .. }
        | AgentError::MissingResults { .. }
        | AgentError::AmbiguousItem { .. }
        | AgentError::NoSuchModel { .. }
        | AgentError::BadSetting { .. }
        | AgentError::SameTurn { .. }
        | AgentError::Name(_)
        | AgentError::ScheduleName { .. }
        | AgentError::Plan(_)
        | AgentError::ManyChats { .. }
        | AgentError::OverBudget(_) => StatusCode::BAD_REQUEST,
        AgentError::NoSuchSession { .. }
        | AgentError::NoSuchSchedule { .. }
        | AgentError::NoSuchSubAgent { .. }
        | AgentError::NoSuchChat { .. }
        | AgentError::NoSuchItem { .. }
        | AgentError::NoSuchTurn { .. }
        | AgentError::NoTurnYet
        | AgentError::SentNothing { .. }
        | AgentError::RecordDropped { .. }
        | AgentError::OnlySummary { .. }
        | AgentError::NoSuchRequest { .. }
        | AgentError::NoTurnBefore { .. }
        | AgentError::UnknownToTurn { .. }
        | AgentError::UnknownToRequest { .. } => StatusCode::NOT_FOUND,
        AgentError::NotAllowed { .. } => StatusCode::FORBIDDEN,
        AgentError::SessionOpen { .. }
        | AgentError::OneTask { .. }
        | AgentError::SubAgentOff { .. }
        | AgentError::ScheduleRuns { .. }
        | AgentError::NothingToTakeBack
        | AgentError::NotLast
        | AgentError::ClientExchange
        | AgentError::OthersMessage { .. }
        | AgentError::NothingAsked
        | AgentError::OtherAgent { .. }
        | AgentError::OtherFolder { .. }
        | AgentError::OtherWire { .. }
        | AgentError::ToolsAsText { .. }
        | AgentError::NarrowWindow { .. }
        | AgentError::StateLost { .. } => StatusCode::CONFLICT,
        AgentError::Remember(error) => status_of_memory(error),
        AgentError::Store(error) => status_of_store(error),
        AgentError::Llm(error) | AgentError::Model { error, .. } => turn_status(error.code()),
        AgentError::NoModel
        | AgentError::NoEmbedding(_)
        | AgentError::ShuttingDown
        | AgentError::Ended => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a turn that failed with this code: it says whose fault it is.
pub(crate) fn turn_status(code: &str) -> StatusCode {
    match code {
        "over_budget" | "context_overflow" | "no_images" | "tools_unsupported" | "reply_format" => {
            StatusCode::BAD_REQUEST
        }
        "rate_limited" => StatusCode::TOO_MANY_REQUESTS,
        "unavailable" | "no_model" | "shutting_down" => StatusCode::SERVICE_UNAVAILABLE,
        "timed_out" => StatusCode::GATEWAY_TIMEOUT,
        "unreachable" | "handshake" | "unauthorized" | "forbidden" | "no_such_model"
        | "no_such_endpoint" | "redirected" | "refused" | "server" | "cut" | "malformed"
        | "too_large" | "empty_reply" | "repeated_call" | "too_many_rounds" => {
            StatusCode::BAD_GATEWAY
        }
        // Another message has come first: the one that stopped it, or that had its results.
        "stopped" | "answered_call" | "unknown_call" | "missing_results" | "state_lost" => {
            StatusCode::CONFLICT
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn status_of_memory(error: &RememberError) -> StatusCode {
    match error {
        RememberError::File(MemoryError::Unknown { .. }) => StatusCode::NOT_FOUND,
        RememberError::File(MemoryError::Locked { .. }) => StatusCode::SERVICE_UNAVAILABLE,
        RememberError::File(error) if error.is_full() => StatusCode::SERVICE_UNAVAILABLE,
        RememberError::File(MemoryError::Io { .. }) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn status_of_store(error: &StoreError) -> StatusCode {
    match error {
        StoreError::NotFound(_) | StoreError::NoSuchCode { .. } => StatusCode::NOT_FOUND,
        StoreError::TooManyGuesses => StatusCode::TOO_MANY_REQUESTS,
        StoreError::Busy { .. }
        | StoreError::NotOurs { .. }
        | StoreError::BegunAgain { .. }
        | StoreError::LostLease { .. }
        | StoreError::WrongStatus { .. }
        | StoreError::OutOfOrder { .. }
        | StoreError::Changed { .. }
        | StoreError::Summarised { .. }
        | StoreError::Answered { .. }
        | StoreError::Decided { .. }
        | StoreError::Delivered { .. }
        | StoreError::NotWaiting { .. }
        | StoreError::PutOut { .. }
        | StoreError::NotOwner { .. }
        | StoreError::ScheduleNameTaken { .. }
        | StoreError::NameTaken { .. } => StatusCode::CONFLICT,
        StoreError::ReadOnly { .. }
        | StoreError::Full { .. }
        | StoreError::Locked { .. }
        | StoreError::Unreachable { .. }
        | StoreError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_the_disk_refuses_is_no_fault_of_the_client() {
        let refused = |kind: io::ErrorKind| {
            let (what, path) = ("write", "memory/.journal".into());
            let error = MemoryError::Io { what, path, error: kind.into() };
            let problem = ApiProblem::from(AgentError::from(RememberError::from(error)));
            (problem.status, problem.code.to_string())
        };
        assert_eq!(refused(io::ErrorKind::StorageFull), (503, "full".to_owned()));
        assert_eq!(refused(io::ErrorKind::PermissionDenied), (500, "remember".to_owned()));
        let secret = MemoryError::Secret { what: "a key" };
        let problem = ApiProblem::from(AgentError::from(RememberError::from(secret)));
        assert_eq!(problem.status, 400);
    }
}
