//! Errors as HTTP answers, in the form of RFC 9457: what happened, to what, and what to do.
//!
//! The front doors have forms of their own, made from the same [`ApiProblem`].

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recto_agent::AgentError;
use recto_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

/// An error as a client is told of it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ApiProblem {
    /// The status of the answer.
    pub(crate) status: u16,
    /// What programs tell problems apart by; it never changes.
    pub(crate) code: String,
    /// What happened, to what.
    pub(crate) title: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// The result of a handler.
pub(crate) type ApiResult<T> = Result<T, ApiProblem>;

impl ApiProblem {
    /// A problem with this status, code and text.
    pub(crate) fn new(status: StatusCode, code: &str, title: impl Into<String>) -> Self {
        ApiProblem {
            status: status.as_u16(),
            code: code.to_owned(),
            title: title.into(),
            hint: None,
        }
    }

    /// The same problem, with what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        ApiProblem { hint: Some(hint.into()), ..self }
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
        // For the front doors, which tell of it in a form of their own.
        answer.extensions_mut().insert(self);
        answer
    }
}

impl From<AgentError> for ApiProblem {
    fn from(error: AgentError) -> Self {
        let problem = ApiProblem::new(status_of(&error), error.code(), error.to_string());
        ApiProblem { hint: error.hint(), ..problem }
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
        | AgentError::Remember(_)
        | AgentError::Name(_)
        | AgentError::OverBudget(_) => StatusCode::BAD_REQUEST,
        AgentError::NoSuchSession { .. }
        | AgentError::NoSuchItem { .. }
        | AgentError::UnknownToRequest { .. }
        | AgentError::Store(StoreError::NotFound(_)) => StatusCode::NOT_FOUND,
        AgentError::NotAllowed { .. } => StatusCode::FORBIDDEN,
        AgentError::SessionOpen { .. }
        | AgentError::NothingToTakeBack
        | AgentError::ClientExchange
        | AgentError::OthersMessage { .. }
        | AgentError::NothingAsked
        | AgentError::OtherAgent { .. }
        | AgentError::OtherFolder { .. }
        | AgentError::StateLost { .. } => StatusCode::CONFLICT,
        AgentError::Llm(_) | AgentError::Model { .. } => StatusCode::BAD_GATEWAY,
        AgentError::NoModel | AgentError::ShuttingDown | AgentError::Ended => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
