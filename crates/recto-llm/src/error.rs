//! What can go wrong between a request and its reply.
//!
//! Programs branch on the variant, or on [`LlmError::code`]; texts are for
//! people. Which variant an answer becomes is decided in [`crate::wire`], from
//! its status and its fields.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::embedded::gguf::FileProblem;
use crate::embedded::memory::TooLarge;
use crate::secret::Secret;
use crate::wire::Wire;

/// Why a call has no reply. Texts from servers are kept short, and without
/// credentials; whoever prints them takes care of control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// No connection came about.
    #[error("cannot reach the model server at `{url}`: {cause}")]
    Unreachable {
        /// Where the server should listen.
        url: String,
        /// What the system says.
        cause: String,
    },
    /// The server is there, but no encrypted connection came about.
    #[error("no encrypted connection to the model server at `{url}`: {cause}")]
    Handshake {
        /// Where the server listens.
        url: String,
        /// What is wrong with its certificate, or with what it sent instead.
        cause: String,
    },
    /// The server was silent for too long.
    #[error("the model server at `{url}` {waiting_for} within {after:?}")]
    TimedOut {
        /// Where the server listens.
        url: String,
        /// What it did not do.
        waiting_for: WaitingFor,
        /// How long it was given.
        after: Duration,
    },
    /// The key is missing or wrong.
    #[error("the model server does not accept the key: {message}")]
    Unauthorized {
        /// What the server says.
        message: String,
    },
    /// The key is right, but not for this.
    #[error("the model server does not allow this: {message}")]
    Forbidden {
        /// What the server says.
        message: String,
    },
    /// The server does not have the model.
    #[error("the model server has no model `{model}`")]
    NoSuchModel {
        /// The name that was asked for.
        model: String,
        /// How the server was asked.
        wire: Wire,
    },
    /// Something answers there, but not with this interface.
    #[error("`{url}` is no address of a model server's interface")]
    NoSuchEndpoint {
        /// The whole address.
        url: String,
    },
    /// The server sent the request elsewhere. Recto does not follow: the
    /// request may carry a key.
    #[error("`{url}` redirects to `{to}`, which is not followed")]
    Redirected {
        /// The whole address.
        url: String,
        /// Where it points, without a query.
        to: String,
    },
    /// Too many requests, or too many tokens, for now.
    #[error("the model server asks to slow down{}: {message}", for_how_long(*retry_after))]
    RateLimited {
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
        /// What the server says.
        message: String,
    },
    /// The prompt is larger than the server's window.
    #[error("the prompt is larger than the model server's window: {message}")]
    ContextOverflow {
        /// The tokens of the prompt, as the server counts them.
        sent: Option<u32>,
        /// The tokens that it has room for.
        window: Option<u32>,
        /// What the server says.
        message: String,
    },
    /// The server is busy or starting.
    #[error(
        "the model server is not ready (status {status}){}: {message}",
        for_how_long(*retry_after)
    )]
    Unavailable {
        /// 503 or 529.
        status: u16,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
        /// What the server says.
        message: String,
    },
    /// The model cannot call tools.
    #[error("the model `{model}` does not support tools")]
    ToolsUnsupported {
        /// The model's name.
        model: String,
    },
    /// The server finds fault with the request.
    #[error("the model server refused the request (status {status}): {message}")]
    Refused {
        /// The status.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// The server failed.
    #[error("the model server failed{}: {message}", in_parentheses(*status))]
    Server {
        /// The status; none when it failed in the middle of a reply.
        status: Option<u16>,
        /// What the server says.
        message: String,
    },
    /// The reply broke off before its end.
    #[error("the reply broke off: {cause}")]
    Cut {
        /// What is known of the reason.
        cause: String,
    },
    /// The server sent what its interface does not allow.
    #[error("the model server sent {what}: `{sample}`")]
    Malformed {
        /// What is wrong.
        what: String,
        /// The beginning of it.
        sample: String,
    },
    /// The reply is larger than any that makes sense.
    #[error("the reply has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it may be there.
        limit: usize,
    },
    /// The config of the model entry cannot be used.
    #[error("{problem}")]
    Options {
        /// What is wrong with it.
        problem: String,
    },
    /// The file of an embedded model cannot be used.
    #[error("{problem}")]
    File {
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// An embedded model is named whose file is not there.
    #[error("the file of the embedded model is not there")]
    NoFile,
    /// This build has no engine for embedded models.
    #[error("this build of Recto cannot run models itself")]
    NotBuilt,
    /// The processor lacks what the engine was built for.
    #[error("the processor cannot run the embedded engine: it lacks {missing}")]
    Processor {
        /// What it lacks.
        missing: String,
    },
    /// The model needs more memory than there is.
    #[error("{problem}")]
    NoMemory {
        /// How much it needs.
        problem: TooLarge,
    },
    /// The window is larger than what the model was trained for.
    #[error(
        "a window of {window} tokens is more than the {trained} that the model was trained for"
    )]
    WindowTooLarge {
        /// What was asked for.
        window: u32,
        /// What the model was trained for.
        trained: u32,
    },
    /// The window needs more memory than there is.
    #[error("there is no memory for a window of {window} tokens, only for {largest}")]
    WindowTooCostly {
        /// What was asked for.
        window: u32,
        /// What there is memory for.
        largest: u32,
    },
    /// The model's own template does not take the conversation.
    #[error("the model's chat template does not take the conversation: {problem}")]
    Template {
        /// What the template says.
        problem: String,
    },
    /// The embedded engine failed.
    #[error("the embedded engine failed: {problem}")]
    Engine {
        /// What it says.
        problem: String,
    },
    /// A script cannot be played.
    #[error("cannot play the script {}{}: {problem}", path.display(), at_line(*line))]
    Script {
        /// The file.
        path: PathBuf,
        /// The line, from 1, when it is about one.
        line: Option<usize>,
        /// What is wrong with it.
        problem: String,
    },
}

/// What a server did not do in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitingFor {
    /// Accept the connection.
    Connection,
    /// Send the first byte of its answer.
    FirstByte,
    /// Go on with its answer.
    NextBytes,
}

impl fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitingFor::Connection => "did not accept a connection",
            WaitingFor::FirstByte => "did not begin to answer",
            WaitingFor::NextBytes => "did not go on with its answer",
        })
    }
}

impl LlmError {
    /// A short name that never changes, for records and programs.
    pub fn code(&self) -> &'static str {
        match self {
            LlmError::Unreachable { .. } => "unreachable",
            LlmError::Handshake { .. } => "handshake",
            LlmError::TimedOut { .. } => "timed_out",
            LlmError::Unauthorized { .. } => "unauthorized",
            LlmError::Forbidden { .. } => "forbidden",
            LlmError::NoSuchModel { .. } => "no_such_model",
            LlmError::NoSuchEndpoint { .. } => "no_such_endpoint",
            LlmError::Redirected { .. } => "redirected",
            LlmError::RateLimited { .. } => "rate_limited",
            LlmError::ContextOverflow { .. } => "context_overflow",
            LlmError::Unavailable { .. } => "unavailable",
            LlmError::ToolsUnsupported { .. } => "tools_unsupported",
            LlmError::Refused { .. } => "refused",
            LlmError::Server { .. } => "server",
            LlmError::Cut { .. } => "cut",
            LlmError::Malformed { .. } => "malformed",
            LlmError::TooLarge { .. } => "too_large",
            LlmError::Options { .. } => "options",
            LlmError::File { .. } => "model_file",
            LlmError::NoFile => "no_model_file",
            LlmError::NotBuilt => "not_built",
            LlmError::Processor { .. } => "processor",
            LlmError::NoMemory { .. } => "no_memory",
            LlmError::WindowTooLarge { .. } => "window_too_large",
            LlmError::WindowTooCostly { .. } => "window_too_costly",
            LlmError::Template { .. } => "template",
            LlmError::Engine { .. } => "engine",
            LlmError::Script { .. } => "script",
        }
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
        let hint = match self {
            LlmError::Unreachable { .. } => {
                "start the model server or correct `base_url`, then run `recto models check`"
            }
            LlmError::Handshake { .. } => {
                "check the server's certificate, and the clock and certificates of this machine; \
                 a server without encryption needs `http://` in `base_url`"
            }
            LlmError::TimedOut { .. } => {
                "see with `recto models check` whether the server answers at all"
            }
            LlmError::Unauthorized { .. } => {
                "set the environment variable that the model entry's `api_key_env` names"
            }
            LlmError::NoSuchModel { model, wire } => return Some(no_such_model(model, *wire)),
            LlmError::NoSuchEndpoint { .. } => "check `provider` and `base_url` of the model entry",
            LlmError::Redirected { .. } => "set `base_url` to where the server really is",
            LlmError::ContextOverflow { .. } => {
                "set the model entry's `window` to what the server has; \
                 `recto models check` shows what it says"
            }
            LlmError::ToolsUnsupported { .. } => {
                "choose a model that can call tools, or set `tool_calls = \"text\"` in its entry"
            }
            LlmError::Malformed { .. } => "check that `provider` is what the server speaks",
            LlmError::TooLarge { .. } => {
                "the model may have lost its way: send the message again, or choose another model"
            }
            LlmError::RateLimited { .. } | LlmError::Unavailable { .. } => {
                "wait a while, then send the message again"
            }
            LlmError::Server { .. } | LlmError::Cut { .. } => {
                "see the server's own log for the reason, then send the message again"
            }
            LlmError::Refused { .. } => "see what was sent with `recto show --body`",
            LlmError::Forbidden { .. } => "use a key that may do this, or another model",
            LlmError::File { problem } => return Some(problem.hint().to_owned()),
            LlmError::NoMemory { problem } => return Some(problem.hint().to_owned()),
            LlmError::NoFile => {
                "run `recto models pull NAME`; `recto models list` shows what is there"
            }
            LlmError::NotBuilt => {
                "build it with `--features embedded` as `make chat` does, start a model server, \
                 or name one in the config"
            }
            LlmError::Processor { .. } => "use a model server, such as Ollama",
            LlmError::WindowTooLarge { trained, .. } => {
                return Some(format!("set the model entry's `window` to at most {trained}"));
            }
            LlmError::WindowTooCostly { largest, .. } => {
                return Some(format!("set the model entry's `window` to at most {largest}"));
            }
            LlmError::Template { .. } => {
                "choose another model, or set `system_messages = \"single\"` in its entry"
            }
            LlmError::Engine { .. } => {
                "if it happens again, choose another model file; `recto doctor` shows what there is"
            }
            LlmError::Options { .. } | LlmError::Script { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// How long the server wants to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            LlmError::RateLimited { retry_after, .. }
            | LlmError::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The error as it may leave this crate: its texts without `secret`, because
    /// some servers repeat the key that they refuse, and then no longer than it
    /// takes to recognise them. Cut before, they could end in a part of the key,
    /// so nothing else shortens a text.
    pub(crate) fn told(mut self, secret: Option<&Secret>) -> Self {
        for text in self.foreign_texts().into_iter().flatten() {
            *text = match secret {
                Some(secret) => excerpt(&secret.redact(text)),
                None => excerpt(text),
            };
        }
        self
    }

    /// The texts that came from a server or the system.
    fn foreign_texts(&mut self) -> [Option<&mut String>; 2] {
        match self {
            LlmError::Unauthorized { message }
            | LlmError::Forbidden { message }
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

fn no_such_model(model: &str, wire: Wire) -> String {
    let other = "set `model` to one that the server has: `recto models check` lists them";
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
    const MOST_CHARACTERS: usize = 500;
    let text = text.trim();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the cut falls, and whichever text the key is in.
    #[test]
    fn no_part_of_a_key_stays_where_a_text_is_cut() {
        let key = Secret::new("hunter-hunter-hunter");
        for start in 470..=510 {
            let text = format!("{}{}{}", "x".repeat(start), key.expose(), "y".repeat(600));
            let errors = [
                LlmError::Unauthorized { message: text.clone() },
                LlmError::Cut { cause: text.clone() },
                LlmError::Redirected { url: String::new(), to: text.clone() },
                LlmError::Unreachable { url: String::new(), cause: text.clone() },
                LlmError::Handshake { url: String::new(), cause: text.clone() },
                LlmError::Malformed { what: text.clone(), sample: text.clone() },
            ];
            for error in errors {
                let shown = format!("{:?}", error.told(Some(&key)));
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
