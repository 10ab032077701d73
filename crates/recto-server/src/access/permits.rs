//! How many requests somebody may have under way at once. A stream counts until it ends, so that
//! nobody can collect them without end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use recto_store::TokenId;

/// Whom requests are counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CallerKey {
    /// The owner, by place.
    Owner,
    /// The holder of a token, however shown.
    Token(TokenId),
    /// Nobody known, at this address.
    Stranger(IpAddr),
    /// Nobody known, behind the proxy at the first address, who called it from the second as far
    /// as it says so.
    Forwarded(IpAddr, Option<IpAddr>),
    /// All of whom nothing is known, behind the proxy at this address.
    Proxy(IpAddr),
}

impl CallerKey {
    /// The most requests that may be under way at once.
    fn most(self) -> usize {
        match self {
            CallerKey::Owner => 256,
            CallerKey::Token(_) => 64,
            CallerKey::Stranger(_) | CallerKey::Forwarded(..) => 16,
            CallerKey::Proxy(_) => 128,
        }
    }

    /// Whom they are counted for as well.
    pub(super) fn group(self) -> Option<CallerKey> {
        match self {
            CallerKey::Forwarded(proxy, _) => Some(CallerKey::Proxy(proxy)),
            _ => None,
        }
    }

    fn with_group(self) -> impl Iterator<Item = CallerKey> {
        [Some(self), self.group()].into_iter().flatten()
    }
}

/// The requests that are under way.
#[derive(Debug, Default)]
pub(super) struct RequestPermits(Mutex<HashMap<CallerKey, usize>>);

/// The permission of one request, until it is dropped.
#[derive(Debug)]
pub(super) struct RequestPermit {
    permits: Arc<RequestPermits>,
    key: CallerKey,
}

impl RequestPermits {
    /// A permission for one more request of a caller, unless they have too many under way.
    pub(super) fn take(self: &Arc<Self>, key: CallerKey) -> Option<RequestPermit> {
        let mut counts = self.0.lock();
        let is_full = |key: CallerKey| counts.get(&key).is_some_and(|count| *count >= key.most());
        if key.with_group().any(is_full) {
            return None;
        }
        for key in key.with_group() {
            *counts.entry(key).or_default() += 1;
        }
        drop(counts);
        Some(RequestPermit { permits: self.clone(), key })
    }
}

impl RequestPermit {
    /// The same answer, which holds the permission until all of it is sent.
    pub(super) fn hold_for(self, answer: Response) -> Response {
        answer.map(|body| {
            Body::new(body.map_err(move |error| {
                let _held = &self;
                error
            }))
        })
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut counts = self.permits.0.lock();
        for key in self.key.with_group() {
            let Some(count) = counts.get_mut(&key) else { continue };
            *count -= 1;
            if *count == 0 {
                counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_behind_a_proxy_have_places_of_their_own() {
        let permits = Arc::new(RequestPermits::default());
        let proxy = IpAddr::from([127, 0, 0, 1]);
        let client = |last: u8| CallerKey::Forwarded(proxy, Some(IpAddr::from([10, 0, 0, last])));
        let mut held: Vec<_> = (0..16).map(|_| permits.take(client(1)).unwrap()).collect();
        assert!(permits.take(client(1)).is_none());
        assert!(permits.take(CallerKey::Stranger(proxy)).is_some());
        held.extend((0..112).map(|count| permits.take(client(2 + count / 16)).unwrap()));
        assert!(permits.take(client(200)).is_none(), "all of them have a bound");
        drop(held);
        assert!(permits.0.lock().is_empty());
    }

    #[test]
    fn a_caller_has_so_many_at_once_and_an_answer_holds_its_own() {
        let permits = Arc::new(RequestPermits::default());
        let key = CallerKey::Token("3".parse().unwrap());
        let mut held: Vec<_> = (0..key.most()).map(|_| permits.take(key).unwrap()).collect();
        assert!(permits.take(key).is_none());
        assert!(permits.take(CallerKey::Owner).is_some());
        let answer = held.pop().unwrap().hold_for(Response::new(Body::from("x")));
        assert!(permits.take(key).is_none());
        drop(answer);
        assert!(permits.take(key).is_some());
        drop(held);
        assert!(permits.0.lock().is_empty());
    }
}
