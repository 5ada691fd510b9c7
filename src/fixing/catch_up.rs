//! Posts the report of a fix that an earlier run pushed and could not tell any more: the record of the old head has it, signed
//! before the push.

use super::ground;
use super::post;
use crate::gather::Facts;
use crate::host::{Failure, Job};
use reviewer_core::fix::report::{Delivery, FixReport};
use reviewer_core::publish::comment::fixing;

/// Tells the fixes that no comment tells yet. Best done by every run, because whichever comes next sees the commit first.
pub(crate) async fn catch_up(job: &Job<'_>, facts: &Facts) -> Result<(), Failure> {
    let told: Vec<FixReport> = ground::told(job, facts).collect();
    let is_told = |report: &FixReport| {
        told.iter()
            .any(|one| one.cycle == report.cycle && one.head == report.head)
    };
    for report in facts.fix_reports().filter(|report| !is_told(report)) {
        // The commit on top of the head that was fixed, with the trailers of its findings.
        let made = facts.commits.iter().find(|commit| {
            let on_top = commit
                .parents
                .iter()
                .any(|parent| parent.as_str() == report.head);
            on_top && commit.message.contains("\nReview-Finding: ")
        });
        let Some(made) = made else {
            continue;
        };
        let report = FixReport {
            commit: Some(made.sha.to_string()),
            delivery: Some(Delivery::Push),
            ..report
        };
        post(
            job,
            &fixing::belated(&report, &made.sha, (&job.pr, &job.keys)),
        )
        .await?;
    }
    Ok(())
}
