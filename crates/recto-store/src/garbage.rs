//! Clears away what is of no use any more: records that are older than they are to be kept, and
//! texts that no record refers to.
//!
//! What was said stays. Of a request that is dropped its row stays, with what the server counted and
//! the hash of what was sent, and no document. A session keeps the records of its last turn that has
//! any: the next request is compared with them, and kept against them.

use std::collections::HashSet;

use recto_fs::blocking;

use crate::documents::{DocumentReader, PartKey};
use crate::error::StoreResult;
use crate::ids::{Moment, RequestId, SessionId};
use crate::rows::{self, DbResult};
use crate::sql::{SqlConnection, params};
use crate::store::Store;

/// What is left of a document that was dropped.
const DROPPED: [u8; 0] = [];

impl Store {
    /// Drops the records of the turns that ended before a moment, and says how many requests that
    /// were.
    pub async fn drop_records(&self, before: Moment) -> StoreResult<u64> {
        let sql = "SELECT DISTINCT session FROM turns WHERE ended < ?1
                       AND EXISTS (SELECT 1 FROM requests
                                   WHERE turn = turns.id AND length(document) > 0)";
        let sessions = self
            .read(move |db| {
                db.all(sql, [before.microseconds()], |row| Ok(SessionId(row.get("session")?)))
            })
            .await?;
        let mut dropped = 0;
        // One session at a time, so that nobody waits long.
        for session in sessions {
            dropped += self.write(move |db| drop_old_records(db, session, before)).await?;
            self.forget_document(session);
        }
        Ok(dropped)
    }

    /// Drops the texts that no record refers to, and says how many that were.
    pub async fn drop_unused_parts(&self) -> StoreResult<u64> {
        let marked = self.read(|db| ReferencedParts::read(db, None)).await?;
        self.write(move |db| {
            let referenced = marked.with_newer(db)?;
            let stored = db.all("SELECT key FROM parts", [], |row| row.get::<_, Vec<u8>>("key"))?;
            let mut dropped = 0;
            for key in stored {
                if !PartKey::from_column(&key).is_some_and(|key| referenced.contains(&key)) {
                    db.execute("DELETE FROM parts WHERE key = ?1", params![key])?;
                    dropped += 1;
                }
            }
            Ok(dropped)
        })
        .await
    }

    /// Writes a file anew without what is free in it, and says whether that was done. How room is
    /// given back on a server is for the server to say.
    pub async fn compact(&self) -> StoreResult<bool> {
        let source = self.source();
        Ok(blocking(move || source.wipe()).await)
    }
}

fn drop_old_records(db: &SqlConnection, session: SessionId, before: Moment) -> DbResult<u64> {
    let sql = "SELECT requests.id FROM requests JOIN turns ON turns.id = requests.turn
               WHERE turns.session = ?1 AND turns.ended < ?2 AND length(requests.document) > 0
               AND turns.id < (SELECT max(newest.id) FROM turns AS newest
                               JOIN requests AS its ON its.turn = newest.id
                               WHERE newest.session = ?1)
               ORDER BY requests.id";
    let old = db.all(sql, [session.0, before.microseconds()], |row| row.get::<_, i64>("id"))?;
    let gone: HashSet<i64> = old.iter().copied().collect();
    let sql = "SELECT requests.id, requests.parent FROM requests
               JOIN turns ON turns.id = requests.turn
               WHERE turns.session = ?1 AND parent IS NOT NULL ORDER BY requests.id";
    let children = db.all(sql, [session.0], |row| {
        Ok((row.get::<_, i64>("id")?, row.get::<_, i64>("parent")?))
    })?;
    let mut reader = DocumentReader::default();
    for (id, parent) in &children {
        if gone.contains(parent) && !gone.contains(id) {
            reader.detach(db, RequestId(*id))?;
        }
    }
    // What servers counted stays, and the hash of what was sent.
    let sql = "UPDATE requests SET parent = NULL, document = ?2 WHERE id = ?1";
    for id in &old {
        db.execute(sql, params![*id, DROPPED])?;
    }
    Ok(old.len() as u64)
}

/// The texts that records have, up to a request.
pub(crate) struct ReferencedParts {
    keys: HashSet<PartKey>,
    last: i64,
    /// The session whose records don't count.
    without: Option<SessionId>,
}

impl ReferencedParts {
    /// Reads the records of all sessions, but perhaps for one; that may take its time and holds up
    /// nobody.
    pub(crate) fn read(db: &SqlConnection, without: Option<SessionId>) -> DbResult<Self> {
        let last = db.first("SELECT max(id) AS id FROM requests", [], |row| {
            row.get::<_, Option<i64>>("id")
        })?;
        let last = last.flatten().unwrap_or(0);
        let mut parts = ReferencedParts { keys: HashSet::new(), last, without };
        let sql = "SELECT id FROM sessions WHERE deleted IS NULL";
        for session in db.all(sql, [], |row| Ok(SessionId(row.get("id")?)))? {
            // Documents of one session are kept against each other, and of no other.
            if Some(session) != without {
                add_keys(db, requests_of(db, session)?, &mut parts.keys)?;
            }
        }
        Ok(parts)
    }

    /// The same with what was recorded meanwhile.
    pub(crate) fn with_newer(&self, db: &SqlConnection) -> DbResult<HashSet<PartKey>> {
        let mut keys = self.keys.clone();
        let sql = "SELECT requests.id FROM requests JOIN turns ON turns.id = requests.turn
                   WHERE requests.id > ?1 AND turns.session <> ?2 ORDER BY requests.id";
        // No session has a number below zero.
        let without = self.without.map_or(-1, |session| session.0);
        let newer =
            db.all(sql, params![self.last, without], |row| Ok(RequestId(row.get("id")?)))?;
        add_keys(db, newer, &mut keys)?;
        Ok(keys)
    }

    /// The texts that the records of a session have.
    pub(crate) fn of_session(db: &SqlConnection, session: SessionId) -> DbResult<HashSet<PartKey>> {
        let mut keys = HashSet::new();
        add_keys(db, requests_of(db, session)?, &mut keys)?;
        Ok(keys)
    }
}

/// The requests of a session, in order.
pub(crate) fn requests_of(db: &SqlConnection, session: SessionId) -> DbResult<Vec<RequestId>> {
    let sql = "SELECT requests.id FROM requests JOIN turns ON turns.id = requests.turn
               WHERE turns.session = ?1 ORDER BY requests.id";
    db.all(sql, [session.0], |row| Ok(RequestId(row.get("id")?)))
}

/// Adds all that can be the key of a text in these records. What only looks like one keeps a
/// text too long, which does no harm.
fn add_keys(
    db: &SqlConnection,
    requests: Vec<RequestId>,
    keys: &mut HashSet<PartKey>,
) -> DbResult<()> {
    let mut reader = DocumentReader::default();
    for id in requests {
        // A record that can't be read has no use for its texts.
        if let Some(document) = rows::unless_damaged(reader.read(db, id).map(Some))? {
            keys.extend(document.mentioned_keys());
        }
    }
    Ok(())
}
