//! Posts the report of a fix that an earlier run pushed and could not tell any more: the record of the old head has it, signed
//! before the push.

use super::ground;
use super::post;
use crate::gather::Facts;
use crate::host::{Failure, Job};
use reviewer_core::fix::memory::{self, FixReport, KeptOutcome};
use reviewer_core::publish::comment::fixing;
use std::collections::BTreeSet;

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
            on_top && is_of(&commit.message, &report)
        });
        let Some(made) = made else {
            continue;
        };
        let report = FixReport {
            commit: Some(made.sha.to_string()),
            delivery: Some(memory::Delivery::Push),
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

/// True if the trailers of a commit name the findings that the report calls fixed, and no others: anybody can push a commit with
/// such a line.
fn is_of(message: &str, report: &FixReport) -> bool {
    let lines = message.lines();
    let named: BTreeSet<&str> = lines
        .filter_map(|line| line.strip_prefix("Review-Finding: "))
        .collect();
    let fixed = report.outcomes.iter();
    let fixed = fixed.filter(|kept| kept.outcome == KeptOutcome::Fixed);
    let fixed: BTreeSet<&str> = fixed.map(|kept| kept.id.as_str()).collect();
    !named.is_empty() && named == fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_core::fix::memory::KeptIssue;

    #[test]
    fn only_a_commit_with_the_findings_of_a_report_is_its_commit() {
        let kept = |id: &str, outcome| KeptIssue {
            id: id.into(),
            outcome,
            file: None,
            line: None,
            anchor: None,
            finding: String::new(),
            assessment: String::new(),
            marks: Vec::new(),
        };
        let report = FixReport {
            outcomes: vec![
                kept("a1", KeptOutcome::Fixed),
                kept("b2", KeptOutcome::Fixed),
                kept("c3", KeptOutcome::Rejected),
            ],
            ..FixReport::default()
        };
        let message = "Fix 2 review findings\n\n- x\n\nReview-Finding: a1\nReview-Finding: b2";
        assert!(is_of(message, &report));
        for other in [
            "Fix it",
            "Mine\n\nReview-Finding: a1",
            "Mine\n\nReview-Finding: a1\nReview-Finding: b2\nReview-Finding: c3",
            "Mine: Review-Finding: a1 Review-Finding: b2",
        ] {
            assert!(!is_of(other, &report), "{other}");
        }
        assert!(!is_of("Fix it", &FixReport::default()));
    }
}
