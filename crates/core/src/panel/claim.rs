//! A claim: a finding of one reviewer, before it is known what the others found. Separate from [`Finding`], because a
//! finding is published and a claim may not be.

use crate::domain::{Anchor, Finding, Score};
use std::cmp::Reverse;

/// The name of a claim within the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId {
    /// The number of the reviewer that raised it: its place in the list of seats.
    pub seat: usize,
    /// The number that the reviewer's desk gave it.
    pub number: u32,
}

/// A finding that one reviewer raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub id: ClaimId,
    pub finding: Finding,
    /// True if the reviewer itself withdrew it.
    pub withdrawn: bool,
    /// True if its score reaches the blocking threshold.
    pub blocks: bool,
}

impl Claim {
    #[must_use]
    pub fn score(&self) -> Score {
        self.finding.assessment.score
    }

    /// The text to compare: the sentence, then the beginning of the body up to the remedy or an example. While there is
    /// no body, the assessment stands in.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let finding = &self.finding;
        let body = first_paragraph(&finding.body);
        let rest = if body.is_empty() {
            finding.assessment.as_given()
        } else {
            body
        };
        format!("{}\n{rest}", finding.assessment.finding)
    }

    /// The key that the best claim of a cluster has the least of: a line before a file, the highest score, the lowest id.
    pub(crate) fn lead_key(&self) -> (bool, Reverse<Score>, ClaimId) {
        let on_file = self.finding.anchor == Anchor::File;
        (on_file, Reverse(self.score()), self.id)
    }
}

/// The text up to the first empty line or code block. Remedies follow there, and they differ between reviewers.
#[must_use]
pub fn first_paragraph(text: &str) -> &str {
    let text = text.trim_start();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if start.is_empty() || start.starts_with("```") || start.starts_with("~~~") {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end()
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use crate::domain::Side;
    use crate::domain::fixture::finding;

    /// A claim on a line of `src/page.ts`.
    pub(crate) fn claim(seat: usize, number: u32, line: u32, text: &str) -> Claim {
        let mut finding = finding();
        finding.anchor = at(line);
        finding.anchor_hash = format!("line {line}");
        finding.assessment.finding = text.into();
        finding.body = String::new();
        finding.assessment.assessment = String::new();
        Claim {
            id: ClaimId { seat, number },
            finding,
            withdrawn: false,
            blocks: false,
        }
    }

    pub(crate) fn at(line: u32) -> Anchor {
        Anchor::Line {
            side: Side::Right,
            start: None,
            line,
        }
    }

    impl Claim {
        pub(crate) fn scored(mut self, score: u64) -> Self {
            self.finding.assessment.score = Score::new(score).unwrap();
            self.blocks = score >= 7;
            self
        }

        pub(crate) fn withdrawn(mut self) -> Self {
            self.withdrawn = true;
            self
        }

        pub(crate) fn on_file(mut self) -> Self {
            self.finding.anchor = Anchor::File;
            self.finding.anchor_hash = "file".into();
            self
        }

        pub(crate) fn in_file(mut self, file: &str) -> Self {
            self.finding.file = file.into();
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::claim;
    use super::*;

    #[test]
    fn remedies_and_examples_are_not_compared() {
        for (text, compared) in [
            (
                "Rounds down.\nLoses a page.\n\nUse `ceil`.",
                "Rounds down.\nLoses a page.",
            ),
            ("Rounds down.\r\n\r\nUse `ceil`.", "Rounds down."),
            ("\n\nRounds down.\n```suggestion\nceil\n```", "Rounds down."),
            ("```rust\nceil\n```", ""),
            ("", ""),
        ] {
            assert_eq!(first_paragraph(text), compared, "{text:?}");
        }
    }

    #[test]
    fn the_assessment_stands_in_until_there_is_a_body() {
        let mut one = claim(0, 1, 2, "The last page is lost.");
        one.finding.assessment.assessment = "It happens on every call.".into();
        assert_eq!(
            one.text(),
            "The last page is lost.\nIt happens on every call."
        );
        one.finding.body = "Rounds down.\n\nRound up.".into();
        assert_eq!(one.text(), "The last page is lost.\nRounds down.");
    }

    #[test]
    fn the_best_claim_is_on_a_line_then_scored_highest_then_the_first() {
        let mut claims = [
            claim(0, 1, 2, "a").scored(9).on_file(),
            claim(2, 1, 2, "b").scored(6),
            claim(1, 2, 2, "c").scored(6),
            claim(1, 1, 2, "d").scored(4),
        ];
        claims.sort_by_key(Claim::lead_key);
        let order: Vec<&str> = claims
            .iter()
            .map(|claim| claim.finding.assessment.finding.as_str())
            .collect();
        assert_eq!(order, ["c", "b", "d", "a"]);
    }
}
