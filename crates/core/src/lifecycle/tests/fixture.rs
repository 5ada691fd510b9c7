//! One life, played by hand: facts are changed, the pull request is woken, and the effects of each input are kept.

use super::checked::checked_step;
use crate::domain::{CommitSha, Login};
use crate::lifecycle::{
    Account, Agent, Decision, Effect, Facts, Input, MergeAnswer, MergeState, Mergeable, OrderFact,
    Phase, Policy, PullState, ReviewFact, ReviewState, Reviewer, ReviewerKind, SessionResult,
    Settings, State, Timer,
};

pub(super) fn sha(number: u64) -> CommitSha {
    format!("{number:040x}").parse().unwrap()
}

pub(super) fn login(name: &str) -> Login {
    Login::new(name)
}

/// Agents `quality`, `security` and `author`, each with the account `<name>-bot`.
pub(super) fn policy() -> Policy {
    let agent = |name: &str| Agent {
        name: name.into(),
        login: Some(login(&format!("{name}-bot"))),
    };
    let account = Account::Personal {
        login: login("quality-bot"),
    };
    Policy::new(["quality", "security", "author"].map(agent).into(), account)
}

/// Personas of one App.
pub(super) fn app() -> Policy {
    let agent = |name: &str| Agent {
        name: name.into(),
        login: None,
    };
    let account = Account::App {
        login: login("reviewer[bot]"),
    };
    let mut policy = Policy::new(["quality", "security"].map(agent).into(), account);
    policy.fixer = Some("quality".into());
    policy
}

pub(super) fn agent(name: &str, can_escalate: &[&str]) -> Reviewer {
    Reviewer {
        name: name.into(),
        kind: ReviewerKind::Agent,
        can_escalate: can_escalate.iter().map(ToString::to_string).collect(),
        people: Vec::new(),
    }
}

/// An agent that may escalate to people.
pub(super) fn calling(name: &str, people: &[&str]) -> Reviewer {
    Reviewer {
        people: people.iter().map(ToString::to_string).collect(),
        ..agent(name, people)
    }
}

pub(super) fn human(name: &str, can_escalate: &[&str]) -> Reviewer {
    Reviewer {
        kind: ReviewerKind::Human,
        ..agent(name, can_escalate)
    }
}

pub(super) fn settings(reviewers: Vec<Reviewer>) -> Settings {
    Settings {
        reviewers,
        ..Settings::default()
    }
}

/// Quality, then security.
pub(super) fn two() -> Settings {
    settings(vec![agent("quality", &[]), agent("security", &[])])
}

/// An open pull request of the person `ann`, with head 1.
pub(super) fn facts(settings: Settings) -> Facts {
    Facts {
        repo: "acme/shop".parse().unwrap(),
        number: 7,
        state: PullState::Open,
        draft: false,
        locked: false,
        head: sha(1),
        head_branch: "topic".into(),
        from_fork: false,
        base: "main".into(),
        base_head: None,
        author: Some(login("ann")),
        author_may_write: true,
        labels: Vec::new(),
        requested: Vec::new(),
        reviews: Vec::new(),
        last_push_by: Some(login("ann")),
        resumes: Vec::new(),
        invitations: Vec::new(),
        mergeable: Mergeable::Mergeable,
        merge_state: MergeState::Clean,
        auto_merge_armed: false,
        in_merge_queue: false,
        settings,
        updated_at: String::new(),
    }
}

pub(super) struct Play {
    pub(super) state: State,
    pub(super) policy: Policy,
    pub(super) facts: Facts,
    pub(super) now: i64,
    /// The effects since they were last taken.
    pub(super) effects: Vec<Effect>,
    pub(super) log: Vec<String>,
}

impl Play {
    pub(super) fn new(settings: Settings) -> Self {
        Self::with(policy(), facts(settings))
    }

    pub(super) fn with(policy: Policy, facts: Facts) -> Self {
        let mut play = Self {
            state: State::default(),
            policy,
            facts,
            now: 1_000_000,
            effects: Vec::new(),
            log: Vec::new(),
        };
        play.look();
        play
    }

    /// The pull request of the agent `author`.
    pub(super) fn of_agent(settings: Settings) -> Self {
        let mut facts = facts(settings);
        facts.author = Some(login("author-bot"));
        facts.last_push_by = Some(login("author-bot"));
        Self::with(policy(), facts)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "inputs are written where they are given"
    )]
    pub(super) fn give(&mut self, input: Input) {
        let made = checked_step(&self.state, &input, &self.policy, self.now);
        let made = made.unwrap_or_else(|broken| panic!("{input:?}: {broken}"));
        self.state = made.state;
        self.effects
            .extend(made.effects.into_iter().map(|one| one.effect));
        self.log.extend(made.log.into_iter().map(|line| line.0));
    }

    /// Wakes the pull request, and answers probes and comparisons until nothing more is asked. Changes of commits are different.
    pub(super) fn look(&mut self) {
        self.look_with(|_, _| false);
    }

    pub(super) fn look_with(&mut self, identical: fn(&CommitSha, &CommitSha) -> bool) {
        let cause = "a webhook".into();
        self.give(Input::Woken { cause });
        self.answer(identical);
    }

    pub(super) fn answer(&mut self, identical: fn(&CommitSha, &CommitSha) -> bool) {
        while let Some(probe) = self.state.probe {
            let facts = Box::new(self.facts.clone());
            self.give(Input::Probed { probe, facts });
            self.compare(identical);
        }
    }

    fn compare(&mut self, identical: fn(&CommitSha, &CommitSha) -> bool) {
        let open = |state: &State| {
            let mut compared = state.compared.iter();
            let open = compared.find(|one| one.identical.is_none());
            open.map(|one| one.from.clone())
        };
        while let Some(from) = open(&self.state) {
            let to = self.facts.head.clone();
            let identical = identical(&from, &to);
            self.give(Input::Compared {
                from,
                to,
                identical,
            });
        }
    }

    pub(super) fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn name(&self) -> &'static str {
        self.state.phase.name()
    }

    /// Whoever is dispatched and at work.
    pub(super) fn at_work(&self) -> Option<(&str, u64)> {
        let session = self.state.session.as_ref()?;
        Some((session.agent.as_str(), session.dispatch))
    }

    pub(super) fn agent(&self) -> &str {
        self.at_work().expect("a session").0
    }

    pub(super) fn dispatch(&self) -> u64 {
        self.at_work().expect("a session").1
    }

    /// The session at work ends, and the probe that follows is answered.
    pub(super) fn end(&mut self, result: SessionResult) {
        let dispatch = self.dispatch();
        self.give(Input::SessionEnded { dispatch, result });
        self.answer(|_, _| false);
    }

    pub(super) fn reviewed(&mut self, decision: Decision, escalations: &[&str]) {
        let escalations = escalations.iter().map(ToString::to_string).collect();
        self.end(SessionResult::Reviewed {
            decision,
            comment: "words".into(),
            escalations,
        });
    }

    pub(super) fn approve(&mut self) {
        self.reviewed(Decision::Approved, &[]);
    }

    pub(super) fn request_changes(&mut self) {
        self.reviewed(Decision::ChangesRequested, &[]);
    }

    /// The fix session at work pushes, and ends.
    pub(super) fn fixed(&mut self, head: u64) {
        self.facts.head = sha(head);
        self.facts.last_push_by = self.facts.author.clone();
        self.end(SessionResult::Fixed { commit: sha(head) });
    }

    pub(super) fn fail(&mut self, retry_after_ms: Option<u64>) {
        let dispatch = self.dispatch();
        self.give(Input::SessionFailed {
            dispatch,
            error: "it broke".into(),
            retry_after_ms,
        });
    }

    /// The wait after a failure is over.
    pub(super) fn retry_now(&mut self) {
        let dispatch = self.dispatch();
        self.fire(Timer::Retry { dispatch });
        self.answer(|_, _| false);
    }

    pub(super) fn fire(&mut self, timer: Timer) {
        self.give(Input::Timer { seq: 0, timer });
    }

    /// The timer that asks again fires.
    pub(super) fn ask_again(&mut self) {
        let timer = self.state.ask_timer.expect("a timer");
        self.now = self.now.max(timer.at);
        let (seq, timer) = (timer.seq, Timer::AskAgain);
        self.give(Input::Timer { seq, timer });
        self.answer(|_, _| false);
    }

    pub(super) fn push(&mut self, head: u64, by: &str) {
        self.facts.head = sha(head);
        self.facts.last_push_by = Some(login(by));
        self.look();
    }

    /// A review of the present head on GitHub, not yet seen.
    pub(super) fn review(
        &mut self,
        by: &str,
        state: ReviewState,
        may_write: bool,
    ) -> &mut ReviewFact {
        let id = self.facts.reviews.len() as u64 + 100;
        self.facts.reviews.push(ReviewFact {
            id,
            author: Some(login(by)),
            author_is_bot: false,
            commit: Some(self.facts.head.clone()),
            state,
            at: "2026-01-02T03:04:05Z".into(),
            escalations: Vec::new(),
            personas: Vec::new(),
            may_write,
        });
        self.facts.reviews.last_mut().unwrap()
    }

    pub(super) fn resume(&mut self) {
        let id = self.facts.resumes.len() as u64 + 900;
        self.facts.resumes.push(OrderFact {
            id,
            by: login("ben"),
            at: "2026-01-02T03:04:05Z".into(),
        });
        self.look();
    }

    pub(super) fn command_retry(&mut self) {
        self.give(Input::Command {
            command: crate::lifecycle::Command::Retry,
            by: "an operator".into(),
        });
        self.answer(|_, _| false);
    }

    /// The merge that was asked for last.
    pub(super) fn merge(&mut self) -> Option<(u64, CommitSha)> {
        let effects = self.effects();
        let mut merges = effects.iter().rev();
        merges.find_map(|effect| match effect {
            Effect::Merge { attempt, head } => Some((*attempt, head.clone())),
            _ => None,
        })
    }

    pub(super) fn merge_answer(&mut self, attempt: u64, answer: MergeAnswer) {
        self.give(Input::Merge { attempt, answer });
        self.answer(|_, _| false);
    }

    pub(super) fn reason(&self) -> String {
        match &self.state.phase {
            Phase::NeedsHuman { reason, .. } => reason.sentence(),
            Phase::Error { message, .. } => message.clone(),
            other => panic!("{other:?}"),
        }
    }
}
