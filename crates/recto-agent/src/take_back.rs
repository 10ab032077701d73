//! Taking back the last exchange of a session: `/undo`, `/retry` and `/edit`.
//!
//! Nothing is deleted, and nothing that a tool did is undone: what stays done is named. An
//! exchange that is replaced is taken back in the commit that begins the turn in its place,
//! so that neither is there without the other.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{ContentPart, Message, MessageId, PartReason, first_chars, visible_text};
use recto_store::{
    ApprovalAnswer, Moment, NewRetraction, RetractionReason, SessionCursor, SessionId,
    SessionState, StoreError, StoredRetraction, StoredTurn, TurnEnding, TurnId, TurnOwner,
    TurnStatus,
};
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::event::EventKind;
use crate::inbound::Inbound;
use crate::options::SessionSettings;
use crate::record;
use crate::session_cache::is_within;

/// How much of the arguments of a call is told.
const MOST_ARGUMENTS: usize = 60;

/// An exchange that was taken back, for whoever did it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UndoneExchange {
    /// The turn in which it was said; an imported one has none.
    pub turn: Option<TurnId>,
    /// How many messages it has.
    pub messages: usize,
    /// What the person had said.
    pub text: String,
    /// What its tools did, which stays done.
    pub stays_done: Vec<StandingCall>,
}

/// The last message of a session, to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditableMessage {
    /// What the person had said.
    pub text: String,
    /// Which message it is: whoever sends another in its place names it.
    pub id: MessageId,
}

/// A call whose effect stays when its exchange is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StandingCall {
    /// The tool, as the model called it.
    pub tool: String,
    /// What it was called with, in a line.
    pub arguments: String,
}

/// The exchange in whose place a message is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedExchange {
    first: MessageId,
    last: MessageId,
    turn: Option<TurnId>,
    reason: RetractionReason,
}

/// The news that an exchange was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct TakenBackEvent {
    /// The turn in which it was said; an imported one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<TurnId>,
    pub first: MessageId,
    pub last: MessageId,
    pub reason: RetractionReason,
    pub by: Actor,
}

impl TakenBackEvent {
    /// The news as the store has it, for those to whom this process has not told it.
    pub(crate) fn from_stored(stored: &StoredRetraction) -> Self {
        TakenBackEvent {
            taken_back: stored.turn,
            first: stored.first,
            last: stored.last,
            reason: stored.reason,
            by: Actor::from_store(&stored.actor),
        }
    }
}

impl ReplacedExchange {
    /// Refuses where the exchange is another one than that which begins with this message: what was
    /// written for one must not take the place of another.
    pub fn must_begin_with(&self, message: MessageId) -> AgentResult {
        if self.first == message { Ok(()) } else { Err(AgentError::NotLast) }
    }

    /// What the store is to write with the turn of the message.
    pub(crate) fn to_store(&self, actor: &Actor, at: Moment) -> NewRetraction {
        let ReplacedExchange { first, last, reason, .. } = *self;
        NewRetraction { first, last, reason, actor: actor.to_store(), at }
    }

    /// The messages that the page is made without.
    pub(crate) fn range(&self) -> std::ops::RangeInclusive<MessageId> {
        self.first..=self.last
    }

    pub(crate) fn event(&self, actor: &Actor) -> EventKind {
        let ReplacedExchange { first, last, turn, reason } = *self;
        let by = actor.clone();
        EventKind::TakenBack(TakenBackEvent { taken_back: turn, first, last, reason, by })
    }
}

/// The last exchange of a session that still stands.
struct LastExchange {
    messages: Vec<Arc<Message>>,
    turn: Option<StoredTurn>,
}

impl LastExchange {
    /// What the person said, images included.
    fn content(&self) -> &[ContentPart] {
        self.messages.first().map_or(&[][..], |message| message.content())
    }

    fn replaced(&self, reason: RetractionReason) -> Option<ReplacedExchange> {
        let (first, last) = (self.messages.first()?.id, self.messages.last()?.id);
        let turn = self.turn.as_ref().map(|turn| turn.id);
        Some(ReplacedExchange { first, last, turn, reason })
    }

    /// A message that is to stand in its place, from whoever said the one that does.
    fn replace_with(
        &self,
        actor: &Actor,
        reason: RetractionReason,
        content: Vec<ContentPart>,
    ) -> AgentResult<Inbound> {
        let sender = self.turn.as_ref().map(|turn| Actor::from_store(&turn.actor));
        if let Some(sender) = sender.filter(|sender| sender.id != actor.id) {
            // It would be said by somebody else, with other rights.
            return Err(AgentError::OthersMessage { name: sender.name });
        }
        let mut inbound = Inbound { content, ..Inbound::text(actor, "") };
        inbound.replaces = self.replaced(reason);
        if let Some(turn) = &self.turn {
            // The mode was chosen for the message, so it goes with it.
            let said = SessionSettings::from_store(&turn.settings);
            inbound.settings.context_mode = said.context_mode;
        }
        Ok(inbound)
    }
}

impl Agent {
    /// Takes back the last exchange of a session.
    pub(crate) async fn undo(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<UndoneExchange> {
        let exchange = self.last_exchange(session).await?;
        let undone = exchange.replaced(RetractionReason::Undo);
        let undone = undone.ok_or(AgentError::NothingToTakeBack)?;
        let retraction = undone.to_store(actor, Moment::now());
        let stored = self.store().retract(session, retraction).await?;
        if let Some(turn) = stored.turn {
            self.shared.streams.of_session(session).publish(turn, undone.event(actor));
        }
        if let Some(files) = &self.shared.session_files {
            // The store has it; a file that can't be written is told with the next turn.
            let _ = files.update(self.store(), session).await;
        }
        Ok(UndoneExchange {
            turn: stored.turn,
            messages: exchange.messages.len(),
            text: visible_text(exchange.content()),
            stays_done: self.standing_calls(&exchange).await?,
        })
    }

    /// The last message of a session, to be sent again in place of its exchange.
    pub(crate) async fn retry(&self, actor: &Actor, session: SessionId) -> AgentResult<Inbound> {
        let exchange = self.last_exchange(session).await?;
        let content = exchange.content().to_vec();
        exchange.replace_with(actor, RetractionReason::Retry, content)
    }

    /// Another message to be sent in place of the last exchange of a session. What was not
    /// text in the message stays.
    pub(crate) async fn edit(
        &self,
        actor: &Actor,
        session: SessionId,
        text: &str,
    ) -> AgentResult<Inbound> {
        let exchange = self.last_exchange(session).await?;
        let is_text = |part: &&ContentPart| part.as_text().is_some();
        let others = exchange.content().iter().filter(|part| !is_text(part)).cloned();
        let content = [ContentPart::Text(text.into())].into_iter().chain(others).collect();
        exchange.replace_with(actor, RetractionReason::Edit, content)
    }

    /// What the person said last, to be changed.
    pub(crate) async fn editable_message(
        &self,
        session: SessionId,
    ) -> AgentResult<EditableMessage> {
        let exchange = self.last_exchange(session).await?;
        let first = exchange.messages.first().ok_or(AgentError::NothingToTakeBack)?;
        Ok(EditableMessage { text: visible_text(exchange.content()), id: first.id })
    }

    /// The last exchange that still stands, where it can be taken back.
    async fn last_exchange(&self, session: SessionId) -> AgentResult<LastExchange> {
        let store = self.store();
        let open = store.open_turns().await?.turns;
        if let Some(turn) = open.iter().find(|turn| turn.session == session) {
            let owner = turn.owner.unwrap_or(TurnOwner::Gone);
            return Err(StoreError::Busy { turn: turn.id, owner }.into());
        }
        let state = store.load(session, SessionCursor::default()).await?;
        let mut messages = standing_messages(&state);
        if !messages.iter().any(|message| message.is_user()) && state.carry.history_from.is_some() {
            // What has left the page can still be taken back.
            let all = store.messages(session, None).await?;
            messages = all.into_iter().map(|stored| stored.message).collect();
            messages.retain(|message| !is_within(&state.retractions, message.id));
        }
        let first = messages.iter().rposition(|message| message.is_user());
        let messages = messages.split_off(first.ok_or(AgentError::NothingToTakeBack)?);
        let summary = state.compaction.map(|standing| standing.summary.last);
        if let Some(message) = messages.first().filter(|first| Some(first.id) <= summary) {
            return Err(StoreError::Summarised { message: message.id }.into());
        }
        self.with_turn(session, messages).await
    }

    /// An exchange with the turn that it was said in. What a client keeps its own list of is
    /// not Recto's to change.
    async fn with_turn(
        &self,
        session: SessionId,
        messages: Vec<Arc<Message>>,
    ) -> AgentResult<LastExchange> {
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
            return Err(AgentError::NothingToTakeBack);
        };
        let stored = self.store().messages_within(session, first.id..=last.id).await?;
        let turns: HashSet<TurnId> = stored.iter().filter_map(|stored| stored.turn).collect();
        let turn = match stored.first().and_then(|stored| stored.turn) {
            Some(turn) => self.store().turn(turn).await?,
            None => None,
        };
        let handed_out = TurnStatus::Ended(TurnEnding::HandedOut);
        let is_clients = stored.iter().any(|stored| stored.brought_by.is_some())
            || turns.len() > 1
            || turn.as_ref().is_some_and(|turn| turn.status == handed_out)
            || self.shows_client_history(session).await?;
        match is_clients {
            true => Err(AgentError::ClientExchange),
            false => Ok(LastExchange { messages, turn }),
        }
    }

    async fn shows_client_history(&self, session: SessionId) -> AgentResult<bool> {
        let last = record::restore_last(self.store(), session).await?;
        let is_clients = |reason: &PartReason| *reason == PartReason::ClientHistory;
        Ok(last.is_some_and(|page| page.parts.iter().any(|part| is_clients(&part.reason))))
    }

    /// The calls of an exchange that may have changed something: those that only read, and
    /// those that a person did not let run, have not.
    async fn standing_calls(&self, exchange: &LastExchange) -> AgentResult<Vec<StandingCall>> {
        let asked = match &exchange.turn {
            Some(turn) => self.store().approvals_of(turn.id).await?,
            None => Vec::new(),
        };
        let refused = asked.iter().filter(|approval| {
            let answer = approval.answer.as_ref().map(|decision| decision.answer);
            !matches!(answer, Some(ApprovalAnswer::Once | ApprovalAnswer::Session))
        });
        let refused: HashSet<(u32, u32)> =
            refused.map(|approval| (approval.question.round, approval.question.place)).collect();
        let rounds = exchange.messages.iter().filter(|message| !message.calls().is_empty());
        let tools = &self.shared.parts.tools;
        let mut standing = Vec::new();
        for (round, message) in (1..).zip(rounds) {
            for (place, call) in (0..).zip(message.calls()) {
                if refused.contains(&(round, place)) || tools.only_reads(&call.name) {
                    continue;
                }
                let tool = call.name.to_string();
                standing
                    .push(StandingCall { tool, arguments: describe_arguments(&call.arguments) });
            }
        }
        Ok(standing)
    }
}

/// The messages of a session that were not taken back.
fn standing_messages(state: &SessionState) -> Vec<Arc<Message>> {
    let retracted: &[StoredRetraction] = &state.retractions;
    let messages = state.messages.iter().map(|stored| &stored.message);
    messages.filter(|message| !is_within(retracted, message.id)).cloned().collect()
}

/// What a call is about: its arguments, short enough for a line.
pub fn describe_arguments(arguments: &str) -> String {
    let line = match serde_json::from_str(arguments) {
        Ok(serde_json::Value::Object(fields)) => {
            let texts = fields.values().map(|value| match value.as_str() {
                Some(text) => text.lines().next().unwrap_or_default().to_owned(),
                None => value.to_string(),
            });
            texts.collect::<Vec<_>>().join(", ")
        }
        _ => arguments.to_owned(),
    };
    first_chars(&line, MOST_ARGUMENTS)
}
