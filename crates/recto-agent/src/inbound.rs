//! Messages on their way in, before the store has them.

use recto_context::ContentPart;
use recto_store::{DeliveryKey, Moment, NewTurn, SessionId, StoredTurn};

use crate::actor::Actor;
use crate::agent::Conversation;
use crate::commands::{ChatCommand, CommandProblem};
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;
use crate::rights::{Right, is_attended};
use crate::session_cache::LoadedSession;
use crate::turn::visible_text;

/// A message on its way in.
#[derive(Debug, Clone)]
pub struct Inbound {
    /// The text and images that were sent.
    pub content: Vec<ContentPart>,
    /// Who sent it.
    pub actor: Actor,
    /// Settings that hold for this turn alone.
    pub settings: SessionSettings,
    /// The message as its surface knows it, where that could deliver it again.
    pub delivery: Option<SurfaceMessage>,
}

/// A message as its surface knows it: the same id in the same conversation is the same
/// message, whichever session the conversation has by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurfaceMessage {
    /// The conversation that it was sent in.
    pub conversation: Conversation,
    /// The surface's own id of it.
    pub id: String,
}

impl SurfaceMessage {
    /// What the store knows it by.
    pub(crate) fn key(&self, agent: &str) -> DeliveryKey {
        DeliveryKey { conversation: self.conversation.key(agent), message: self.id.clone() }
    }
}

impl Inbound {
    /// A message that is a text.
    pub fn text(actor: &Actor, text: &str) -> Self {
        Inbound {
            content: vec![ContentPart::Text(text.into())],
            actor: actor.clone(),
            settings: SessionSettings::default(),
            delivery: None,
        }
    }

    /// The command that it is; `None` when it is a message for the model. Where no person
    /// is there who could mean one, everything is a message.
    pub fn read_command(&self) -> Result<Option<ChatCommand>, CommandProblem> {
        let is_meant = is_attended(self.actor.role) && !self.settings.unattended;
        match &self.content[..] {
            [ContentPart::Text(text)] if is_meant => ChatCommand::parse(text),
            _ => Ok(None),
        }
    }

    /// Refuses what its sender may not say, and what can be told to be no message before
    /// anything is stored.
    pub(crate) fn check(&self) -> AgentResult {
        self.actor.must_have(Right::Talk)?;
        if self.settings.approval.is_some() {
            self.actor.must_have(Right::ChangeRights)?;
        }
        let has_more = self.content.iter().any(|part| !matches!(part, ContentPart::Text(_)));
        let text = visible_text(&self.content);
        if text.trim().is_empty() && !has_more {
            return Err(AgentError::EmptyMessage);
        }
        match text.find('\0') {
            Some(at) => Err(AgentError::NulInMessage { at }),
            None => Ok(()),
        }
    }
}

/// A message that has arrived in a session. Its settings stay typed until the store
/// takes them.
#[derive(Debug, Clone)]
pub(crate) struct ArrivedMessage {
    pub(crate) session: SessionId,
    pub(crate) at: Moment,
    pub(crate) inbound: Inbound,
    /// What it is known by, should it be delivered again.
    pub(crate) delivery: Option<DeliveryKey>,
}

impl ArrivedMessage {
    /// The message that a stored turn was begun with. Once the turn is under way, it
    /// stands in the transcript.
    pub(crate) fn from_turn(turn: &StoredTurn, session: &LoadedSession) -> Self {
        let stored = || turn.first_message.and_then(|id| session.message(id));
        let content = match &turn.inbound {
            Some(content) => content.clone(),
            None => stored().map_or_else(Vec::new, |message| message.content().to_vec()),
        };
        let settings = SessionSettings::from_store(&turn.settings);
        let actor = Actor::from_store(&turn.actor);
        // The store has it, so it can't be taken in once more.
        let inbound = Inbound { content, actor, settings, delivery: None };
        ArrivedMessage { session: turn.session, at: turn.accepted, inbound, delivery: None }
    }

    /// The message as the store takes it.
    pub(crate) fn to_store(&self) -> NewTurn {
        NewTurn {
            session: self.session,
            at: self.at,
            content: self.inbound.content.clone(),
            actor: self.inbound.actor.to_store(),
            settings: self.inbound.settings.to_store(),
            delivery: self.delivery.clone(),
        }
    }
}
