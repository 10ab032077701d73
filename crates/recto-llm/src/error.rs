//! What can go wrong between a request and its reply.
//!
//! Programs branch on the variant, or on [`LlmError::code`]; texts are for
//! people. Which variant an answer becomes is decided in [`crate::wire`], from
//! its status and its fields.

use std::path::PathBuf;
use std::time::Duration;

use recto_context::{Remedy, first_chars};
use strum::EnumMessage;

use crate::api_key::{ApiKey, ApiKeyState};
use crate::embedded::gguf::ModelFileProblem;
use crate::embedded::memory::MemoryShortage;
use crate::wire::Wire;

/// Why a call has no reply. Texts from servers are kept short, and without
/// credentials; whoever prints them takes care of control characters.
///
/// Beside each message stands the hint for people, where it is always the same.
/// The name of a variant is its [code](LlmError::code), unless it names another.
#[derive(
    Debug, Clone, PartialEq, Eq, thiserror::Error, strum::EnumMessage, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum LlmError {
    /// No connection came about.
    #[error("cannot reach the model server at `{url}`: {cause}")]
    #[strum(message = "start the model server or correct `base_url`, then check it")]
    Unreachable { url: String, cause: String },
    /// The server is there, but no encrypted connection came about: something is
    /// wrong with its certificate, or it sent something else instead.
    #[error("no encrypted connection to the model server at `{url}`: {cause}")]
    #[strum(message = "check the server's certificate, and the clock and certificates of this \
                       machine; a server without encryption needs `http://` in `base_url`")]
    Handshake { url: String, cause: String },
    /// The server was silent for too long.
    #[error("the model server at `{url}` {waiting_for} within {after:?}")]
    #[strum(message = "check whether the server answers at all")]
    TimedOut { url: String, waiting_for: WaitingFor, after: Duration },
    /// The key is missing or wrong.
    #[error("{}: {message}", key.describe())]
    Unauthorized { key: ApiKeyState, message: String },
    /// The key is right, but not for this.
    #[error("the model server does not allow this: {message}")]
    #[strum(message = "use a key that may do this, or another model")]
    Forbidden { message: String },
    /// The server does not have the model that was asked for on this wire.
    #[error("the model server has no model `{model}`")]
    NoSuchModel { model: String, wire: Wire },
    /// Something answers at the whole address, but not with this interface, or not for this
    /// request. The message is empty where it gave none that a model server would.
    #[error("{}", no_such_endpoint(url, message))]
    #[strum(message = "check `provider`, `base_url` and `model` of the model entry")]
    NoSuchEndpoint { url: String, message: String },
    /// The server sent the request elsewhere; the target is shown without its query.
    /// Recto does not follow: the request may carry a key.
    #[error("`{url}` redirects to `{to}`, which is not followed")]
    #[strum(message = "set `base_url` to where the server really is")]
    Redirected { url: String, to: String },
    /// Too many requests, or too many tokens, for now. The server may say how long
    /// it wants to be left alone.
    #[error("the model server asks to slow down{}: {message}", for_how_long(*retry_after))]
    #[strum(message = "wait a while, then send the message again")]
    RateLimited { retry_after: Option<Duration>, message: String },
    /// The prompt is larger than the server's window: its tokens as the server counts
    /// them, and the tokens that there is room for.
    #[error("the prompt is larger than the model server's window: {message}")]
    #[strum(message = "set the model entry's `window` to what the server says it has")]
    ContextOverflow { sent: Option<u32>, window: Option<u32>, message: String },
    /// The server is busy or starting (status 503 or 529).
    #[error(
        "the model server is not ready (status {status}){}: {message}",
        for_how_long(*retry_after)
    )]
    #[strum(message = "wait a while, then send the message again")]
    Unavailable { status: u16, retry_after: Option<Duration>, message: String },
    /// The model cannot call tools.
    #[error("the model `{model}` does not support tools")]
    #[strum(message = "choose a model that can call tools, \
                       or set `tool_calls = \"text\"` in its entry")]
    ToolsUnsupported { model: String },
    /// The server finds fault with the request.
    #[error("the model server refused the request (status {status}): {message}")]
    #[strum(message = "look at what was sent")]
    Refused { status: u16, message: String },
    /// The server failed; without a status when that was in the middle of a reply.
    #[error("the model server failed{}: {message}", in_parentheses(*status))]
    #[strum(message = "see the server's own log for the reason, then send the message again")]
    Server { status: Option<u16>, message: String },
    /// The reply broke off before its end.
    #[error("the reply broke off: {cause}")]
    #[strum(message = "see the server's own log for the reason, then send the message again")]
    Cut { cause: String },
    /// The server sent what its interface does not allow; the sample is its beginning.
    #[error("the model server sent {what}: `{sample}`")]
    #[strum(message = "check that `provider` is what the server speaks")]
    Malformed { what: String, sample: String },
    /// The reply is larger than any that makes sense.
    #[error("the reply has more than {limit} {what}")]
    #[strum(message = "the model may have lost its way: send the message again, \
                       or choose another model")]
    TooLarge { what: &'static str, limit: usize },
    /// The config of the model entry cannot be used.
    #[error("{problem}")]
    Options { problem: String },
    /// The file of an embedded model cannot be used.
    #[error("{problem}")]
    #[strum(serialize = "model_file")]
    File { problem: ModelFileProblem },
    /// An embedded model is named whose file is not there.
    #[error("the file of the embedded model is not there")]
    #[strum(serialize = "no_model_file")]
    #[strum(message = "pull the model")]
    NoFile,
    /// This build has no engine for embedded models.
    #[error("this build of Recto cannot run models itself")]
    #[strum(message = "build it with `--features embedded` as `make chat` does, \
                       start a model server, or name one in the config")]
    NotBuilt,
    /// The processor lacks what the engine was built for.
    #[error("the processor cannot run the embedded engine: it lacks {missing}")]
    #[strum(message = "use a model server, such as Ollama")]
    Processor { missing: String },
    /// The model needs more memory than there is.
    #[error("{problem}")]
    NoMemory { problem: MemoryShortage },
    /// The window is larger than what the model was trained for.
    #[error(
        "a window of {window} tokens is more than the {trained} that the model was trained for"
    )]
    WindowTooLarge { window: u32, trained: u32 },
    /// The window needs more memory than there is.
    #[error("there is no memory for a window of {window} tokens, only for {largest}")]
    WindowTooCostly { window: u32, largest: u32 },
    /// The model's own template does not take the conversation.
    #[error("the model's chat template does not take the conversation: {problem}")]
    #[strum(message = "choose another model, or set `system_messages = \"single\"` in its entry")]
    Template { problem: String },
    /// The reply can't be held to the form that was asked for.
    #[error("the reply can't be held to this form: {problem}")]
    #[strum(message = "describe the form in a message, give a tool whose parameters have it, \
                       or choose another model")]
    ReplyFormat { problem: String },
    /// The embedded engine failed.
    #[error("the embedded engine failed: {problem}")]
    #[strum(message = "if it happens again, choose another model file of those that are there")]
    Engine { problem: String },
    /// A script cannot be played; lines count from 1.
    #[error("cannot play the script {}{}: {problem}", path.display(), at_line(*line))]
    Script { path: PathBuf, line: Option<usize>, problem: String },
}

/// What a server did not do in time; continues a sentence about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::Display)]
#[allow(missing_docs, reason = "the texts of the variants say it")]
pub enum WaitingFor {
    #[strum(to_string = "did not accept a connection")]
    Connection,
    #[strum(to_string = "did not begin to answer")]
    FirstByte,
    #[strum(to_string = "did not go on with its answer")]
    NextBytes,
}

impl LlmError {
    /// A short name that never changes, for records and programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether the same request may well be answered a little later. A call
    /// makes use of it only as long as nothing of the reply has arrived.
    pub fn is_retryable(&self) -> bool {
        match self {
            LlmError::Unreachable { .. }
            | LlmError::RateLimited { .. }
            | LlmError::Unavailable { .. } => true,
            LlmError::TimedOut { waiting_for, .. } => *waiting_for == WaitingFor::Connection,
            _ => false,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        if let Some(wait) = self.retry_after().filter(|wait| !wait.is_zero()) {
            return Some(format!("send the message again after {}", in_seconds(wait)));
        }
        match self {
            LlmError::Unauthorized { key, .. } => Some(key.hint()),
            LlmError::NoSuchModel { model, wire } => Some(no_such_model(model, *wire)),
            LlmError::File { problem } => Some(problem.hint().to_owned()),
            LlmError::NoMemory { problem } => Some(problem.hint().to_owned()),
            LlmError::WindowTooLarge { trained: most, .. }
            | LlmError::WindowTooCostly { largest: most, .. } => {
                Some(format!("set the model entry's `window` to at most {most}"))
            }
            _ => self.get_message().map(str::to_owned),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            LlmError::Unreachable { .. }
            | LlmError::TimedOut { .. }
            | LlmError::ContextOverflow { .. }
            | LlmError::NoSuchModel { .. } => Some(Remedy::CheckModels),
            LlmError::Refused { .. } => Some(Remedy::ShowRequest),
            LlmError::NoFile => Some(Remedy::PullModel),
            LlmError::Engine { .. } => Some(Remedy::InspectSetup),
            LlmError::File { problem } => problem.remedy(),
            _ => None,
        }
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            LlmError::RateLimited { retry_after, .. }
            | LlmError::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The error as it may leave this crate: its texts without the `key`, because
    /// some servers repeat the key that they refuse, and then no longer than it
    /// takes to recognise them. Cut before, they could end in a part of the key,
    /// so nothing else shortens a text.
    pub(crate) fn redacted(mut self, key: Option<&ApiKey>) -> Self {
        for text in self.foreign_texts().into_iter().flatten() {
            *text = match key {
                Some(key) => excerpt(&key.redact(text)),
                None => excerpt(text),
            };
        }
        self.with_key_state(key.map(ApiKey::state).unwrap_or_default())
    }

    /// The error with what is known of the key. Who forbids something to nobody in particular
    /// wants a key, too.
    fn with_key_state(self, key: ApiKeyState) -> Self {
        match self {
            LlmError::Unauthorized { message, .. } => LlmError::Unauthorized { key, message },
            LlmError::Forbidden { message } if matches!(key, ApiKeyState::NotSet(_)) => {
                LlmError::Unauthorized { key, message }
            }
            other => other,
        }
    }

    /// The texts that came from a server or the system.
    fn foreign_texts(&mut self) -> [Option<&mut String>; 2] {
        match self {
            LlmError::Unauthorized { message, .. }
            | LlmError::Forbidden { message }
            | LlmError::NoSuchEndpoint { message, .. }
            | LlmError::RateLimited { message, .. }
            | LlmError::ContextOverflow { message, .. }
            | LlmError::Unavailable { message, .. }
            | LlmError::Refused { message, .. }
            | LlmError::Server { message, .. } => [Some(message), None],
            LlmError::Redirected { to: text, .. }
            | LlmError::Unreachable { cause: text, .. }
            | LlmError::Handshake { cause: text, .. }
            | LlmError::Cut { cause: text } => [Some(text), None],
            // A parser quotes what it did not expect.
            LlmError::Malformed { what, sample } => [Some(what), Some(sample)],
            _ => [None, None],
        }
    }
}

fn no_such_endpoint(url: &str, message: &str) -> String {
    match message.is_empty() {
        true => format!("`{url}` is no address of a model server's interface"),
        false => format!("the model server does not serve `{url}`: {message}"),
    }
}

fn no_such_model(model: &str, wire: Wire) -> String {
    let other = "set `model` to one that the server has";
    match wire {
        Wire::Ollama => format!("run `ollama pull {model}`, or {other}"),
        Wire::OpenAi | Wire::Anthropic | Wire::Embedded => other.to_owned(),
    }
}

fn in_parentheses(status: Option<u16>) -> String {
    status.map(|status| format!(" (status {status})")).unwrap_or_default()
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn for_how_long(wait: Option<Duration>) -> String {
    wait.map(|wait| format!(" for {}", in_seconds(wait))).unwrap_or_default()
}

/// A wait in whole seconds, rather too long than too short.
fn in_seconds(wait: Duration) -> String {
    let more = u64::from(wait.subsec_nanos() > 0);
    format!("{} s", wait.as_secs().saturating_add(more))
}

/// The beginning of a text from a server, long enough to recognise it by.
fn excerpt(text: &str) -> String {
    first_chars(text.trim(), 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the cut falls, and whichever text the key is in.
    #[test]
    fn no_part_of_a_key_stays_where_a_text_is_cut() {
        let key = ApiKey::new("hunter-hunter-hunter");
        for start in 470..=510 {
            let text = format!("{}{}{}", "x".repeat(start), key.expose().unwrap(), "y".repeat(600));
            let errors = [
                LlmError::Unauthorized { key: ApiKeyState::Unnamed, message: text.clone() },
                LlmError::Cut { cause: text.clone() },
                LlmError::Redirected { url: String::new(), to: text.clone() },
                LlmError::Unreachable { url: String::new(), cause: text.clone() },
                LlmError::Handshake { url: String::new(), cause: text.clone() },
                LlmError::Malformed { what: text.clone(), sample: text.clone() },
            ];
            for error in errors {
                let shown = format!("{:?}", error.redacted(Some(&key)));
                assert!(!shown.contains("hu") && shown.contains('…'), "{shown}");
            }
        }
    }

    #[test]
    fn a_wait_is_told_in_seconds() {
        let wait = |retry_after| LlmError::Unavailable {
            status: 503,
            retry_after,
            message: "Loading model".to_owned(),
        };
        let error = wait(Some(Duration::from_millis(89_500)));
        assert_eq!(
            error.to_string(),
            "the model server is not ready (status 503) for 90 s: Loading model"
        );
        assert_eq!(error.hint().unwrap(), "send the message again after 90 s");
        let error = wait(None);
        assert_eq!(error.to_string(), "the model server is not ready (status 503): Loading model");
        assert_eq!(error.hint().unwrap(), "wait a while, then send the message again");
    }
}
