//! Probes: what new facts change before a goal is computed. Several wakes become one probe.

use super::approvals::Approvals;
use super::goal::{self, Goal};
use super::life::Life;
use super::{CallReason, Comparison, Effect, Facts, MergeType, Merging, Phase, PullState, State};
use crate::domain::{CommitSha, Login};

impl Life<'_> {
    pub(super) fn woken(&mut self, cause: &str) {
        self.log(format!("woken by {cause}"));
        self.state.probe_failures = 0;
        self.ask_probe();
    }

    pub(super) fn probed(&mut self, probe: u64, facts: &Facts) {
        if self.state.probe != Some(probe) {
            return self.log(format!("ignored: the answer to probe {probe} is stale"));
        }
        self.state.probe = None;
        self.state.probe_failures = 0;
        let before = self.state.facts.replace(facts.clone());
        self.state.facts_probe = probe;
        let is_moved = before.as_ref().is_some_and(|one| one.head != facts.head);
        let is_retargeted = before.is_some_and(|one| one.base != facts.base);
        if is_moved || is_retargeted {
            let newest = newest_order(facts);
            if newest > self.state.order_horizon && facts.is_of_stranger() {
                // An order and a push that one probe shows have no order in time.
                self.log("orders to review that came with the push do not count for the new head");
            }
            self.state.order_horizon = newest.max(self.state.order_horizon);
        }
        match &facts.state {
            PullState::Merged { by, .. } => self.merged(by.as_ref()),
            PullState::Closed => {
                self.closed();
                if is_retargeted {
                    self.put_approvals_aside();
                }
            }
            PullState::Open => self.open(is_moved, is_retargeted),
        }
        if std::mem::take(&mut self.state.probe_again) && !self.is_merged() {
            self.ask_probe();
        }
    }

    pub(super) fn probe_failed(&mut self, error: &str) {
        self.state.probe = None;
        self.state.probe_again = false;
        self.state.last_error = Some(error.to_owned());
        self.log(format!("the pull request could not be read: {error}"));
        let delay = self.policy.probe_delay_ms(self.state.probe_failures);
        self.state.probe_failures = self.state.probe_failures.saturating_add(1);
        let at = self.after(delay);
        self.ask_at(at);
    }

    /// The time has come to ask again.
    pub(super) fn ask_again(&mut self, seq: u64) {
        if self.state.ask_timer.is_none_or(|timer| timer.seq != seq) {
            return self.log("ignored: the timer is stale");
        }
        self.state.ask_timer = None;
        let now = self.now;
        if let Merging::Unsettled { until } | Merging::Refused { until, .. } =
            &mut self.state.merging
        {
            *until = now.min(*until);
        }
        self.ask_probe();
    }

    fn is_merged(&self) -> bool {
        matches!(self.state.phase, Phase::Merged { .. })
    }

    fn open(&mut self, is_moved: bool, is_retargeted: bool) {
        let is_new_life = self.state.generation == 0 || self.state.phase == Phase::Closed;
        if is_new_life {
            self.begin_life();
        }
        if is_moved {
            self.moved();
        }
        if is_retargeted {
            self.retargeted();
        }
        self.read_reviews();
        self.retry_disarm();
        let is_ordered = self.is_review_ordered();
        let is_released = self.is_released() || is_ordered || is_moved || is_retargeted;
        self.evaluate_from(is_released);
    }

    /// The first life, or the next one after a pull request was reopened: agents look anew.
    fn begin_life(&mut self) {
        let old = std::mem::take(&mut self.state);
        let newest = newest_review(&old);
        let is_first = old.generation == 0;
        let merging = match old.merging {
            Merging::Asked { .. } | Merging::Disarming { .. } => old.merging,
            _ => Merging::Idle,
        };
        self.state = State {
            generation: old.generation + 1,
            since: self.now,
            born: old.born,
            seq: old.seq,
            probe: old.probe,
            probe_again: old.probe_again,
            facts: old.facts,
            facts_probe: old.facts_probe,
            merging,
            horizon: if is_first { 0 } else { newest },
            base_horizon: old.base_horizon,
            order_horizon: old.order_horizon,
            ask_timer: old.ask_timer,
            ..State::default()
        };
        self.log(format!("life {} begins", self.state.generation));
    }

    /// The head is another one: approvals and requests of the old one are compared or asked for anew, and whoever was at work looks
    /// first.
    fn moved(&mut self) {
        let facts = self.facts();
        let by_person = facts.is_some_and(|facts| {
            let by = facts.last_push_by.as_ref();
            by.is_some_and(|by| self.policy.is_person(by)) && !self.is_own_fix(&facts.head)
        });
        self.log(format!(
            "the head is another one, pushed by {}",
            if by_person { "a person" } else { "a program" }
        ));
        if by_person {
            self.forgive();
        }
        self.look_anew();
    }

    /// The base is another one, so the same head makes another change: nothing that was approved before counts, and whoever was at
    /// work begins anew.
    fn retargeted(&mut self) {
        self.log("the base is another one");
        self.look_anew();
        self.drop_session();
        self.put_approvals_aside();
    }

    fn look_anew(&mut self) {
        self.state.first = self.at_work().or(self.state.first.take());
        self.state.compared.clear();
        self.state.requested.clear();
        self.leave_merging();
    }

    /// All decisions of agents and all approvals of people so far are of another change.
    fn put_approvals_aside(&mut self) {
        let newest = newest_review(&self.state);
        self.state.outcomes.retain(|one| one.by_person);
        self.state.horizon = newest.max(self.state.horizon);
        self.state.base_horizon = newest.max(self.state.base_horizon);
    }

    /// An act of a person starts the count of fix cycles anew.
    pub(super) fn forgive(&mut self) {
        self.state.cycles = 0;
        self.state.granted = 0;
    }

    /// The reviewer that the present phase is about.
    fn at_work(&self) -> Option<String> {
        match &self.state.phase {
            Phase::Reviewing { reviewer } => Some(reviewer.clone()),
            Phase::Fixing { asked_by }
            | Phase::NeedsHuman {
                reason: CallReason::CapReached { asked_by, .. },
                ..
            } => Some(asked_by.clone()),
            _ => None,
        }
    }

    /// Computes the goal and pursues it, after comparisons that are missing were asked for.
    pub(super) fn evaluate(&mut self) {
        self.evaluate_from(false);
    }

    /// `needsHuman` and `error` are kept unless something has released them.
    fn evaluate_from(&mut self, is_released: bool) {
        // A late answer may come after the end.
        if self.state.phase == Phase::Closed || self.is_merged() {
            return;
        }
        let stays = !is_released
            && matches!(
                self.state.phase,
                Phase::NeedsHuman { .. }
                    | Phase::Error {
                        of_settings: false,
                        ..
                    }
            );
        let goal = if stays {
            goal::outer(&self.state, self.policy)
        } else {
            self.compare();
            goal::goal(&self.state, self.policy)
        };
        if let Some(goal) = goal {
            self.pursue(goal);
        }
    }

    fn compare(&mut self) {
        let ready = self.facts().filter(|facts| !facts.draft);
        let Some(head) = ready.map(|facts| facts.head.clone()) else {
            return;
        };
        let approvals = Approvals::new(&self.state, self.policy);
        for from in approvals.map(|one| one.uncompared()).unwrap_or_default() {
            let to = head.clone();
            let effect = Effect::Compare {
                from: from.clone(),
                to,
            };
            let seq = self.emit(effect);
            self.state.compared.push(Comparison {
                from,
                seq,
                identical: None,
            });
        }
    }

    pub(super) fn compared(&mut self, from: &CommitSha, to: &CommitSha, identical: bool) {
        let is_of_head = self.facts().is_some_and(|facts| facts.head == *to);
        let mut compared = self.state.compared.iter_mut();
        let open = compared.find(|one| one.from == *from && one.identical.is_none());
        match open.filter(|_| is_of_head) {
            Some(comparison) => comparison.identical = Some(identical),
            None => return self.log("ignored: the comparison is stale"),
        }
        let words = if identical {
            "the same change as"
        } else {
            "another change than"
        };
        self.log(format!("the head makes {words} {}", from.short()));
        self.evaluate();
    }

    fn merged(&mut self, by: Option<&Login>) {
        let merging = matches!(
            self.state.merging,
            Merging::Asked { .. } | Merging::Armed { .. }
        );
        // GitHub's merge queue merges as a bot of GitHub's own.
        let by_service = by.map_or(merging, |by| {
            self.policy.is_own(by) || (merging && by.is_bot())
        });
        let merge_type = match self.state.phase {
            _ if by_service => MergeType::Auto,
            Phase::Approved => MergeType::Approved,
            _ => MergeType::Forced,
        };
        self.end(Phase::Merged { merge_type });
    }

    fn closed(&mut self) {
        self.end(Phase::Closed);
    }

    /// A terminal phase: nothing is waited for any more.
    pub(super) fn end(&mut self, phase: Phase) {
        self.drop_session();
        self.state.merging = match std::mem::take(&mut self.state.merging) {
            Merging::Asked { attempt, head, .. } => Merging::Asked {
                attempt,
                head,
                abandoned: true,
            },
            Merging::Disarming { attempt, failed } => Merging::Disarming { attempt, failed },
            _ => Merging::Idle,
        };
        self.enter(phase);
    }

    fn pursue(&mut self, goal: Goal) {
        if goal != Goal::Approved {
            self.leave_merging();
        }
        match goal {
            Goal::Pending(wait) => {
                self.drop_session();
                self.enter(Phase::Pending { wait });
            }
            Goal::Review { agent } => self.review(&agent),
            Goal::AwaitReview { login } => self.await_review(&login),
            Goal::Fix { agent, asked_by } => self.fix(&agent, &asked_by),
            Goal::AwaitPush { asked_by } => {
                self.drop_session();
                self.state.first = Some(asked_by.clone());
                self.enter(Phase::Fixing { asked_by });
            }
            Goal::AwaitFix => {}
            Goal::NeedsHuman { reason, logins } => self.call_people(reason, logins),
            Goal::Approved => self.approved(),
            Goal::Unsettable { message } => self.fail(message, true),
        }
    }
}

/// The id of the newest review that the facts hold.
pub(super) fn newest_review(state: &State) -> u64 {
    let reviews = state.facts.iter().flat_map(|facts| &facts.reviews);
    reviews.map(|review| review.id).max().unwrap_or(0)
}

/// The id of the newest order that the facts hold.
fn newest_order(facts: &Facts) -> u64 {
    let orders = facts.resumes.iter().chain(&facts.invitations);
    orders.map(|order| order.id).max().unwrap_or(0)
}
