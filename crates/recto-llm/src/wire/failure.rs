//! A server's complaint to a typed error.
//!
//! The status decides, and the fields of the body where they say more: OpenAI's
//! `code`, llama.cpp's and Anthropic's `type`. Some vendors tell a few cases
//! apart only in words; those are all in [`told_in_words`], and nowhere else is
//! a text searched. Texts are whole here: [`LlmError::redacted`] makes them fit to be
//! shown.

use std::time::Duration;

use serde_json::Value;

use super::Wire;
use crate::api_key::ApiKeyState;
use crate::error::LlmError;

/// An answer that is no reply.
#[derive(Debug)]
pub(crate) struct ErrorResponse<'a> {
    /// The address that was asked.
    pub(crate) url: &'a str,
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// Where a redirect points.
    pub(crate) location: Option<&'a str>,
    pub(crate) body: &'a str,
}

/// The error that an answer with a status other than success means.
pub(crate) fn error_from_response(wire: Wire, answer: &ErrorResponse<'_>, model: &str) -> LlmError {
    if (300..400).contains(&answer.status) {
        let to = answer.location.unwrap_or("nowhere");
        let to = to.split(['?', '#']).next().unwrap_or_default().to_owned();
        return LlmError::Redirected { url: answer.url.to_owned(), to };
    }
    let complaint = Complaint::read(answer.body);
    if let Some(error) = by_fields(wire, answer.status, &complaint, model) {
        return error;
    }
    if matches!(answer.status, 404 | 405) {
        // What speaks in one of the known forms is a model server, and says what it did not find.
        let message = if complaint.is_known { complaint.message } else { String::new() };
        return LlmError::NoSuchEndpoint { url: answer.url.to_owned(), message };
    }
    by_status(answer.status, answer.retry_after, complaint)
}

/// The error that a complaint in the middle of a reply means. The status was "success"
/// long ago; some vendors repeat in the body what it would have been.
pub(super) fn error_in_stream(wire: Wire, frame: &[u8], model: &str) -> LlmError {
    let complaint = Complaint::read(&String::from_utf8_lossy(frame));
    let Some(status) = complaint.status() else {
        return LlmError::Server { status: None, message: complaint.into_message() };
    };
    let error = by_fields(wire, status, &complaint, model);
    error.unwrap_or_else(|| by_status(status, None, complaint))
}

/// Whether a text is a complaint in one of the known forms.
pub(super) fn is_complaint(text: &[u8]) -> bool {
    Complaint::parse(&String::from_utf8_lossy(text)).is_some()
}

/// What servers say about an error, from all their forms.
#[derive(Debug, Default)]
struct Complaint {
    message: String,
    kind: String,
    code: String,
    /// The field of the request that it is about.
    param: String,
    /// llama.cpp says how large the prompt was, and its window.
    sent: Option<u32>,
    window: Option<u32>,
    /// Whether it came in one of the known forms.
    is_known: bool,
}

impl Complaint {
    /// Anything that is no known form is a message as a whole.
    fn read(body: &str) -> Self {
        let unknown = || Complaint { message: body.to_owned(), ..Complaint::default() };
        Complaint::parse(body).unwrap_or_else(unknown)
    }

    fn parse(body: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(body).ok()?;
        let error = &value["error"];
        if let Some(message) = error.as_str() {
            // Ollama, which passes on what its own model server said.
            return Some(
                Complaint::parse(message).unwrap_or_else(|| Complaint::from_text(message)),
            );
        }
        if error.is_object() {
            return Some(Complaint::from_fields(error));
        }
        // Older versions of vLLM have no object around it.
        (value["object"] == "error").then(|| Complaint::from_fields(&value))
    }

    fn from_text(message: &str) -> Self {
        Complaint { message: message.to_owned(), is_known: true, ..Complaint::default() }
    }

    fn from_fields(fields: &Value) -> Self {
        let word = |field: &str| match &fields[field] {
            Value::String(word) => word.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let count = |field: &str| fields[field].as_u64().and_then(|n| u32::try_from(n).ok());
        Complaint {
            message: word("message"),
            kind: word("type"),
            code: word("code"),
            param: word("param"),
            sent: count("n_prompt_tokens"),
            window: count("n_ctx"),
            is_known: true,
        }
    }

    /// The status that it would have had: llama.cpp and vLLM give it as `code`,
    /// Anthropic by name.
    fn status(&self) -> Option<u16> {
        let named = match self.kind.as_str() {
            "invalid_request_error" | "exceed_context_size_error" => Some(400),
            "authentication_error" => Some(401),
            "billing_error" => Some(402),
            "permission_error" => Some(403),
            "not_found_error" => Some(404),
            "request_too_large" => Some(413),
            "rate_limit_error" => Some(429),
            "api_error" | "server_error" => Some(500),
            "unavailable_error" => Some(503),
            "timeout_error" => Some(504),
            "overloaded_error" => Some(529),
            _ => None,
        };
        self.code.parse().ok().filter(|code| (400..600).contains(code)).or(named)
    }

    fn into_message(self) -> String {
        let named = [self.message, self.kind, self.code];
        let text = named.into_iter().find(|text| !text.trim().is_empty());
        text.unwrap_or_else(|| "it gives no reason".to_owned())
    }
}

/// The errors that a program can do something about, besides those by status.
enum ErrorCase {
    Overflow,
    NoModel,
    NoTools,
    NoQuota,
}

fn by_fields(wire: Wire, status: u16, complaint: &Complaint, model: &str) -> Option<LlmError> {
    let case = case(wire, status, complaint).or_else(|| told_in_words(wire, status, complaint))?;
    let message = complaint.message.clone();
    let model = model.to_owned();
    Some(match case {
        ErrorCase::Overflow => {
            let (sent, window) = (complaint.sent, complaint.window);
            LlmError::ContextOverflow { sent, window, message }
        }
        ErrorCase::NoModel => LlmError::NoSuchModel { model, wire },
        ErrorCase::NoTools => LlmError::ToolsUnsupported { model },
        // The status is that of a rate limit, but waiting does not help.
        ErrorCase::NoQuota => LlmError::Refused { status, message },
    })
}

fn case(wire: Wire, status: u16, complaint: &Complaint) -> Option<ErrorCase> {
    let (code, kind) = (complaint.code.as_str(), complaint.kind.as_str());
    match (wire, status) {
        _ if code == "context_length_exceeded" => Some(ErrorCase::Overflow),
        // llama.cpp, and vLLM since it says what it is about.
        _ if kind == "exceed_context_size_error" => Some(ErrorCase::Overflow),
        (Wire::OpenAi, 400) if complaint.param == "input_tokens" => Some(ErrorCase::Overflow),
        _ if code == "model_not_found" => Some(ErrorCase::NoModel),
        _ if code == "insufficient_quota" => Some(ErrorCase::NoQuota),
        (Wire::OpenAi, 404) if kind == "NotFoundError" => Some(ErrorCase::NoModel),
        (Wire::Anthropic, 404) if kind == "not_found_error" => Some(ErrorCase::NoModel),
        // `/api/chat` has nothing else that it could fail to find.
        (Wire::Ollama, 404) if complaint.is_known => Some(ErrorCase::NoModel),
        _ => None,
    }
}

/// What some servers say in nothing but words. Statuses narrow it down: a
/// message that merely quotes these words has none of them.
fn told_in_words(wire: Wire, status: u16, complaint: &Complaint) -> Option<ErrorCase> {
    let says = |words: &str| complaint.is_known && complaint.message.contains(words);
    match (wire, status) {
        (Wire::Ollama, 400) if says("does not support tools") => Some(ErrorCase::NoTools),
        // 500 before mid-2025.
        (Wire::Ollama, 400 | 413 | 500) if says("input length exceeds") => {
            Some(ErrorCase::Overflow)
        }
        // vLLM and its relatives, up to 2025.
        (Wire::OpenAi, 400) if says("maximum context length") => Some(ErrorCase::Overflow),
        (Wire::Anthropic, 400) if says("prompt is too long") => Some(ErrorCase::Overflow),
        _ => None,
    }
}

fn by_status(status: u16, retry_after: Option<Duration>, complaint: Complaint) -> LlmError {
    let message = complaint.into_message();
    match status {
        // What is known of the key is added where the error leaves this crate.
        401 => LlmError::Unauthorized { key: ApiKeyState::default(), message },
        403 => LlmError::Forbidden { message },
        429 => LlmError::RateLimited { retry_after, message },
        503 | 529 => LlmError::Unavailable { status, retry_after, message },
        500.. => LlmError::Server { status: Some(status), message },
        _ => LlmError::Refused { status, message },
    }
}

#[cfg(test)]
mod tests;
