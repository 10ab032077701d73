//! What belongs to a session's context, and what a person took out of it.

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{ItemId, ItemOrigin};
use serde::{Deserialize, Serialize};

use crate::error::StoreResult;
use crate::ids::SessionId;
use crate::rows::{self, DbResult};
use crate::sessions;
use crate::store::Store;

/// How an item stands to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It belongs to the session.
    In(ItemOrigin),
    /// A person removed it, and it does not come back by itself.
    Removed,
}

/// A state of a session's items: as long as it is the same, so are they.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemsRevision(i64);

impl Store {
    /// A session's items, and those that a person removed, in the order they came.
    pub async fn items(&self, session: SessionId) -> StoreResult<Vec<(ItemId, ItemState)>> {
        self.read(move |db| load(db, session)).await
    }

    /// Adds an item to a session, or removes it, by hand.
    pub async fn set_item(
        &self,
        session: SessionId,
        item: ItemId,
        state: ItemState,
    ) -> StoreResult<()> {
        self.write(move |db| {
            sessions::must_exist(db, session)?;
            set_items(db, session, &[(item.clone(), state)])
        })
        .await
    }
}

/// Sets how items stand to the session. One that is known keeps its place, and one
/// that joins by itself keeps its state, too: a person may have removed it since
/// the turn looked.
pub(crate) fn set_items(
    db: &SqlConnection,
    session: SessionId,
    items: &[(ItemId, ItemState)],
) -> DbResult<()> {
    let set = "INSERT INTO session_items (session, item, state) VALUES (?1, ?2, ?3)
               ON CONFLICT (session, item) DO UPDATE SET state = excluded.state";
    let join = "INSERT INTO session_items (session, item, state) VALUES (?1, ?2, ?3)
                ON CONFLICT (session, item) DO NOTHING";
    for (item, state) in items {
        let by_itself = matches!(state, ItemState::In(ItemOrigin::AtStart | ItemOrigin::Late));
        let sql = if by_itself { join } else { set };
        db.execute(sql, params![session.0, rows::to_json(item)?, rows::to_json(state)?])?;
    }
    if !items.is_empty() {
        db.execute("UPDATE sessions SET items = items + 1 WHERE id = ?1", [session.0])?;
    }
    Ok(())
}

/// Which state of its items a session is in.
pub(crate) fn revision(db: &SqlConnection, session: SessionId) -> DbResult<ItemsRevision> {
    db.only("SELECT items FROM sessions WHERE id = ?1", [session.0]).map(ItemsRevision)
}

/// The same of a row of sessions.
pub(crate) fn read_revision(row: &SqlRow<'_>) -> DbResult<ItemsRevision> {
    row.get("items").map(ItemsRevision)
}

/// The session's items, in the order in which they were first set.
pub(crate) fn load(db: &SqlConnection, session: SessionId) -> DbResult<Vec<(ItemId, ItemState)>> {
    let sql = "SELECT item, state FROM session_items WHERE session = ?1 ORDER BY id";
    db.all(sql, [session.0], |row| Ok((rows::json(row, "item")?, rows::json(row, "state")?)))
}
