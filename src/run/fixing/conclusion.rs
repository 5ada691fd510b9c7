//! The end of rounds: nothing is left to do, or nothing that may be done without people.

use super::ground::Ground;
use super::orders::Asked;
use super::{Fixing, LoopEnd, answer, now, post};
use crate::gather::Memory as Discussion;
use crate::host::{Aim, Failure, Job};
use crate::run::outcome::Outcome;
use reviewer_core::event::EventKind as Trigger;
use reviewer_core::fix::issue::Issue;
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
    steps: &mut Fixing,
) -> Result<(), Failure> {
    let mention = &job.host.config.mention;
    let stuck: Vec<&Issue> = selection.stuck().collect();
    let Some(note) = fixing::rounds_ended(next, job.pr.number, mention) else {
        let why = "the head is not reviewed to the end";
        does_not_fit(job, outcome, asked, why, steps).await;
        return Ok(());
    };
    let end = match next {
        Next::Converged => LoopEnd::Converged,
        Next::AtCap { .. } | Next::ManualIntervention => LoopEnd::NeedsPeople,
        _ => LoopEnd::Unfinished,
    };
    let called = match next {
        Next::AtCap { cycles, call: true } => Some(Escalation::AtCap {
            cycles: *cycles,
            stuck: &stuck,
        }),
        Next::ManualIntervention => {
            let tried = !ground.memory.cycles().is_empty();
            let calls = tried && !ground.memory.has_escalated();
            calls.then_some(Escalation::Manual { stuck: &stuck })
        }
        _ => None,
    };
    if let Some(why) = called {
        call_people(job, ground, &why, outcome, steps).await?;
    }
    steps.end = Some(end);
    steps.refused = end == LoopEnd::Unfinished && asked.is_some_and(|asked| !asked.resumes);
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
    steps: &mut Fixing,
) {
    let command = command(job);
    let note = fixing::does_not_fit(why, &command);
    let details = json!({ "why": why, "continue": command });
    steps.event(job, EventKind::FixFailed, details);
    steps.end = Some(LoopEnd::Unfinished);
    if let Some(asked) = asked {
        answer(job, asked, outcome, &note).await;
    }
    outcome.report.notes.push(note);
}

/// The command that continues, where this one was given: in a comment, or at a shell.
fn command(job: &Job<'_>) -> String {
    let word = match job.aim {
        _ if job.event.kind != Trigger::Manual => {
            return format!("{} fix", job.host.config.mention);
        }
        Aim::Loop => "loop",
        Aim::Review | Aim::Fix | Aim::PatchOut(_) | Aim::Publish(_) => "fix",
    };
    let pr = &job.pr;
    format!(
        "opencode-reviewer {word} --repo {} --pr {}",
        pr.repo, pr.number
    )
}

/// Calls people, once: a label, and a comment that mentions them. The comment comes last: it is what later runs know it by.
async fn call_people(
    job: &Job<'_>,
    ground: &Ground,
    why: &Escalation<'_>,
    outcome: &mut Outcome,
    steps: &mut Fixing,
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
    steps.event(job, EventKind::HumanEscalation, json!({ "reason": reason }));
    Ok(())
}
