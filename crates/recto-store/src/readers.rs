//! A few connections that only read. Each read sees the database as of one
//! instant, and no read waits for a writer.
//!
//! A read goes on whether or not whoever asked for it is being run: a task that reads in two
//! places, and goes on in only one of them, would else keep a connection for as long as it waits
//! for another, and a few such tasks would wait for each other for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
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
    permits: Arc<Semaphore>,
    /// A connection whose reader panicked is not put back.
    idle: Mutex<Vec<SqlConnection>>,
}

impl ReaderPool {
    pub(crate) fn new(source: Arc<ConnectionSource>, first: SqlConnection) -> Self {
        let idle = Mutex::new(vec![first]);
        ReaderPool { source, permits: Arc::new(Semaphore::new(AT_ONCE)), idle }
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
        let (reply, answer) = oneshot::channel();
        let read = ReadTask { readers: readers.clone(), work, reply };
        match readers.permits.clone().try_acquire_owned() {
            Ok(permit) => read.start(permit),
            Err(_) => drop(tokio::spawn(read.start_when_free())),
        }
        let found = answer.await.map_err(|_| StoreError::Closed)?;
        found.map_err(|error| error.at_path(readers.source.place()))
    }

    fn run<T>(&self, work: impl FnOnce(&SqlConnection) -> DbResult<T>) -> DbResult<T> {
        let db = self.begin()?;
        let found = catch_unwind(AssertUnwindSafe(|| in_snapshot(&db, work)))
            .map_err(|_| StoreError::Failed { what: "a read panicked".into() })?;
        // A transaction that could not be ended stays with its connection.
        if db.is_idle() {
            self.idle.lock().push(db);
        }
        found
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

/// A read on its way. It hangs on nothing that whoever asked for it holds.
struct ReadTask<T, W> {
    readers: Arc<ReaderPool>,
    work: W,
    reply: oneshot::Sender<DbResult<T>>,
}

impl<T, W> ReadTask<T, W>
where
    T: Send + 'static,
    W: FnOnce(&SqlConnection) -> DbResult<T> + Send + 'static,
{
    /// Reads once there is room, unless nobody waits for it any more.
    async fn start_when_free(mut self) {
        let permits = self.readers.permits.clone();
        tokio::select! {
            Ok(permit) = permits.acquire_owned() => self.start(permit),
            () = self.reply.closed() => {}
        }
    }

    fn start(self, permit: OwnedSemaphorePermit) {
        spawn_blocking(move || {
            let found = self.readers.run(self.work);
            drop(permit);
            // Whoever asked may have stopped waiting.
            let _ = self.reply.send(found);
        });
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
