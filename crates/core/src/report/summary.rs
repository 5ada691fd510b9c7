//! The step summary and the check run's page: the verdict first, then what supports it.

mod account;
mod open;
mod unsaid;
pub(super) mod words;

use super::document::Report;
use account::how;
use open::{gravest, open};
use reviewer_text::count::plural;
use std::fmt::Write as _;
use unsaid::{not_read, sandbox, suspicions, unsaid};
use words::inline;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::SectionReport;
    use crate::report::fixture::sample;

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
}
