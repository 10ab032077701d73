//! A few connections that only read. Each read sees the database as of one
//! instant, and no read waits for a writer.
//!
//! Reads wait in a queue, and threads take them from there one after the other. What a read costs is
//! mostly the way to its thread and the beginning of its transaction. So while reads are short, few
//! threads are called, and those that waited together share a transaction: all of them asked before it
//! began. A read that has waited for longer than a short one takes calls in another thread.
//!
//! A read goes on whether or not whoever asked for it is being run: a task that reads in two
//! places, and goes on in only one of them, would else keep a connection for as long as it waits
//! for another, and a few such tasks would wait for each other for ever.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::{DbError, StoreError, StoreResult};
use crate::rows::DbResult;
use crate::source::ConnectionSource;
use crate::sql::{ConnectionMode, SqlConnection};

/// How many read at once. They are as many connections, and reads are short.
const AT_ONCE: usize = 8;

/// Longer than a short read takes.
const SHORT: Duration = Duration::from_millis(2);

/// Connections that read.
pub(crate) struct ReaderPool {
    source: Arc<ConnectionSource>,
    queue: Mutex<ReadQueue>,
    /// How many threads are called before anybody has waited.
    few: usize,
    /// A connection whose reader panicked is not put back.
    idle: Mutex<Vec<SqlConnection>>,
}

/// Reads that wait for a thread.
#[derive(Default)]
struct ReadQueue {
    waiting: VecDeque<QueuedRead>,
    /// How many have come so far.
    count: u64,
    /// How many threads take from it.
    threads: usize,
}

struct QueuedRead {
    /// Its number among all that have come.
    number: u64,
    job: Box<dyn QueuedJob>,
}

impl ReaderPool {
    pub(crate) fn new(source: Arc<ConnectionSource>, first: SqlConnection) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        ReaderPool {
            source,
            queue: Mutex::default(),
            few: (cores / 2).clamp(1, AT_ONCE),
            idle: Mutex::new(vec![first]),
        }
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
        let (reply, mut answer) = oneshot::channel();
        readers.queue.lock().push(Box::new(ReadTask { work, reply }));
        ReaderPool::call_thread(readers, readers.few);
        let found = match timeout(SHORT, &mut answer).await {
            Ok(found) => found,
            Err(_) => {
                ReaderPool::call_thread(readers, AT_ONCE);
                answer.await
            }
        };
        let found = found.map_err(|_| StoreError::Closed)?;
        found.map_err(|error| error.at_path(readers.source.place()))
    }

    /// Has another thread take from the queue, where something waits in it and fewer than so many do.
    fn call_thread(readers: &Arc<Self>, fewer_than: usize) {
        if readers.queue.lock().admit_thread(fewer_than) {
            let thread = ReaderThread { readers: readers.clone(), is_counted: true };
            spawn_blocking(move || thread.serve());
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

    /// Ends the transaction of a connection. Nothing was changed, and a commit would fail after a
    /// row that SQLite could not read, also where the work went on without it.
    fn end(&self, db: SqlConnection) {
        // A transaction that could not be ended stays with its connection.
        if db.roll_back().is_ok() && db.is_idle() {
            self.idle.lock().push(db);
        }
    }
}

impl ReadQueue {
    fn push(&mut self, job: Box<dyn QueuedJob>) {
        self.count += 1;
        self.waiting.push_back(QueuedRead { number: self.count, job });
    }

    fn admit_thread(&mut self, fewer_than: usize) -> bool {
        let is_needed = !self.waiting.is_empty() && self.threads < fewer_than;
        self.threads += usize::from(is_needed);
        is_needed
    }

    /// The next read that somebody still waits for, if it came up to this number.
    fn pop(&mut self, up_to: u64) -> Option<Box<dyn QueuedJob>> {
        while self.waiting.front().is_some_and(|read| read.number <= up_to) {
            let job = self.waiting.pop_front()?.job;
            if job.is_awaited() {
                return Some(job);
            }
        }
        None
    }
}

/// A thread that takes from the queue until nothing waits in it.
struct ReaderThread {
    readers: Arc<ReaderPool>,
    /// Whether it counts among those that take from the queue.
    is_counted: bool,
}

impl ReaderThread {
    fn serve(mut self) {
        while let Some((first, asked_before)) = self.next() {
            match self.readers.begin() {
                Ok(db) => self.read_in_snapshot(db, first, asked_before),
                Err(error) => first.refuse(error),
            }
        }
    }

    /// The next read, and the number of the last that was asked for before this. Where there is
    /// none, the thread is done, and whoever asks from now on calls another.
    fn next(&mut self) -> Option<(Box<dyn QueuedJob>, u64)> {
        let mut queue = self.readers.queue.lock();
        let first = queue.pop(u64::MAX);
        if first.is_none() {
            queue.threads -= 1;
            self.is_counted = false;
        }
        first.map(|first| (first, queue.count))
    }

    /// Does a read, and all behind it that were asked for before its transaction began: only there
    /// do several queries see the same instant.
    fn read_in_snapshot(&self, db: SqlConnection, first: Box<dyn QueuedJob>, asked_before: u64) {
        let mut next = Some(first);
        while let Some(job) = next {
            match job.read(&db) {
                ReadEnding::Done => {}
                // What a server refuses ends its transaction.
                ReadEnding::Failed => break,
                ReadEnding::Panicked => return,
            }
            next = self.readers.queue.lock().pop(asked_before);
        }
        self.readers.end(db);
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        // The runtime has ended before it began. Nobody else may come to what waits.
        let mut queue = self.readers.queue.lock();
        queue.threads -= 1;
        if queue.threads == 0 {
            queue.waiting.clear();
        }
    }
}

/// A read that waits for a thread. It hangs on nothing that whoever asked for it holds.
trait QueuedJob: Send {
    /// Whether somebody waits for its answer.
    fn is_awaited(&self) -> bool;

    /// Reads within a transaction, and answers.
    fn read(self: Box<Self>, db: &SqlConnection) -> ReadEnding;

    /// Answers that there is no connection to read by.
    fn refuse(self: Box<Self>, error: DbError);
}

/// How a read ended, as far as it matters to its connection.
enum ReadEnding {
    Done,
    Failed,
    Panicked,
}

struct ReadTask<T, W> {
    work: W,
    reply: oneshot::Sender<DbResult<T>>,
}

impl<T, W> QueuedJob for ReadTask<T, W>
where
    T: Send,
    W: FnOnce(&SqlConnection) -> DbResult<T> + Send,
{
    fn is_awaited(&self) -> bool {
        !self.reply.is_closed()
    }

    fn read(self: Box<Self>, db: &SqlConnection) -> ReadEnding {
        let ReadTask { work, reply } = *self;
        let found = catch_unwind(AssertUnwindSafe(|| work(db)));
        let ending = match &found {
            Ok(Ok(_)) => ReadEnding::Done,
            Ok(Err(_)) => ReadEnding::Failed,
            Err(_) => ReadEnding::Panicked,
        };
        let found = found
            .unwrap_or_else(|_| Err(StoreError::Failed { what: "a read panicked".into() }.into()));
        // Whoever asked may have stopped waiting.
        let _ = reply.send(found);
        ending
    }

    fn refuse(self: Box<Self>, error: DbError) {
        let _ = self.reply.send(Err(error));
    }
}
