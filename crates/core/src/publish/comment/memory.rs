//! The sentences about what people decided in other pull requests.

use reviewer_text::count::plural;

/// The model was told of decided questions, of these pull requests.
#[must_use]
pub fn told(count: usize, pulls: &[u64]) -> String {
    let pulls: Vec<String> = pulls.iter().map(|number| format!("#{number}")).collect();
    format!(
        "The model was told of {} of {}, about code that is the same here.",
        plural(count, "decided question"),
        pulls.join(", ")
    )
}

/// Nothing is remembered, because nobody can tell what the reviewer signed.
#[must_use]
pub fn unsigned() -> &'static str {
    "What people decided in other pull requests was not read: without a key nobody can tell which findings are the reviewer's. \
     Give opencode_api_key or state_key at least 20 characters."
}

/// The closed pull requests could not be read in time, or at all.
#[must_use]
pub fn unread(why: &str) -> String {
    format!("What people decided in other pull requests is not known in this review. {why}")
}

/// GitHub took too long.
#[must_use]
pub fn too_slow(seconds: u64) -> String {
    unread(&format!("GitHub did not tell it within {seconds} seconds."))
}

/// A finding that blocks, or is about security, was not made again.
#[must_use]
pub fn serious_left(place: &str, score: u8, finding: &str, pull: u64) -> String {
    format!(
        "Not made again at {place} (score {score}), because people decided against it in #{pull}: {finding}"
    )
}
