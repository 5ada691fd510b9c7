//! The report for a terminal: the verdict first, then each finding with its code. Pure: lines of pieces, each with how it
//! looks where there are colours; whoever prints them takes out what a terminal would obey.

use super::document::{FindingReport, Report};
use crate::domain::{Anchor, FileDiff, Hunk, LineKind, Score, Side};
use reviewer_text::count::{plural, tokens};
use reviewer_text::line::{Line, Piece, Style};
use std::collections::BTreeMap;

fn piece(style: Style, text: impl Into<String>) -> Piece {
    let text = text.into();
    Piece { style, text }
}

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

/// The whole page. `clean` takes secrets out of a text.
#[must_use]
pub fn page(report: &Report, code: &Code, clean: &dyn Fn(&str) -> String) -> Vec<Line> {
    let mut lines = vec![vec![verdict(report)]];
    for reason in &report.reasons {
        lines.push(vec![piece(Style::Plain, clean(reason))]);
    }
    let is_said = |one: &&FindingReport| !is_unsaid(one);
    let mut said: Vec<&FindingReport> = report.findings.iter().filter(is_said).collect();
    said.sort_by(|a, b| (b.score, &a.file, a.line).cmp(&(a.score, &b.file, b.line)));
    for finding in said {
        lines.push(Vec::new());
        tell(&mut lines, finding, clean);
        if let Some(code) = code.get(&finding.id).filter(|code| !code.is_empty()) {
            lines.push(Vec::new());
            show(&mut lines, code, clean);
        }
    }
    lines.push(Vec::new());
    for warning in &report.warnings {
        lines.push(vec![
            piece(Style::Warning, "warning: "),
            piece(Style::Plain, clean(warning)),
        ]);
    }
    for note in &report.notes {
        lines.push(vec![piece(Style::Plain, clean(note))]);
    }
    lines.push(vec![piece(Style::Faint, clean(&footer(report)))]);
    lines
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

fn tell(lines: &mut Vec<Line>, finding: &FindingReport, clean: &dyn Fn(&str) -> String) {
    let score = finding.score;
    let level = Score::new(u64::from(score)).map_or("", Score::level);
    let style = match score {
        9.. => Style::Bad,
        5..=8 => Style::Warning,
        _ => Style::Plain,
    };
    lines.push(vec![
        piece(Style::Strong, clean(&finding.place)),
        piece(Style::Plain, "  "),
        piece(style, format!("{level} ({score}/10)")),
    ]);
    let body = clean(finding.body.trim());
    let body = body.lines().map(|line| match line.trim_end() {
        "" => Vec::new(),
        line => vec![piece(Style::Plain, format!("  {line}"))],
    });
    lines.extend(body);
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

fn footer(report: &Report) -> String {
    let unsaid = report.findings.iter().filter(|one| is_unsaid(one)).count();
    let unsaid = match unsaid {
        0 => String::new(),
        count => format!(" · deliberately not said: {count}"),
    };
    // A review that was interrupted gives no account.
    let spent = match report.tokens {
        0 => String::new(),
        number => {
            let tokens = tokens(number, report.tokens_estimated);
            format!(" · {tokens} · ${:.4}", report.cost_usd)
        }
    };
    format!("{}{spent}{unsaid}", report.model)
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
