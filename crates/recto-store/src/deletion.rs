//! Deletes a session for good: its messages, turns and records, and the texts that no other
//! session's records have. What was counted of it stays counted.
//!
//! Numbers never come back: the row of the session stays, empty, and so do the last turn and
//! the last message where they are the newest of all. Other processes may know them.

use crate::sql::{SqlConnection, params};
use recto_context::{Message, MessageBody, MessageId, Text};
use recto_fs::blocking;

use crate::codec;
use crate::delegations;
use crate::error::StoreResult;
use crate::garbage::ReferencedParts;
use crate::ids::{Moment, SessionId};
use crate::rows::{self, DbResult};
use crate::sessions::{self, StoredSession, must_exist};
use crate::store::Store;
use crate::turns::must_be_idle;

/// What was deleted with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedSession {
    /// How many messages it had.
    pub messages: u64,
    /// How many turns it had had.
    pub turns: u64,
    /// Whether its bytes are gone from the files, too. They are not while another process
    /// reads what was there before, or where the disk has no room to write the rest anew; and of
    /// a server nobody here can tell.
    pub is_wiped: bool,
}

impl Store {
    /// Passes a session in which no turn is open, so that it could be deleted.
    pub async fn must_be_deletable(&self, id: SessionId) -> StoreResult<()> {
        let owners = self.owners();
        self.read(move |db| {
            must_exist(db, id)?;
            let below = delegations::descendants(db, id)?;
            below.into_iter().chain([id]).try_for_each(|each| must_be_idle(db, &owners, each))
        })
        .await
    }

    /// Deletes a session in which no turn is open, and what sub-agents did for it.
    pub async fn delete_session(&self, id: SessionId, at: Moment) -> StoreResult<DeletedSession> {
        self.must_be_deletable(id).await?;
        let below = self.read(move |db| delegations::descendants(db, id)).await?;
        // Should this be cut short, what is left can be deleted again by the same session.
        for each in below {
            self.delete_one(each, at).await?;
        }
        let (messages, turns) = self.delete_one(id, at).await?;
        let is_wiped = self.wipe_deleted().await?;
        Ok(DeletedSession { messages, turns, is_wiped })
    }

    /// Takes a session away that is as it was begun: nothing was said in it, nothing set, and no
    /// item added or removed. One that another process may have found stays. Says whether it is
    /// gone.
    pub async fn discard_unused(&self, begun: StoredSession) -> StoreResult<bool> {
        let owners = self.owners();
        self.write(move |db| {
            let is_unused = sessions::find(db, begun.id)?.as_ref() == Some(&begun)
                && is_empty(db, begun.id)?
                && owners.is_alone_with(db, &[])?;
            if is_unused {
                delete_rows(db, begun.id, begun.created)?;
                // Nothing was in it that could be left in the files.
                db.execute("UPDATE sessions SET wiped = 1 WHERE id = ?1", [begun.id.0])?;
            }
            Ok(is_unused)
        })
        .await
    }

    async fn delete_one(&self, id: SessionId, at: Moment) -> StoreResult<(u64, u64)> {
        let marked = self.read(move |db| ReferencedParts::read(db, Some(id))).await?;
        let owners = self.owners();
        let deleted = self.write(move |db| {
            must_exist(db, id)?;
            must_be_idle(db, &owners, id)?;
            delete_parts(db, id, &marked)?;
            delete_rows(db, id, at)
        });
        let counts = deleted.await?;
        self.forget_document(id);
        Ok(counts)
    }

    /// Takes the bytes of deleted sessions and redacted texts out of the files, where that is still
    /// to be done: a deletion was cut short, or somebody read along. Says whether none are left.
    pub async fn wipe_deleted(&self) -> StoreResult<bool> {
        let pending = "SELECT id FROM sessions WHERE deleted IS NOT NULL AND wiped IS NULL
                       UNION ALL SELECT id FROM redactions WHERE wiped IS NULL LIMIT 1";
        let is_pending = self
            .read(move |db| Ok(db.first(pending, [], |row| row.get::<_, i64>("id"))?.is_some()));
        if !is_pending.await? {
            return Ok(true);
        }
        let source = self.source();
        if !blocking(move || source.wipe()).await {
            return Ok(false);
        }
        let done = "UPDATE sessions SET wiped = 1 WHERE deleted IS NOT NULL AND wiped IS NULL";
        self.write(move |db| {
            db.execute("UPDATE redactions SET wiped = 1 WHERE wiped IS NULL", [])?;
            db.execute(done, [])
        })
        .await?;
        Ok(true)
    }
}

/// Whether nothing belongs to the session.
fn is_empty(db: &SqlConnection, id: SessionId) -> DbResult<bool> {
    let sql = "SELECT (SELECT count(*) FROM messages WHERE session = ?1)
                    + (SELECT count(*) FROM turns WHERE session = ?1)
                    + (SELECT count(*) FROM session_items WHERE session = ?1)
                    + (SELECT count(*) FROM delegations WHERE session = ?1)";
    Ok(db.only::<i64>(sql, [id.0])? == 0)
}

/// Deletes the texts that only this session's records have.
fn delete_parts(db: &SqlConnection, id: SessionId, marked: &ReferencedParts) -> DbResult<()> {
    let own = ReferencedParts::of_session(db, id)?;
    let others = marked.with_newer(db)?;
    for key in own.difference(&others) {
        db.execute("DELETE FROM parts WHERE key = ?1", [key.bytes()])?;
    }
    Ok(())
}

/// Deletes what belongs to the session, and says how many messages and turns that were.
fn delete_rows(db: &SqlConnection, id: SessionId, at: Moment) -> DbResult<(u64, u64)> {
    let delete = |sql: &str| db.execute(sql, [id.0]);
    let count = |sql: &str| db.only::<i64>(sql, [id.0]);
    let messages = count("SELECT count(*) FROM messages WHERE session = ?1")?;
    let turns = count("SELECT count(*) FROM turns WHERE session = ?1")?;
    // A request stands before those that are kept against it.
    delete(
        "UPDATE requests SET parent = NULL
         WHERE turn IN (SELECT id FROM turns WHERE session = ?1)",
    )?;
    delete("DELETE FROM requests WHERE turn IN (SELECT id FROM turns WHERE session = ?1)")?;
    delete("DELETE FROM item_uses WHERE turn IN (SELECT id FROM turns WHERE session = ?1)")?;
    delete("DELETE FROM approvals WHERE session = ?1")?;
    delete("DELETE FROM retractions WHERE session = ?1")?;
    delete("UPDATE compactions SET parent = NULL WHERE session = ?1")?;
    delete("DELETE FROM compactions WHERE session = ?1")?;
    delete("DELETE FROM session_items WHERE session = ?1")?;
    delete("DELETE FROM bindings WHERE session = ?1")?;
    delete("DELETE FROM delegations WHERE session = ?1")?;
    delete(
        "DELETE FROM inbound_messages
         WHERE turn IN (SELECT id FROM turns WHERE session = ?1)",
    )?;
    delete(
        "DELETE FROM messages
         WHERE session = ?1 AND position < (SELECT max(position) FROM messages)",
    )?;
    let sql = "UPDATE messages SET turn = NULL, brought_by = NULL, body = ?2 WHERE session = ?1";
    db.execute(sql, params![id.0, empty_message()?])?;
    delete("UPDATE turns SET continues = NULL WHERE session = ?1")?;
    delete("DELETE FROM turns WHERE session = ?1 AND id < (SELECT max(id) FROM turns)")?;
    delete(
        "UPDATE turns SET actor = 'null', settings = NULL, inbound = NULL, client = NULL,
                          first_message = NULL, state = NULL, detail = NULL,
                          stop_by = NULL, begun_by = NULL
         WHERE session = ?1",
    )?;
    let sql = "UPDATE sessions SET name = NULL, holder = 'owner', settings = '{}', carry = NULL,
                                   opening = NULL, deleted = ?2,
                                   archived = coalesce(archived, ?2)
               WHERE id = ?1";
    db.execute(sql, params![id.0, at.microseconds()])?;
    Ok((messages.unsigned_abs(), turns.unsigned_abs()))
}

/// The body of a message that says nothing.
fn empty_message() -> DbResult<Vec<u8>> {
    let body = MessageBody::Error(Text::from(""));
    Ok(codec::pack(&rows::to_json(&Message { id: MessageId(0), body })?))
}
