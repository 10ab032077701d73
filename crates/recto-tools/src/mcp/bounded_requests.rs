//! A server's own requests, of which not too many wait for their answers.
//!
//! The library answers each request in a task of its own, which lasts until the server takes the
//! answer. A server that only asks would fill the memory with them. Here, what it has asked is
//! measured until it is answered, and the connection to a server that asks too much is given up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::time::timeout;

use super::limits::{LimitBreach, MAX_MESSAGE, ServerLimit};

/// The most bytes that unanswered requests may hold: the longest one, and as much again.
const MAX_UNANSWERED: usize = 2 * MAX_MESSAGE;

/// What a request holds besides its text: two tasks, and what they need.
const REQUEST_COST: usize = 8 * 1024;

/// How long a connection may take to close in good order.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// A transport that is given up when too much that the server asks is unanswered.
pub(super) struct BoundedRequests<T> {
    /// Dropped when it is given up: what waits for a place in it waits no longer.
    inner: Option<T>,
    unanswered: Arc<Mutex<UnansweredRequests>>,
    breach: LimitBreach,
}

impl<T> BoundedRequests<T> {
    pub(super) fn new(inner: T, breach: LimitBreach) -> Self {
        BoundedRequests { inner: Some(inner), unanswered: Arc::default(), breach }
    }

    /// Whether the library is to see a message. It answers a request at once, and nothing can
    /// take that back.
    fn admit(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                let bytes = serde_json::to_string(message).map_or(0, |text| text.len());
                self.unanswered.lock().add(request.id.clone(), bytes);
                true
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                ServerNotification::CancelledNotification(cancelled) => {
                    let id = cancelled.params.request_id.as_ref();
                    !id.is_some_and(|id| self.unanswered.lock().sizes.contains_key(id))
                }
                _ => true,
            },
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for BoundedRequests<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answer = SentAnswer::begin(&item, &self.unanswered);
        let breach = self.breach.clone();
        let sent = self.inner.as_mut().map(|inner| inner.send(item));
        async move {
            let _answer = answer;
            // Nobody is there any more for what is sent after the end.
            let Some(sent) = sent else { return Ok(()) };
            tokio::select! {
                biased;
                () = breach.recorded() => Ok(()),
                sent = sent => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.unanswered.lock().bytes > MAX_UNANSWERED {
                self.breach.record(ServerLimit::UnansweredRequests);
                self.inner = None;
            }
            let message = self.inner.as_mut()?.receive().await?;
            if self.admit(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        // It would wait for a server that takes nothing more.
        let closed = timeout(CLOSE_LIMIT, inner.close()).await.unwrap_or(Ok(()));
        self.inner = None;
        closed
    }
}

/// What a server has asked and was not answered yet, by its ids.
#[derive(Default)]
struct UnansweredRequests {
    sizes: HashMap<RequestId, usize>,
    /// All of them together.
    bytes: usize,
}

impl UnansweredRequests {
    fn add(&mut self, id: RequestId, bytes: usize) {
        let bytes = bytes + REQUEST_COST;
        *self.sizes.entry(id).or_default() += bytes;
        self.bytes += bytes;
    }

    fn remove(&mut self, id: &RequestId) {
        self.bytes -= self.sizes.remove(id).unwrap_or_default();
    }
}

/// An answer on its way, with which its request is done, also when it is given up.
struct SentAnswer {
    id: RequestId,
    unanswered: Arc<Mutex<UnansweredRequests>>,
}

impl SentAnswer {
    fn begin(
        message: &ClientJsonRpcMessage,
        unanswered: &Arc<Mutex<UnansweredRequests>>,
    ) -> Option<Self> {
        let id = match message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        Some(SentAnswer { id: id?.clone(), unanswered: unanswered.clone() })
    }
}

impl Drop for SentAnswer {
    fn drop(&mut self) {
        self.unanswered.lock().remove(&self.id);
    }
}
