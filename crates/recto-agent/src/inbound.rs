//! Messages on their way in, before the store has them.

use std::sync::Arc;

use recto_context::{
    ClientContext, ClientMessage, ClientResult, ContentPart, Message, MessageBody, MessageId,
    visible_text,
};
use recto_store::{DeliveryKey, Moment, NewTurn, SessionId, StoredTurn};
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::agent::Conversation;
use crate::commands::{ChatCommand, CommandProblem, ParsedInput};
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;
use crate::rights::{Right, is_attended, turn_settings_rights};
use crate::session_cache::LoadedSession;
use crate::take_back::ReplacedExchange;

/// A message on its way in.
#[derive(Debug, Clone)]
pub struct Inbound {
    /// The text, images and files that were sent.
    pub content: Vec<ContentPart>,
    /// Who sent it.
    pub actor: Actor,
    /// Settings that hold for this turn alone.
    pub settings: SessionSettings,
    /// The message as its surface knows it, where that could deliver it again.
    pub delivery: Option<SurfaceMessage>,
    /// What a client that owns its conversation brings along.
    pub client: Option<Box<ClientContext>>,
    /// Results of calls that were handed to the client. Alone, without content, they go on with
    /// the turn that handed the calls out; its history is that turn's then, whatever the client
    /// sends of it.
    pub results: Vec<ClientResult>,
    /// How it came to Recto.
    pub source: InputSource,
    /// The command that it would have been, had somebody typed it who may give it.
    pub no_command: Option<&'static str>,
    /// The exchange in whose place it is sent; [`CommandReply::Resend`](crate::CommandReply) says it.
    pub replaces: Option<ReplacedExchange>,
}

/// How a text came to Recto, as far as it matters for what can be a command in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputSource {
    /// A person who is known wrote it, at a terminal or on a page.
    #[default]
    Typed,
    /// It was handed over with a command line or through a pipe. Whoever started the program need
    /// not have written it, so nothing in it widens what tools may do or who may see something.
    HandedOver,
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

/// What somebody who sends something means by it.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
#[derive(Debug, Clone)]
pub enum InboundReading {
    /// Recto is to do something.
    Command(ChatCommand),
    /// It is to be sent to the model.
    Message(Inbound),
}

impl SurfaceMessage {
    /// What the store knows it by.
    pub(crate) fn key(&self, agent: &Arc<str>) -> DeliveryKey {
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
            client: None,
            results: Vec::new(),
            source: InputSource::Typed,
            no_command: None,
            replaces: None,
        }
    }

    /// The results of calls that were handed to a client.
    pub fn results(actor: &Actor, results: impl IntoIterator<Item = ClientResult>) -> Self {
        Inbound {
            content: Vec::new(),
            results: results.into_iter().collect(),
            ..Inbound::text(actor, "")
        }
    }

    /// What it is: a command, or a message for the model, from which the slash is taken that
    /// says so. Where no person is there who could mean a command, everything is a message as
    /// it stands; so is a command that widens rights where no person typed it, and the message
    /// says which ([`Inbound::no_command`]).
    pub fn read_command(mut self) -> Result<InboundReading, CommandProblem> {
        let is_meant = is_attended(self.actor.role) && !self.settings.unattended;
        let (Some(ContentPart::Text(text)), true) = (self.content.first(), is_meant) else {
            return Ok(InboundReading::Message(self));
        };
        match ChatCommand::parse(text)? {
            ParsedInput::Command(command)
                if self.source == InputSource::HandedOver && command.widens_rights() =>
            {
                self.no_command = Some(command.name());
                Ok(InboundReading::Message(self))
            }
            ParsedInput::Command(_) if self.content.len() > 1 => Err(CommandProblem::Attachment),
            ParsedInput::Command(command) => Ok(InboundReading::Command(command)),
            ParsedInput::Message(sent) => {
                if sent.len() < text.len() {
                    self.content[0] = ContentPart::Text(sent.into());
                }
                Ok(InboundReading::Message(self))
            }
        }
    }

    /// Its text, as a person reads it.
    pub fn visible_text(&self) -> String {
        visible_text(&self.content)
    }

    /// Whether it goes on with a turn, rather than opening one.
    pub(crate) fn continues_turn(&self) -> bool {
        self.content.is_empty() && !self.results.is_empty()
    }

    /// Refuses what its sender may not say, and what can be told to be no message before
    /// anything is stored.
    pub(crate) fn check(&self) -> AgentResult {
        self.actor.must_have(Right::Talk)?;
        for right in turn_settings_rights(self.actor.role, &self.settings) {
            self.actor.must_have(right)?;
        }
        if self.replaces.is_some() {
            self.actor.must_have(Right::TakeBack)?;
        }
        if self.client.is_some() || !self.results.is_empty() {
            self.actor.must_have(Right::BringContext)?;
        }
        let has_more = self.content.iter().any(|part| !matches!(part, ContentPart::Text(_)));
        let text = visible_text(&self.content);
        if text.trim().is_empty() && !has_more && !self.continues_turn() {
            return Err(AgentError::EmptyMessage);
        }
        if let Some(name) = self.part_with_nul() {
            return Err(AgentError::NulFromClient { part: name });
        }
        for part in &self.content {
            if let ContentPart::File(file) = part
                && let Some(at) = file.text().find('\0')
            {
                return Err(AgentError::NulInFile { name: file.name().to_string(), at });
            }
        }
        match text.find('\0') {
            Some(at) => Err(AgentError::NulInMessage { at }),
            None => Ok(()),
        }
    }
}

impl Inbound {
    /// The part of what a client sent that has a NUL character in it.
    fn part_with_nul(&self) -> Option<&'static str> {
        let has_nul = |text: &str| text.contains('\0');
        let in_body = |body: &MessageBody| {
            let message = Message { id: MessageId::default(), body: body.clone() };
            let mut texts = message.content().iter().filter_map(ContentPart::as_text);
            let mut calls = message.calls().iter();
            texts.any(|text| has_nul(text)) || calls.any(|call| has_nul(&call.arguments))
        };
        let in_message = |message: &ClientMessage| match message {
            ClientMessage::System(text) => has_nul(text),
            ClientMessage::Said(body) | ClientMessage::Unfinished(body) => in_body(body),
        };
        if self.results.iter().any(|result| has_nul(&result.text)) {
            return Some("result of a call");
        }
        let client = self.client.as_deref()?;
        if client.system.iter().any(|text| has_nul(text)) {
            Some("system text")
        } else if client.history.iter().flatten().any(in_message) {
            Some("history")
        } else {
            let mut tools = client.tools.iter();
            tools.any(|tool| has_nul(&tool.name) || has_nul(&tool.description)).then_some("tool")
        }
    }
}

/// What a client brought, as it is stored until its turn has begun.
#[derive(Serialize, Deserialize)]
struct StoredClient {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Box<ClientContext>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    results: Vec<ClientResult>,
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
        let client = turn.client.clone().and_then(|client| serde_json::from_value(client).ok());
        let StoredClient { context: client, results } =
            client.unwrap_or(StoredClient { context: None, results: Vec::new() });
        let actor = Actor::from_store(&turn.actor);
        // The store has it, so it can't be taken in once more.
        // What it was to take back was taken back when it was stored.
        let inbound = Inbound { content, settings, client, results, ..Inbound::text(&actor, "") };
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
            client: self.client_to_store(),
            retraction: self
                .inbound
                .replaces
                .as_ref()
                .map(|exchange| exchange.to_store(&self.inbound.actor, self.at)),
        }
    }

    fn client_to_store(&self) -> Option<serde_json::Value> {
        let Inbound { client, results, .. } = &self.inbound;
        if client.is_none() && results.is_empty() {
            return None;
        }
        let stored = StoredClient { context: client.clone(), results: results.clone() };
        serde_json::to_value(stored).ok()
    }
}
