//! The consensus in the report: the conclusion, the rule that decided, and the numbers of findings per priority.

use super::conversations::AnalyzerReport;
use crate::domain::{ReviewEvent, Verdict};
use crate::panel::consensus::{Consensus, Ruling, Totals};
use crate::panel::review_state::Requester;
use crate::publish::comment::judgement::no_consensus;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The common judgement on the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConsensusReport {
    /// Null where the review is not complete, or a reviewer did not finish.
    #[schemars(extend("enum" = ["approve", "request_changes", "needs_major_work", null]))]
    pub conclusion: Option<&'static str>,
    /// The same, for the rounds of fixing; decided whether the review is complete or not.
    #[serde(skip)]
    pub consensus: Consensus,
    /// The number of the rule that decided: 0 a person requests changes, 1 to 3 a finding of P0, P1 or P2 stands, 4 none does.
    #[schemars(range(min = 0, max = 4))]
    pub rule: Option<u8>,
    /// The reason in words.
    pub because: String,
    /// The people of the repository who request changes.
    pub changes_requested_by: Vec<RequesterReport>,
    /// The findings that stand, with those of the comments analyzer.
    pub issues: IssuesReport,
    /// All findings that this run raised, whatever became of them.
    pub raised: IssuesReport,
    /// The open conversations of people.
    pub comments_analyzer: AnalyzerReport,
    /// The event of the review that this run posted; null where it posted none.
    #[schemars(extend("enum" = ["approve", "request_changes", "comment", null]))]
    pub review_event: Option<&'static str>,
}

/// A person who requests changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequesterReport {
    pub login: String,
    #[schemars(extend("enum" = ["OWNER", "MEMBER", "COLLABORATOR"]))]
    pub association: &'static str,
}

/// The number of findings of each priority: scores 9 to 10, 7 to 8, 5 to 6, 1 to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IssuesReport {
    pub p0_blocking: usize,
    pub p1_critical: usize,
    pub p2_important: usize,
    pub p3_suggestion: usize,
}

impl From<Totals> for IssuesReport {
    fn from(totals: Totals) -> Self {
        Self {
            p0_blocking: totals.p0,
            p1_critical: totals.p1,
            p2_important: totals.p2,
            p3_suggestion: totals.p3,
        }
    }
}

impl From<&Requester> for RequesterReport {
    fn from(person: &Requester) -> Self {
        Self {
            login: person.login.to_string(),
            association: person.association.name(),
        }
    }
}

impl ConsensusReport {
    /// Reports a ruling. There is no consensus where the verdict says that the review is not complete.
    #[must_use]
    pub fn new(
        ruling: &Ruling,
        verdict: Verdict,
        raised: Totals,
        comments_analyzer: AnalyzerReport,
        posted: Option<ReviewEvent>,
    ) -> Self {
        let complete = matches!(
            verdict,
            Verdict::Clean | Verdict::Findings | Verdict::Blocking
        );
        Self {
            consensus: ruling.consensus(),
            conclusion: complete.then(|| ruling.consensus().name()),
            rule: complete.then(|| ruling.rule.number()),
            because: if complete {
                ruling.because()
            } else {
                no_consensus(verdict).into()
            },
            changes_requested_by: ruling
                .people
                .changes_requested_by()
                .iter()
                .map(RequesterReport::from)
                .collect(),
            issues: ruling.standing.into(),
            raised: raised.into(),
            comments_analyzer,
            review_event: posted.map(ReviewEvent::name),
        }
    }

    /// Takes the conclusion back, because not all declared reviewers finished. A person can accept the gap, but nobody's word makes a
    /// consensus of fewer reviewers.
    pub fn withhold(&mut self, why: String) {
        self.conclusion = None;
        self.rule = None;
        self.because = why;
    }

    /// The consensus and its numbers, for a page.
    pub(super) fn markdown(&self, out: &mut String) {
        let words = self.conclusion.map(|name| name.replace('_', " "));
        let _ = match (&words, self.rule) {
            (Some(words), Some(rule)) => {
                writeln!(
                    out,
                    "**Consensus: {words}** (rule {rule}: {}).\n",
                    self.because
                )
            }
            _ => writeln!(out, "**Consensus: none**, because {}.\n", self.because),
        };
        out.push_str("| Findings | P0 | P1 | P2 | P3 |\n| --- | ---: | ---: | ---: | ---: |\n");
        for (name, issues) in [
            ("standing", &self.issues),
            ("raised in this run", &self.raised),
        ] {
            let _ = writeln!(
                out,
                "| {name} | {} | {} | {} | {} |",
                issues.p0_blocking, issues.p1_critical, issues.p2_important, issues.p3_suggestion
            );
        }
        out.push('\n');
        self.comments_analyzer.markdown(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Score;
    use crate::panel::analysis::Analysis;
    use crate::panel::consensus::Priority;
    use crate::panel::review_state::ReviewState;

    fn report(verdict: Verdict) -> ConsensusReport {
        let scores = [9, 7, 7, 3].into_iter().filter_map(Score::new);
        let raised = [9, 7, 7, 6, 3].into_iter().filter_map(Score::new).collect();
        let standing = scores.map(Priority::from);
        let ruling = Ruling::decide(standing, [], ReviewState::default());
        let event = Some(ReviewEvent::RequestChanges);
        let analyzer = AnalyzerReport::new(1, &Analysis::default(), &ruling.people);
        ConsensusReport::new(&ruling, verdict, raised, analyzer, event)
    }

    fn page(report: &ConsensusReport) -> String {
        let mut out = String::new();
        report.markdown(&mut out);
        out
    }

    #[test]
    fn the_consensus_as_people_read_it() {
        assert_eq!(
            page(&report(Verdict::Blocking)),
            "**Consensus: needs major work** (rule 1: 1 finding of P0 stands).\n\n\
             | Findings | P0 | P1 | P2 | P3 |\n\
             | --- | ---: | ---: | ---: | ---: |\n\
             | standing | 1 | 2 | 0 | 1 |\n\
             | raised in this run | 1 | 2 | 1 | 1 |\n\n"
        );
        assert!(
            page(&report(Verdict::Incomplete))
                .starts_with("**Consensus: none**, because the review is incomplete.\n"),
        );
    }

    #[test]
    fn a_consensus_that_is_withheld_has_no_conclusion() {
        let mut report = report(Verdict::Findings);
        report.withhold("reviewer security did not finish".into());
        assert_eq!((report.conclusion, report.rule), (None, None));
        assert!(
            page(&report)
                .starts_with("**Consensus: none**, because reviewer security did not finish.\n"),
        );
    }
}
