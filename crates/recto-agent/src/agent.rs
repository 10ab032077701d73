//! The agent that surfaces talk to: sessions, messages and events go through it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{Audience, AudienceKind, Catalog};
use recto_store::{
    BindingKey, Moment, NewSession, RowId, SessionId, SessionName, SessionNameError, Store,
    StoreError, StoredCompaction, StoredSession, TurnId,
};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::agent_catalog::CatalogPurpose;
use crate::conversation::conversation_scope;
use crate::error::{AgentError, AgentResult};
use crate::event::TurnEvent;
use crate::inbound::{ArrivedMessage, Inbound};
use crate::mailbox::{Mailbox, MailboxItem};
use crate::memories::AgentMemories;
use crate::options::{AgentParts, CompactionSetting, ModelEntry, SessionSettings};
use crate::preview::RequestPreview;
use crate::recover;
use crate::search::Searcher;
use crate::shared::AgentShared;

/// An agent that can be talked to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) shared: Arc<AgentShared>,
    mailboxes: Mailboxes,
}

type Mailboxes = Arc<Mutex<HashMap<SessionId, Mailbox>>>;

/// A conversation: the place where it is held, and who talks there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The name of the surface, such as `terminal`.
    pub surface: String,
    /// The bot or token that people talk to there.
    pub account: String,
    /// The conversation's name there.
    pub name: String,
    /// The user, where each of those who talk there has a session of their own.
    pub user: Option<String>,
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
            user: None,
            who: AudienceKind::Owner,
            person: Some(Audience::OWNER.into()),
        }
    }

    /// The name that its memories are filed under, which no other place has.
    pub fn scope(&self) -> String {
        conversation_scope(&self.surface, &self.account, self.user.as_deref(), &self.name)
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
            conversation: Some(self.scope().into()),
            agent: Some(agent.clone()),
        }
    }
}

/// A message that is stored, and the events of what becomes of it.
#[derive(Debug)]
pub struct Submission {
    /// The turn that it begins.
    pub turn: TurnId,
    /// What happens in the session from here on; other turns' events are among it.
    pub events: broadcast::Receiver<TurnEvent>,
}

impl Agent {
    /// Starts the agent, and finishes in the background what an earlier process
    /// left unfinished in its sessions; those of other agents are theirs. Must be called within a tokio runtime.
    pub async fn start(parts: AgentParts) -> AgentResult<Agent> {
        let agent = Agent::idle(parts);
        for turn in recover::settle_own_turns(agent.store(), agent.name()).await? {
            let mail = MailboxItem::Open(turn.id, agent.shared.begin_work());
            agent.with_mailbox(turn.session, |mailbox| mailbox.post(mail));
        }
        Ok(agent)
    }

    /// An agent that takes up nothing of what was left unfinished: to be looked
    /// at, not to be talked to.
    pub fn idle(parts: AgentParts) -> Agent {
        Agent { shared: Arc::new(AgentShared::new(parts)), mailboxes: Mailboxes::default() }
    }

    /// The name that it goes by.
    pub fn name(&self) -> &str {
        &self.shared.parts.options.name
    }

    /// The store that keeps its sessions, and those of other agents.
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
        self.check_own(session).await?;
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

    /// The session that a person asks for by its name, wherever it began: the agent's
    /// open one of that name, or else as [`Agent::find_or_begin`] has it. A number
    /// names a session, too, and takes it out of the archive.
    pub async fn find_named_or_begin(
        &self,
        conversation: &Conversation,
    ) -> AgentResult<StoredSession> {
        match self.store().find_session(self.name(), &conversation.name).await? {
            Some(session) if session.agent != self.name() => Err(AgentError::other_agent(&session)),
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

    /// Refuses a session of another agent. One that is not there is missed by whoever
    /// needs it.
    pub(crate) async fn check_own(&self, session: SessionId) -> AgentResult {
        match self.store().session(session).await? {
            Some(session) if session.agent != self.name() => Err(AgentError::other_agent(&session)),
            _ => Ok(()),
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
        let agent = self.name().to_owned();
        let key = BindingKey {
            agent: agent.clone(),
            surface: conversation.surface.clone(),
            account: conversation.account.clone(),
            conversation: conversation.name.clone(),
            user: conversation.user.clone(),
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
    /// that happens to this process can lose it.
    pub async fn submit(&self, session: SessionId, inbound: Inbound) -> AgentResult<Submission> {
        inbound.check()?;
        let message = ArrivedMessage { session, at: Moment::now(), inbound };
        let (ack, stored) = oneshot::channel();
        let events = self.with_mailbox(session, |mailbox| {
            let events = mailbox.subscribe();
            mailbox.post(MailboxItem::Message(message, ack, self.shared.begin_work()));
            events
        });
        let turn = stored.await.map_err(|_| AgentError::Ended)??;
        Ok(Submission { turn, events })
    }

    /// Stops the turn that runs in a session, and says whether one did.
    pub fn stop(&self, session: SessionId) -> bool {
        self.mailboxes.lock().get(&session).is_some_and(Mailbox::stop)
    }

    /// Whether a turn runs or waits.
    pub fn is_at_work(&self) -> bool {
        self.shared.has_work()
    }

    /// Waits until every turn that this agent has taken up is over.
    pub async fn finished(&self) {
        self.shared.wait_for_idle().await;
    }

    /// All events of a session from here on, for one who must not miss
    /// any of it: what is not read is kept, so it is for listeners that end.
    pub fn listen(&self, session: SessionId) -> mpsc::UnboundedReceiver<TurnEvent> {
        self.with_mailbox(session, Mailbox::listen)
    }

    /// The events of a session from here on; one who reads too slowly misses some.
    pub fn subscribe(&self, session: SessionId) -> broadcast::Receiver<TurnEvent> {
        self.with_mailbox(session, Mailbox::subscribe)
    }

    /// The request that a model would be sent for a message. Nothing is stored or called,
    /// except that a server may be asked for its window.
    pub async fn preview(
        &self,
        session: SessionId,
        inbound: Inbound,
    ) -> AgentResult<RequestPreview> {
        let (answer, answered) = oneshot::channel();
        self.with_mailbox(session, |mailbox| mailbox.post(MailboxItem::Preview(inbound, answer)));
        answered.await.map_err(|_| AgentError::Ended)?
    }

    /// The session's mailbox, started if need be. Mail is posted under the same
    /// lock under which an idle task ends, so that none is lost between the two.
    pub(crate) fn with_mailbox<T>(&self, session: SessionId, f: impl FnOnce(&Mailbox) -> T) -> T {
        let mut mailboxes = self.mailboxes.lock();
        if mailboxes.get(&session).is_some_and(Mailbox::is_closed) {
            mailboxes.remove(&session);
        }
        let mailbox = mailboxes.entry(session).or_insert_with(|| {
            Mailbox::start(self.shared.clone(), session, forgetter(&self.mailboxes, session))
        });
        f(mailbox)
    }
}

/// Lets an idle task end, unless mail came in at the last moment.
fn forgetter(
    mailboxes: &Mailboxes,
    session: SessionId,
) -> impl Fn(&mut mpsc::UnboundedReceiver<MailboxItem>) -> Option<MailboxItem> + Send + use<> {
    let mailboxes = Arc::downgrade(mailboxes);
    move |mail| {
        let mailboxes = mailboxes.upgrade()?;
        let mut mailboxes = mailboxes.lock();
        let last = mail.try_recv().ok();
        if last.is_none() {
            mailboxes.remove(&session);
        }
        last
    }
}
