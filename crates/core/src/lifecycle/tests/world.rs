//! A small world around one life: GitHub as facts, sessions, effects that wait, inputs that are on their way. Everything may happen in
//! any order; an effect may be executed and forgotten by a crash, an input may come twice. The budget bounds it.

use super::checked::checked_step;
use super::fixture::{facts, login, sha};
use crate::domain::CommitSha;
use crate::lifecycle::{
    Command, Decision, Effect, Facts, Input, MergeAnswer, Merging, Numbered, Phase, Policy,
    PullState, ReviewFact, ReviewState, SessionResult, Settings, State, Task, Timer, Wait, wait,
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
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Running {
    pub(super) dispatch: u64,
    pub(super) agent: String,
    pub(super) head: CommitSha,
    pub(super) fixes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
                Effect::Wake { input, .. } if matches!(**input, Input::Timer { timer: Timer::Deadline { .. }, .. })
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
        super::search::renumber(self);
    }

    fn act_outside(&mut self, action: Action, policy: &Policy) {
        match action {
            Action::Approve(at) => self.decide(at, Decision::Approved, true, policy),
            Action::Object(at) => {
                self.budget.objections -= 1;
                self.decide(at, Decision::ChangesRequested, true, policy);
            }
            Action::FailPosted(at) => {
                self.budget.failures -= 1;
                self.decide(at, Decision::Approved, false, policy);
            }
            Action::Fixed(at) => self.fixed(at),
            Action::NothingFixed(at) => {
                self.budget.objections -= 1;
                let why = "nothing to do".into();
                self.end_session(at, SessionResult::NothingFixed { why });
            }
            Action::Fail(at) => {
                self.budget.failures -= 1;
                self.fail_session(at);
            }
            _ => self.act_on_github(action),
        }
    }

    fn act_on_github(&mut self, action: Action) {
        let budget = &mut self.budget;
        self.unseen = true;
        match action {
            Action::Push => {
                budget.pushes -= 1;
                let change = self.changes.iter().max().map_or(1, |most| most + 1);
                self.push(change, "ann");
            }
            Action::Update => {
                budget.updates -= 1;
                self.push(self.head_change(), "web-flow");
            }
            Action::Close => {
                budget.closes -= 1;
                self.facts.state = PullState::Closed;
                self.armed = None;
                self.facts.auto_merge_armed = false;
            }
            Action::Reopen => {
                budget.closes -= 1;
                self.dispatched.clear();
                self.facts.state = PullState::Open;
            }
            Action::Draft | Action::Ready => {
                budget.drafts -= 1;
                self.facts.draft = action == Action::Draft;
            }
            Action::PersonApproves => {
                budget.people -= 1;
                self.post("ada", ReviewState::Approved);
                self.note_approval("ada", self.head_change());
            }
            Action::PersonObjects => {
                budget.people -= 1;
                self.post("ada", ReviewState::ChangesRequested);
            }
            Action::ChecksPass => self.merge("quality-bot"),
            _ => {}
        }
    }

    fn push(&mut self, change: u8, by: &str) {
        self.changes.push(change);
        self.facts.head = sha(self.changes.len() as u64);
        self.facts.last_push_by = Some(login(by));
    }

    fn post(&mut self, by: &str, state: ReviewState) {
        self.post_about(by, state, self.facts.head.clone());
    }

    fn post_about(&mut self, by: &str, state: ReviewState, commit: CommitSha) {
        self.facts.reviews.push(ReviewFact {
            id: self.facts.reviews.len() as u64 + 1,
            author: Some(login(by)),
            author_is_bot: false,
            commit: Some(commit),
            state,
            at: String::new(),
            escalations: Vec::new(),
            personas: Vec::new(),
            may_write: true,
        });
    }

    fn note_approval(&mut self, by: &str, change: u8) {
        let approval = (by.to_owned(), change);
        if !self.approved.contains(&approval) {
            self.approved.push(approval);
            self.approved.sort();
        }
    }

    /// A session's review is on GitHub; `told`: its callback is on the way.
    fn decide(&mut self, at: usize, decision: Decision, told: bool, policy: &Policy) {
        let session = self.sessions[at].clone();
        let by = policy.login_of(&session.agent).unwrap().to_string();
        let (state, is_approval) = match decision {
            Decision::Approved => (ReviewState::Approved, true),
            Decision::ChangesRequested => (ReviewState::ChangesRequested, false),
        };
        if self.posts {
            self.post_about(&by, state, session.head.clone());
            self.unseen = true;
        }
        if is_approval {
            self.note_approval(&session.agent, self.change(&session.head));
        }
        if told {
            let result = SessionResult::Reviewed {
                decision,
                comment: String::new(),
                escalations: Vec::new(),
            };
            self.end_session(at, result);
        } else {
            self.fail_session(at);
        }
    }

    fn fixed(&mut self, at: usize) {
        let session = self.sessions[at].clone();
        if session.head != self.facts.head || self.facts.state != PullState::Open {
            let why = "the head has moved".into();
            return self.end_session(at, SessionResult::NothingFixed { why });
        }
        let change = self.changes.iter().max().map_or(1, |most| most + 1);
        self.push(change, "author-bot");
        self.unseen = true;
        let commit = self.facts.head.clone();
        self.end_session(at, SessionResult::Fixed { commit });
    }

    fn end_session(&mut self, at: usize, result: SessionResult) {
        let dispatch = self.sessions.remove(at).dispatch;
        self.inbox.push(Input::SessionEnded { dispatch, result });
    }

    fn fail_session(&mut self, at: usize) {
        let dispatch = self.sessions.remove(at).dispatch;
        self.inbox.push(Input::SessionFailed {
            dispatch,
            error: "broken".into(),
            retry_after_ms: None,
        });
    }

    /// Executes an effect; its answer is lost in a crash. What was done already is recognised.
    fn execute(&mut self, task: Numbered, told: bool, policy: &Policy) {
        match task.effect {
            Effect::Wake { input, .. } => self.give(&input, policy),
            _ => self.execute_plain(task, told),
        }
    }

    fn execute_plain(&mut self, task: Numbered, told: bool) {
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
                None
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
            | Effect::Call { .. } => None,
        };
        if told {
            self.inbox.extend(answer);
        }
    }

    fn merge_asked(&mut self, head: &CommitSha) -> MergeAnswer {
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
    fn merge(&mut self, by: &str) {
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

    fn give(&mut self, input: &Input, policy: &Policy) {
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
    fn allow(&mut self, head: &CommitSha, agent: &str) {
        let other = |one: &(u32, CommitSha, String, bool)| one.1 != *head || one.2 != agent;
        self.dispatched.retain(other);
    }

    fn take(&mut self, task: Numbered) {
        match &task.effect {
            Effect::EndSession { dispatch } => {
                self.sessions.retain(|one| one.dispatch != *dispatch)
            }
            Effect::RequestReviewers { .. } | Effect::Call { .. } => {}
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

    fn begin(&mut self, task: Numbered) {
        if self.eager {
            self.execute_plain(task, true);
        } else {
            self.tasks.push(task);
        }
    }

    /// An input that changes nothing now will change nothing later, because its number never comes again.
    fn forget_stale_inputs(&mut self, policy: &Policy) {
        let state = &self.state;
        let counts = |input: &Input| {
            let made = crate::lifecycle::step(state, input, policy, 0);
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
    fn forget_old_heads(&mut self) {
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

    /// The next action of a fair world in which everybody approves; `None`: it rests.
    fn fair(&self, policy: &Policy) -> Option<Action> {
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
    pub(super) fn settle(&mut self, policy: &Policy) -> Result<(), String> {
        self.settle_until(policy, |_| false)
    }

    /// The same, up to a world that is known to come to rest.
    pub(super) fn settle_until(
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

    fn rests(&self, policy: &Policy) -> Result<(), String> {
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

    /// All numbers of effects outside the state.
    pub(super) fn numbers(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        for task in &mut self.tasks {
            visit(&mut task.seq);
            super::search::of_effect(&mut task.effect, visit);
        }
        for input in &mut self.inbox {
            super::search::of_input(input, visit);
        }
        self.sessions
            .iter_mut()
            .for_each(|one| visit(&mut one.dispatch));
        self.started.iter_mut().for_each(visit);
    }

    /// True if every required reviewer has approved the head's change.
    pub(super) fn is_approved_now(&self) -> bool {
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
