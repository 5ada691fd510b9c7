//! Carries an assignment out in a conversation: prompts until it is done or given up. It knows nothing of the work itself.

use super::progress::Progress;
use crate::actions::Actions;
use crate::host::session::Session;
use anyhow::{Context, Result};
use reviewer_agent::gateway::SessionRoute;
use reviewer_agent::opencode::{Conversation, Kept};
use reviewer_core::publish::comment;
use reviewer_core::review::fallback::Cause;
use reviewer_core::review::limits::{self, RunLimits};
use reviewer_core::review::nudges::{Attempts, Ended, GivenUp, Next, Shortfall};
use reviewer_core::review::sidecar_events::Turn;
use reviewer_core::review::usage::RunUsage;
use reviewer_system::clock::Clock;
use reviewer_text::template::TemplateError;
use std::time::Duration;

/// A piece of work for a model: its prompts, and its end.
pub(crate) trait Assignment {
    /// The prompt that begins it. `begins`: it is the first of its conversation.
    fn begin(&self, begins: bool) -> Result<String, TemplateError>;
    /// The prompt after a turn that left it undone. `reproach`: the fault of the turn, or nothing.
    fn nudge(&self, reproach: &str) -> Result<String, TemplateError>;
    /// The prompt after the sidecar was replaced, in the same session.
    fn resumed(&self) -> Result<String, TemplateError>;
    /// The prompt for another model that goes on in the same session.
    fn taken_over(&self) -> Result<String, TemplateError>;
    /// The prompt in a session that knows nothing of what was done.
    fn anew(&self) -> Result<String, TemplateError>;
    /// True if it is done, however the turn ended.
    fn is_done(&self, ended: &Ended) -> bool;
}

/// A conversation with a model, and what limits it.
#[derive(Debug)]
pub(crate) struct Prompter<'a> {
    /// With its session open.
    pub conversation: &'a mut Conversation,
    pub limits: RunLimits,
    /// The session's way to its model.
    pub route: &'a SessionRoute,
    /// The session, with its account and its models.
    pub session: &'a Session,
    /// The usage of all sessions of the run, which the limits are for.
    pub run_usage: &'a RunUsage,
    pub actions: &'a Actions,
    /// The folder of the snapshot, below which paths are shown.
    pub root: &'a str,
    pub clock: Clock,
    pub state: State,
}

/// The progress of a run.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The number of tasks that are left, the one under way included.
    pub(crate) tasks: u32,
    pub(crate) restarts: Vec<String>,
}

impl State {
    /// The beginning of so many tasks.
    pub(crate) fn for_tasks(tasks: u32) -> Self {
        Self {
            tasks,
            restarts: Vec::new(),
        }
    }
}

/// A task after a turn.
enum Judged {
    Done(Option<Turn>),
    Undone(Ended),
}

impl Prompter<'_> {
    /// Prompts until the task is done, in its share of the time. Returns the turn that did it, if it came to its end.
    pub(crate) async fn carry_out(
        &mut self,
        assignment: &impl Assignment,
        progress: &mut Progress,
    ) -> Result<Result<Option<Turn>, GivenUp>> {
        const BROKEN: &str = "a prompt is broken";
        let mut attempts = Attempts::new(self.can_fall_back());
        let mut until = self.clock.instant() + limits::share(self.left(), self.state.tasks);
        self.conversation.follow().await;
        self.choose_model();
        let begins = self.conversation.is_blank().await;
        let mut text = assignment.begin(begins).context(BROKEN)?;
        let carried_out = loop {
            let ended = self.turn(&text, until, attempts.calls(), progress).await;
            let lost = ended.lost();
            let ended = match self.judged(assignment, ended) {
                Judged::Done(turn) => {
                    self.recover_for_the_next(progress, lost).await;
                    break Ok(turn);
                }
                Judged::Undone(ended) => ended,
            };
            match attempts.after(ended) {
                Next::Nudge(why) => {
                    if why == Shortfall::Late {
                        let more = limits::grace(self.left(), self.state.tasks);
                        until = self.clock.instant() + more;
                    }
                    progress.say(self.actions, &why.told());
                    text = assignment.nudge(&why.reproach()).context(BROKEN)?;
                }
                Next::Recover(why) => match self.recover(progress, &why).await {
                    Ok(Kept::Session) => {
                        text = assignment.resumed().context(BROKEN)?;
                    }
                    Ok(Kept::Nothing) => {
                        text = assignment.anew().context(BROKEN)?;
                    }
                    Err(why) => break Err(GivenUp::Failed(why)),
                },
                Next::BeginAnew => {
                    progress.say(self.actions, ": the conversation is begun anew");
                    if let Err(error) = self.conversation.renew().await {
                        break Err(GivenUp::Failed(error.to_string()));
                    }
                    text = assignment.anew().context(BROKEN)?;
                }
                Next::FallBack(cause, why) => {
                    self.fall_back(progress, cause, &why);
                    attempts = Attempts::after_fallback();
                    until = self.clock.instant() + limits::share(self.left(), self.state.tasks);
                    text = assignment.taken_over().context(BROKEN)?;
                }
                Next::GiveUp(given_up) => break Err(self.told(given_up)),
            }
        };
        self.state.tasks = self.state.tasks.saturating_sub(1);
        Ok(carried_out)
    }

    /// Decides if the task is done, however the turn ended; else how the turn ended, where a failure of the model or a
    /// reached limit comes first.
    fn judged(&self, assignment: &impl Assignment, ended: Ended) -> Judged {
        let done = assignment.is_done(&ended);
        let refusal = |why| Ended::Refused(why, self.route.cause());
        let refused = || self.route.failure().map(refusal);
        let limit = || {
            let reached = self.route.exhausted();
            reached.map(if self.route.is_silent() {
                Ended::Silent
            } else {
                Ended::OverBudget
            })
        };
        match ended {
            Ended::Turn(turn) if done => Judged::Done(Some(turn)),
            _ if done => Judged::Done(None),
            ended => Judged::Undone(refused().or_else(limit).unwrap_or(ended)),
        }
    }

    /// A task that was done leaves no sidecar to the next that is lost: it would be waited for anew.
    async fn recover_for_the_next(&mut self, progress: &Progress, lost: Option<String>) {
        if let Some(why) = lost.filter(|_| self.state.tasks > 1)
            && let Err(error) = self.recover(progress, &why).await
        {
            tracing::debug!("left to the next task: {error}");
        }
    }

    /// Puts another sidecar in the place of one that is lost.
    async fn recover(&mut self, progress: &Progress, why: &str) -> Result<Kept, String> {
        progress.say(self.actions, &format!(": {why}; it is started again"));
        let kept = self.conversation.recover().await;
        let kept = kept.map_err(|error| format!("{why}, and {error}."))?;
        let session = match kept {
            Kept::Session => "the same session",
            Kept::Nothing => "a new session",
        };
        let stage = progress.stage();
        let sentence =
            format!("{why}, in {stage}. It was started again, and went on in {session}.");
        self.state.restarts.push(sentence);
        Ok(kept)
    }

    /// Returns true if another model may take the place of the one in use.
    pub(super) fn can_fall_back(&self) -> bool {
        self.route.fallback().is_some() && !self.route.has_fallen_back()
    }

    /// The conversation goes on with the model that the session uses by now.
    fn choose_model(&mut self) {
        if let Some(name) = self.session.fallback_in_use() {
            self.conversation.go_on_with(name);
        }
    }

    /// Puts the other model in the place of one that cannot be used, for the rest of the run.
    fn fall_back(&mut self, progress: &Progress, cause: Cause, why: &str) {
        if let Some(fallback) = self.session.fall_back(progress.stage(), cause, why) {
            progress.say(self.actions, &comment::fallback::goes_on(fallback));
        }
        self.choose_model();
    }

    /// A failure of the other model names both.
    fn told(&self, given_up: GivenUp) -> GivenUp {
        let Some(first) = self.session.fell_back() else {
            return given_up;
        };
        let both = |why: String| comment::fallback::both_failed(first, &why);
        match given_up {
            GivenUp::Refused(why) => GivenUp::Refused(both(why)),
            GivenUp::Failed(why) => GivenUp::Failed(both(why)),
            other => other,
        }
    }

    fn left(&self) -> Duration {
        let now = self.clock.instant();
        self.limits.deadline.saturating_duration_since(now)
    }
}
