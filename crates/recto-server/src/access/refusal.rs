//! Why a request goes no further, as the answer that its sender gets.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use recto_context::Remedy;
use recto_store::StoreError;

use super::login::LoginReason;
use crate::extract::ProblemForm;
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, wait_seconds};

/// The refusal of a request before any handler.
#[derive(Debug)]
pub(super) enum AccessRefusal {
    /// A problem, and that is all.
    Problem(ApiProblem),
    /// Somebody who has to show a token first.
    Unauthorized(ApiProblem),
    /// Somebody who has to wait.
    TooMany(Box<ApiProblem>, Duration),
    /// A person who has to log in.
    Login {
        /// What they wanted to see.
        wanted: String,
        /// Why they are asked, where they were logged in before.
        reason: Option<LoginReason>,
    },
}

impl AccessRefusal {
    /// The refusal of somebody who shows nothing.
    pub(super) fn no_token(gateway: &Gateway) -> Self {
        unauthorized(gateway, "this server asks for a token")
    }

    /// The refusal of somebody who shows a token that is not good. It does not say whether there
    /// ever was one.
    pub(super) fn wrong_token(gateway: &Gateway) -> Self {
        unauthorized(gateway, "the token is wrong, expired or revoked")
    }

    /// The refusal of what a page sends for somebody who is not logged in any more.
    pub(super) fn logged_out() -> Self {
        let what = "you are not logged in, or not any more";
        let problem = ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", what)
            .hint("log in, and send it again; programs send `Authorization: Bearer TOKEN`");
        AccessRefusal::Unauthorized(problem)
    }

    /// The refusal of somebody who does something too often.
    pub(super) fn too_many(what: &str, wait: Duration) -> Self {
        let seconds = wait_seconds(wait);
        let problem = ApiProblem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", what)
            .hint(format!("try again in {seconds} s"));
        AccessRefusal::TooMany(Box::new(problem), wait)
    }
}

fn unauthorized(gateway: &Gateway, what: &str) -> AccessRefusal {
    let command = gateway.describe_remedy(&Remedy::CreateToken);
    let problem = ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", what)
        .hint(format!("send `Authorization: Bearer TOKEN`; the owner makes tokens with {command}"));
    AccessRefusal::Unauthorized(problem)
}

impl From<ApiProblem> for AccessRefusal {
    fn from(problem: ApiProblem) -> Self {
        AccessRefusal::Problem(problem)
    }
}

impl From<StoreError> for AccessRefusal {
    fn from(error: StoreError) -> Self {
        AccessRefusal::Problem(error.into())
    }
}

impl IntoResponse for AccessRefusal {
    fn into_response(self) -> Response {
        self.write(ProblemForm::Data)
    }
}

impl AccessRefusal {
    /// The refusal as an answer, its problem in this form.
    pub(super) fn write(self, form: ProblemForm) -> Response {
        match self {
            AccessRefusal::Problem(problem) => form.write(problem),
            AccessRefusal::Unauthorized(problem) => {
                let scheme = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
                (scheme, form.write(problem)).into_response()
            }
            AccessRefusal::TooMany(problem, wait) => {
                let seconds = HeaderValue::from(wait_seconds(wait).max(1));
                ([(header::RETRY_AFTER, seconds)], form.write(*problem)).into_response()
            }
            AccessRefusal::Login { wanted, reason } => {
                let wanted = utf8_percent_encode(&wanted, NON_ALPHANUMERIC);
                let reason = match reason {
                    Some(LoginReason::Ended) => "&reason=ended",
                    None => "",
                };
                Redirect::to(&format!("/login?to={wanted}{reason}")).into_response()
            }
        }
    }
}
