//! Drives the passes: one task after the other, each until it is done or given up. What follows on a turn is decided
//! by `attempts`; it decides nothing about findings.

mod conversations;
mod fix_check;
mod meeting;
mod progress;
mod questions;
mod turn;

use crate::actions::Actions;
use crate::host::session::Session;
use anyhow::{Context, Result};
pub(crate) use meeting::{Meeting, Place};
use progress::Progress;
use reviewer_agent::gateway::SessionRoute;
use reviewer_agent::opencode::{Conversation, Kept, SessionName, Supervisor};
use reviewer_core::context::brief::{self, Brief, Excerpt, Task};
use reviewer_core::domain::{PASSES, Pass, Role};
use reviewer_core::panel::open_conversations::OpenConversation;
use reviewer_core::plan::Question;
use reviewer_core::publish::comment::{corrected_claim, unanswered};
use reviewer_core::review::desk::{Docket, Entry, SharedDesk};
use reviewer_core::review::limits::{self, RunLimits, Used};
use reviewer_core::review::nudges::{Attempts, Ended, GivenUp, Next, Shortfall, shortfall};
use reviewer_core::review::session_outcome::{Answer, End, Outcome, PassLog};
use reviewer_core::review::sidecar_events::Turn;
use reviewer_core::review::usage::{RunUsage, SessionUsage};
use reviewer_system::clock::Clock;
use reviewer_text::count::plural;
use std::sync::Arc;
use std::time::Duration;

/// The tasks of a session, and what it takes to carry them out.
#[derive(Debug)]
pub(crate) struct Tasks<'a> {
    /// With its session open.
    pub conversation: &'a mut Conversation,
    pub brief: &'a Brief<'a>,
    /// The threads to judge before the passes.
    pub to_judge: &'a [Excerpt],
    /// The questions to answer after that.
    pub questions: &'a [Question],
    /// True if the passes follow.
    pub reviews: bool,
    /// The open conversations of people to weigh after that.
    pub conversations: &'a [OpenConversation],
    /// The place where the reviewer meets the others before the last pass; `None`: it reviews alone.
    pub place: Option<Place<'a>>,
    pub session: SessionName,
    /// The session in which a second reviewer checks fixes; `None`: the reviewer does it itself, in a conversation that
    /// knows nothing of the discussion.
    pub second: Option<Second<'a>>,
    /// The reviewer's name in the log; `None`: it reviews alone.
    pub name: Option<&'a str>,
    pub desk: &'a SharedDesk,
    pub limits: RunLimits,
    /// The session's way to its model.
    pub route: &'a SessionRoute,
    /// The usage of this session.
    pub usage: &'a SessionUsage,
    /// The usage of all sessions of the run, which the limits are for.
    pub run_usage: &'a RunUsage,
    pub actions: &'a Actions,
    /// The folder of the snapshot, below which paths are shown.
    pub root: &'a str,
    pub clock: Clock,
    pub state: State,
}

/// A second reviewer, for the check of fixes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Second<'a> {
    pub session: &'a Session,
    /// With the names of its tools.
    pub brief: &'a Brief<'a>,
    pub sidecar: &'a Arc<Supervisor>,
    pub title: &'a str,
}

/// The progress of a run.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The number of tasks that are left, the one under way included.
    tasks: u32,
    restarts: Vec<String>,
}

/// A task after a turn.
enum Judged {
    Done(Option<Turn>),
    Undone(Ended),
}

impl Tasks<'_> {
    /// Turn 0, the questions and all passes, until one does not end well.
    pub async fn all(self) -> Result<Outcome> {
        let usage = self.usage;
        let outcome = self.in_turn().await;
        usage.end();
        outcome
    }

    async fn in_turn(mut self) -> Result<Outcome> {
        let mut outcome = Outcome {
            end: End::Complete,
            passes: Vec::new(),
            used: self.used(),
            answers: Vec::new(),
            unanswered: Vec::new(),
            restarts: Vec::new(),
            corrections: Vec::new(),
            beyond: self.brief.parts.beyond.clone(),
            reviewers: 1,
        };
        if let Some(why) = self.limits.nothing_left().map(str::to_owned) {
            self.ask_nothing(&mut outcome, &why);
            return Ok(outcome);
        }
        self.state.tasks = self.tasks();
        if !self.to_judge.is_empty() {
            self.turn_zero(&mut outcome).await?;
        }
        if outcome.end == End::Complete {
            self.check_fixes(&mut outcome).await?;
        }
        if outcome.end == End::Complete {
            self.answer(&mut outcome).await?;
        }
        if self.reviews && outcome.end == End::Complete {
            self.passes(&mut outcome).await?;
        }
        self.weigh_conversations(&mut outcome).await?;
        self.desk.with(|desk| desk.ledger.close());
        outcome.corrections = self.corrections();
        outcome.restarts = self.state.restarts;
        Ok(outcome)
    }

    fn tasks(&self) -> u32 {
        let passes = if self.reviews {
            PASSES.all().count() + self.brief.parts.texts.len().saturating_sub(1)
        } else {
            0
        };
        let tasks = usize::from(!self.to_judge.is_empty()) + self.questions.len() + passes;
        u32::try_from(tasks).unwrap_or(u32::MAX)
    }

    /// A question that waits says nothing about the change, so it alone does not make a review incomplete.
    fn ask_nothing(&self, outcome: &mut Outcome, why: &str) {
        if self.reviews || !self.to_judge.is_empty() {
            outcome.end = End::NotAsked(why.to_owned());
        }
        let questions = self.questions.iter();
        outcome.unanswered = questions
            .map(|question| unanswered(question.comment, &format!("{why}.")))
            .collect();
        self.desk.with(|desk| desk.ledger.close());
    }

    fn corrections(&self) -> Vec<String> {
        let corrected = self.desk.with(|desk| desk.ledger.corrected().to_vec());
        let corrected = corrected.unwrap_or_default().into_iter();
        corrected
            .map(|one| corrected_claim(&PASSES.place(one.pass), one.claimed))
            .collect()
    }

    async fn turn_zero(&mut self, outcome: &mut Outcome) -> Result<()> {
        self.begin_group("Open threads");
        self.desk.with(|desk| desk.ledger.begin_turn_zero());
        let (before, began) = (outcome.used, self.clock.instant());
        let mut progress = Progress::new("open threads".into(), began).of_reviewer(self.name);
        let task = Task::Threads(self.to_judge);
        outcome.end = match self.carry_out(task, &mut progress).await? {
            Ok(_) => End::Complete,
            Err(given_up) => End::of_threads(given_up),
        };
        let judged = outcome.end == End::Complete;
        if judged {
            self.desk.with(|desk| desk.ledger.finish_turn_zero());
        }
        self.tell(&progress);
        self.end_group();
        outcome.used = self.used();
        outcome.passes.push(PassLog {
            reviewer: None,
            number: 0,
            title: "Open threads",
            summary: judged.then(|| format!("{} judged.", plural(self.to_judge.len(), "thread"))),
            tool_calls: progress.tool_calls(),
            tokens: outcome.used.since(&before),
            cost_usd: outcome.used.cost_since(&before),
            took: self.clock.instant() - began,
        });
        Ok(())
    }

    async fn passes(&mut self, outcome: &mut Outcome) -> Result<()> {
        for pass in PASSES.all() {
            let docket = self.meet(&pass).await;
            let title = format!("Pass {}: {}", pass.place(), pass.row.title);
            self.begin_group(&title);
            let began = self.clock.instant();
            let mut progress = Progress::of_pass(&pass, began).of_reviewer(self.name);
            progress.show(self.actions);
            let carried_out = match &docket {
                None => self.parts_of(&pass, &mut progress).await?,
                Some(docket) => self.examine(&pass, docket, &mut progress).await?,
            };
            self.tell(&progress);
            self.end_group();
            let used = self.used();
            let log = self.log(&pass, progress.tool_calls(), &outcome.used, &used);
            outcome.passes.push(PassLog {
                took: self.clock.instant() - began,
                ..log
            });
            outcome.used = used;
            if let Err(given_up) = carried_out {
                outcome.end = End::of_pass(pass.number, given_up, self.has_results(outcome));
                break;
            }
        }
        Ok(())
    }

    /// Meets the other reviewers before the last pass. Returns what they found; `None`: there is no meeting now.
    async fn meet(&mut self, pass: &Pass) -> Option<Docket> {
        let place = self
            .place
            .filter(|_| pass.row.role == Role::Consolidation)?;
        let docket = place.arrive().await;
        self.limits.deadline = self.limits.last;
        Some(docket)
    }

    /// Carries out the last pass of a reviewer among several.
    async fn examine(
        &mut self,
        pass: &Pass,
        docket: &Docket,
        progress: &mut Progress,
    ) -> Result<Result<(), GivenUp>> {
        self.desk.with(|desk| {
            desk.begin_examination(docket.clone());
            desk.ledger.begin_part(pass.number, (1, 1));
        });
        let carried_out = self.carry_out(Task::Examination(pass, docket), progress);
        Ok(carried_out.await?.map(|_| ()))
    }

    /// Groups of several sessions would run into each other.
    fn begin_group(&self, title: &str) {
        if self.name.is_none() {
            self.actions.group(title);
        }
    }

    fn end_group(&self) {
        if self.name.is_none() {
            self.actions.end_group();
        }
    }

    /// Returns true if there is anything to publish.
    fn has_results(&self, outcome: &Outcome) -> bool {
        let found = self.desk.with(|desk| {
            let (entries, replies) = desk.publishable();
            !entries.is_empty() || !replies.is_empty()
        });
        outcome.passes.iter().any(|pass| pass.summary.is_some())
            || !outcome.answers.is_empty()
            || found == Some(true)
    }

    /// Carries a pass out, part after part. Only the pass that reads the diffs has several.
    async fn parts_of(
        &mut self,
        pass: &Pass,
        progress: &mut Progress,
    ) -> Result<Result<(), GivenUp>> {
        let parts = match pass.row.role {
            Role::Diffs => self.brief.parts.texts.len().max(1),
            Role::Structure | Role::Security | Role::Consolidation => 1,
        };
        for part in 1..=parts {
            let of = u32::try_from(parts).unwrap_or(u32::MAX);
            let place = (u32::try_from(part).unwrap_or(of), of);
            self.desk
                .with(|desk| desk.ledger.begin_part(pass.number, place));
            if parts > 1 {
                progress.enter(pass, part, parts);
            }
            if let Err(given_up) = self.carry_out(Task::Pass(pass, part), progress).await? {
                return Ok(Err(given_up));
            }
        }
        Ok(Ok(()))
    }

    fn log(&self, pass: &Pass, tool_calls: usize, before: &Used, after: &Used) -> PassLog {
        let finished = self.desk.with(|desk| {
            let mut finished = desk.ledger.finished().iter();
            finished
                .find(|f| f.number == pass.number)
                .map(|f| f.summary.clone())
        });
        PassLog {
            reviewer: None,
            number: pass.number.get(),
            title: pass.row.title,
            summary: finished.flatten(),
            tool_calls,
            tokens: after.since(before),
            cost_usd: after.cost_since(before),
            took: Duration::ZERO,
        }
    }

    /// Prompts until the task is done, in its share of the time. Returns the turn that did it, if it came to its end.
    async fn carry_out(
        &mut self,
        task: Task<'_>,
        progress: &mut Progress,
    ) -> Result<Result<Option<Turn>, GivenUp>> {
        const BROKEN: &str = "a prompt is broken";
        let mut attempts = Attempts::default();
        let mut until = self.clock.instant() + limits::share(self.left(), self.state.tasks);
        self.conversation.follow().await;
        let begins = self.conversation.is_blank().await;
        let text = self.brief.task(task, &self.entries(), begins);
        let mut text = text.context(BROKEN)?;
        let carried_out = loop {
            let ended = self.turn(&text, until, attempts.calls(), progress).await;
            let lost = ended.lost();
            let ended = match self.judged(task, ended) {
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
                    text =
                        brief::nudge(task, &why.reproach(), self.brief.prefix).context(BROKEN)?;
                }
                Next::Recover(why) => match self.recover(progress, &why).await {
                    Ok(Kept::Session) => {
                        text = self.brief.resumed(task, &self.entries()).context(BROKEN)?;
                    }
                    Ok(Kept::Nothing) => {
                        text = self.brief.anew(task, &self.entries()).context(BROKEN)?;
                    }
                    Err(why) => break Err(GivenUp::Failed(why)),
                },
                Next::BeginAnew => {
                    progress.say(self.actions, ": the conversation is begun anew");
                    if let Err(error) = self.conversation.renew().await {
                        break Err(GivenUp::Failed(error.to_string()));
                    }
                    text = self.brief.anew(task, &self.entries()).context(BROKEN)?;
                }
                Next::GiveUp(given_up) => break Err(given_up),
            }
        };
        self.state.tasks = self.state.tasks.saturating_sub(1);
        Ok(carried_out)
    }

    /// Decides if the task is done, however the turn ended; else how the turn ended, where a failure of the model or a
    /// reached limit comes first.
    fn judged(&self, task: Task<'_>, ended: Ended) -> Judged {
        let done = match (task, &ended) {
            (Task::Pass(..) | Task::Examination(..), _) => {
                let submitted = self.desk.with(|desk| desk.ledger.is_part_submitted());
                submitted == Some(true)
            }
            (_, Ended::Turn(turn)) => {
                turn.error.is_none() && shortfall(turn) == Shortfall::Unfinished
            }
            _ => false,
        };
        let refused = || self.route.failure().map(Ended::Refused);
        let limit = || self.route.exhausted().map(Ended::OverBudget);
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

    fn entries(&self) -> Vec<Entry> {
        let entries = self.desk.with(|desk| desk.entries().to_vec());
        entries.unwrap_or_default()
    }

    fn left(&self) -> Duration {
        let now = self.clock.instant();
        self.limits.deadline.saturating_duration_since(now)
    }
}
