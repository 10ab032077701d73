//! The agent that surfaces talk to: sessions, messages and events go through it.

use std::sync::Arc;

use recto_context::{Audience, AudienceKind, Catalog};
use recto_store::{
    BindingKey, Moment, NewSession, RowId, SessionId, SessionName, SessionNameError, Store,
    StoreError, StoredCompaction, StoredSession, TurnId,
};
use tokio::sync::oneshot;

use crate::agent_catalog::CatalogPurpose;
use crate::error::AgentResult;
use crate::event::EventNumber;
use crate::event_stream::{EventCursor, EventListener};
use crate::inbound::{ArrivedMessage, Inbound};
use crate::mailbox::MailboxItem;
use crate::mailboxes::MailboxRegistry;
use crate::memories::AgentMemories;
use crate::options::{AgentParts, CompactionSetting, ModelEntry, SessionSettings};
use crate::preview::RequestPreview;
use crate::search::Searcher;
use crate::shared::AgentShared;

/// An agent that can be talked to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) mailboxes: Arc<MailboxRegistry>,
}

/// A conversation: the place where it is held, and who talks there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The name of the surface, such as `terminal`.
    pub surface: String,
    /// The bot or token that people talk to there.
    pub account: String,
    /// The conversation's name there.
    pub name: String,
    /// Whether it is the owner who talks there, a guest or a group.
    pub who: AudienceKind,
    /// The person, where it is one whom the agent knows.
    pub person: Option<Arc<str>>,
}

impl Conversation {
    /// A conversation with the agent's owner.
    pub fn with_owner(surface: &str, account: &str, name: &str) -> Self {
        Conversation {
            surface: surface.to_owned(),
            account: account.to_owned(),
            name: name.to_owned(),
            who: AudienceKind::Owner,
            person: Some(Audience::OWNER.into()),
        }
    }

    /// All who can read what is said in it.
    fn audience(&self, agent: &Arc<str>) -> Audience {
        Audience {
            who: self.who,
            // Nobody else goes by the owner's name.
            person: self
                .person
                .clone()
                .filter(|id| self.who == AudienceKind::Owner || **id != *Audience::OWNER),
            conversation: Some(format!("{}-{}", self.surface, self.name).into()),
            agent: Some(agent.clone()),
        }
    }
}

/// A message that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// The turn that it begins.
    pub turn: TurnId,
    /// An event before all of that turn: whoever listens after it hears all of them.
    pub before: EventNumber,
}

impl Agent {
    /// Starts the agent. What other processes left unfinished is finished in the
    /// background, now and as long as it runs. Must be called within a tokio runtime.
    pub async fn start(parts: AgentParts) -> AgentResult<Agent> {
        let agent = Agent::idle(parts);
        agent.take_up_open_turns().await?;
        agent.take_up_regularly();
        Ok(agent)
    }

    /// An agent that takes up nothing of what was left unfinished: to be looked
    /// at, not to be talked to.
    pub fn idle(parts: AgentParts) -> Agent {
        Agent { shared: Arc::new(AgentShared::new(parts)), mailboxes: Arc::default() }
    }

    /// The store that keeps its sessions.
    pub fn store(&self) -> &Store {
        &self.shared.parts.store
    }

    /// The search for items that fit a message.
    pub fn searcher(&self) -> &Searcher {
        &self.shared.searcher
    }

    /// The agent's memories, and what was said in past sessions.
    pub fn memories(&self) -> &AgentMemories {
        &self.shared.memories
    }

    /// Brings back the messages of a session that a summary stands for. They would
    /// be summarised again at once, so the session makes no summaries from here on.
    pub async fn expand(&self, session: SessionId) -> AgentResult<Option<StoredCompaction>> {
        let undone = self.store().expand(session, Moment::now()).await?;
        if undone.is_some() {
            let mut settings = self.settings(session).await?;
            settings.compaction = Some(CompactionSetting::Off);
            self.store().set_settings(session, settings.to_store()).await?;
        }
        Ok(undone)
    }

    /// The catalog of all items that the agent has now.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog(CatalogPurpose::Look).await.catalog
    }

    /// The model entries, the default first.
    pub fn models(&self) -> &[ModelEntry] {
        &self.shared.parts.models
    }

    /// The model entry of that name.
    pub fn model(&self, name: &str) -> AgentResult<&ModelEntry> {
        self.shared.model(Some(name))
    }

    /// The session of a conversation: the one that it is bound to, or a new one.
    /// What another surface calls the same is another conversation.
    pub async fn find_or_begin(&self, conversation: &Conversation) -> AgentResult<StoredSession> {
        self.begin_named(conversation, &conversation.name).await
    }

    /// The session that a person asks for by its name, wherever it began: the
    /// open one of that name, or else as [`Agent::find_or_begin`] has it. A number
    /// names a session, too, and takes it out of the archive.
    pub async fn find_named_or_begin(
        &self,
        conversation: &Conversation,
    ) -> AgentResult<StoredSession> {
        match self.store().find_session(&conversation.name).await? {
            Some(session) if session.archived.is_none() => Ok(session),
            Some(session) if conversation.name.trim() == session.id.to_string() => {
                Ok(self.store().unarchive(session.id).await?)
            }
            _ => match conversation.name.trim().parse() {
                Ok(number) => Err(StoreError::NotFound(RowId::Session(number)).into()),
                Err(_) => {
                    // A number that no session can have is no name either.
                    SessionName::new(&conversation.name)?;
                    self.find_or_begin(conversation).await
                }
            },
        }
    }

    /// Puts a session into the archive and begins another in its conversation.
    pub async fn renew(
        &self,
        conversation: &Conversation,
        session: SessionId,
    ) -> AgentResult<StoredSession> {
        let old = self.store().archive(session, Moment::now()).await?;
        // It may have been found by its number, or renamed since.
        let name = old.name.map_or_else(|| conversation.name.clone(), String::from);
        self.begin_named(conversation, &name).await
    }

    async fn begin_named(
        &self,
        conversation: &Conversation,
        name: &str,
    ) -> AgentResult<StoredSession> {
        let agent = self.shared.parts.options.name.to_string();
        let key = BindingKey {
            agent: agent.clone(),
            surface: conversation.surface.clone(),
            account: conversation.account.clone(),
            conversation: conversation.name.clone(),
            user: None,
        };
        let new = NewSession {
            agent,
            name: match SessionName::new(name) {
                Err(SessionNameError::Number) => None,
                name => Some(name?),
            },
            surface: conversation.surface.clone(),
            at: Moment::now(),
            settings: SessionSettings {
                audience: Some(conversation.audience(&self.shared.parts.options.name)),
                ..SessionSettings::default()
            }
            .to_store(),
        };
        let bound = self.bind(&key, new.clone()).await?;
        let who = SessionSettings::from_store(&bound.settings).audience().who;
        if who == conversation.who {
            return Ok(bound);
        }
        // What was said before others is not for those who are there now, nor the
        // other way round.
        self.store().archive(bound.id, Moment::now()).await?;
        self.bind(&key, new).await
    }

    async fn bind(&self, key: &BindingKey, new: NewSession) -> AgentResult<StoredSession> {
        match self.store().bind(key.clone(), new.clone()).await {
            // A conversation elsewhere has the same name; numbers are enough.
            Err(StoreError::NameTaken { .. }) => {
                Ok(self.store().bind(key.clone(), NewSession { name: None, ..new }).await?)
            }
            bound => Ok(bound?),
        }
    }

    /// Stores a message and begins its turn. When this returns, the message is stored, and nothing
    /// that happens to this process can lose it. Whoever wants to hear of its turn
    /// [listens](Agent::listen), best from before this call on.
    pub async fn submit(&self, session: SessionId, inbound: Inbound) -> AgentResult<Submission> {
        inbound.check()?;
        let message = ArrivedMessage { session, at: Moment::now(), inbound };
        let (ack, stored) = oneshot::channel();
        // Held until the mailbox has it, too: another stream would have other numbers.
        let stream = self.shared.streams.of_session(session);
        let before = stream.last();
        self.post(session, MailboxItem::Message(message, ack, self.shared.begin_work()))?;
        let turn = stored.await.map_err(|_| self.missing_answer())??;
        Ok(Submission { turn, before })
    }

    /// Stops the turn that runs in a session, and says whether one did.
    pub fn stop(&self, session: SessionId) -> bool {
        self.mailboxes.stop(session)
    }

    /// Whether a turn runs or waits.
    pub fn is_at_work(&self) -> bool {
        self.shared.has_work()
    }

    /// Waits until every turn that this agent has taken up is over.
    pub async fn finished(&self) {
        self.shared.wait_for_idle().await;
    }

    /// Listens to what happens in a session, turns of other people included. A listener
    /// stays for as long as it is held, however long nothing happens.
    pub fn listen(&self, session: SessionId, cursor: EventCursor) -> EventListener {
        self.shared.streams.of_session(session).listen(cursor)
    }

    /// The request that a model would be sent for a message. Nothing is stored or called,
    /// except that a server may be asked for its window.
    pub async fn preview(
        &self,
        session: SessionId,
        inbound: Inbound,
    ) -> AgentResult<RequestPreview> {
        let (answer, answered) = oneshot::channel();
        self.post(session, MailboxItem::Preview(inbound, answer))?;
        answered.await.map_err(|_| self.missing_answer())?
    }

    /// Hands in mail for a session.
    pub(crate) fn post(&self, session: SessionId, mail: MailboxItem) -> AgentResult {
        self.mailboxes.post(&self.shared, session, mail)
    }
}
