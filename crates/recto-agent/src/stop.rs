//! The signal to stop: a turn, or the whole agent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::actor::Actor;

/// The signal to stop a turn, or the whole agent. Once given it stays, for whatever is
/// done on behalf of that turn: also for an older one that has to be finished first.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    is_requested: AtomicBool,
    /// Who asked for it first.
    by: OnceLock<Actor>,
    notify: Notify,
}

impl StopSignal {
    /// Asks for the stop, in an actor's name.
    pub(crate) fn request_by(&self, actor: &Actor) {
        let _ = self.by.set(actor.clone());
        self.request();
    }

    /// Asks for the stop.
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    /// Who has asked for the stop, if somebody has.
    pub(crate) fn requested_by(&self) -> Option<&Actor> {
        self.by.get()
    }

    /// Whether the stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::SeqCst)
    }

    /// Waits until the stop is requested.
    pub(crate) async fn requested(&self) {
        let notify = self.notify.notified();
        tokio::pin!(notify);
        // From here on no request goes unnoticed.
        notify.as_mut().enable();
        if !self.is_requested() {
            notify.await;
        }
    }
}
