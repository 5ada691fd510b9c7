//! The pace of writes: a few at once, then one a second. GitHub asks for the second where writes are many, and a usual
//! review has four. Separate from the client, because it needs a clock's numbers and no clock.

use std::time::{Duration, Instant};

pub(super) const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// The number of writes at once. With those that follow, a minute has fewer than the eighty that GitHub allows.
const AT_ONCE: u32 = 10;

#[derive(Debug)]
pub(super) struct Pace {
    between: Duration,
    /// When everything written so far would be done, had it been written one by one.
    done: Option<Instant>,
}

impl Pace {
    /// `between`: as long as `BETWEEN_WRITES` takes by the clock of the run.
    pub(super) fn new(between: Duration) -> Self {
        Self {
            between,
            done: None,
        }
    }

    /// Returns the pause before the next write, and counts it as written then.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let done = self.done.map_or(now, |done| done.max(now));
        self.done = Some(done + self.between);
        (done - now).saturating_sub(self.between * (AT_ONCE - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_system::clock::Clock;

    fn now() -> Instant {
        Clock::scaled(1.0).instant()
    }

    /// When each of so many writes goes out, each wanted as soon as the one before is out.
    fn seconds(pace: &mut Pace, from: Instant, writes: usize) -> Vec<u64> {
        let mut time = from;
        let mut out = Vec::new();
        for _ in 0..writes {
            time += pace.next(time);
            out.push((time - from).as_secs());
        }
        out
    }

    #[test]
    fn ten_writes_go_out_at_once_and_the_others_second_by_second() {
        let out = seconds(&mut Pace::new(BETWEEN_WRITES), now(), 13);
        assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
    }

    #[test]
    fn what_was_written_long_ago_counts_no_more() {
        let (mut pace, from) = (Pace::new(BETWEEN_WRITES), now());
        seconds(&mut pace, from, 12);
        let soon = from + Duration::from_secs(5);
        assert_eq!(seconds(&mut pace, soon, 4), [0, 0, 0, 1]);
        let later = from + Duration::from_mins(5);
        assert_eq!(
            seconds(&mut pace, later, 11),
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        );
    }

    #[test]
    fn no_minute_has_more_writes_than_github_allows() {
        let out = seconds(&mut Pace::new(BETWEEN_WRITES), now(), 500);
        for start in 0..out.len() {
            let minute = out[start..].iter().take_while(|at| **at < out[start] + 60);
            assert!(minute.count() <= 80, "from {start}");
        }
    }
}
