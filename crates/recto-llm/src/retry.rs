//! When a call is made again, and after how long. Waiting is not done here, and
//! what is computed has neither clock nor chance in it: they come in as values.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// How often, and after how long, a call is made again while nothing of the
/// reply has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a call is made again.
    pub retries: u32,
    /// The wait before the first time; it doubles with each.
    pub base: Duration,
    /// The longest wait. A call whose server asks for more is not made again.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let (base, longest) = (Duration::from_millis(500), Duration::from_secs(60));
        RetryPolicy { retries: 3, base, longest }
    }
}

impl RetryPolicy {
    /// The wait before a retry, of which `earlier` have been made; `None` when
    /// there is none to make. What the server asked for counts: one that wants to
    /// be left alone for longer than anybody waits would only refuse again.
    /// Otherwise up to half is added by `chance`, which lies between 0 and 1, so
    /// that many clients don't come back all at once.
    pub(crate) fn wait(
        &self,
        earlier: u32,
        asked: Option<Duration>,
        chance: f64,
    ) -> Option<Duration> {
        if earlier >= self.retries {
            return None;
        }
        if let Some(asked) = asked {
            return (asked <= self.longest).then_some(asked);
        }
        let doubled = self.base.saturating_mul(1_u32.checked_shl(earlier).unwrap_or(u32::MAX));
        let wait = doubled.min(self.longest);
        Some(wait.saturating_add(wait.mul_f64(chance / 2.0)).min(self.longest))
    }
}

/// A number between 0 and 1. The standard library seeds its hash maps at
/// random; spreading retries needs no better source.
pub(crate) fn chance() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    f64::from(random as u32) / f64::from(u32::MAX)
}

/// Reads a `Retry-After` header: seconds, or the date of the next try.
pub(crate) fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(header).ok()?;
    // A date that has passed means now.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_have_an_end() {
        let policy = RetryPolicy { retries: 100, ..RetryPolicy::default() };
        let wait = |earlier, chance| policy.wait(earlier, None, chance).unwrap().as_millis();
        assert_eq!([wait(0, 0.0), wait(1, 0.0), wait(2, 0.0)], [500, 1_000, 2_000]);
        assert_eq!([wait(0, 1.0), wait(1, 0.5)], [750, 1_250]);
        assert_eq!([wait(20, 1.0), wait(99, 0.0)], [60_000, 60_000]);
    }

    #[test]
    fn the_server_may_ask_for_time_but_not_for_all() {
        let policy = RetryPolicy::default();
        let wait = |asked| policy.wait(2, Some(Duration::from_secs(asked)), 1.0);
        let wait = |asked| wait(asked).map(|wait| wait.as_secs());
        assert_eq!([wait(0), wait(7), wait(60)], [Some(0), Some(7), Some(60)]);
        assert_eq!([wait(61), wait(3_600)], [None, None]);
    }

    #[test]
    fn retries_have_an_end() {
        let policy = RetryPolicy::default();
        let asked = Some(Duration::ZERO);
        assert_eq!(policy.wait(2, asked, 0.0), asked);
        assert_eq!([policy.wait(3, asked, 0.0), policy.wait(3, None, 0.0)], [None, None]);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2015-10-21T07:27:30Z".parse().unwrap();
        let read = |header| retry_after(header, now).map(|wait| wait.as_secs());
        assert_eq!(read(" 120 "), Some(120));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(30));
        assert_eq!(read("Wed, 21 Oct 2015 07:27:00 GMT"), Some(0));
        for nonsense in ["", "soon", "-1", "1.5"] {
            assert_eq!(read(nonsense), None);
        }
    }

    #[test]
    fn chance_keeps_within_its_bounds() {
        assert!((0..1_000).map(|_| chance()).all(|chance| (0.0..=1.0).contains(&chance)));
    }
}
