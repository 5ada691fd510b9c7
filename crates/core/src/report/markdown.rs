//! The report of a working tree as Markdown, with everything that a person needs to act on a finding. Separate from the
//! step summary, which links to comments on a pull request instead. Pure.

use super::document::Report;
use super::findings::FindingReport;
use crate::publish::comment::without_repeat;
use reviewer_text::count::{plural, tokens};
use reviewer_text::sanitize::clean;
use reviewer_text::sentence::sentence;
use std::fmt::Write as _;

/// The whole page.
#[must_use]
pub fn page(report: &Report) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "## OpenCode review of the working tree: {}\n",
        headline(report)
    );
    for reason in &report.reasons {
        let _ = writeln!(out, "- {}", line(reason));
    }
    if !report.reasons.is_empty() {
        out.push('\n');
    }
    for finding in super::terminal::said(report) {
        tell(&mut out, report, finding);
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", line(warning));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{}\n", line(note));
    }
    if let Some(line) = report.analysis_line() {
        let _ = writeln!(out, "{line}\n");
    }
    footer(&mut out, report);
    out
}

fn headline(report: &Report) -> String {
    let findings = plural(report.open_issues, "finding");
    match report.verdict.as_str() {
        "clean" => "nothing to report".to_owned(),
        "findings" => format!("{findings} open"),
        "blocking" => format!(
            "{findings} open, {} of them blocking",
            report.blocking_issues
        ),
        _ => "the review is incomplete".to_owned(),
    }
}

fn tell(out: &mut String, report: &Report, finding: &FindingReport) {
    let place = line(&finding.place).replace('`', "'");
    let _ = writeln!(out, "### `{place}` · {}\n", report.weight(finding));
    let _ = writeln!(out, "**{}**\n", sentence(&finding.finding));
    let body = without_repeat(&finding.body, &finding.finding);
    if !body.is_empty() {
        let _ = writeln!(out, "{}\n", clean(body));
    }
    if let Some(support) = report.support(finding) {
        let _ = writeln!(out, "{support}\n");
    }
    if !finding.assessment.trim().is_empty() {
        let _ = writeln!(out, "*Why this score:* {}\n", line(&finding.assessment));
    }
}

fn footer(out: &mut String, report: &Report) {
    if report.tokens == 0 {
        let _ = writeln!(out, "{}", line(&report.model));
        return;
    }
    let _ = writeln!(
        out,
        "{} · {} · {}",
        line(&report.model),
        tokens(report.tokens, report.tokens_estimated),
        report.cost(report.cost_usd)
    );
}

/// Text of others on one line, as words that do nothing.
fn line(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    clean(&flat.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{finding, sample};

    #[test]
    fn a_finding_has_its_explanation_its_remedy_and_the_reason_of_its_score() {
        let mut report = sample();
        report.reasons.clear();
        report.warnings.clear();
        report.findings = vec![finding(7, "reported", None), finding(2, "suppressed", None)];
        report.findings[0].body = "A page is lost.\n\nRound up.".into();
        report.findings[0].assessment = "Not 8, because data stays.".into();
        let page = page(&report);
        let expected = "### `src/page.ts:8` · 7/10\n\n**Finding of 7.**\n\nA page is lost.\n\nRound up.\n\n\
                        *Why this score:* Not 8, because data stays.\n\n";
        assert!(page.contains(expected), "{page}");
        assert_eq!(page.matches("### ").count(), 1, "{page}");
    }

    #[test]
    fn a_review_of_nothing_is_a_page_with_its_reason() {
        let report = Report {
            verdict: "clean".into(),
            reasons: vec!["Nothing has changed since main.".into()],
            model: "anthropic/claude".into(),
            ..Report::default()
        };
        assert_eq!(
            page(&report),
            "## OpenCode review of the working tree: nothing to report\n\n- Nothing has changed since main.\n\n\
             anthropic/claude\n"
        );
    }
}
