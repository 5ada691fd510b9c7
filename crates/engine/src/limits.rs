//! The numbers of the engine.

/// Bounds and waits, in milliseconds where they are times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Fast effects at the same time.
    pub at_once: usize,
    /// Slow effects at the same time, beside them.
    pub slow_at_once: usize,
    /// After so many attempts the machine gets its `failed` input.
    pub attempts: u32,
    /// The wait after the first attempt; it doubles with each further one.
    pub backoff_ms: u64,
    pub longest_backoff_ms: u64,
    /// A worker that is silent for so long loses its task. Effects that wait in a Restate server ask by themselves after as long.
    pub lease_ms: u64,
    /// The store is looked at this often even if nothing is known to be due, because other processes write to it, too.
    pub longest_sleep_ms: u64,
    /// Effects have so long to finish after a shutdown was asked for; then they are left to their leases.
    pub grace_ms: u64,
    /// Deliveries are recognised for so long.
    pub inbox_ms: u64,
    /// Inputs that are kept in the history of a key.
    pub history: u64,
    /// Bytes of inputs that are read at once, the last ones; the very last in any case.
    pub history_bytes: u64,
    /// The time between two purges of old rows.
    pub purge_every_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            at_once: 16,
            slow_at_once: 1,
            attempts: 5,
            backoff_ms: 1_000,
            longest_backoff_ms: 60_000,
            lease_ms: 60_000,
            longest_sleep_ms: 500,
            grace_ms: 10_000,
            inbox_ms: 3 * 24 * 60 * 60 * 1_000,
            history: 1_000,
            history_bytes: 16 << 20,
            purge_every_ms: 60 * 60 * 1_000,
        }
    }
}

impl Limits {
    /// The wait before the attempt that follows `attempt`.
    pub(crate) fn backoff(&self, attempt: i64) -> u64 {
        let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0);
        let factor = 2_u64.checked_pow(doublings).unwrap_or(u64::MAX);
        self.backoff_ms
            .saturating_mul(factor)
            .min(self.longest_backoff_ms)
    }
}

/// `now` and then so many milliseconds.
pub(crate) fn after(now: i64, ms: u64) -> i64 {
    now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_and_has_a_bound() {
        let limits = Limits::default();
        let waits: Vec<u64> = [1, 2, 3, 7, 99].map(|n| limits.backoff(n)).to_vec();
        assert_eq!(waits, [1_000, 2_000, 4_000, 60_000, 60_000]);
    }
}
