//! All that was said in all sessions, in the order in which it was stored: what
//! an index of past conversations is made of.
//!
//! What is damaged is passed over: an index that lacks a message is better than
//! none.

use crate::sql::SqlConnection;

use crate::codec::Unpacker;
use crate::error::StoreResult;
use crate::ids::SessionId;
use crate::rows::{self, DbResult};
use crate::store::Store;
use crate::transcript::{self, StoredMessage};

/// The place of a message among those of all sessions. Whatever is stored later
/// has a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessagePosition(i64);

impl Store {
    /// The first `limit` messages behind a position, or of all, over all sessions
    /// in the order in which they were stored. None are left when none come.
    pub async fn messages_after(
        &self,
        position: Option<MessagePosition>,
        limit: usize,
    ) -> StoreResult<Vec<(MessagePosition, SessionId, StoredMessage)>> {
        self.read(move |db| messages_after(db, position, limit)).await
    }
}

type FeedEntry = (MessagePosition, SessionId, StoredMessage);

fn messages_after(
    db: &SqlConnection,
    position: Option<MessagePosition>,
    limit: usize,
) -> DbResult<Vec<FeedEntry>> {
    let mut unpacker = Unpacker::default();
    let mut found = Vec::new();
    let mut last = position;
    while found.len() < limit {
        let positions = positions_after(db, last, limit - found.len())?;
        let Some(end) = positions.last() else { break };
        last = Some(*end);
        for position in positions {
            found.extend(rows::unless_damaged(message_at(db, position, &mut unpacker))?);
        }
    }
    Ok(found)
}

/// Positions without their messages: a query over messages ends at the first that
/// SQLite can't read.
fn positions_after(
    db: &SqlConnection,
    position: Option<MessagePosition>,
    limit: usize,
) -> DbResult<Vec<MessagePosition>> {
    let sql = "SELECT position FROM messages WHERE position > ?1 ORDER BY position LIMIT ?2";
    let after = position.map_or(i64::MIN, |position| position.0);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, [after, limit], |row| Ok(MessagePosition(row.get("position")?)))
}

fn message_at(
    db: &SqlConnection,
    position: MessagePosition,
    unpacker: &mut Unpacker,
) -> DbResult<Option<FeedEntry>> {
    let sql = "SELECT session, id, turn, brought_by, at, body FROM messages WHERE position = ?1";
    db.first(sql, [position.0], |row| {
        Ok((position, SessionId(row.get("session")?), transcript::read(row, unpacker)?))
    })
}
