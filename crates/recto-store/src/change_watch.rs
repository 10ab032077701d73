//! Whether anything was written to the store, by whichever process: a question that costs next to
//! nothing, for those who would otherwise read again and again.

use std::sync::Arc;
use std::time::Duration;

use recto_fs::blocking;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

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
    /// Hints that it is worth to ask, where the database gives any.
    hints: Option<watch::Receiver<u64>>,
}

/// Nobody looks more often than so, however much is written.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

impl std::fmt::Debug for ChangeWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeWatch").field("place", &self.source.place()).finish_non_exhaustive()
    }
}

impl Store {
    /// Begins to watch. At first all is new.
    pub fn watch_changes(&self) -> ChangeWatch {
        let source = self.source();
        ChangeWatch { hints: source.hints(), source, asked: None }
    }
}

impl ChangeWatch {
    /// Waits until it may be worth to ask, which is so after this time at the latest.
    pub async fn wait(&mut self, longest: Duration) {
        let shortest = SHORTEST_WAIT.min(longest);
        sleep(if self.hints.is_some() { shortest } else { longest }).await;
        if let Some(hints) = &mut self.hints {
            // The sender lives as long as the source, which is here.
            let _ = timeout(longest.saturating_sub(shortest), hints.changed()).await;
        }
    }

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
