//! The driver: inputs are given to the machine, effects are executed and recognised when they were done already.

use super::{Running, World};
use crate::domain::CommitSha;
use crate::lifecycle::tests::checked::checked_step;
use crate::lifecycle::tests::fixture::login;
use crate::lifecycle::{
    Effect, Input, MergeAnswer, Numbered, Policy, PullState, Task, Timer, step,
};

impl World {
    /// Executes an effect; its answer is lost in a crash. What was done already is recognised.
    pub(super) fn execute(&mut self, task: Numbered, told: bool, policy: &Policy) {
        match task.effect {
            Effect::Wake { input, .. } => self.give(&input, policy),
            _ => self.execute_plain(task, told),
        }
    }

    pub(super) fn execute_plain(&mut self, task: Numbered, told: bool) {
        let seq = task.seq;
        let answer = match task.effect {
            Effect::Probe => Some(Input::Probed {
                probe: seq,
                facts: Box::new(self.facts.clone()),
            }),
            Effect::Compare { from, to } => Some(Input::Compared {
                identical: self.change(&from) == self.change(&to),
                from,
                to,
            }),
            Effect::Dispatch {
                dispatch,
                task,
                head,
                agent,
                ..
            } => {
                if !self.started.contains(&dispatch) {
                    self.sessions.push(Running {
                        dispatch,
                        agent,
                        head,
                        fixes: matches!(task, Task::Fix { .. }),
                    });
                }
                self.started.retain(|one| *one != dispatch);
                if !told {
                    self.started.push(dispatch);
                }
                self.starts.then(|| Input::SessionStarted {
                    dispatch,
                    session: "s".into(),
                })
            }
            Effect::Merge { attempt, head } => {
                let answer = self.merge_asked(&head);
                Some(Input::Merge { attempt, answer })
            }
            Effect::Disarm { attempt } => {
                self.armed = None;
                self.facts.auto_merge_armed = false;
                let answer = MergeAnswer::Disarmed;
                Some(Input::Merge { attempt, answer })
            }
            Effect::Wake { .. }
            | Effect::EndSession { .. }
            | Effect::RequestReviewers { .. }
            | Effect::CarryCheck { .. }
            | Effect::Call { .. } => None,
        };
        if told {
            self.inbox.extend(answer);
        }
    }

    pub(super) fn merge_asked(&mut self, head: &CommitSha) -> MergeAnswer {
        if matches!(self.facts.state, PullState::Merged { .. }) {
            return MergeAnswer::Merged;
        }
        if *head != self.facts.head || self.facts.state != PullState::Open {
            return MergeAnswer::Moved;
        }
        if self.facts.draft {
            let why = "draft".into();
            return MergeAnswer::Refused { why };
        }
        if self.arms {
            self.armed = Some(head.clone());
            self.facts.auto_merge_armed = true;
            return MergeAnswer::Armed;
        }
        self.merge("quality-bot");
        MergeAnswer::Merged
    }

    /// GitHub merges the head: every required reviewer must have approved this change.
    pub(super) fn merge(&mut self, by: &str) {
        let change = self.head_change();
        for reviewer in &self.facts.settings.reviewers {
            let approval = (reviewer.name.clone(), change);
            if !self.approved.contains(&approval) {
                let line = format!("{} did not approve change {change}", reviewer.name);
                self.broken = Some(line);
            }
        }
        self.unseen = true;
        self.facts.state = PullState::Merged {
            by: Some(login(by)),
            sha: None,
        };
    }

    pub(super) fn give(&mut self, input: &Input, policy: &Policy) {
        let before = self.state.session.clone();
        match checked_step(&self.state, input, policy, 0) {
            Err(broken) => self.broken = Some(broken),
            Ok(made) => {
                self.state = made.state;
                let failed = before.filter(|old| {
                    let now = self.state.session.as_ref();
                    now.is_none_or(|now| now.failures > old.failures)
                });
                if let Some(failed) = failed {
                    self.allow(&failed.head, &failed.agent);
                }
                for task in made.effects {
                    self.take(task);
                }
            }
        }
    }

    /// After a failure or an end, a session may be repeated.
    pub(super) fn allow(&mut self, head: &CommitSha, agent: &str) {
        let other = |one: &(u32, CommitSha, String, bool)| one.1 != *head || one.2 != agent;
        self.dispatched.retain(other);
    }

    pub(super) fn take(&mut self, task: Numbered) {
        match &task.effect {
            Effect::EndSession { dispatch } => {
                self.sessions.retain(|one| one.dispatch != *dispatch);
            }
            Effect::RequestReviewers { .. } | Effect::CarryCheck { .. } | Effect::Call { .. } => {}
            Effect::Wake { input, .. }
                if matches!(
                    **input,
                    Input::Timer {
                        timer: Timer::Reminder,
                        ..
                    }
                ) => {}
            Effect::Dispatch {
                task: kind,
                head,
                agent,
                ..
            } => {
                let fixes = matches!(kind, Task::Fix { .. });
                let session = (self.state.generation, head.clone(), agent.clone(), fixes);
                if self.dispatched.contains(&session) {
                    self.broken = Some(format!("dispatched twice: {session:?}"));
                }
                self.dispatched.push(session);
                self.dispatched.sort();
                self.begin(task);
            }
            Effect::Compare { .. } => self.begin(task),
            _ => self.tasks.push(task),
        }
    }

    pub(super) fn begin(&mut self, task: Numbered) {
        if self.eager {
            self.execute_plain(task, true);
        } else {
            self.tasks.push(task);
        }
    }

    /// An input that changes nothing now will change nothing later, because its number never comes again.
    pub(super) fn forget_stale_inputs(&mut self, policy: &Policy) {
        let state = &self.state;
        let counts = |input: &Input| {
            let made = step(state, input, policy, 0);
            made.state != *state || !made.effects.is_empty()
        };
        self.tasks.retain(|task| match &task.effect {
            Effect::Wake { input, .. } => counts(input),
            _ => true,
        });
        if self.eager {
            self.inbox.retain(counts);
        }
    }

    /// No commit becomes the head again, so what only counts for former heads is the same for every future.
    pub(super) fn forget_old_heads(&mut self) {
        let (head, change) = (self.facts.head.clone(), self.head_change());
        self.dispatched.retain(|one| {
            one.1 == head
                || self
                    .state
                    .facts
                    .as_ref()
                    .is_some_and(|facts| facts.head == one.1)
        });
        self.approved.retain(|(_, approved)| *approved == change);
    }
}
