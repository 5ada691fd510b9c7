//! Results of static analysis on the desk: each candidate is confirmed by a finding that stands, refuted with a quote, or not judged.
//! A verdict of the model posts nothing by itself: the finding is weighed like any other.

use super::{Answer, AuthorText, Desk, Entry, Fate, Quote};
use crate::domain::{CommentId, FindingId, ThreadId};
use crate::static_analysis::{Candidate, candidate_name};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest reason that is kept.
const LONGEST_REASON: usize = 2_000;

/// The candidates of the run, and what this reviewer said about them.
#[derive(Debug, Default)]
pub(super) struct Docketed {
    candidates: Arc<[Candidate]>,
    verdicts: BTreeMap<usize, CandidateVerdict>,
}

/// The verdict of a reviewer on a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateVerdict {
    /// A finding of this run says it.
    Confirmed(FindingId),
    /// A thread that is on the pull request says it.
    SaidIn(CommentId),
    Refuted {
        reason: String,
        /// The path in the snapshot.
        file: String,
        quote: String,
    },
}

/// A verdict as the model gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenCandidateVerdict {
    Confirm {
        finding: ThreadId,
    },
    Refute {
        reason: String,
        file: String,
        quote: Quote,
    },
}

impl Desk {
    /// The same desk with results of static analysis to judge.
    #[must_use]
    pub fn with_candidates(mut self, candidates: &Arc<[Candidate]>) -> Self {
        self.docketed.candidates = Arc::clone(candidates);
        self
    }

    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.docketed.candidates
    }

    /// The verdicts of this reviewer that hold, by the places of the candidates. One whose finding was withdrawn is none.
    #[must_use]
    pub fn candidate_verdicts(&self) -> BTreeMap<usize, CandidateVerdict> {
        let all = self.docketed.verdicts.iter();
        let holds = |verdict: &CandidateVerdict| match verdict {
            CandidateVerdict::Confirmed(id) => self.stands(id),
            CandidateVerdict::SaidIn(_) | CandidateVerdict::Refuted { .. } => true,
        };
        all.filter(|(_, verdict)| holds(verdict))
            .map(|(index, verdict)| (*index, verdict.clone()))
            .collect()
    }

    /// The names of the candidates without a verdict.
    #[must_use]
    pub fn unjudged_candidates(&self) -> Vec<String> {
        let judged = self.candidate_verdicts();
        let all = 0..self.docketed.candidates.len();
        all.filter(|index| !judged.contains_key(index))
            .map(candidate_name)
            .collect()
    }

    /// The verdict on a result of static analysis.
    pub fn judge_candidate(&mut self, name: &str, given: GivenCandidateVerdict) -> Answer {
        self.current_pass()?;
        let index = self.candidate(name)?;
        let verdict = match given {
            GivenCandidateVerdict::Confirm { finding } => self.confirmed_by(finding)?,
            GivenCandidateVerdict::Refute {
                reason,
                file,
                quote,
            } => refuted(&reason, file, quote)?,
        };
        self.docketed.verdicts.insert(index, verdict);
        let left = match self.unjudged_candidates().as_slice() {
            [] => " No result is left.".to_owned(),
            names => format!(" Still to judge: {}.", names.join(", ")),
        };
        Ok(format!("Recorded for {}.{left}", candidate_name(index)))
    }

    /// Refuses the last pass once for what is missing: texts for the author, and verdicts on results of static analysis.
    pub(super) fn ask_once_for_missing(&mut self, texts: &[AuthorText]) -> Result<(), String> {
        let texts = self.take_texts(texts);
        let unjudged = self.unjudged_candidates().join(", ");
        let verdicts = (!unjudged.is_empty()).then(|| {
            format!("No verdict on results of static analysis: {unjudged}. Call `submit_candidate_verdict` for each.")
        });
        if texts.is_empty() && verdicts.is_none()
            || std::mem::replace(&mut self.missing_refused, true)
        {
            return Ok(());
        }
        let with = if texts.is_empty() {
            ""
        } else {
            ", with these in `texts`; the other texts are kept"
        };
        let faults: Vec<String> = texts.into_iter().chain(verdicts).collect();
        Err(format!(
            "The pass is not submitted yet. {} Then submit it again{with}.",
            faults.join(" ")
        ))
    }

    fn candidate(&self, name: &str) -> Result<usize, String> {
        let number = name.trim().trim_start_matches(['S', 's']).parse::<usize>();
        let index = number.ok().and_then(|number| number.checked_sub(1));
        let count = self.docketed.candidates.len();
        index
            .filter(|index| *index < count)
            .ok_or_else(|| match count {
                0 => "There are no results of static analysis to judge.".into(),
                _ => format!(
                    "There is no result {:?}; the first prompt lists S1 to {}.",
                    name.chars().take(40).collect::<String>(),
                    candidate_name(count - 1)
                ),
            })
    }

    fn confirmed_by(&self, finding: ThreadId) -> Result<CandidateVerdict, String> {
        if let ThreadId::Published(id) = finding {
            let mut threads = self.subject.threads.iter();
            if threads.any(|thread| thread.id == id && thread.status.is_open()) {
                return Ok(CandidateVerdict::SaidIn(id));
            }
        }
        let entry = self.position(finding).map(|index| &self.entries[index]);
        let entry = entry.filter(|entry| is_said(entry)).ok_or_else(|| {
            format!(
                "{finding} is no finding that stands. Record the defect with github_post_review_comment, and give its id as \
                 finding_id; or refute the result."
            )
        })?;
        Ok(CandidateVerdict::Confirmed(entry.finding.id.clone()))
    }

    fn stands(&self, id: &FindingId) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.finding.id == *id && is_said(entry))
    }
}

/// True for a finding that stands, be it as part of another one.
fn is_said(entry: &Entry) -> bool {
    entry.is_live() || matches!(entry.fate, Fate::CombinedInto(_))
}

fn refuted(reason: &str, file: String, quote: Quote) -> Result<CandidateVerdict, String> {
    let reason = reason.trim();
    if reason.is_empty() || reason.len() > LONGEST_REASON {
        return Err(format!(
            "reason must have 1 to {LONGEST_REASON} characters. Say what contradicts the result, and call again."
        ));
    }
    match quote {
        Quote::Found(quote) => Ok(CandidateVerdict::Refuted {
            reason: reason.to_owned(),
            file,
            quote,
        }),
        Quote::None => Err(
            "A refutation needs file and quote: code that contradicts the result. Give them, or confirm it with a finding.".into(),
        ),
        Quote::NotFound => Err(
            "The quote is not code of that file. Copy it exactly as `read` shows it, without line numbers, and call again.".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{desk, draft};
    use super::*;
    use crate::domain::{PassNumber, ToolRule};
    use crate::static_analysis::Level;

    fn candidates(count: usize) -> Arc<[Candidate]> {
        let one = |number| Candidate {
            rule: ToolRule::new("semgrep", &format!("rule-{number}")),
            level: Level::Warning,
            severity: None,
            message: "It may overflow.".into(),
            help: String::new(),
            path: "src/a.rs".into(),
            line: 11,
        };
        (0..count).map(one).collect()
    }

    fn confirm(id: u32) -> GivenCandidateVerdict {
        GivenCandidateVerdict::Confirm {
            finding: ThreadId::Provisional(id),
        }
    }

    fn refute(quote: Quote) -> GivenCandidateVerdict {
        GivenCandidateVerdict::Refute {
            reason: "It is capped.".into(),
            file: "src/a.rs".into(),
            quote,
        }
    }

    fn found() -> Quote {
        Quote::Found("let b = 2;".into())
    }

    #[test]
    fn a_result_is_confirmed_by_a_finding_that_stands_and_refuted_by_a_quote() {
        let mut desk = desk().with_candidates(&candidates(2));
        let early = desk.judge_candidate("S1", confirm(1)).unwrap_err();
        assert!(
            early.starts_with("new-1 is no finding that stands."),
            "{early}"
        );
        desk.post(draft("Counter starts at two.", 7)).unwrap();
        let answer = desk.judge_candidate("S1", confirm(1)).unwrap();
        assert_eq!(answer, "Recorded for S1. Still to judge: S2.");
        for (quote, words) in [
            (Quote::None, "A refutation needs file and quote"),
            (Quote::NotFound, "The quote is not code of that file."),
        ] {
            let refused = desk.judge_candidate("S2", refute(quote)).unwrap_err();
            assert!(refused.starts_with(words), "{refused}");
        }
        let answer = desk.judge_candidate("S2", refute(found())).unwrap();
        assert_eq!(answer, "Recorded for S2. No result is left.");
        assert_eq!(desk.candidate_verdicts().len(), 2);
        for name in ["S3", "S0", "", "new-1"] {
            let refused = desk.judge_candidate(name, confirm(1)).unwrap_err();
            assert!(refused.ends_with("lists S1 to S2."), "{refused}");
        }
    }

    #[test]
    fn a_finding_that_is_withdrawn_confirms_nothing() {
        let mut desk = desk().with_candidates(&candidates(1));
        desk.post(draft("Counter starts at two.", 7)).unwrap();
        desk.judge_candidate("S1", confirm(1)).unwrap();
        desk.resolve(ThreadId::Provisional(1), "A guard handles it.", None)
            .unwrap();
        assert_eq!(desk.unjudged_candidates(), ["S1"]);
    }

    #[test]
    fn the_last_pass_is_asked_once_for_what_was_not_judged() {
        let mut desk = desk().with_candidates(&candidates(2));
        for number in 1..=3 {
            desk.ledger.begin(PassNumber::new(number).unwrap());
            desk.submit(number, "Done.", false, &[]).unwrap();
        }
        desk.ledger.begin(PassNumber::new(4).unwrap());
        let refused = desk.submit(4, "Done.", false, &[]).unwrap_err();
        assert_eq!(
            refused,
            "The pass is not submitted yet. No verdict on results of static analysis: S1, S2. Call \
             `submit_candidate_verdict` for each. Then submit it again."
        );
        desk.judge_candidate("S1", refute(found())).unwrap();
        desk.submit(4, "Done.", false, &[]).unwrap();
        assert_eq!(desk.unjudged_candidates(), ["S2"]);
    }

    #[test]
    fn without_results_nothing_is_asked_for() {
        let mut desk = desk();
        let refused = desk.judge_candidate("S1", confirm(1)).unwrap_err();
        assert_eq!(refused, "There are no results of static analysis to judge.");
        for number in 1..=4 {
            desk.ledger.begin(PassNumber::new(number).unwrap());
            desk.submit(number, "Done.", false, &[]).unwrap();
        }
    }
}
