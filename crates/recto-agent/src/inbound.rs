//! Messages on their way in, before the store has them.

use recto_context::ContentPart;
use recto_store::{Moment, NewTurn, SessionId, StoredTurn};

use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;
use crate::session_cache::LoadedSession;
use crate::turn::visible_text;

/// A message on its way in.
#[derive(Debug, Clone, Default)]
pub struct Inbound {
    /// The text and images that were sent.
    pub content: Vec<ContentPart>,
    /// The person who sent it, where there is more than one who could.
    pub sender: Option<String>,
    /// Settings that hold for this turn alone.
    pub settings: SessionSettings,
}

impl Inbound {
    /// A message that is a text.
    pub fn text(text: &str) -> Self {
        Inbound { content: vec![ContentPart::Text(text.into())], ..Inbound::default() }
    }

    /// Refuses what can be told to be no message before anything is stored.
    pub(crate) fn check(&self) -> AgentResult {
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
        let inbound = Inbound { content, sender: turn.sender.clone(), settings };
        ArrivedMessage { session: turn.session, at: turn.accepted, inbound }
    }

    /// The message as the store takes it.
    pub(crate) fn to_store(&self) -> NewTurn {
        NewTurn {
            session: self.session,
            at: self.at,
            content: self.inbound.content.clone(),
            sender: self.inbound.sender.clone(),
            settings: self.inbound.settings.to_store(),
        }
    }
}
