//! Whether a token is one of ours and still good, and a limit for those who guess.
//!
//! Revoking works at once, also from another process: nothing of a token is kept here between
//! two requests but that it was good a moment ago, which only decides whether it counts as a guess.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recto_context::ContentHash;
use recto_store::{Moment, Store, StoreError, StoredToken, TokenId};

use super::rates::RateLimiter;
use super::secret::hash_secret;

/// The use of a token is written down at most this often.
const USE_INTERVAL: Duration = Duration::from_secs(60);

/// The check of tokens.
#[derive(Debug)]
pub(super) struct TokenVerifier {
    guesses: RateLimiter<IpAddr>,
    /// When a use of each token was last written down.
    uses: Mutex<HashMap<TokenId, Instant>>,
    /// Tokens that were good when they were last shown. There are no more of these than tokens.
    known: Mutex<HashMap<ContentHash, TokenId>>,
}

/// Why a token lets nobody in.
#[derive(Debug)]
pub(super) enum TokenRefusal {
    /// There is no such token, or not any more.
    Wrong,
    /// Too many wrong ones came from that address.
    Guessing(Duration),
    /// It could not be looked up.
    Store(StoreError),
}

impl TokenVerifier {
    /// A check that looks up so many wrong tokens for an address, and as many again after a time.
    pub(super) fn new(guesses: u32, refill: Duration) -> Self {
        TokenVerifier {
            guesses: RateLimiter::new(guesses, refill),
            uses: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// The token that somebody at this address shows.
    pub(super) async fn verify(
        &self,
        store: &Store,
        secret: &str,
        from: IpAddr,
    ) -> Result<StoredToken, TokenRefusal> {
        let hash = hash_secret(secret);
        // Those who use a good one are not kept out by somebody who guesses at the same
        // address, as all do who come through one proxy.
        let is_known = self.known.lock().contains_key(&hash);
        let guesser = guesser_key(from);
        if !is_known {
            // Taken before the look-up, so that many guesses at once count as many.
            self.guesses.take(guesser, Instant::now()).map_err(TokenRefusal::Guessing)?;
        }
        let found = store.find_token(hash).await.map_err(TokenRefusal::Store)?;
        let Some(token) = found.filter(|token| token.is_valid(Moment::now())) else {
            self.known.lock().remove(&hash);
            return Err(TokenRefusal::Wrong);
        };
        if !is_known {
            self.guesses.give_back(&guesser);
            self.known.lock().insert(hash, token.id);
        }
        self.note_use(store, token.id);
        Ok(token)
    }

    /// The token of somebody who is logged in with it, while it is good.
    pub(super) async fn verify_login(
        &self,
        store: &Store,
        id: TokenId,
    ) -> Result<StoredToken, TokenRefusal> {
        let found = store.token(id).await.map_err(TokenRefusal::Store)?;
        let token = found.filter(|token| token.is_valid(Moment::now()));
        let token = token.ok_or(TokenRefusal::Wrong)?;
        self.note_use(store, id);
        Ok(token)
    }

    /// Writes down that a token was used, unless that was done a moment ago. Nobody waits for it.
    fn note_use(&self, store: &Store, id: TokenId) {
        let now = Instant::now();
        let mut uses = self.uses.lock();
        let is_recent = |last: &Instant| now.saturating_duration_since(*last) < USE_INTERVAL;
        if uses.get(&id).is_some_and(is_recent) {
            return;
        }
        uses.insert(id, now);
        let store = store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.note_token_use(id, Moment::now()).await {
                tracing::warn!(%error, token = %id, "the use of a token could not be noted");
            }
        });
    }
}

/// Whom guesses are counted for: of the newer addresses, one household has very many.
fn guesser_key(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let network = v6.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_guesses_as_one() {
        let key = |text: &str| guesser_key(text.parse().unwrap());
        assert_eq!(key("2001:db8:1:2::7"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::7"), key("2001:db8:1:3::7"));
        assert_ne!(key("10.0.0.1"), key("10.0.0.2"));
    }
}
