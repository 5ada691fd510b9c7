//! The step summary and the check run's page: the verdict first, then what supports it.

use super::document::{FindingReport, Report};
use crate::publish::comment::plural;
use std::fmt::Write as _;

/// Who reads it. The step's page is for those who run the reviewer, the check's for everybody on the pull
/// request, where what was not said stays unsaid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Step,
    Check,
}

/// The report as Markdown.
#[must_use]
pub fn markdown(report: &Report, page: Page) -> String {
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
    unsaid(&mut out, report, page);
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", inline(warning));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{}\n", inline(note));
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

fn unsaid(out: &mut String, report: &Report, page: Page) {
    let unsaid: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "suppressed" | "withdrawn" | "combined"))
        .collect();
    if unsaid.is_empty() {
        return;
    }
    if page == Page::Check {
        let count = unsaid.len();
        let _ = writeln!(
            out,
            "Deliberately not said: {count}; the summary of the job lists them.\n"
        );
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
    use crate::report::document::{PassReport, ThreadReport};

    #[test]
    fn thousands_are_grouped() {
        let seen = [0, 12, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(seen, ["0", "12", "999", "1,000", "1,234,567"]);
    }

    fn finding(score: u8, fate: &'static str, reason: Option<&str>) -> FindingReport {
        FindingReport {
            id: format!("f{score}"),
            file: "src/page.ts".into(),
            line: Some(8),
            place: "src/page.ts:8".into(),
            score,
            category: None,
            pass: 1,
            finding: format!("Finding of {score}."),
            assessment: String::new(),
            body: String::new(),
            fate,
            reason: reason.map(str::to_owned),
            url: (fate == "published").then(|| format!("https://example.test/{score}")),
        }
    }

    #[test]
    fn the_summary_as_people_read_it() {
        let pass = |number, finished| PassReport {
            number,
            title: "Atomic diff review".into(),
            finished,
            summary: "Two findings.".into(),
            tool_calls: 3,
            tokens: 18_070,
            cost_usd: 0.0312,
        };
        let report = Report {
            version: 1,
            pull_request: "octo/shop#1".into(),
            head: "b0d63d1e3554f51be51c63421a254d61288447e6".into(),
            merge_base: String::new(),
            verdict: "blocking".into(),
            reasons: vec!["Pass 2 of 4 was never submitted by the model.".into()],
            open_issues: 3,
            blocking_issues: 1,
            model: "anthropic/claude".into(),
            tokens: 36_140,
            cost_usd: 0.0624,
            sensitivity: "high".into(),
            sensitivity_evidence: vec!["\"payments\" in README.md".into()],
            passes: vec![pass(1, true), pass(2, false)],
            findings: vec![
                finding(7, "published", None),
                finding(9, "published", None),
                finding(6, "unpublished", None),
                finding(2, "suppressed", Some("score 2 is below the threshold of 5")),
                finding(8, "withdrawn", Some("A guard handles it.")),
            ],
            threads: vec![ThreadReport {
                id: "55".into(),
                file: "src/a|b.ts".into(),
                line: None,
                status: "DISPUTED".into(),
                score: 6,
                finding: "An older one.".into(),
                url: "https://example.test/55".into(),
            }],
            left_out: vec![],
            warnings: vec!["Comments are not signed.".into()],
            notes: vec![],
            review_url: None,
        };
        insta::assert_snapshot!("summary", markdown(&report, Page::Step));
        let check = markdown(&report, Page::Check);
        assert!(
            check.contains("Deliberately not said: 2;") && !check.contains("A guard handles it"),
            "{check}"
        );
    }

    #[test]
    fn a_model_s_words_cannot_break_the_table() {
        assert_eq!(cell("a | b\n<img src=x>"), "a \\| b &lt;img src=x&gt;");
    }
}
