//! The reviewer's check on a head: its titles, its page while no verdict is reached, and the turns that two runs take.

use super::passes::listed;
use crate::context::coverage::{self, Excuse};
use crate::domain::{PASSES, Tally, Verdict};
use crate::state::record::Record;
use reviewer_text::count::plural;

/// The check run's title: the verdict in a few words.
#[must_use]
pub fn title(verdict: Verdict, tally: &Tally) -> String {
    match verdict {
        Verdict::Clean => "Nothing to report".into(),
        Verdict::Findings => format!("{} open", plural(tally.open, "finding")),
        Verdict::Blocking => format!("{} open", plural(tally.blocking, "blocking finding")),
        Verdict::Incomplete => "The review is incomplete".into(),
        Verdict::Skipped => "Skipped".into(),
        Verdict::Error => "The review failed".into(),
    }
}

/// The title of a check that was computed anew from the record of a review, which counts no findings.
#[must_use]
pub fn title_of(record: &Record) -> String {
    match record.verdict.as_str() {
        "clean" => title(Verdict::Clean, &Tally::default()),
        "findings" => "Findings open".into(),
        "blocking" => "Blocking findings open".into(),
        _ => title(Verdict::Incomplete, &Tally::default()),
    }
}

/// The title of a check that a person turned green.
#[must_use]
pub fn accepted(by: &str, undone: &[String]) -> String {
    format!("Accepted by {by}: {}", undone.join("; "))
}

/// The title of a check for a change of which nothing has to be shown to the model.
#[must_use]
pub fn nothing_to_review(excused: impl IntoIterator<Item = Excuse>) -> String {
    format!("Nothing to review: {}", coverage::counted(excused))
}

/// The same for a working tree, of which some files may be of a kind that nobody can show.
#[must_use]
pub fn nothing_to_show(excused: impl IntoIterator<Item = Excuse>, unreadable: &[String]) -> String {
    match unreadable {
        [] => format!("{}.", nothing_to_review(excused)),
        files => format!(
            "Nothing that can be shown has changed, and these files need a look: {}.",
            files.join(", ")
        ),
    }
}

/// Title and summary of a check whose review is under way.
#[must_use]
pub fn in_progress() -> (&'static str, String) {
    ("Review in progress", listed(PASSES))
}

/// Title and summary of a check whose run was ended by a signal.
#[must_use]
pub fn cancelled() -> (&'static str, &'static str) {
    (
        "Cancelled",
        "The run was cancelled before the review was complete; the next run reviews this head.",
    )
}

/// Title and summary of a check that its run has left in progress.
#[must_use]
pub fn abandoned() -> (&'static str, &'static str) {
    (
        "Abandoned",
        "The run that opened this check has ended without concluding it; a later one has taken its place.",
    )
}

/// Two runs on one head take turns.
#[must_use]
pub fn waiting_for(check: u64) -> String {
    format!("Another run reviews this head (check run {check}); waiting for it.")
}

#[must_use]
pub fn waited_in_vain(check: u64) -> String {
    format!(
        "Another run (check run {check}) still reviews this head; run this job again when it has ended."
    )
}
