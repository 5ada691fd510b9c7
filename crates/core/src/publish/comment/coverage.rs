//! The part of a change, and of its threads, that a run has looked at.

use crate::context::since::Since;
use reviewer_text::count::plural;

/// Says that only the changes since an earlier head were reviewed.
#[must_use]
pub fn only_what_is_new(since: &Since) -> String {
    let (new, known) = since.counts();
    let others = match known {
        1 => "1 other was reviewed before and is the same".to_owned(),
        known => format!("{known} others were reviewed before and are the same"),
    };
    format!(
        "Only changes since {} were reviewed, in {}; {others}.",
        since.head.short(),
        plural(new, "file"),
    )
}

/// A run judges so many threads, and no more.
#[must_use]
pub fn left_for_later(threads: usize) -> String {
    let threads = plural(threads, "more open thread");
    format!("The next run judges {threads}: one run does not judge them all.")
}

#[must_use]
pub fn not_shown(file: &str) -> String {
    format!("Not shown to the model: {file}.")
}

/// The reason of a verdict that rests on an earlier review.
#[must_use]
pub fn reviewed_before() -> &'static str {
    "This change was reviewed before; the verdict follows from its threads as they are now."
}
