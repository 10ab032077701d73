//! Whether anything was written to the store, by whichever process: a question that costs next to
//! nothing, for those who would otherwise read again and again.

use std::path::PathBuf;
use std::time::Duration;

use recto_fs::blocking;
use rusqlite::Connection;

use crate::error::{DbError, StoreResult};
use crate::rows::DbResult;
use crate::schema::{self, ConnectionMode};
use crate::store::Store;

/// Tells whether the store has changed since it was last asked.
#[derive(Debug)]
pub struct ChangeWatch {
    path: PathBuf,
    busy: Duration,
    /// SQLite tells a connection of changes that others made, and of no more than that there were
    /// some: so it is always the same one that asks.
    asked: Option<(Connection, i64)>,
}

impl Store {
    /// Begins to watch. At first all is new.
    pub fn watch_changes(&self) -> ChangeWatch {
        let (path, busy) = self.reading_options();
        ChangeWatch { path, busy, asked: None }
    }
}

impl ChangeWatch {
    /// Whether anything was written since this was last asked. After an error, all is new again.
    pub async fn has_changed(&mut self) -> StoreResult<bool> {
        let (path, busy, asked) = (self.path.clone(), self.busy, self.asked.take());
        let read = move || -> DbResult<(Connection, i64, bool)> {
            let (db, before) = match asked {
                Some((db, version)) => (db, Some(version)),
                None => (schema::connect(&path, ConnectionMode::Reading, busy)?, None),
            };
            let version = db.query_row("PRAGMA data_version", [], |row| row.get(0))?;
            Ok((db, version, before != Some(version)))
        };
        let read = blocking(read).await;
        let (db, version, is_new) = read.map_err(|error: DbError| error.at_path(&self.path))?;
        self.asked = Some((db, version));
        Ok(is_new)
    }
}
