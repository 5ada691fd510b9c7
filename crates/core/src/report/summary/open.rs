//! The table of open findings, of this run and of those before.

use super::words::cell;
use crate::domain::Score;
use crate::publish::comment;
use crate::report::document::Report;
use crate::report::findings::{FindingReport, ThreadReport};
use std::fmt::Write as _;

pub(super) fn open(out: &mut String, report: &Report) {
    let rows = rows(report);
    if rows.is_empty() {
        return;
    }
    out.push_str("| Score | Where | Finding | Since |\n| ---: | --- | --- | --- |\n");
    for row in rows {
        let _ = writeln!(
            out,
            "| {}&nbsp;{} | {} | {} | {} |",
            dot(report, row.score),
            row.score,
            row.place,
            row.finding,
            row.since
        );
    }
    out.push('\n');
}

/// The dot of the gravest finding.
pub(super) fn gravest(report: &Report) -> &'static str {
    let rows = rows(report);
    rows.first().map_or("🟡", |row| dot(report, row.score))
}

fn dot(report: &Report, score: u8) -> &'static str {
    let score = Score::new(u64::from(score));
    score.map_or("", |score| comment::dot(score, report.blocking_from))
}

/// An open finding, of this run or of one before.
struct Row {
    score: u8,
    place: String,
    finding: String,
    since: String,
}

impl From<&FindingReport> for Row {
    fn from(finding: &FindingReport) -> Self {
        let place = cell(&finding.place);
        Self {
            score: finding.score,
            place: match (&finding.url, finding.fate) {
                (Some(url), _) => format!("[{place}]({url})"),
                (None, "reported") => place,
                (None, _) => format!("{place} (not published)"),
            },
            finding: cell(&finding.finding),
            since: "this&nbsp;run".into(),
        }
    }
}

impl From<&ThreadReport> for Row {
    fn from(thread: &ThreadReport) -> Self {
        let since = thread.since.as_ref().map(|head| format!("`{head}`, "));
        Self {
            score: thread.score,
            place: format!("[{}]({})", cell(&thread.place()), thread.url),
            finding: cell(&thread.finding),
            since: format!("{}{}", since.unwrap_or_default(), thread.status),
        }
    }
}

/// The open findings, the gravest first.
fn rows(report: &Report) -> Vec<Row> {
    let findings = report.findings.iter();
    let new = findings.filter(|one| matches!(one.fate, "published" | "reported" | "unpublished"));
    let new = new.map(Row::from);
    let mut rows: Vec<Row> = new.chain(report.threads.iter().map(Row::from)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.score));
    rows
}
