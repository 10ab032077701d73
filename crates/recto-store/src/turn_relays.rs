//! How a turn that runs in one process is followed in another: what is said in it is not stored
//! before it is whole, and people want to read along.
//!
//! Who follows a turn says so. The process that runs it looks for that when it looks whether it is to
//! stop, and then keeps a snapshot of the turn while somebody follows. Nobody who follows costs nothing.

use serde_json::Value;

use crate::codec;
use crate::error::{DbError, StoreResult};
use crate::ids::{SessionId, TurnId};
use crate::rows;
use crate::sql::params;
use crate::store::Store;

/// What others want of the turn that this process runs in a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnWishes {
    /// Who has asked to stop it: JSON that the store does not read.
    pub stop_by: Option<Value>,
    /// The turn, where somebody follows it in another process.
    pub followed: Option<TurnId>,
}

/// A snapshot of a turn that another process runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RelayedSnapshot {
    /// Counts up whenever it is written.
    pub version: i64,
    /// JSON that the store does not read.
    pub state: Value,
}

impl Store {
    /// What others want of the oldest open turn that this process has of a session.
    pub async fn turn_wishes(&self, session: SessionId) -> StoreResult<TurnWishes> {
        let owners = self.owners();
        self.read(move |db| {
            let sql = "SELECT id, stop_by,
                           (SELECT count(*) FROM turn_followers WHERE turn = turns.id) AS followers
                       FROM turns
                       WHERE session = ?1 AND ended IS NULL AND owner = ?2 ORDER BY id LIMIT 1";
            let found = db.first(sql, [session.0, owners.own().0], |row| {
                let is_followed = row.get::<_, i64>("followers")? > 0;
                let turn = TurnId(row.get("id")?);
                Ok(TurnWishes {
                    stop_by: rows::optional_json(row, "stop_by")?,
                    followed: is_followed.then_some(turn),
                })
            })?;
            Ok(found.unwrap_or_default())
        })
        .await
    }

    /// Says that somebody follows a turn here that another process runs.
    pub async fn follow_turn(&self, turn: TurnId) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "INSERT INTO turn_followers (turn, owner) VALUES (?1, ?2)
                       ON CONFLICT DO NOTHING";
            db.execute(sql, [turn.0, owners.own().0]).map(drop)
        })
        .await
    }

    /// Says that nobody follows a turn here any more.
    pub async fn unfollow_turn(&self, turn: TurnId) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "DELETE FROM turn_followers WHERE turn = ?1 AND owner = ?2";
            db.execute(sql, [turn.0, owners.own().0])?;
            // The last one puts out the light.
            let sql = "DELETE FROM turn_snapshots WHERE turn = ?1
                       AND NOT EXISTS (SELECT 1 FROM turn_followers WHERE turn = ?1)";
            db.execute(sql, [turn.0]).map(drop)
        })
        .await
    }

    /// Keeps how a turn of this process stands, for those who follow it. One that has ended, or is
    /// another process's by now, has none.
    pub async fn relay_snapshot(&self, turn: TurnId, state: Value) -> StoreResult<()> {
        let (owners, state) = (self.owners(), codec::pack(&rows::to_json(&state)?));
        self.write(move |db| {
            let sql = "INSERT INTO turn_snapshots (turn, version, state)
                       SELECT id, 1, ?2 FROM turns WHERE id = ?1 AND owner = ?3 AND ended IS NULL
                       ON CONFLICT (turn) DO UPDATE
                       SET version = turn_snapshots.version + 1, state = excluded.state";
            db.execute(sql, params![turn.0, state, owners.own().0]).map(drop)
        })
        .await
    }

    /// How a turn of another process stands, if that is newer than what was seen.
    pub async fn relayed_snapshot(
        &self,
        turn: TurnId,
        seen: i64,
    ) -> StoreResult<Option<RelayedSnapshot>> {
        self.read(move |db| {
            let sql = "SELECT version, state FROM turn_snapshots WHERE turn = ?1 AND version > ?2";
            db.first(sql, [turn.0, seen], |row| {
                let state = rows::packed_json(row, "state")?;
                let state =
                    state.ok_or_else(|| DbError::damaged(format!("a snapshot of turn {turn}")))?;
                Ok(RelayedSnapshot { version: row.get("version")?, state })
            })
        })
        .await
    }

    /// Whether no other process that lives uses the store.
    pub async fn is_alone(&self) -> StoreResult<bool> {
        let owners = self.owners();
        self.read(move |db| owners.is_alone_with(db, &[])).await
    }
}
