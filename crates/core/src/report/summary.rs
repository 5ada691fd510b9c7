//! The step summary and the check run's page: the verdict first, then what supports it.

use super::document::{FindingReport, Report};
use reviewer_text::count::{grouped, plural, tokens};
use reviewer_text::hidden::is_line_break;
use reviewer_text::sanitize::clean;
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
    ledger(&mut out, report);
    unsaid(&mut out, report, page);
    excused(&mut out, report);
    if page == Page::Step {
        not_read(&mut out, report);
        suspicions(&mut out, report);
        sandbox(&mut out, report);
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", inline(warning));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{}\n", inline(note));
    }
    footer(&mut out, report);
    out
}

/// For those who run the reviewer: it is their kernel.
fn sandbox(out: &mut String, report: &Report) {
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

fn headline(report: &Report) -> String {
    let what = match &report.pull_request {
        Some(_) => report.head.get(..7).unwrap_or_default(),
        None => "the working tree",
    };
    let words = match report.verdict.as_str() {
        "clean" => "Nothing to report".into(),
        "findings" => format!("{} open", plural(report.open_issues, "finding")),
        "blocking" if report.blocking_issues == 0 => {
            "Held back by another pull request of the same head".into()
        }
        "blocking" => format!(
            "{} open, {} of them blocking",
            plural(report.open_issues, "finding"),
            report.blocking_issues
        ),
        "incomplete" => "The review is incomplete".into(),
        other => other.to_owned(),
    };
    format!("OpenCode review of {what}: {words}")
}

fn said(out: &mut String, report: &Report) {
    let mut found: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "published" | "reported" | "unpublished"))
        .collect();
    if found.is_empty() {
        return;
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.score));
    out.push_str("### Findings\n\n| Score | Where | What |\n| ---: | --- | --- |\n");
    for finding in found {
        let place = match (&finding.url, finding.fate) {
            (Some(url), _) => format!("[{}]({url})", cell(&finding.place)),
            (None, "reported") => cell(&finding.place),
            (None, _) => format!("{} (not published)", cell(&finding.place)),
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
    out.push_str("### Passes\n\n| Pass | Tool calls | Tokens | Cost | Time | Summary |\n| --- | ---: | ---: | ---: | ---: | --- |\n");
    for pass in &report.passes {
        let summary = if pass.finished {
            cell(&pass.summary)
        } else {
            "**not finished**".into()
        };
        let _ = writeln!(
            out,
            "| {} · {} | {} | {} | ${:.4} | {} | {summary} |",
            pass.number,
            pass.title,
            pass.tool_calls,
            counted(report, pass.tokens),
            pass.cost_usd,
            minutes(pass.seconds)
        );
    }
    out.push('\n');
}

/// How many runs the table names; the report has them all.
const RUNS_SHOWN: usize = 10;

/// What the pull request has cost. One run alone is the last line of the page.
fn ledger(out: &mut String, report: &Report) {
    let ledger = &report.ledger;
    if ledger.runs.len() < 2 {
        return;
    }
    out.push_str(
        "### What the pull request has cost\n\n| Run | Tokens | Cost |\n| --- | ---: | ---: |\n",
    );
    let earlier = ledger.runs.len().saturating_sub(RUNS_SHOWN);
    for run in &ledger.runs[earlier..] {
        let tokens = counted(report, run.tokens);
        let _ = writeln!(out, "| {} | {tokens} | ${:.4} |", run.day, run.cost_usd);
    }
    let tokens = counted(report, ledger.tokens);
    let _ = writeln!(out, "| all | {tokens} | ${:.4} |\n", ledger.cost_usd);
}

/// As `2:05`.
fn minutes(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
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

/// How many excused files a page names; the report has them all.
const EXCUSED_SHOWN: usize = 50;

/// What counts as reviewed although the model did not have to see it.
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

/// What the model did not see of the repository.
fn not_read(out: &mut String, report: &Report) {
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

/// For those who run the reviewer: on the pull request it would only tell an attacker what was noticed.
fn suspicions(out: &mut String, report: &Report) {
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

/// How many names of files a line holds, and how much of each.
const NAMES_SHOWN: usize = 10;
const LONGEST_NAME: usize = 120;

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

/// A name as code, on one line.
fn name(name: &str) -> String {
    let name: String = name.chars().take(LONGEST_NAME).collect();
    format!("`{}`", flat(&name).replace('`', "'"))
}

fn footer(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "{} · {} · ${:.4} · sensitivity {}{}",
        inline(&report.model),
        tokens(report.tokens, report.tokens_estimated),
        report.cost_usd,
        report.sensitivity,
        match report.sensitivity_evidence.as_slice() {
            [] => String::new(),
            evidence => format!(" ({})", inline(&evidence.join(", "))),
        }
    );
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

/// Text of others on one line, as words that do nothing.
fn inline(text: &str) -> String {
    flat(&clean(&flat(text)))
}

/// One line, in which no fence can open.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c == '\t' || is_line_break(c) => out.push(' '),
            c if c.is_control() => {}
            '`' | '~' if out.ends_with(&format!("{c}{c}")) => {}
            c => out.push(c),
        }
    }
    out
}

fn cell(text: &str) -> String {
    inline(text).replace('|', "\\|")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::document::{
        LedgerReport, LeftOutReport, PassReport, RunReport, SuspicionReport, ThreadReport,
    };

    pub fn finding(score: u8, fate: &'static str, reason: Option<&str>) -> FindingReport {
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

    /// A report with something of everything.
    #[expect(clippy::too_many_lines, reason = "one value")]
    pub(crate) fn sample() -> Report {
        let pass = |number, finished| PassReport {
            number,
            title: "Atomic diff review".into(),
            finished,
            summary: "Two findings.".into(),
            tool_calls: 3,
            tokens: 18_070,
            cost_usd: 0.0312,
            seconds: 125,
        };
        Report {
            version: 1,
            pull_request: Some("octo/shop#1".into()),
            head: "b0d63d1e3554f51be51c63421a254d61288447e6".into(),
            merge_base: String::new(),
            verdict: "blocking".into(),
            reasons: vec!["Pass 2 of 4 was never submitted by the model.".into()],
            open_issues: 3,
            blocking_issues: 1,
            sandbox: None,
            model: "anthropic/claude".into(),
            tokens: 36_140,
            tokens_estimated: false,
            cost_usd: 0.0624,
            ledger: LedgerReport {
                runs: vec![
                    RunReport {
                        day: "2026-11-15".into(),
                        tokens: 52_000,
                        cost_usd: 0.11,
                    },
                    RunReport {
                        day: "2026-11-16".into(),
                        tokens: 36_140,
                        cost_usd: 0.0624,
                    },
                ],
                tokens: 141_000,
                cost_usd: 0.3124,
            },
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
                finding_id: Some("f55".into()),
                assessment: "Level 6.".into(),
                category: Some("logic".into()),
            }],
            reviewed_since: None,
            excused: vec![],
            left_out: vec![],
            left_out_unchanged: vec![
                LeftOutReport {
                    reason: "too large".into(),
                    count: 1_200,
                    first: (0..20).map(|n| format!("data/{n}.bin")).collect(),
                },
                LeftOutReport {
                    reason: "may hold secrets".into(),
                    count: 1,
                    first: vec!["a`b\n/.env".into()],
                },
            ],
            masked: vec![".env".into()],
            suspicions: vec![SuspicionReport {
                kind: "html_comments",
                count: 2,
                places: vec!["description".into()],
                words: "HTML comments: 2 (description, <b>.md)".into(),
            }],
            warnings: vec!["Comments are not signed.".into()],
            notes: vec![],
            review_url: None,
        }
    }

    #[test]
    fn the_summary_as_people_read_it() {
        let report = sample();
        insta::assert_snapshot!("summary", markdown(&report, Page::Step));
        let check = markdown(&report, Page::Check);
        assert!(
            check.contains("Deliberately not said: 2;")
                && !check.contains("A guard handles it")
                && !check.contains("Not in the snapshot")
                && !check.contains("meant for the model"),
            "{check}"
        );
    }

    #[test]
    fn a_model_s_words_cannot_break_the_table() {
        assert_eq!(
            cell("a | b\n<img src=x> ![x](https://evil.example) ~~~~~ @octocat"),
            "a \\| b &lt;img src=x> [image removed] ~~ `@octocat`"
        );
    }
}
