//! Keeps a report small enough for the comment and the check run that hold it: GitHub refuses longer ones, and a report that
//! is not written down is a cycle that nobody counts.

use super::{FixReport, MAX_WORDS, clipped_to};

/// The most bytes of all outcomes.
const ROOM: usize = 24_000;
/// The lengths of the words that are tried, and whether the marks of lines are kept.
const STEPS: [(usize, bool); 5] = [
    (MAX_WORDS, true),
    (120, true),
    (60, true),
    (60, false),
    (0, false),
];

impl FixReport {
    /// The same within the room: the words by which findings are known again become shorter, then marks of lines are left out.
    /// Ids and outcomes stay.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        for (words, marks) in STEPS {
            for kept in &mut self.outcomes {
                for text in [&mut kept.finding, &mut kept.assessment] {
                    *text = clipped_to(text, words).to_owned();
                }
                if !marks {
                    kept.marks.clear();
                }
            }
            let size = serde_json::to_string(&self.outcomes).map_or(0, |json| json.len());
            if size <= ROOM {
                break;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::issue::fixture::issue;
    use super::super::super::reverts::LineMarks;
    use super::super::{KeptIssue, KeptOutcome};
    use super::*;

    fn report(issues: usize, marks: usize) -> FixReport {
        let outcome = |n: usize| {
            let mut issue = issue(&format!("{n:016x}"), "src/page.ts");
            issue.text = "é".repeat(400);
            let marks = LineMarks {
                file: "src/page.ts".into(),
                added: (0..marks).map(|n| format!("{n:08x}")).collect(),
                removed: Vec::new(),
            };
            KeptIssue::new(&issue, KeptOutcome::Fixed, vec![marks])
        };
        FixReport {
            cycle: 1,
            outcomes: (0..issues).map(outcome).collect(),
            ..FixReport::default()
        }
    }

    #[test]
    fn a_small_report_stays_as_it_is() {
        let report = report(5, 20);
        assert_eq!(report.clone().fitted(), report);
    }

    #[test]
    fn a_large_report_loses_words_and_marks_and_no_outcome() {
        for (issues, marks) in [(60, 3), (100, 0), (130, 400), (1, 4_000)] {
            let large = report(issues, marks);
            let fitted = large.clone().fitted();
            let size = serde_json::to_string(&fitted.outcomes).unwrap().len();
            assert!(size <= ROOM, "{issues} {marks}: {size}");
            let ids = |report: &FixReport| -> Vec<(String, KeptOutcome)> {
                let outcomes = report.outcomes.iter();
                outcomes
                    .map(|kept| (kept.id.clone(), kept.outcome))
                    .collect()
            };
            assert_eq!(ids(&fitted), ids(&large));
        }
    }
}
