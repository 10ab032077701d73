//! What a turn does next: a pure function from its state and what came in to
//! the one thing to do now.
//!
//! The shell around it (`turn.rs`) assembles, calls, runs and stores; here is
//! only the decision, so that every way through a turn can be played in a test
//! without a model, a tool or a store. The state is kept with the turn after
//! each step: whoever takes a turn up after a crash goes on from there.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use recto_context::{
    CallId, ContentHash, ContentPart, MessageBody, MessageId, ModeDecision, Remedy, Text, ToolCall,
    TurnNumber, WantedCall,
};
use serde::{Deserialize, Serialize};

use crate::message_ranges::MessageRanges;
use crate::selection::SearchOutcome;

/// The form of the stored state. Another form is not guessed at: the turn then
/// counts as interrupted.
const VERSION: u32 = 1;

/// How often the same call may be asked for before the turn is ended: a model
/// that asks a third time has not understood the answer it got twice.
const SAME_CALL: u32 = 3;

/// The state of a turn. It is all that another process needs to take it up,
/// beside the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnState {
    version: u32,
    phase: TurnPhase,
    /// Minimal or full; decided once a turn.
    mode: ModeDecision,
    /// The model entry that answers this turn.
    model: String,
    rounds: u32,
    max_rounds: u32,
    /// What search brought; searched once a turn.
    #[serde(default, skip_serializing_if = "SearchOutcome::is_empty")]
    found: SearchOutcome,
    /// How often each call was asked for.
    #[serde(default)]
    asked: BTreeMap<String, u32>,
    /// Calls of the round that are the client's to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    handed: Vec<PendingCall>,
    /// What the turn answers, where that is not its own first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opening: Option<TurnOpening>,
    /// The client's history, where it has one: the messages of the transcript that are in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_history: Option<MessageRanges>,
    /// How many rounds did the call that the message plainly asks for.
    #[serde(default, skip_serializing_if = "is_zero")]
    wanted_rounds: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The message that a turn answers, and the number of the turn that it opened. A turn that
/// goes on with another answers that one's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct TurnOpening {
    pub message: MessageId,
    pub number: TurnNumber,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurnPhase {
    /// A model is asked, or about to be.
    Calling,
    /// A person is asked whether these calls may run.
    Asking(Vec<PendingCall>),
    Running(Vec<PendingCall>),
    /// The client has calls to run; another turn goes on with their results.
    HandedOut,
    Ended,
}

/// A call as the state keeps it: enough to answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct PendingCall {
    pub id: String,
    pub name: String,
}

/// Something that happened to a turn, from which the next step follows.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields say it")]
pub enum StepInput<'a> {
    /// The turn is to begin.
    Begin,
    /// The model replied with calls that it wants run, those of the client's tools apart, or
    /// with text.
    Reply { calls: &'a [ToolCall], client_calls: &'a [ToolCall], text: ReplyText },
    /// The model could not be asked, or failed to reply.
    CallFailed,
    /// Some calls of the round need a person's word first.
    Asked,
    /// The person has said something to each of them.
    Decided,
    /// All calls of the round have their results.
    Results,
    /// The person wants no more of it.
    Stop,
    /// Another process takes the turn up.
    Resume,
}

/// Whether a reply says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyText {
    /// There is text in it.
    Something,
    /// There is nothing but white space in it.
    Nothing,
}

/// The one thing to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEffect {
    /// Assemble a request, record it, send it.
    Call,
    /// Run the calls of the reply.
    Run,
    /// Wait until the person has said which of them may run.
    Wait,
    /// Answer what is unanswered, tell the person, and close the turn.
    End(TurnClosing),
}

/// The end of a turn, as it is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnClosing {
    /// Why the turn is over.
    pub outcome: EndReason,
    /// Calls that will not run any more, or of which nobody knows whether they
    /// did. Each gets a result that says so.
    pub unanswered: Vec<PendingCall>,
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EndReason {
    /// The model said its last word.
    Answered,
    /// The call was done that the message asks for, and it asks for nothing else.
    WishMet,
    /// The model wants calls that are the client's to run.
    HandedOut,
    /// The model's last word was blank.
    #[strum(serialize = "empty_reply")]
    Empty,
    /// The model could not be asked, or failed to reply.
    Failed,
    /// The person stopped it.
    Stopped,
    /// The process ended while tools ran.
    Interrupted,
    /// It was begun too often without coming to its end.
    GivenUp,
    /// The model asked for more rounds of calls than allowed.
    #[allow(missing_docs, reason = "the field says it")]
    TooManyRounds { limit: u32 },
    /// The model asked for the same call again and again.
    #[strum(serialize = "repeated_call")]
    Repeated,
}

/// What the result of a call says that waited for a person who stopped the turn.
pub(crate) const STOPPED_UNALLOWED: &str =
    "not run: the person stopped the turn instead of allowing it";

impl EndReason {
    /// What a call's result says when the turn ended before it ran to its end.
    pub fn result_text(self) -> String {
        match self {
            EndReason::Stopped => "stopped by the person before it gave a result; whether it took \
                effect is unknown"
                .to_owned(),
            EndReason::Interrupted => {
                "interrupted: Recto was ended while this ran; whether it took \
                effect is unknown"
                    .to_owned()
            }
            EndReason::TooManyRounds { limit } => {
                format!("not run: the turn has reached its limit of {limit} rounds of tool calls")
            }
            EndReason::Repeated => {
                format!(
                    "not run: the turn ended, because it asked for the same call {SAME_CALL} times"
                )
            }
            EndReason::Answered
            | EndReason::WishMet
            | EndReason::HandedOut
            | EndReason::Empty
            | EndReason::Failed
            | EndReason::GivenUp => "not run: the turn is over".to_owned(),
        }
    }

    /// What a person can do about it, where it was not they who ended it.
    pub fn remedy(self) -> Option<Remedy> {
        match self {
            EndReason::Interrupted | EndReason::GivenUp => Some(Remedy::AskAgain),
            _ => None,
        }
    }

    /// The same in words, where nothing that Recto has does it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            EndReason::Empty => Some("ask again, or choose another model"),
            EndReason::TooManyRounds { .. } => {
                Some("ask again to go on, or allow more rounds (`max_rounds`)")
            }
            EndReason::Repeated => Some("ask in other words, or choose another model"),
            _ => None,
        }
    }

    /// What the person is told, where the reply itself does not.
    pub fn notice(self) -> Option<String> {
        match self {
            EndReason::Answered | EndReason::WishMet | EndReason::HandedOut | EndReason::Failed => {
                None
            }
            EndReason::Empty => Some("the model's answer was empty".to_owned()),
            EndReason::Stopped => Some("stopped".to_owned()),
            EndReason::Interrupted => Some(
                "interrupted: Recto was ended while tools ran, so this turn was not finished; \
                 ask again to go on"
                    .to_owned(),
            ),
            EndReason::GivenUp => Some(
                "given up: Recto was ended each time that it answered this, so it does not begin \
                 again by itself; ask again to go on"
                    .to_owned(),
            ),
            EndReason::TooManyRounds { limit } => Some(format!(
                "ended after {limit} rounds of tool calls without an answer (tools.max_rounds)"
            )),
            EndReason::Repeated => Some(format!(
                "ended because the model asked for the same tool call {SAME_CALL} times"
            )),
        }
    }
}

impl TurnState {
    /// A turn that has not begun.
    pub fn new(mode: ModeDecision, model: impl Into<String>, max_rounds: u32) -> Self {
        TurnState {
            version: VERSION,
            phase: TurnPhase::Calling,
            mode,
            model: model.into(),
            rounds: 0,
            max_rounds,
            found: SearchOutcome::default(),
            asked: BTreeMap::new(),
            handed: Vec::new(),
            opening: None,
            client_history: None,
            wanted_rounds: 0,
        }
    }

    /// Notes the calls of a round that did what they were asked, by the names of their tools.
    pub(crate) fn note_done<'t>(&mut self, mut tools: impl Iterator<Item = &'t str>) {
        let wanted = self.mode.wanted_call.as_ref();
        self.wanted_rounds +=
            u32::from(wanted.is_some_and(|wanted| tools.any(|tool| *wanted.tool == *tool)));
    }

    /// Whether the message plainly asks for a call that was not done so far.
    pub(crate) fn lacks_wanted_call(&self) -> bool {
        self.mode.wanted_call.is_some() && self.wanted_rounds == 0
    }

    /// Whether all was done that the message asks for. The model has nothing to add then, and a
    /// small one makes something up, for as long as it may.
    fn is_wish_met(&self) -> bool {
        let is_all = self.mode.wanted_call.as_ref().is_some_and(|wish| wish.beside.is_empty());
        is_all && self.wanted_rounds > 0
    }

    /// The state of a turn that goes on, with what is not stored of the wish in its message.
    pub(crate) fn with_wish_of(mut self, message: &str) -> Self {
        if let Some(stored) = &mut self.mode.wanted_call
            && let Some(wish) = WantedCall::from_message(message)
        {
            *stored = wish;
        }
        self
    }

    /// The state with what the turn answers.
    pub(crate) fn with_opening(self, opening: TurnOpening) -> Self {
        TurnState { opening: Some(opening), ..self }
    }

    /// What the turn answers, where that is known.
    pub(crate) fn opening(&self) -> Option<TurnOpening> {
        self.opening
    }

    /// The state with the messages that the client's history has.
    pub(crate) fn with_client_history(self, history: Option<MessageRanges>) -> Self {
        TurnState { client_history: history, ..self }
    }

    /// The messages that the client's history has, if the history is the client's.
    pub(crate) fn client_history(&self) -> Option<&MessageRanges> {
        self.client_history.as_ref()
    }

    /// The state of the turn that goes on with this one. Its rounds are counted anew: a client
    /// that brings results wants it to go on.
    pub(crate) fn continued(self) -> Self {
        let phase = TurnPhase::HandedOut;
        TurnState { phase, rounds: 0, asked: BTreeMap::new(), ..self }
    }

    /// The calls of the last reply that are the client's to run.
    pub(crate) fn handed(&self) -> &[PendingCall] {
        &self.handed
    }

    /// The state with what search brought for the turn.
    pub(crate) fn with_found(self, found: SearchOutcome) -> Self {
        TurnState { found, ..self }
    }

    /// What search brought for the turn.
    pub(crate) fn found(&self) -> &SearchOutcome {
        &self.found
    }

    /// The state of a turn of which only the transcript is left, with calls that may have run.
    pub(crate) fn with_open_calls(self, calls: Vec<PendingCall>) -> Self {
        TurnState { phase: TurnPhase::Running(calls), ..self }
    }

    /// Reads a stored state, if it is of this version.
    pub fn read(stored: &serde_json::Value) -> Option<Self> {
        let version = stored.get("version").and_then(serde_json::Value::as_u64);
        (version == Some(u64::from(VERSION))).then(|| Self::deserialize(stored).ok()).flatten()
    }

    /// Minimal or full, as decided when the turn began.
    pub fn mode(&self) -> &ModeDecision {
        &self.mode
    }

    /// The model entry that answers.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The round of calls that runs or waits, from 1.
    pub fn round(&self) -> u32 {
        self.rounds
    }

    /// Whether it waits for a person's word.
    pub fn is_asking(&self) -> bool {
        matches!(self.phase, TurnPhase::Asking(_))
    }

    /// Decides what to do now, from where the turn stands and what came in.
    pub fn step(&mut self, input: StepInput<'_>) -> StepEffect {
        match (input, std::mem::replace(&mut self.phase, TurnPhase::Ended)) {
            (StepInput::Results, TurnPhase::Running(_)) if !self.handed.is_empty() => {
                self.hand_out()
            }
            (StepInput::Results, TurnPhase::Running(_)) if self.is_wish_met() => {
                end(EndReason::WishMet)
            }
            (StepInput::Begin | StepInput::Resume, TurnPhase::Calling)
            | (StepInput::Results, TurnPhase::Running(_) | TurnPhase::HandedOut) => self.call(),
            (StepInput::Reply { calls: [], client_calls: [], text }, TurnPhase::Calling) => {
                end(match text {
                    ReplyText::Something => EndReason::Answered,
                    ReplyText::Nothing => EndReason::Empty,
                })
            }
            (StepInput::Reply { calls, client_calls, .. }, TurnPhase::Calling) => {
                self.handed = client_calls.iter().map(PendingCall::from_call).collect();
                if calls.is_empty() { self.hand_out() } else { self.run(calls) }
            }
            (StepInput::Asked, TurnPhase::Running(calls)) => self.wait(calls),
            (StepInput::Decided, TurnPhase::Asking(calls)) => {
                self.phase = TurnPhase::Running(calls);
                StepEffect::Run
            }
            // Nothing has run, so the question stands, whoever asks it.
            (StepInput::Resume, TurnPhase::Asking(calls)) => self.wait(calls),
            (StepInput::CallFailed, _) => end(EndReason::Failed),
            (StepInput::Stop, TurnPhase::Running(calls) | TurnPhase::Asking(calls)) => {
                self.end_round(EndReason::Stopped, calls)
            }
            (StepInput::Stop, _) => end(EndReason::Stopped),
            (StepInput::Resume, TurnPhase::Running(calls)) => {
                self.end_round(EndReason::Interrupted, calls)
            }
            // A turn that is over stays so; what comes in between is not for it.
            (
                StepInput::Begin
                | StepInput::Resume
                | StepInput::Asked
                | StepInput::Decided
                | StepInput::Results
                | StepInput::Reply { .. },
                _,
            ) => end(EndReason::Interrupted),
        }
    }

    /// Ends the turn with the calls that are the client's to run.
    fn hand_out(&mut self) -> StepEffect {
        self.phase = TurnPhase::HandedOut;
        end(EndReason::HandedOut)
    }

    /// Ends the turn in the middle of a round: what was the client's to run is not run either.
    fn end_round(&mut self, outcome: EndReason, mut calls: Vec<PendingCall>) -> StepEffect {
        calls.append(&mut self.handed);
        end_with(outcome, calls)
    }

    fn call(&mut self) -> StepEffect {
        self.handed.clear();
        self.phase = TurnPhase::Calling;
        StepEffect::Call
    }

    fn wait(&mut self, calls: Vec<PendingCall>) -> StepEffect {
        self.phase = TurnPhase::Asking(calls);
        StepEffect::Wait
    }

    /// Runs the calls unless they would be a round too many, or a repetition.
    fn run(&mut self, calls: &[ToolCall]) -> StepEffect {
        let pending: Vec<PendingCall> = calls.iter().map(PendingCall::from_call).collect();
        if self.rounds >= self.max_rounds {
            let outcome = EndReason::TooManyRounds { limit: self.max_rounds };
            return self.end_round(outcome, pending);
        }
        if self.is_repetition(calls) {
            return self.end_round(EndReason::Repeated, pending);
        }
        self.rounds += 1;
        self.phase = TurnPhase::Running(pending);
        StepEffect::Run
    }

    /// Counts the calls. The same call twice in one round counts once: models
    /// stutter, and both are answered.
    fn is_repetition(&mut self, calls: &[ToolCall]) -> bool {
        let mut keys: Vec<String> = calls.iter().map(call_key).collect();
        keys.sort();
        keys.dedup();
        let mut repeated = false;
        for key in keys {
            let times = self.asked.entry(key).or_insert(0);
            *times += 1;
            repeated |= *times >= SAME_CALL;
        }
        repeated
    }
}

/// What makes two calls the same: the tool and the arguments, by their meaning
/// where they are JSON.
fn call_key(call: &ToolCall) -> String {
    let arguments = match serde_json::from_str::<serde_json::Value>(&call.arguments) {
        Ok(value) => sorted(value).to_string(),
        Err(_) => call.arguments.as_str().to_owned(),
    };
    let hash = ContentHash::of_bytes(arguments.as_bytes()).to_string();
    format!("{}:{}", call.name, &hash[..16])
}

/// The same JSON with its keys in order.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(fields) => {
            let fields: BTreeMap<_, _> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.into_iter().collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

fn end(outcome: EndReason) -> StepEffect {
    end_with(outcome, Vec::new())
}

fn end_with(outcome: EndReason, unanswered: Vec<PendingCall>) -> StepEffect {
    StepEffect::End(TurnClosing { outcome, unanswered })
}

impl TurnClosing {
    /// The end of a turn whose calls may have run.
    pub(crate) fn interrupted(unanswered: Vec<PendingCall>) -> Self {
        TurnClosing { outcome: EndReason::Interrupted, unanswered }
    }
}

impl PendingCall {
    pub(crate) fn from_call(call: &ToolCall) -> Self {
        PendingCall { id: call.id.0.to_string(), name: call.name.to_string() }
    }

    pub(crate) fn call_id(&self) -> CallId {
        CallId(self.id.as_str().into())
    }

    /// The result that it gets when its turn ends without one.
    pub(crate) fn closing_result(&self, outcome: EndReason) -> MessageBody {
        self.result(outcome.result_text().into())
    }

    /// The result that says this.
    pub(crate) fn result(&self, text: Text) -> MessageBody {
        MessageBody::Tool {
            call: self.call_id(),
            name: self.name.as_str().into(),
            content: vec![ContentPart::Text(text)],
        }
    }
}
