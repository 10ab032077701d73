//! How often something may be done: buckets of routes, and all of it together.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often a route may be called for a channel within [`PERIOD`].
const MOST_CALLS: u32 = 5;

/// After this time a bucket is full again.
const PERIOD: Duration = Duration::from_secs(5);

/// What was under way when a limit was told may come in after it.
const SLACK: Duration = Duration::from_millis(100);

/// All limits that hold.
#[derive(Debug, Default)]
pub(super) struct RateLimits {
    buckets: BTreeMap<(String, u64), Bucket>,
    /// Until when nothing is taken, by whether it is one channel or everything.
    blocked: BTreeMap<Option<u64>, Blocked>,
}

#[derive(Debug)]
struct Bucket {
    begun: Instant,
    calls: u32,
    /// When the last call of it was made, and the client was told that none is left.
    emptied: Option<Instant>,
}

#[derive(Debug)]
struct Blocked {
    until: Instant,
    /// When the client was first told, by each route; all together where everything is blocked.
    told: BTreeMap<String, Instant>,
}

impl Bucket {
    fn new(begun: Instant) -> Self {
        Bucket { begun, calls: 0, emptied: None }
    }
}

/// What becomes of a call.
#[derive(Debug, PartialEq)]
pub(super) enum LimitVerdict {
    /// It is taken; so many are left, for so long.
    Taken { left: u32, reset_after: Duration },
    /// Not now.
    Refused { retry_after: Duration, is_global: bool, was_told: bool },
}

impl RateLimits {
    /// Takes nothing about a channel, or nothing at all, for this time.
    pub(super) fn block(&mut self, channel: Option<u64>, time: Duration) {
        self.blocked
            .insert(channel, Blocked { until: Instant::now() + time, told: BTreeMap::new() });
    }

    /// Counts a call of a route about a channel.
    pub(super) fn count(&mut self, route: &str, channel: u64) -> LimitVerdict {
        let now = Instant::now();
        for key in [None, Some(channel)] {
            let Some(blocked) = self.blocked.get_mut(&key).filter(|it| it.until > now) else {
                continue;
            };
            let route = if key.is_some() { route } else { "" };
            let told = *blocked.told.entry(route.to_owned()).or_insert(now);
            let was_told = now > told + SLACK;
            let retry_after = blocked.until - now;
            return LimitVerdict::Refused { retry_after, is_global: key.is_none(), was_told };
        }
        let key = (route.to_owned(), channel);
        let bucket = self.buckets.entry(key).or_insert_with(|| Bucket::new(now));
        if now >= bucket.begun + PERIOD {
            *bucket = Bucket::new(now);
        }
        let reset_after = bucket.begun + PERIOD - now;
        if bucket.calls >= MOST_CALLS {
            let was_told = bucket.emptied.is_some_and(|emptied| now > emptied + SLACK);
            return LimitVerdict::Refused { retry_after: reset_after, is_global: false, was_told };
        }
        bucket.calls += 1;
        if bucket.calls == MOST_CALLS {
            bucket.emptied = Some(now);
        }
        LimitVerdict::Taken { left: MOST_CALLS - bucket.calls, reset_after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_empty_after_five_calls_and_others_are_not() {
        let mut limits = RateLimits::default();
        for left in (0..MOST_CALLS).rev() {
            let verdict = limits.count("createMessage", 7);
            assert!(matches!(verdict, LimitVerdict::Taken { left: now, .. } if now == left));
        }
        let verdict = limits.count("createMessage", 7);
        assert!(matches!(verdict, LimitVerdict::Refused { is_global: false, was_told: false, .. }));
        assert!(matches!(limits.count("createMessage", 8), LimitVerdict::Taken { .. }));
        assert!(matches!(limits.count("editMessage", 7), LimitVerdict::Taken { .. }));
        limits.block(None, Duration::from_secs(9));
        let verdict = limits.count("editMessage", 9);
        assert!(matches!(verdict, LimitVerdict::Refused { is_global: true, .. }));
    }
}
