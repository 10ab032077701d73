//! What is known of a session between its turns.
//!
//! A transcript only grows, so what was read once stays true: a turn reads only
//! what is new. Messages that have left the page for good are let go.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{
    Carry, Catalog, Include, ItemId, Joined, Message, MessageId, RequestContext, SessionItem,
};
use recto_store::{ItemState, Session, SessionId, Store, StoreError};

use crate::options::SessionSettings;

/// A session as the last look at the store found it.
#[derive(Debug)]
pub(crate) struct SessionMemory {
    pub(crate) id: SessionId,
    /// Absent until the first look.
    pub(crate) known: Option<Known>,
    /// The last request that this process made for the session: the next one is
    /// compared with it.
    pub(crate) previous: Option<RequestContext>,
}

/// What a look at the store brings.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) session: Session,
    pub(crate) settings: SessionSettings,
    pub(crate) carry: Carry,
    /// Those that can still be on a page, oldest first.
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) last: MessageId,
    pub(crate) items: Vec<SessionItem>,
    removed: HashSet<ItemId>,
    pub(crate) turns: u32,
}

impl SessionMemory {
    pub(crate) fn new(id: SessionId) -> Self {
        SessionMemory { id, known: None, previous: None }
    }

    /// Reads what is new.
    pub(crate) async fn refresh(&mut self, store: &Store) -> Result<&mut Known, StoreError> {
        let since = self.known.as_ref().map(|known| known.last);
        let state = store.load(self.id, since).await?;
        let mut messages = self.known.take().map_or_else(Vec::new, |known| known.messages);
        messages.extend(state.messages.iter().map(|stored| stored.message.clone()));
        if let Some(first) = state.carry.history_from {
            messages.retain(|message| message.id >= first);
        }
        let mut known = Known {
            settings: SessionSettings::of(&state.session.settings),
            carry: state.carry,
            last: state.last_message.unwrap_or(MessageId(0)),
            messages,
            items: Vec::new(),
            removed: HashSet::new(),
            turns: state.last_turn.map_or(0, |last| last.0),
            session: state.session,
        };
        for (item, item_state) in state.items {
            match item_state {
                ItemState::In(joined) => known.items.push(SessionItem { item, joined }),
                ItemState::Removed => {
                    known.removed.insert(item);
                }
            }
        }
        Ok(self.known.insert(known))
    }
}

impl Known {
    /// Lets items join that are always included: all of them when the session
    /// begins, later those that are new. What a person removed stays out.
    pub(crate) fn join(&mut self, catalog: &Catalog) -> Vec<SessionItem> {
        // The turn that is about to run may be stored and counted already, so the
        // session has also just begun while its transcript is empty.
        let begins = self.turns == 0 || self.last == MessageId(0);
        let joined = if begins { Joined::AtStart } else { Joined::Late };
        let there: HashSet<&ItemId> = self.items.iter().map(|item| &item.item).collect();
        let is_new = |id: &ItemId| !there.contains(id) && !self.removed.contains(id);
        let always = catalog.items().filter(|(_, include)| *include == Include::Always);
        let new: Vec<SessionItem> = always
            .filter(|(id, _)| is_new(id))
            .map(|(item, _)| SessionItem { item, joined })
            .collect();
        self.items.extend(new.iter().cloned());
        new
    }

    /// Takes in messages that were just stored.
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

    /// The message of that number.
    pub(crate) fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.messages.iter().find(|message| message.id == id)
    }
}
