//! The errors between a message and its turn, with their codes and hints.

use std::time::Duration;

use recto_context::{
    Layer, OverBudget, Remedy, RequestContext, SpeakerName, Tokens, TypedMemory, nearest_name,
};
use recto_llm::{IS_BUILT_IN, LlmError};
use recto_store::{
    RequestId, RunId, SessionId, SessionNameError, StoreError, StoredSession, TurnId,
};
use strum::EnumMessage;

use recto_workspace::MemoryError;

use crate::actor::ActorRole;
use crate::event::TurnError;
use crate::items::ItemName;
use crate::memories::RememberError;
use crate::options::ModelEntry;
use crate::rights::{Right, who_may};
use crate::schedules::PlanError;
use crate::search::WordsOnlyReason;

/// The result of something that an agent was asked to do.
pub type AgentResult<T = ()> = Result<T, AgentError>;

/// An error that keeps an agent from doing what it was asked to.
///
/// Beside each message stands the hint for people, where it is always the same.
/// The name of a variant is its [code](AgentError::code), unless it names another.
#[derive(Debug, thiserror::Error, strum::EnumMessage, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum AgentError {
    /// There is nothing in the message.
    #[error("the message is empty")]
    #[strum(message = "write something")]
    EmptyMessage,
    /// A character that no model server and no C program takes.
    #[error("the message has a NUL character at byte {at}")]
    #[strum(message = "remove it; is the input a binary file?")]
    NulInMessage { at: usize },
    /// The same in what a client brought along with its message.
    #[error("a {part} that the client sent has a NUL character in it")]
    #[strum(message = "remove it; is it a binary file?")]
    NulFromClient { part: &'static str },
    /// A character in a file that came along, which no text file has.
    #[error("the file `{name}` has a NUL character at byte {at}: it is no text")]
    #[strum(message = "send a text file or an image")]
    NulInFile { name: String, at: usize },
    /// An image for a model that looks at none.
    #[error("model `{model}` takes no images, and `{image}` is one; nothing was sent")]
    #[strum(
        message = "choose a model that takes images; if this one does, set `images = true` for it"
    )]
    NoImages { model: String, image: String },
    /// A result that belongs to no call of the session.
    #[error("no call `{call}` was handed out in this session")]
    #[strum(message = "send the results of the calls that the last turn handed out")]
    UnknownCall { call: String },
    /// A result of a call that has one.
    #[error("call `{call}` has its result already")]
    #[strum(message = "send each result once")]
    AnsweredCall { call: String },
    /// Results without which a turn can't go on.
    #[error("results are missing of: {}", calls.join(", "))]
    #[strum(message = "send the results of all calls that were handed out, or another message")]
    MissingResults { calls: Vec<String> },
    /// A turn that handed calls out, in a form that this version does not know.
    #[error("turn {turn} can't go on: another version of Recto handed its calls out")]
    #[strum(message = "send another message")]
    StateLost { turn: TurnId },
    /// There is no model to ask.
    #[error("no model is configured, and none was found")]
    #[strum(
        message = "pull one that Recto runs itself, start Ollama, or name a model in the config"
    )]
    NoModel,
    /// The session or the person names a model that is not there.
    #[error("there is no model `{name}`")]
    #[strum(message = "add a [models.NAME] table to the config")]
    NoSuchModel { name: String, known: Vec<String> },
    /// No sub-agent has this id; the nearest is the one that was probably meant.
    #[error("there is no sub-agent `{id}`")]
    NoSuchSubAgent { id: String, nearest: Option<String>, known: Vec<String> },
    /// A sub-agent that can't be given a task.
    #[error("the sub-agent `{id}` takes no tasks: {problem}")]
    #[strum(message = "set its files right, or do the task without it")]
    SubAgentOff { id: String, problem: String },
    /// A task that would come back to a sub-agent that it came from.
    #[error("the task would go round in a circle: {}", chain.join(" → "))]
    #[strum(message = "do it without handing it on")]
    DelegationCycle { chain: Vec<String> },
    /// A task that was handed on too often.
    #[error("the task can't be handed on: {most} deep is the most (delegate.max_depth)")]
    #[strum(message = "do it without handing it on")]
    TooDeep { most: u32 },
    /// A turn that has given as many tasks as it may.
    #[error("this turn has given {most} tasks, which is the most (delegate.max_tasks)")]
    #[strum(message = "go on with the answers that there are")]
    TooManyTasks { most: u32 },
    /// No schedule of the agent has this name.
    #[error("there is no schedule `{name}`")]
    NoSuchSchedule { name: String, known: Vec<String> },
    /// A name that no schedule can have.
    #[error("`{name}` can't be the name of a schedule")]
    #[strum(message = "name it in at most 64 letters, digits, `_`, `-` and `.`")]
    ScheduleName { name: String },
    /// A schedule of which a run is under way.
    #[error("run {run} of `{name}` is under way in another process, or here")]
    #[strum(message = "wait for its end; it is in the log")]
    ScheduleRuns { name: String, run: RunId },
    /// No conversation of the agent is held in this chat.
    #[error("nobody talks with the agent in `{chat}`")]
    NoSuchChat { chat: String, known: Vec<String> },
    /// A chat in which several bots are.
    #[error("several bots talk in the chat `{chat}`")]
    ManyChats { chat: String, named: Vec<String> },
    /// An error in what somebody says of when a schedule runs.
    #[error(transparent)]
    #[strum(serialize = "schedule_plan")]
    Plan(#[from] PlanError),
    /// A call outside of any turn.
    #[error("this tool can be called in a turn alone")]
    NoCallingTurn,
    /// A second message for a sub-agent.
    #[error("this session is the sub-agent `{id}`'s for one task, which it has")]
    #[strum(message = "give it another task; each has a session of its own")]
    OneTask { id: String },
    /// No session that the actor may know of has this name.
    #[error("there is no session `{name}`")]
    #[strum(message = "`/sessions` lists those that there are")]
    NoSuchSession { name: String },
    /// No item has this name; the nearest is the one that was probably meant.
    #[error("there is no rule, reference, skill or tool `{name}`")]
    #[strum(message = "look at those that there are")]
    NoSuchItem { name: String, nearest: Option<String> },
    /// More than one item has this name: all that it could mean, as they can be typed.
    #[error("`{name}` is the name of more than one item")]
    AmbiguousItem { name: String, meant: Vec<String> },
    /// The last request of a session knew no item of this name.
    #[error("the last request knew no item `{name}`")]
    #[strum(message = "look at those that there are; what is new comes with the next message")]
    UnknownToRequest { name: String, nearest: Option<String> },
    /// No turn that the actor may know of has this number.
    #[error("there is no turn `{name}`")]
    #[strum(message = "a turn is named by its number, or `last`; look at those of a session")]
    NoSuchTurn { name: String },
    /// Nothing was said yet.
    #[error("there is no turn yet")]
    #[strum(message = "say something first")]
    NoTurnYet,
    /// A turn that made no request; `sent` is the last that did.
    #[error("turn {turn} sent nothing")]
    SentNothing { turn: TurnId, why: String, sent: Option<TurnId> },
    /// A turn whose records were dropped because of their age.
    #[error(
        "the record of turn {turn} was dropped: it is older than `store.retention` keeps records"
    )]
    RecordDropped { turn: TurnId },
    /// A turn whose requests, of which this is the last, are no pages.
    #[error("turn {turn} only asked for a summary: it sent no page")]
    #[strum(message = "look at that request")]
    OnlySummary { turn: TurnId, request: u32 },
    /// A request that the turn has not made.
    #[error("turn {turn} has no request {number}")]
    NoSuchRequest { turn: TurnId, number: u32, count: usize },
    /// A turn that is to be compared with itself.
    #[error("turn {turn} was named twice")]
    #[strum(message = "name two turns, or one to compare it with the turn before it")]
    SameTurn { turn: TurnId },
    /// A turn that has none before it to be compared with.
    #[error("turn {turn} is the first of its session that sent something")]
    #[strum(message = "name two turns to compare")]
    NoTurnBefore { turn: TurnId },
    /// A page of a turn knew no item of this name.
    #[error("turn {turn} knew no item `{name}`")]
    #[strum(message = "look at what it knew")]
    UnknownToTurn { turn: TurnId, name: String, nearest: Option<String> },
    /// Recorded bytes for a model that is asked in another way now.
    #[error("the request went out by the {sent} wire, and model `{model}` speaks {now} now")]
    #[strum(message = "name the model to send the same page to it")]
    OtherWire { sent: String, model: String, now: String },
    /// A page with tools for a model that would not see them.
    #[error("model `{model}` takes tools as text, and this page has them as schemas")]
    #[strum(message = "choose a model whose template knows tools")]
    ToolsAsText { model: String },
    /// A page that is too long for another model.
    #[error(
        "the prompt of {prompt} tokens does not fit model `{model}`: its window is {window} \
         tokens, {reply} of them kept for the reply"
    )]
    #[strum(message = "choose a model with a larger window")]
    NarrowWindow { prompt: Tokens, model: String, window: Tokens, reply: Tokens },
    /// A setting that is not there, or does not take this value.
    #[error("the setting `{key}` can't be set so: {problem}")]
    BadSetting { key: String, problem: String },
    /// A session of the name that another one is to have.
    #[error("there is a session `{name}` already")]
    #[strum(message = "choose another name, or go on with it")]
    SessionOpen { name: String },
    /// Nothing stands in the session that could be taken back.
    #[error("no message stands in this session that could be taken back or sent again")]
    #[strum(message = "say something first")]
    NothingToTakeBack,
    /// Another exchange is the last by now than the one that was to be replaced.
    #[error("the message that was to be replaced is not the last one any more")]
    #[strum(message = "send it as a message of its own, or edit the last one")]
    NotLast,
    /// The last exchange belongs to a conversation that a client keeps.
    #[error("the last exchange is part of a conversation that its client keeps")]
    #[strum(message = "change it in the client, which sends all of it each time")]
    ClientExchange,
    /// The last message is somebody else's.
    #[error("the last message is {name}'s")]
    #[strum(message = "only who sent it can send it again; /undo takes it back")]
    OthersMessage { name: SpeakerName },
    /// The actor's role does not allow it.
    #[error("{name} ({role}) may not {right}")]
    NotAllowed { name: SpeakerName, role: ActorRole, right: Right },
    /// No question waits for an answer in the session.
    #[error("no tool waits for an answer in this session")]
    #[strum(message = "look at those of all sessions")]
    NothingAsked,
    /// Something could not be remembered.
    #[error(transparent)]
    Remember(#[from] RememberError),
    /// What may not be cut does not fit.
    #[error("{0}")]
    OverBudget(Box<OverBudget>),
    /// There is no encoder that could make vectors of texts.
    #[error("texts can't be embedded: {0}")]
    NoEmbedding(WordsOnlyReason),
    /// An error of a model's server outside of a turn.
    #[error("{0}")]
    Llm(#[from] LlmError),
    /// An error of the server of the model entry that a turn asked.
    #[error("model `{name}`: {error}")]
    Model { name: String, error: LlmError },
    /// An error of the store.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The session is for another agent to run.
    #[error("session {session} belongs to the agent `{agent}`")]
    #[strum(message = "talk to that agent, or in another session")]
    OtherAgent { session: SessionId, agent: String },
    /// The session is about another folder than the one that the agent works in.
    #[error("session {session} works in another folder")]
    #[strum(message = "go on with it by its name, which leads there, or in another session")]
    OtherFolder { session: SessionId },
    /// A name that no session can have.
    #[error("{0}")]
    #[strum(serialize = "session_name")]
    Name(#[from] SessionNameError),
    /// A record that can't be made whole again.
    #[error("the record of request {request} is damaged: {problem}")]
    Record { request: RequestId, problem: String },
    /// Something in Recto itself is broken.
    #[error("Recto has a fault of its own: {what}")]
    #[strum(message = "please report it; the session can go on")]
    Fault { what: String },
    /// The agent takes nothing in any more.
    #[error("Recto is shutting down and takes no messages any more")]
    #[strum(message = "send it again when Recto has started again")]
    ShuttingDown,
    /// The session's task ended unexpectedly.
    #[error("the session's task ended before the message was taken")]
    Ended,
}

impl AgentError {
    /// The code of what holds a secret, and so must not be remembered.
    pub const SECRET: &str = "secret";

    /// Whether it is worth waiting until something can be done: it was not refused for what it is.
    pub fn may_pass(&self) -> bool {
        match self {
            AgentError::ShuttingDown | AgentError::Ended => true,
            AgentError::Store(error) => matches!(
                error,
                StoreError::Full { .. }
                    | StoreError::Locked { .. }
                    | StoreError::Io { .. }
                    | StoreError::Unreachable { .. }
                    | StoreError::Closed
                    | StoreError::Busy { .. }
            ),
            _ => false,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            AgentError::NoSuchModel { known, .. } if !known.is_empty() => Some(format!(
                "known models: {}; `/model NAME` chooses one for the session, `/model default` \
                 the config's",
                known.join(", ")
            )),
            AgentError::NoSuchItem { nearest: Some(nearest), .. }
            | AgentError::UnknownToRequest { nearest: Some(nearest), .. }
            | AgentError::UnknownToTurn { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            AgentError::UnknownToTurn { name, .. } if TypedMemory::new(name).is_name() => Some(
                "no memory has this id now, and the turn did not come across it; \
                 `memory/archive` in the workspace has what was forgotten; look at those that \
                 there are"
                    .to_owned(),
            ),
            AgentError::Plan(error) => Some(error.hint().to_owned()),
            AgentError::NoSuchSchedule { name, known } => {
                match nearest_name(name, known.iter().map(String::as_str)) {
                    Some(nearest) => Some(format!("did you mean `{nearest}`?")),
                    None if known.is_empty() => Some("none is made yet".to_owned()),
                    None => Some(format!("there are: {}", known.join(", "))),
                }
            }
            AgentError::NoSuchChat { known, .. } => Some(match &known[..] {
                [] => "write to the bot there first".to_owned(),
                known => format!("write to the bot there first; it talks in {}", known.join(", ")),
            }),
            AgentError::ManyChats { named, .. } => {
                Some(format!("name one: {}", named.join(" or ")))
            }
            AgentError::NoSuchSubAgent { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            AgentError::NoSuchSubAgent { known, .. } if !known.is_empty() => {
                Some(format!("there are: {}", known.join(", ")))
            }
            AgentError::NoSuchSubAgent { .. } => Some(
                "put one into `agents/` of the workspace: a folder with a `soul.md`".to_owned(),
            ),
            AgentError::SentNothing { why, sent, .. } => Some(match sent {
                Some(_) => format!("{why}\nlook at the last turn that did"),
                None => why.clone(),
            }),
            AgentError::NoSuchRequest { count, .. } => {
                Some(format!("its requests are numbered from 1 to {count}"))
            }
            AgentError::AmbiguousItem { meant, .. } => {
                Some(format!("say which: {}", meant.join(", ")))
            }
            AgentError::NotAllowed { right, .. } => Some(format!("{} may", who_may(*right))),
            AgentError::Remember(error) => error.hint(),
            AgentError::OverBudget(over) => Some(over.hint()),
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.hint(),
            AgentError::Store(error) => error.hint().map(str::to_owned),
            _ => self.get_message().map(str::to_owned),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            AgentError::NoSuchItem { nearest: None, .. }
            | AgentError::UnknownToRequest { nearest: None, .. } => Some(Remedy::ListItems),
            AgentError::SessionOpen { name } => Some(Remedy::OpenSession { name: name.clone() }),
            AgentError::NothingAsked => Some(Remedy::ListApprovals),
            AgentError::NoModel => IS_BUILT_IN.then_some(Remedy::PullFirstModel),
            AgentError::NoSuchTurn { .. } => Some(Remedy::ListTurns),
            AgentError::NoTurnYet => Some(Remedy::Talk),
            AgentError::SentNothing { sent: Some(turn), .. } => {
                Some(Remedy::ShowTurn { turn: turn.get() })
            }
            AgentError::OnlySummary { turn, request } => {
                Some(Remedy::ShowOneRequest { turn: turn.get(), request: *request })
            }
            AgentError::NoTurnBefore { .. } => Some(Remedy::CompareTurns),
            AgentError::UnknownToTurn { turn, name, nearest: None } => {
                Some(match TypedMemory::new(name).is_name() {
                    true => Remedy::ListMemories,
                    false => Remedy::ShowTurn { turn: turn.get() },
                })
            }
            AgentError::OtherWire { .. } => Some(Remedy::ReplayOnModel),
            AgentError::NoEmbedding(why) => why.remedy(),
            AgentError::Remember(error) => error.remedy(),
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.remedy(),
            AgentError::Store(error) => error.remedy(),
            _ => None,
        }
    }

    /// A short name that never changes, for records and programs.
    pub fn code(&self) -> &'static str {
        match self {
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.code(),
            AgentError::Store(error) => error.code(),
            AgentError::Remember(RememberError::File(MemoryError::Secret { .. })) => {
                AgentError::SECRET
            }
            // As the store says it.
            AgentError::Remember(RememberError::File(error)) if error.is_full() => "full",
            _ => self.into(),
        }
    }

    /// Whether something does not fit because of the person's message.
    pub(crate) fn is_about_the_message(&self) -> bool {
        let AgentError::OverBudget(over) = self else { return false };
        over.largest().is_some_and(|(layer, _)| layer == Layer::Message)
    }

    /// The error of an agent that is given another one's session.
    pub(crate) fn other_agent(session: &StoredSession) -> Self {
        AgentError::OtherAgent { session: session.id, agent: session.agent.clone() }
    }

    /// The error of a name that a request knew nothing of, with the nearest that it knew.
    pub(crate) fn unknown_to_request(request: &RequestContext, name: &str) -> Self {
        let known = request.known_items();
        let name = name.trim().to_owned();
        let wanted = ItemName::parse(&name);
        let nearest =
            nearest_name(wanted.bare(), known.iter().map(|id| &*id.name)).map(str::to_owned);
        AgentError::UnknownToRequest { name, nearest }
    }

    /// An error of a model entry's server.
    pub(crate) fn model(entry: &ModelEntry, error: LlmError) -> Self {
        AgentError::Model { name: entry.name.to_string(), error }
    }

    /// The error as listeners and the transcript are told of it.
    pub(crate) fn to_turn_error(&self) -> TurnError {
        TurnError {
            code: self.code().into(),
            message: self.to_string(),
            hint: self.hint(),
            remedy: self.remedy(),
            retry_after: self.retry_after(),
        }
    }

    /// How long the model's server wants to be left alone, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AgentError::Llm(error) | AgentError::Model { error, .. } => error.retry_after(),
            _ => None,
        }
    }
}

impl TurnError {
    /// What the transcript keeps of it.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}
