//! Findings that repeat what people decided in another pull request. They go back to the model, which leaves them or says what
//! differs; the report lists those that it left, so that nothing is silenced unseen.

use super::{Desk, Distinct, Finding};
use crate::domain::{Category, DecidedId, Score, ThreadId};
use crate::state::decided::DecidedHere;
use crate::state::repeats::{Claim, Likeness};

/// A finding that repeats a decided question.
#[derive(Debug, Clone)]
pub struct Repeated {
    pub decided: DecidedId,
    pub finding: Finding,
    /// True if it is about security, or would block.
    pub serious: bool,
    /// The difference, as the model says it; `None`: it left the finding.
    pub insists: Option<String>,
}

impl<'a> From<&'a DecidedHere> for Claim<'a> {
    fn from(here: &'a DecidedHere) -> Self {
        let decided = &here.decided;
        Self {
            finding: &decided.assessment.finding,
            assessment: decided.assessment.as_given(),
            line: here.line(),
            anchor_hash: Some(&decided.anchor_hash),
        }
    }
}

impl Desk {
    /// The findings that repeat decided questions, left or made all the same.
    #[must_use]
    pub fn repeated(&self) -> &[Repeated] {
        &self.repeated
    }

    /// The question about a finding that people decided before, unless the model has said what differs.
    pub(super) fn asked_back(
        &mut self,
        finding: &Finding,
        distinct: Option<&Distinct>,
    ) -> Option<String> {
        let (id, question) = {
            let here = self.most_alike_decided(finding)?;
            (here.decided.id, question(here))
        };
        let distinct = distinct.filter(|one| one.thread == ThreadId::Decided(id));
        let reason = distinct.map(|one| one.reason.clone());
        let asks = reason.is_none();
        let serious = finding.category == Some(Category::Security) || self.would_block(finding);
        let known = self.repeated.iter_mut().find(|one| one.decided == id);
        match known {
            Some(known) if known.insists.is_some() => return None,
            Some(known) => {
                known.insists = reason;
                known.serious |= serious;
                if score(finding) > score(&known.finding) {
                    known.finding = finding.clone();
                }
            }
            None => self.repeated.push(Repeated {
                decided: id,
                finding: finding.clone(),
                serious,
                insists: reason,
            }),
        }
        asks.then_some(question)
    }

    fn most_alike_decided(&self, finding: &Finding) -> Option<&DecidedHere> {
        let mark = Claim::from(finding).mark();
        let here = self.subject.decided.iter();
        let here = here.filter(|here| here.file == finding.file);
        here.map(|here| (Claim::from(here).mark().likeness(&mark), here))
            .filter(|(likeness, _)| *likeness != Likeness::Different)
            .max_by_key(|(likeness, _)| *likeness)
            .map(|(_, here)| here)
    }
}

fn score(finding: &Finding) -> Score {
    finding.assessment.score
}

fn question(here: &DecidedHere) -> String {
    let decided = &here.decided;
    let (id, text) = (decided.id, &decided.assessment.finding);
    format!(
        "This looks like a question that was decided in #{}: \"{text}\" ({}). The code is the same. If it is the same finding, \
         leave it. If it is another one, or this change makes it right, call again with distinct_from {{\"thread_id\": \"{id}\", \
         \"reason\": …}} and say what differs.",
        id.pull, decided.decision
    )
}
