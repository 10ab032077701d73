//! The first request to a server, and how long its answer is waited for.
//!
//! `server/discover` is newer than `initialize`, and a server may leave without an answer what it
//! does not know. The library waits ten seconds for one. Here the request is answered in the
//! server's place after a short wait, as by a server that does not know it, and the library goes on
//! with `initialize` on the same connection. An answer that comes after all is dropped: a server
//! that is slow to start answers both.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{ClientLifecycleMode, RoleClient};
use tokio::time::{Instant, timeout_at};

/// The longest that an answer to `server/discover` is waited for at first.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// The part of the limit of a start that it may take.
const PART_OF_LIMIT: u32 = 3;

/// The first request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// By `server/discover`, and where that is not answered soon by `initialize`.
    Discover,
    /// The same, with all the time that the library gives an answer.
    DiscoverPatiently,
    /// By `initialize` at once.
    Initialize,
}

impl Greeting {
    pub(super) fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Greeting::Initialize => ClientLifecycleMode::Initialize,
            Greeting::Discover | Greeting::DiscoverPatiently => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: None,
            },
        }
    }

    fn wait(self, limit: Duration) -> Option<Duration> {
        (self == Greeting::Discover).then(|| LONGEST_WAIT.min(limit / PART_OF_LIMIT))
    }
}

/// What became of `server/discover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DiscoverOutcome {
    /// It was answered in time, or never sent.
    #[default]
    InTime,
    /// It was given up, and is not answered so far.
    Ignored,
    /// It was given up, and answered after that.
    TooLate,
}

/// The same, shared with whoever wants to know.
#[derive(Debug, Clone, Default)]
pub(super) struct DiscoverWatch(Arc<Mutex<DiscoverOutcome>>);

impl DiscoverWatch {
    pub(super) fn outcome(&self) -> DiscoverOutcome {
        *self.0.lock()
    }

    fn set(&self, outcome: DiscoverOutcome) {
        *self.0.lock() = outcome;
    }
}

/// A transport that gives up `server/discover` after a short wait.
pub(super) struct GreetingWait<T> {
    inner: T,
    wait: Option<Duration>,
    /// The request that waits, and until when.
    asked: Option<(RequestId, Instant)>,
    given_up: Option<RequestId>,
    watch: DiscoverWatch,
}

impl<T> GreetingWait<T> {
    /// Makes one for a server that has so long to start.
    pub(super) fn new(inner: T, greeting: Greeting, limit: Duration, watch: DiscoverWatch) -> Self {
        GreetingWait { inner, wait: greeting.wait(limit), asked: None, given_up: None, watch }
    }

    /// Whether the library is to see a message.
    fn admit(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if id.is_some() && id == self.given_up.as_ref() {
            self.watch.set(DiscoverOutcome::TooLate);
            return false;
        }
        if self.asked.as_ref().is_some_and(|(asked, _)| id == Some(asked)) {
            self.asked = None;
        }
        true
    }

    fn give_up(&mut self) -> Option<ServerJsonRpcMessage> {
        let (id, _) = self.asked.take()?;
        self.given_up = Some(id.clone());
        self.watch.set(DiscoverOutcome::Ignored);
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "it was not answered", None);
        Some(ServerJsonRpcMessage::error(error, Some(id)))
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for GreetingWait<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let (Some(wait), JsonRpcMessage::Request(request)) = (self.wait, &item)
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.asked = Some((request.id.clone(), Instant::now() + wait));
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = match &self.asked {
                Some((_, until)) => match timeout_at(*until, self.inner.receive()).await {
                    Ok(message) => message?,
                    Err(_) => return self.give_up(),
                },
                None => self.inner.receive().await?,
            };
            if self.admit(&message) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rmcp::model::{DiscoverRequest, DiscoverRequestParams};
    use serde_json::{Value, json};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    /// What a server sends, whenever it does.
    struct Sent(UnboundedReceiver<Value>);

    impl Transport<RoleClient> for Sent {
        type Error = Infallible;

        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.0.recv().await.map(|message| serde_json::from_value(message).unwrap())
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_dropped_and_noted() {
        let (server, sent) = unbounded_channel();
        let watch = DiscoverWatch::default();
        let limit = Duration::from_millis(30);
        let mut transport = GreetingWait::new(Sent(sent), Greeting::Discover, limit, watch.clone());
        let discover = DiscoverRequest::new(DiscoverRequestParams {});
        let discover = ClientRequest::DiscoverRequest(discover);
        let id = RequestId::Number(0);
        let Ok(()) = transport.send(ClientJsonRpcMessage::request(discover, id)).await;
        let told = async |transport: &mut GreetingWait<Sent>| {
            serde_json::to_value(transport.receive().await.unwrap()).unwrap()
        };
        // Nothing was sent, so it is given up.
        let given_up = told(&mut transport).await;
        assert_eq!((&given_up["id"], &given_up["error"]["code"]), (&json!(0), &json!(-32601)));
        assert_eq!(watch.outcome(), DiscoverOutcome::Ignored);
        for id in [0, 1] {
            server.send(json!({"jsonrpc": "2.0", "id": id, "result": {}})).unwrap();
        }
        assert_eq!(told(&mut transport).await["id"], 1);
        assert_eq!(watch.outcome(), DiscoverOutcome::TooLate);
    }

    #[test]
    fn the_wait_is_a_part_of_the_time_that_there_is() {
        let wait = |greeting: Greeting, seconds| greeting.wait(Duration::from_secs(seconds));
        assert_eq!(wait(Greeting::Discover, 30), Some(LONGEST_WAIT));
        assert_eq!(wait(Greeting::Discover, 6), Some(Duration::from_secs(2)));
        assert_eq!(wait(Greeting::DiscoverPatiently, 30), None);
        assert_eq!(wait(Greeting::Initialize, 30), None);
    }
}
