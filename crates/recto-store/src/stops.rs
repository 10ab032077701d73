//! Requests to stop a turn, which reach it wherever it is: the process that runs it looks for
//! them (`turn_relays.rs`), and whoever takes it up finds them with it.

use crate::sql::params;
use serde_json::Value;

use crate::error::StoreResult;
use crate::ids::{SessionId, TurnId};
use crate::rows;
use crate::store::Store;

impl Store {
    /// Asks to stop a turn, in somebody's name: JSON that the store does not read. Says
    /// whether the turn was open. The first who asks is kept.
    pub async fn request_stop(&self, turn: TurnId, by: Value) -> StoreResult<bool> {
        self.write(move |db| {
            let sql = "UPDATE turns SET stop_by = coalesce(stop_by, ?2)
                       WHERE id = ?1 AND ended IS NULL";
            Ok(db.execute(sql, params![turn.0, rows::to_json(&by)?])? == 1)
        })
        .await
    }

    /// Asks to stop the turn that this process runs in a session, if it runs one.
    pub async fn request_stop_of_own(&self, session: SessionId, by: Value) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "UPDATE turns SET stop_by = coalesce(stop_by, ?3)
                       WHERE session = ?1 AND ended IS NULL AND status = 'running' AND owner = ?2";
            let values = params![session.0, owners.own().0, rows::to_json(&by)?];
            db.execute(sql, values).map(drop)
        })
        .await
    }
}
