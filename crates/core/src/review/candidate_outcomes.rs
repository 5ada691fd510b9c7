//! The outcomes of the results of static analysis, from the verdicts of all reviewers and the findings that stand at the end. One
//! reviewer who confirms is enough; a result is refuted only if nobody's confirmation stands. Pure.

use super::desk::{CandidateVerdict, Entry, Fate, SharedDesk};
use crate::domain::FindingId;
use crate::static_analysis::Candidate;
use std::collections::BTreeMap;

/// The end of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// A finding says it: by its id, or by the comment of a thread that was on the pull request.
    Confirmed {
        finding: String,
    },
    Refuted {
        reason: String,
        file: String,
        quote: String,
    },
    NotJudged,
}

/// The verdicts of one reviewer, by the places of the candidates.
pub type Verdicts = BTreeMap<usize, CandidateVerdict>;

/// The verdicts on each desk.
#[must_use]
pub fn verdicts(desks: &[SharedDesk]) -> Vec<Verdicts> {
    let of = |desk: &SharedDesk| desk.with(|desk| desk.candidate_verdicts());
    desks
        .iter()
        .map(|desk| of(desk).unwrap_or_default())
        .collect()
}

/// Settles each candidate, and enters the rules that were confirmed into the findings that say them.
#[must_use]
pub fn settle(
    candidates: &[Candidate],
    verdicts: &[Verdicts],
    entries: &mut [Entry],
) -> Vec<CandidateOutcome> {
    let of_one = |(index, candidate): (usize, &Candidate)| {
        let given = verdicts.iter().filter_map(|one| one.get(&index));
        let given: Vec<&CandidateVerdict> = given.collect();
        let confirmed = given.iter().find_map(|verdict| match verdict {
            CandidateVerdict::Confirmed(id) => confirmed(candidate, id, entries),
            CandidateVerdict::SaidIn(thread) => Some(thread.to_string()),
            CandidateVerdict::Refuted { .. } => None,
        });
        if let Some(finding) = confirmed {
            return CandidateOutcome::Confirmed { finding };
        }
        let refuted = given.into_iter().find_map(|verdict| match verdict.clone() {
            CandidateVerdict::Refuted {
                reason,
                file,
                quote,
            } => Some(CandidateOutcome::Refuted {
                reason,
                file,
                quote,
            }),
            CandidateVerdict::Confirmed(_) | CandidateVerdict::SaidIn(_) => None,
        });
        refuted.unwrap_or(CandidateOutcome::NotJudged)
    };
    candidates.iter().enumerate().map(of_one).collect()
}

/// The id of the finding that stands for another one, with the rule entered; `None` where none stands any more.
fn confirmed(candidate: &Candidate, id: &FindingId, entries: &mut [Entry]) -> Option<String> {
    let mut at = entries.iter().position(|entry| entry.finding.id == *id)?;
    // A finding may be part of another one, which may be part of a third.
    for _ in 0..entries.len() {
        let Fate::CombinedInto(whole) = entries[at].fate else {
            break;
        };
        at = entries.iter().position(|entry| entry.id == whole)?;
    }
    let entry = entries.get_mut(at).filter(|entry| entry.is_live())?;
    let found_by = &mut entry.finding.support.found_by;
    if !found_by.contains(&candidate.rule) {
        found_by.push(candidate.rule.clone());
    }
    Some(entry.finding.id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CommentId, Finding, ToolRule, fixture};
    use crate::static_analysis::Level;

    fn candidate(rule: &str) -> Candidate {
        Candidate {
            rule: ToolRule::new("semgrep", rule),
            level: Level::Error,
            severity: None,
            message: String::new(),
            help: String::new(),
            path: "src/a.rs".into(),
            line: 11,
        }
    }

    fn entry(id: u32, fate: Fate) -> Entry {
        let finding = Finding {
            id: format!("{id:016x}").parse().unwrap(),
            ..fixture::finding()
        };
        Entry {
            id,
            given: finding.assessment.score,
            finding,
            fate,
            carried: false,
            worded: true,
        }
    }

    fn confirmed_by(id: u32) -> CandidateVerdict {
        CandidateVerdict::Confirmed(format!("{id:016x}").parse().unwrap())
    }

    fn refuted() -> CandidateVerdict {
        CandidateVerdict::Refuted {
            reason: "It is capped.".into(),
            file: "src/a.rs".into(),
            quote: "let b = 2;".into(),
        }
    }

    #[test]
    fn one_confirmation_that_stands_outweighs_any_refutation() {
        let mut entries = [
            entry(1, Fate::CombinedInto(2)),
            entry(2, Fate::Staged),
            entry(3, Fate::Withdrawn("It holds no more.".into())),
        ];
        let candidates = ["a", "b", "c", "d", "e"].map(candidate);
        let first = Verdicts::from([
            (0, refuted()),
            (1, refuted()),
            (2, confirmed_by(3)),
            (4, confirmed_by(2)),
        ]);
        let said = CandidateVerdict::SaidIn(CommentId(55));
        let second = Verdicts::from([(0, confirmed_by(1)), (2, refuted()), (3, said)]);
        let outcomes = settle(&candidates, &[first, second], &mut entries);
        let told: Vec<String> = outcomes
            .iter()
            .map(|outcome| match outcome {
                CandidateOutcome::Confirmed { finding } => finding.clone(),
                CandidateOutcome::Refuted { quote, .. } => quote.clone(),
                CandidateOutcome::NotJudged => "-".into(),
            })
            .collect();
        assert_eq!(
            told,
            [
                "0000000000000002",
                "let b = 2;",
                "let b = 2;",
                "55",
                "0000000000000002"
            ]
        );
        let rules: Vec<&str> = entries[1]
            .finding
            .support
            .found_by
            .iter()
            .map(|one| one.rule.as_str())
            .collect();
        assert_eq!(rules, ["a", "e"]);
        assert_eq!(
            settle(&candidates[..1], &[], &mut entries),
            [CandidateOutcome::NotJudged]
        );
    }
}
