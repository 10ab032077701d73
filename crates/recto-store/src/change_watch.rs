//! Whether anything was written to the store, by whichever process: a question that costs next to
//! nothing, for those who would otherwise read again and again.

use std::sync::Arc;

use recto_fs::blocking;

use crate::error::{DbError, StoreResult};
use crate::rows::DbResult;
use crate::source::ConnectionSource;
use crate::sql::{ConnectionMode, SqlConnection};
use crate::store::Store;

/// Tells whether the store has changed since it was last asked.
pub struct ChangeWatch {
    source: Arc<ConnectionSource>,
    /// A connection of its own, and what it last told.
    asked: Option<(SqlConnection, i64)>,
}

impl std::fmt::Debug for ChangeWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeWatch").field("place", &self.source.place()).finish_non_exhaustive()
    }
}

impl Store {
    /// Begins to watch. At first all is new.
    pub fn watch_changes(&self) -> ChangeWatch {
        ChangeWatch { source: self.source(), asked: None }
    }
}

impl ChangeWatch {
    /// Whether anything was written since this was last asked. After an error, all is new again.
    pub async fn has_changed(&mut self) -> StoreResult<bool> {
        let (source, asked) = (self.source.clone(), self.asked.take());
        let read = move || -> DbResult<(SqlConnection, i64, bool)> {
            let (db, before) = match asked {
                Some((db, counter)) => (db, Some(counter)),
                None => (source.connect(ConnectionMode::Reading)?, None),
            };
            let counter = db.change_counter()?;
            Ok((db, counter, before != Some(counter)))
        };
        let read = blocking(read).await;
        let (db, counter, is_new) =
            read.map_err(|error: DbError| error.at_path(self.source.place()))?;
        self.asked = Some((db, counter));
        Ok(is_new)
    }
}
