//! The step: one match on phase and input. Each arm names the file that decides the rest.

use super::life::Life;
use super::{Command, Input, Millis, Numbered, Phase, Policy, State, Timer};
use serde::{Deserialize, Serialize};

/// A line of the pull request's log.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogLine(pub String);

/// The answer to an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub state: State,
    pub effects: Vec<Numbered>,
    pub log: Vec<LogLine>,
}

/// The next state. Total: an input that is stale or does not fit is ignored with a line in the log.
#[must_use]
pub fn step(state: &State, input: &Input, policy: &Policy, now: Millis) -> Transition {
    let mut life = Life::new(state, policy, now);
    match (&state.phase, input) {
        (Phase::Merged { .. }, _) => life.log("ignored: the pull request is merged"),
        (_, Input::Woken { cause }) => life.woken(cause),
        (_, Input::Probed { probe, facts }) => life.probed(*probe, facts),
        (_, Input::Merge { attempt, answer }) => life.merge_answered(*attempt, answer),
        (_, Input::EffectFailed { seq, error }) => life.effect_failed(*seq, error),
        (_, Input::Timer { seq, timer }) => life.fired(*seq, timer),
        (Phase::Closed, _) => life.log("ignored: the pull request is closed"),
        (
            _,
            Input::Compared {
                from,
                to,
                identical,
            },
        ) => life.compared(from, to, *identical),
        (
            _,
            Input::SessionStarted { dispatch, .. }
            | Input::SessionEnded { dispatch, .. }
            | Input::SessionFailed { dispatch, .. }
            | Input::OverQuota { dispatch, .. },
        ) => life.of_session(*dispatch, input),
        (
            _,
            Input::Command {
                command: Command::Retry,
                by,
            },
        ) => life.retry_command(by),
    }
    life.done()
}

impl Life<'_> {
    /// An input about the session with this number.
    fn of_session(&mut self, dispatch: u64, input: &Input) {
        let works = matches!(
            self.state.phase,
            Phase::Reviewing { .. } | Phase::Fixing { .. }
        );
        match input {
            _ if !works => self.log(format!(
                "ignored: no session is at work, {dispatch} is stale"
            )),
            Input::SessionStarted { session, .. } => self.started(dispatch, session),
            Input::SessionEnded { result, .. } => self.ended(dispatch, result),
            Input::SessionFailed {
                error,
                retry_after_ms,
                ..
            } => self.failed(dispatch, error, *retry_after_ms),
            Input::OverQuota { quota, until, .. } => self.over_quota(dispatch, quota, *until),
            _ => {}
        }
    }

    fn fired(&mut self, seq: u64, timer: &Timer) {
        match timer {
            Timer::Retry { dispatch } | Timer::NextDay { dispatch } => self.retry(*dispatch),
            Timer::QueueDeadline { dispatch } => self.never_started(*dispatch),
            Timer::Deadline { dispatch } => self.overdue(*dispatch),
            Timer::AskAgain => self.ask_again(seq),
            Timer::Reminder => self.remind(seq),
        }
    }

    /// The driver gave an effect up: each kind has its own consequence.
    fn effect_failed(&mut self, seq: u64, error: &str) {
        let unanswered = |one: &&mut super::Comparison| one.seq == seq && one.identical.is_none();
        if self.state.probe == Some(seq) {
            self.probe_failed(error);
        } else if let Some(comparison) = self.state.compared.iter_mut().find(unanswered) {
            // Nobody knows, so the reviewers look again.
            comparison.identical = Some(false);
            self.log(format!("the comparison failed: {error}"));
            self.evaluate();
        } else if self
            .state
            .session
            .as_ref()
            .is_some_and(|one| one.dispatch == seq)
        {
            self.failed(seq, error, None);
        } else if self.merge_failed(seq, error) {
        } else if self.state.request == Some(seq) {
            self.request_failed(error);
        } else {
            self.state.last_error = Some(error.to_owned());
            self.log(format!("effect {seq} failed: {error}"));
        }
    }
}
