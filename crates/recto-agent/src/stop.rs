//! The signal to stop a turn.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::actor::Actor;

/// The signal to stop a turn. Once given it stays, for whatever is done on behalf of
/// that turn: also for an older one that has to be finished first.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    is_requested: AtomicBool,
    /// Who asked for it first.
    by: OnceLock<Actor>,
    notify: Notify,
}

impl StopSignal {
    /// Asks the turn to stop.
    pub(crate) fn request(&self, by: &Actor) {
        let _ = self.by.set(by.clone());
        self.is_requested.store(true, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    /// Who has asked the turn to stop.
    pub(crate) fn requested_by(&self) -> Option<&Actor> {
        self.by.get()
    }

    /// Waits until the stop is requested.
    pub(crate) async fn requested(&self) {
        let notify = self.notify.notified();
        tokio::pin!(notify);
        // From here on no request goes unnoticed.
        notify.as_mut().enable();
        if !self.is_requested.load(Ordering::SeqCst) {
            notify.await;
        }
    }
}
