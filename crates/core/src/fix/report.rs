//! The report of a fix: what a comment of the reviewer says about a cycle, for machines. Signed, because a forged one would grant
//! cycles or hide a revert. The structs are frozen: what is written today is read for years.

mod room;

use super::issue::Issue;
use super::outcome::Outcome;
use super::reverts::LineMarks;
use crate::domain::PrKey;
use crate::state::repeats::{Claim, Likeness, likeness};
use crate::state::signature::Keys;
use crate::state::signed_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The longest text of a finding that is kept: enough to know it again.
const MAX_WORDS: usize = 160;

/// The kind of the block, which keeps it apart from other signed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportKind {
    #[default]
    Fix,
}

/// The way in which a fix reached people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    Push,
    PullRequest,
    Patch,
}

/// The outcome of a finding, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptOutcome {
    Fixed,
    Rejected,
    Deferred,
}

/// A finding of a report, with what makes it known again in other words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptIssue {
    pub id: String,
    pub outcome: KeptOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Hash of the code that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub assessment: String,
    /// The lines that its edits added and removed, by which a revert is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<LineMarks>,
}

impl KeptIssue {
    #[must_use]
    pub fn new(issue: &Issue, outcome: KeptOutcome, marks: Vec<LineMarks>) -> Self {
        let words = |text: &str| match outcome {
            // Nothing is looked for again.
            KeptOutcome::Deferred => String::new(),
            KeptOutcome::Fixed | KeptOutcome::Rejected => clipped(text).to_owned(),
        };
        Self {
            id: issue.id.to_string(),
            outcome,
            file: issue.file.clone(),
            line: issue.line,
            anchor: issue.anchor_hash.clone(),
            finding: words(&issue.title),
            assessment: words(&issue.text),
            marks,
        }
    }

    /// True if an issue is this one: by its id, or by place and words.
    pub(super) fn is(&self, issue: &Issue) -> bool {
        self.id == issue.id.to_string() || self.is_like(issue)
    }

    /// True if an issue says the same about the same place, in whatever words.
    pub(super) fn is_like(&self, issue: &Issue) -> bool {
        if self.file != issue.file || self.finding.is_empty() {
            return false;
        }
        let kept = Claim {
            finding: &self.finding,
            assessment: &self.assessment,
            line: self.line,
            anchor_hash: self.anchor.as_deref(),
        };
        let raised = Claim {
            finding: clipped(&issue.title),
            assessment: clipped(&issue.text),
            line: issue.line,
            anchor_hash: issue.anchor_hash.as_deref(),
        };
        let same_code = self.anchor.is_some() && self.anchor == issue.anchor_hash;
        match likeness(&kept, &raised) {
            Likeness::NearCertain => true,
            Likeness::Possible => same_code,
            Likeness::Different => false,
        }
    }
}

fn clipped(text: &str) -> &str {
    clipped_to(text, MAX_WORDS)
}

fn clipped_to(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// An order of a person with write access.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Order {
    /// When it was given; RFC 3339, in UTC, as GitHub tells it.
    pub at: String,
    /// The comment that gave it.
    pub comment: u64,
    pub by: String,
}

/// A report on fixing: a cycle, or only what was noticed or ordered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FixReport {
    pub kind: ReportKind,
    /// When it was made; RFC 3339, in UTC.
    pub at: String,
    /// Counted from 1; 0 where no fix was tried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cycle: u32,
    /// `max_fix_cycles` then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The head before the fix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The commit that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// True if the head moved before the fix could be delivered, or could not be looked at: the cycle is not counted, and its
    /// command is not served.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
    /// The comment that asked for this cycle; none where it was due by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// The ids of all findings on the pull request then: any other one was raised later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<KeptIssue>,
    /// Commits of fixes that somebody reverted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverted_commits: Vec<String>,
    /// Findings whose fix somebody reverted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverted_findings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<Order>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumes: Vec<Order>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub human_review_required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated_at: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl From<&Outcome> for KeptOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Fixed { .. } => Self::Fixed,
            Outcome::Rejected { .. } => Self::Rejected,
            Outcome::Deferred { .. } | Outcome::Undone { .. } => Self::Deferred,
        }
    }
}

impl FixReport {
    /// True if it put a commit on the branch.
    #[must_use]
    pub fn was_pushed(&self) -> bool {
        self.commit.is_some() && self.delivery.unwrap_or(Delivery::Push) == Delivery::Push
    }

    /// True if the trailers of a commit name the findings that the report calls fixed, and no others: anybody can push a commit
    /// with such a line.
    #[must_use]
    pub fn is_of(&self, message: &str) -> bool {
        let fixed = self.outcomes.iter();
        let fixed = fixed.filter(|kept| kept.outcome == KeptOutcome::Fixed);
        names_all(message, fixed.map(|kept| kept.id.as_str()))
    }

    /// True if it is the report of a round: what the review of its head left open, and nothing that was done about it.
    pub(super) fn is_round(&self) -> bool {
        let orders = self.stops.len() + self.resumes.len();
        let reverted = self.reverted_commits.len() + self.reverted_findings.len();
        self.cycle == 0 && orders + reverted == 0 && !self.human_review_required
    }

    /// The outcomes of fixed findings that are on the branch.
    pub(super) fn fixed(&self) -> impl Iterator<Item = &KeptIssue> {
        let fixed = |kept: &&KeptIssue| kept.outcome == KeptOutcome::Fixed;
        let outcomes = self.was_pushed().then_some(&self.outcomes);
        outcomes.into_iter().flatten().filter(fixed)
    }
}

/// True if the trailers of a commit name these findings, and no others.
pub(super) fn names_all<'a>(message: &str, findings: impl Iterator<Item = &'a str>) -> bool {
    let lines = message.lines();
    let named = lines.filter_map(|line| line.strip_prefix("Review-Finding: "));
    let named: BTreeSet<&str> = named.collect();
    !named.is_empty() && named == findings.collect()
}

/// The name of the line in a comment.
const LINE: &str = "fix";

/// The report as a hidden line of a comment.
#[must_use]
pub fn render(report: &FixReport, pr: &PrKey, keys: &Keys) -> String {
    let report = serde_json::to_value(report).unwrap_or_default();
    signed_line::render(LINE, &report, pr, keys)
}

/// A comment without its block, and the block.
#[must_use]
pub fn split(body: &str) -> (&str, &str) {
    let open = format!("<!-- rmcoc:{LINE} ");
    body.split_at(body.rfind(&open).unwrap_or(body.len()))
}

/// The report in a comment, if it is one that the reviewer signed for this pull request.
#[must_use]
pub fn read(body: &str, pr: &PrKey, keys: &Keys) -> Option<FixReport> {
    let report = signed_line::read(LINE, body, pr, keys)?;
    serde_json::from_value(report).ok()
}

#[cfg(test)]
mod tests;
