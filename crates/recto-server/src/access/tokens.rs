//! Whether a token is one of ours and still good, and a limit for those who guess.
//!
//! A token is 256 random bits, so nobody finds one by guessing: the limit keeps those who try from
//! taking the store's time. It is never a reason to refuse a good token, which others at the same
//! address, such as all behind one proxy, could use to keep people out. So every token of the right
//! form is looked up; but those of somebody over the limit only one after the other.
//!
//! Revoking works at once, also from another process: nothing of a token is kept here between
//! two requests but that it was good a moment ago, which only decides whether it counts as a guess.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recto_context::ContentHash;
use recto_store::{Moment, Store, StoreError, StoredToken, TokenId};
use tokio::sync::Mutex as AsyncMutex;

use super::permits::CallerKey;
use super::rates::RateLimiter;
use super::secret::{hash_secret, is_token_form};

/// The use of a token is written down at most this often.
const USE_INTERVAL: Duration = Duration::from_secs(60);

/// So many times more wrong tokens are taken from all behind one proxy than from each of them.
const GROUP_GUESSES: u32 = 8;

/// The check of tokens.
#[derive(Debug)]
pub(super) struct TokenVerifier {
    guesses: RateLimiter<CallerKey>,
    /// The same for all behind one proxy: what it says of whom it passes on, anybody can say.
    group_guesses: RateLimiter<CallerKey>,
    /// Held while a token is looked up for somebody over the limit.
    queue: AsyncMutex<()>,
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
    /// It is wrong, as were too many before it from that address.
    Guessing(Duration),
    /// It could not be looked up.
    Store(StoreError),
}

impl TokenVerifier {
    /// A check that takes so many wrong tokens from an address, and as many again after a time.
    pub(super) fn new(guesses: u32, refill: Duration) -> Self {
        TokenVerifier {
            guesses: RateLimiter::new(guesses, refill),
            group_guesses: RateLimiter::new(guesses.saturating_mul(GROUP_GUESSES), refill),
            queue: AsyncMutex::default(),
            uses: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// The token that somebody shows, who counts as this guesser while it is not known.
    pub(super) async fn verify(
        &self,
        store: &Store,
        secret: &str,
        guesser: CallerKey,
    ) -> Result<StoredToken, TokenRefusal> {
        let hash = hash_secret(secret);
        if self.known.lock().contains_key(&hash) {
            if let Some(token) = find_valid(store, hash).await? {
                self.note_use(store, token.id);
                return Ok(token);
            }
            self.known.lock().remove(&hash);
        }
        // Taken before the look-up, so that many guesses at once count as many.
        let counted = self.count_guess(guesser);
        let found = match &counted {
            _ if !is_token_form(secret) => None,
            Ok(()) => find_valid(store, hash).await?,
            Err(_) => {
                let _turn = self.queue.lock().await;
                find_valid(store, hash).await?
            }
        };
        match (found, counted) {
            (Some(token), counted) => {
                if counted.is_ok() {
                    self.forgive_guess(guesser);
                }
                self.known.lock().insert(hash, token.id);
                self.note_use(store, token.id);
                Ok(token)
            }
            (None, Ok(())) => Err(TokenRefusal::Wrong),
            (None, Err(wait)) => Err(TokenRefusal::Guessing(wait)),
        }
    }

    /// Counts a guess, or says how long to wait. All behind a proxy come first, so that addresses
    /// which are made up leave nothing here once these are over their limit.
    fn count_guess(&self, guesser: CallerKey) -> Result<(), Duration> {
        let now = Instant::now();
        if let Some(group) = guesser.group() {
            self.group_guesses.take(group, now)?;
        }
        let counted = self.guesses.take(guesser, now);
        if let (Err(_), Some(group)) = (&counted, guesser.group()) {
            // One that is not even looked up takes nothing from the others.
            self.group_guesses.give_back(&group);
        }
        counted
    }

    fn forgive_guess(&self, guesser: CallerKey) {
        self.guesses.give_back(&guesser);
        if let Some(group) = guesser.group() {
            self.group_guesses.give_back(&group);
        }
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

/// The token with this hash, if it is good now.
async fn find_valid(store: &Store, hash: ContentHash) -> Result<Option<StoredToken>, TokenRefusal> {
    let found = store.find_token(hash).await.map_err(TokenRefusal::Store)?;
    Ok(found.filter(|token| token.is_valid(Moment::now())))
}
