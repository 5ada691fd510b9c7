//! Drives the passes: one task after the other, each until it is done or given up. What follows on a turn is decided
//! by `attempts`; it decides nothing about findings.

mod consolidation;
mod conversations;
mod fix_check;
mod meeting;
mod progress;
mod prompter;
mod questions;
mod turn;

use crate::host::session::Session;
use anyhow::Result;
pub(crate) use consolidation::Consolidation;
pub(crate) use meeting::{Meeting, Place};
pub(crate) use progress::Progress;
pub(crate) use prompter::{Assignment, Prompter, State};
use reviewer_agent::opencode::{SessionName, Supervisor};
use reviewer_core::context::brief::{self, Brief, Excerpt, Task};
use reviewer_core::domain::{PASSES, Pass, Role};
use reviewer_core::panel::open_conversations::OpenConversation;
use reviewer_core::plan::Question;
use reviewer_core::publish::comment::passes::corrected_claim;
use reviewer_core::publish::comment::requests::unanswered;
use reviewer_core::review::desk::{Docket, Entry, SharedDesk};
use reviewer_core::review::limits::Used;
use reviewer_core::review::nudges::{Ended, GivenUp, Shortfall, shortfall};
use reviewer_core::review::session_outcome::{Answer, End, Outcome, PassLog};
use reviewer_core::review::sidecar_events::Turn;
use reviewer_text::count::plural;
use reviewer_text::template::TemplateError;
use std::sync::Arc;
use std::time::Duration;

/// The tasks of a session, and what it takes to carry them out.
#[derive(Debug)]
pub(crate) struct Tasks<'a> {
    pub prompter: Prompter<'a>,
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

impl Tasks<'_> {
    /// Turn 0, the questions and all passes, until one does not end well.
    pub async fn all(self) -> Result<Outcome> {
        let session = self.prompter.session;
        let outcome = self.in_turn().await;
        session.usage.end();
        outcome
    }

    async fn in_turn(mut self) -> Result<Outcome> {
        let mut outcome = Outcome {
            end: End::Complete,
            passes: Vec::new(),
            used: self.prompter.used(),
            answers: Vec::new(),
            unanswered: Vec::new(),
            restarts: Vec::new(),
            corrections: Vec::new(),
            beyond: self.brief.parts.beyond.clone(),
            reviewers: 1,
            sections: Vec::new(),
        };
        if let Some(why) = self.prompter.limits.nothing_left().map(str::to_owned) {
            self.ask_nothing(&mut outcome, &why);
            return Ok(outcome);
        }
        self.prompter.state.tasks = self.tasks();
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
        outcome.restarts = self.prompter.state.restarts;
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
        let (before, began) = (outcome.used, self.prompter.clock.instant());
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
        self.prompter.tell(&progress);
        self.end_group();
        outcome.used = self.prompter.used();
        outcome.passes.push(PassLog {
            reviewer: None,
            section: None,
            number: 0,
            title: "Open threads",
            summary: judged.then(|| format!("{} judged.", plural(self.to_judge.len(), "thread"))),
            tool_calls: progress.tool_calls(),
            tokens: outcome.used.since(&before),
            cost_usd: outcome.used.cost_since(&before),
            took: self.prompter.clock.instant() - began,
        });
        Ok(())
    }

    async fn passes(&mut self, outcome: &mut Outcome) -> Result<()> {
        for pass in PASSES.all() {
            let docket = self.meet(&pass).await;
            let title = format!("Pass {}: {}", pass.place(), pass.row.title);
            self.begin_group(&title);
            let began = self.prompter.clock.instant();
            let mut progress = Progress::of_pass(&pass, began).of_reviewer(self.name);
            progress.show(self.prompter.actions);
            let carried_out = match &docket {
                None => self.parts_of(&pass, &mut progress).await?,
                Some(docket) => self.examine(&pass, docket, &mut progress).await?,
            };
            self.prompter.tell(&progress);
            self.end_group();
            let used = self.prompter.used();
            let log = self.log(&pass, progress.tool_calls(), &outcome.used, &used);
            outcome.passes.push(PassLog {
                took: self.prompter.clock.instant() - began,
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
        let model = self.prompter.session.model().to_string();
        let docket = place.arrive(model).await;
        self.prompter.limits.deadline = self.prompter.limits.last;
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
            self.prompter.actions.group(title);
        }
    }

    fn end_group(&self) {
        if self.name.is_none() {
            self.prompter.actions.end_group();
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
            section: None,
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
        let assignment = ReviewTask {
            task,
            brief: self.brief,
            desk: self.desk,
        };
        self.prompter.carry_out(&assignment, progress).await
    }
}

/// A task of a review.
struct ReviewTask<'a> {
    task: Task<'a>,
    brief: &'a Brief<'a>,
    desk: &'a SharedDesk,
}

impl ReviewTask<'_> {
    fn entries(&self) -> Vec<Entry> {
        let entries = self.desk.with(|desk| desk.entries().to_vec());
        entries.unwrap_or_default()
    }

    /// The results of static analysis that the last pass has yet to judge.
    fn candidates_left(&self) -> Vec<String> {
        let is_last = match self.task {
            Task::Pass(pass, _) | Task::Examination(pass, _) => {
                pass.row.role == Role::Consolidation
            }
            _ => false,
        };
        let left = self.desk.with(|desk| desk.unjudged_candidates());
        left.filter(|_| is_last).unwrap_or_default()
    }
}

impl Assignment for ReviewTask<'_> {
    fn begin(&self, begins: bool) -> Result<String, TemplateError> {
        let text = self.brief.task(self.task, &self.entries(), begins)?;
        let left = brief::candidates_left(&self.candidates_left(), self.brief.prefix)?;
        Ok(format!("{text}{left}"))
    }

    fn nudge(&self, reproach: &str) -> Result<String, TemplateError> {
        brief::nudge(self.task, reproach, self.brief.prefix)
    }

    fn resumed(&self) -> Result<String, TemplateError> {
        self.brief.resumed(self.task, &self.entries())
    }

    fn taken_over(&self) -> Result<String, TemplateError> {
        self.brief.taken_over(self.task, &self.entries())
    }

    fn anew(&self) -> Result<String, TemplateError> {
        self.brief.anew(self.task, &self.entries())
    }

    fn is_done(&self, ended: &Ended) -> bool {
        match (self.task, ended) {
            (Task::Pass(..) | Task::Examination(..), _) => {
                let submitted = self.desk.with(|desk| desk.ledger.is_part_submitted());
                submitted == Some(true)
            }
            (_, Ended::Turn(turn)) => {
                turn.error.is_none() && shortfall(turn) == Shortfall::Unfinished
            }
            _ => false,
        }
    }
}
