//! One prompt, watched from all sides until it is answered or stopped: the events, the process, the clock, the
//! budgets. Separate from the tasks, because it does not know what the prompt is about.

use super::progress::Progress;
use super::prompter::Prompter;
use reviewer_agent::opencode::{ClientError, Watched};
use reviewer_core::review::fallback::{Cause, LONGEST_WAIT};
use reviewer_core::review::limits::Used;
use reviewer_core::review::nudges::Ended;
use reviewer_core::review::sidecar_events::{SidecarEvent, Usage};
use reviewer_core::review::watch::{Stopped, Watch};
use std::cell::RefCell;
use std::pin::pin;
use std::time::{Duration, Instant, SystemTime};

/// The time that a sidecar gets to stop before it is left alone.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

enum Stop {
    Watch(Stopped),
    Budget(String),
    /// The model wants to be asked again only after this time, in these words.
    Wait(Duration, String),
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
            return Ended::Refused(why, self.route.cause());
        }
        if self.clock.instant() >= until {
            return Ended::OutOfTime;
        }
        let ended = self.watched(text, until, Watch::new(calls), progress).await;
        if let Ended::Turn(turn) = &ended {
            progress.settle(turn);
            self.session.usage.settle(turn.usage);
        } else {
            progress.break_off();
            self.session.usage.break_off();
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
            let over = over.or_else(|| watch.heed(event).map(Stop::Watch));
            over.or_else(|| self.long_wait(event))
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
                Ok(Watched::Stopped(Stop::Wait(wait, words))) => {
                    let cause = Some(Cause::of_wait(&words));
                    Ended::Refused(self.route.busy(&words, wait), cause)
                }
                Err(error) => self.failed(&error).await,
            },
            why = &mut lost => return Ended::Lost(why),
            // OpenCode would ask the model again.
            why = &mut refused => Ended::Refused(why, self.route.cause()),
            () = &mut deadline => Ended::OutOfTime,
        };
        let aborted = tokio::time::timeout(ABORT_LIMIT, client.abort(session));
        if let Ok(Err(error)) = aborted.await {
            tracing::debug!("the turn could not be aborted: {error:#}");
        }
        ended
    }

    /// Returns how long OpenCode will wait for the model, if that is too long and another model can go on at once.
    fn long_wait(&self, event: &SidecarEvent) -> Option<Stop> {
        let SidecarEvent::Retrying { message, at_ms, .. } = event else {
            return None;
        };
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(*at_ms);
        let wait = at.duration_since(self.clock.now()).unwrap_or_default();
        let message: String = message.chars().take(200).collect();
        (wait > LONGEST_WAIT && self.can_fall_back()).then_some(Stop::Wait(wait, message))
    }

    /// Returns why the run, or this session of several, may use no more.
    fn over_budget(&self) -> Option<String> {
        let (run, own) = (self.run_usage.total(), self.session.usage.used().total());
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
            self.session.usage.hear(Usage {
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
        self.session.usage.pass(self.route.taken());
        self.session.usage.used()
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
