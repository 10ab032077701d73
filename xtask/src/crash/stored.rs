//! What the store holds in the end, in the form in which the checker reads it.

use std::time::SystemTime;

use recto_context::{MessageBody, visible_text};
use recto_store::{SessionFilter, Store, StoreOptions, TurnStatus};

use crate::Result;

/// A session with all of its turns and messages, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HeldSession {
    pub(super) id: i64,
    pub(super) turns: Vec<HeldTurn>,
    pub(super) messages: Vec<HeldMessage>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeldTurn {
    pub(super) id: i64,
    pub(super) number: u64,
    pub(super) status: String,
    /// How often it was begun.
    pub(super) begins: u32,
    /// When each of its requests was recorded.
    pub(super) requests: Vec<SystemTime>,
}

impl HeldTurn {
    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "queued" | "running")
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeldMessage {
    pub(super) id: u64,
    pub(super) turn: Option<i64>,
    pub(super) role: HeldRole,
    pub(super) text: String,
}

/// Who says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldRole {
    User,
    Assistant,
    /// Recto itself, to people.
    Error,
    Other,
}

/// Reads all of it.
pub(super) async fn read(options: &StoreOptions) -> Result<Vec<HeldSession>> {
    let store = Store::open(options)?;
    let mut sessions = Vec::new();
    for summary in store.sessions(SessionFilter::All).await? {
        let id = summary.session.id;
        let mut session = HeldSession { id: id.get(), ..HeldSession::default() };
        for turn in store.turns(id).await? {
            let requests = store.requests(turn.id).await?;
            session.turns.push(HeldTurn {
                id: turn.id.get(),
                number: u64::from(turn.number.0),
                status: match turn.status {
                    TurnStatus::Ended(ending) => ending.name().to_owned(),
                    status => status.name().to_owned(),
                },
                begins: turn.attempts.begins,
                requests: requests.iter().map(|request| request.at.timestamp().into()).collect(),
            });
        }
        for stored in store.messages(id, None).await? {
            let (role, text) = match &stored.message.body {
                MessageBody::User(user) => (HeldRole::User, visible_text(&user.content)),
                MessageBody::Assistant { content, .. } => {
                    (HeldRole::Assistant, visible_text(content))
                }
                MessageBody::Error(text) => (HeldRole::Error, text.as_str().to_owned()),
                _ => (HeldRole::Other, String::new()),
            };
            let turn = stored.turn.map(|turn| turn.get());
            session.messages.push(HeldMessage { id: stored.message.id.0, turn, role, text });
        }
        sessions.push(session);
    }
    Ok(sessions)
}
