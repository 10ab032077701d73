//! Counts how often a turn reads what it is made of, for the test that it does so once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the workspace and sessions of the store were read.
#[derive(Debug, Default)]
pub(crate) struct ReadingCounts {
    workspace: AtomicUsize,
    sessions: AtomicUsize,
}

impl ReadingCounts {
    pub(crate) fn count_workspace(&self) {
        self.workspace.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn count_session(&self) {
        self.sessions.fetch_add(1, Ordering::SeqCst);
    }

    /// How often the workspace was read, and how often sessions.
    pub(crate) fn so_far(&self) -> (usize, usize) {
        (self.workspace.load(Ordering::SeqCst), self.sessions.load(Ordering::SeqCst))
    }
}
