//! Problems in the form of the vendor whose door it is. Handlers answer with an [`ApiProblem`]
//! like everywhere; a layer over all routes puts it, and whatever else is no answer of a
//! door, into the vendor's words.

use axum::body::{Body, to_bytes};
use axum::extract::{NestedPath, Request};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::problem::{ApiProblem, DoorParameter};

/// The vendors whose clients are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VendorForm {
    OpenAi,
    Ollama,
}

/// The most of an error's body that is read to be put into other words.
const MOST_ERROR: usize = 64 << 10;

impl VendorForm {
    /// The vendor whose door has a path.
    fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/').skip(1);
        match (parts.next(), parts.next()) {
            // Ollama's servers have OpenAI's interface, too.
            (Some("v1"), _) | (Some("ollama"), Some("v1")) => Some(VendorForm::OpenAi),
            (Some("ollama"), _) => Some(VendorForm::Ollama),
            _ => None,
        }
    }

    /// The surface that its clients talk on.
    pub(crate) fn surface(self) -> &'static str {
        match self {
            VendorForm::OpenAi => "openai",
            VendorForm::Ollama => "ollama",
        }
    }
}

/// Puts answers of a front door that are errors into its vendor's form. It stands before
/// everything else: also who is not let in hears of it in words that their client reads.
pub(crate) async fn translate_problems(request: Request, next: Next) -> Response {
    let form = VendorForm::of_path(request.uri().path());
    let response = next.run(request).await;
    match form {
        Some(form) => translate_problem(form, response).await,
        None => response,
    }
}

/// Puts an answer that is an error into the vendor's form.
async fn translate_problem(form: VendorForm, response: Response) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let problem = match parts.extensions.remove::<ApiProblem>() {
        Some(problem) => problem,
        // One of the server's own, such as of a method that a path does not have.
        None => {
            let text = to_bytes(body, MOST_ERROR).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            let title = if text.is_empty() { status.to_string() } else { text };
            ApiProblem::new(status, "invalid_request", title)
        }
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if problem.is_of_turn || is_final(status) {
        // The engine has tried again where that helps; OpenAI's clients would begin another turn.
        parts.headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    Response::from_parts(parts, Body::from(problem_json(form, &problem).to_string()))
}

/// A problem as the vendor's clients read it.
pub(crate) fn problem_json(form: VendorForm, problem: &ApiProblem) -> Value {
    let parameter = named_parameter(form, problem);
    let title = match (&*problem.code, parameter) {
        // What can't be had has no name but the one that this vendor has for it.
        ("reply_format", Some(parameter)) => format!("`{parameter}`: {}", problem.title),
        _ => problem.title.clone(),
    };
    let message = match &problem.hint {
        Some(hint) => format!("{title}; {hint}"),
        None => title,
    };
    match form {
        VendorForm::Ollama => json!({ "error": message }),
        VendorForm::OpenAi => json!({
            "error": {
                "message": message,
                "type": openai_type(problem.status()),
                "param": parameter,
                "code": openai_code(&problem.code),
            }
        }),
    }
}

/// The parameter that a problem is about, by the vendor's name for it.
fn named_parameter(form: VendorForm, problem: &ApiProblem) -> Option<&'static str> {
    match (&*problem.code, form) {
        ("model_not_found", _) => Some("model"),
        ("reply_format", VendorForm::OpenAi) => Some("response_format"),
        ("reply_format", VendorForm::Ollama) => Some("format"),
        _ => problem.parameter.map(DoorParameter::name),
    }
}

/// The answer to a path that a door does not have: of `door`, and what is behind that.
pub(crate) async fn unknown_path(form: VendorForm, door: NestedPath, uri: Uri) -> Response {
    let title = format!("there is no `{}{}` here", door.as_str(), uri.path());
    let hint = path_hint(form, uri.path());
    ApiProblem::new(StatusCode::NOT_FOUND, "not_found", title).hint(hint).into_response()
}

/// What to use in place of a path that a door does not have. Routes don't see what their door
/// begins with.
fn path_hint(form: VendorForm, path: &str) -> &'static str {
    let path = path.trim_start_matches('/');
    let path = path.strip_prefix("api/").unwrap_or(path);
    match (form, path.split('/').next().unwrap_or_default()) {
        (VendorForm::OpenAi, "responses" | "completions" | "assistants" | "threads") => {
            "send the conversation to /v1/chat/completions: clients call it chat completions, and \
             can be set to use it"
        }
        (VendorForm::OpenAi, _) => {
            "this server has /v1/chat/completions, /v1/embeddings and /v1/models"
        }
        (VendorForm::Ollama, "pull" | "push" | "create" | "copy" | "delete" | "blobs") => {
            "the models here are agents, which are set up in Recto's own config"
        }
        (VendorForm::Ollama, _) => {
            "this server has /api/chat, /api/generate, /api/embed, /api/tags, /api/show, /api/ps and \
             /api/version"
        }
    }
}

fn openai_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    }
}

/// OpenAI's name for a problem that its clients look for by name; ours for all others.
fn openai_code(code: &str) -> &str {
    match code {
        "over_budget" | "context_overflow" => "context_length_exceeded",
        "rate_limited" => "rate_limit_exceeded",
        code => code,
    }
}

/// Whether it would be the same again.
fn is_final(status: StatusCode) -> bool {
    let passes = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    !passes.contains(&status)
}
