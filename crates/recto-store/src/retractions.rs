//! Exchanges that were taken back. Their messages stay in the transcript, which only grows;
//! a row here says which of them later pages leave out, since when and why.
//!
//! Only the last exchange that still stands can be taken back, so that what stands is always
//! a conversation. What a page does without them is not known here.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{MarkdownRetraction, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compactions;
use crate::error::{DbError, StoreError, StoreResult};
use crate::ids::{Moment, RetractionId, SessionId, TurnId};
use crate::owner::OwnerRegistry;
use crate::rows::{self, DbResult};
use crate::sessions;
use crate::store::Store;
use crate::turns;

/// An exchange to be taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRetraction {
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// Why it is taken back.
    pub reason: RetractionReason,
    /// Who takes it back: JSON that the store does not read.
    pub actor: Value,
    /// When that was said.
    pub at: Moment,
}

/// An exchange that was taken back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredRetraction {
    /// Its number, counted over all sessions.
    pub id: RetractionId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// The turn in which it was said; an imported one has none.
    pub turn: Option<TurnId>,
    /// Why it was taken back.
    pub reason: RetractionReason,
    /// Who took it back: JSON that the store does not read.
    pub actor: Value,
    /// When that was said.
    pub at: Moment,
    /// The turn whose message stands in its place.
    pub replaced_by: Option<TurnId>,
}

impl StoredRetraction {
    /// What a file of the session says of it.
    pub fn to_markdown(&self) -> MarkdownRetraction {
        MarkdownRetraction {
            first: self.first,
            last: self.last,
            reason: self.reason.name().to_owned(),
            at: self.at.to_string(),
        }
    }
}

/// Why an exchange is taken back: by the command that does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetractionReason {
    /// It is to be as if it had not been said.
    Undo,
    /// The same message is sent again.
    Retry,
    /// Another message is sent in its place.
    Edit,
}

impl RetractionReason {
    const ALL: [RetractionReason; 3] =
        [RetractionReason::Undo, RetractionReason::Retry, RetractionReason::Edit];

    /// The name that records and people use.
    pub fn name(self) -> &'static str {
        match self {
            RetractionReason::Undo => "undo",
            RetractionReason::Retry => "retry",
            RetractionReason::Edit => "edit",
        }
    }

    /// The reason of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl StoredRetraction {
    /// The messages that it takes back.
    pub fn range(&self) -> RangeInclusive<MessageId> {
        self.first..=self.last
    }
}

/// What a turn has to do with exchanges that were taken back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnRetractions {
    /// What took the turn's own exchange back.
    pub taken_back: Option<StoredRetraction>,
    /// What the turn's message stands in the place of.
    pub replaces: Option<StoredRetraction>,
}

impl Store {
    /// Takes back the last exchange of a session that still stands. Refused as
    /// [`Busy`](StoreError::Busy) while a turn of the session is open, and as
    /// [`Changed`](StoreError::Changed) where it is not the last.
    pub async fn retract(
        &self,
        session: SessionId,
        retraction: NewRetraction,
    ) -> StoreResult<StoredRetraction> {
        let owners = self.owners();
        self.write(move |db| {
            sessions::must_exist(db, session)?;
            let by_nothing = None;
            retract(db, &owners, session, &retraction, by_nothing)
        })
        .await
    }

    /// All that was taken back in a session, in the order in which it was.
    pub async fn retractions(&self, session: SessionId) -> StoreResult<Vec<StoredRetraction>> {
        self.read(move |db| of_session(db, session)).await
    }

    /// What was taken back in any session behind one of them, or all, in the order in which it was.
    pub async fn retractions_after(
        &self,
        retraction: Option<RetractionId>,
    ) -> StoreResult<Vec<StoredRetraction>> {
        let after = retraction.map_or(0, |retraction| retraction.0);
        self.read(move |db| {
            db.all("SELECT * FROM retractions WHERE id > ?1 ORDER BY id", [after], read)
        })
        .await
    }

    /// What was taken back last, in whichever session.
    pub async fn newest_retraction(&self) -> StoreResult<Option<RetractionId>> {
        self.read(|db| {
            let sql = "SELECT id FROM retractions ORDER BY id DESC LIMIT 1";
            db.first(sql, [], |row| Ok(RetractionId(row.get("id")?)))
        })
        .await
    }

    /// What was taken back in any session.
    pub async fn all_retractions(&self) -> StoreResult<HashMap<SessionId, Vec<StoredRetraction>>> {
        self.read(|db| {
            let mut all: HashMap<SessionId, Vec<StoredRetraction>> = HashMap::new();
            for retraction in db.all("SELECT * FROM retractions ORDER BY id", [], read)? {
                all.entry(retraction.session).or_default().push(retraction);
            }
            Ok(all)
        })
        .await
    }

    /// What a turn has to do with exchanges that were taken back.
    pub async fn retractions_of_turn(&self, turn: TurnId) -> StoreResult<TurnRetractions> {
        self.read(move |db| {
            let taken_back = "SELECT * FROM retractions WHERE turn = ?1 ORDER BY id LIMIT 1";
            let replaces = "SELECT * FROM retractions WHERE replaced_by = ?1 ORDER BY id LIMIT 1";
            Ok(TurnRetractions {
                taken_back: db.first(taken_back, [turn.0], read)?,
                replaces: db.first(replaces, [turn.0], read)?,
            })
        })
        .await
    }
}

/// Takes back the last exchange that stands, for the turn that is to stand in its place.
pub(crate) fn retract(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    session: SessionId,
    retraction: &NewRetraction,
    replaced_by: Option<TurnId>,
) -> DbResult<StoredRetraction> {
    if replaced_by.is_none() {
        turns::must_be_idle(db, owners, session)?;
    }
    let summary = rows::unless_damaged(compactions::standing(db, session))?;
    if summary.is_some_and(|standing| standing.summary.last >= retraction.first) {
        return Err(StoreError::Summarised { message: retraction.first }.into());
    }
    // The transcript must end with it, but for what was taken back before.
    let sql = "SELECT max(id) AS id FROM messages WHERE session = ?1 AND NOT EXISTS
                   (SELECT 1 FROM retractions WHERE retractions.session = ?1
                    AND messages.id BETWEEN retractions.first AND retractions.last)";
    let last = db.first(sql, [session.0], |row| rows::message_id(row, "id"))?.flatten();
    if last != Some(retraction.last) || retraction.first > retraction.last {
        return Err(StoreError::Changed { session }.into());
    }
    insert(db, session, retraction, replaced_by)
}

/// Writes a row for messages that are there.
pub(crate) fn insert(
    db: &SqlConnection,
    session: SessionId,
    retraction: &NewRetraction,
    replaced_by: Option<TurnId>,
) -> DbResult<StoredRetraction> {
    let NewRetraction { first, last, reason, actor, at } = retraction;
    let (first_column, last_column) = (rows::message_column(*first)?, rows::message_column(*last)?);
    let sql = "SELECT turn FROM messages WHERE session = ?1 AND id = ?2";
    let said = |row: &SqlRow<'_>| Ok(row.get::<_, Option<i64>>("turn")?.map(TurnId));
    let turn = db.first(sql, [session.0, first_column], said)?.flatten();
    let sql = "INSERT INTO retractions (session, first, last, turn, reason, actor, at, replaced_by)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = params![
        session.0,
        first_column,
        last_column,
        turn.map(|turn| turn.0),
        reason.name(),
        rows::to_json(actor)?,
        at.microseconds(),
        replaced_by.map(|turn| turn.0),
    ];
    let id = db.insert(sql, values)?;
    Ok(StoredRetraction {
        id: RetractionId(id),
        session,
        first: *first,
        last: *last,
        turn,
        reason: *reason,
        actor: actor.clone(),
        at: *at,
        replaced_by,
    })
}

/// All that was taken back in a session.
pub(crate) fn of_session(
    db: &SqlConnection,
    session: SessionId,
) -> DbResult<Vec<StoredRetraction>> {
    let sql = "SELECT * FROM retractions WHERE session = ?1 ORDER BY id";
    db.all(sql, [session.0], read)
}

/// The number of the last thing that was taken back in a session.
pub(crate) fn last_id(db: &SqlConnection, session: SessionId) -> DbResult<Option<RetractionId>> {
    let sql = "SELECT id FROM retractions WHERE session = ?1 ORDER BY id DESC LIMIT 1";
    db.first(sql, [session.0], |row| Ok(RetractionId(row.get("id")?)))
}

/// Why a message was taken back, if it was.
pub(crate) fn reason_of(
    db: &SqlConnection,
    session: SessionId,
    message: MessageId,
) -> DbResult<Option<RetractionReason>> {
    let sql = "SELECT * FROM retractions WHERE session = ?1 AND ?2 BETWEEN first AND last LIMIT 1";
    let values = [session.0, rows::message_column(message)?];
    Ok(db.first(sql, values, read)?.map(|retraction| retraction.reason))
}

/// Reads a whole row of `retractions`.
fn read(row: &SqlRow<'_>) -> DbResult<StoredRetraction> {
    let id: i64 = row.get("id")?;
    let damaged = || DbError::damaged(format!("what was taken back as {id}"));
    let reason = row.value("reason")?.as_str().and_then(RetractionReason::from_name);
    Ok(StoredRetraction {
        id: RetractionId(id),
        session: SessionId(row.get("session")?),
        first: rows::message_id(row, "first")?.ok_or_else(damaged)?,
        last: rows::message_id(row, "last")?.ok_or_else(damaged)?,
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        reason: reason.ok_or_else(damaged)?,
        actor: rows::json(row, "actor")?,
        at: rows::moment(row, "at")?,
        replaced_by: row.get::<_, Option<i64>>("replaced_by")?.map(TurnId),
    })
}
