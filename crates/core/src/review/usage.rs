//! The use that the sessions of a run make of their models, added up. Separate from the limits, because whatever ends a
//! run must still be able to tell what it has cost.

use super::limits::{Shares, Total, Used};
use crate::review::limits::Traffic;
use crate::review::sidecar_events::Usage;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The use of one session, over all its turns, whichever process or conversation they were in.
#[derive(Debug, Default)]
pub struct SessionUsage(Mutex<Account>);

impl SessionUsage {
    /// The session has ended, and will use nothing more.
    pub fn end(&self) {
        self.account().ended = true;
    }

    fn has_ended(&self) -> bool {
        self.account().ended
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// By the turns that have ended.
    settled: Usage,
    /// By the turn under way, as far as events have told.
    running: Usage,
    /// By what passed the session's way to its model.
    passed: Traffic,
    ended: bool,
}

impl SessionUsage {
    /// One more answer of the turn under way.
    pub fn hear(&self, answer: Usage) {
        self.account().running += answer;
    }

    /// The turn has ended, and its own account takes the place of what was heard of it.
    pub fn settle(&self, turn: Usage) {
        let mut account = self.account();
        account.running = Usage::default();
        account.settled += turn;
    }

    /// The turn gives no account; what was heard of it was spent.
    pub fn break_off(&self) {
        let mut account = self.account();
        let heard = std::mem::take(&mut account.running);
        account.settled += heard;
    }

    /// Records the traffic to the model and back since the session began. It only grows.
    pub fn pass(&self, so_far: Traffic) {
        let mut account = self.account();
        account.passed = account.passed.at_least(so_far);
    }

    #[must_use]
    pub fn used(&self) -> Used {
        let account = self.account();
        let mut told = account.settled;
        told += account.running;
        Used {
            told,
            passed: account.passed,
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of all sessions of a run so far. Shared with whatever ends the run.
#[derive(Debug, Default)]
pub struct RunUsage(Mutex<Vec<Arc<SessionUsage>>>);

impl RunUsage {
    /// The account of one more session.
    #[must_use]
    pub fn open(&self) -> Arc<SessionUsage> {
        let session = Arc::<SessionUsage>::default();
        self.sessions().push(Arc::clone(&session));
        session
    }

    #[must_use]
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        for session in self.sessions().iter() {
            total += session.used().total();
        }
        total
    }

    /// Returns how the sessions share the run's budget now.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let mut shares = Shares::default();
        for session in self.sessions().iter() {
            if session.has_ended() {
                shares.ended += session.used().total();
            } else {
                shares.active += 1;
            }
        }
        shares
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Arc<SessionUsage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::review::limits::Count;
    use crate::review::sidecar_events::Tokens;

    pub fn usage(input: u64, cost: f64) -> Usage {
        Usage {
            tokens: Tokens {
                input,
                ..Tokens::default()
            },
            cost,
            requests: 1,
        }
    }

    fn sent(sent: u64) -> Traffic {
        Traffic {
            requests: 1,
            sent,
            answered: 0,
        }
    }

    fn total(run: &RunUsage) -> (u64, bool, f64) {
        let Total { cost, tokens } = run.total();
        (tokens.number, tokens.estimated, cost)
    }

    #[test]
    fn the_sessions_of_a_run_are_added_up() {
        let run = RunUsage::default();
        assert_eq!(total(&run), (0, false, 0.0));
        let (first, second) = (run.open(), run.open());
        first.settle(usage(100, 0.5));
        second.settle(usage(20, 0.25));
        first.settle(usage(3, 0.0));
        second.hear(usage(4, 0.25));
        assert_eq!(total(&run), (127, false, 1.0));
        assert_eq!(first.used().told.tokens.input, 103);
    }

    #[test]
    fn a_session_that_is_opened_later_takes_nothing_from_those_before() {
        let run = RunUsage::default();
        run.open().settle(usage(100, 0.5));
        let later = run.open();
        assert_eq!(later.used(), Used::default());
        assert_eq!(total(&run), (100, false, 0.5));
    }

    #[test]
    fn a_turn_counts_once_however_it_ends() {
        let session = SessionUsage::default();
        session.hear(usage(7, 0.1));
        session.hear(usage(8, 0.1));
        assert_eq!(session.used().told.tokens.input, 15, "while it runs");
        session.settle(usage(20, 0.3));
        assert_eq!(session.used().told.tokens.input, 20, "its own account");
        // The process is lost, and the conversation begins anew in another one.
        session.hear(usage(5, 0.1));
        session.break_off();
        session.break_off();
        session.settle(usage(30, 0.0));
        assert_eq!(session.used().told.tokens.input, 55);
        assert_eq!(session.used().told.requests, 3);
    }

    #[test]
    fn where_one_endpoint_counts_no_tokens_its_part_of_the_sum_is_estimated() {
        let run = RunUsage::default();
        let (counted, uncounted) = (run.open(), run.open());
        counted.settle(usage(100, 0.0));
        counted.pass(sent(9_000));
        uncounted.pass(sent(400));
        uncounted.pass(sent(200));
        let tokens = Count {
            number: 200,
            estimated: true,
        };
        assert_eq!(run.total().tokens, tokens);
    }
}
