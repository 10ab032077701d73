//! The one thread that writes.
//!
//! Jobs wait in a channel. The thread takes all that are there, does them in
//! one transaction, commits, and then answers each: the more there is to do,
//! the fewer commits it takes. Every job has a savepoint, so that one that
//! fails leaves the others alone. Where SQLite gives up the whole transaction
//! (a full disk), each job gets a transaction of its own. Where a server refuses it
//! for the moment, or is gone, all of it is done again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::error::{DbError, StoreError, StoreResult};
use crate::rows::DbResult;
use crate::source::{ConnectionSource, Pauses};
use crate::sql::{ConnectionMode, SqlConnection, WorkFailed};
use crate::sqlite::checkpoint::CommitSignal;
use crate::writable::WriteHealth;

/// So many jobs share a commit at most; those behind them wait no longer.
const AT_ONCE: usize = 256;

/// The way to the thread; it ends when this is dropped.
pub(crate) struct StoreWriter {
    source: Arc<ConnectionSource>,
    health: Arc<WriteHealth>,
    jobs: Option<Sender<Box<dyn WriteJob>>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    /// Starts to write to `db`, a connection of `source`.
    pub(crate) fn start(
        db: SqlConnection,
        source: Arc<ConnectionSource>,
        signal: Arc<CommitSignal>,
    ) -> Self {
        let (sender, jobs) = channel();
        let mut link = WriterLink { source: source.clone(), db: Some(db) };
        let thread = thread::Builder::new()
            .name("recto-writer".into())
            .spawn(move || run(&mut link, &jobs, &signal))
            .ok();
        StoreWriter { source, health: Arc::default(), jobs: Some(sender), thread }
    }

    /// How the last write ended.
    pub(crate) fn health(&self) -> &WriteHealth {
        &self.health
    }

    /// Does `work` in a transaction; once this answers, it is on the disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&SqlConnection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let (source, health) = (self.source.clone(), self.health.clone());
        let job = WriteTask { work, done: None, reply, source, health };
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(Box::new(job)).map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // What is in the channel is still done.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A piece of writing that waits for its transaction.
trait WriteJob: Send {
    /// Does the work, possibly for a second time, and keeps what it gave for the answer.
    fn attempt(&mut self, db: &SqlConnection) -> Result<(), WorkFailed>;

    /// Answers, now that all of the transaction is committed or has failed.
    fn answer(self: Box<Self>, transaction: StoreResult<()>);
}

struct WriteTask<T, W> {
    work: W,
    done: Option<DbResult<T>>,
    reply: oneshot::Sender<StoreResult<T>>,
    source: Arc<ConnectionSource>,
    health: Arc<WriteHealth>,
}

impl<T, W> WriteJob for WriteTask<T, W>
where
    T: Send,
    W: FnMut(&SqlConnection) -> DbResult<T> + Send,
{
    fn attempt(&mut self, db: &SqlConnection) -> Result<(), WorkFailed> {
        // What a job that panicked has written is rolled back with it.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(db)))
            .unwrap_or_else(|_| Err(StoreError::Failed { what: "a write panicked".into() }.into()));
        let attempt = match done {
            Err(error) if error.is_transient() => return Err(WorkFailed::WithTransaction(error)),
            Err(_) => Err(WorkFailed::Alone),
            Ok(_) => Ok(()),
        };
        self.done = Some(done);
        attempt
    }

    fn answer(self: Box<Self>, transaction: StoreResult<()>) {
        let done = match (self.done, transaction) {
            (Some(Err(error)), _) => Err(error.at_path(self.source.place())),
            (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        self.health.note(&done);
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(done);
    }
}

fn run(link: &mut WriterLink, jobs: &Receiver<Box<dyn WriteJob>>, signal: &CommitSignal) {
    let place = link.source.place().to_owned();
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(AT_ONCE - 1));
        match link.commit(&mut batch) {
            Err(TransactionError::Midway(error)) if batch.len() > 1 && !error.is_transient() => {
                for mut job in batch {
                    let done = link.commit(slice::from_mut(&mut job));
                    job.answer(done.map_err(|error| error.at_path(&place)));
                }
            }
            done => {
                let done = done.map_err(|error| error.at_path(&place));
                batch.into_iter().for_each(|job| job.answer(done.clone()));
            }
        }
        if let Some(db) = &link.db {
            signal.notify(db);
        }
    }
}

/// The connection that writes, and where another one comes from when it is lost.
struct WriterLink {
    source: Arc<ConnectionSource>,
    db: Option<SqlConnection>,
}

impl WriterLink {
    /// Commits all jobs in one transaction. What a server refuses for the moment is tried again
    /// for a while, as long as it is certain that nothing was committed.
    fn commit(&mut self, jobs: &mut [Box<dyn WriteJob>]) -> Result<(), TransactionError> {
        let mut pauses = Pauses::within(self.source.patience());
        loop {
            let connected = self.connection().map_err(TransactionError::AtStart);
            let done = connected.and_then(|db| commit_batch(db, jobs));
            match done {
                Err(TransactionError::AtStart(error) | TransactionError::Midway(error))
                    if error.is_transient() && pauses.wait() => {}
                done => return done,
            }
        }
    }

    fn connection(&mut self) -> DbResult<&SqlConnection> {
        let db = match self.db.take().filter(|db| !db.is_closed()) {
            Some(db) => db,
            None => self.source.connect(ConnectionMode::Writing)?,
        };
        Ok(self.db.insert(db))
    }
}

/// Why a transaction was not committed.
enum TransactionError {
    /// It could not begin.
    AtStart(DbError),
    /// It could not go on, or was refused in the end: nothing of it is there.
    Midway(DbError),
    /// The server was lost while it was committed: all of it may be there, or nothing.
    Unsure(DbError),
}

impl TransactionError {
    fn at_path(self, path: &Path) -> StoreError {
        match self {
            TransactionError::AtStart(error) | TransactionError::Midway(error) => {
                error.at_path(path)
            }
            TransactionError::Unsure(error) => match error.at_path(path) {
                StoreError::Unreachable { url, why } => {
                    let why = format!("it was lost while something was being stored ({why})");
                    StoreError::Unreachable { url, why }
                }
                error => error,
            },
        }
    }
}

/// Does all jobs in one transaction and commits it.
fn commit_batch(
    db: &SqlConnection,
    jobs: &mut [Box<dyn WriteJob>],
) -> Result<(), TransactionError> {
    db.begin(ConnectionMode::Writing).map_err(TransactionError::AtStart)?;
    let ended = match do_jobs(db, jobs) {
        Ok(JobsEnding::Commit) => db.commit().map_err(|error| {
            let is_certain = !error.is_transient() || error.is_conflict();
            let kind = if is_certain { TransactionError::Midway } else { TransactionError::Unsure };
            kind(error)
        }),
        // SQLite may have rolled back everything already.
        Ok(JobsEnding::RollBack) if db.is_idle() => Ok(()),
        Ok(JobsEnding::RollBack) => db.roll_back().map_err(TransactionError::Midway),
        Err(error) => Err(TransactionError::Midway(error)),
    };
    if ended.is_err() && !db.is_idle() {
        // What can't be rolled back shows at the next beginning.
        let _ = db.roll_back();
    }
    ended
}

/// How a transaction is to end.
enum JobsEnding {
    Commit,
    RollBack,
}

/// Does all jobs, each so that it leaves the others alone where it fails. Fails itself when the
/// transaction is lost.
fn do_jobs(db: &SqlConnection, jobs: &mut [Box<dyn WriteJob>]) -> DbResult<JobsEnding> {
    let [job] = jobs else {
        let mut all = jobs.iter_mut();
        all.try_for_each(|job| db.within_savepoint(|| job.attempt(db)))?;
        return Ok(JobsEnding::Commit);
    };
    // One by itself takes the transaction with it.
    match job.attempt(db) {
        Ok(()) => Ok(JobsEnding::Commit),
        Err(WorkFailed::Alone) => Ok(JobsEnding::RollBack),
        Err(WorkFailed::WithTransaction(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests;
