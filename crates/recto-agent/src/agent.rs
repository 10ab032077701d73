//! The agent that surfaces talk to: sessions, messages and events go through it.

use std::sync::Arc;
use std::time::Duration;

use recto_context::{Audience, AudienceKind, Catalog, Tokens};
use recto_fs::blocking;
use recto_search::UseEvidence;
use recto_store::{
    BindingKey, Moment, NewSession, RowId, SessionHolder, SessionId, SessionName, SessionNameError,
    SessionState, Store, StoreError, StoredCompaction, StoredSession, TurnId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::access::can_reach;
use crate::actor::Actor;
use crate::agent_catalog::CatalogPurpose;
use crate::conversation::conversation_scope;
use crate::elsewhere::tell_of_turns_elsewhere;
use crate::error::{AgentError, AgentResult};
use crate::event::EventNumber;
use crate::event_stream::{EventCursor, EventListener};
use crate::exact_counts::ItemCounts;
use crate::inbound::{ArrivedMessage, Inbound, SurfaceMessage};
use crate::item_search::PageForm;
use crate::items::without_mentions;
use crate::mailbox::MailboxItem;
use crate::mailboxes::MailboxRegistry;
use crate::memories::AgentMemories;
use crate::notice::TurnNotice;
use crate::options::{AgentParts, CompactionSetting, ModelEntry, SessionSettings};
use crate::preview::{RequestPreview, preview_first_request};
use crate::rights::{Right, is_attended, may_reach};
use crate::search::{SearchPatience, Searcher, search_message};
use crate::shared::{AgentShared, WorkKind};
use crate::shutdown::TakeUpScope;
use crate::turn::PendingNotices;

/// An agent that can be talked to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) mailboxes: Arc<MailboxRegistry>,
}

/// A conversation: the place where it is held, and who talks there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

    /// A conversation that somebody holds with the agent in private.
    pub fn in_private(surface: &str, account: &str, name: &str, with: &Actor) -> Self {
        let (who, person) = with.as_audience();
        Conversation { who, person, ..Conversation::with_owner(surface, account, name) }
    }

    /// A conversation of several people.
    pub fn in_group(surface: &str, account: &str, name: &str) -> Self {
        Conversation {
            who: AudienceKind::Group,
            person: None,
            ..Conversation::with_owner(surface, account, name)
        }
    }

    /// What the conversation is known by, whichever session it has. Whoever else talks there has
    /// another one.
    pub(crate) fn key(&self, agent: &Arc<str>) -> BindingKey {
        BindingKey {
            agent: agent.to_string(),
            surface: self.surface.clone(),
            account: self.account.clone(),
            conversation: self.name.clone(),
            user: self.user.clone(),
            holder: self.holder(agent),
        }
    }

    /// Those whose names it has.
    fn holder(&self, agent: &Arc<str>) -> SessionHolder {
        SessionHolder::of_audience(&self.audience(agent))
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

/// A message that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// The turn that it begins, or has begun when it was first delivered.
    pub turn: TurnId,
    /// The session of that turn. One that was delivered before may have begun it in another.
    pub session: SessionId,
    /// Whether it was delivered for the first time.
    pub intake: InboundIntake,
    /// An event before all of that turn: whoever listens after it hears all of them, or a
    /// snapshot in place of those that are no longer kept.
    pub before: EventNumber,
}

/// A session that began in place of another.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRenewal {
    /// The session that goes on from here.
    pub began: StoredSession,
    /// The one before, unless somebody has deleted it.
    pub archived: Option<StoredSession>,
}

/// Whether a message was delivered for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboundIntake {
    /// It begins a turn.
    New,
    /// It has begun its turn before, which may be over.
    Known,
}

impl Agent {
    /// Starts the agent. What other processes left unfinished in its sessions is finished
    /// in the background, now and as long as it runs; sessions of other agents are theirs.
    /// Must be called within a tokio runtime.
    pub async fn start(parts: AgentParts) -> AgentResult<Agent> {
        let agent = Agent::idle(parts);
        agent.take_up(TakeUpScope::All).await?;
        agent.take_up_regularly();
        Ok(agent)
    }

    /// An agent that takes up nothing of what was left unfinished: to be looked
    /// at, not to be talked to.
    pub fn idle(parts: AgentParts) -> Agent {
        let agent = Agent { shared: Arc::new(AgentShared::new(parts)), mailboxes: Arc::default() };
        agent.shared.link.set(&agent);
        agent
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

    /// What somebody used before in messages like this one.
    pub async fn earlier_uses(&self, actor: &Actor, message: &str) -> UseEvidence {
        let message = search_message(&without_mentions(message), None);
        self.shared.uses.weigh_query(actor, &message, SearchPatience::OneSecond).await
    }

    /// The agent's memories, and what was said in past sessions.
    pub fn memories(&self) -> &AgentMemories {
        &self.shared.memories
    }

    /// Brings back the messages of a session that a summary stands for. They would
    /// be summarised again at once, so the session makes no summaries from here on.
    pub async fn expand(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<Option<StoredCompaction>> {
        self.must_be_allowed(actor, Right::ChangeSettings, session).await?;
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
        self.shared.models()
    }

    /// The form of the pages that the default model gets.
    pub fn page_form(&self) -> PageForm {
        self.models().first().map(PageForm::from).unwrap_or_default()
    }

    /// Gives models to an agent that began without any. One that has some keeps those.
    pub fn add_found_models(&self, models: Vec<ModelEntry>) {
        self.shared.add_found_models(models);
    }

    /// The model entry of that name.
    pub fn model(&self, name: &str) -> AgentResult<&ModelEntry> {
        self.shared.model(Some(name))
    }

    /// Counts items as the requests to a model are counted: by its own tokenizer where that is at
    /// hand, or as far as its server has told.
    pub async fn item_counts(
        &self,
        model: &ModelEntry,
        catalog: &Arc<Catalog>,
    ) -> AgentResult<ItemCounts> {
        let counts = self.shared.counts(model).await;
        let catalog = catalog.clone();
        let table = match counts {
            // A tokenizer takes its time over long texts that it has not seen.
            Some(counts) => Some(blocking(move || counts.count_items(&catalog)).await),
            None => None,
        };
        Ok(ItemCounts::new(table, &self.shared.calibration(model).await?))
    }

    /// The most that is used of what a model was trained for, where nobody says what its server
    /// has.
    pub fn window_cap(&self) -> Tokens {
        self.shared.parts.options.window_cap
    }

    /// How long somebody who can't be asked whether a tool may run waits for an answer from
    /// elsewhere.
    pub fn approval_wait(&self) -> Duration {
        self.shared.parts.options.approval_wait
    }

    /// The session of a conversation: the one that it is bound to, or a new one.
    /// What another surface calls the same is another conversation.
    pub async fn find_or_begin(
        &self,
        actor: &Actor,
        conversation: &Conversation,
    ) -> AgentResult<StoredSession> {
        actor.must_have(Right::Talk)?;
        self.must_hold(actor, conversation)?;
        self.begin_named(conversation, &conversation.name).await
    }

    /// The session that a person asks for by its name, wherever it began: the agent's
    /// open one of that name before the same people, or else as [`Agent::find_or_begin`] has it.
    /// A number names a session, too, and takes it out of the archive. Nobody, not even the
    /// owner, gets into a session of somebody else by its name.
    pub async fn find_named_or_begin(
        &self,
        actor: &Actor,
        conversation: &Conversation,
    ) -> AgentResult<StoredSession> {
        actor.must_have(Right::Talk)?;
        let holder = conversation.holder(&self.shared.parts.options.name);
        let named = self.store().find_session(self.name(), &holder, &conversation.name).await?;
        match named.filter(|session| can_reach(actor, session)) {
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
                    self.find_or_begin(actor, conversation).await
                }
            },
        }
    }

    /// Puts a session into the archive and begins another in its conversation.
    pub async fn renew(
        &self,
        actor: &Actor,
        conversation: &Conversation,
        session: SessionId,
    ) -> AgentResult<SessionRenewal> {
        self.must_begin(actor, conversation, session).await?;
        let archived = self.archive_if_there(session).await?;
        // It may have been found by its number, or renamed since.
        let name = archived.as_ref().and_then(|old| old.name.clone());
        let name = name.map_or_else(|| conversation.name.clone(), String::from);
        let began = self.begin_named(conversation, &name).await?;
        Ok(SessionRenewal { began, archived })
    }

    /// Puts a session into the archive and begins another of this name in its conversation.
    pub(crate) async fn renew_as(
        &self,
        actor: &Actor,
        conversation: &Conversation,
        session: SessionId,
        name: &SessionName,
    ) -> AgentResult<SessionRenewal> {
        self.must_begin(actor, conversation, session).await?;
        self.must_be_free(conversation, name, session).await?;
        let archived = self.archive_if_there(session).await?;
        let began = self.begin_named(conversation, name.as_str()).await?;
        Ok(SessionRenewal { began, archived })
    }

    /// Passes an actor who may begin another session in place of this one. One that somebody
    /// has deleted is in nobody's way.
    async fn must_begin(
        &self,
        actor: &Actor,
        conversation: &Conversation,
        session: SessionId,
    ) -> AgentResult {
        actor.must_have(Right::BeginSession)?;
        self.must_hold(actor, conversation)?;
        match self.store().session(session).await? {
            Some(_) => self.must_reach(actor, session).await,
            None => Ok(()),
        }
    }

    async fn archive_if_there(&self, session: SessionId) -> AgentResult<Option<StoredSession>> {
        match self.store().archive(session, Moment::now()).await {
            Ok(archived) => Ok(Some(archived)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What people should know of the agent's files and settings, and were not told before. It
    /// counts as told from here on.
    pub async fn take_notices(&self) -> Vec<TurnNotice> {
        let of_catalog = self.shared.catalog(CatalogPurpose::Look).await.notices.to_vec();
        let mut notices = PendingNotices { of_catalog, ..PendingNotices::default() };
        self.shared.leave_out_told(&mut notices);
        notices.of_catalog
    }

    /// Passes a name that no open session before the same people has but this one, which is to be
    /// archived.
    async fn must_be_free(
        &self,
        conversation: &Conversation,
        name: &SessionName,
        but: SessionId,
    ) -> AgentResult {
        let holder = conversation.holder(&self.shared.parts.options.name);
        let named = self.store().find_session(self.name(), &holder, name.as_str()).await?;
        let is_taken = |named: &StoredSession| {
            named.archived.is_none() && named.id != but && named.agent == self.name()
        };
        match named.filter(is_taken) {
            Some(_) => Err(AgentError::SessionOpen { name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// Passes an actor who can be talking there: nobody begins a session for somebody else.
    fn must_hold(&self, actor: &Actor, conversation: &Conversation) -> AgentResult {
        match may_reach(actor, &conversation.audience(&self.shared.parts.options.name)) {
            true => Ok(()),
            false => actor.must_have(Right::SeeSessions),
        }
    }

    pub(crate) async fn begin_named(
        &self,
        conversation: &Conversation,
        name: &str,
    ) -> AgentResult<StoredSession> {
        let audience = conversation.audience(&self.shared.parts.options.name);
        let key = conversation.key(&self.shared.parts.options.name);
        let name = match SessionName::new(name) {
            Err(SessionNameError::Number) => None,
            name => Some(name?),
        };
        let new = self.new_session(conversation, name);
        let bound = self.bind(&key, new.clone()).await?;
        let before = SessionSettings::from_store(&bound.settings).audience();
        if before.who == audience.who {
            return Ok(bound);
        }
        // Nobody else has this key, but of an old session nobody may know before whom it is held.
        self.store().archive(bound.id, Moment::now()).await?;
        self.bind(&key, new).await
    }

    /// The session with which a conversation begins.
    fn new_session(&self, conversation: &Conversation, name: Option<SessionName>) -> NewSession {
        NewSession {
            agent: self.name().to_owned(),
            name,
            surface: conversation.surface.clone(),
            at: Moment::now(),
            settings: SessionSettings {
                audience: Some(conversation.audience(&self.shared.parts.options.name)),
                folder: self.shared.parts.options.folder.clone(),
                ..SessionSettings::default()
            }
            .to_store(),
        }
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
    ///
    /// A message that was delivered before begins no other turn: whether it was is decided where it
    /// is stored, also between processes.
    pub async fn submit(
        &self,
        session: SessionId,
        mut inbound: Inbound,
    ) -> AgentResult<Submission> {
        inbound.check()?;
        inbound.settings.unattended |= !is_attended(inbound.actor.role);
        let actor = inbound.actor.clone();
        if let Some(delivery) = &inbound.delivery {
            // Nobody takes in the messages of a conversation that is not theirs.
            self.must_hold(&actor, &delivery.conversation)?;
        }
        let delivery =
            inbound.delivery.as_ref().map(|delivery| delivery.key(&self.shared.parts.options.name));
        let message = ArrivedMessage { session, at: Moment::now(), inbound, delivery };
        let (ack, stored) = oneshot::channel();
        // Nothing is waited for up to here: messages keep the order in which they were
        // submitted. The stream is held until the mailbox has it, too: another one would
        // have other numbers.
        let stream = self.shared.streams.of_session(session);
        let before = stream.last();
        let work = self.shared.begin_work(WorkKind::Asked(session));
        self.post(session, MailboxItem::Message(Box::new(message), ack, work))?;
        match stored.await.map_err(|_| self.missing_answer())? {
            Err(AgentError::Store(StoreError::Delivered { turn })) => {
                self.known_submission(&actor, turn).await
            }
            stored => Ok(Submission { turn: stored?, session, intake: InboundIntake::New, before }),
        }
    }

    /// What became of a message that was delivered before; nothing for one that was not.
    pub async fn find_submission(
        &self,
        actor: &Actor,
        message: &SurfaceMessage,
    ) -> AgentResult<Option<Submission>> {
        self.must_hold(actor, &message.conversation)?;
        let key = message.key(&self.shared.parts.options.name);
        match self.store().delivered(&key).await? {
            Some(turn) => self.known_submission(actor, turn).await.map(Some),
            None => Ok(None),
        }
    }

    /// The answer to a message that was delivered before.
    async fn known_submission(&self, actor: &Actor, turn: TurnId) -> AgentResult<Submission> {
        let begun = self.store().turn(turn).await?;
        let session = begun.ok_or(StoreError::NotFound(RowId::Turn(turn)))?.session;
        self.must_reach(actor, session).await?;
        let before = self.shared.streams.of_session(session).before_turn(turn);
        Ok(Submission { turn, session, intake: InboundIntake::Known, before })
    }

    /// Whether a turn runs or waits.
    pub fn is_at_work(&self) -> bool {
        self.shared.has_work()
    }

    /// Whether it was shut down: nothing happens in its sessions here any more.
    pub fn is_shut_down(&self) -> bool {
        self.shared.streams.is_closed()
    }

    /// Waits until every turn that this agent has taken up is over.
    pub async fn finished(&self) {
        self.shared.wait_for_idle().await;
    }

    /// Listens to what happens in a session, turns of other people included. A listener
    /// stays for as long as it is held, however long nothing happens.
    pub async fn listen(
        &self,
        actor: &Actor,
        session: SessionId,
        cursor: EventCursor,
    ) -> AgentResult<EventListener> {
        self.must_reach(actor, session).await?;
        let listener = self.shared.streams.of_session(session).listen(cursor);
        tell_of_turns_elsewhere(&self.shared);
        Ok(listener)
    }

    /// The request that a model would be sent for a message. Nothing is stored or called,
    /// except that a server may be asked for its window.
    pub async fn preview(
        &self,
        session: SessionId,
        inbound: Inbound,
    ) -> AgentResult<RequestPreview> {
        self.must_be_allowed(&inbound.actor, Right::Inspect, session).await?;
        let (answer, answered) = oneshot::channel();
        self.post(session, MailboxItem::Preview(Box::new(inbound), answer))?;
        answered.await.map_err(|_| self.missing_answer())?
    }

    /// What a model would be sent for the first message of a conversation. No session begins by
    /// it.
    pub async fn preview_first(
        &self,
        conversation: &Conversation,
        inbound: Inbound,
    ) -> AgentResult<RequestPreview> {
        inbound.actor.must_have(Right::Inspect)?;
        self.must_hold(&inbound.actor, conversation)?;
        let name = None;
        let state = SessionState::unstored(self.new_session(conversation, name));
        preview_first_request(&self.shared, state, &inbound).await
    }

    /// Hands in mail for a session.
    pub(crate) fn post(&self, session: SessionId, mail: MailboxItem) -> AgentResult {
        self.mailboxes.post(&self.shared, session, mail)
    }
}
