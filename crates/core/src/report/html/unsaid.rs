//! The findings that were not posted and why, the files that the model did not see, and the circumstances of the run.

use super::{Page, Part};
use crate::report::findings::FindingReport;
use crate::report::terminal::is_unsaid;
use maud::{Markup, html};
use reviewer_text::count::{grouped, plural};

/// The number of names that a list holds; the report file has them all.
const MOST_NAMES: usize = 500;

impl Page<'_> {
    pub(super) fn unsaid(&self) -> Option<Part> {
        let unsaid: Vec<&FindingReport> = self
            .report
            .findings
            .iter()
            .filter(|one| is_unsaid(one))
            .collect();
        (!unsaid.is_empty()).then(|| Part {
            id: "unsaid",
            title: format!("{} not posted", plural(unsaid.len(), "remark")),
            content: html! { @for finding in unsaid { (self.withheld(finding)) } },
        })
    }

    fn withheld(&self, finding: &FindingReport) -> Markup {
        let excerpt = self.material.code.get(&finding.id);
        html! {
            details {
                summary {
                    (self.dot(finding.score)) " " (self.sentence(&finding.finding))
                    " " span class="faint" {
                        (self.name(&finding.place)) " · " (finding.score) "/10 · " strong { (finding.fate) }
                        @if let Some(reason) = &finding.reason { ": " (self.sentence(reason)) }
                    }
                }
                @if let Some(code) = excerpt.and_then(|excerpt| self.code(excerpt)) { figure { (code) } }
                (self.explained(finding))
            }
        }
    }

    /// The files that the model did not see, or not as they are.
    pub(super) fn files(&self) -> Option<Part> {
        let report = self.report;
        let excused = report.excused.iter().map(|file| {
            html! { (self.name(&file.path)) " (" (file.reason) ")" }
        });
        let left_out = report.left_out.iter().map(|path| self.name(path));
        let masked = report.masked.iter().map(|path| self.name(path));
        let lists = [
            list("Not shown to the model", left_out),
            list("Excused from review", excused),
            list("Shown to the model with values masked", masked),
        ];
        let content = html! {
            @for list in lists.iter().flatten() { (list) }
            (self.not_in_the_snapshot())
        };
        let is_empty = lists.iter().all(Option::is_none) && report.left_out_unchanged.is_empty();
        (!is_empty).then(|| Part {
            id: "files",
            title: "Coverage".to_owned(),
            content,
        })
    }

    fn not_in_the_snapshot(&self) -> Markup {
        let groups = &self.report.left_out_unchanged;
        let count = groups.iter().map(|files| files.count).sum();
        html! {
            @if count > 0 {
                details {
                    summary { "Not in the snapshot: " (plural(count, "unchanged file")) }
                    @for files in groups {
                        p { (self.plain(&files.reason)) ":" }
                        ul {
                            @for path in &files.first { li { (self.name(path)) } }
                            @if files.count > files.first.len() { (more(files.count - files.first.len())) }
                        }
                    }
                }
            }
        }
    }

    /// The sandbox, the sensitivity of the repository, and text that may be meant for the model.
    pub(super) fn surroundings(&self) -> Option<Part> {
        let report = self.report;
        if report.passes.is_empty() && report.sandbox.is_none() && report.suspicions.is_empty() {
            return None;
        }
        let content = html! {
            p {
                "Sensitivity: " (report.sensitivity)
                @if !report.sensitivity_evidence.is_empty() {
                    " (" (self.plain(&report.sensitivity_evidence.join(", "))) ")"
                }
                "."
            }
            @if let Some(sandbox) = &report.sandbox {
                @if sandbox.complete {
                    p { "The sandbox was complete." }
                } @else {
                    p class="warning" { strong { "Warning: " } "The sandbox lacks " (self.plain(&sandbox.missing.join("; "))) "." }
                }
            }
            @if !report.suspicions.is_empty() {
                p { "Text that may be meant for the model. It was shown as data and changes nothing." }
                ul { @for suspicion in &report.suspicions { li { (self.plain(&suspicion.words)) } } }
            }
        };
        Some(Part {
            id: "surroundings",
            title: "About this run".to_owned(),
            content,
        })
    }
}

/// Names below a heading, folded; `None` where there are none.
fn list(title: &str, names: impl ExactSizeIterator<Item = Markup>) -> Option<Markup> {
    let count = names.len();
    (count > 0).then(|| {
        html! {
            details {
                summary { (title) ": " (plural(count, "file")) }
                ul {
                    @for name in names.take(MOST_NAMES) { li { (name) } }
                    @if count > MOST_NAMES { (more(count - MOST_NAMES)) }
                }
            }
        }
    })
}

fn more(count: usize) -> Markup {
    html! { li { "and " (grouped(count as u64)) " more" } }
}
