//! The step summary and the check run's page: the verdict first, then what supports it.

use super::document::Report;
use super::findings::{FindingReport, ThreadReport};
use super::reviewers;
use crate::domain::Score;
use crate::publish::comment;
use reviewer_text::count::{duration, grouped, plural, tokens};
use reviewer_text::hidden::is_line_break;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence;
use std::fmt::Write as _;

/// The page's readers. The step's page is for those who run the reviewer, the check's for everybody on the pull
/// request, where what was not said stays unsaid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Step,
    Check,
}

/// The report as Markdown: the verdict and what is open, the way to a green check, then what supports it, folded.
#[must_use]
pub fn markdown(report: &Report, page: Page) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "## {}\n", headline(report));
    if page == Page::Step {
        let _ = writeln!(out, "<sub>OpenCode review of {}</sub>\n", subject(report));
    }
    for reason in &report.reasons {
        let _ = writeln!(out, "- {}", inline(reason));
    }
    if !report.reasons.is_empty() {
        out.push('\n');
    }
    open(&mut out, report);
    if let Some(consensus) = &report.consensus {
        consensus.markdown(&mut out);
    }
    if let Some(green) = &report.green {
        let _ = writeln!(out, "**To turn this check green:** {green}\n");
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", inline(warning));
    }
    if page == Page::Step {
        sandbox(&mut out, report);
    }
    for note in &report.notes {
        let _ = writeln!(out, "{}\n", inline(note));
    }
    if let Some(line) = report.analysis_line() {
        let _ = writeln!(out, "{line}\n");
    }
    if let Some(memory) = &report.memory {
        memory.markdown(&mut out, page);
    }
    how(&mut out, report);
    unsaid(&mut out, report, page);
    if page == Page::Step {
        not_read(&mut out, report);
        suspicions(&mut out, report);
    }
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

fn subject(report: &Report) -> &str {
    match &report.pull_request {
        Some(_) => report.head.get(..7).unwrap_or_default(),
        None => "the working tree",
    }
}

fn headline(report: &Report) -> String {
    let sign = match report.verdict.as_str() {
        "clean" => "✅ ",
        "findings" => &format!("{} ", gravest(report)),
        "blocking" => "🔴 ",
        "incomplete" => "⚠️ ",
        _ => "",
    };
    format!("{sign}{}", verdict(report))
}

/// The verdict in words.
pub(super) fn verdict(report: &Report) -> String {
    let open = plural(report.open_issues, "finding");
    match (report.verdict.as_str(), report.blocking_issues) {
        ("clean", _) => "Nothing to report".into(),
        ("findings", _) => format!("{open} open"),
        ("blocking", 0) => "Held back by another pull request of the same head".into(),
        ("blocking", 1) if report.open_issues == 1 => format!("{open} open, and it blocks"),
        ("blocking", 1) => format!("{open} open, 1 of them blocks"),
        ("blocking", count) => format!("{open} open, {count} of them block"),
        ("incomplete", _) if report.open_issues == 0 => "The review is incomplete".into(),
        ("incomplete", _) => format!("The review is incomplete, {open} open"),
        (other, _) => other.to_owned(),
    }
}

/// The dot of the gravest finding.
fn gravest(report: &Report) -> &'static str {
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

fn open(out: &mut String, report: &Report) {
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

/// Writes the facts that the verdict rests on, folded: passes, costs, what was excused, the model.
fn how(out: &mut String, report: &Report) {
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

fn unsaid(out: &mut String, report: &Report, page: Page) {
    let unsaid: Vec<&FindingReport> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "suppressed" | "withdrawn" | "combined"))
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

/// Writes the files of the repository that the model did not see.
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

/// The number of file names that a line holds, and the length of each.
const NAMES_SHOWN: usize = 10;
const LONGEST_NAME: usize = 120;
/// The longest text in a table; the report has it all.
const LONGEST_CELL: usize = 500;

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

/// The same in a table.
pub(super) fn cell(text: &str) -> String {
    sentence::cell(text, LONGEST_CELL)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::document::{
        LedgerReport, LeftOutReport, PassReport, RunReport, SectionReport, SuspicionReport,
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
            raised_by: Vec::new(),
            verified_by: Vec::new(),
            contested: false,
            arguments: Vec::new(),
            also_at: Vec::new(),
            found_by: Vec::new(),
        }
    }

    /// A report with something of everything.
    #[expect(clippy::too_many_lines, reason = "one value")]
    pub(crate) fn sample() -> Report {
        let pass = |number, finished| PassReport {
            reviewer: None,
            section: None,
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
            events: Vec::new(),
            static_analysis: None,
            version: 1,
            pull_request: Some("octo/shop#1".into()),
            pull_request_url: Some("https://example.test/octo/shop/pull/1".into()),
            head: "b0d63d1e3554f51be51c63421a254d61288447e6".into(),
            merge_base: String::new(),
            verdict: "blocking".into(),
            reasons: vec!["Pass 2 of 4 was never submitted by the model.".into()],
            open_issues: 3,
            blocking_issues: 1,
            sandbox: None,
            model: "anthropic/claude".into(),
            fallbacks: Vec::new(),
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
            sections: vec![],
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
                since: Some("a1b2c3d".into()),
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
            decision: None,
            comment: None,
            escalations: Vec::new(),
            memory: None,
            consensus: None,
            reviewers: Vec::new(),
            green: Some("fix the 🔴 finding and push.".into()),
            blocking_from: Score::new(9),
            files: 3,
            cost_known: true,
        }
    }

    #[test]
    fn the_sections_of_a_large_change_are_a_table_and_their_passes_are_cut() {
        let mut report = sample();
        let section = |number: usize, passes: &[u8]| SectionReport {
            section: number,
            files: 1_200,
            lines: 34_000,
            reviewed: passes.len() == 4,
            passes: passes.to_vec(),
            reason: String::new(),
            tokens: 7,
            cost_usd: 0.5,
            seconds: 61,
        };
        report.sections = vec![
            section(1, &[1, 2, 3, 4]),
            section(2, &[1, 2]),
            section(3, &[]),
        ];
        let page = markdown(&report, Page::Step);
        assert!(page.contains(", 3 sections, "), "{page}");
        for row in [
            "| 1 | 1,200 | 34,000 | all | 7 | $0.50 | ",
            "| 2 | 1,200 | 34,000 | 1, 2 only | ",
            "| 3 | 1,200 | 34,000 | none | ",
        ] {
            assert!(page.contains(row), "{row}: {page}");
        }
        assert!(!page.contains("listed in the report"));
    }

    #[test]
    fn the_summary_as_people_read_it() {
        let report = sample();
        insta::assert_snapshot!("summary", markdown(&report, Page::Step));
        let check = markdown(&report, Page::Check);
        assert!(
            check.contains("2 remarks not posted: the summary of the job has the list.")
                && !check.contains("A guard handles it")
                && !check.contains("Not in the snapshot")
                && !check.contains("meant for the model"),
            "{check}"
        );
    }

    #[test]
    fn the_headline_says_how_many_findings_are_open_and_how_many_block() {
        let said = |verdict: &str, open_issues, blocking_issues| {
            let report = Report {
                verdict: verdict.into(),
                open_issues,
                blocking_issues,
                ..sample()
            };
            headline(&report)
        };
        for (verdict, open, blocking, words) in [
            ("clean", 0, 0, "✅ Nothing to report"),
            ("findings", 2, 0, "🔴 2 findings open"),
            ("blocking", 1, 1, "🔴 1 finding open, and it blocks"),
            ("blocking", 4, 1, "🔴 4 findings open, 1 of them blocks"),
            ("blocking", 4, 2, "🔴 4 findings open, 2 of them block"),
            (
                "blocking",
                0,
                0,
                "🔴 Held back by another pull request of the same head",
            ),
            ("incomplete", 0, 0, "⚠️ The review is incomplete"),
            (
                "incomplete",
                1,
                0,
                "⚠️ The review is incomplete, 1 finding open",
            ),
        ] {
            assert_eq!(said(verdict, open, blocking), words);
        }
    }

    #[test]
    fn an_endpoint_without_prices_has_no_cost() {
        let report = Report {
            cost_known: false,
            cost_usd: 0.0,
            ..sample()
        };
        let page = markdown(&report, Page::Check);
        assert!(
            page.contains("36,140 tokens, cost unknown, 4 m 10 s"),
            "{page}"
        );
        assert!(!page.contains("$0.0000"), "{page}");
    }

    #[test]
    fn a_model_s_words_cannot_break_the_table() {
        assert_eq!(
            cell("a | b\n<img src=x> ![x](https://evil.example) ~~~~~ @octocat"),
            "a \\| b &lt;img src=x> \\[image removed\\] \\~\\~ `@octocat`"
        );
    }
}
