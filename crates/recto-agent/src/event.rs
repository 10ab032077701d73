//! The events of a session, for those who watch its turns while they run.
//!
//! Events are for watching. Everything that lasts is in the store by the time
//! its event goes out, except for text that streams. How they reach their
//! listeners is `event_stream.rs`.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use recto_context::{MessageId, Mode, Remedy, Reveal, reveal};
use recto_store::{
    ApprovalAnswer, ApprovalExtent, ApprovalId, Moment, RequestId, SessionId, StoredApproval,
    TurnEnding, TurnId,
};
use recto_tools::{ActionFields, ToolOutcome, UnseenSkill};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::notice::TurnNotice;
use crate::take_back::TakenBackEvent;
use crate::turn_usage::UsageTotals;

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEvent {
    /// The session that it happened in.
    pub session: SessionId,
    /// The turn that it is about; absent in a snapshot while none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Its number among the session's events. In JSON it is not called `number`: that
    /// is a request's.
    pub seq: EventNumber,
    /// What happened.
    #[serde(flatten)]
    pub event: EventKind,
}

/// The number of an event in its session: later ones have higher numbers, also those
/// of a later process. There are gaps, where pieces of text were joined.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EventNumber(pub u64);

impl fmt::Display for EventNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kinds of things that happen in a session, as programs read them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub enum EventKind {
    /// The message is stored; it is this turn's now.
    Accepted,
    /// An exchange was taken back: undone, or by the turn whose message is sent in its place.
    TakenBack(TakenBackEvent),
    /// A request is recorded and goes out.
    Requested {
        request: RequestId,
        /// Its number within the turn, from 1.
        number: u32,
        /// The name of the model entry.
        model: String,
        /// The mode, minimal or full.
        mode: Mode,
        /// What the prompt costs.
        prompt_tokens: u32,
        /// What of it agrees with the request before, from the start.
        agreed_tokens: u32,
    },
    /// The server could not answer yet; it is asked again after so many milliseconds.
    Retrying { after_ms: u64, error: String },
    /// A piece of the reply.
    Text { text: String },
    /// A piece of the model's reasoning.
    Thinking { text: String },
    /// A person has to say whether a tool may run.
    Asked(ApprovalQuestion),
    /// The person has said whether it may.
    Decided {
        approval: ApprovalId,
        answer: ApprovalAnswer,
        /// Who said it; absent where nobody did in time.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Actor>,
    },
    /// A tool begins to run, with the arguments as the model wrote them.
    Call(RunningCall),
    /// A tool has run to its end.
    Result {
        /// The identity of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// Whether it did what it was asked to.
        outcome: ToolOutcome,
        /// The text that the model gets to see.
        text: String,
    },
    /// What a schedule has answered was put into the session, with its task in front of it. The
    /// turn is that of its run, in another session.
    Delivered {
        /// The name of the schedule.
        schedule: String,
        /// The number of the first message.
        message: MessageId,
    },
    /// Something that the person should know.
    Notice(TurnNotice),
    /// The turn is over, and all of it is stored.
    Finished(FinishedTurn),
    /// The turn that runs, as it stood at this event's number: for a listener that was
    /// away for so long that not all events since are kept. What else it missed is
    /// in the store.
    Snapshot(TurnSnapshot),
}

impl EventKind {
    /// The end of a turn that got no reply.
    pub(crate) fn without_reply(status: TurnEnding, error: TurnError) -> Self {
        let (error, usage) = (Some(error), UsageTotals::default());
        EventKind::Finished(FinishedTurn { status, reply: None, error, usage, calls: Vec::new() })
    }

    /// The questions that it tells of.
    pub fn questions(&self) -> &[ApprovalQuestion] {
        match self {
            EventKind::Asked(question) => std::slice::from_ref(question),
            EventKind::Snapshot(snapshot) => &snapshot.questions,
            _ => &[],
        }
    }
}

/// A call of a tool, with the arguments as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct RunningCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// A turn that runs, between two of its events; empty where none runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnSnapshot {
    /// What has come so far of the reply to its last request.
    pub text: String,
    /// The model's reasoning before that reply, as far as it has come.
    pub thinking: String,
    /// The tools that run.
    pub calls: Vec<RunningCall>,
    /// The questions that nobody has answered.
    pub questions: Vec<ApprovalQuestion>,
}

/// A question whether a tool may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct ApprovalQuestion {
    pub approval: ApprovalId,
    /// The tool, as people name it.
    pub tool: String,
    /// What would be done, in a line.
    pub title: String,
    /// All that is known of what would be done.
    pub detail: String,
    /// The same as fields, such as `argv` and `network`; absent where only the words
    /// were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Value>,
    /// Whether it can be allowed for this call alone, and not for the session.
    pub only_once: bool,
    /// When nobody need answer any more.
    pub expires: Moment,
}

impl ApprovalQuestion {
    /// The skill that whoever allows it gives its rights for good, if this is its first call.
    pub fn unseen_skill(&self) -> Option<UnseenSkill> {
        let fields = ActionFields::deserialize(self.action.as_ref()?).ok()?;
        fields.unseen_skill().cloned()
    }

    /// The question of an approval.
    pub fn from_approval(approval: &StoredApproval) -> Self {
        ApprovalQuestion {
            approval: approval.id,
            // Also those of before characters were made visible where questions are made.
            tool: reveal(&approval.question.tool.key(), Reveal::Line),
            title: reveal(&approval.question.title, Reveal::EveryCharacterOfLine),
            detail: reveal(&approval.question.detail, Reveal::EveryCharacter),
            action: approval.question.fields.clone(),
            only_once: approval.question.extent == ApprovalExtent::Call,
            expires: approval.question.expires,
        }
    }
}

/// How a turn ended, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedTurn {
    /// Whether it was done, stopped, interrupted, failed or handed calls out.
    pub status: TurnEnding,
    /// The model's last words, whole; absent when there are none.
    pub reply: Option<String>,
    /// What went wrong, for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// What the turn's requests cost together.
    pub usage: UsageTotals,
    /// The calls that the client is to run, where the turn handed some out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ClientCall>,
}

/// A call of a client's own tool, which the client is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCall {
    /// Its identity, which the result is to name.
    pub id: String,
    /// The client's own name for the tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// Something that went wrong, with what a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// A short name that never changes, for programs.
    pub code: Cow<'static, str>,
    /// The text for people, without a hint.
    pub message: String,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What Recto can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// How long the model's server wants to be left alone, for answers that say it in a header. The
    /// message says it for people.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}
