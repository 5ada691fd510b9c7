//! The report for a terminal: the verdict first, then each finding with its code. Pure: lines of pieces, each with how it
//! looks where there are colours; whoever prints them takes out what a terminal would obey.

use super::code::{Code, Excerpt, cleaned};
use super::document::Report;
use super::findings::{FindingReport, ThreadReport};
use super::wrap::{hanging, joined, piece, wrapped};
use crate::publish::comment::{self, without_repeat};
use reviewer_text::count::{plural, tokens};
use reviewer_text::line::{Line, Piece, Style};

const TAB: &str = "    ";

/// The layout of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// In columns. Code is not wrapped.
    pub width: usize,
    /// Every file that was not shown is named.
    pub lists_files: bool,
}

/// The width where no terminal tells one.
pub const USUAL_WIDTH: usize = 80;

impl Default for Layout {
    fn default() -> Self {
        Self {
            width: USUAL_WIDTH,
            lists_files: false,
        }
    }
}

/// The whole page. `clean` takes secrets out of a text.
#[must_use]
pub fn page(
    report: &Report,
    code: &Code,
    clean: &dyn Fn(&str) -> String,
    layout: Layout,
) -> Vec<Line> {
    let width = layout.width;
    let mut lines = wrapped(&[verdict(report)], "", width);
    for reason in reasons(report, layout.lists_files) {
        lines.extend(wrapped(&[piece(Style::Plain, clean(&reason))], "", width));
    }
    for finding in said(report) {
        lines.push(Vec::new());
        tell(&mut lines, report, finding, clean, width);
        if let Some(excerpt) = code.get(&finding.id) {
            lines.push(Vec::new());
            show(&mut lines, excerpt, clean);
        }
    }
    open_before(&mut lines, report, clean, width);
    lines.push(Vec::new());
    for warning in &report.warnings {
        let pieces = [
            piece(Style::Warning, "warning: "),
            piece(Style::Plain, clean(warning)),
        ];
        lines.extend(wrapped(&pieces, "  ", width));
    }
    for note in &report.notes {
        lines.extend(wrapped(&[piece(Style::Plain, clean(note))], "", width));
    }
    if let Some(line) = report.analysis_line() {
        lines.extend(wrapped(&[piece(Style::Plain, line)], "", width));
    }
    if let Some(url) = &report.review_url {
        lines.push(vec![piece(Style::Plain, format!("Posted: {}", clean(url)))]);
    }
    for line in joined(&footer(report), width) {
        lines.push(vec![piece(Style::Faint, clean(&line))]);
    }
    lines
}

/// The findings of the run that are for people, the gravest first.
pub(super) fn said(report: &Report) -> Vec<&FindingReport> {
    let is_said = |one: &&FindingReport| !is_unsaid(one);
    let mut said: Vec<&FindingReport> = report.findings.iter().filter(is_said).collect();
    said.sort_by(|a, b| (b.score, &a.file, a.line).cmp(&(a.score, &b.file, b.line)));
    said
}

/// The number of files that were not shown that a line names.
const FILES_NAMED: usize = 3;

/// The reasons, with all files that were not shown in one of them, unless each is to be named.
fn reasons(report: &Report, lists_files: bool) -> Vec<String> {
    let unshown = comment::coverage::not_shown("");
    let unshown = unshown.trim_end_matches('.');
    let is_file = |reason: &&String| reason.starts_with(unshown);
    let files = report.reasons.iter().filter(is_file).count();
    let mut reasons: Vec<String> = report
        .reasons
        .iter()
        .filter(|reason| !is_file(reason))
        .cloned()
        .collect();
    if files == 0 {
        return reasons;
    }
    if lists_files {
        let listed = report
            .left_out
            .iter()
            .map(|file| comment::coverage::not_shown(file));
        reasons.extend(listed);
        return reasons;
    }
    let all = report.left_out.len();
    let first: Vec<&str> = report.left_out.iter().map(String::as_str).collect();
    let first = first[..all.min(FILES_NAMED)].join(", ");
    let more = match all.saturating_sub(FILES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more; -v lists them"),
    };
    let verb = if all == 1 { "was" } else { "were" };
    reasons.push(format!(
        "{} {verb} not shown to the model: {first}{more}.",
        plural(all, "changed file")
    ));
    reasons
}

/// The threads that were open before the run.
fn open_before(
    lines: &mut Vec<Line>,
    report: &Report,
    clean: &dyn Fn(&str) -> String,
    width: usize,
) {
    if report.threads.is_empty() {
        return;
    }
    lines.push(Vec::new());
    lines.push(vec![piece(Style::Strong, "Open from earlier reviews:")]);
    for thread in threads(report) {
        let pieces = [
            piece(Style::Strong, format!("  {}", clean(&thread.place()))),
            piece(Style::Plain, "  "),
            piece(style_of(thread.score), format!("{}/10", thread.score)),
            piece(Style::Plain, format!("  {}", clean(thread.finding.trim()))),
        ];
        lines.extend(wrapped(&pieces, "    ", width));
    }
}

/// Those threads, the gravest first.
pub(super) fn threads(report: &Report) -> Vec<&ThreadReport> {
    let mut threads: Vec<&ThreadReport> = report.threads.iter().collect();
    threads.sort_by(|a, b| (b.score, &a.file, a.line).cmp(&(a.score, &b.file, b.line)));
    threads
}

/// Returns true if a finding is deliberately not for people.
pub(super) fn is_unsaid(finding: &FindingReport) -> bool {
    matches!(finding.fate, "suppressed" | "withdrawn" | "combined")
}

fn verdict(report: &Report) -> Piece {
    let findings = plural(report.open_issues, "finding");
    match report.verdict.as_str() {
        "clean" => piece(Style::Good, "Nothing to report."),
        "findings" => piece(
            Style::Warning,
            format!("{findings}, none of them blocking."),
        ),
        "blocking" => {
            let blocking = report.blocking_issues;
            piece(
                Style::Bad,
                format!("{findings}, {blocking} of them blocking."),
            )
        }
        _ => piece(
            Style::Bad,
            format!("The review is incomplete; {findings} so far."),
        ),
    }
}

fn style_of(score: u8) -> Style {
    match score {
        9.. => Style::Bad,
        5..=8 => Style::Warning,
        _ => Style::Plain,
    }
}

fn tell(
    lines: &mut Vec<Line>,
    report: &Report,
    finding: &FindingReport,
    clean: &dyn Fn(&str) -> String,
    width: usize,
) {
    lines.push(vec![
        piece(Style::Strong, clean(&finding.place)),
        piece(Style::Plain, "  "),
        piece(style_of(finding.score), report.weight(finding)),
    ]);
    let sentence = format!("  {}", clean(finding.finding.trim()));
    lines.extend(wrapped(&[piece(Style::Strong, sentence)], "  ", width));
    let body = without_repeat(&finding.body, &finding.finding);
    if !body.is_empty() {
        lines.push(Vec::new());
    }
    let mut in_code = false;
    for line in clean(body).lines() {
        let line = line.trim_end();
        let is_fence = line.trim_start().starts_with("```");
        let text = piece(Style::Plain, format!("  {line}"));
        if line.is_empty() {
            lines.push(Vec::new());
        } else if in_code || is_fence || line.trim_start().starts_with('|') {
            lines.push(vec![text]);
        } else {
            lines.extend(wrapped(&[text], &hanging(line), width));
        }
        in_code ^= is_fence;
    }
    if let Some(support) = report.support(finding) {
        lines.push(Vec::new());
        let support = piece(Style::Plain, format!("  {support}"));
        lines.extend(wrapped(&[support], "  ", width));
    }
}

/// Writes the version that the finding is about. Nothing where a secret spans lines, and they cannot be numbered any more.
fn show(lines: &mut Vec<Line>, excerpt: &Excerpt, clean: &dyn Fn(&str) -> String) {
    let texts = excerpt.numbered().map(|(_, line)| line.text.as_str());
    let Some(texts) = cleaned(texts, clean) else {
        return;
    };
    let last = excerpt.numbered().last();
    let digits = last.map_or(0, |(number, _)| number.to_string().len());
    for ((number, line), text) in excerpt.numbered().zip(texts) {
        let (mark, style) = if line.meant {
            (">", Style::Strong)
        } else {
            (" ", Style::Faint)
        };
        let number = format!("  {mark} {number:>digits$} | ");
        let text = text.replace('\t', TAB);
        lines.push(vec![
            piece(style, number),
            piece(Style::Plain, text.trim_end()),
        ]);
    }
}

fn footer(report: &Report) -> Vec<String> {
    let mut items = vec![report.model.clone()];
    // A review that was interrupted gives no account.
    if report.tokens > 0 {
        items.push(tokens(report.tokens, report.tokens_estimated));
        items.push(report.cost(report.cost_usd));
    }
    let unsaid = report.findings.iter().filter(|one| is_unsaid(one)).count();
    if unsaid > 0 {
        items.push(format!("not shown: {unsaid}"));
    }
    items
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
