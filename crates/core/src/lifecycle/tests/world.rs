//! A small world around one life: GitHub as facts, sessions, effects that wait, inputs that are on their way. Everything may happen in
//! any order; an effect may be executed and forgotten by a crash, an input may come twice. The budget bounds it.

mod executing;
mod numbers;
mod outside;
mod resting;

use super::fixture::{facts, login, sha};
use crate::domain::CommitSha;
use crate::lifecycle::{
    Command, Effect, Facts, Input, Numbered, Phase, Policy, PullState, Settings, State, Timer,
};

/// The number of times that each of these may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Budget {
    pub(super) pushes: u8,
    /// Pushes that change nothing, such as an update of the branch.
    pub(super) updates: u8,
    pub(super) objections: u8,
    pub(super) failures: u8,
    pub(super) repeats: u8,
    pub(super) crashes: u8,
    pub(super) closes: u8,
    pub(super) drafts: u8,
    pub(super) people: u8,
    /// Sessions that the quota of a day keeps from beginning.
    pub(super) quotas: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Running {
    pub(super) dispatch: u64,
    pub(super) agent: String,
    pub(super) head: CommitSha,
    pub(super) fixes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of the world"
)]
pub(super) struct World {
    pub(super) state: State,
    /// GitHub's truth.
    pub(super) facts: Facts,
    /// The change that each commit makes; commits are numbered from 1.
    pub(super) changes: Vec<u8>,
    pub(super) tasks: Vec<Numbered>,
    pub(super) inbox: Vec<Input>,
    pub(super) sessions: Vec<Running>,
    /// Dispatches that were executed and whose effect is still there.
    pub(super) started: Vec<u64>,
    /// Reviewers and the changes that they have approved.
    pub(super) approved: Vec<(String, u8)>,
    pub(super) armed: Option<CommitSha>,
    /// True if GitHub merges later on, not at once.
    pub(super) arms: bool,
    /// Sessions start and commits are compared at once, which leaves fewer orders to try.
    pub(super) eager: bool,
    /// Sessions post their reviews under accounts of their own, so that probes show them, too.
    pub(super) posts: bool,
    /// Sessions tell their start.
    pub(super) starts: bool,
    /// Something happened since the last wake.
    pub(super) unseen: bool,
    /// Sessions that may not be repeated: generation, head, agent, task.
    pub(super) dispatched: Vec<(u32, CommitSha, String, bool)>,
    pub(super) budget: Budget,
    /// The invariant that was broken.
    pub(super) broken: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Wake,
    Execute(usize),
    /// Executed; the process ends before it can say so.
    Crash(usize),
    GiveUp(usize),
    Deliver(usize),
    Repeat(usize),
    Approve(usize),
    Object(usize),
    Fixed(usize),
    NothingFixed(usize),
    Fail(usize),
    /// The quota of the day keeps it from beginning.
    OverQuota(usize),
    /// The review is posted, and the session ends before it says so.
    FailPosted(usize),
    Push,
    Update,
    Close,
    Reopen,
    Draft,
    Ready,
    PersonApproves,
    PersonObjects,
    ChecksPass,
    Retry,
}

impl World {
    pub(super) fn new(settings: Settings, author: &str, arms: bool, budget: Budget) -> Self {
        let mut facts = facts(settings);
        facts.author = Some(login(author));
        facts.last_push_by = Some(login(author));
        Self {
            state: State::default(),
            facts,
            changes: vec![1],
            tasks: Vec::new(),
            inbox: Vec::new(),
            sessions: Vec::new(),
            started: Vec::new(),
            approved: Vec::new(),
            armed: None,
            arms,
            eager: false,
            posts: true,
            starts: false,
            unseen: true,
            dispatched: Vec::new(),
            budget,
            broken: None,
        }
    }

    fn change(&self, head: &CommitSha) -> u8 {
        let mut commits = (1..).map(sha).zip(&self.changes);
        commits
            .find(|(commit, _)| commit == head)
            .map_or(0, |(_, change)| *change)
    }

    pub(super) fn head_change(&self) -> u8 {
        self.change(&self.facts.head)
    }

    pub(super) fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if matches!(self.state.phase, Phase::Merged { .. }) || self.broken.is_some() {
            return actions;
        }
        if self.unseen {
            actions.push(Action::Wake);
        }
        self.of_effects(&mut actions);
        self.of_sessions(&mut actions);
        self.of_github(&mut actions);
        actions
    }

    fn of_effects(&self, actions: &mut Vec<Action>) {
        let budget = self.budget;
        for (at, task) in self.tasks.iter().enumerate() {
            let is_deadline = matches!(
                &task.effect,
                Effect::Wake { input, .. } if matches!(**input, Input::Timer { timer: Timer::Deadline { .. } | Timer::QueueDeadline { .. }, .. })
            );
            if !is_deadline || budget.failures > 0 {
                actions.push(Action::Execute(at));
            }
            let is_timer = matches!(task.effect, Effect::Wake { .. });
            if budget.crashes > 0 && !is_timer {
                actions.push(Action::Crash(at));
            }
            if budget.failures > 0 && !is_timer {
                actions.push(Action::GiveUp(at));
            }
        }
        for at in 0..self.inbox.len() {
            actions.push(Action::Deliver(at));
            if budget.repeats > 0 {
                actions.push(Action::Repeat(at));
            }
        }
    }

    fn of_sessions(&self, actions: &mut Vec<Action>) {
        let budget = self.budget;
        for (at, session) in self.sessions.iter().enumerate() {
            if session.fixes {
                actions.push(Action::Fixed(at));
            } else {
                actions.push(Action::Approve(at));
            }
            if budget.objections > 0 {
                let objects = if session.fixes {
                    Action::NothingFixed
                } else {
                    Action::Object
                };
                actions.push(objects(at));
            }
            // Sessions that tell their start have begun.
            if budget.quotas > 0 && !self.starts {
                actions.push(Action::OverQuota(at));
            }
            if budget.failures > 0 {
                actions.push(Action::Fail(at));
                if !session.fixes {
                    actions.push(Action::FailPosted(at));
                }
            }
        }
    }

    fn of_github(&self, actions: &mut Vec<Action>) {
        let budget = self.budget;
        let mut may = |times: u8, action| actions.extend((times > 0).then_some(action));
        match self.facts.state {
            PullState::Open => {
                may(budget.pushes, Action::Push);
                may(budget.updates, Action::Update);
                may(budget.closes, Action::Close);
                let is_draft = self.facts.draft;
                may(
                    budget.drafts,
                    if is_draft {
                        Action::Ready
                    } else {
                        Action::Draft
                    },
                );
                may(budget.people, Action::PersonApproves);
                may(budget.people, Action::PersonObjects);
                may(budget.people, Action::Retry);
                // The required checks of a new head are not green before the armed merge is taken back.
                let checks = self.armed.as_ref() == Some(&self.facts.head);
                may(u8::from(checks), Action::ChecksPass);
            }
            PullState::Closed => may(budget.closes, Action::Reopen),
            PullState::Merged { .. } => {}
        }
    }

    pub(super) fn act(&mut self, action: Action, policy: &Policy) {
        match action {
            Action::Wake => {
                self.unseen = false;
                let cause = "webhook".into();
                self.give(&Input::Woken { cause }, policy);
            }
            Action::Execute(at) => {
                let task = self.tasks.remove(at);
                self.execute(task, true, policy);
            }
            Action::Crash(at) => {
                self.budget.crashes -= 1;
                let task = self.tasks[at].clone();
                self.execute(task, false, policy);
            }
            Action::GiveUp(at) => {
                self.budget.failures -= 1;
                let seq = self.tasks.remove(at).seq;
                let error = "given up".into();
                self.inbox.push(Input::EffectFailed { seq, error });
            }
            Action::Deliver(at) => {
                let input = self.inbox.remove(at);
                self.give(&input, policy);
            }
            Action::Repeat(at) => {
                self.budget.repeats -= 1;
                let input = self.inbox[at].clone();
                self.give(&input, policy);
            }
            Action::Retry => {
                self.budget.people -= 1;
                self.dispatched.clear();
                let (command, by) = (Command::Retry, "op".into());
                self.give(&Input::Command { command, by }, policy);
            }
            _ => self.act_outside(action, policy),
        }
        self.forget_stale_inputs(policy);
        self.forget_old_heads();
        numbers::renumber(self);
    }
}
