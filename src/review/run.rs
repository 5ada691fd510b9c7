//! Drives the passes: prompts the sidecar, waits for the turn to end, asks the ledger whether the pass was
//! submitted, nudges where it was not. It decides nothing about findings.

mod questions;

use super::ledger::NUDGES;
use super::limits::{Limits, Meter};
use super::passes::{self, Pass};
use crate::actions::Actions;
use crate::context::brief::{self, Brief, Excerpt};
use crate::domain::PassNumber;
use crate::opencode::client::Client;
use crate::opencode::session::{SessionId, SidecarEvent, ToolState, Turn, Usage};
use crate::plan::Question;
use crate::publish::comment::{plural, unanswered};
use crate::report::summary::grouped;
use crate::tools::server::SharedDesk;
use anyhow::{Context, Result};
use futures_util::StreamExt;
use std::time::Duration;

/// What a pass took.
#[derive(Debug, Clone)]
pub struct PassLog {
    /// 0 for the turns before the passes.
    pub number: u8,
    pub title: &'static str,
    /// `None`: not submitted. Turn 0 ends without a submission.
    pub summary: Option<String>,
    pub tool_calls: usize,
    pub tokens: u64,
    pub cost_usd: f64,
}

/// Why the passes ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    NotSubmitted(PassNumber),
    OutOfTime(PassNumber),
    OverBudget(PassNumber, String),
    /// The model's endpoint refused us; no prompt will change that.
    Refused(String),
    Failed(PassNumber, String),
    /// The open threads could not be judged.
    NotJudged(String),
    /// There is no money left for anything.
    NotAsked(String),
}

#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub passes: Vec<PassLog>,
    pub usage: Usage,
    pub answers: Vec<Answer>,
    /// A sentence for each question without an answer.
    pub unanswered: Vec<String>,
}

/// What the model says to a question.
#[derive(Debug)]
pub struct Answer {
    pub question: Question,
    pub text: String,
}

/// A session under review.
#[derive(Debug)]
pub struct Run<'a> {
    pub client: &'a Client,
    pub session: &'a SessionId,
    pub brief: &'a Brief<'a>,
    /// The threads to judge before the passes.
    pub to_judge: &'a [Excerpt],
    /// The questions to answer after that.
    pub questions: &'a [Question],
    /// Whether the passes follow.
    pub reviews: bool,
    pub desk: &'a SharedDesk,
    pub limits: Limits,
    pub meter: &'a Meter,
    pub actions: &'a Actions,
}

impl Run<'_> {
    /// Turn 0, the questions and all passes, until one does not end well.
    pub async fn all(&self) -> Result<Outcome> {
        let mut outcome = Outcome {
            end: End::Complete,
            passes: Vec::new(),
            usage: Usage::default(),
            answers: Vec::new(),
            unanswered: Vec::new(),
        };
        if let Some(why) = self.limits.nothing_left() {
            self.ask_nothing(&mut outcome, why);
            return Ok(outcome);
        }
        if !self.to_judge.is_empty() {
            self.turn_zero(&mut outcome).await?;
        }
        if outcome.end == End::Complete {
            self.answer(&mut outcome).await?;
        }
        if self.reviews && outcome.end == End::Complete {
            self.passes(&mut outcome).await?;
        }
        self.desk.with(|desk| desk.ledger.close());
        Ok(outcome)
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

    async fn turn_zero(&self, outcome: &mut Outcome) -> Result<()> {
        self.actions.group("Open threads");
        self.desk.with(|desk| desk.ledger.begin_turn_zero());
        let text = self
            .brief
            .turn_zero(self.to_judge)
            .context("a prompt is broken")?;
        let mut progress = Progress::new("open threads".into(), Usage::default());
        outcome.end = match self.turn(&text, &mut progress).await {
            TurnEnd::Turn(Ok(turn)) => {
                progress.settle(&turn);
                match &turn.error {
                    Some(error) if error.is_unauthorized() => End::Refused(error.to_string()),
                    Some(error) => End::NotJudged(error.to_string()),
                    None => End::Complete,
                }
            }
            TurnEnd::Turn(Err(error)) => End::NotJudged(format!("{error:#}")),
            TurnEnd::OutOfTime => End::NotJudged("the time ran out".into()),
            TurnEnd::OverBudget(why) => End::NotJudged(why),
        };
        let judged = outcome.end == End::Complete;
        if judged {
            self.desk.with(|desk| desk.ledger.finish_turn_zero());
        }
        self.actions.line(&progress.line());
        self.actions.end_group();
        outcome.usage = progress.usage();
        outcome.passes.push(PassLog {
            number: 0,
            title: "Open threads",
            summary: judged.then(|| format!("{} judged.", plural(self.to_judge.len(), "thread"))),
            tool_calls: progress.tool_calls,
            tokens: outcome.usage.tokens.total(),
            cost_usd: outcome.usage.cost,
        });
        Ok(())
    }

    async fn passes(&self, outcome: &mut Outcome) -> Result<()> {
        for pass in passes::all() {
            self.actions
                .group(&format!("Pass {} of 4: {}", pass.number, pass.title));
            let (end, progress) = self.pass(&pass, &outcome.usage).await?;
            self.actions.line(&progress.line());
            self.actions.end_group();
            let usage = progress.usage();
            let log = self.log(&pass, progress.tool_calls, &outcome.usage, &usage);
            outcome.passes.push(log);
            outcome.usage = usage;
            outcome.end = end;
            if outcome.end != End::Complete {
                break;
            }
        }
        Ok(())
    }

    fn log(&self, pass: &Pass, tool_calls: usize, before: &Usage, after: &Usage) -> PassLog {
        let finished = self.desk.with(|desk| {
            let mut finished = desk.ledger.finished().iter();
            finished
                .find(|f| f.number == pass.number)
                .map(|f| f.summary.clone())
        });
        PassLog {
            number: pass.number.get(),
            title: pass.title,
            summary: finished.flatten(),
            tool_calls,
            tokens: after.tokens.total().saturating_sub(before.tokens.total()),
            cost_usd: (after.cost - before.cost).max(0.0),
        }
    }

    async fn pass(&self, pass: &Pass, spent: &Usage) -> Result<(End, Progress)> {
        self.desk.with(|desk| desk.ledger.begin(pass.number));
        let entries = self
            .desk
            .with(|desk| desk.entries().to_vec())
            .unwrap_or_default();
        let mut text = self
            .brief
            .prompt(
                pass,
                &entries,
                self.to_judge.is_empty() && self.questions.is_empty(),
            )
            .context("a prompt is broken")?;
        let mut progress = Progress::new(format!("pass {} of 4", pass.number), *spent);
        for _ in 0..=NUDGES {
            match self.turn(&text, &mut progress).await {
                TurnEnd::Turn(Ok(turn)) => {
                    progress.settle(&turn);
                    if let Some(end) = failure(pass.number, &turn) {
                        return Ok((end, progress));
                    }
                }
                TurnEnd::Turn(Err(error)) => {
                    let end = End::Failed(pass.number, format!("{error:#}"));
                    return Ok((end, progress));
                }
                TurnEnd::OutOfTime => return Ok((End::OutOfTime(pass.number), progress)),
                TurnEnd::OverBudget(why) => {
                    return Ok((End::OverBudget(pass.number, why), progress));
                }
            }
            let finished = self.desk.with(|desk| desk.ledger.is_finished(pass.number));
            if finished == Some(true) {
                return Ok((End::Complete, progress));
            }
            text = brief::nudge(pass).context("a prompt is broken")?;
        }
        Ok((End::NotSubmitted(pass.number), progress))
    }

    /// One prompt, with an eye on the sidecar's events until it is answered.
    async fn turn(&self, text: &str, progress: &mut Progress) -> TurnEnd {
        self.meter.set(progress.usage());
        let events = self.client.events().await;
        let mut events = match events {
            Ok(events) => events.boxed(),
            Err(error) => return TurnEnd::Turn(Err(error.into())),
        };
        let prompt = self.client.prompt(self.session, text);
        tokio::pin!(prompt);
        let deadline = tokio::time::sleep_until(self.limits.deadline.into());
        tokio::pin!(deadline);
        let mut tick = tokio::time::interval(Duration::from_secs(10));
        tick.tick().await;
        let stop = loop {
            tokio::select! {
                turn = &mut prompt => return TurnEnd::Turn(turn.map_err(Into::into)),
                () = &mut deadline => break TurnEnd::OutOfTime,
                _ = tick.tick() => self.actions.line(&progress.line()),
                Some(event) = events.next() => {
                    progress.heed(&event);
                    let usage = progress.usage();
                    self.meter.set(usage);
                    if let Some(reason) = self.limits.exceeded_by(&usage) {
                        break TurnEnd::OverBudget(reason);
                    }
                }
            }
        };
        if let Err(error) = self.client.abort(self.session).await {
            tracing::debug!("the turn could not be aborted: {error:#}");
        }
        stop
    }
}

enum TurnEnd {
    Turn(Result<Turn>),
    OutOfTime,
    OverBudget(String),
}

/// How a turn that ended with an error ends the passes.
fn failure(pass: PassNumber, turn: &Turn) -> Option<End> {
    let error = turn.error.as_ref()?;
    Some(if error.is_unauthorized() {
        End::Refused(error.to_string())
    } else {
        End::Failed(pass, error.to_string())
    })
}

/// The live line of the log: what the finished turns took, and what the one under way has taken so far.
struct Progress {
    stage: String,
    settled: Usage,
    running: Usage,
    tool_calls: usize,
}

impl Progress {
    fn new(stage: String, settled: Usage) -> Self {
        Self {
            stage,
            settled,
            running: Usage::default(),
            tool_calls: 0,
        }
    }

    fn heed(&mut self, event: &SidecarEvent) {
        match event {
            SidecarEvent::ToolCall {
                state: ToolState::Completed | ToolState::Failed,
                ..
            } => {
                self.tool_calls += 1;
            }
            SidecarEvent::Usage { tokens, cost, .. } => {
                self.running += Usage {
                    tokens: *tokens,
                    cost: *cost,
                    requests: 1,
                };
            }
            _ => {}
        }
    }

    /// The turn's own account replaces what the events told.
    fn settle(&mut self, turn: &Turn) {
        self.settled += turn.usage;
        self.running = Usage::default();
    }

    fn usage(&self) -> Usage {
        let mut usage = self.settled;
        usage += self.running;
        usage
    }

    fn line(&self) -> String {
        let usage = self.usage();
        format!(
            "{} · {} tool calls · {} tokens · ${:.4}",
            self.stage,
            self.tool_calls,
            grouped(usage.tokens.total()),
            usage.cost
        )
    }
}
