//! Other pull requests with the same head: GitHub shows one check of a name for a commit, so they share it.

use super::numbers;
use crate::plan::neighbours::Neighbour;
use crate::state::record::Record;

/// The title of a check that another pull request of the same head keeps from being green.
#[must_use]
pub fn held_back_title(by: &[u64]) -> String {
    format!("Held back by {}", numbers(by))
}

/// Says why such a check is not green: GitHub shows one check of a name for a commit, whichever pull request it is
/// about.
#[must_use]
pub fn held_back(other: &Neighbour) -> String {
    let verdict = other.record.as_ref().map_or("", |one| one.verdict.as_str());
    format!(
        "Pull request #{} into {} has the same head, and its review concluded {verdict}. Both share this check, so it is \
         green when neither is blocked: settle #{0}, or close it.",
        other.number, other.base_ref
    )
}

/// Another pull request of the same head, that nobody has reviewed.
#[must_use]
pub fn shares_head(other: &Neighbour) -> String {
    format!(
        "Pull request #{} into {} has the same head and shares this check; its diff is not reviewed yet.",
        other.number, other.base_ref
    )
}

/// The other pull requests of the head are not known.
#[must_use]
pub fn unknown(error: &dyn std::fmt::Display) -> String {
    format!(
        "Whether other pull requests share this head and its check is not known ({error}); the job needs \
         `pull-requests: read` and `checks: read`."
    )
}

/// GitHub did not answer which other pull requests share the head.
#[must_use]
pub fn failed(error: &dyn std::fmt::Display) -> String {
    format!(
        "Whether other pull requests share this head and its check could not be looked up ({error}); run this job again."
    )
}

/// Somebody else's check has the name of the reviewer's.
#[must_use]
pub fn another_check(apps: &[String]) -> String {
    format!(
        "Another check called \"OpenCode review\" is on this head and is not the reviewer's, or was signed with a key that this \
         run does not have ({}). GitHub lets the newest check of a name decide: rename the job that makes it, or require the \
         check from an app of your own as its expected source.",
        apps.join(", ")
    )
}

/// The page of a check that was computed anew from the record of a review.
#[must_use]
pub fn computed_anew(number: u64, record: &Record, cause: u64) -> String {
    format!(
        "The review of pull request #{number} concluded {}. This check was computed anew because of pull request #{cause}, \
         which has or had the same head; no model was asked.",
        record.verdict
    )
}

/// Says whose checks were computed anew when a pull request was closed.
#[must_use]
pub fn closed(others: &[u64]) -> String {
    if others.is_empty() {
        return "The pull request is closed, and no other open pull request with a review has its head.".into();
    }
    let others = numbers(others);
    format!(
        "The pull request is closed; the check of {others}, with the same head, was computed anew."
    )
}
