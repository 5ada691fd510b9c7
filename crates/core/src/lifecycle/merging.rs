//! Merging an approved head: held by people, asked for by its commit, armed, refused, taken back.

use super::approvals::Approvals;
use super::life::Life;
use super::{
    CallReason, Effect, MergeAnswer, MergeState, MergeType, Mergeable, Merging, Phase, Policy,
    State,
};
use crate::domain::{CommitSha, Login};

/// The reason why an approved head is not merged by the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    /// `require_human_approval`, and nobody has approved this head.
    HumanApproval,
    /// The head is of a fork, and nobody with write access has approved it.
    Fork,
    /// This person requests changes.
    Objection(Login),
    /// The author has to resolve conflicts.
    Conflict,
    /// `auto_merge` is off.
    Manual,
    /// The author is the account that merges, and it never merges a pull request of its own.
    Own,
}

pub(super) fn hold(state: &State, policy: &Policy) -> Option<Hold> {
    let facts = state.facts.as_ref()?;
    let approvals = Approvals::new(state, policy)?;
    if facts.settings.require_human_approval && !approvals.has_human_approval() {
        return Some(Hold::HumanApproval);
    }
    if !facts.settings.auto_merge {
        return Some(Hold::Manual);
    }
    if facts.from_fork && !approvals.has_writers_approval() {
        return Some(Hold::Fork);
    }
    if let Some(login) = approvals.objector() {
        return Some(Hold::Objection(login));
    }
    let conflicts =
        facts.mergeable == Mergeable::Conflicting || facts.merge_state == MergeState::Dirty;
    if conflicts {
        return Some(Hold::Conflict);
    }
    let author = facts.author.as_ref();
    let is_own = !policy.has_personas() && author == Some(policy.account());
    is_own.then_some(Hold::Own)
}

impl Life<'_> {
    pub(super) fn approved(&mut self) {
        self.drop_session();
        self.enter(Phase::Approved);
        self.carry_check();
        if hold(&self.state, self.policy).is_some() {
            return self.leave_merging();
        }
        let Some(facts) = self.facts() else {
            return;
        };
        let (current, merge_state) = (facts.head.clone(), facts.merge_state);
        let is_armed = facts.auto_merge_armed || facts.in_merge_queue;
        let (now, probe) = (self.now, self.state.facts_probe);
        match &mut self.state.merging {
            Merging::Asked {
                head, abandoned, ..
            } => *abandoned = *head != current,
            Merging::Disarming { .. } => {}
            Merging::Armed { after, .. } if probe > *after && !is_armed => {
                let why = "the armed merge was taken back".into();
                self.state.merging = Merging::Idle;
                self.call_people(CallReason::MergeRefused { why }, Vec::new());
            }
            Merging::Armed { until, .. } => {
                if *until <= now {
                    *until = now.saturating_add_unsigned(self.policy.merge_again_ms);
                }
                let at = *until;
                self.ask_at(at);
            }
            Merging::Unsettled { until } if *until > now => {
                let at = *until;
                self.ask_at(at);
            }
            Merging::Refused {
                until,
                merge_state: before,
                ..
            } if *until > now && *before == merge_state => {
                let at = *until;
                self.ask_at(at);
            }
            Merging::Idle | Merging::Unsettled { .. } | Merging::Refused { .. } => self.attempt(),
        }
    }

    /// A session puts the check on the head that it reviews. Where all approvals of agents are of the same change under another head,
    /// there was none.
    fn carry_check(&mut self) {
        let facts = self.facts().filter(|_| self.policy.has_personas());
        let Some(head) = facts.map(|facts| facts.head.clone()) else {
            return;
        };
        let outcomes = self.state.outcomes.iter();
        let mut of_agents = outcomes.filter(|one| !one.by_person).map(|one| &one.commit);
        let is_done = self.state.checked.as_ref() == Some(&head);
        if is_done || of_agents.clone().any(|commit| *commit == head) {
            return;
        }
        let is_same = |commit: &&CommitSha| {
            let mut compared = self.state.compared.iter();
            compared.any(|one| one.from == **commit && one.identical == Some(true))
        };
        let Some(from) = of_agents.find(is_same).cloned() else {
            return;
        };
        self.state.checked = Some(head.clone());
        self.emit(Effect::CarryCheck { from, head });
    }

    fn attempt(&mut self) {
        let Some(facts) = self.facts() else {
            return;
        };
        let is_unknown =
            facts.mergeable == Mergeable::Unknown || facts.merge_state == MergeState::Unknown;
        let head = facts.head.clone();
        if is_unknown {
            return self.unsettled();
        }
        self.log(format!("merging {}", head.short()));
        let attempt = self.number(|attempt| Effect::Merge {
            attempt,
            head: head.clone(),
        });
        self.state.merging = Merging::Asked {
            attempt,
            head,
            abandoned: false,
        };
    }

    /// GitHub does not know yet: asked again a few times, then as after a refusal.
    fn unsettled(&mut self) {
        self.state.unsettled += 1;
        if self.state.unsettled > self.policy.ask_again {
            return self.refused("GitHub does not say whether the head can be merged");
        }
        let until = self.after(self.policy.ask_again_ms);
        self.state.merging = Merging::Unsettled { until };
        self.ask_at(until);
    }

    fn refused(&mut self, why: &str) {
        self.log(format!("the merge is refused: {why}"));
        self.state.last_error = Some(why.to_owned());
        self.state.refusals += 1;
        self.state.unsettled = 0;
        let why = why.to_owned();
        if self.state.refusals >= self.policy.merge_refusals {
            self.state.merging = Merging::Idle;
            let reason = CallReason::MergeRefused { why };
            return self.call_people(reason, Vec::new());
        }
        let until = self.after(self.policy.merge_again_ms);
        let merge_state = self.facts().map(|facts| facts.merge_state);
        self.state.merging = Merging::Refused {
            why,
            merge_state: merge_state.unwrap_or(MergeState::Unknown),
            until,
        };
        self.ask_at(until);
    }

    pub(super) fn merge_answered(&mut self, attempt: u64, answer: &MergeAnswer) {
        match self.state.merging {
            Merging::Asked {
                attempt: asked,
                abandoned,
                ..
            } if asked == attempt => {
                if abandoned {
                    self.answered_late(answer);
                } else {
                    self.answered(answer);
                }
            }
            Merging::Disarming { attempt: asked, .. } if asked == attempt => match answer {
                MergeAnswer::Merged => self.merged_by_service(),
                MergeAnswer::Disarmed => {
                    self.state.merging = Merging::Idle;
                    self.evaluate();
                }
                _ => self.disarm_failed(&format!("{answer:?}")),
            },
            _ => self.log(format!("ignored: merge {attempt} is not the one asked for")),
        }
    }

    fn answered(&mut self, answer: &MergeAnswer) {
        let Merging::Asked { head, .. } = std::mem::take(&mut self.state.merging) else {
            return;
        };
        match answer {
            MergeAnswer::Merged => self.merged_by_service(),
            MergeAnswer::Armed | MergeAnswer::Queued => {
                let until = self.after(self.policy.merge_again_ms);
                self.log("GitHub merges when its requirements are met");
                self.state.merging = Merging::Armed {
                    head,
                    queued: *answer == MergeAnswer::Queued,
                    after: self.state.seq,
                    until,
                };
                self.ask_at(until);
            }
            MergeAnswer::Moved | MergeAnswer::Disarmed => self.ask_probe(),
            MergeAnswer::Unknown => self.unsettled(),
            MergeAnswer::Refused { why } => self.refused(why),
        }
    }

    /// The answer to a merge whose approval is gone.
    fn answered_late(&mut self, answer: &MergeAnswer) {
        self.state.merging = Merging::Idle;
        match answer {
            MergeAnswer::Merged => self.merged_by_service(),
            MergeAnswer::Armed | MergeAnswer::Queued => self.disarm(),
            _ => self.evaluate(),
        }
    }

    /// The driver gave up the merge or the disarming with this number. True if there is such a one.
    pub(super) fn merge_failed(&mut self, seq: u64, error: &str) -> bool {
        match self.state.merging {
            // It may have been armed all the same.
            Merging::Asked {
                attempt,
                abandoned: true,
                ..
            } if attempt == seq => self.disarm(),
            Merging::Asked { attempt, .. } if attempt == seq => self.refused(error),
            Merging::Disarming { attempt, .. } if attempt == seq => self.disarm_failed(error),
            _ => return false,
        }
        true
    }

    fn merged_by_service(&mut self) {
        self.state.merging = Merging::Idle;
        self.end(Phase::Merged {
            merge_type: MergeType::Auto,
        });
    }

    /// The head is not approved any more, or not to be merged: an armed merge is taken back.
    pub(super) fn leave_merging(&mut self) {
        self.state.unsettled = 0;
        self.state.refusals = 0;
        match &mut self.state.merging {
            Merging::Asked { abandoned, .. } => *abandoned = true,
            Merging::Armed { .. } => self.disarm(),
            Merging::Unsettled { .. } | Merging::Refused { .. } => {
                self.state.merging = Merging::Idle;
            }
            Merging::Idle | Merging::Disarming { .. } => {}
        }
    }

    fn disarm(&mut self) {
        let attempt = self.number(|attempt| Effect::Disarm { attempt });
        self.log("the armed merge is taken back");
        self.state.merging = Merging::Disarming {
            attempt,
            failed: false,
        };
    }

    fn disarm_failed(&mut self, error: &str) {
        self.log(format!("the armed merge could not be taken back: {error}"));
        self.state.last_error = Some(error.to_owned());
        if let Merging::Disarming { failed, .. } = &mut self.state.merging {
            *failed = true;
        }
        let at = self.after(self.policy.probe_again_ms);
        self.ask_at(at);
    }

    /// After a disarming that failed: once more, as long as GitHub shows an armed merge.
    pub(super) fn retry_disarm(&mut self) {
        let failed = matches!(self.state.merging, Merging::Disarming { failed: true, .. });
        let is_armed = self
            .facts()
            .is_some_and(|facts| facts.auto_merge_armed || facts.in_merge_queue);
        match (failed, is_armed) {
            (true, true) => self.disarm(),
            (true, false) => self.state.merging = Merging::Idle,
            (false, _) => {}
        }
    }
}
