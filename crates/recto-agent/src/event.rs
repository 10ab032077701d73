//! What listeners hear of a turn while it runs.
//!
//! Events are for watching. Everything that lasts is in the store by the time
//! its event goes out, except for text that streams: a listener that was too
//! slow and missed some reads the reply there.

use recto_store::{
    Answer, Approval, ApprovalId, Ending, Extent, Moment, RequestId, SessionId, TurnId,
};
use serde::Serialize;

/// Something that happened in a turn.
#[derive(Debug, Clone, Serialize)]
pub struct TurnEvent {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The message is stored; it is this turn's now.
    Accepted,
    /// A request is recorded and goes out.
    Requested {
        /// The request.
        request: RequestId,
        /// Its number within the turn, from 1.
        number: u32,
        /// The model entry.
        model: String,
        /// Minimal or full.
        mode: &'static str,
        /// What the prompt costs.
        prompt_tokens: u32,
        /// What of it agrees with the request before, from the start.
        agreed_tokens: u32,
    },
    /// The server could not answer yet; it is asked again.
    Retrying {
        /// Milliseconds until then.
        after_ms: u64,
        /// Why.
        error: String,
    },
    /// A piece of the reply.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the model's reasoning.
    Thinking {
        /// The piece.
        text: String,
    },
    /// A person has to say whether a tool may run.
    Asked(Question),
    /// The person did.
    Decided {
        /// The question.
        approval: ApprovalId,
        /// What was said.
        answer: Answer,
    },
    /// A tool begins to run.
    Call {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
    },
    /// A tool is done.
    Result {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// Whether it did what it was asked to.
        outcome: &'static str,
        /// What the model gets to see.
        text: String,
    },
    /// Something that the person should know.
    Notice {
        /// What.
        text: String,
    },
    /// The turn is over, and all of it is stored.
    Finished(Finished),
}

/// A question whether a tool may run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// Its number.
    pub approval: ApprovalId,
    /// The tool, as people name it.
    pub tool: String,
    /// What would be done, in a line.
    pub title: String,
    /// All of it.
    pub detail: String,
    /// Whether it can be allowed for this call alone, and not for the session.
    pub only_once: bool,
    /// When nobody need answer any more.
    pub expires: Moment,
}

impl Question {
    /// The question of an approval.
    pub fn of(approval: &Approval) -> Self {
        Question {
            approval: approval.id,
            tool: approval.question.tool.key(),
            title: approval.question.title.clone(),
            detail: approval.question.detail.clone(),
            only_once: approval.question.extent == Extent::Call,
            expires: approval.question.expires,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Serialize)]
pub struct Finished {
    /// How.
    pub status: Ending,
    /// The model's last words, whole; absent when there are none.
    pub reply: Option<String>,
    /// What went wrong, for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Trouble>,
    /// What the turn's requests cost together.
    pub usage: Totals,
}

/// Something that went wrong, with what a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// A word for programs.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Tokens as the server counted them, over all requests of a turn. What a server
/// does not tell is absent: fresh and cached tokens are never made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Requests.
    pub requests: u32,
    /// Prompts, cached parts included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// What of the prompts came out of the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u32>,
    /// Replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<u32>,
}

impl Totals {
    pub(crate) fn add(&mut self, usage: &recto_llm::Usage) {
        let sum = |total: Option<u32>, new: Option<u32>| match (total, new) {
            (Some(total), Some(new)) => Some(total.saturating_add(new)),
            (known, None) | (None, known) => known,
        };
        self.requests += 1;
        self.prompt = sum(self.prompt, usage.prompt);
        self.cached = sum(self.cached, usage.cached);
        self.completion = sum(self.completion, usage.completion);
    }
}
