//! The wish to stop a turn.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The wish to stop a turn. Once there it stays, for whatever is done on behalf of
/// that turn: also for an older one that has to be finished first.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    wished: AtomicBool,
    told: Notify,
}

impl StopSignal {
    pub(crate) fn request(&self) {
        self.wished.store(true, Ordering::SeqCst);
        self.told.notify_waiters();
    }

    /// Waits for the wish.
    pub(crate) async fn requested(&self) {
        let told = self.told.notified();
        tokio::pin!(told);
        // From here on no wish goes by unheard.
        told.as_mut().enable();
        if !self.wished.load(Ordering::SeqCst) {
            told.await;
        }
    }
}
