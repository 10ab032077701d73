//! What only the program around the server can do: it is asked by message, and answers.
//!
//! The server knows no config and no command line. Whatever it needs of them goes through
//! [`HostRequest`]; the program reads these in a task of its own.

use recto_agent::IncludeSettings;
use recto_context::{IncludeMode, ItemId};
use recto_store::StoredSession;
use tokio::sync::{mpsc, oneshot};

/// Something that the program around the server is asked for, with where its answer goes.
#[derive(Debug)]
pub enum HostRequest {
    /// The settings that hold in a session, each with where it comes from: an object in JSON.
    SessionSettings {
        /// The session that is asked about.
        session: Box<StoredSession>,
        /// Where the settings go.
        answer: oneshot::Sender<serde_json::Value>,
    },
    /// What stands of a session outside of the store is to go: its files, and what was typed.
    ForgetSession {
        /// The session that is to be deleted.
        session: Box<StoredSession>,
        /// What people said in it.
        said: Vec<String>,
        /// Where it goes how many files went, or what kept them.
        answer: oneshot::Sender<Result<usize, String>>,
    },
    /// The state of the setup, as `doctor` tells it: a report in JSON.
    Doctor {
        /// Where the report goes.
        answer: oneshot::Sender<serde_json::Value>,
    },
    /// Another include mode, written into the config.
    SetInclude {
        /// What is to be set.
        change: IncludeChange,
        /// Where what holds from then on goes, by the names of the agents.
        answer: oneshot::Sender<Result<Vec<(String, IncludeSettings)>, HostProblem>>,
    },
}

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
    /// What happened, to what.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The way to the program around the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HostHandle(mpsc::Sender<HostRequest>);

impl HostHandle {
    /// A way to whoever reads the other end.
    pub fn new() -> (Self, mpsc::Receiver<HostRequest>) {
        // One waits while another is answered; more than a few are a fault of the caller.
        let (sender, receiver) = mpsc::channel(16);
        (HostHandle(sender), receiver)
    }

    /// Asks, and waits for the answer; nothing where the program is ending.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> HostRequest,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.0.send(request(answer)).await.ok()?;
        answered.await.ok()
    }
}
