//! Makes good what an earlier run could not do any more: it posts the report of a fix that was pushed and not told, because the
//! record of the old head has it, signed before the push; and it notes what somebody took back.

use super::ground::{is_told, landed, memory_of, pushed, reverts, told};
use super::orders::{self, Asked};
use super::{delivery, failed_checks, post};
use crate::gather::Facts;
use crate::host::{Failure, Job};
use crate::run::CheckRun;
use reviewer_core::domain::CommitSha;
use reviewer_core::fix::report::{Delivery, FixReport};
use reviewer_core::fix::reverts::Reverts;
use reviewer_core::publish::comment::fixing;

/// True if there may be something to tell. Then a run waits for its turn, whatever else it does: two that read the same would
/// both tell it.
pub(crate) async fn owes_word(job: &Job<'_>, facts: &Facts) -> bool {
    let told: Vec<FixReport> = told(job, facts).collect();
    let mut untold = facts.fix_reports().filter(|report| !is_told(&told, report));
    let owes = untold.any(|report| {
        landed(facts, &report).is_some() || delivery::may_be_stacked(job, facts, &report)
    });
    owes || !unnoted_reverts(job, facts)
        .await
        .unwrap_or_default()
        .is_empty()
}

/// Tells the fixes and the reverts that no comment tells yet, and the checks of others that failed on a fix. Done by every run that
/// has a turn, because whichever comes next sees them first, and a force-push can hide them from the one after it. What cannot be
/// posted is a warning of the run, and stays for the next one.
pub(crate) async fn catch_up(job: &Job<'_>, facts: &mut Facts, check: &CheckRun) {
    let head = &facts.pull.head_sha;
    if memory_of(job, facts).made(head) {
        let failed = failed_checks(job, head).await;
        facts.warnings.extend(failed);
    }
    let fixes = Box::pin(tell_fixes(job, facts, Some(check))).await;
    let reverts = Box::pin(tell_reverts(job, facts)).await;
    for Failure(sentences) in [fixes, reverts].into_iter().filter_map(Result::err) {
        facts
            .warnings
            .push(fixing::could_not_tell(&sentences.join(" ")));
    }
}

/// Tells the fixes that no comment tells yet, those of runs that still work excepted, as far as `check` tells. Without it nobody
/// else is asked: the job that publishes a bundle is the only one that tells it.
pub(crate) async fn tell_fixes(
    job: &Job<'_>,
    facts: &Facts,
    check: Option<&CheckRun>,
) -> Result<(), Failure> {
    let mut told: Vec<FixReport> = told(job, facts).collect();
    for report in facts.fix_reports() {
        // Several records can hold it.
        if is_told(&told, &report) {
            continue;
        }
        let stacked = delivery::may_be_stacked(job, facts, &report);
        let has_landed = landed(facts, &report).is_some();
        // A run that still works tells its fix itself.
        if let Some(check) = check.filter(|_| has_landed || stacked)
            && is_at_work(job, facts, check, &report).await
        {
            continue;
        }
        let place = (&job.pr, &job.keys);
        let body = if let Some(commit) = landed(facts, &report) {
            let report = pushed(report.clone(), commit);
            fixing::belated(&report, &commit.sha, None, place)
        } else if let Some((commit, waits)) = delivery::stacked(job, facts, &report).await? {
            let report = FixReport {
                commit: Some(commit.to_string()),
                delivery: Some(Delivery::PullRequest),
                ..report.clone()
            };
            fixing::belated(&report, &commit, Some(&waits), place)
        } else {
            continue;
        };
        post(job, &body).await?;
        told.push(report);
    }
    Ok(())
}

/// True if the run that made a fix still works: its push started this one.
async fn is_at_work(job: &Job<'_>, facts: &Facts, check: &CheckRun, report: &FixReport) -> bool {
    let own = &facts.pull.head_sha;
    match report.head.parse::<CommitSha>() {
        // On the same head, its turn has passed.
        Ok(head) if head != *own => check.is_held_elsewhere(job, own, &head).await,
        _ => false,
    }
}

/// Signs the reverts on the pull request. A run that may fix looks for them itself, and names them in its events.
async fn tell_reverts(job: &Job<'_>, facts: &Facts) -> Result<(), Failure> {
    let reverts = unnoted_reverts(job, facts).await?;
    orders::note_reverts(job, facts, &reverts).await.map(drop)
}

async fn unnoted_reverts(job: &Job<'_>, facts: &Facts) -> Result<Reverts, Failure> {
    if Asked::from_job(job).is_some() || job.host.in_rounds() {
        return Ok(Reverts::default());
    }
    reverts(facts, &memory_of(job, facts)).await
}
