//! The service's own comments: a call for people.

use crate::domain::Login;
use crate::lifecycle::CallReason;
use reviewer_text::sentence::cell;

/// The mark by which the call of an effect is found again.
#[must_use]
pub fn call_marker(effect: &str) -> String {
    format!("<!-- rmcoc:call {effect} -->")
}

/// The longest reason, in characters.
const MOST_REASON: usize = 500;

/// A comment that people are needed, and who.
#[must_use]
pub fn call(marker: &str, reason: &CallReason, logins: &[Login]) -> String {
    let names: Vec<String> = logins.iter().map(|login| format!("@{login}")).collect();
    let asked = if names.is_empty() {
        "A person is needed here.".to_owned()
    } else {
        format!("{}: a person is needed here.", names.join(", "))
    };
    // Words of others may stand in it.
    let reason = cell(&reason.sentence(), MOST_REASON);
    format!(
        "### Waiting for a person\n\n{asked} {reason}\n\nA review of this commit, a push, or the comment `fix resume` goes on.\n\n{marker}"
    )
}
