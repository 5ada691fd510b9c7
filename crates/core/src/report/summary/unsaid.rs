//! The circumstances besides the verdict: findings that were not posted, files that the model did not see, text that may be meant
//! for it, and what the sandbox lacks.

use super::Page;
use super::words::{cell, inline, name};
use crate::report::document::Report;
use crate::report::findings::FindingReport;
use crate::report::terminal::is_unsaid;
use reviewer_text::count::{grouped, plural};
use std::fmt::Write as _;

pub(super) fn unsaid(out: &mut String, report: &Report, page: Page) {
    let unsaid: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|one| is_unsaid(one))
        .collect();
    if unsaid.is_empty() {
        return;
    }
    let all_small = unsaid.iter().all(|one| one.fate == "suppressed");
    let what = if all_small {
        "below the threshold"
    } else {
        "not posted"
    };
    let remarks = format!("{} {what}", plural(unsaid.len(), "remark"));
    if page == Page::Check {
        let _ = writeln!(out, "{remarks}: the summary of the job has the list.\n");
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>{remarks}</summary>\n\n| Score | Where | Finding | Why not |\n| ---: | --- | --- | --- |"
    );
    for finding in unsaid {
        let reason = finding.reason.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {}: {} |",
            finding.score,
            cell(&finding.place),
            cell(&finding.finding),
            finding.fate,
            cell(reason)
        );
    }
    out.push_str("\n</details>\n\n");
}

/// Writes the files of the repository that the model did not see.
pub(super) fn not_read(out: &mut String, report: &Report) {
    if !report.masked.is_empty() {
        let names = names(&report.masked, report.masked.len());
        let _ = writeln!(out, "Shown to the model with values masked: {names}.\n");
    }
    let count = report.left_out_unchanged.iter().map(|files| files.count);
    let count = count.sum();
    if count == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Not in the snapshot: {}</summary>\n",
        plural(count, "unchanged file")
    );
    for files in &report.left_out_unchanged {
        let names = names(&files.first, files.count);
        let _ = writeln!(out, "- {}: {names}", inline(&files.reason));
    }
    out.push_str("\n</details>\n\n");
}

/// The number of file names that a line holds.
const NAMES_SHOWN: usize = 10;

fn names(first: &[String], count: usize) -> String {
    let shown: Vec<String> = first
        .iter()
        .take(NAMES_SHOWN)
        .map(|one| name(one))
        .collect();
    match count - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), grouped(more as u64)),
    }
}

/// For those who run the reviewer: on the pull request it would only tell an attacker what was noticed.
pub(super) fn suspicions(out: &mut String, report: &Report) {
    if report.suspicions.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Text that may be meant for the model</summary>\n\nIt was shown as data and changes nothing.\n"
    );
    for suspicion in &report.suspicions {
        let _ = writeln!(out, "- {}", inline(&suspicion.words));
    }
    out.push_str("\n</details>\n\n");
}

/// For those who run the reviewer: it is their kernel.
pub(super) fn sandbox(out: &mut String, report: &Report) {
    let missing = report.sandbox.as_ref().map(|sandbox| &sandbox.missing);
    let Some(missing) = missing.filter(|missing| !missing.is_empty()) else {
        return;
    };
    let _ = writeln!(
        out,
        "> ⚠️ The sandbox lacks {}.\n",
        inline(&missing.join("; "))
    );
}
