//! Checks of others that failed on the head: evidence for the model, and for people where one fails at the line of a finding. Their
//! words are of others, because the change's own code wrote them.

use crate::domain::{Annotation, Finding, NamedCheck};
use crate::state::check_mark::failed_of_others;
use reviewer_text::fence::Fence;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use std::fmt::Write as _;

/// Checks that the model is shown, and annotations of each.
const MOST: usize = 10;
/// The longest title and message that are shown.
const LONGEST: usize = 300;
/// A check that fails so many lines from a finding fails at it.
const NEAR: u32 = 3;

/// A check that failed on the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCheck {
    pub name: String,
    pub title: Option<String>,
    pub annotations: Vec<Annotation>,
    /// True if it fails on the base branch as well; `None`: it has not ended there.
    pub on_base: Option<bool>,
}

/// The checks that failed on the head of a change, with what became of them on its base.
#[must_use]
pub fn failed_checks(head: &[NamedCheck], base: &[NamedCheck]) -> Vec<FailedCheck> {
    let failed = failed_of_others(head).into_iter().take(MOST);
    let failed = failed.map(|check| FailedCheck {
        name: check.name.clone(),
        title: check.title.clone(),
        annotations: check.annotations.iter().take(MOST).cloned().collect(),
        on_base: on_base(&check.name, base),
    });
    failed.collect()
}

/// Two workflows may each have a job of one name. Where one of them fails on the base, the change is not blamed.
fn on_base(name: &str, base: &[NamedCheck]) -> Option<bool> {
    let ended = |one: &&NamedCheck| one.name == name && one.conclusion.is_some();
    let ended = base.iter().filter(ended).map(NamedCheck::has_failed);
    ended.reduce(|one, other| one || other)
}

/// The part of a prompt that tells of them; empty where none failed.
#[must_use]
pub(super) fn section(checks: &[FailedCheck], fence: &Fence) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = checks.iter().map(told).collect();
    format!(
        "## Checks that failed on the head\n\nWhere one of them proves a finding, name it in the finding.\n\n{}\n\n",
        fence.code("checks", &lines.join("\n"))
    )
}

fn told(check: &FailedCheck) -> String {
    let title = check
        .title
        .as_deref()
        .map(|title| format!(": {}", line(title)));
    let base = match check.on_base {
        Some(true) => " (fails on the base branch, too)",
        Some(false) => " (passes on the base branch)",
        None => "",
    };
    let mut told = format!("{}{}{base}", line(&check.name), title.unwrap_or_default());
    for at in &check.annotations {
        let (path, message) = (visible(&at.path), line(&at.message));
        let path = shortened(&path, LONGEST);
        let kind = if at.fails { "" } else { "warning: " };
        let _ = write!(told, "\n  {path}:{}: {kind}{message}", at.line);
    }
    told
}

/// One line, and not a long one.
fn line(text: &str) -> String {
    shortened(&Prose::line(text), LONGEST).to_owned()
}

fn shortened(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

/// The name and the words of a check that fails at a finding because of the change: one that does not fail on the base, too. A
/// warning of a check that fails elsewhere proves nothing.
#[must_use]
pub fn proof(checks: &[FailedCheck], finding: &Finding) -> Option<(String, String)> {
    let at = finding.line()?;
    let is_near = |one: &Annotation| one.path == finding.file && one.line.abs_diff(at) <= NEAR;
    let is_at = |one: &&Annotation| one.fails && is_near(one);
    let mut of_change = checks.iter().filter(|check| check.on_base != Some(true));
    of_change.find_map(|check| {
        let annotation = check.annotations.iter().find(is_at)?;
        Some((line(&check.name), line(&annotation.message)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Anchor, Side, fixture};

    fn check(name: &str, conclusion: &str, lines: &[u32]) -> NamedCheck {
        let annotation = |line: &u32| Annotation {
            fails: true,
            path: "src/page.ts".into(),
            line: *line,
            message: format!("wrong at {line}\nand more"),
        };
        NamedCheck {
            name: name.into(),
            conclusion: Some(conclusion.into()),
            details_url: None,
            title: Some("2 failed".into()),
            annotations: lines.iter().map(annotation).collect(),
        }
    }

    fn finding(line: u32) -> Finding {
        Finding {
            anchor: Anchor::Line {
                side: Side::Right,
                start: None,
                line,
            },
            ..fixture::finding()
        }
    }

    #[test]
    fn a_check_is_told_with_its_lines_and_with_what_it_does_on_the_base() {
        let head = [
            check("unit", "failure", &[8]),
            check("lint", "failure", &[]),
            check("docs", "error", &[]),
            check("build", "success", &[9]),
        ];
        let base = [check("lint", "failure", &[]), check("unit", "success", &[])];
        let failed = failed_checks(&head, &base);
        let told = section(&failed, &Fence::new("c0ffee".into()));
        for line in [
            "unit: 2 failed (passes on the base branch)",
            "  src/page.ts:8: wrong at 8 and more",
            "lint: 2 failed (fails on the base branch, too)",
            "docs: 2 failed",
        ] {
            assert!(told.lines().any(|one| one == line), "{line} in {told}");
        }
        assert!(!told.contains("build"), "{told}");
        assert_eq!(section(&[], &Fence::new("c0ffee".into())), "");
    }

    #[test]
    fn only_a_check_that_the_change_broke_near_the_line_proves_a_finding() {
        let failed = |base: &str| {
            let base = [check("unit", base, &[])];
            failed_checks(&[check("unit", "failure", &[8])], &base)
        };
        let proved = Some(("unit".to_owned(), "wrong at 8 and more".to_owned()));
        assert_eq!(proof(&failed("success"), &finding(10)), proved);
        assert_eq!(proof(&failed("success"), &finding(12)), None);
        assert_eq!(proof(&failed("failure"), &finding(8)), None);
        assert_eq!(proof(&failed("success"), &fixture::finding()), None);
    }

    #[test]
    fn a_warning_proves_nothing_and_is_told_as_one() {
        let mut head = check("unit", "failure", &[8]);
        head.annotations[0].fails = false;
        let failed = failed_checks(&[head], &[]);
        assert_eq!(proof(&failed, &finding(8)), None);
        let told = section(&failed, &Fence::new("c0ffee".into()));
        assert!(told.contains("src/page.ts:8: warning: wrong"), "{told}");
    }

    #[test]
    fn of_two_checks_of_a_name_that_fails_on_the_base_counts() {
        for order in [["failure", "success"], ["success", "failure"]] {
            let base = order.map(|conclusion| check("unit", conclusion, &[]));
            let failed = failed_checks(&[check("unit", "failure", &[8])], &base);
            assert_eq!(failed[0].on_base, Some(true));
            assert_eq!(proof(&failed, &finding(8)), None);
        }
    }

    #[test]
    fn however_much_checks_say_they_are_told_in_some_pages() {
        let mut loud = check(&"n".repeat(9_000), "failure", &[1; 99]);
        loud.title = Some("t\n".repeat(9_000));
        for at in &mut loud.annotations {
            at.path = "p/".repeat(9_000);
            at.message = "m\n".repeat(9_000);
        }
        let failed = failed_checks(&vec![loud; 99], &[]);
        let told = section(&failed, &Fence::new("c0ffee".into()));
        assert!(told.len() < 80_000, "{}", told.len());
        assert_eq!(told.lines().count(), 4 + 1 + MOST + MOST * MOST + 2);
    }
}
