//! The errors of MCP servers.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use recto_context::Remedy;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::{Deserialize, Serialize};

use super::listing::fit_words;
use super::log::Redactor;

/// The code of an error that Recto puts in the place of an answer that it could not read. Servers
/// have no reason to use it.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(i32::MIN);

/// As much of a server's own words as an error repeats.
const MAX_WORDS: usize = 500;

/// Why an MCP server can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The name of the server in the config.
    pub server: Arc<str>,
    /// The problem, as what is said of the server.
    pub problem: ServerProblem,
    /// What it last wrote to stderr.
    pub stderr: String,
}

impl ServerError {
    /// The stable code of the problem, for programs.
    pub fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// Advice to a person on what to do about it.
    pub fn hint(&self) -> String {
        let server = &self.server;
        match &self.problem {
            ServerProblem::Unknown { near: Some(near) } => format!("did you mean `{near}`?"),
            ServerProblem::Unknown { near: None } => {
                "look at the servers that are set up".to_owned()
            }
            ServerProblem::NoProgram { .. } => {
                format!("install it, or set `mcp.{server}.command` to its path")
            }
            ServerProblem::Address { .. } => {
                format!("set `mcp.{server}.url` to an http or https address")
            }
            ServerProblem::Slow { unread: None, .. } => {
                format!("set a longer `mcp.{server}.start_limit` if it needs it")
            }
            ServerProblem::Slow { unread: Some(_), .. } => {
                "is it an MCP server? its standard output is for messages of MCP alone".to_owned()
            }
            ServerProblem::Unauthorized => {
                format!("let `mcp.{server}.api_key_env` name a variable with a key that it takes")
            }
            ServerProblem::Unreachable { .. } => "is it running, and is the address right?".into(),
            ServerProblem::NotStarted { .. } => {
                format!("is `mcp.{server}.command` a program that you may run?")
            }
            ServerProblem::Status { status: 500.. } => {
                "it has trouble of its own, which its log should tell".to_owned()
            }
            ServerProblem::Status { status: 431 } => {
                "it takes no headers as long as the one that it asks for, such as `Mcp-Session-Id`; \
                 its maker has to mend that"
                    .to_owned()
            }
            ServerProblem::Status { .. } => format!(
                "is `mcp.{server}.url` the whole address of an MCP server, with its path (often `/mcp`)?"
            ),
            ServerProblem::Garbled { .. } => "is it an MCP server? try it by itself".to_owned(),
            ServerProblem::Ended { .. } | ServerProblem::Refused { .. } => {
                "try it by itself, without Recto".to_owned()
            }
            ServerProblem::Waiting { last, .. } => {
                ServerError { problem: (**last).clone(), ..self.clone() }.hint()
            }
        }
    }

    /// What Recto can do about it. What failed is not to be tried again as it is.
    pub fn remedy(&self) -> Option<Remedy> {
        match &self.problem {
            ServerProblem::Unknown { near: None } => Some(Remedy::ListServers),
            _ => None,
        }
    }

    /// The error in words for a model, which can't look at stderr itself.
    pub(super) fn for_model(&self) -> String {
        let last = self.stderr.trim();
        if last.is_empty() {
            return self.to_string();
        }
        let start = last.char_indices().rev().nth(MAX_WORDS - 1).map_or(0, |(at, _)| at);
        format!("{self}; it last wrote: {}", &last[start..])
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServerError { server, problem, .. } = self;
        match problem {
            ServerProblem::Unknown { .. } => write!(f, "there is no MCP server `{server}`"),
            problem => write!(f, "the MCP server `{server}` {problem}"),
        }
    }
}

impl Error for ServerError {}

/// The problem with a server, as what is said of it.
#[derive(
    Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ServerProblem {
    /// None is set up by that name.
    #[error("is not set up")]
    Unknown {
        /// One whose name is near.
        near: Option<String>,
    },
    /// Its program is not there.
    #[error("can't be started: there is no program `{program}`")]
    NoProgram {
        /// As it is configured.
        program: String,
    },
    /// The system did not start its program.
    #[error("can't be started: `{program}`: {cause}")]
    NotStarted {
        /// As it is configured.
        program: String,
        /// What the system says.
        cause: String,
    },
    /// Its address or key is none.
    #[error("can't be reached: {problem}")]
    Address {
        /// What is wrong with it.
        problem: String,
    },
    /// It took too long to start, or to tell its tools.
    #[error("did not answer within {} s{}", limit.as_secs_f32(), wrote(unread.as_deref()))]
    Slow {
        /// As long as it may take.
        limit: Duration,
        /// What is said of a line that it wrote meanwhile and that could not be read.
        #[serde(default)]
        unread: Option<String>,
    },
    /// It ended, or closed the connection.
    #[error("{how}")]
    Ended {
        /// How that happened, such as "ended with exit code 1".
        how: String,
    },
    /// Nothing answers at its address.
    #[error("can't be reached: {cause}")]
    Unreachable {
        /// What the system says.
        cause: String,
    },
    /// It wants a key, or another one.
    #[error("refuses the key, or wants one")]
    Unauthorized,
    /// It answered with an HTTP status that means no success.
    #[error("answered with HTTP status {status}")]
    Status {
        /// The code, such as 404.
        status: u16,
    },
    /// It answered with an error.
    #[error("answered with an error: {message}")]
    Refused {
        /// The error in the server's words.
        message: String,
    },
    /// It does not speak the protocol as it should.
    #[error("can't be understood: {what}")]
    Garbled {
        /// What was wrong with its answer.
        what: String,
    },
    /// It failed a short while ago, and is not tried again yet.
    #[error("{last}; it is tried again in {} s", wait.as_secs_f32().ceil())]
    Waiting {
        /// What went wrong then.
        last: Box<ServerProblem>,
        /// How long until then.
        wait: Duration,
    },
}

impl ServerProblem {
    /// The code of what is wrong, also while the server is not tried again.
    fn code(&self) -> &'static str {
        match self {
            ServerProblem::Waiting { last, .. } => last.code(),
            problem => problem.into(),
        }
    }

    /// Why a connection did not come about.
    pub(super) fn from_start(error: &ClientInitializeError, redact: &Redactor) -> Self {
        match error {
            ClientInitializeError::ConnectionClosed(_) => ServerProblem::closed(),
            ClientInitializeError::JsonRpcError(data) => ServerProblem::from_answer(data, redact),
            ClientInitializeError::TransportError { error, .. } => {
                ServerProblem::from_transport(&*error.error, redact)
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                ServerProblem::from_start(fallback, redact)
            }
            other => ServerProblem::Garbled { what: words(&other.to_string(), redact) },
        }
    }

    /// Why a request was not answered.
    pub(super) fn from_request(error: &ServiceError, redact: &Redactor) -> Self {
        match error {
            ServiceError::McpError(data) => ServerProblem::from_answer(data, redact),
            ServiceError::TransportSend(it) => ServerProblem::from_transport(&*it.error, redact),
            ServiceError::TransportClosed => ServerProblem::closed(),
            ServiceError::UnexpectedResponse => {
                ServerProblem::Garbled { what: "its answer is none to this question".to_owned() }
            }
            other => ServerProblem::Garbled { what: words(&other.to_string(), redact) },
        }
    }

    /// Says what came instead of an answer, if something did.
    pub(super) fn with_unread(self, line: Option<String>) -> Self {
        match self {
            ServerProblem::Slow { limit, .. } => ServerProblem::Slow { limit, unread: line },
            other => other,
        }
    }

    fn closed() -> Self {
        ServerProblem::Ended { how: "closed the connection".to_owned() }
    }

    fn from_answer(data: &ErrorData, redact: &Redactor) -> Self {
        let words = words(&data.message, redact);
        match data.code {
            UNREADABLE => ServerProblem::Garbled { what: words },
            _ => ServerProblem::Refused { message: words },
        }
    }

    /// What the transport says, at whatever depth of the chain of errors.
    fn from_transport(error: &(dyn Error + 'static), redact: &Redactor) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref() {
                return ServerProblem::from_http(error, redact);
            }
            next = error.source();
        }
        let cause = words(&innermost(error), redact);
        ServerProblem::Ended { how: format!("closed the connection ({cause})") }
    }

    fn from_http(error: &StreamableHttpError<reqwest::Error>, redact: &Redactor) -> Self {
        match error {
            StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                ServerProblem::Unauthorized
            }
            StreamableHttpError::HttpStatus(it) => ServerProblem::Status { status: it.status },
            StreamableHttpError::Client(error) => match error.status() {
                Some(status) if matches!(status.as_u16(), 401 | 403) => ServerProblem::Unauthorized,
                Some(status) => ServerProblem::Status { status: status.as_u16() },
                None => ServerProblem::Unreachable { cause: words(&innermost(error), redact) },
            },
            StreamableHttpError::UnexpectedEndOfStream
            | StreamableHttpError::TransportChannelClosed => ServerProblem::closed(),
            StreamableHttpError::UnexpectedContentType(kind) => {
                let kind = kind.as_deref().filter(|kind| !kind.is_empty());
                let came = kind.map_or("something without a type".to_owned(), |kind| {
                    format!("`{}`", words(kind, redact))
                });
                ServerProblem::Garbled { what: format!("it answers with {came}, not with JSON") }
            }
            StreamableHttpError::UnexpectedServerResponse(what) => {
                ServerProblem::Garbled { what: words(what, redact) }
            }
            other => ServerProblem::Garbled { what: words(&other.to_string(), redact) },
        }
    }
}

fn wrote(unread: Option<&str>) -> String {
    unread.map(|line| format!("; it wrote {line}")).unwrap_or_default()
}

/// A server's words as an error repeats them.
fn words(text: &str, redact: &Redactor) -> String {
    fit_words(text, MAX_WORDS, redact)
}

/// What stands at the end of a chain of errors.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_server_and_what_it_wrote() {
        let error = ServerError {
            server: "time".into(),
            problem: ServerProblem::Ended { how: "ended with exit code 1".to_owned() },
            stderr: format!("{}no such zone\n", "x".repeat(1_000)),
        };
        assert_eq!(error.to_string(), "the MCP server `time` ended with exit code 1");
        assert!(error.for_model().ends_with("xno such zone"));
        assert!(error.for_model().len() < 600);
        assert_eq!(error.hint(), "try it by itself, without Recto");
        let silent = ServerError { stderr: " \n".to_owned(), ..error };
        assert_eq!(silent.for_model(), silent.to_string());
    }

    #[test]
    fn a_header_that_is_too_long_is_no_wrong_address() {
        let error = |status| ServerError {
            server: "a".into(),
            problem: ServerProblem::Status { status },
            stderr: String::new(),
        };
        assert!(error(431).hint().contains("`Mcp-Session-Id`"));
        assert!(error(404).hint().contains("`mcp.a.url`"));
    }

    #[test]
    fn waiting_says_what_went_wrong_and_when_it_is_tried_again() {
        let last = Box::new(ServerProblem::Status { status: 500 });
        let problem = ServerProblem::Waiting { last, wait: Duration::from_millis(1_200) };
        let text = "answered with HTTP status 500; it is tried again in 2 s";
        assert_eq!(problem.to_string(), text);
    }

    #[test]
    fn an_answer_of_another_type_is_told_in_words() {
        let told = |kind: Option<&str>| {
            let error = StreamableHttpError::UnexpectedContentType(kind.map(str::to_owned));
            ServerProblem::from_http(&error, &Redactor::new([""; 0])).to_string()
        };
        let page = "can't be understood: it answers with `text/html`, not with JSON";
        assert_eq!(told(Some("text/html")), page);
        let nothing =
            "can't be understood: it answers with something without a type, not with JSON";
        assert_eq!([told(Some("")), told(None)], [nothing, nothing]);
    }

    #[test]
    fn a_key_is_not_repeated() {
        let redact = Redactor::new(["hunter2hunter2"]);
        let data = ErrorData::invalid_request("no such key: hunter2hunter2", None);
        assert_eq!(
            ServerProblem::from_answer(&data, &redact),
            ServerProblem::Refused { message: "no such key: …".to_owned() }
        );
    }
}
