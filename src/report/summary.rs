//! The step summary and the check run's page: the verdict first, then what supports it.

use super::document::{FindingReport, Report};
use crate::publish::comment::plural;
use std::fmt::Write as _;

/// The report as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "## {}\n", headline(report));
    for reason in &report.reasons {
        let _ = writeln!(out, "- {}", inline(reason));
    }
    if !report.reasons.is_empty() {
        out.push('\n');
    }
    said(&mut out, report);
    open_before(&mut out, report);
    passes(&mut out, report);
    unsaid(&mut out, report);
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", inline(warning));
    }
    footer(&mut out, report);
    out
}

fn headline(report: &Report) -> String {
    let head = report.head.get(..7).unwrap_or_default();
    let words = match report.verdict.as_str() {
        "clean" => "Nothing to report".into(),
        "findings" => format!("{} open", plural(report.open_issues, "finding")),
        "blocking" => format!(
            "{} open, {} of them blocking",
            plural(report.open_issues, "finding"),
            report.blocking_issues
        ),
        "incomplete" => "The review is incomplete".into(),
        other => other.to_owned(),
    };
    format!("OpenCode review of {head}: {words}")
}

fn said(out: &mut String, report: &Report) {
    let mut found: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "published" | "unpublished"))
        .collect();
    if found.is_empty() {
        return;
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.score));
    out.push_str("### Findings\n\n| Score | Where | What |\n| ---: | --- | --- |\n");
    for finding in found {
        let place = match &finding.url {
            Some(url) => format!("[{}]({url})", cell(&finding.place)),
            None => format!("{} (not published)", cell(&finding.place)),
        };
        let _ = writeln!(
            out,
            "| {} | {place} | {} |",
            finding.score,
            cell(&finding.finding)
        );
    }
    out.push('\n');
}

fn open_before(out: &mut String, report: &Report) {
    if report.threads.is_empty() {
        return;
    }
    out.push_str("### Open from earlier reviews\n\n| Score | Status | Where | What |\n| ---: | --- | --- | --- |\n");
    for thread in &report.threads {
        let line = thread
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | [{}{line}]({}) | {} |",
            thread.score,
            thread.status,
            cell(&thread.file),
            thread.url,
            cell(&thread.finding)
        );
    }
    out.push('\n');
}

fn passes(out: &mut String, report: &Report) {
    if report.passes.is_empty() {
        return;
    }
    out.push_str("### Passes\n\n| Pass | Tool calls | Tokens | Cost | Summary |\n| --- | ---: | ---: | ---: | --- |\n");
    for pass in &report.passes {
        let summary = if pass.finished {
            cell(&pass.summary)
        } else {
            "**not finished**".into()
        };
        let _ = writeln!(
            out,
            "| {} · {} | {} | {} | ${:.4} | {summary} |",
            pass.number,
            pass.title,
            pass.tool_calls,
            grouped(pass.tokens),
            pass.cost_usd
        );
    }
    out.push('\n');
}

fn unsaid(out: &mut String, report: &Report) {
    let unsaid: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "suppressed" | "withdrawn" | "combined"))
        .collect();
    if unsaid.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Deliberately not said: {}</summary>\n\n| Score | Where | What | Why not |\n| ---: | --- | --- | --- |",
        unsaid.len()
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

fn footer(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "{} · {} tokens · ${:.4} · sensitivity {}{}",
        inline(&report.model),
        grouped(report.tokens),
        report.cost_usd,
        report.sensitivity,
        match report.sensitivity_evidence.as_slice() {
            [] => String::new(),
            evidence => format!(" ({})", inline(&evidence.join(", "))),
        }
    );
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Text of others on one line, without markup of its own.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn cell(text: &str) -> String {
    inline(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let seen = [0, 12, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(seen, ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_model_s_words_cannot_break_the_table() {
        assert_eq!(cell("a | b\n<img src=x>"), "a \\| b &lt;img src=x&gt;");
    }
}
