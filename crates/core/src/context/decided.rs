//! The questions about code of the change that people decided in other pull requests, as the model reads them. Their words are an
//! earlier model's, which had read the text of others.

use crate::state::decided::DecidedHere;
use reviewer_text::fence::Fence;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;

/// The longest sentence that is shown.
const LONGEST: usize = 300;

/// The part of a prompt that tells of them; empty where there are none.
#[must_use]
pub(super) fn section(decided: &[DecidedHere], fence: &Fence) -> String {
    if decided.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = decided.iter().map(told).collect();
    format!(
        "## Decided in other pull requests\n\nPeople decided against these findings, and the code that they are about is the \
         same here. Leave them, unless this change makes one right.\n\n{}\n\n",
        fence.prose("decided", &lines.join("\n"))
    )
}

fn told(here: &DecidedHere) -> String {
    let decided = &here.decided;
    let line = here.line().map(|line| format!(":{line}"));
    format!(
        "{} {}{} ({}, {}): {}",
        decided.id,
        visible(&here.file),
        line.unwrap_or_default(),
        decided.decision,
        decided.since,
        short(&decided.assessment.finding)
    )
}

/// One line, and not a long one.
fn short(text: &str) -> String {
    let line = Prose::line(text);
    let end = line.floor_char_boundary(LONGEST.min(line.len()));
    line[..end].to_owned()
}
