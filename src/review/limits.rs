//! What a run may take, and what it has taken so far. Separate from the passes, because a run that is cut off must
//! still be able to tell what it has cost.

use crate::gateway::Taken;
use crate::opencode::session::Usage;
use crate::state::spending::Allowances;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a task gets that was told to come to an end.
const GRACE: Duration = Duration::from_mins(2);

/// How much of the time that is left a task may take, if so many are left, this one included: more than its part,
/// because most take less, and never all, so that what it has not said can still be asked for.
#[must_use]
pub fn share(left: Duration, tasks: u32) -> Duration {
    left * 4 / (2 * tasks + 3)
}

/// How much more it gets when that is used up.
#[must_use]
pub fn grace(left: Duration, tasks: u32) -> Duration {
    (left / tasks.max(1)).min(GRACE)
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub deadline: Instant,
    pub allowances: Allowances,
}

impl Limits {
    /// Why nothing may be asked of the model at all.
    #[must_use]
    pub fn nothing_left(&self) -> Option<&str> {
        let Allowances { usd, tokens } = &self.allowances;
        let usd = usd.as_ref().filter(|usd| usd.most <= 0.0);
        let tokens = tokens.as_ref().filter(|tokens| tokens.most == 0);
        usd.map(|usd| usd.why.as_str())
            .or(tokens.map(|tokens| tokens.why.as_str()))
    }

    /// Why this much is too much. Where OpenCode was told of no tokens, what passed the gateway is counted instead.
    #[must_use]
    pub fn exceeded_by(&self, usage: &Usage, taken: &Taken) -> Option<String> {
        let Allowances { usd, tokens } = &self.allowances;
        if let Some(usd) = usd.as_ref().filter(|usd| usage.cost > usd.most) {
            return Some(usd.why.clone());
        }
        let tokens = tokens.as_ref()?;
        match usage.tokens.total() {
            0 if taken.tokens() > tokens.most => Some(format!(
                "{} (estimated by the size of requests and answers, as the endpoint counts no tokens)",
                tokens.why
            )),
            told if told > tokens.most => Some(tokens.why.clone()),
            _ => None,
        }
    }
}

/// What the model has taken so far. Shared with whatever ends the run.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Usage>);

impl Meter {
    pub fn set(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = usage;
    }

    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::opencode::session::Tokens;
    use crate::state::spending::allowance;

    #[test]
    fn no_task_takes_the_time_of_those_after_it() {
        let minute = Duration::from_mins(1);
        let mut left = 40 * minute;
        let mut shares = Vec::new();
        for tasks in (1..=4).rev() {
            let share = share(left, tasks);
            // The next ones have at least as much as an equal part of the whole would have been, by half.
            assert!(left.checked_sub(share).unwrap() >= 40 * minute * (tasks - 1) / 8);
            shares.push(share.as_secs() / 60);
            left -= share;
            let more = grace(left, tasks);
            assert!(more > Duration::ZERO && more <= GRACE);
        }
        assert_eq!(shares, [14, 11, 8, 4]);
        assert_eq!(share(Duration::ZERO, 4), Duration::ZERO);
        assert_eq!(grace(Duration::ZERO, 1), Duration::ZERO);
    }

    #[test]
    fn tokens_that_nobody_counts_are_counted_by_size() {
        let limits = Limits {
            deadline: Clock::scaled(1.0).instant(),
            allowances: Allowances {
                usd: allowance("max_cost_usd", Some(5.0), None, 0.0),
                tokens: allowance("max_tokens", Some(100), None, 0),
            },
        };
        let taken = |bytes| Taken {
            requests: 1,
            sent: bytes,
            answered: 0,
        };
        let told = |input| Usage {
            tokens: Tokens {
                input,
                ..Tokens::default()
            },
            ..Usage::default()
        };
        assert_eq!(limits.exceeded_by(&told(0), &taken(400)), None);
        let why = limits.exceeded_by(&told(0), &taken(404)).unwrap();
        assert!(why.contains("the endpoint counts no tokens"), "{why}");
        assert_eq!(limits.exceeded_by(&told(9), &taken(9_000)), None);
        let why = limits.exceeded_by(&told(101), &taken(0)).unwrap();
        assert_eq!(why, "max_tokens of 100 was reached");
        let dear = Usage {
            cost: 5.01,
            ..Usage::default()
        };
        assert_eq!(
            limits.exceeded_by(&dear, &taken(0)).unwrap(),
            "max_cost_usd of 5 was reached"
        );
    }
}
