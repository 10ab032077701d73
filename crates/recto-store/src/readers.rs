//! A few connections that only read. Each read sees the database as of one
//! instant, and no read waits for a writer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::error::{StoreError, StoreResult};
use crate::rows::DbResult;
use crate::schema::{self, ConnectionMode};

/// How many read at once. They are as many connections, and reads are short.
const AT_ONCE: usize = 8;

/// Connections that read.
#[derive(Debug)]
pub(crate) struct ReaderPool {
    path: PathBuf,
    busy: Duration,
    permits: Semaphore,
    /// A connection whose reader panicked is not put back.
    idle: Mutex<Vec<Connection>>,
}

impl ReaderPool {
    pub(crate) fn new(path: PathBuf, busy: Duration, first: Connection) -> Self {
        let idle = Mutex::new(vec![first]);
        ReaderPool { path, busy, permits: Semaphore::new(AT_ONCE), idle }
    }

    /// The database that they read.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long they wait for whoever writes.
    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }

    /// Runs `work` on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        readers: &Arc<Self>,
        work: impl FnOnce(&Connection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let _permit = readers.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let mine = readers.clone();
        let read = spawn_blocking(move || {
            let db = mine.take()?;
            let found = in_snapshot(&db, work);
            // A transaction that could not be ended stays with its connection.
            if db.is_autocommit() {
                mine.idle.lock().push(db);
            }
            found
        });
        match read.await {
            Ok(found) => found.map_err(|error| error.at_path(&readers.path)),
            Err(error) if error.is_panic() => {
                Err(StoreError::Failed { what: "a read panicked".into() })
            }
            Err(_) => Err(StoreError::Closed),
        }
    }

    fn take(&self) -> DbResult<Connection> {
        match self.idle.lock().pop() {
            Some(db) => Ok(db),
            None => schema::connect(&self.path, ConnectionMode::Reading, self.busy),
        }
    }
}

/// Runs `work` in a transaction: only there do several queries see the same instant.
fn in_snapshot<T>(db: &Connection, work: impl FnOnce(&Connection) -> DbResult<T>) -> DbResult<T> {
    // Kept as statements: to parse them anew took longer than a short read.
    let step = |sql| db.prepare_cached(sql)?.execute([]);
    step("BEGIN DEFERRED")?;
    let found = work(db);
    // Nothing was changed. A commit would fail after a row that SQLite could not
    // read, also where the work went on without it.
    let ended = step("ROLLBACK");
    let found = found?;
    ended?;
    Ok(found)
}
