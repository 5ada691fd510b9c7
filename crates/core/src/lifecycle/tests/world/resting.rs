//! A fair world: everything is delivered, every session ends well. It comes to rest at an end or with named people.

use super::{Action, World};
use crate::lifecycle::{
    Effect, Input, Merging, Numbered, Phase, Policy, PullState, Timer, Wait, wait,
};

impl World {
    /// The next action of a fair world in which everybody approves; `None`: it rests.
    pub(super) fn fair(&self, policy: &Policy) -> Option<Action> {
        if !self.inbox.is_empty() {
            return Some(Action::Deliver(0));
        }
        let is_timer = |task: &Numbered| matches!(task.effect, Effect::Wake { .. });
        if let Some(at) = self.tasks.iter().position(|task| !is_timer(task)) {
            return Some(Action::Execute(at));
        }
        if let Some(session) = self.sessions.first() {
            let action = if session.fixes {
                Action::Fixed
            } else {
                Action::Approve
            };
            return Some(action(0));
        }
        if self.unseen {
            return Some(Action::Wake);
        }
        if self.armed.is_some() {
            return Some(Action::ChecksPass);
        }
        // A timer that asks again fires while people are waited for, too: a probe may have failed.
        let rests = matches!(wait(&self.state, policy), Wait::People { .. } | Wait::Ended);
        let fires = |task: &Numbered| match &task.effect {
            Effect::Wake { input, .. } => !rests || is_ask(input),
            _ => false,
        };
        self.tasks.iter().position(fires).map(Action::Execute)
    }

    /// Runs on fairly until it rests. An error if it never does, or rests without an end or people.
    pub(in crate::lifecycle::tests) fn settle(&mut self, policy: &Policy) -> Result<(), String> {
        self.settle_until(policy, |_| false)
    }

    /// The same, up to a world that is known to come to rest.
    pub(in crate::lifecycle::tests) fn settle_until(
        &mut self,
        policy: &Policy,
        mut is_known: impl FnMut(&Self) -> bool,
    ) -> Result<(), String> {
        for _ in 0..400 {
            if is_known(self) {
                return Ok(());
            }
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            if matches!(self.state.phase, Phase::Merged { .. }) {
                return Ok(());
            }
            match self.fair(policy) {
                Some(action) => self.act(action, policy),
                None => return self.rests(policy),
            }
        }
        Err(format!("it never rests: {:#?}", self.state))
    }

    pub(super) fn rests(&self, policy: &Policy) -> Result<(), String> {
        let wait = wait(&self.state, policy);
        let fits = match self.facts.state {
            PullState::Open => matches!(wait, Wait::People { .. }),
            PullState::Closed => self.state.phase == Phase::Closed,
            PullState::Merged { .. } => matches!(self.state.phase, Phase::Merged { .. }),
        };
        let is_idle = matches!(self.state.merging, Merging::Idle);
        (fits && is_idle && self.armed.is_none())
            .then_some(())
            .ok_or_else(|| format!("it rests for {wait:?}: {:#?}", self.state))
    }

    /// True if every required reviewer has approved the head's change.
    pub(in crate::lifecycle::tests) fn is_approved_now(&self) -> bool {
        let change = self.head_change();
        let mut reviewers = self.facts.settings.reviewers.iter();
        reviewers.all(|one| self.approved.contains(&(one.name.clone(), change)))
    }
}

fn is_ask(input: &Input) -> bool {
    matches!(
        input,
        Input::Timer {
            timer: Timer::AskAgain,
            ..
        }
    )
}
