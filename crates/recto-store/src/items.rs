//! What belongs to a session's context, and what a person took out of it.

use recto_context::{ItemId, Joined};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::ids::SessionId;
use crate::rows::{self, Outcome};
use crate::sessions;
use crate::store::Store;

/// How an item stands to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It belongs to the session.
    In(Joined),
    /// A person removed it, and it does not come back by itself.
    Removed,
}

impl Store {
    /// Adds an item to a session, or removes it, by hand.
    pub async fn set_item(
        &self,
        session: SessionId,
        item: ItemId,
        state: ItemState,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            sessions::must_exist(db, session)?;
            put(db, session, &[(item.clone(), state)])
        })
        .await
    }
}

/// Sets how items stand to the session. One that is known keeps its place.
pub(crate) fn put(
    db: &Connection,
    session: SessionId,
    items: &[(ItemId, ItemState)],
) -> Outcome<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO session_items (session, item, state) VALUES (?1, ?2, ?3)
         ON CONFLICT (session, item) DO UPDATE SET state = excluded.state",
    )?;
    for (item, state) in items {
        insert.execute(params![session.0, rows::to_json(item)?, rows::to_json(state)?])?;
    }
    Ok(())
}

/// The session's items, in the order in which they were first set.
pub(crate) fn of(db: &Connection, session: SessionId) -> Outcome<Vec<(ItemId, ItemState)>> {
    let mut select =
        db.prepare_cached("SELECT item, state FROM session_items WHERE session = ?1 ORDER BY id")?;
    rows::all(&mut select.query([session.0])?, |row| {
        Ok((rows::json(row, "item")?, rows::json(row, "state")?))
    })
}
