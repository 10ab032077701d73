//! How often somebody may do something: buckets that fill again with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// So many callers are known at most. When there are more, those who have done the least of late are
/// forgotten, and whoever is at the limit stays there.
const MOST_CALLERS: usize = 4_096;

/// A limit on how often each of many callers may do something.
#[derive(Debug)]
pub(super) struct RateLimiter<K> {
    /// So often at once.
    burst: f64,
    /// And so often again with every second.
    per_second: f64,
    buckets: Mutex<HashMap<K, RateBucket>>,
}

#[derive(Debug, Clone, Copy)]
struct RateBucket {
    left: f64,
    at: Instant,
}

impl<K: Hash + Eq + Copy> RateLimiter<K> {
    /// A limit of `burst` at once, which is whole again after `refill`.
    pub(super) fn new(burst: u32, refill: Duration) -> Self {
        let burst = f64::from(burst.max(1));
        let per_second = burst / refill.as_secs_f64().max(0.001);
        RateLimiter { burst, per_second, buckets: Mutex::default() }
    }

    /// Counts one more of a caller's, or says how long they have to wait.
    pub(super) fn take(&self, caller: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MOST_CALLERS && !buckets.contains_key(&caller) {
            self.forget_fullest(&mut buckets, now);
        }
        let bucket = buckets.entry(caller).or_insert(RateBucket { left: self.burst, at: now });
        let left = self.filled(*bucket, now);
        *bucket = RateBucket { left: if left >= 1.0 { left - 1.0 } else { left }, at: now };
        match left >= 1.0 {
            true => Ok(()),
            false => Err(Duration::from_secs_f64((1.0 - left) / self.per_second)),
        }
    }

    /// Forgets a quarter of the callers: those whose buckets are whole again, or the nearest to it.
    /// Somebody with very many addresses clears nobody's bucket by it that is empty.
    fn forget_fullest(&self, buckets: &mut HashMap<K, RateBucket>, now: Instant) {
        let fills = buckets.iter().map(|(caller, bucket)| (self.filled(*bucket, now), *caller));
        let mut fills: Vec<(f64, K)> = fills.collect();
        fills.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        for (_, caller) in fills.into_iter().take(MOST_CALLERS / 4) {
            buckets.remove(&caller);
        }
    }

    /// Takes one back that turned out not to count.
    pub(super) fn give_back(&self, caller: &K) {
        if let Some(bucket) = self.buckets.lock().get_mut(caller) {
            bucket.left = (bucket.left + 1.0).min(self.burst);
        }
    }

    fn filled(&self, bucket: RateBucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.left + since * self.per_second).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let limiter = RateLimiter::new(2, Duration::from_secs(20));
        let start = Instant::now();
        assert_eq!(limiter.take("a", start), Ok(()));
        assert_eq!(limiter.take("a", start), Ok(()));
        assert_eq!(limiter.take("a", start), Err(Duration::from_secs(10)));
        assert_eq!(limiter.take("b", start), Ok(()));
        assert_eq!(limiter.take("a", start + Duration::from_secs(10)), Ok(()));
        assert!(limiter.take("a", start + Duration::from_secs(11)).is_err());
        limiter.give_back(&"a");
        assert_eq!(limiter.take("a", start + Duration::from_secs(11)), Ok(()));
    }

    #[test]
    fn those_who_are_known_are_bounded() {
        let limiter = RateLimiter::new(1, Duration::from_secs(1));
        let start = Instant::now();
        for caller in 0..3 * MOST_CALLERS {
            let _ = limiter.take(caller, start);
        }
        assert!(limiter.buckets.lock().len() <= MOST_CALLERS);
    }

    #[test]
    fn very_many_callers_clear_nobodys_empty_bucket() {
        let limiter = RateLimiter::new(2, Duration::from_secs(1_000));
        let start = Instant::now();
        assert_eq!([limiter.take(0, start), limiter.take(0, start)], [Ok(()), Ok(())]);
        for caller in 1..3 * MOST_CALLERS {
            let _ = limiter.take(caller, start);
        }
        assert!(limiter.take(0, start).is_err());
    }
}
