//! Hints that something was written, by whichever node: LISTEN and NOTIFY, where the server has
//! them.
//!
//! A hint says nothing but that it is worth a look. One that is lost costs the time until the next look, so
//! nothing depends on them, and a server without them only lets people wait a little longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator as _;
use tokio::sync::watch;

use super::{PostgresConnection, PostgresServer};
use crate::rows::DbResult;
use crate::sql::ConnectionMode;

/// The name under which nodes hear of each other.
const CHANNEL: &str = "recto_changes";

/// How the end of a transaction is written that others are to hear of.
pub(super) const COMMIT_AND_NOTIFY: &str = "NOTIFY recto_changes; COMMIT";

/// How long the thread waits for hints until it looks whether anybody wants them.
const WAIT: Duration = Duration::from_millis(500);

/// What is known of hints on a server.
#[derive(Debug, Default)]
pub(crate) struct ChangeHints {
    /// Whether the server has them.
    is_available: AtomicBool,
    /// Whether a thread listens.
    is_heard: AtomicBool,
    /// Changes with every hint.
    heard: watch::Sender<u64>,
}

impl ChangeHints {
    /// Finds out whether the server has them.
    pub(crate) fn try_out(&self, db: &PostgresConnection) {
        let tried = db.batch(&format!("LISTEN {CHANNEL}; UNLISTEN {CHANNEL}"));
        self.is_available.store(tried.is_ok(), Ordering::Relaxed);
    }

    /// Whether the server has them.
    pub(crate) fn are_available(&self) -> bool {
        self.is_available.load(Ordering::Relaxed)
    }
}

/// Begins to listen, unless the server has no hints. A thread does, for as long as anybody wants
/// them.
pub(crate) fn listen(server: &Arc<PostgresServer>) -> Option<watch::Receiver<u64>> {
    let hints = server.hints();
    if !hints.are_available() {
        return None;
    }
    let receiver = hints.heard.subscribe();
    if !hints.is_heard.swap(true, Ordering::SeqCst) {
        let server = server.clone();
        let work = move || {
            while server.hints().heard.receiver_count() > 0 {
                // A lost connection is made anew.
                if hear(&server).is_err() {
                    thread::sleep(WAIT);
                }
            }
            server.hints().is_heard.store(false, Ordering::SeqCst);
        };
        let started = thread::Builder::new().name("recto-hints".into()).spawn(work);
        hints.is_heard.store(started.is_ok(), Ordering::SeqCst);
    }
    Some(receiver)
}

/// Passes on what is heard over one connection.
fn hear(server: &PostgresServer) -> DbResult<()> {
    let db = server.connect(ConnectionMode::Reading)?;
    db.batch(&format!("LISTEN {CHANNEL}"))?;
    // What came before is missed, and no more is.
    server.hints().heard.send_modify(|count| *count += 1);
    while server.hints().heard.receiver_count() > 0 {
        if db.wait_for_notification(WAIT)? {
            server.hints().heard.send_modify(|count| *count += 1);
        }
    }
    Ok(())
}

impl PostgresConnection {
    /// Waits until something is heard, and takes all of it at once.
    fn wait_for_notification(&self, longest: Duration) -> DbResult<bool> {
        let mut client = self.client.borrow_mut();
        let mut notifications = client.get()?.notifications();
        let is_heard = notifications.timeout_iter(longest).next()?.is_some();
        while is_heard && notifications.iter().next()?.is_some() {}
        Ok(is_heard)
    }
}
