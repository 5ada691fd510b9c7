//! Makes good what an earlier run could not do any more: it posts the report of a fix that was pushed and not told, because the
//! record of the old head has it, signed before the push; and it notes what somebody took back.

use super::ground::{is_told, landed, memory_of, pushed, reverts, told};
use super::orders::{self, Asked};
use super::{delivery, post};
use crate::gather::Facts;
use crate::host::{Failure, Job};
use reviewer_core::fix::report::{Delivery, FixReport};
use reviewer_core::publish::comment::fixing;

/// Tells the fixes and the reverts that no comment tells yet. Best done by every run, because whichever comes next sees them
/// first, and a force-push can hide them from the one after it.
pub(crate) async fn catch_up(job: &Job<'_>, facts: &Facts) -> Result<(), Failure> {
    let mut told: Vec<FixReport> = told(job, facts).collect();
    for report in facts.fix_reports() {
        // Several records can hold it.
        if is_told(&told, &report) {
            continue;
        }
        let place = (&job.pr, &job.keys);
        let body = if let Some(commit) = landed(facts, &report) {
            let report = pushed(report.clone(), commit);
            fixing::belated(&report, &commit.sha, None, place)
        } else if let Some((commit, url)) = delivery::stacked(job, facts, &report).await? {
            let report = FixReport {
                commit: Some(commit.to_string()),
                delivery: Some(Delivery::PullRequest),
                ..report.clone()
            };
            fixing::belated(&report, &commit, Some(&url), place)
        } else {
            continue;
        };
        post(job, &body).await?;
        told.push(report);
    }
    // A run that may fix looks for reverts itself, and names them in its events.
    if Asked::from_job(job).is_none() && !job.host.in_rounds() {
        let memory = memory_of(job, facts);
        let reverts = reverts(facts, &memory).await?;
        orders::note_reverts(job, facts, &reverts).await?;
    }
    Ok(())
}
