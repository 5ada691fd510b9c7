//! The end of rounds: nothing is left to do, or nothing that may be done without people.

use super::ground::Ground;
use super::orders::Asked;
use super::{Fixing, LoopEnd, answer, now, post};
use crate::gather::Memory as Discussion;
use crate::host::{Failure, Job};
use crate::run::outcome::Outcome;
use reviewer_core::fix::issue::Issue;
use reviewer_core::fix::memory::Stop;
use reviewer_core::fix::report::FixReport;
use reviewer_core::fix::rounds::Next;
use reviewer_core::fix::selection::Selection;
use reviewer_core::publish::comment::fixing::{self, Escalation, HUMAN_REVIEW};
use reviewer_core::report::events::EventKind;
use serde_json::json;

/// Ends rounds: nothing is left to do, or nothing that may be done without people.
pub(super) async fn conclude(
    job: &Job<'_>,
    (ground, selection): (&Ground, &Selection),
    outcome: &mut Outcome,
    asked: Option<&Asked>,
    next: &Next,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let mention = &job.host.config.mention;
    let stuck: Vec<&Issue> = selection.stuck().collect();
    let (end, note) = match next {
        Next::Converged => (LoopEnd::Converged, "Nothing is left to fix.".to_owned()),
        Next::AtCap { cycles, call } => {
            let why = Escalation::AtCap {
                cycles: *cycles,
                stuck: &stuck,
            };
            if *call {
                call_people(job, ground, &why, outcome, fixing).await?;
            }
            let number = job.pr.number;
            let told =
                format!("PR #{number} exceeded max fix cycles ({cycles}) — requires human review");
            (LoopEnd::NeedsPeople, told)
        }
        Next::ManualIntervention => {
            let why = Escalation::Manual { stuck: &stuck };
            let tried = !ground.memory.cycles().is_empty();
            if tried && !ground.memory.has_escalated() {
                call_people(job, ground, &why, outcome, fixing).await?;
            }
            let told =
                "Manual intervention required: nothing is left that may be fixed.".to_owned();
            (LoopEnd::NeedsPeople, told)
        }
        Next::WaitsForCommand(why) => (
            LoopEnd::Unfinished,
            format!("No further fix: {why}. `{mention} fix` asks for one."),
        ),
        Next::Stopped(Stop::Ordered(order)) => (
            LoopEnd::Unfinished,
            format!(
                "Nothing was fixed: {} has stopped it. `{mention} fix resume` lets it go on.",
                order.by
            ),
        ),
        Next::Stopped(Stop::Reverted(commit)) => (
            LoopEnd::Unfinished,
            format!(
                "Nothing was fixed: the fix {commit:.7} was reverted. `{mention} fix resume` lets it go on."
            ),
        ),
        Next::Review | Next::Fix { .. } => {
            let why = "the head is not reviewed to the end";
            does_not_fit(job, outcome, asked, why, fixing).await;
            return Ok(());
        }
    };
    fixing.end = Some(end);
    // The call for people is an answer, and so is the order to resume.
    if let Some(asked) = asked.filter(|asked| end != LoopEnd::NeedsPeople && !asked.resumes) {
        answer(job, asked, outcome, &note).await;
    }
    outcome.report.notes.push(note);
    outcome.needs_people |= end == LoopEnd::NeedsPeople;
    Ok(())
}

/// Ends rounds for this run, because the next step has no room in it, with the command that continues them.
pub(super) async fn does_not_fit(
    job: &Job<'_>,
    outcome: &mut Outcome,
    asked: Option<&Asked>,
    why: &str,
    fixing: &mut Fixing,
) {
    let command = format!("{} fix", job.host.config.mention);
    let note = format!("Nothing was fixed: {why}. `{command}` goes on.");
    let details = json!({ "why": why, "continue": command });
    fixing.event(job, EventKind::FixFailed, details);
    fixing.end = Some(LoopEnd::Unfinished);
    if let Some(asked) = asked {
        answer(job, asked, outcome, &note).await;
    }
    outcome.report.notes.push(note);
}

/// Calls people, once: a label, and a comment that mentions them. The comment comes last: it is what later runs know it by.
async fn call_people(
    job: &Job<'_>,
    ground: &Ground,
    why: &Escalation<'_>,
    outcome: &mut Outcome,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let (facts, at) = (&ground.facts, now(job));
    let discussion = Discussion::from_job(job);
    let author = facts.pull.author.as_ref();
    let people = discussion.human_reviewers(author, &facts.reviews).await?;
    let reason = why.reason();
    let report = FixReport {
        at: at.clone(),
        head: ground.head().to_string(),
        human_review_required: true,
        escalation_reason: Some(reason.clone()),
        escalated_at: Some(at),
        ..FixReport::default()
    };
    let place = (&job.pr, &job.keys);
    let mention = &job.host.config.mention;
    let body = fixing::escalation(job.pr.number, why, &people, mention, (&report, place));
    if let Err(error) = job.github.add_label(&job.pr, HUMAN_REVIEW).await {
        let note = format!("The label {HUMAN_REVIEW} could not be set: {error}");
        outcome.report.warnings.push(note);
    }
    post(job, &body).await?;
    outcome.needs_people = true;
    fixing.event(job, EventKind::HumanEscalation, json!({ "reason": reason }));
    Ok(())
}
