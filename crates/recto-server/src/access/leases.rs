//! Requests that are under way for the holder of a token: they end with it.
//!
//! A token is looked at when a request comes. A stream goes on for as long as its client likes, so
//! that alone would leave it open behind a token that was revoked. Here every request of such a
//! holder has a lease. One task looks at the tokens and the log-ins of all leases once a second; it
//! runs only while there are some. The owner by place has nothing that could be revoked, and no
//! lease.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use recto_context::ContentHash;
use recto_store::{Moment, Store, StoreResult, TokenId};
use tokio::sync::oneshot;

use crate::gateway::Gateway;

/// How often the tokens and log-ins of open requests are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a request holds for: it ends when this does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseTerms {
    /// The token that was shown, or that somebody logged in with.
    pub(super) token: TokenId,
    /// The log-in, by the hash of its cookie.
    pub(super) login: Option<ContentHash>,
}

/// The leases of all requests that are under way.
#[derive(Debug, Default)]
pub(super) struct LeaseRegistry(Mutex<LeaseTable>);

#[derive(Debug, Default)]
struct LeaseTable {
    last: u64,
    open: HashMap<u64, OpenLease>,
    /// Whether somebody looks at the tokens.
    is_watched: bool,
}

#[derive(Debug)]
struct OpenLease {
    terms: LeaseTerms,
    /// Dropped when the lease ends.
    _end: oneshot::Sender<()>,
}

/// The lease of one request, until it is dropped.
#[derive(Debug)]
pub(super) struct RequestLease {
    registry: Arc<LeaseRegistry>,
    number: u64,
    ended: oneshot::Receiver<()>,
}

/// How a stream ends with its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseEnding {
    /// As one that is over: whoever follows events comes back, and is refused then.
    Over,
    /// As one that broke off, so that nobody takes what came until then for the whole reply.
    BrokenOff,
}

/// A stream was cut because whoever follows it may no longer do so.
#[derive(Debug, thiserror::Error)]
#[error("the token or the log-in of this stream has ended")]
struct LeaseEnded;

impl LeaseRegistry {
    /// Opens a lease, and sees to it that somebody looks after it.
    pub(super) fn open(self: &Arc<Self>, gateway: &Gateway, terms: LeaseTerms) -> RequestLease {
        let (end, ended) = oneshot::channel();
        let mut table = self.0.lock();
        table.last += 1;
        let number = table.last;
        table.open.insert(number, OpenLease { terms, _end: end });
        if !table.is_watched {
            table.is_watched = true;
            tokio::spawn(watch(self.clone(), gateway.clone()));
        }
        drop(table);
        RequestLease { registry: self.clone(), number, ended }
    }

    /// Ends the leases of a log-in.
    pub(super) fn end_login(&self, login: ContentHash) {
        self.end_where(|terms| terms.login == Some(login));
    }

    fn end_where(&self, is_over: impl Fn(&LeaseTerms) -> bool) {
        self.0.lock().open.retain(|_, lease| !is_over(&lease.terms));
    }

    /// What all open leases hold for; nothing, and nobody looks any more, where there are none.
    fn terms(&self) -> Option<Vec<LeaseTerms>> {
        let mut table = self.0.lock();
        table.is_watched = !table.open.is_empty();
        table.is_watched.then(|| table.open.values().map(|lease| lease.terms).collect())
    }
}

/// Looks at what leases hold for until there are none.
async fn watch(registry: Arc<LeaseRegistry>, gateway: Gateway) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(terms) = registry.terms() else { return };
        let sessions = gateway.access().sessions();
        let now = Instant::now();
        let is_logged_out =
            |terms: &LeaseTerms| terms.login.is_some_and(|login| !sessions.has(login, now));
        registry.end_where(is_logged_out);
        match ended_tokens(gateway.store(), &terms).await {
            Ok(ended) => registry.end_where(|terms| ended.contains(&terms.token)),
            Err(error) => {
                // What the store does not give now, it may give the next time.
                tracing::warn!(%error, "the tokens of open streams could not be looked at");
            }
        }
    }
}

/// The tokens among these that let nobody in any more.
async fn ended_tokens(store: &Store, terms: &[LeaseTerms]) -> StoreResult<HashSet<TokenId>> {
    let tokens: HashSet<TokenId> = terms.iter().map(|terms| terms.token).collect();
    let mut ended = HashSet::new();
    for id in tokens {
        let token = store.token(id).await?;
        if !token.is_some_and(|token| token.is_valid(Moment::now())) {
            ended.insert(id);
        }
    }
    Ok(ended)
}

impl RequestLease {
    /// Waits until what the request holds for has ended.
    pub(super) async fn ended(&mut self) {
        // Whoever ends it drops the other side.
        let _ = (&mut self.ended).await;
    }

    /// The same answer, of which no more is sent once the lease has ended. One that is there as a
    /// whole already was given while it held.
    pub(super) fn hold_for(self, answer: Response, ending: LeaseEnding) -> Response {
        if HttpBody::size_hint(answer.body()).exact().is_some() {
            return answer;
        }
        answer.map(|body| Body::new(LeasedBody { body, lease: Some(self), ending }))
    }
}

impl Drop for RequestLease {
    fn drop(&mut self) {
        self.registry.0.lock().open.remove(&self.number);
    }
}

/// A stream that ends with its lease.
#[derive(Debug)]
struct LeasedBody {
    body: Body,
    /// Gone once it has ended.
    lease: Option<RequestLease>,
    ending: LeaseEnding,
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(lease) = &mut self.lease else { return Poll::Ready(None) };
        if Pin::new(&mut lease.ended).poll(context).is_ready() {
            self.lease = None;
            // What made the stream ends now, and not when its client has noticed.
            self.body = Body::empty();
            let broken_off =
                (self.ending == LeaseEnding::BrokenOff).then(|| Err(axum::Error::new(LeaseEnded)));
            return Poll::Ready(broken_off);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            self.lease = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.lease.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;

    use super::*;

    fn lease(registry: &Arc<LeaseRegistry>, login: &str) -> RequestLease {
        let (end, ended) = oneshot::channel();
        let login = Some(ContentHash::of_bytes(login.as_bytes()));
        let mut table = registry.0.lock();
        table.last += 1;
        let terms = LeaseTerms { token: "3".parse().unwrap(), login };
        let number = table.last;
        table.open.insert(number, OpenLease { terms, _end: end });
        RequestLease { registry: registry.clone(), number, ended }
    }

    #[tokio::test]
    async fn a_stream_breaks_off_when_its_lease_ends() {
        let registry = Arc::new(LeaseRegistry::default());
        let mut answers = ["a", "b"].map(|login| {
            let pieces = stream::repeat_with(|| Ok::<_, axum::Error>(Bytes::from_static(b"x")));
            let answer = Response::new(Body::from_stream(pieces));
            lease(&registry, login).hold_for(answer, LeaseEnding::BrokenOff)
        });
        registry.end_login(ContentHash::of_bytes(b"a"));
        let [first, second] = &mut answers;
        assert!(first.body_mut().frame().await.unwrap().is_err());
        assert!(first.body_mut().frame().await.is_none());
        assert!(second.body_mut().frame().await.unwrap().is_ok());
        drop(answers);
        assert!(registry.terms().is_none());
    }

    #[test]
    fn an_answer_that_is_whole_needs_no_lease() {
        let registry = Arc::new(LeaseRegistry::default());
        let answer = Response::new(Body::from("x"));
        let _answer = lease(&registry, "a").hold_for(answer, LeaseEnding::Over);
        assert!(registry.terms().is_none());
    }
}
