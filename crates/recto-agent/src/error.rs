//! What can go wrong between a message and its turn.

use recto_context::{Layer, OverBudget};
use recto_llm::LlmError;
use recto_store::{NameError, RequestId, StoreError};

use crate::event::Trouble;
use crate::memories::RememberError;
use crate::options::ModelEntry;

/// Why the agent could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is nothing in the message.
    #[error("the message is empty")]
    EmptyMessage,
    /// A character that no model server and no C program takes.
    #[error("the message has a NUL character at byte {at}")]
    NulInMessage {
        /// Where.
        at: usize,
    },
    /// There is no model to ask.
    #[error("no model is configured")]
    NoModel,
    /// The session or the person names a model that is not there.
    #[error("there is no model `{name}`")]
    NoSuchModel {
        /// The name.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// No item has this name.
    #[error("there is no rule, reference, skill or tool `{name}`")]
    NoSuchItem {
        /// The name.
        name: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// More than one item has this name.
    #[error("`{name}` is the name of more than one item")]
    AmbiguousItem {
        /// The name.
        name: String,
        /// All that it could mean, as they can be typed.
        meant: Vec<String>,
    },
    /// No question waits for an answer in the session.
    #[error("no tool waits for an answer in this session")]
    NothingAsked,
    /// Something could not be remembered.
    #[error(transparent)]
    Remember(#[from] RememberError),
    /// What may not be cut does not fit.
    #[error("{0}")]
    OverBudget(Box<OverBudget>),
    /// A model's server, outside of a turn.
    #[error("{0}")]
    Llm(#[from] LlmError),
    /// The server of the model entry that a turn asked.
    #[error("model `{name}`: {error}")]
    Model {
        /// The entry.
        name: String,
        /// What went wrong.
        error: LlmError,
    },
    /// The store.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A name that no session can have.
    #[error("{0}")]
    Name(#[from] NameError),
    /// A record that can't be made whole again.
    #[error("the record of request {request} is damaged: {problem}")]
    Record {
        /// The request.
        request: RequestId,
        /// What is wrong with it.
        problem: String,
    },
    /// Something in Recto itself is broken.
    #[error("Recto has a fault of its own: {what}")]
    Fault {
        /// What is known of it.
        what: String,
    },
    /// The session's task ended unexpectedly.
    #[error("the session's task ended before the message was taken")]
    Ended,
}

impl AgentError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            AgentError::EmptyMessage => Some("write something".to_owned()),
            AgentError::NulInMessage { .. } => {
                Some("remove it; is the input a binary file?".to_owned())
            }
            AgentError::NoModel => Some("add a [models.NAME] table to the config".to_owned()),
            AgentError::NoSuchModel { known, .. } if known.is_empty() => {
                Some("add a [models.NAME] table to the config".to_owned())
            }
            AgentError::NoSuchModel { known, .. } => Some(format!(
                "known models: {}; `/model NAME` chooses one for the session, `/model default` \
                 the config's",
                known.join(", ")
            )),
            AgentError::NoSuchItem { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            AgentError::NoSuchItem { nearest: None, .. } => Some(
                "`recto rules list`, `references list`, `skills list` and `tools list` show them"
                    .to_owned(),
            ),
            AgentError::AmbiguousItem { meant, .. } => {
                Some(format!("say which: {}", meant.join(", ")))
            }
            AgentError::NothingAsked => {
                Some("`recto approvals list` shows those of all sessions".to_owned())
            }
            AgentError::Remember(error) => error.hint(),
            AgentError::OverBudget(over) => Some(over.hint()),
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.hint(),
            AgentError::Store(error) => error.hint().map(str::to_owned),
            AgentError::Fault { .. } => Some("please report it; the session can go on".to_owned()),
            AgentError::Record { .. } | AgentError::Name(_) | AgentError::Ended => None,
        }
    }

    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            AgentError::NoSuchItem { .. } => "no_such_item",
            AgentError::AmbiguousItem { .. } => "ambiguous_item",
            AgentError::NothingAsked => "nothing_asked",
            AgentError::Remember(_) => "remember",
            AgentError::EmptyMessage => "empty_message",
            AgentError::NulInMessage { .. } => "nul_in_message",
            AgentError::NoModel => "no_model",
            AgentError::NoSuchModel { .. } => "no_such_model",
            AgentError::OverBudget(_) => "over_budget",
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.code(),
            AgentError::Store(_) => "store",
            AgentError::Name(_) => "session_name",
            AgentError::Record { .. } => "record",
            AgentError::Fault { .. } => "fault",
            AgentError::Ended => "ended",
        }
    }

    /// Whether something does not fit because of the person's message.
    pub(crate) fn is_about_the_message(&self) -> bool {
        let AgentError::OverBudget(over) = self else { return false };
        over.largest().is_some_and(|(layer, _)| layer == Layer::Message)
    }

    /// An error of a model entry's server.
    pub(crate) fn model(entry: &ModelEntry, error: LlmError) -> Self {
        AgentError::Model { name: entry.name.to_string(), error }
    }

    pub(crate) fn trouble(&self) -> Trouble {
        Trouble { code: self.code(), message: self.to_string(), hint: self.hint() }
    }
}

impl Trouble {
    /// What the transcript keeps of it.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}
