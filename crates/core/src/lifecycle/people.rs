//! People: requested, waited for, called, reminded; and the acts of people that end `needsHuman` and `error`.

use super::approvals::Approvals;
use super::explain::{Wait, wait};
use super::life::Life;
use super::probing::newest_review;
use super::state::Reminder;
use super::{
    CallReason, Decision, Effect, Outcome, PendingWait, Phase, Progress, ReviewFact, ReviewState,
    State,
};
use crate::domain::Login;

impl Life<'_> {
    /// A configured person reviews the head.
    pub(super) fn await_review(&mut self, login: &Login) {
        self.drop_session();
        let reviewer = login.to_string();
        self.enter(Phase::Reviewing { reviewer });
        self.request(login);
    }

    /// Requests a review once for each head.
    fn request(&mut self, login: &Login) {
        let is_requested = |logins: &[Login]| logins.contains(login);
        let on_github = self
            .facts()
            .is_some_and(|facts| is_requested(&facts.requested));
        if on_github || is_requested(&self.state.requested) {
            return;
        }
        let logins = vec![login.clone()];
        self.state.requested.push(login.clone());
        self.state.request = Some(self.emit(Effect::RequestReviewers { logins }));
    }

    /// The state `needsHuman`. People are called once for each reason: an act of a person that leads back to it calls nobody.
    pub(super) fn call_people(&mut self, reason: CallReason, logins: Vec<Login>) {
        self.drop_session();
        let is_known = matches!(&self.state.phase, Phase::NeedsHuman { reason: known, .. } if *known == reason);
        if matches!(reason, CallReason::Escalated { .. }) {
            for login in &logins {
                self.request(login);
            }
        }
        self.enter(Phase::NeedsHuman {
            reason: reason.clone(),
            logins: logins.clone(),
            seen_review: newest_review(&self.state),
            seen_resume: newest_resume(&self.state),
        });
        if !is_known {
            self.emit(Effect::Call { reason, logins });
        }
    }

    /// GitHub did not take the request, so a comment asks.
    pub(super) fn request_failed(&mut self, error: &str) {
        self.state.request = None;
        self.state.last_error = Some(error.to_owned());
        self.log(format!("the review could not be requested: {error}"));
        if let Wait::People { logins, .. } = wait(&self.state, self.policy) {
            let reason = CallReason::NotRequested;
            self.emit(Effect::Call { reason, logins });
        }
    }

    pub(super) fn remind(&mut self, seq: u64) {
        if self.state.reminder != (Reminder::Set { seq }) {
            return self.log("ignored: the reminder is stale");
        }
        self.state.reminder = Reminder::Sent;
        if let Wait::People { logins, what } = wait(&self.state, self.policy) {
            let reason = CallReason::StillWaiting { what };
            self.emit(Effect::Call { reason, logins });
        }
        self.ask_probe();
    }

    /// True if the facts hold an act of a person that ends `needsHuman`: a new review of this head, which starts the count of
    /// cycles anew, or `fix resume`, which grants as many cycles again.
    pub(super) fn is_released(&mut self) -> bool {
        let Phase::NeedsHuman {
            seen_review,
            seen_resume,
            ..
        } = self.state.phase
        else {
            return false;
        };
        if self.has_new_review(seen_review) {
            self.log("a person has reviewed this head");
            self.forgive();
        } else if newest_resume(&self.state) > seen_resume {
            self.log("a person has resumed fixing");
            let facts = self.facts();
            let cycles = facts.map_or(1, |facts| facts.settings.max_fix_cycles);
            self.state.granted = self.state.granted.saturating_add(cycles.max(1));
        } else {
            return false;
        }
        self.clear_way();
        true
    }

    fn has_new_review(&self, seen: u64) -> bool {
        let Some(approvals) = Approvals::new(&self.state, self.policy) else {
            return false;
        };
        let decides = |review: &&ReviewFact| {
            let is_decision = matches!(
                review.state,
                ReviewState::Approved | ReviewState::ChangesRequested
            );
            is_decision && review.id > seen && approvals.counts(review)
        };
        let facts = self.facts();
        let mut reviews = facts
            .iter()
            .flat_map(|facts| facts.reviews.iter().map(|one| (*facts, one)));
        reviews.any(|(facts, one)| decides(&one) && one.commit.as_ref() == Some(&facts.head))
    }

    /// The command `retry`: ends `error` and `needsHuman`, the wait after a failure, and the wait for the quota of a day.
    pub(super) fn retry_command(&mut self, by: &str) {
        self.log(format!("{by} asks for another attempt"));
        self.state.probe_failures = 0;
        self.state.waived = self.facts().map(|facts| facts.head.clone());
        match &self.state.phase {
            Phase::NeedsHuman { reason, .. } => {
                let of_fixes = matches!(
                    reason,
                    CallReason::CapReached { .. } | CallReason::NothingFixed { .. }
                );
                self.state.granted = self.state.granted.saturating_add(u32::from(of_fixes));
                self.clear_way();
                self.load();
            }
            Phase::Error { .. } => self.load(),
            Phase::Fixing { .. } if self.state.session.is_none() => {
                self.look_again();
                self.load();
            }
            _ => {
                if let Some(session) = &mut self.state.session
                    && matches!(
                        session.progress,
                        Progress::Backoff { .. } | Progress::Quota { .. }
                    )
                {
                    session.progress = Progress::Due;
                }
            }
        }
        self.ask_probe();
    }

    fn load(&mut self) {
        self.enter(Phase::Pending {
            wait: PendingWait::Facts,
        });
    }

    /// Takes away what would lead to the same `needsHuman` again: a dismissed review is put aside, so that the agent looks anew;
    /// refusals of a merge are forgotten.
    fn clear_way(&mut self) {
        let Phase::NeedsHuman { reason, .. } = &self.state.phase else {
            return;
        };
        match reason {
            CallReason::Dismissed { reviewer } => {
                let (reviewer, head) = (reviewer.clone(), self.facts().map(|one| one.head.clone()));
                let is_other =
                    |one: &Outcome| one.reviewer != reviewer || Some(&one.commit) != head.as_ref();
                self.state.outcomes.retain(is_other);
                self.state.horizon = newest_review(&self.state);
            }
            CallReason::NoFixer { .. } => self.look_again(),
            CallReason::MergeRefused { .. } => self.leave_merging(),
            _ => {}
        }
    }

    /// True if a person with write access has ordered a review of a head that agents have decided about. People overrule agents
    /// this way: they close or dismiss the findings, and the agent looks at what is left.
    pub(super) fn is_review_ordered(&mut self) -> bool {
        let orders = self.facts().into_iter().flat_map(|one| &one.invitations);
        let orders = orders.filter(|order| self.policy.is_person(&order.by));
        let newest = orders.map(|order| order.id).max().unwrap_or(0);
        if newest <= self.state.ordered {
            return false;
        }
        self.state.ordered = newest;
        let waits = match self.state.phase {
            Phase::Fixing { .. } => !self.is_pushed(),
            Phase::NeedsHuman { .. } => true,
            _ => false,
        };
        if waits {
            self.log("a person orders a review");
            self.clear_way();
            self.look_again();
        }
        waits
    }

    /// Puts the requests for changes of agents about this head aside, so that they look anew.
    fn look_again(&mut self) {
        let head = self.facts().map(|facts| facts.head.clone());
        let stays = |one: &Outcome| {
            one.by_person
                || one.decision == Decision::Approved
                || Some(&one.commit) != head.as_ref()
        };
        self.state.outcomes.retain(stays);
        self.state.horizon = newest_review(&self.state).max(self.state.horizon);
    }
}

fn newest_resume(state: &State) -> u64 {
    let resumes = state.facts.iter().flat_map(|facts| &facts.resumes);
    resumes.map(|order| order.id).max().unwrap_or(0)
}
