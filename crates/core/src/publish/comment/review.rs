//! The body of a review: how many findings there are and how many block, a table of them, the ones that have no place in the
//! diff, and one line about the run.

use super::finding::{blocks, dot};
use super::judgement::Judged;
use super::{MAX_BODY, Voice, cut};
use crate::domain::{Anchor, Finding, Side};
use crate::state::block::{Hidden, Kind, Listed, Unanchored};
use reviewer_text::count::{dollars, duration, plural};
use reviewer_text::sentence::{cell, code, sentence};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The figures of a run that its review names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures<'a> {
    pub files: usize,
    pub model: &'a str,
    /// The words about other models that went on in its place.
    pub fallback: Option<&'a str>,
    /// `None` where nobody knows the prices.
    pub cost_usd: Option<f64>,
    pub seconds: u64,
    /// The page of the check, or of the workflow run.
    pub details: Option<&'a str>,
}

/// The most that the table may take of the body, and the longest cell.
const MAX_TABLE: usize = 20_000;
const LONGEST_CELL: usize = 200;
const LONGEST_LINK: usize = 600;
/// The length of an empty line between paragraphs.
const BREAK: usize = 2;

const PARTIAL: &str =
    "The review was not completed; these come from the passes that were finished.";

impl Voice<'_> {
    /// The body of the review, with the manifest for machines at its end.
    #[must_use]
    pub fn review(
        &self,
        findings: &[&Finding],
        unanchored_findings: &[&Finding],
        partial: bool,
        record: Option<Value>,
        figures: &Figures<'_>,
        judged: &Judged<'_>,
    ) -> String {
        let listed = |finding: &&Finding| Listed {
            id: finding.id.to_string(),
            score: finding.assessment.score.get(),
        };
        let hidden = Hidden {
            run: Some(self.run.to_owned()),
            head: Some(self.head.to_string()),
            findings: findings.iter().map(listed).collect(),
            unanchored: unanchored_findings
                .iter()
                .map(|one| unanchored(one))
                .collect(),
            event: judged.name(),
            record,
            ..Hidden::new(Kind::Manifest)
        };
        let manifest = self.manifest(hidden, judged.stated);
        let mut text = self.title(findings);
        if partial {
            let _ = write!(text, "\n\n{PARTIAL}");
        }
        if let Some(stated) = judged.stated {
            let _ = write!(text, "\n\n{}", stated.words());
        }
        if let Some(words) = judged.words() {
            let _ = write!(text, "\n\n{words}");
        }
        let end = format!("{}\n\n{manifest}", self.colophon(figures));
        let table = self.table(findings);
        // Each finding has a comment of its own, or stands below in full.
        if text.len() + table.len() + end.len() <= MAX_BODY {
            let _ = write!(text, "\n\n{table}");
        }
        let room = MAX_BODY.saturating_sub(text.len() + end.len());
        let told = unanchored_findings.iter().map(|finding| {
            let place = format!(" · {}", code(&finding.place()));
            self.told(finding, &place)
        });
        for finding in within(told.collect(), room) {
            let _ = write!(text, "\n\n{finding}");
        }
        format!("{text}\n\n{end}")
    }

    fn title(&self, findings: &[&Finding]) -> String {
        let scores = findings.iter().map(|finding| finding.assessment.score);
        let blocking = scores.filter(|score| blocks(*score, self.blocking)).count();
        let count = plural(findings.len(), "finding");
        match (findings.len(), blocking) {
            (_, 0) => format!("### {count}"),
            (1, _) => format!("### {count}: it blocks the merge"),
            (_, 1) => format!("### {count}: 1 blocks the merge"),
            (_, many) => format!("### {count}: {many} block the merge"),
        }
    }

    /// A row for each finding, the gravest first.
    fn table(&self, findings: &[&Finding]) -> String {
        let mut sorted = findings.to_vec();
        sorted.sort_by_key(|finding| std::cmp::Reverse(finding.assessment.score));
        let mut table = String::from("| | Where | Finding |\n| --- | --- | --- |");
        for (index, finding) in sorted.iter().enumerate() {
            let score = finding.assessment.score;
            let row = format!(
                "\n| {}&nbsp;{score} | {} | {} |",
                dot(score, self.blocking),
                self.link(finding),
                cell(&finding.assessment.finding, LONGEST_CELL)
            );
            if table.len() + row.len() > MAX_TABLE {
                let _ = write!(table, "\n| | | and {} more |", sorted.len() - index);
                break;
            }
            table.push_str(&row);
        }
        table
    }

    /// The place of a finding, as a link to it.
    fn link(&self, finding: &Finding) -> String {
        let place = cell(&finding.place(), LONGEST_CELL);
        match self.address(finding) {
            Some(url) if url.len() <= LONGEST_LINK => format!("[{place}]({url})"),
            _ => place,
        }
    }

    /// A line of the head is shown in the file, what the head does not have in the diff.
    fn address(&self, finding: &Finding) -> Option<String> {
        let repository = self.page.rsplit_once("/pull/")?.0;
        let (head, path) = (self.head, encoded(&finding.file));
        Some(match finding.anchor {
            Anchor::Line {
                side: Side::Right,
                start,
                line,
            } => {
                let start = start.map(|start| format!("L{start}-")).unwrap_or_default();
                format!("{repository}/blob/{head}/{path}#{start}L{line}")
            }
            Anchor::Line { line, .. } => format!("{}L{line}", self.in_diff(&finding.file)),
            Anchor::File => self.in_diff(&finding.file),
        })
    }

    /// GitHub names a file of the diff by a hash of its path.
    fn in_diff(&self, file: &str) -> String {
        let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(file));
        format!("{}/files#diff-{hash}", self.page)
    }

    /// One small line about the run.
    fn colophon(&self, figures: &Figures<'_>) -> String {
        let mut parts = vec![
            code(self.head.short()),
            plural(figures.files, "file"),
            sentence(figures.model),
        ];
        parts.extend(figures.fallback.map(str::to_owned));
        let cost = figures.cost_usd;
        parts.push(cost.map_or_else(|| "cost unknown".into(), dollars));
        parts.push(duration(figures.seconds));
        parts.extend(figures.details.map(|url| format!("[details]({url})")));
        parts.push(code(&format!("{} help", self.mention)));
        format!("<sub>{}</sub>", parts.join(" · "))
    }
}

/// Findings cut so that all of them have room: the short ones stay whole, the long ones share what is left.
fn within(mut findings: Vec<String>, room: usize) -> Vec<String> {
    let mut shortest_first: Vec<usize> = (0..findings.len()).collect();
    shortest_first.sort_by_key(|&at| findings[at].len());
    let mut left = room;
    for (done, at) in shortest_first.into_iter().enumerate() {
        let share = left / (findings.len() - done);
        let kept = cut(findings[at].trim_end(), share.saturating_sub(BREAK));
        left = left.saturating_sub(kept.len() + BREAK);
        findings[at] = kept;
    }
    findings
}

/// A path inside an address.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A finding that the text of a review holds, for the runs that must not say it again.
fn unanchored(finding: &Finding) -> Unanchored {
    Unanchored {
        id: finding.id.to_string(),
        file: finding.file.clone(),
        line: finding.line(),
        finding: finding.assessment.finding.clone(),
    }
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
