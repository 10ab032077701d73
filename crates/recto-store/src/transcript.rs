//! What was said in a session. A transcript only grows: messages are appended
//! with growing numbers, and never changed.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{Carry, ItemId, Message, MessageId, TurnNumber};
use serde::Serialize;

use crate::codec::Unpacker;
use crate::commit::PackedMessage;
use crate::compactions::{self, StoredCompaction};
use crate::error::{DbError, StoreError, StoreResult};
use crate::ids::{Moment, SessionId, TurnId};
use crate::items::{self, ItemState, ItemsRevision};
use crate::opening;
use crate::retractions::{self, StoredRetraction};
use crate::rows::{self, DbResult};
use crate::sessions::{self, NewSession, StoredSession};
use crate::store::Store;
use crate::turns::{self, StoredTurn};

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredMessage {
    /// The message, with its number within the session.
    pub message: Arc<Message>,
    /// When it was said.
    pub at: Moment,
    /// In which turn; an imported message has none, nor has one that a client brought.
    pub turn: Option<TurnId>,
    /// The turn whose client brought it, where it was not said in a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<TurnId>,
}

/// The place in a session from which a page of its messages is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageCursor {
    /// The newest messages.
    #[default]
    Newest,
    /// Those right before a message.
    Before(MessageId),
    /// Those right behind a message.
    After(MessageId),
}

/// How far a caller has read a session already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCursor {
    /// The last message that it has, with all before it that can still be sent.
    pub messages_up_to: Option<MessageId>,
    /// The state of the items that it has.
    pub items: Option<ItemsRevision>,
}

/// What a turn needs to know of its session when it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// The session with its settings.
    pub session: StoredSession,
    /// What its last request handed on; a fresh session's where that is damaged.
    pub carry: Carry,
    /// What stands for messages that have left the page; nothing where that is
    /// damaged.
    pub compaction: Option<StoredCompaction>,
    /// Its items, and those that a person removed, in the order they came; absent
    /// when the caller has them.
    pub items: Option<Vec<(ItemId, ItemState)>>,
    /// Which state the items are in.
    pub items_revision: ItemsRevision,
    /// The messages behind those that the caller knows.
    pub messages: Vec<StoredMessage>,
    /// What was taken back in it.
    pub retractions: Vec<StoredRetraction>,
    /// The number of its last message.
    pub last_message: Option<MessageId>,
    /// The number of its last turn.
    pub last_turn: Option<TurnNumber>,
}

impl SessionState {
    /// A session as it would begin. It is not stored, and no session has its number.
    pub fn unstored(new: NewSession) -> Self {
        let NewSession { agent, name, surface, at, settings } = new;
        let id = SessionId(0);
        SessionState {
            session: StoredSession {
                id,
                name,
                agent,
                surface,
                created: at,
                archived: None,
                settings,
            },
            carry: Carry::default(),
            compaction: None,
            items: None,
            items_revision: ItemsRevision::default(),
            messages: Vec::new(),
            retractions: Vec::new(),
            last_message: None,
            last_turn: None,
        }
    }
}

impl Store {
    /// A session's messages, all or from one on.
    pub async fn messages(
        &self,
        session: SessionId,
        from: Option<MessageId>,
    ) -> StoreResult<Vec<StoredMessage>> {
        self.read(move |db| {
            sessions::must_exist(db, session)?;
            messages_behind(db, session, from.and_then(before), LAST)
        })
        .await
    }

    /// A page of a session's messages, the newest first: at most `limit`, however many there are.
    pub async fn messages_page(
        &self,
        session: SessionId,
        cursor: MessageCursor,
        limit: u32,
    ) -> StoreResult<Vec<StoredMessage>> {
        self.read(move |db| {
            sessions::must_exist(db, session)?;
            messages_page(db, session, cursor, limit)
        })
        .await
    }

    /// A session's messages with these numbers.
    pub async fn messages_within(
        &self,
        session: SessionId,
        numbers: RangeInclusive<MessageId>,
    ) -> StoreResult<Vec<StoredMessage>> {
        self.read(move |db| {
            sessions::must_exist(db, session)?;
            messages_behind(db, session, before(*numbers.start()), *numbers.end())
        })
        .await
    }

    /// The messages of a turn, in order.
    pub async fn messages_of_turn(&self, turn: &StoredTurn) -> StoreResult<Vec<StoredMessage>> {
        let Some(first) = turn.first_message else { return Ok(Vec::new()) };
        let (session, id) = (turn.session, turn.id);
        self.read(move |db| {
            sessions::must_exist(db, session)?;
            let mut messages = messages_behind(db, session, before(first), LAST)?;
            messages.retain(|stored| stored.turn == Some(id));
            Ok(messages)
        })
        .await
    }

    /// Messages of any sessions, in the order in which they are asked for. What is not
    /// there, or is damaged, is left out.
    pub async fn messages_at(
        &self,
        places: Vec<(SessionId, MessageId)>,
    ) -> StoreResult<Vec<(SessionId, StoredMessage)>> {
        self.read(move |db| messages_at(db, &places)).await
    }

    /// All that a turn needs to begin, as of one instant, without what the caller
    /// has already. Where it has no messages, those that can still be sent: what
    /// the carry says has left the page is not read again.
    pub async fn load(&self, id: SessionId, cursor: SessionCursor) -> StoreResult<SessionState> {
        self.read(move |db| load(db, id, cursor)).await
    }
}

fn load(db: &SqlConnection, session: SessionId, cursor: SessionCursor) -> DbResult<SessionState> {
    let session_row = sessions::must_exist(db, session)?;
    let carry = carry(db, session)?;
    let left = || carry.history_from.and_then(before);
    let known_up_to = cursor.messages_up_to.or_else(left);
    let revision = items::revision(db, session)?;
    let changed = cursor.items != Some(revision);
    Ok(SessionState {
        session: session_row,
        carry,
        compaction: rows::unless_damaged(compactions::standing(db, session))?,
        items: changed.then(|| items::load(db, session)).transpose()?,
        items_revision: revision,
        messages: messages_behind(db, session, known_up_to, LAST)?,
        retractions: retractions::of_session(db, session)?,
        last_message: last_message(db, session)?,
        last_turn: turns::last_number(db, session)?,
    })
}

/// Behind every message that there is.
const LAST: MessageId = MessageId(u64::MAX);

/// The number before this one, if there is one.
fn before(id: MessageId) -> Option<MessageId> {
    id.0.checked_sub(1).map(MessageId)
}

/// The messages whose numbers lie above `known`, up to `last`: a range of an
/// index.
fn messages_behind(
    db: &SqlConnection,
    session: SessionId,
    known: Option<MessageId>,
    last: MessageId,
) -> DbResult<Vec<StoredMessage>> {
    let column = |id: MessageId| i64::try_from(id.0).unwrap_or(i64::MAX);
    // No number is below zero.
    let known = known.map_or(-1, column);
    let sql = "SELECT id, turn, brought_by, at, body FROM messages
               WHERE session = ?1 AND id > ?2 AND id <= ?3 ORDER BY id";
    let mut unpacker = Unpacker::default();
    db.all(sql, [session.0, known, column(last)], |row| read(row, &mut unpacker))
}

fn messages_page(
    db: &SqlConnection,
    session: SessionId,
    cursor: MessageCursor,
    limit: u32,
) -> DbResult<Vec<StoredMessage>> {
    let column = |id: MessageId| i64::try_from(id.0).unwrap_or(i64::MAX);
    let (range, number) = match cursor {
        MessageCursor::Newest => ("id <= ?2 ORDER BY id DESC", i64::MAX),
        MessageCursor::Before(id) => ("id < ?2 ORDER BY id DESC", column(id)),
        MessageCursor::After(id) => ("id > ?2 ORDER BY id", column(id)),
    };
    let sql = format!(
        "SELECT id, turn, brought_by, at, body FROM messages
         WHERE session = ?1 AND {range} LIMIT ?3"
    );
    let mut unpacker = Unpacker::default();
    let params = [session.0, number, i64::from(limit)];
    let mut page = db.all(&sql, params, |row| read(row, &mut unpacker))?;
    page.sort_by_key(|stored| std::cmp::Reverse(stored.message.id));
    Ok(page)
}

fn messages_at(
    db: &SqlConnection,
    places: &[(SessionId, MessageId)],
) -> DbResult<Vec<(SessionId, StoredMessage)>> {
    let sql = "SELECT id, turn, brought_by, at, body FROM messages WHERE session = ?1 AND id = ?2";
    let mut unpacker = Unpacker::default();
    let mut found = Vec::with_capacity(places.len());
    for (session, message) in places {
        let Ok(column) = i64::try_from(message.0) else { continue };
        let row = db.first(sql, [session.0, column], |row| read(row, &mut unpacker));
        found.extend(rows::unless_damaged(row)?.map(|stored| (*session, stored)));
    }
    Ok(found)
}

/// Reads `id`, `turn`, `brought_by`, `at` and `body` of a message.
pub(crate) fn read(row: &SqlRow<'_>, unpacker: &mut Unpacker) -> DbResult<StoredMessage> {
    Ok(StoredMessage {
        message: Arc::new(read_message(row, unpacker)?),
        at: rows::moment(row, "at")?,
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        brought_by: row.get::<_, Option<i64>>("brought_by")?.map(TurnId),
    })
}

/// Reads `id` and `body` of a message.
pub(crate) fn read_message(row: &SqlRow<'_>, unpacker: &mut Unpacker) -> DbResult<Message> {
    let id: i64 = row.get("id")?;
    let damaged = || DbError::damaged(format!("message {id}"));
    let packed = row.value("body")?.as_blob().ok_or_else(damaged)?;
    let json = unpacker.unpack(packed).map_err(|_| damaged())?;
    let message: Message = serde_json::from_str(json).map_err(|_| damaged())?;
    if i64::try_from(message.id.0) == Ok(id) { Ok(message) } else { Err(damaged()) }
}

/// The query for the message that began a session.
pub(crate) const FIRST_MESSAGE: &str =
    "SELECT id, body FROM messages WHERE session = ?1 ORDER BY id LIMIT 1";

/// The number of the session's last message.
pub(crate) fn last_message(db: &SqlConnection, session: SessionId) -> DbResult<Option<MessageId>> {
    let sql = "SELECT max(id) AS id FROM messages WHERE session = ?1";
    Ok(db.first(sql, [session.0], |row| rows::message_id(row, "id"))?.flatten())
}

/// Where a message belongs that is appended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MessagePlace {
    /// It was said before the session was this store's.
    NoTurn,
    /// It was said in this turn.
    Turn(TurnId),
    /// The client of this turn brought it.
    BroughtBy(TurnId),
}

/// Appends messages. Their numbers lie above the last one and grow; that they
/// do not is how a second writer of the same session is found out.
pub(crate) fn append(
    db: &SqlConnection,
    session: SessionId,
    place: MessagePlace,
    messages: &[PackedMessage],
) -> DbResult<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let (turn, brought_by) = match place {
        MessagePlace::NoTurn => (None, None),
        MessagePlace::Turn(turn) => (Some(turn.0), None),
        MessagePlace::BroughtBy(turn) => (None, Some(turn.0)),
    };
    let mut last = last_message(db, session)?;
    if let (None, Some(first)) = (last, messages.first()) {
        opening::keep(db, session, first.opening.as_deref())?;
    }
    let sql = "INSERT INTO messages (session, id, turn, brought_by, at, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for PackedMessage { id, at, body, .. } in messages {
        if last.is_some_and(|last| *id <= last) {
            let last = last.unwrap_or_default();
            return Err(StoreError::OutOfOrder { message: *id, last }.into());
        }
        let column = rows::message_column(*id)?;
        let values = params![session.0, column, turn, brought_by, at.microseconds(), body];
        db.execute(sql, values)?;
        last = Some(*id);
    }
    Ok(())
}

/// What the session's last request handed on. A session can go on without it:
/// what has left the page is decided anew.
pub(crate) fn carry(db: &SqlConnection, session: SessionId) -> DbResult<Carry> {
    let sql = "SELECT carry FROM sessions WHERE id = ?1";
    let carry = db.first(sql, [session.0], |row| rows::optional_json(row, "carry"));
    Ok(rows::unless_damaged(carry)?.flatten().unwrap_or_default())
}

/// Keeps what a request hands on, as JSON.
pub(crate) fn set_carry(db: &SqlConnection, session: SessionId, carry: &str) -> DbResult<()> {
    let sql = "UPDATE sessions SET carry = ?2 WHERE id = ?1";
    db.execute(sql, params![session.0, carry]).map(drop)
}
