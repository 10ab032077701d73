//! A thread that moves the write-ahead log into the database, so that no commit
//! has to. It works while others write, and so may never quite finish; when the
//! log has become large, the writer is asked to pause and do the rest. All commits wait
//! for that, so the thread first moves what was written while it moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::sql::SqlConnection;

/// How long commits gather before they are moved.
const PAUSE: Duration = Duration::from_millis(250);

/// A log of this many pages, 64 MB, is large.
const LARGE: i64 = 16 << 10;

/// How often it is moved again before the writer is asked to do the rest. Each time there is less
/// to do, and so less is written meanwhile.
const FURTHER_PASSES: usize = 2;

/// The thread; it ends when this is dropped.
pub(crate) struct Checkpointer {
    signal: Arc<CommitSignal>,
    thread: Option<JoinHandle<()>>,
}

/// Tells the thread that something was committed.
#[derive(Default)]
pub(crate) struct CommitSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
    log_is_large: AtomicBool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum SignalState {
    #[default]
    Quiet,
    Pending,
    Closing,
}

impl Checkpointer {
    /// Moves what is committed whenever the signal is given.
    pub(crate) fn start(db: Connection) -> Self {
        let signal = Arc::<CommitSignal>::default();
        let mine = signal.clone();
        let work = move || {
            while mine.wait() {
                let mut pages = checkpoint(&db);
                for _ in 0..FURTHER_PASSES {
                    if pages > LARGE {
                        pages = checkpoint(&db);
                    }
                }
                mine.log_is_large.store(pages > LARGE, Ordering::Relaxed);
            }
        };
        // Without the thread the log only grows until the store closes.
        let thread = thread::Builder::new().name("recto-checkpoint".into()).spawn(work).ok();
        Checkpointer { signal, thread }
    }

    /// The way to tell the thread of a commit.
    pub(crate) fn signal(&self) -> Arc<CommitSignal> {
        self.signal.clone()
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.signal.set(SignalState::Closing);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has harmed nothing but the log's size.
            let _ = thread.join();
        }
    }
}

impl CommitSignal {
    /// Tells of a commit by `db`, which has no transaction open. Where the log has
    /// become large, it is moved at once: with nobody writing, the next commit
    /// begins at its start again.
    pub(crate) fn notify(&self, db: &SqlConnection) {
        let SqlConnection::Sqlite(db) = db else { return };
        if self.log_is_large.swap(false, Ordering::Relaxed) {
            checkpoint(db.raw());
        }
        self.set(SignalState::Pending);
    }

    fn set(&self, state: SignalState) {
        let mut current = self.state.lock();
        if *current != state && *current != SignalState::Closing {
            *current = state;
            self.changed.notify_all();
        }
    }

    /// Waits for a commit, and a little longer; false when it is time to end.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| *state == SignalState::Quiet);
        self.changed.wait_while_for(&mut state, |state| *state != SignalState::Closing, PAUSE);
        if *state == SignalState::Closing {
            return false;
        }
        *state = SignalState::Quiet;
        true
    }
}

/// Moves what can be moved without waiting, and says how many pages the log
/// has. A failure shows again, with its cause, at the next commit.
fn checkpoint(db: &Connection) -> i64 {
    let pages = |row: &rusqlite::Row<'_>| row.get("log");
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], pages).unwrap_or_default()
}
