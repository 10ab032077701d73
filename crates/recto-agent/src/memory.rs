//! What is known of a session between its turns.
//!
//! A transcript only grows, so what was read once stays true: a turn reads only
//! what is new. Messages that have left the page for good are let go.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{
    Carry, Catalog, Include, ItemId, Joined, Message, MessageId, RequestContext, SessionItem,
};
use recto_store::{Having, ItemState, ItemsRevision, Session, SessionId, Store, StoreError};

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
    /// Those of the store, and those that join with this turn.
    pub(crate) items: Vec<SessionItem>,
    items_revision: ItemsRevision,
    stored: Stored,
    pub(crate) turns: u32,
}

impl SessionMemory {
    pub(crate) fn new(id: SessionId) -> Self {
        SessionMemory { id, known: None, previous: None }
    }

    /// Reads what is new.
    pub(crate) async fn refresh(&mut self, store: &Store) -> Result<&mut Known, StoreError> {
        let having = self.known.as_ref().map_or_else(Having::default, |known| Having {
            messages_up_to: Some(known.last),
            items: Some(known.items_revision),
        });
        let state = store.load(self.id, having).await?;
        let before = self.known.take();
        let (mut messages, mut stored) = match before {
            Some(before) => (before.messages, before.stored),
            None => (Vec::new(), Stored::default()),
        };
        messages.extend(state.messages.iter().map(|stored| stored.message.clone()));
        if let Some(first) = state.carry.history_from {
            messages.retain(|message| message.id >= first);
        }
        if let Some(items) = state.items {
            stored = Stored::of(items);
        }
        Ok(self.known.insert(Known {
            settings: SessionSettings::of(&state.session.settings),
            carry: state.carry,
            last: state.last_message.unwrap_or(MessageId(0)),
            messages,
            items: stored.items.clone(),
            items_revision: state.items_revision,
            stored,
            turns: state.last_turn.map_or(0, |last| last.0),
            session: state.session,
        }))
    }
}

/// A session's items as the store has them.
#[derive(Debug, Default)]
struct Stored {
    items: Vec<SessionItem>,
    removed: HashSet<ItemId>,
}

impl Stored {
    fn of(items: Vec<(ItemId, ItemState)>) -> Self {
        let mut stored = Stored::default();
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

impl Known {
    /// Lets items join that are always included: all of them when the session
    /// begins, later those that are new. What a person removed stays out.
    pub(crate) fn join(&mut self, catalog: &Catalog) -> Vec<SessionItem> {
        // The turn that is about to run may be stored and counted already, so the
        // session has also just begun while its transcript is empty.
        let begins = self.turns == 0 || self.last == MessageId(0);
        let joined = if begins { Joined::AtStart } else { Joined::Late };
        let there: HashSet<&ItemId> = self.items.iter().map(|item| &item.item).collect();
        let is_new = |id: &ItemId| !there.contains(id) && !self.stored.removed.contains(id);
        let always = catalog.items().filter(|(_, include)| *include == Include::Always);
        let new: Vec<SessionItem> = always
            .filter(|(id, _)| is_new(id))
            .map(|(item, _)| SessionItem { item, joined })
            .collect();
        self.items.extend(new.iter().cloned());
        new
    }

    /// What a person took out of the session, in a fixed order.
    pub(crate) fn removed(&self) -> Vec<ItemId> {
        let added_again = |id: &&ItemId| self.items.iter().all(|item| item.item != **id);
        let mut removed: Vec<ItemId> =
            self.stored.removed.iter().filter(added_again).cloned().collect();
        removed.sort();
        removed
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
