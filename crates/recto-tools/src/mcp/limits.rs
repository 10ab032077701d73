//! The limits of what a server may send. One that goes beyond a limit is ended, and whoever tells
//! of its end finds the reason here.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// The longest message of a server.
pub(super) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// A limit that a server can go beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerLimit {
    /// The length of a message.
    MessageLength,
    /// Its own requests whose answers it did not take yet.
    UnansweredRequests,
}

impl fmt::Display for ServerLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerLimit::MessageLength => {
                let limit = MAX_MESSAGE / (1024 * 1024);
                write!(f, "was ended: it sent a message of more than {limit} MiB")
            }
            ServerLimit::UnansweredRequests => {
                f.write_str("was ended: it sent requests faster than it took the answers")
            }
        }
    }
}

/// The first limit that a server went beyond, shared by all who read of it or write to it.
#[derive(Debug, Clone)]
pub(super) struct LimitBreach(Arc<watch::Sender<Option<ServerLimit>>>);

impl Default for LimitBreach {
    fn default() -> Self {
        LimitBreach(Arc::new(watch::Sender::new(None)))
    }
}

impl LimitBreach {
    /// Records that the server went beyond a limit. The first one stays.
    pub(super) fn record(&self, limit: ServerLimit) {
        self.0.send_if_modified(|recorded| {
            let is_first = recorded.is_none();
            recorded.get_or_insert(limit);
            is_first
        });
    }

    /// The limit, if there is one that it went beyond.
    pub(super) fn limit(&self) -> Option<ServerLimit> {
        *self.0.borrow()
    }

    /// Waits until it goes beyond one.
    pub(super) async fn recorded(&self) {
        // This is one of its senders, so there will always be one to wait for.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}
