//! One prompt, watched from all sides until it is answered or stopped: the events, the process, the clock, the
//! budgets. Separate from the tasks, because it does not know what the prompt is about.

use super::progress::Progress;
use super::prompter::Prompter;
use reviewer_agent::opencode::{ClientError, Watched};
use reviewer_core::review::limits::Used;
use reviewer_core::review::nudges::Ended;
use reviewer_core::review::sidecar_events::{SidecarEvent, Usage};
use reviewer_core::review::watch::{Stopped, Watch};
use std::cell::RefCell;
use std::pin::pin;
use std::time::{Duration, Instant};

/// The time that a sidecar gets to stop before it is left alone.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

enum Stop {
    Watch(Stopped),
    Budget(String),
}

impl Prompter<'_> {
    pub(super) async fn turn(
        &self,
        text: &str,
        until: Instant,
        calls: usize,
        progress: &mut Progress,
    ) -> Ended {
        self.used();
        if let Some(why) = self.over_budget() {
            return Ended::OverBudget(why);
        }
        if let Some(why) = self.route.failure() {
            return Ended::Refused(why);
        }
        if self.clock.instant() >= until {
            return Ended::OutOfTime;
        }
        let ended = self.watched(text, until, Watch::new(calls), progress).await;
        if let Ended::Turn(turn) = &ended {
            progress.settle(turn);
            self.usage.settle(turn.usage);
        } else {
            progress.break_off();
            self.usage.break_off();
        }
        self.used();
        ended
    }

    async fn watched(
        &self,
        text: &str,
        until: Instant,
        mut watch: Watch,
        progress: &mut Progress,
    ) -> Ended {
        let (client, session) = (self.conversation.client(), self.conversation.session());
        let Some(session) = session else {
            return Ended::Lost("OpenCode has no session for this conversation".into());
        };
        let progress = RefCell::new(progress);
        let heed = |event: &SidecarEvent| {
            self.heed(event, &mut progress.borrow_mut());
            let over = self.over_budget().map(Stop::Budget);
            over.or_else(|| watch.heed(event).map(Stop::Watch))
        };
        let mut prompt = pin!(client.prompt_watched(session, text, heed));
        let mut lost = pin!(self.conversation.lost());
        let mut refused = pin!(self.route.failed());
        let mut deadline = pin!(tokio::time::sleep_until(until.into()));
        let ended = tokio::select! {
            watched = &mut prompt => return match watched {
                Ok(Watched::Turn(turn)) => Ended::Turn(turn),
                Ok(Watched::Stopped(Stop::Watch(why))) => Ended::Stopped(why),
                Ok(Watched::Stopped(Stop::Budget(why))) => Ended::OverBudget(why),
                Err(error) => self.failed(&error).await,
            },
            why = &mut lost => return Ended::Lost(why),
            // OpenCode would ask the model again.
            why = &mut refused => Ended::Refused(why),
            () = &mut deadline => Ended::OutOfTime,
        };
        let aborted = tokio::time::timeout(ABORT_LIMIT, client.abort(session));
        if let Ok(Err(error)) = aborted.await {
            tracing::debug!("the turn could not be aborted: {error:#}");
        }
        ended
    }

    /// Returns why the run, or this session of several, may use no more.
    fn over_budget(&self) -> Option<String> {
        let (run, own) = (self.run_usage.total(), self.usage.used().total());
        let whole = self.limits.exceeded_by(&run);
        whole.or_else(|| {
            self.limits
                .share_exceeded_by(&own, &self.run_usage.shares())
        })
    }

    /// Takes note of an event.
    fn heed(&self, event: &SidecarEvent, progress: &mut Progress) {
        progress.heed(event, self.root);
        if let SidecarEvent::Usage { tokens, cost, .. } = event {
            self.usage.hear(Usage {
                tokens: *tokens,
                cost: *cost,
                requests: 1,
            });
        }
        self.used();
        progress.show(self.actions);
        if let SidecarEvent::Retrying {
            attempt, message, ..
        } = event
        {
            let message: String = message.chars().take(200).collect();
            let what = format!(": OpenCode asks the model again (attempt {attempt}): {message}");
            progress.say(self.actions, &what);
        }
    }

    /// The session's usage by now, with the traffic of its route.
    pub(crate) fn used(&self) -> Used {
        self.usage.pass(self.route.taken());
        self.usage.used()
    }

    /// The line of the log about a stage that has ended.
    pub(crate) fn tell(&self, progress: &Progress) {
        let line = progress.line(&self.used(), self.clock.instant());
        self.actions.progress(&line);
    }

    /// Returns the reason why a prompt failed. A broken connection is the first sign of a process that ends; one that
    /// lives and does not answer is no better.
    async fn failed(&self, error: &ClientError) -> Ended {
        match (self.conversation.is_lost().await, error) {
            (Some(why), _) => Ended::Lost(why),
            (None, ClientError::Unreachable { .. }) => Ended::Lost(error.to_string()),
            (None, _) => Ended::Unreachable(error.to_string()),
        }
    }
}
