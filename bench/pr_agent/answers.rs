//! What the scripted model says to PR-Agent: the findings of the example whose code it is shown, as YAML of the form that
//! the prompt asks for. Separate from how PR-Agent is started.

use super::super::findings::{Finding, INJECTION, LAYER, PAGE_COUNT};
use super::super::standin::model::{Answer, Request};
use regex::Regex;
use std::fmt::Write as _;

/// As many as PR-Agent asks for by default, the gravest first.
const FINDINGS: [Finding; 3] = [INJECTION, LAYER, PAGE_COUNT];

/// `None` where PR-Agent did not ask.
pub fn answer(request: &Request) -> Option<Answer> {
    let system = request.system();
    let (_, form) = system.split_once("equivalent to type $")?;
    let form = form.split(',').next()?;
    let diff = request.last_user();
    let seen = FINDINGS
        .iter()
        .filter_map(|finding| Seen::of(finding, &diff));
    let seen: Vec<Seen> = seen.collect();
    let text = match form {
        "PRReview" => review(&seen),
        "PRCodeSuggestions" => suggestions(&seen),
        "PRCodeSuggestionsFeedback" => feedback(&seen),
        _ => return None,
    };
    Some(Answer::text(&text))
}

/// A finding whose code stands in the diff.
struct Seen<'a> {
    finding: &'a Finding,
    /// Numbers are asked for only where lines have them.
    line: u32,
    code: String,
}

impl<'a> Seen<'a> {
    fn of(finding: &'a Finding, diff: &str) -> Option<Self> {
        let present = Regex::new(r"^(?:(\d+) )?[+ ](.*)$").ok()?;
        let mut lines = diff.lines().filter(|line| line.contains(finding.code));
        let parts = lines.find_map(|line| present.captures(line))?;
        let number = parts.get(1).and_then(|number| number.as_str().parse().ok());
        Some(Self {
            finding,
            line: number.unwrap_or(0),
            code: parts[2].trim().to_owned(),
        })
    }
}

fn review(seen: &[Seen]) -> String {
    let mut text = String::from(
        "review:\n  estimated_effort_to_review_[1-5]: 3\n  relevant_tests: |\n    No\n  key_issues_to_review:",
    );
    if seen.is_empty() {
        text.push_str(" []");
    }
    text.push('\n');
    for Seen { finding, line, .. } in seen {
        let _ = write!(
            text,
            "    - relevant_file: |\n        {}\n      issue_header: |\n        {}\n      issue_content: |\n        {}\n      \
             start_line: {line}\n      end_line: {line}\n",
            finding.file, finding.category, finding.claim,
        );
    }
    text.push_str("  security_concerns: |\n    No\n");
    text
}

fn suggestions(seen: &[Seen]) -> String {
    let mut text = String::from("code_suggestions:");
    if seen.is_empty() {
        text.push_str(" []");
    }
    text.push('\n');
    for Seen { finding, code, .. } in seen {
        let _ = write!(
            text,
            "- relevant_file: |\n    {}\n  language: |\n    typescript\n  existing_code: |\n    {}\n  suggestion_content: |\n    {}\n  \
             improved_code: |\n    {} // mended\n  one_sentence_summary: |\n    {}\n  label: |\n    {}\n",
            finding.file, code, finding.claim, code, finding.category, finding.category,
        );
    }
    text
}

fn feedback(seen: &[Seen]) -> String {
    let mut text = String::from("code_suggestions:\n");
    for Seen { finding, line, .. } in seen {
        let _ = write!(
            text,
            "- suggestion_summary: |\n    {}\n  relevant_file: \"{}\"\n  relevant_lines_start: {line}\n  relevant_lines_end: \
             {line}\n  suggestion_score: {}\n  why: |\n    {}\n",
            finding.category, finding.file, finding.score, finding.assessment,
        );
    }
    text
}
