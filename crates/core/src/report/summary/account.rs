//! The facts that the verdict rests on: passes, costs, what was excused, the model.

use super::words::{cell, inline, name};
use crate::report::document::Report;
use crate::report::reviewers;
use reviewer_text::count::{duration, grouped, plural, tokens};
use std::fmt::Write as _;

/// Writes the facts that the verdict rests on, folded: passes, costs, what was excused, the model.
pub(super) fn how(out: &mut String, report: &Report) {
    let mut parts = vec![plural(report.files, "file")];
    if !report.sections.is_empty() {
        parts.push(plural(report.sections.len(), "section"));
    }
    if !report.passes.is_empty() {
        let count = report.pass_count();
        let noun = if count == 1 { "pass" } else { "passes" };
        parts.push(format!("{count} {noun}"));
        parts.push(tokens(report.tokens, report.tokens_estimated));
        parts.push(report.cost(report.cost_usd));
        parts.push(duration(report.seconds()));
    }
    let _ = writeln!(
        out,
        "<details><summary>How it was reviewed: {}</summary>\n",
        parts.join(", ")
    );
    reviewers::markdown(out, report);
    sections(out, report);
    passes(out, report);
    ledger(out, report);
    excused(out, report);
    footer(out, report);
    out.push_str("\n</details>\n\n");
}

/// Writes the coverage of each section of a large change.
fn sections(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        return;
    }
    out.push_str("| Section | Files | Lines | Passes | Tokens | Cost | Time |\n| ---: | ---: | ---: | --- | ---: | ---: | ---: |\n");
    for section in &report.sections {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            section.section,
            grouped(section.files as u64),
            grouped(section.lines as u64),
            section.submitted(),
            counted(report, section.tokens),
            report.cost(section.cost_usd),
            duration(section.seconds)
        );
    }
    out.push('\n');
}

/// The number of passes that the table names of a change in sections; the report has them all.
const PASSES_SHOWN: usize = 40;

fn passes(out: &mut String, report: &Report) {
    if report.passes.is_empty() {
        return;
    }
    out.push_str("| Pass | Tool calls | Tokens | Cost | Time | Summary |\n| --- | ---: | ---: | ---: | ---: | --- |\n");
    let most = if report.sections.is_empty() {
        report.passes.len()
    } else {
        PASSES_SHOWN
    };
    for pass in report.passes.iter().take(most) {
        let summary = if pass.finished {
            cell(&pass.summary)
        } else {
            "**not finished**".into()
        };
        let _ = writeln!(
            out,
            "| {}{}{} · {} | {} | {} | {} | {} | {summary} |",
            pass.section
                .map_or_else(String::new, |number| format!("section {number}, ")),
            pass.reviewer
                .as_deref()
                .map_or_else(String::new, |name| format!("{name}, ")),
            pass.number,
            pass.title,
            pass.tool_calls,
            counted(report, pass.tokens),
            report.cost(pass.cost_usd),
            duration(pass.seconds)
        );
    }
    out.push('\n');
    let more = report.passes.len().saturating_sub(most);
    if more > 0 {
        let more = plural(more, "more turn");
        let _ = writeln!(out, "And {more}, listed in the report.\n");
    }
}

/// The number of runs that the table names; the report has them all.
const RUNS_SHOWN: usize = 10;

/// Writes the cost of the pull request. One run alone is the last line of the page.
fn ledger(out: &mut String, report: &Report) {
    let ledger = &report.ledger;
    if ledger.runs.len() < 2 {
        return;
    }
    out.push_str(
        "What the pull request has cost:\n\n| Run | Tokens | Cost |\n| --- | ---: | ---: |\n",
    );
    let earlier = ledger.runs.len().saturating_sub(RUNS_SHOWN);
    for run in &ledger.runs[earlier..] {
        let tokens = counted(report, run.tokens);
        let cost = report.cost(run.cost_usd);
        let _ = writeln!(out, "| {} | {tokens} | {cost} |", run.day);
    }
    let tokens = counted(report, ledger.tokens);
    let cost = report.cost(ledger.cost_usd);
    let _ = writeln!(out, "| all | {tokens} | {cost} |\n");
}

/// The number of excused files that a page names; the report has them all.
const EXCUSED_SHOWN: usize = 50;

/// Writes the files that count as reviewed although the model did not have to see them.
fn excused(out: &mut String, report: &Report) {
    if report.excused.is_empty() {
        return;
    }
    let shown = report.excused.iter().take(EXCUSED_SHOWN);
    let shown: Vec<String> = shown
        .map(|file| format!("{} ({})", name(&file.path), file.reason))
        .collect();
    let more = match report.excused.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    let _ = writeln!(out, "Excused from review: {}{more}.\n", shown.join(", "));
}

fn footer(out: &mut String, report: &Report) {
    let evidence = match report.sensitivity_evidence.as_slice() {
        [] => String::new(),
        evidence => format!(" ({})", inline(&evidence.join(", "))),
    };
    let (model, sensitivity) = (inline(&report.model), &report.sensitivity);
    let _ = writeln!(out, "{model} · sensitivity {sensitivity}{evidence}");
}

/// A number of tokens in a table.
fn counted(report: &Report, tokens: u64) -> String {
    let about = if report.tokens_estimated {
        "about "
    } else {
        ""
    };
    format!("{about}{}", grouped(tokens))
}
