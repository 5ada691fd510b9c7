//! The prompts of a fix session: the issues with their code, the review's summary, the rules, and what the change is meant to
//! do. A conversation of its own: it has seen no review.

use super::issue::{Issue, Source};
use crate::context::rules::RuleFile;
use crate::domain::CommitSha;
use reviewer_text::fence::Fence;
use reviewer_text::hidden::visible;
use reviewer_text::template::{self, TemplateError};
use std::fmt::Write as _;

const SYSTEM: &str = include_str!("../prompts/fix-system.md");
const FIX: &str = include_str!("../prompts/fix.md");
const VERIFY: &str = include_str!("../prompts/fix-verify.md");
const ANEW: &str = include_str!("../prompts/fix-anew.md");
const NUDGE: &str = include_str!("../prompts/nudge-other.md");

/// The largest prompt, in bytes.
const ROOM: usize = 120_000;
/// Kept free for the names of issues that do not fit, so many of them.
const FOR_NAMES: usize = 2_000;
const MOST_NAMED: usize = 50;
/// The largest part of it that rules, and texts of `.specify`, take each.
const MAX_RULES: usize = 24_000;
const MAX_SPECIFICATION: usize = 24_000;
const MAX_SUMMARY: usize = 8_000;
const MAX_BODY: usize = 4_000;
/// The largest text of one issue, and the largest code beside it.
const MAX_TEXT: usize = 6_000;
const MAX_CODE: usize = 4_000;
/// The largest text of all replies in one thread: anybody can write there, and none of it may crowd the issue out.
const MAX_REPLIES: usize = 8_000;

/// An issue with what is shown beside it.
#[derive(Debug, Clone)]
pub struct ShownIssue<'a> {
    pub issue: &'a Issue,
    /// The code that it is about, when it was raised and now.
    pub then: Option<String>,
    pub now: Option<String>,
    /// The replies in its thread, each with who wrote it.
    pub replies: Vec<(String, String)>,
}

/// The facts about the pull request when a fix begins.
#[derive(Debug, Clone, Copy)]
pub struct FixBrief<'a> {
    pub fence: &'a Fence,
    pub title: &'a str,
    pub body: &'a str,
    pub base_ref: &'a str,
    pub head: &'a CommitSha,
    /// The text of the review, and its address.
    pub summary: &'a str,
    pub review_url: &'a str,
    /// The heaviest and newest first.
    pub issues: &'a [ShownIssue<'a>],
    pub rules: &'a [RuleFile],
    /// The texts of `.specify` in the head: path and content.
    pub specification: &'a [(String, String)],
}

/// The system prompt of the fixer: no foreign byte in it.
pub fn system_prompt(fence: &Fence) -> Result<String, TemplateError> {
    template::render(SYSTEM, &[("nonce", fence.nonce())])
}

/// The prompt after a turn that left issues without a result. `reproach`: the fault of the turn, or nothing.
pub fn nudge(reproach: &str) -> Result<String, TemplateError> {
    template::render(NUDGE, &[("reproach", reproach)])
}

impl FixBrief<'_> {
    /// The prompt that begins the session, and the issues that did not fit into it.
    pub fn begin(&self) -> Result<(String, Vec<&Issue>), TemplateError> {
        let around = self.render("", "")?.len();
        let (mut shown, mut left_out) = (String::new(), Vec::new());
        for one in self.issues {
            let text = self.issue(one);
            if around + shown.len() + text.len() > ROOM - FOR_NAMES {
                left_out.push(one.issue);
            } else {
                let _ = writeln!(shown, "{text}\n");
            }
        }
        Ok((self.render(shown.trim_end(), &told(&left_out))?, left_out))
    }

    /// The same for a conversation that has lost everything. `state`: what was done so far.
    pub fn anew(&self, state: &str) -> Result<String, TemplateError> {
        let (task, _) = self.begin()?;
        let state = self.fence.code("state", state);
        template::render(ANEW, &[("task", &task), ("state", &state)])
    }

    /// The prompt after checks that fail because of the fix. `output`: what they printed.
    pub fn verify(&self, output: &str) -> Result<String, TemplateError> {
        let output = self.fence.code("output of the checks", output);
        template::render(VERIFY, &[("output", &output)])
    }

    fn render(&self, issues: &str, left_out: &str) -> Result<String, TemplateError> {
        let change = format!(
            "{}\n{}\nIt is to be merged into {}.",
            self.fence.prose("title", self.title),
            self.fence.prose("description", cut(self.body, MAX_BODY)),
            visible(self.base_ref)
        );
        let values = [
            ("head", self.head.short().to_owned()),
            ("change", change),
            ("summary", self.summary()),
            ("rules", self.rules()),
            ("specification", self.specification()),
            ("issues", issues.to_owned()),
            ("left_out", left_out.to_owned()),
        ];
        let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
        template::render(FIX, &values)
    }

    fn summary(&self) -> String {
        if self.summary.trim().is_empty() {
            return "The review has no text of its own; its comments are the issues below.".into();
        }
        let text = self
            .fence
            .prose("review", cut(self.summary.trim(), MAX_SUMMARY));
        match self.review_url {
            "" => text,
            url => format!("{text}\n{}", visible(url)),
        }
    }

    fn rules(&self) -> String {
        if self.rules.is_empty() {
            return "The base branch has no AGENTS.md that governs these files.".into();
        }
        let mut room = MAX_RULES;
        let mut texts = Vec::new();
        for rule in self.rules {
            let text = cut(&rule.text, room);
            room -= text.len();
            texts.push(self.fence.code(&format!("rules of {}", rule.path), text));
        }
        texts.join("\n")
    }

    fn specification(&self) -> String {
        if self.specification.is_empty() {
            return "The head has no `.specify` folder; title and description say what the change is for."
                .into();
        }
        let mut room = MAX_SPECIFICATION;
        let mut texts = Vec::new();
        for (path, text) in self.specification {
            let text = cut(text, room);
            room -= text.len();
            texts.push(self.fence.prose(path, text));
        }
        texts.join("\n")
    }

    fn issue(&self, shown: &ShownIssue<'_>) -> String {
        let issue = shown.issue;
        let optional = if issue.optional { ", optional" } else { "" };
        let by = match &issue.source {
            Source::Finding { .. } => "raised by the reviewer".to_owned(),
            Source::Person { author, created_at } => {
                format!("requested by {} at {created_at}", visible(author.as_str()))
            }
        };
        let place = match (&issue.file, issue.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, _) => "(no place)".to_owned(),
        };
        let said = if issue.text.trim_start().starts_with(&issue.title) {
            issue.text.clone()
        } else {
            format!("{}\n\n{}", issue.title, issue.text)
        };
        let mut parts = vec![
            format!(
                "## Issue {} ({}{optional}), {by}",
                issue.id,
                issue.priority.name()
            ),
            self.fence.code("place", &place),
            self.fence.prose("issue", cut(&said, MAX_TEXT)),
        ];
        if issue.file.is_some() {
            let code = |text: &Option<String>| match text {
                Some(text) => cut(text, MAX_CODE).to_owned(),
                None => "(not there)".to_owned(),
            };
            parts.push(self.fence.code("code then", &code(&shown.then)));
            parts.push(self.fence.code("code now", &code(&shown.now)));
        }
        parts.extend(self.replies(&shown.replies));
        parts.join("\n")
    }

    /// The replies of a thread, as many of the last ones as there is room for.
    fn replies(&self, replies: &[(String, String)]) -> Vec<String> {
        let (mut room, mut texts) = (MAX_REPLIES, Vec::new());
        for (who, text) in replies.iter().rev() {
            let what = format!("reply by {who}");
            let text = self.fence.prose(&what, cut(text, MAX_TEXT));
            if text.len() > room {
                break;
            }
            room -= text.len();
            texts.push(text);
        }
        let earlier = replies.len() - texts.len();
        if earlier > 0 {
            texts.push(format!("(Earlier replies that are left out: {earlier}.)"));
        }
        texts.reverse();
        texts
    }
}

/// The sentence about issues that did not fit.
fn told(left_out: &[&Issue]) -> String {
    let named: Vec<String> = left_out
        .iter()
        .take(MOST_NAMED)
        .map(|issue| issue.id.to_string())
        .collect();
    let more = match left_out.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match named.as_slice() {
        [] => String::new(),
        named => format!(
            "Left for a later fix, for lack of room here: {}{more}.\n\n",
            named.join(", ")
        ),
    }
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

#[cfg(test)]
mod tests;
