//! What only the program around the server can do: it is asked by message, and answers.
//!
//! The server knows no config and no command line. Whatever it needs of them goes through
//! [`HostRequest`]; the program reads these in a task of its own.

use axum::http::StatusCode;
use recto_agent::IncludeSettings;
use recto_context::{IncludeMode, ItemId};
use recto_store::StoredSession;
use tokio::sync::{mpsc, oneshot};

use crate::problem::ApiProblem;

/// Something that the program around the server is asked for, with where its answer goes.
#[derive(Debug)]
pub enum HostRequest {
    /// The settings that hold in a session, each with where it comes from: an object in JSON.
    SessionSettings {
        /// The session that is asked about.
        session: Box<StoredSession>,
        /// Where the settings go, or what keeps the config from being read.
        answer: HostAnswer<serde_json::Value>,
    },
    /// What stands of a session outside of the store is to go: its files, and what was typed.
    ForgetSession {
        /// The session that is to be deleted.
        session: Box<StoredSession>,
        /// What people said in it.
        said: Vec<String>,
        /// Where it goes how many files went, or what kept them.
        answer: HostAnswer<usize>,
    },
    /// The state of the setup, as `doctor` tells it: a report in JSON.
    Doctor {
        /// Where the report goes.
        answer: HostAnswer<serde_json::Value>,
    },
    /// Another include mode, written into the config.
    SetInclude {
        /// What is to be set.
        change: IncludeChange,
        /// Where what holds from then on goes, by the names of the agents.
        answer: HostAnswer<Vec<(String, IncludeSettings)>>,
    },
}

/// Where the answer to a request goes.
pub type HostAnswer<T> = oneshot::Sender<Result<T, HostProblem>>;

/// An include mode that is to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludeChange {
    /// The agent that it is set for, where there are several.
    pub agent: String,
    /// What it is set for.
    pub target: IncludeTarget,
    /// The mode; nothing where none is to be set any more.
    pub include: Option<IncludeMode>,
}

/// What an include mode is set for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncludeTarget {
    /// A rule, a reference, a skill or a tool.
    Item(ItemId),
    /// All tools of an MCP server that have none of their own.
    Server(String),
}

/// Why the program around the server could not do something, as people are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProblem {
    /// What stands in the way.
    pub obstacle: HostObstacle,
    /// What happened, to what.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What stands in the way of what the server asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostObstacle {
    /// How things stand: what is asked for does not go with it.
    State,
    /// The disk has no room left.
    FullDisk,
}

/// Why a request to the program around the server brought nothing.
#[derive(Debug)]
pub(crate) enum HostFailure {
    /// It is ending, and takes no requests any more.
    Ending,
    /// It began, and gave no answer: something in it is broken.
    Unanswered,
    /// It could not do it.
    Refused(HostProblem),
}

/// The way to the program around the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HostHandle(mpsc::Sender<HostRequest>);

impl HostHandle {
    /// A way to whoever reads the other end.
    pub fn new() -> (Self, mpsc::Receiver<HostRequest>) {
        // They are taken at once; this is for the moment between.
        let (sender, receiver) = mpsc::channel(16);
        (HostHandle(sender), receiver)
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(HostAnswer<T>) -> HostRequest,
    ) -> Result<T, HostFailure> {
        let (answer, answered) = oneshot::channel();
        self.0.send(request(answer)).await.map_err(|_| HostFailure::Ending)?;
        match answered.await {
            Ok(done) => done.map_err(HostFailure::Refused),
            Err(_) => Err(HostFailure::Unanswered),
        }
    }
}

impl From<HostFailure> for ApiProblem {
    fn from(failure: HostFailure) -> Self {
        match failure {
            HostFailure::Ending => {
                let title = "Recto is shutting down";
                ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "ending", title)
                    .hint("try again when it has started again")
            }
            HostFailure::Unanswered => {
                let title = "something in Recto broke while it did this";
                ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "fault", title)
                    .hint("its log says what; please report it")
            }
            HostFailure::Refused(HostProblem { obstacle, message, hint }) => {
                let (status, code) = match obstacle {
                    HostObstacle::State => (StatusCode::CONFLICT, "not_done"),
                    HostObstacle::FullDisk => (StatusCode::SERVICE_UNAVAILABLE, "full"),
                };
                ApiProblem::new(status, code, message).hint_if(hint)
            }
        }
    }
}
