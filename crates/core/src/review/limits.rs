//! The limits of a run, and the count of what it has used. Separate from the passes, which only ask.

use crate::review::sidecar_events::Usage;
use crate::state::spending::Allowances;
use reviewer_text::count::tokens;
use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// The time for a task that was told to come to an end.
const GRACE: Duration = Duration::from_mins(2);

/// Returns the part of the time left that a task may take, if so many tasks are left, this one included: more than its
/// equal part, because most take less, and never all, so that what it has not said can still be asked for.
#[must_use]
pub fn share(left: Duration, tasks: u32) -> Duration {
    left * 4 / (2 * tasks + 3)
}

/// Returns the further time for a task when its share is used up.
#[must_use]
pub fn grace(left: Duration, tasks: u32) -> Duration {
    (left / tasks.max(1)).min(GRACE)
}

#[derive(Debug, Clone)]
pub struct RunLimits {
    /// The end of the tasks that come next.
    pub deadline: Instant,
    /// The end of the run. Several reviewers have to meet before it.
    pub last: Instant,
    pub allowances: Allowances,
}

impl RunLimits {
    /// Returns why nothing may be asked of the model at all.
    #[must_use]
    pub fn nothing_left(&self) -> Option<&str> {
        let Allowances { usd, tokens } = &self.allowances;
        let usd = usd.as_ref().filter(|usd| usd.most <= 0.0);
        let tokens = tokens.as_ref().filter(|tokens| tokens.most == 0);
        usd.map(|usd| usd.why.as_str())
            .or(tokens.map(|tokens| tokens.why.as_str()))
    }

    /// Returns why this much is too much for one of several sessions. What nobody has used yet is shared equally among
    /// the sessions that are at work; what an ended one has left returns to the others.
    #[must_use]
    pub fn share_exceeded_by(&self, own: &Total, shares: &Shares) -> Option<String> {
        let active = u32::try_from(shares.active)
            .ok()
            .filter(|active| *active > 1)?;
        let Allowances { usd, tokens } = &self.allowances;
        let usd = usd.as_ref().filter(|usd| {
            let left = (usd.most - shares.ended.cost).max(0.0);
            own.cost > left / f64::from(active)
        });
        let tokens = tokens.as_ref().filter(|tokens| {
            let left = tokens.most.saturating_sub(shares.ended.tokens.number);
            own.tokens.number > left / u64::from(active)
        });
        let why = usd
            .map(|usd| &usd.why)
            .or(tokens.map(|tokens| &tokens.why))?;
        Some(format!("its equal share is used up: {why}"))
    }

    /// Returns why this much, by all sessions of the run, is too much.
    #[must_use]
    pub fn exceeded_by(&self, total: &Total) -> Option<String> {
        let Allowances { usd, tokens } = &self.allowances;
        if let Some(usd) = usd.as_ref().filter(|usd| total.cost > usd.most) {
            return Some(usd.why.clone());
        }
        let (tokens, count) = (tokens.as_ref()?, total.tokens);
        let how = if count.estimated {
            " (estimated by the size of requests and answers, as the endpoint counts no tokens)"
        } else {
            ""
        };
        (count.number > tokens.most).then(|| format!("{}{how}", tokens.why))
    }
}

/// The sessions of a run, as far as they share its budget.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shares {
    /// The use of those that have ended.
    pub ended: Total,
    /// The number of those at work.
    pub active: usize,
}

/// Everything that has passed the gateway so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub requests: u64,
    /// Bytes of requests.
    pub sent: u64,
    /// Bytes of answers.
    pub answered: u64,
}

impl Traffic {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            sent: self.sent.saturating_add(other.sent),
            answered: self.answered.saturating_add(other.answered),
        }
    }

    /// The use since then.
    #[must_use]
    pub fn minus(self, before: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            sent: self.sent.saturating_sub(before.sent),
            answered: self.answered.saturating_sub(before.answered),
        }
    }

    /// The larger of both in every number.
    #[must_use]
    pub(crate) fn at_least(self, other: Self) -> Self {
        Self {
            requests: self.requests.max(other.requests),
            sent: self.sent.max(other.sent),
            answered: self.answered.max(other.answered),
        }
    }

    /// At four bytes each, for endpoints that do not count.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.sent.saturating_add(self.answered) / 4
    }
}

/// The use that a session has made of its model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// By the endpoint's own account, as OpenCode was told it.
    pub told: Usage,
    /// By what passed the gateway.
    pub passed: Traffic,
}

impl AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        self.told += other.told;
        self.passed = self.passed.plus(other.passed);
    }
}

impl Used {
    #[must_use]
    pub fn total(&self) -> Total {
        Total {
            cost: self.told.cost,
            tokens: self.tokens(),
        }
    }

    #[must_use]
    pub fn tokens(&self) -> Count {
        self.since(&Self::default())
    }

    /// The tokens that were used since. Where the endpoint counts none, they are estimated by what passed the gateway.
    #[must_use]
    pub fn since(&self, before: &Self) -> Count {
        let of = |used: &Self| match self.told.tokens.total() {
            0 => used.passed.tokens(),
            _ => used.told.tokens.total(),
        };
        let number = of(self).saturating_sub(of(before));
        Count {
            number,
            estimated: number > 0 && self.told.tokens.total() == 0,
        }
    }

    /// The dollars that were spent since.
    #[must_use]
    pub fn cost_since(&self, before: &Self) -> f64 {
        (self.told.cost - before.told.cost).max(0.0)
    }
}

/// The cost and tokens of one session, or of all sessions of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// In US dollars.
    pub cost: f64,
    pub tokens: Count,
}

impl AddAssign for Total {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.tokens += other.tokens;
    }
}

/// A number of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub number: u64,
    pub estimated: bool,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        *self = Self {
            number: self.number.saturating_add(other.number),
            estimated: self.estimated || other.estimated,
        };
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&tokens(self.number, self.estimated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sidecar_events::Tokens;
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
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn tokens_that_nobody_counts_are_counted_by_size() {
        let limits = RunLimits {
            deadline: Instant::now(),
            last: Instant::now(),
            allowances: Allowances {
                usd: allowance(("max_cost_usd", "USD"), Some(5.0), None, 0.0),
                tokens: allowance(("max_tokens", "tokens"), Some(100), None, 0),
            },
        };
        let used = |input, sent| Used {
            told: Usage {
                tokens: Tokens {
                    input,
                    ..Tokens::default()
                },
                ..Usage::default()
            },
            passed: Traffic {
                requests: 1,
                sent,
                answered: 0,
            },
        };
        assert_eq!(limits.exceeded_by(&used(0, 400).total()), None);
        let why = limits.exceeded_by(&used(0, 404).total()).unwrap();
        assert!(why.contains("the endpoint counts no tokens"), "{why}");
        assert_eq!(limits.exceeded_by(&used(9, 9_000).total()), None);
        let why = limits.exceeded_by(&used(101, 0).total()).unwrap();
        assert_eq!(why, "max_tokens of 100 was reached");
        let told = |used: Used| used.tokens().to_string();
        assert_eq!(told(used(0, 48_000)), "about 12,000 tokens (estimated)");
        assert_eq!(told(used(12_000, 9)), "12,000 tokens");
        assert_eq!(told(used(0, 0)), "0 tokens");
        let later = used(0, 800).since(&used(0, 400));
        assert_eq!((later.number, later.estimated), (100, true));
        assert_eq!(used(70, 800).since(&used(50, 400)).number, 20);
        let mut dear = used(0, 0);
        dear.told.cost = 5.01;
        assert_eq!(
            limits.exceeded_by(&dear.total()).unwrap(),
            "max_cost_usd of 5 was reached"
        );
    }
}
