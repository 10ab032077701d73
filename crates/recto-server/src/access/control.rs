//! What access remembers between requests, and the options that it follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrival::{AllowedHost, RequestArrival};
use super::browser_sessions::BrowserSessions;
use super::forgery::FormKey;
use super::leases::LeaseRegistry;
use super::permits::{CallerKey, RequestPermit, RequestPermits};
use super::rates::RateLimiter;
use super::refusal::AccessRefusal;
use super::secret::hash_secret;
use super::tokens::TokenVerifier;

/// Where the owner is known without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerAccess {
    /// On this machine.
    ByPlace,
    /// Nowhere: everybody shows a token.
    ByToken,
}

/// How a server lets callers in, and how much it takes from each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessOptions {
    /// Where the owner is known without a token.
    pub owner: OwnerAccess,
    /// Names by which the server may be called, beside its own addresses.
    pub hosts: Vec<AllowedHost>,
    /// The most bytes of a request's body.
    pub max_body_bytes: usize,
    /// The same at the front doors, whose clients send all of a conversation each time.
    pub max_door_bytes: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// The same for those of whom nothing is known.
    pub stranger_timeout: Duration,
    /// How many wrong tokens are looked up for an address.
    pub guesses: u32,
    /// After what time they are as many again.
    pub guess_refill: Duration,
    /// How many requests the holder of a token may send in a second, over a while; four times as
    /// many at once.
    pub token_rate: u32,
}

impl Default for AccessOptions {
    fn default() -> Self {
        AccessOptions {
            owner: OwnerAccess::ByPlace,
            hosts: Vec::new(),
            max_body_bytes: 1 << 20,
            max_door_bytes: 16 << 20,
            body_timeout: Duration::from_secs(30),
            stranger_timeout: Duration::from_secs(5),
            guesses: 10,
            guess_refill: Duration::from_secs(60),
            token_rate: 50,
        }
    }
}

/// The room in a form for what stands beside the message.
const OTHER_FIELDS: usize = 1_024;

/// So many seconds of requests can come at once.
const RATE_BURST: u32 = 4;

/// The keeper of the door: options, and what is remembered of those who came.
#[derive(Debug)]
pub struct AccessControl {
    options: AccessOptions,
    form_key: FormKey,
    verifier: TokenVerifier,
    sessions: BrowserSessions,
    rates: RateLimiter<CallerKey>,
    permits: Arc<RequestPermits>,
    leases: Arc<LeaseRegistry>,
}

impl AccessControl {
    /// A door with these options, whose forms are made with this key.
    pub fn new(options: AccessOptions, form_key: FormKey) -> Self {
        let burst = options.token_rate.saturating_mul(RATE_BURST);
        let rates = RateLimiter::new(burst, Duration::from_secs(RATE_BURST.into()));
        AccessControl {
            form_key,
            verifier: TokenVerifier::new(options.guesses, options.guess_refill),
            sessions: BrowserSessions::default(),
            rates,
            permits: Arc::default(),
            leases: Arc::default(),
            options,
        }
    }

    pub(super) fn options(&self) -> &AccessOptions {
        &self.options
    }

    /// The most bytes of a message in a form: all of a body but for the other fields.
    pub(crate) fn max_message_bytes(&self) -> usize {
        let most = self.options.max_body_bytes;
        most - OTHER_FIELDS.min(most / 2)
    }

    pub(super) fn form_key(&self) -> &FormKey {
        &self.form_key
    }

    pub(super) fn verifier(&self) -> &TokenVerifier {
        &self.verifier
    }

    pub(super) fn sessions(&self) -> &BrowserSessions {
        &self.sessions
    }

    pub(super) fn leases(&self) -> &Arc<LeaseRegistry> {
        &self.leases
    }

    /// Logs out whoever has this cookie, and ends what they follow.
    pub(super) fn log_out(&self, cookie: &str) {
        let login = hash_secret(cookie);
        self.sessions.end(login);
        self.leases.end_login(login);
    }

    /// Whether whoever calls from there is the owner, unless they show something else.
    pub(super) async fn is_owner_place(&self, arrival: &RequestArrival) -> bool {
        self.options.owner == OwnerAccess::ByPlace && arrival.is_from_local_person().await
    }

    /// Counts a request of somebody, and gives the permission that it holds while it is under way.
    /// At their own machine the owner may ask as often as they like.
    pub(super) fn permit(&self, key: CallerKey) -> Result<RequestPermit, AccessRefusal> {
        if let CallerKey::Token(_) = key {
            let counted = self.rates.take(key, Instant::now());
            counted.map_err(|wait| AccessRefusal::too_many("too many requests", wait))?;
        }
        self.permits.take(key).ok_or_else(|| {
            let what = "too many requests and streams are open at once";
            AccessRefusal::too_many(what, Duration::from_secs(1))
        })
    }
}
