//! How much a run may ask of its model: requests and bytes, counted. Pure apart from its lock, which makes parallel
//! requests count one after the other.

use super::refusal::Refusal;
use std::sync::{Mutex, PoisonError};

/// Far beyond any review: they end a sidecar that has run wild, and spare the user its bill.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub requests: u64,
    pub request_bytes: u64,
    pub answer_bytes: u64,
    /// Of all requests together.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 2_000,
            request_bytes: 32 << 20,
            answer_bytes: 64 << 20,
            total_bytes: 2 << 30,
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    bytes: u64,
    /// An answer was cut, and nothing more is passed on: OpenCode would ask for the same again.
    closed: bool,
}

#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    counts: Mutex<Counts>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            counts: Mutex::default(),
        }
    }

    /// One more request, of this length if it says so.
    pub(super) fn request(&self, length: Option<u64>) -> Result<(), Refusal> {
        let limits = self.limits;
        self.with(|counts| {
            let length = length.unwrap_or_default();
            if counts.closed {
                return Err(Refusal::AnswerBytes(limits.answer_bytes));
            }
            if counts.requests >= limits.requests {
                return Err(Refusal::Requests(limits.requests));
            }
            if length > limits.request_bytes {
                return Err(Refusal::RequestBytes(limits.request_bytes));
            }
            if counts.bytes.saturating_add(length) > limits.total_bytes {
                return Err(Refusal::TotalBytes(limits.total_bytes));
            }
            counts.requests += 1;
            Ok(())
        })
    }

    /// More bytes of a request that has sent `so_far`, these included.
    pub(super) fn sends(&self, bytes: u64, so_far: u64) -> Result<(), Refusal> {
        let limits = self.limits;
        if so_far > limits.request_bytes {
            return Err(Refusal::RequestBytes(limits.request_bytes));
        }
        self.with(|counts| {
            counts.bytes = counts.bytes.saturating_add(bytes);
            if counts.bytes > limits.total_bytes {
                return Err(Refusal::TotalBytes(limits.total_bytes));
            }
            Ok(())
        })
    }

    /// An answer that has brought `so_far`. Past the limit it is cut, and it was the last one.
    pub(super) fn brings(&self, so_far: u64) -> Result<(), Refusal> {
        if so_far <= self.limits.answer_bytes {
            return Ok(());
        }
        self.with(|counts| counts.closed = true);
        Err(Refusal::AnswerBytes(self.limits.answer_bytes))
    }

    fn with<T>(&self, count: impl FnOnce(&mut Counts) -> T) -> T {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        Meter::new(Limits {
            requests: 3,
            request_bytes: 10,
            answer_bytes: 20,
            total_bytes: 25,
        })
    }

    #[test]
    fn requests_are_counted() {
        let meter = meter();
        for _ in 0..3 {
            assert_eq!(meter.request(None), Ok(()));
        }
        assert_eq!(meter.request(None), Err(Refusal::Requests(3)));
    }

    #[test]
    fn a_request_is_too_large_by_its_word_or_by_its_bytes() {
        let meter = meter();
        assert_eq!(meter.request(Some(11)), Err(Refusal::RequestBytes(10)));
        assert_eq!(meter.sends(4, 4), Ok(()));
        assert_eq!(meter.sends(7, 11), Err(Refusal::RequestBytes(10)));
    }

    #[test]
    fn all_requests_together_have_a_limit_too() {
        let meter = meter();
        assert_eq!(meter.sends(10, 10), Ok(()));
        assert_eq!(meter.sends(10, 10), Ok(()));
        assert_eq!(meter.request(Some(6)), Err(Refusal::TotalBytes(25)));
        assert_eq!(meter.request(Some(5)), Ok(()));
        assert_eq!(meter.sends(6, 6), Err(Refusal::TotalBytes(25)));
    }

    #[test]
    fn an_answer_past_its_limit_was_the_last() {
        let meter = meter();
        assert_eq!(meter.brings(20), Ok(()));
        assert_eq!(meter.brings(21), Err(Refusal::AnswerBytes(20)));
        assert_eq!(meter.request(None), Err(Refusal::AnswerBytes(20)));
    }
}
