//! Findings that are not posted, or not at their place, with the reason.

use crate::domain::{CommitSha, Finding, Thread};
use crate::state::backlog::Dropped;

/// GitHub could not be asked which anchors it takes.
#[must_use]
pub fn anchors_unknown(error: &dyn std::fmt::Display) -> String {
    format!(
        "GitHub refused an anchor, and which one is not known; the findings are in the review's text ({error})."
    )
}

/// The head moved while the review was under way.
#[must_use]
pub fn left_behind(finding: &Finding, now: &CommitSha) -> String {
    format!(
        "Not posted at {}, because the head moved to {} meanwhile: {} The next run looks at it again.",
        finding.place(),
        now.short(),
        finding.assessment.finding
    )
}

/// Says why a finding of an earlier run is not posted any more.
#[must_use]
pub fn dropped(finding: &Finding, why: &Dropped) -> String {
    let text = &finding.assessment.finding;
    match why {
        Dropped::CodeChanged => format!(
            "Not posted by an earlier run, and not now, as its code at {} has changed since: {text}",
            finding.place(),
        ),
        Dropped::SaidIn(thread) => format!(
            "Not posted by an earlier run, and not now, as thread {} says it: {text}",
            thread.id
        ),
    }
}

/// The recheck before posting found that another run has said it while this one was under way.
#[must_use]
pub fn said_before_recheck(thread: &Thread) -> String {
    format!("said in thread {} while this run was under way", thread.id)
}
