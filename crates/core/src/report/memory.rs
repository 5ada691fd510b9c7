//! The memory of other pull requests in the report: what a review was told of, and the findings that it did not make again
//! because of it. A person sees here what memory silenced.

use super::summary::Page;
use super::summary::words::cell;
use crate::publish::comment::memory;
use crate::review::desk::Repeated;
use crate::state::decided::{Decided, DecidedHere};
use reviewer_text::count::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The decisions of people in other pull requests, and their use in this run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// The number of closed pull requests that were read.
    pub pull_requests: usize,
    /// Decided questions about code of this change, which the model was told of.
    pub decided: Vec<DecidedReport>,
    /// Findings that repeat one of them and were not made again.
    pub left: Vec<RepeatedReport>,
    /// Findings that repeat one of them and were made again, because something differs.
    pub insisted: Vec<RepeatedReport>,
}

/// A question that people decided in another pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecidedReport {
    /// The pull request and the first comment of the thread, such as `#3/1001`.
    pub id: String,
    pub pull_request: u64,
    pub file: String,
    /// Null where it is about the file as a whole.
    pub line: Option<u32>,
    #[schemars(range(min = 1, max = 10))]
    pub score: u8,
    /// Null where the model named none.
    pub category: Option<String>,
    /// The finding in a sentence.
    pub finding: String,
    /// `conceded`: the reviewer gave it up after a reply of a person; `dismissed` by a command; `closed`: a person closed the
    /// conversation, and the code was merged as it was. The person has write access.
    #[schemars(extend("enum" = ["conceded", "dismissed", "closed"]))]
    pub decision: &'static str,
    /// The day on which the pull request was closed.
    pub since: String,
    pub url: String,
}

/// A finding that repeats a decided question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepeatedReport {
    /// The decided question, such as `#3/1001`.
    pub decided: String,
    /// File and lines, for people.
    pub place: String,
    #[schemars(range(min = 1, max = 10))]
    pub score: u8,
    /// Null where the model named none.
    pub category: Option<String>,
    pub finding: String,
    pub assessment: String,
    /// The difference, as the model says it; null where it left the finding.
    pub reason: Option<String>,
}

impl From<&Decided> for DecidedReport {
    fn from(decided: &Decided) -> Self {
        Self {
            id: decided.id.to_string(),
            pull_request: decided.id.pull,
            file: decided.file.clone(),
            line: decided.line,
            score: decided.assessment.score.get(),
            category: decided.category.map(|category| category.to_string()),
            finding: decided.assessment.finding.clone(),
            decision: decided.decision.name(),
            since: decided.since.clone(),
            url: decided.url.clone(),
        }
    }
}

impl From<&Repeated> for RepeatedReport {
    fn from(repeated: &Repeated) -> Self {
        let finding = &repeated.finding;
        Self {
            decided: repeated.decided.to_string(),
            place: finding.place(),
            score: finding.assessment.score.get(),
            category: finding.category.map(|category| category.to_string()),
            finding: finding.assessment.finding.clone(),
            assessment: finding.assessment.assessment.clone(),
            reason: repeated.insists.clone(),
        }
    }
}

impl MemoryReport {
    /// `repeated`: of all reviewers. Where one of them makes a finding again, nobody has silenced it.
    #[must_use]
    pub fn new(pull_requests: usize, decided: &[DecidedHere], repeated: &[Repeated]) -> Self {
        let reports = |insisted: bool| {
            let of_kind = decided.iter().filter_map(move |here| {
                let mut same = repeated.iter().filter(|one| one.decided == here.decided.id);
                let made_again = same.clone().find(|one| one.insists.is_some());
                if insisted {
                    made_again
                } else {
                    same.find(|_| made_again.is_none())
                }
            });
            of_kind.map(RepeatedReport::from).collect()
        };
        Self {
            pull_requests,
            decided: decided.iter().map(|here| (&here.decided).into()).collect(),
            left: reports(false),
            insisted: reports(true),
        }
    }

    /// The pull requests whose decisions the model was told of.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.decided.iter().map(|one| one.pull_request).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Writes what was not made again. On the pull request, what was not said stays unsaid.
    pub(super) fn markdown(&self, out: &mut String, page: Page) {
        if self.decided.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "{}\n",
            memory::told(self.decided.len(), &self.numbers())
        );
        if self.left.is_empty() {
            return;
        }
        let left = plural(self.left.len(), "finding");
        if page == Page::Check {
            let _ = writeln!(
                out,
                "{left} not made again because of that: the summary of the job has the list.\n"
            );
            return;
        }
        let _ = writeln!(
            out,
            "<details><summary>{left} not made again because of that</summary>\n\n\
             | Score | Where | Finding | Decided in |\n| ---: | --- | --- | --- |"
        );
        for one in &self.left {
            let decided = self
                .decided
                .iter()
                .find(|decided| decided.id == one.decided);
            let place = decided.map_or_else(String::new, |decided| {
                format!(
                    "[#{}]({}), {}",
                    decided.pull_request, decided.url, decided.decision
                )
            });
            let (score, at, finding) = (one.score, cell(&one.place), cell(&one.finding));
            let _ = writeln!(out, "| {score} | {at} | {finding} | {place} |");
        }
        out.push_str("\n</details>\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Anchor, CommentId, DecidedId, fixture};
    use crate::state::decided::Decision;

    fn id(pull: u64) -> DecidedId {
        let root = CommentId(1001);
        DecidedId { pull, root }
    }

    fn here(pull: u64) -> DecidedHere {
        DecidedHere {
            decided: Decided {
                id: id(pull),
                file: "src/page.ts".into(),
                line: Some(8),
                assessment: fixture::thread().assessment,
                category: None,
                anchor_hash: "0".into(),
                decision: Decision::Dismissed,
                since: "2026-01-31".into(),
                url: format!("https://example.test/{pull}"),
            },
            file: "src/page.ts".into(),
            anchor: Anchor::File,
        }
    }

    fn repeated(pull: u64, insists: Option<&str>) -> Repeated {
        Repeated {
            decided: id(pull),
            finding: fixture::finding(),
            serious: false,
            insists: insists.map(str::to_owned),
        }
    }

    #[test]
    fn what_one_reviewer_makes_again_is_not_silenced() {
        let repeated = [
            repeated(3, None),
            repeated(5, None),
            repeated(5, Some("It is public now.")),
        ];
        let report = MemoryReport::new(10, &[here(3), here(5), here(7)], &repeated);
        let decided = |reports: &[RepeatedReport]| {
            let reports = reports.iter();
            reports.map(|one| one.decided.clone()).collect::<Vec<_>>()
        };
        assert_eq!(decided(&report.left), ["#3/1001"]);
        assert_eq!(decided(&report.insisted), ["#5/1001"]);
        assert_eq!(report.numbers(), [3, 5, 7]);
    }

    #[test]
    fn the_step_s_page_lists_what_was_left_and_the_check_s_page_counts_it() {
        let report = MemoryReport::new(10, &[here(3)], &[repeated(3, None)]);
        let page = |page| {
            let mut out = String::new();
            report.markdown(&mut out, page);
            out
        };
        let step = page(Page::Step);
        let row = "| 7 | src/page.ts | The last page is lost. | [#3](https://example.test/3), dismissed |";
        assert!(step.contains(row), "{step}");
        let check = page(Page::Check);
        assert!(
            check.contains("1 finding not made again") && !check.contains("is lost"),
            "{check}"
        );
        let mut nothing = String::new();
        MemoryReport::new(10, &[], &[]).markdown(&mut nothing, Page::Step);
        assert_eq!(nothing, "");
    }
}
