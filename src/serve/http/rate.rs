//! A token bucket per key: so many requests a minute, all of them at once if nobody came before. Pure; the caller has the clock.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Above this number of keys, those that have their whole rate again are forgotten.
const MOST_KEYS: usize = 10_000;

/// Buckets by key.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    per_minute: u32,
    buckets: HashMap<K, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// The time at which it is full again.
    full_at: Instant,
}

impl<K: Hash + Eq> Buckets<K> {
    pub(super) fn new(per_minute: u32) -> Self {
        Self {
            per_minute: per_minute.max(1),
            buckets: HashMap::new(),
        }
    }

    /// Takes one request; `Err`: the wait until there is one again.
    pub(super) fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        let minute = Duration::from_mins(1);
        let one = minute / self.per_minute;
        if self.buckets.len() >= MOST_KEYS && !self.buckets.contains_key(&key) {
            self.buckets.retain(|_, bucket| bucket.full_at > now);
            if self.buckets.len() >= MOST_KEYS {
                return Err(one);
            }
        }
        let bucket = self.buckets.entry(key).or_insert(Bucket { full_at: now });
        let full_at = bucket.full_at.max(now) + one;
        // Rounding must not cost the last request of a full bucket.
        let room = minute + Duration::from_micros(1);
        let over = full_at.duration_since(now).saturating_sub(room);
        if over.is_zero() {
            bucket.full_at = full_at;
            return Ok(());
        }
        Err(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_system::clock::Clock;

    fn now() -> Instant {
        Clock::scaled(1.0).instant()
    }

    #[test]
    fn a_full_bucket_gives_a_minutes_requests_at_once_and_no_more() {
        for per_minute in [1, 7, 120, 1_200] {
            let (mut buckets, now) = (Buckets::new(per_minute), now());
            for _ in 0..per_minute {
                assert_eq!(buckets.take("a", now), Ok(()));
            }
            assert!(buckets.take("a", now).is_err(), "{per_minute}");
            assert_eq!(buckets.take("b", now), Ok(()));
        }
    }

    #[test]
    fn a_request_is_taken_after_the_wait_that_was_told() {
        let (mut buckets, now) = (Buckets::new(2), now());
        assert_eq!(buckets.take("a", now), Ok(()));
        assert_eq!(buckets.take("a", now), Ok(()));
        let wait = buckets.take("a", now).expect_err("empty");
        assert!(buckets.take("a", now + wait / 2).is_err());
        assert_eq!(buckets.take("a", now + wait), Ok(()));
        assert!(buckets.take("a", now + wait).is_err());
    }

    #[test]
    fn keys_are_bounded_and_those_with_a_full_bucket_are_forgotten() {
        let (mut buckets, now) = (Buckets::new(60), now());
        for key in 0..MOST_KEYS {
            assert_eq!(buckets.take(key, now), Ok(()));
        }
        assert!(buckets.take(MOST_KEYS, now).is_err());
        assert_eq!(buckets.take(0, now), Ok(()));
        let later = now + Duration::from_mins(2);
        assert_eq!(buckets.take(MOST_KEYS, later), Ok(()));
        assert_eq!(buckets.buckets.len(), 1);
    }
}
