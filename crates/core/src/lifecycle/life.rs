//! The working value of one step: the next state, with the effects and log lines so far. Only `number` gives numbers to effects.

use super::explain::{Wait, wait};
use super::state::{AskTimer, Reminder};
use super::{
    Effect, Facts, Input, LogLine, Millis, Numbered, Phase, Policy, State, Timer, Transition,
};

pub(super) struct Life<'a> {
    pub(super) state: State,
    pub(super) policy: &'a Policy,
    pub(super) now: Millis,
    effects: Vec<Numbered>,
    log: Vec<LogLine>,
}

impl<'a> Life<'a> {
    pub(super) fn new(state: &State, policy: &'a Policy, now: Millis) -> Self {
        let mut state = state.clone();
        if state == State::default() {
            state.born = now;
        }
        Self {
            state,
            policy,
            now,
            effects: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(super) fn done(mut self) -> Transition {
        self.set_reminder();
        Transition {
            state: self.state,
            effects: self.effects,
            log: self.log,
        }
    }

    pub(super) fn log(&mut self, line: impl Into<String>) {
        self.log.push(LogLine(line.into()));
    }

    /// The last facts. Nothing is decided before there are some.
    pub(super) fn facts(&self) -> Option<&Facts> {
        self.state.facts.as_ref()
    }

    /// Emits an effect that is made from its own number.
    pub(super) fn number(&mut self, effect: impl FnOnce(u64) -> Effect) -> u64 {
        self.state.seq += 1;
        let seq = self.state.seq;
        let effect = effect(seq);
        self.effects.push(Numbered { seq, effect });
        seq
    }

    pub(super) fn emit(&mut self, effect: Effect) -> u64 {
        self.number(|_| effect)
    }

    pub(super) fn timer(&mut self, after_ms: u64, timer: Timer) -> u64 {
        self.number(|seq| Effect::Wake {
            after_ms,
            input: Box::new(Input::Timer { seq, timer }),
        })
    }

    pub(super) fn after(&self, delay_ms: u64) -> Millis {
        self.now.saturating_add_unsigned(delay_ms)
    }

    /// Asks for a probe; while one is under way, for one more after it.
    pub(super) fn ask_probe(&mut self) {
        if self.state.probe.is_some() {
            self.state.probe_again = true;
        } else {
            self.state.probe = Some(self.emit(Effect::Probe));
        }
    }

    /// Asks for a probe at `at` at the latest.
    pub(super) fn ask_at(&mut self, at: Millis) {
        let sooner = |timer: &AskTimer| timer.at <= at;
        if self.state.ask_timer.as_ref().is_some_and(sooner) {
            return;
        }
        let delay = u64::try_from(at.saturating_sub(self.now)).unwrap_or(0);
        let seq = self.timer(delay, Timer::AskAgain);
        self.state.ask_timer = Some(AskTimer { seq, at });
    }

    /// Enters a phase. The same phase again changes nothing.
    pub(super) fn enter(&mut self, phase: Phase) {
        if self.state.phase == phase {
            return;
        }
        self.log(format!("{} -> {}", self.state.phase.name(), phase.name()));
        self.state.phase = phase;
        self.state.since = self.now;
        self.state.reminder = Reminder::Unset;
    }

    /// People are reminded once in each phase that waits for them.
    fn set_reminder(&mut self) {
        let reminds = matches!(
            self.state.phase,
            Phase::Reviewing { .. }
                | Phase::Fixing { .. }
                | Phase::NeedsHuman { .. }
                | Phase::Approved
        );
        let waits = matches!(wait(&self.state, self.policy), Wait::People { .. });
        if reminds && waits && self.state.reminder == Reminder::Unset {
            let seq = self.timer(self.policy.reminder_ms, Timer::Reminder);
            self.state.reminder = Reminder::Set { seq };
        }
    }
}
