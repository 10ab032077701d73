//! The one thread that writes.
//!
//! Jobs wait in a channel. The thread takes all that are there, does them in
//! one transaction, commits, and then answers each: the more there is to do,
//! the fewer commits it takes. Every job has a savepoint, so that one that
//! fails leaves the others alone. Where SQLite gives up the whole transaction
//! (a full disk), each job gets a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::checkpoint::CommitSignal;
use crate::error::{DbError, StoreError, StoreResult};
use crate::rows::DbResult;
use crate::writable::WriteHealth;

/// So many jobs share a commit at most; those behind them wait no longer.
const AT_ONCE: usize = 256;

/// The way to the thread; it ends when this is dropped.
pub(crate) struct StoreWriter {
    path: Arc<PathBuf>,
    health: Arc<WriteHealth>,
    jobs: Option<Sender<Box<dyn WriteJob>>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    /// Starts to write to `db`, the database at `path`.
    pub(crate) fn start(db: Connection, path: PathBuf, signal: Arc<CommitSignal>) -> Self {
        let (sender, jobs) = channel();
        let path = Arc::new(path);
        let mine = path.clone();
        let thread = thread::Builder::new()
            .name("recto-writer".into())
            .spawn(move || run(&db, &jobs, &mine, &signal))
            .ok();
        StoreWriter { path, health: Arc::default(), jobs: Some(sender), thread }
    }

    /// How the last write ended.
    pub(crate) fn health(&self) -> &WriteHealth {
        &self.health
    }

    /// Does `work` in a transaction; once this answers, it is on the disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let (path, health) = (self.path.clone(), self.health.clone());
        let job = WriteTask { work, done: None, reply, path, health };
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
    fn attempt(&mut self, db: &Connection) -> Attempt;

    /// Answers, now that all of the transaction is committed or has failed.
    fn answer(self: Box<Self>, transaction: StoreResult<()>);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Worked,
    Failed,
}

struct WriteTask<T, W> {
    work: W,
    done: Option<DbResult<T>>,
    reply: oneshot::Sender<StoreResult<T>>,
    path: Arc<PathBuf>,
    health: Arc<WriteHealth>,
}

impl<T, W> WriteJob for WriteTask<T, W>
where
    T: Send,
    W: FnMut(&Connection) -> DbResult<T> + Send,
{
    fn attempt(&mut self, db: &Connection) -> Attempt {
        // What a job that panicked has written is rolled back with it.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(db)))
            .unwrap_or_else(|_| Err(StoreError::Failed { what: "a write panicked".into() }.into()));
        let attempt = if done.is_ok() { Attempt::Worked } else { Attempt::Failed };
        self.done = Some(done);
        attempt
    }

    fn answer(self: Box<Self>, transaction: StoreResult<()>) {
        let done = match (self.done, transaction) {
            (Some(Err(error)), _) => Err(error.at_path(&self.path)),
            (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        self.health.note(&done);
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(done);
    }
}

fn run(db: &Connection, jobs: &Receiver<Box<dyn WriteJob>>, path: &Path, signal: &CommitSignal) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(AT_ONCE - 1));
        match commit_batch(db, &mut batch) {
            Err(TransactionError::Midway(_)) if batch.len() > 1 => {
                for mut job in batch {
                    let done = commit_batch(db, slice::from_mut(&mut job));
                    job.answer(done.map_err(|error| error.at_path(path)));
                }
            }
            done => {
                let done = done.map_err(|error| error.at_path(path));
                batch.into_iter().for_each(|job| job.answer(done.clone()));
            }
        }
        signal.notify(db);
    }
}

/// Why nothing of a transaction was committed.
enum TransactionError {
    /// It could not begin.
    AtStart(DbError),
    /// It could not go on, or not be committed.
    Midway(DbError),
}

impl TransactionError {
    fn at_path(self, path: &Path) -> StoreError {
        let (TransactionError::AtStart(error) | TransactionError::Midway(error)) = self;
        error.at_path(path)
    }
}

/// Does all jobs in one transaction and commits it.
fn commit_batch(db: &Connection, jobs: &mut [Box<dyn WriteJob>]) -> Result<(), TransactionError> {
    let started = Transaction::new_unchecked(db, TransactionBehavior::Immediate);
    let transaction = started.map_err(|error| TransactionError::AtStart(error.into()))?;
    let midway = |error: rusqlite::Error| TransactionError::Midway(error.into());
    for job in jobs {
        attempt(&transaction, job.as_mut()).map_err(midway)?;
    }
    transaction.commit().map_err(midway)
}

/// Does one job within its savepoint. Fails only when the whole transaction is
/// lost.
fn attempt(db: &Connection, job: &mut dyn WriteJob) -> rusqlite::Result<()> {
    let step = |sql| db.prepare_cached(sql)?.execute([]).map(drop);
    step("SAVEPOINT job")?;
    if job.attempt(db) == Attempt::Failed {
        // Fails when SQLite has rolled back everything already.
        step("ROLLBACK TO job")?;
    }
    step("RELEASE job")
}

#[cfg(test)]
mod tests;
