//! The service's own words: a call for people, and the check of a head that no session has reviewed.

use crate::domain::{CommitSha, Login};
use crate::lifecycle::CallReason;
use reviewer_text::sentence::{cell, code};

/// The mark by which the call of an effect is found again.
#[must_use]
pub fn call_marker(effect: &str) -> String {
    format!("<!-- rmcoc:call {effect} -->")
}

/// The longest reason, in characters.
const MOST_REASON: usize = 500;

/// A comment that people are needed, and who.
#[must_use]
pub fn call(marker: &str, reason: &CallReason, logins: &[Login], mention: &str) -> String {
    let names: Vec<String> = logins.iter().map(|login| format!("@{login}")).collect();
    let asked = if names.is_empty() {
        "A person is needed here.".to_owned()
    } else {
        format!("{}: a person is needed here.", names.join(", "))
    };
    let needed = reason.needed(Some(mention));
    // Words of others may stand in it.
    let reason = cell(&reason.sentence(), MOST_REASON);
    format!("### Waiting for a person\n\n{asked} {reason}\n\nTo go on: {needed}.\n\n{marker}")
}

/// The title of a check on a head that makes the same change as one that was approved, and its summary.
#[must_use]
pub fn carried_check(from: &CommitSha, head: &CommitSha) -> (String, String) {
    let (from, head) = (code(from.short()), code(head.short()));
    let summary = format!(
        "{head} makes the same change as {from}, which the agents have approved. Nothing was reviewed again."
    );
    ("Reviewed before".to_owned(), summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reason: &CallReason) -> String {
        call("<!-- m -->", reason, &[Login::new("ada")], "@my-bot")
    }

    #[test]
    fn a_check_that_is_carried_over_names_both_commits() {
        let commit = |digit: &str| digit.repeat(40).parse().unwrap();
        let (title, summary) = carried_check(&commit("a"), &commit("b"));
        assert_eq!(title, "Reviewed before");
        assert_eq!(
            summary,
            "`bbbbbbb` makes the same change as `aaaaaaa`, which the agents have approved. Nothing was reviewed again."
        );
    }

    #[test]
    fn a_call_names_the_acts_that_lead_on_from_its_reason() {
        let (why, asked_by) = (String::from("no."), String::from("quality"));
        let cases = [
            (
                CallReason::NothingFixed { why: why.clone() },
                "To go on: a review of this head, a push, the comment `@my-bot fix resume` or the command retry.",
            ),
            (
                CallReason::NoFixer { asked_by },
                "To go on: a push, or the comment `@my-bot review` once the findings are closed.",
            ),
            (
                CallReason::MergeRefused { why },
                "To go on: somebody to merge, a push, or the command retry.",
            ),
            (
                CallReason::Failed,
                "To go on: a push, or the command retry.",
            ),
            (
                CallReason::StillWaiting {
                    what: "somebody to merge".into(),
                },
                "To go on: somebody to merge.",
            ),
        ];
        for (reason, needed) in cases {
            let comment = told(&reason);
            assert!(
                comment.contains("@ada: a person is needed here."),
                "{comment}"
            );
            assert!(comment.contains(needed), "{comment}");
            let resumes = comment.contains("fix resume");
            let may = matches!(reason, CallReason::NothingFixed { .. });
            assert_eq!(resumes, may, "{comment}");
        }
    }
}
