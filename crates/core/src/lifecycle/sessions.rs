//! Sessions: dispatched, ended, failed, repeated. At most one is under way, and only its own number counts.

use super::approvals::Approvals;
use super::life::Life;
use super::{
    CallReason, Decision, Effect, Millis, Outcome, Phase, Progress, Session, SessionResult, Task,
    Timer,
};
use chrono::DateTime;

/// A dispatch of a task on a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dispatched {
    First,
    /// After a failure or a wait for the quota of a day.
    Again,
}

/// The outcomes that are kept.
const MOST_OUTCOMES: usize = 200;

impl Life<'_> {
    /// A session of this agent reviews the head.
    pub(super) fn review(&mut self, agent: &str) {
        let reviewer = agent.to_owned();
        let can_escalate = self.can_escalate(agent);
        let approvals = Approvals::new(&self.state, self.policy);
        let is_last = approvals.is_some_and(|one| one.is_last_agent(agent));
        let task = Task::Review {
            can_escalate,
            is_last,
        };
        self.keep_or_dispatch(agent, task);
        self.enter(Phase::Reviewing { reviewer });
    }

    /// A session of the author's agent fixes the head. A repeated one is no new cycle.
    pub(super) fn fix(&mut self, agent: &str, asked_by: &str) {
        let asked_by = asked_by.to_owned();
        if self.is_pushed() {
            return self.await_push();
        }
        let task = Task::Fix {
            asked_by: asked_by.clone(),
        };
        if self.keep_or_dispatch(agent, task) == Some(Dispatched::First) {
            self.state.cycles += 1;
        }
        self.state.first = Some(asked_by.clone());
        self.enter(Phase::Fixing { asked_by });
    }

    /// Keeps a session that does the task already, or waits to do it; ends any other one and dispatches.
    fn keep_or_dispatch(&mut self, agent: &str, task: Task) -> Option<Dispatched> {
        let head = self.facts()?.head.clone();
        let same = |session: &&Session| {
            let same_task = matches!(
                (&session.task, &task),
                (Task::Review { .. }, Task::Review { .. }) | (Task::Fix { .. }, Task::Fix { .. })
            );
            session.agent == agent && session.head == head && same_task
        };
        let beyond_quota = self.is_asked_for();
        let (failures, dispatched) = match self.state.session.as_ref().filter(same) {
            Some(session) => match session.progress {
                Progress::Due => (session.failures, Dispatched::Again),
                Progress::Quota { .. } if beyond_quota => (session.failures, Dispatched::Again),
                _ => return None,
            },
            None => (0, Dispatched::First),
        };
        self.drop_session();
        let deadline_ms = self.deadline_ms(&task);
        let wait = self.policy.queue_deadline_ms;
        let (agent, until) = (agent.to_owned(), self.after(wait));
        let dispatch = self.number(|dispatch| Effect::Dispatch {
            dispatch,
            task: task.clone(),
            head: head.clone(),
            agent: agent.clone(),
            deadline_ms,
            beyond_quota,
        });
        self.timer(wait, Timer::QueueDeadline { dispatch });
        self.log(format!("{agent} is dispatched for {}", head.short()));
        self.state.session = Some(Session {
            dispatch,
            task,
            agent,
            head,
            id: None,
            failures,
            progress: Progress::Running { until },
        });
        Some(dispatched)
    }

    fn deadline_ms(&self, task: &Task) -> u64 {
        match task {
            Task::Review { .. } => self.policy.review_deadline_ms,
            Task::Fix { .. } => self.policy.fix_deadline_ms,
        }
    }

    /// Forgets the session, and ends it if it is at work.
    pub(super) fn drop_session(&mut self) {
        let Some(session) = self.state.session.take() else {
            return;
        };
        if matches!(session.progress, Progress::Running { .. }) {
            self.log(format!("the session of {} is ended", session.agent));
            self.emit(Effect::EndSession {
                dispatch: session.dispatch,
            });
        }
    }

    /// The session with this number, if it is the one at work.
    fn running(&mut self, dispatch: u64) -> Option<&mut Session> {
        let session = self.state.session.as_ref();
        let is_running = session.is_some_and(|session| {
            session.dispatch == dispatch && matches!(session.progress, Progress::Running { .. })
        });
        if !is_running {
            self.log(format!(
                "ignored: session {dispatch} is not the one at work"
            ));
        }
        self.state.session.as_mut().filter(|_| is_running)
    }

    pub(super) fn started(&mut self, dispatch: u64, id: &str) {
        let Some(session) = self.running(dispatch) else {
            return;
        };
        let is_first = session.id.replace(id.to_owned()).is_none();
        let task = session.task.clone();
        if is_first {
            self.start_deadline(dispatch, &task);
        }
    }

    /// The time of a session runs from its start, not while it waits for a free place.
    fn start_deadline(&mut self, dispatch: u64, task: &Task) {
        let deadline_ms = self.deadline_ms(task);
        let until = self.after(deadline_ms);
        let wait = deadline_ms.saturating_add(self.policy.deadline_grace_ms);
        self.timer(wait, Timer::Deadline { dispatch });
        if let Some(session) = &mut self.state.session {
            session.progress = Progress::Running { until };
        }
    }

    pub(super) fn ended(&mut self, dispatch: u64, result: &SessionResult) {
        let Some(session) = self.running(dispatch) else {
            return;
        };
        let session = session.clone();
        match (&session.task, result) {
            (
                Task::Review { .. },
                SessionResult::Reviewed {
                    decision,
                    comment,
                    escalations,
                },
            ) => {
                self.state.session = None;
                self.state.last_error = None;
                self.reviewed(&session, *decision, comment, escalations);
            }
            (Task::Fix { .. }, SessionResult::Fixed { commit }) => {
                self.state.last_error = None;
                self.pushed(commit.clone());
            }
            (Task::Fix { .. }, SessionResult::NothingFixed { why }) => {
                self.state.session = None;
                self.nothing_fixed(&session, why);
            }
            _ => return self.failed(dispatch, "the session answered for another task", None),
        }
        self.ask_probe();
    }

    fn reviewed(
        &mut self,
        session: &Session,
        decision: Decision,
        comment: &str,
        escalations: &[String],
    ) {
        self.log(format!(
            "{} has decided about {}: {decision:?}",
            session.agent,
            session.head.short()
        ));
        self.record(Outcome {
            reviewer: session.agent.clone(),
            decision,
            comment: comment.to_owned(),
            escalations: escalations.to_vec(),
            timestamp: self.timestamp(),
            commit: session.head.clone(),
            review: None,
            by_person: false,
        });
        self.escalate(&session.agent, escalations);
        self.log("checkingApproval");
    }

    pub(super) fn record(&mut self, outcome: Outcome) {
        self.state.outcomes.push(outcome);
        let extra = self.state.outcomes.len().saturating_sub(MOST_OUTCOMES);
        self.state.outcomes.drain(..extra);
    }

    fn timestamp(&self) -> String {
        let time = DateTime::from_timestamp(self.now.div_euclid(1000), 0).unwrap_or_default();
        // `Debug` is documented as ISO 8601, and needs no further feature of the crate.
        format!("{:?}Z", time.naive_utc())
    }

    fn nothing_fixed(&mut self, session: &Session, why: &str) {
        let is_at_head = self.facts().is_some_and(|facts| facts.head == session.head);
        if is_at_head {
            let logins = super::goal::configured_people(&self.state);
            let why = why.to_owned();
            self.call_people(CallReason::NothingFixed { why }, logins);
        }
    }

    pub(super) fn failed(&mut self, dispatch: u64, error: &str, retry_after_ms: Option<u64>) {
        let delays = self.policy.retry_delays_ms.clone();
        let longest = self.policy.max_retry_after_ms;
        let Some(session) = self.running(dispatch) else {
            return;
        };
        let tried = usize::try_from(session.failures).unwrap_or(usize::MAX);
        let delay = delays.get(tried).copied();
        session.failures += 1;
        self.state.last_error = Some(error.to_owned());
        self.log(format!("session {dispatch} failed: {error}"));
        let Some(delay) = delay else {
            self.state.session = None;
            return self.fail(error.to_owned(), false);
        };
        let delay = retry_after_ms.map_or(delay, |asked| asked.min(longest));
        let until = self.after(delay);
        self.timer(delay, Timer::Retry { dispatch });
        if let Some(session) = &mut self.state.session {
            session.id = None;
            session.progress = Progress::Backoff { until };
        }
    }

    /// The day has no more sessions for the author or for the repository: the session waits for the next one.
    pub(super) fn over_quota(&mut self, dispatch: u64, quota: &str, until: Millis) {
        let now = self.now;
        let Some(session) = self.running(dispatch).filter(|one| one.id.is_none()) else {
            return;
        };
        session.progress = Progress::Quota {
            until,
            quota: quota.to_owned(),
        };
        self.log(format!("session {dispatch} waits for {quota}"));
        let delay = u64::try_from(until.saturating_sub(now)).unwrap_or(0);
        self.timer(delay, Timer::NextDay { dispatch });
    }

    /// True if somebody has asked for sessions of this head: an operator by the command `retry`, or a person with write access.
    fn is_asked_for(&self) -> bool {
        let is_waived = self
            .facts()
            .is_some_and(|facts| self.state.waived.as_ref() == Some(&facts.head));
        let approvals = Approvals::new(&self.state, self.policy);
        is_waived || approvals.is_some_and(|one| one.is_ordered())
    }

    /// The wait after a failure, or for the next day, is over: the next probe tells whether the session is still needed.
    pub(super) fn retry(&mut self, dispatch: u64) {
        let waits = |session: &&mut Session| {
            let is_waiting = matches!(
                session.progress,
                Progress::Backoff { .. } | Progress::Quota { .. }
            );
            session.dispatch == dispatch && is_waiting
        };
        match self.state.session.as_mut().filter(waits) {
            Some(session) => session.progress = Progress::Due,
            None => return self.log("ignored: the timer is stale"),
        }
        self.ask_probe();
    }

    /// The session has had its time and said nothing.
    pub(super) fn overdue(&mut self, dispatch: u64) {
        if self.running(dispatch).is_some() {
            self.give_up(dispatch, "the session reached its deadline");
        }
    }

    /// The session has waited for a free place for too long.
    pub(super) fn never_started(&mut self, dispatch: u64) {
        match self.running(dispatch).map(|session| session.id.is_some()) {
            Some(false) => self.give_up(dispatch, "the session did not start in time"),
            Some(true) => self.log("ignored: the session has started"),
            None => {}
        }
    }

    fn give_up(&mut self, dispatch: u64, error: &str) {
        self.emit(Effect::EndSession { dispatch });
        self.failed(dispatch, error, None);
    }

    /// The state `error`. People are told once.
    pub(super) fn fail(&mut self, message: String, of_settings: bool) {
        self.drop_session();
        self.state.last_error = Some(message.clone());
        let phase = Phase::Error {
            message: message.clone(),
            of_settings,
        };
        if self.state.phase != phase {
            self.enter(phase);
            let author = self.facts().and_then(|facts| facts.author.clone());
            let reason = if of_settings {
                CallReason::WrongSettings { message }
            } else {
                CallReason::Failed
            };
            self.emit(Effect::Call {
                reason,
                logins: author.into_iter().collect(),
            });
        }
    }
}
