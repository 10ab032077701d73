//! A few connections that only read. Each read sees the database as of one
//! instant, and no read waits for a writer.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::error::{StoreError, StoreResult};
use crate::rows::DbResult;
use crate::source::ConnectionSource;
use crate::sql::{ConnectionMode, SqlConnection};

/// How many read at once. They are as many connections, and reads are short.
const AT_ONCE: usize = 8;

/// Connections that read.
pub(crate) struct ReaderPool {
    source: Arc<ConnectionSource>,
    permits: Semaphore,
    /// A connection whose reader panicked is not put back.
    idle: Mutex<Vec<SqlConnection>>,
}

impl ReaderPool {
    pub(crate) fn new(source: Arc<ConnectionSource>, first: SqlConnection) -> Self {
        let idle = Mutex::new(vec![first]);
        ReaderPool { source, permits: Semaphore::new(AT_ONCE), idle }
    }

    /// The database that they read.
    pub(crate) fn source(&self) -> &Arc<ConnectionSource> {
        &self.source
    }

    /// Runs `work` on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        readers: &Arc<Self>,
        work: impl FnOnce(&SqlConnection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let _permit = readers.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let mine = readers.clone();
        let read = spawn_blocking(move || {
            let db = mine.begin()?;
            let found = in_snapshot(&db, work);
            // A transaction that could not be ended stays with its connection.
            if db.is_idle() {
                mine.idle.lock().push(db);
            }
            found
        });
        match read.await {
            Ok(found) => found.map_err(|error| error.at_path(readers.source.place())),
            Err(error) if error.is_panic() => {
                Err(StoreError::Failed { what: "a read panicked".into() })
            }
            Err(_) => Err(StoreError::Closed),
        }
    }

    /// A connection in a transaction.
    fn begin(&self) -> DbResult<SqlConnection> {
        loop {
            let idle = self.idle.lock().pop();
            let was_idle = idle.is_some();
            let db = match idle {
                Some(db) => db,
                None => self.source.connect(ConnectionMode::Reading)?,
            };
            match db.begin(ConnectionMode::Reading) {
                // Its server may have been restarted since it was last used.
                Err(error) if was_idle && error.is_transient() => {}
                begun => return begun.map(|()| db),
            }
        }
    }
}

/// Runs `work` in the transaction that `db` is in, and ends that: only there do several queries
/// see the same instant.
fn in_snapshot<T>(
    db: &SqlConnection,
    work: impl FnOnce(&SqlConnection) -> DbResult<T>,
) -> DbResult<T> {
    let found = work(db);
    // Nothing was changed. A commit would fail after a row that SQLite could not
    // read, also where the work went on without it.
    let ended = db.roll_back();
    let found = found?;
    ended?;
    Ok(found)
}
