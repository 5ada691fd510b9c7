//! The cross-examination in the last pass of a panel: findings of other reviewers that this one verifies, and pairs that may
//! have the same cause. Who raised them is not told. A reviewer speaks only about what its own docket lists.

use super::{Answer, Desk, Entry, Fate};
use crate::domain::{Finding, Role};
use crate::panel::{ClaimId, Verdict};
use crate::review::ledger::Stage;
use std::collections::BTreeMap;

/// A finding to verify.
#[derive(Debug, Clone)]
pub struct ToVerify {
    pub claim: ClaimId,
    pub finding: Finding,
}

/// Two findings that may have the same cause.
#[derive(Debug, Clone)]
pub struct ToCompare {
    pub claims: (ClaimId, ClaimId),
    pub findings: (Finding, Finding),
}

/// The questions to one reviewer about findings of others. The model names an item by its number, from 1.
#[derive(Debug, Clone, Default)]
pub struct Docket {
    pub findings: Vec<ToVerify>,
    pub pairs: Vec<ToCompare>,
}

impl Docket {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.pairs.is_empty()
    }
}

/// The name of a finding to verify, as the prompt and the tool write it.
#[must_use]
pub fn finding_name(index: usize) -> String {
    format!("f-{}", index + 1)
}

/// The name of a pair.
#[must_use]
pub fn pair_name(index: usize) -> String {
    format!("pair-{}", index + 1)
}

/// The docket, and the answers to it so far.
#[derive(Debug, Default)]
pub(super) struct Examination {
    /// The findings of this reviewer as they stood when the others began to judge them; `None` before that.
    judged: Option<BTreeMap<u32, Finding>>,
    docket: Docket,
    verdicts: BTreeMap<usize, Verdict>,
    same: BTreeMap<usize, bool>,
}

/// A verdict as the model gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenVerdict {
    Confirm,
    Refute,
    Unsure,
}

/// The quote of a refutation, looked up in the code before the desk judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quote {
    None,
    Found(String),
    /// Not in the file that was named, or there is no such file.
    NotFound,
}

impl Desk {
    /// Lays down what the last pass asks about findings of others.
    pub fn begin_examination(&mut self, docket: Docket) {
        let (publishable, _) = self.publishable();
        let judged = publishable.into_iter().filter(|entry| !entry.carried);
        let judged = judged.map(|entry| (entry.id, entry.finding.clone()));
        self.examination = Examination {
            judged: Some(judged.collect()),
            docket,
            ..Examination::default()
        };
    }

    /// Returns true if the reviewer withdrew a finding of its own while others judged it. One that it withdrew before was
    /// never before the panel.
    #[must_use]
    pub fn withdrew_in_examination(&self, entry: &Entry) -> bool {
        let judged = self.own_as_judged();
        matches!(entry.fate, Fate::Withdrawn(_))
            && judged.is_some_and(|judged| judged.contains_key(&entry.id))
    }

    /// The findings of this reviewer by their numbers, in the words in which the others judged them; `None` where it did not
    /// come to that. The last pass words them anew.
    #[must_use]
    pub(crate) fn own_as_judged(&self) -> Option<&BTreeMap<u32, Finding>> {
        self.examination.judged.as_ref()
    }

    /// The verdict on a finding of another reviewer.
    pub fn judge_finding(
        &mut self,
        name: &str,
        given: GivenVerdict,
        reason: &str,
        quote: Quote,
    ) -> Answer {
        self.in_examination()?;
        let index = index(name, "f-", self.examination.docket.findings.len())?;
        let reason = reason.trim();
        if reason.is_empty() && given != GivenVerdict::Unsure {
            return Err(
                "reason is empty. Say in your own words what happens, and call again.".into(),
            );
        }
        let verdict = match (given, quote) {
            (GivenVerdict::Confirm, _) => Verdict::Confirm {
                reason: reason.to_owned(),
            },
            (GivenVerdict::Unsure, _) => Verdict::Unsure,
            (GivenVerdict::Refute, Quote::Found(quote)) => Verdict::Refute {
                reason: reason.to_owned(),
                quote,
            },
            (GivenVerdict::Refute, Quote::None) => {
                return Err(
                    "A refutation needs file and quote: code or a test that contradicts the finding. Give them, or say \
                     unsure."
                        .into(),
                );
            }
            (GivenVerdict::Refute, Quote::NotFound) => {
                return Err(
                    "The quote is not code of that file. Copy it exactly as `read` shows it, without line numbers, or \
                     say unsure."
                        .into(),
                );
            }
        };
        self.examination.verdicts.insert(index, verdict);
        Ok(format!(
            "Recorded for {}.{}",
            finding_name(index),
            self.still_asked()
        ))
    }

    /// The answer whether two findings have the same cause.
    pub fn compare_findings(&mut self, name: &str, same: bool) -> Answer {
        self.in_examination()?;
        let index = index(name, "pair-", self.examination.docket.pairs.len())?;
        self.examination.same.insert(index, same);
        Ok(format!(
            "Recorded for {}.{}",
            pair_name(index),
            self.still_asked()
        ))
    }

    /// The verdicts that this reviewer gave.
    pub fn verdicts(&self) -> impl Iterator<Item = (ClaimId, &Verdict)> {
        let Examination {
            docket, verdicts, ..
        } = &self.examination;
        verdicts
            .iter()
            .filter_map(|(index, verdict)| Some((docket.findings.get(*index)?.claim, verdict)))
    }

    /// The pairs that this reviewer compared.
    pub fn compared(&self) -> impl Iterator<Item = ((ClaimId, ClaimId), bool)> {
        let Examination { docket, same, .. } = &self.examination;
        same.iter()
            .filter_map(|(index, same)| Some((docket.pairs.get(*index)?.claims, *same)))
    }

    fn in_examination(&self) -> Result<(), String> {
        let stage = self.ledger.current();
        if let Some(why) = stage.and_then(Stage::refusal) {
            return Err(why.into());
        }
        match stage {
            Some(Stage::Pass(pass))
                if self.ledger.passes().role(pass) == Some(Role::Consolidation) =>
            {
                Ok(())
            }
            _ => Err(
                "Findings of others are judged in the last pass only. Nothing was recorded.".into(),
            ),
        }
    }

    fn still_asked(&self) -> String {
        let Examination {
            docket,
            verdicts,
            same,
            ..
        } = &self.examination;
        let findings = (0..docket.findings.len()).filter(|index| !verdicts.contains_key(index));
        let pairs = (0..docket.pairs.len()).filter(|index| !same.contains_key(index));
        let names: Vec<String> = findings
            .map(finding_name)
            .chain(pairs.map(pair_name))
            .collect();
        match names.as_slice() {
            [] => " Nothing of others is left.".into(),
            names => format!(" Still to judge: {}.", names.join(", ")),
        }
    }
}

fn index(name: &str, prefix: &str, count: usize) -> Result<usize, String> {
    let number = name.trim().strip_prefix(prefix).unwrap_or(name.trim());
    let number = number.parse::<usize>().ok();
    let index = number.and_then(|number| number.checked_sub(1));
    index
        .filter(|index| *index < count)
        .ok_or_else(|| match count {
            0 => "Nothing of this kind was given to you to judge.".into(),
            count => format!("There is no {name}; the prompt lists {prefix}1 to {prefix}{count}."),
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{desk, draft};
    use super::*;
    use crate::domain::{PassNumber, ThreadId};

    #[test]
    fn only_what_was_before_the_panel_can_be_withdrawn_from_it() {
        let mut desk = desk();
        desk.post(draft("Counter starts at two.", 7)).unwrap();
        desk.post(draft("Name is too generic here.", 2)).unwrap();
        desk.submit(1, "Done.", false, &[]).unwrap();
        desk.begin_examination(Docket::default());
        desk.ledger.begin(PassNumber::new(4).unwrap());
        for id in [1, 2] {
            let own = ThreadId::Provisional(id);
            desk.resolve(own, "It holds no more.", None).unwrap();
        }
        let withdrawn = desk.entries().iter();
        let withdrawn: Vec<u32> = withdrawn
            .filter(|entry| desk.withdrew_in_examination(entry))
            .map(|entry| entry.id)
            .collect();
        assert_eq!(withdrawn, [1], "the other one is below the threshold");
    }
}
