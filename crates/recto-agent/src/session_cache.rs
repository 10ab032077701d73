//! What is known of a session between its turns.
//!
//! A transcript only grows, so what was read once stays true: a turn reads only
//! what is new. Messages that have left the page for good are let go.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use recto_context::{
    Audience, Carry, Catalog, HistorySummary, IncludeMode, ItemId, ItemOrigin, Message, MessageId,
    RequestContext, SessionItem, SystemFiles, TurnNumber,
};
use recto_store::{
    CompactionId, ItemState, ItemsRevision, SessionBasis, SessionCursor, SessionHolder, SessionId,
    SessionState, StoredRetraction, StoredSession,
};
use recto_workspace::{MemoryView, WorkspaceProblem};

use crate::access::must_work_in_its_folder;
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;
use crate::record::restore_last;
use crate::shared::AgentShared;

/// A session as the last look at the store found it, with the last request that
/// was made for it.
#[derive(Debug)]
pub(crate) struct SessionCache {
    pub(crate) id: SessionId,
    /// Absent until the first look.
    loaded: Option<LoadedSession>,
    /// The last request that this process made for the session: the next one is
    /// compared with it.
    pub(crate) previous: Option<RequestContext>,
}

/// A session as a look at the store brings it.
#[derive(Debug)]
pub(crate) struct LoadedSession {
    pub(crate) session: StoredSession,
    pub(crate) settings: SessionSettings,
    pub(crate) carry: Carry,
    /// The messages that can still be on a page, oldest first.
    pub(crate) messages: Vec<Arc<Message>>,
    /// Messages of theirs that were taken back: no page has them.
    pub(crate) taken_back: Vec<Arc<Message>>,
    /// All that was ever taken back.
    retractions: Vec<StoredRetraction>,
    /// The number of the last message, or 0 where there is none.
    pub(crate) last: MessageId,
    /// The items of the store, and those that join with this turn.
    pub(crate) items: Vec<SessionItem>,
    items_revision: ItemsRevision,
    stored: StoredItems,
    /// How many turns the session has had.
    pub(crate) turns: u32,
    /// What stands for messages that have left the page.
    pub(crate) summary: Option<HistorySummary>,
    summary_id: Option<CompactionId>,
    catalog: Option<SessionCatalog>,
}

/// A catalog with memories, and what it was made of.
#[derive(Debug)]
struct SessionCatalog {
    items: Arc<Catalog>,
    view: Arc<MemoryView>,
    catalog: Arc<Catalog>,
}

impl SessionCache {
    /// A session of which nothing is known yet.
    pub(crate) fn new(id: SessionId) -> Self {
        SessionCache { id, loaded: None, previous: None }
    }

    /// A session as it would begin, for a look at what would be sent in it.
    pub(crate) fn unstored(state: SessionState) -> Self {
        let mut session = SessionCache::new(state.session.id);
        session.take_in(state, None);
        session
    }

    /// The session as it was last read, and the last request with it.
    pub(crate) fn loaded(
        &mut self,
    ) -> AgentResult<(&mut LoadedSession, &mut Option<RequestContext>)> {
        let loaded = self.loaded.as_mut().ok_or(AgentError::Ended)?;
        Ok((loaded, &mut self.previous))
    }

    /// Reads the session's last request, unless it is the one that is known.
    pub(crate) async fn load_previous(&mut self, shared: &AgentShared) {
        let id = self.id;
        let Ok((session, previous)) = self.loaded() else { return };
        if previous.as_ref().map(|previous| &previous.carry) != Some(&session.carry) {
            // A record that is damaged can't be compared with; the turn goes on.
            let last = restore_last(&shared.parts.store, id).await;
            *previous = last.unwrap_or_default();
        }
    }

    /// Lets go of what was read: it may not be what is stored any more.
    pub(crate) fn forget(&mut self) {
        self.loaded = None;
    }

    /// Reads what is new in the store. A session of another agent or folder is
    /// refused: this one would answer from its own files, and write there.
    pub(crate) async fn refresh(
        &mut self,
        shared: &AgentShared,
    ) -> AgentResult<&mut LoadedSession> {
        let store = &shared.parts.store;
        #[cfg(test)]
        shared.readings.count_session();
        let cursor = self.loaded.as_ref().map_or_else(SessionCursor::default, |loaded| {
            SessionCursor { messages_up_to: Some(loaded.last), items: Some(loaded.items_revision) }
        });
        let mut state = store.load(self.id, cursor).await?;
        if *state.session.agent != *shared.parts.options.name {
            return Err(AgentError::other_agent(&state.session));
        }
        must_work_in_its_folder(shared, &state.session)?;
        let mut before = self.loaded.take();
        if before.as_ref().is_some_and(|before| has_moved_back(&before.carry, &state.carry)) {
            // What had left was let go, and is wanted again.
            before = None;
            state = store.load(self.id, SessionCursor::default()).await?;
        }
        Ok(self.take_in(state, before))
    }

    /// Takes in what was read, behind what is known.
    fn take_in(
        &mut self,
        state: SessionState,
        before: Option<LoadedSession>,
    ) -> &mut LoadedSession {
        let (mut messages, taken_back, mut stored, catalog) = match before {
            Some(before) => (before.messages, before.taken_back, before.stored, before.catalog),
            None => (Vec::new(), Vec::new(), StoredItems::default(), None),
        };
        messages.extend(state.messages.iter().map(|stored| stored.message.clone()));
        if let Some(first) = state.carry.history_from {
            messages.retain(|message| message.id >= first);
        }
        if let Some(items) = state.items {
            stored = StoredItems::from_states(items);
        }
        let loaded = self.loaded.insert(LoadedSession {
            settings: SessionSettings::from_store(&state.session.settings),
            carry: state.carry,
            last: state.last_message.unwrap_or(MessageId(0)),
            messages,
            taken_back,
            retractions: state.retractions,
            items: stored.items.clone(),
            items_revision: state.items_revision,
            stored,
            turns: state.last_turn.map_or(0, |last| last.0),
            summary_id: state.compaction.as_ref().map(|compaction| compaction.id),
            summary: state.compaction.map(|compaction| compaction.summary),
            catalog,
            session: state.session,
        });
        loaded.set_taken_back_apart();
        loaded
    }
}

/// Whether the history begins earlier than before: messages that had left the page are
/// to be on it again.
fn has_moved_back(before: &Carry, now: &Carry) -> bool {
    now.history_from.unwrap_or_default() < before.history_from.unwrap_or_default()
}

/// Whether a message is among those that were taken back.
pub(crate) fn is_within(retractions: &[StoredRetraction], id: MessageId) -> bool {
    retractions.iter().any(|retraction| retraction.range().contains(&id))
}

/// A session's items as the store has them.
#[derive(Debug, Default)]
struct StoredItems {
    items: Vec<SessionItem>,
    removed: HashSet<ItemId>,
}

impl StoredItems {
    fn from_states(items: Vec<(ItemId, ItemState)>) -> Self {
        let mut stored = StoredItems::default();
        for (item, state) in items {
            match state {
                ItemState::In(joined) => stored.items.push(SessionItem { item, joined }),
                ItemState::Removed => {
                    stored.removed.insert(item);
                }
            }
        }
        stored
    }
}

impl LoadedSession {
    /// The state of the session on which a turn that begins now rests.
    pub(crate) fn basis(&self) -> SessionBasis {
        SessionBasis {
            last_message: self.last,
            summary: self.summary_id,
            retraction: self.retractions.last().map(|retraction| retraction.id),
        }
    }

    /// Whether a message was taken back.
    pub(crate) fn is_taken_back(&self, id: MessageId) -> bool {
        is_within(&self.retractions, id)
    }

    /// Leaves out an exchange that the turn which is about to begin takes back.
    pub(crate) fn leave_out(&mut self, range: &RangeInclusive<MessageId>) {
        let is_out = |message: &Arc<Message>| range.contains(&message.id);
        self.set_apart(is_out);
    }

    fn set_taken_back_apart(&mut self) {
        let retractions = std::mem::take(&mut self.retractions);
        self.set_apart(|message| is_within(&retractions, message.id));
        self.retractions = retractions;
        let first = self.carry.history_from.unwrap_or_default();
        self.taken_back.retain(|message| message.id >= first);
    }

    fn set_apart(&mut self, is_out: impl Fn(&Arc<Message>) -> bool) {
        if !self.messages.iter().any(&is_out) {
            return;
        }
        let messages = std::mem::take(&mut self.messages);
        let (out, stands) = messages.into_iter().partition(is_out);
        self.messages = stands;
        self.taken_back.extend::<Vec<_>>(out);
        self.taken_back.sort_by_key(|message| message.id);
    }

    /// Lets items join that are always included: all of them when the session
    /// begins, later those that are new. What a person removed stays out.
    pub(crate) fn join(&mut self, catalog: &Catalog) -> Vec<SessionItem> {
        // The turn that is about to run may be stored and counted already, so the
        // session has also just begun while its transcript is empty.
        let begins = self.turns == 0 || self.last == MessageId(0);
        let joined = if begins { ItemOrigin::AtStart } else { ItemOrigin::Late };
        let there: HashSet<&ItemId> = self.items.iter().map(|item| &item.item).collect();
        let is_new = |id: &ItemId| !there.contains(id) && !self.stored.removed.contains(id);
        let always = catalog.items().filter(|(_, include)| *include == IncludeMode::Always);
        let new: Vec<SessionItem> = always
            .filter(|(id, _)| is_new(id))
            .map(|(item, _)| SessionItem { item, joined })
            .collect();
        self.items.extend(new.iter().cloned());
        new
    }

    /// All that the agent has, with the memories that this session may see; the same
    /// as before while nothing changed.
    pub(crate) fn catalog(&mut self, items: &Arc<Catalog>, view: &Arc<MemoryView>) -> Arc<Catalog> {
        if let Some(made) = &self.catalog
            && Arc::ptr_eq(&made.items, items)
            && Arc::ptr_eq(&made.view, view)
        {
            return made.catalog.clone();
        }
        let mut catalog = Catalog::clone(items);
        catalog.memories.clone_from(&view.memories);
        catalog.notices.extend(view.problems.iter().filter_map(WorkspaceProblem::notice));
        let catalog = Arc::new(catalog);
        let (items, view) = (items.clone(), view.clone());
        self.catalog = Some(SessionCatalog { items, view, catalog: catalog.clone() });
        catalog
    }

    /// Passes a session that takes another message: that of a sub-agent's task has one alone.
    pub(crate) fn must_take_message(&self) -> AgentResult {
        self.must_be_first_task(TurnNumber(self.turns + 1))
    }

    /// Passes a turn of that number, which in the session of a task is the first.
    pub(crate) fn must_be_first_task(&self, number: TurnNumber) -> AgentResult {
        match &self.settings.delegation {
            Some(task) if number.0 > 1 => Err(AgentError::OneTask { id: task.agent.clone() }),
            _ => Ok(()),
        }
    }

    /// Passes a session whose sub-agent, if it has one, is still there.
    pub(crate) fn must_have_sub_agent(&self, catalog: &Catalog) -> AgentResult {
        let SystemFiles { soul, identity, agents, user, .. } = &catalog.system;
        let says_nothing = [soul, identity, agents, user].into_iter().all(Option::is_none);
        match &self.settings.delegation {
            Some(task) if says_nothing => Err(AgentError::SubAgentOff {
                id: task.agent.clone(),
                problem: "it is not there any more".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Those for whom the session's pages are made.
    pub(crate) fn audience(&self) -> Audience {
        self.settings.audience()
    }

    /// The same, as the store tells them apart.
    pub(crate) fn holder(&self) -> SessionHolder {
        SessionHolder::of_audience(&self.audience())
    }

    /// What a person took out of the session, in a fixed order.
    pub(crate) fn removed(&self) -> Vec<ItemId> {
        let added_again = |id: &&ItemId| self.items.iter().all(|item| item.item != **id);
        let mut removed: Vec<ItemId> =
            self.stored.removed.iter().filter(added_again).cloned().collect();
        removed.sort();
        removed
    }

    /// Adds messages that were just stored.
    pub(crate) fn append(&mut self, messages: &[Arc<Message>]) {
        if let Some(last) = messages.last() {
            self.last = last.id;
        }
        self.messages.extend(messages.iter().cloned());
    }

    /// The messages before a turn, and those of the turn itself.
    pub(crate) fn split_at(&self, first: MessageId) -> (&[Arc<Message>], &[Arc<Message>]) {
        let at = self.messages.partition_point(|message| message.id < first);
        self.messages.split_at(at)
    }

    /// The message of that number, where it can still be on a page.
    pub(crate) fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.messages.iter().find(|message| message.id == id)
    }
}
