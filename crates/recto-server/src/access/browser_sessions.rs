//! Those who are logged in with a browser, in memory: a cookie stands for the token that they
//! showed. Whether that is still good is looked up each time it is used.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recto_context::ContentHash;
use recto_store::TokenId;

use super::secret::{hash_secret, random_name};

/// How long somebody stays logged in.
pub(super) const LOGIN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// So many are logged in at most; then the oldest is not any more.
const MOST_LOGINS: usize = 1_024;

/// All who are logged in.
#[derive(Debug, Default)]
pub(super) struct BrowserSessions(Mutex<HashMap<ContentHash, BrowserLogin>>);

#[derive(Debug, Clone, Copy)]
struct BrowserLogin {
    token: TokenId,
    since: Instant,
}

impl BrowserLogin {
    fn is_over(self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= LOGIN_LIFETIME
    }
}

impl BrowserSessions {
    /// Logs the holder of a token in, and gives the cookie that they are known by.
    pub(super) fn begin(&self, token: TokenId, now: Instant) -> io::Result<String> {
        let cookie = random_name()?;
        let mut logins = self.0.lock();
        logins.retain(|_, login| !login.is_over(now));
        if logins.len() >= MOST_LOGINS {
            let oldest = logins.iter().min_by_key(|(_, login)| login.since);
            if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
                logins.remove(&oldest);
            }
        }
        logins.insert(hash_secret(&cookie), BrowserLogin { token, since: now });
        Ok(cookie)
    }

    /// The token that a cookie stands for, if somebody is logged in with it.
    pub(super) fn find(&self, cookie: ContentHash, now: Instant) -> Option<TokenId> {
        let login = self.0.lock().get(&cookie).copied()?;
        (!login.is_over(now)).then_some(login.token)
    }

    /// Whether somebody is logged in with the cookie of this hash.
    pub(super) fn has(&self, cookie: ContentHash, now: Instant) -> bool {
        self.find(cookie, now).is_some()
    }

    /// Logs out whoever has the cookie of this hash.
    pub(super) fn end(&self, cookie: ContentHash) {
        self.0.lock().remove(&cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_ends_after_a_day_or_when_told() {
        let sessions = BrowserSessions::default();
        let (token, start) = ("7".parse().unwrap(), Instant::now());
        let cookie = sessions.begin(token, start).unwrap();
        let almost = start + LOGIN_LIFETIME - Duration::from_secs(1);
        let cookie = hash_secret(&cookie);
        assert_eq!(sessions.find(cookie, almost), Some(token));
        assert_eq!(sessions.find(cookie, start + LOGIN_LIFETIME), None);
        assert_eq!(sessions.find(hash_secret("another"), start), None);
        sessions.end(cookie);
        assert_eq!(sessions.find(cookie, start), None);
    }

    #[test]
    fn logins_are_bounded() {
        let sessions = BrowserSessions::default();
        let (token, start) = ("7".parse().unwrap(), Instant::now());
        let first = sessions.begin(token, start).unwrap();
        for second in 1..=MOST_LOGINS as u64 {
            sessions.begin(token, start + Duration::from_secs(second)).unwrap();
        }
        assert_eq!(sessions.0.lock().len(), MOST_LOGINS);
        assert_eq!(sessions.find(hash_secret(&first), start), None);
    }
}
