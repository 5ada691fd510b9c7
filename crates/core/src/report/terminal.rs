//! The report for a terminal: the verdict first, then each finding with its code. Pure: lines of pieces, each with how it
//! looks where there are colours; whoever prints them takes out what a terminal would obey.

use super::document::{FindingReport, Report, ThreadReport};
use super::wrap::{hanging, joined, piece, wrapped};
use crate::domain::{Anchor, FileDiff, Hunk, LineKind, Side};
use crate::publish::comment::{self, without_repeat};
use reviewer_text::count::{plural, tokens};
use reviewer_text::line::{Line, Piece, Style};
use std::collections::BTreeMap;

/// A line of code below a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLine {
    pub number: u32,
    pub text: String,
    /// The finding is about it.
    pub meant: bool,
}

/// The code of findings, by their ids.
pub type Code = BTreeMap<String, Vec<CodeLine>>;

/// Lines shown before and after those that are meant, and how many of those at most.
const AROUND: u32 = 3;
const MOST_MEANT: u32 = 12;
const TAB: &str = "    ";

/// The code around an anchor: as the head has it, or the base where the finding is about what was removed. Taken from the
/// diff, in which the values of secrets are masked.
#[must_use]
pub fn excerpt(diff: &FileDiff, anchor: Anchor) -> Vec<CodeLine> {
    let Anchor::Line { side, start, line } = anchor else {
        return Vec::new();
    };
    let first = start.unwrap_or(line);
    let shown = first.max((line + 1).saturating_sub(MOST_MEANT));
    let around = shown.saturating_sub(AROUND)..=line.saturating_add(AROUND);
    let has = |hunk: &&Hunk| numbered(hunk, side).any(|(number, _)| number == line);
    let hunk = diff.hunks.iter().find(has);
    let lines = hunk.into_iter().flat_map(|hunk| numbered(hunk, side));
    lines
        .filter(|(number, _)| around.contains(number))
        .map(|(number, text)| CodeLine {
            number,
            text: text.replace('\t', TAB),
            meant: (first..=line).contains(&number),
        })
        .collect()
}

/// The lines of one version of the file.
fn numbered(hunk: &Hunk, side: Side) -> impl Iterator<Item = (u32, &str)> {
    hunk.lines.iter().filter_map(move |line| {
        let number = match (side, line.kind) {
            (Side::Right, LineKind::Added | LineKind::Context) => line.new,
            (Side::Left, LineKind::Removed | LineKind::Context) => line.old,
            _ => None,
        };
        Some((number?, line.text.as_str()))
    })
}

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
        if let Some(code) = code.get(&finding.id).filter(|code| !code.is_empty()) {
            lines.push(Vec::new());
            show(&mut lines, code, clean);
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
    let unshown = comment::not_shown("");
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
        let listed = report.left_out.iter().map(|file| comment::not_shown(file));
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
    let mut threads: Vec<&ThreadReport> = report.threads.iter().collect();
    threads.sort_by(|a, b| (b.score, &a.file, a.line).cmp(&(a.score, &b.file, b.line)));
    for thread in threads {
        let line = thread.line.map(|line| format!(":{line}"));
        let place = format!("{}{}", thread.file, line.unwrap_or_default());
        let pieces = [
            piece(Style::Strong, format!("  {}", clean(&place))),
            piece(Style::Plain, "  "),
            piece(style_of(thread.score), format!("{}/10", thread.score)),
            piece(Style::Plain, format!("  {}", clean(thread.finding.trim()))),
        ];
        lines.extend(wrapped(&pieces, "    ", width));
    }
}

fn is_unsaid(finding: &FindingReport) -> bool {
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

/// Nothing where a secret spans lines, and they cannot be numbered any more.
fn show(lines: &mut Vec<Line>, code: &[CodeLine], clean: &dyn Fn(&str) -> String) {
    let texts: Vec<&str> = code.iter().map(|line| line.text.as_str()).collect();
    let cleaned = clean(&texts.join("\n"));
    let cleaned: Vec<&str> = cleaned.split('\n').collect();
    if cleaned.len() != code.len() {
        return;
    }
    let digits = code.last().map_or(0, |line| line.number.to_string().len());
    for (line, text) in code.iter().zip(cleaned) {
        let (mark, style) = if line.meant {
            (">", Style::Strong)
        } else {
            (" ", Style::Faint)
        };
        let number = format!("  {mark} {:>digits$} | ", line.number);
        let text = text.trim_end();
        lines.push(vec![piece(style, number), piece(Style::Plain, text)]);
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
