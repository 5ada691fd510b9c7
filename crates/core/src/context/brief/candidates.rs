//! Results of static analysis in a prompt: those on added lines, fenced as text of others, and the names of those that the last pass
//! has yet to judge. Without results, every prompt is as it would be without them.

use crate::domain::prefixed;
use crate::static_analysis::{Candidate, candidate_name};
use reviewer_text::fence::Fence;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use reviewer_text::template::{self, TemplateError};
use std::fmt::Write as _;

const CANDIDATES: &str = include_str!("../../prompts/candidates.md");
const LEFT: &str = include_str!("../../prompts/candidates-left.md");
/// The longest message and help that are shown.
const LONGEST_MESSAGE: usize = 600;
const LONGEST_HELP: usize = 200;

/// The part of the context that tells of them; empty where there are none.
pub(super) fn section(
    candidates: &[Candidate],
    fence: &Fence,
    prefix: &str,
) -> Result<String, TemplateError> {
    if candidates.is_empty() {
        return Ok(String::new());
    }
    let told = candidates.iter().enumerate();
    let told: Vec<String> = told.map(|(index, one)| told_as(index, one)).collect();
    let listed = fence.code("static analysis", &told.join("\n"));
    template::render(&prefixed(CANDIDATES, prefix), &[("candidates", &listed)])
}

/// The end of the last prompt, where some have no verdict yet.
pub fn left(names: &[String], prefix: &str) -> Result<String, TemplateError> {
    if names.is_empty() {
        return Ok(String::new());
    }
    let names = names.join(", ");
    template::render(&prefixed(LEFT, prefix), &[("names", &names)])
}

fn told_as(index: usize, candidate: &Candidate) -> String {
    let Candidate { rule, level, .. } = candidate;
    let id = match rule.rule.as_str() {
        "" => String::new(),
        id => format!(" rule {id}"),
    };
    let severity = candidate.severity.as_deref();
    let severity = severity.map(|severity| format!(", security severity {severity}"));
    let mut told = format!(
        "{} {}{id} at {} ({}{})",
        candidate_name(index),
        rule.tool,
        visible(&candidate.place()),
        level.as_str(),
        severity.unwrap_or_default()
    );
    for (text, most) in [
        (&candidate.message, LONGEST_MESSAGE),
        (&candidate.help, LONGEST_HELP),
    ] {
        let line = Prose::line(text);
        if !line.is_empty() {
            let _ = write!(told, "\n  {}", super::cut(&line, most));
        }
    }
    told
}
