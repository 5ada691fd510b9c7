//! From the sessions of a large change's sections to one result: one list of findings, in which one that two sections made
//! stands once, then the consolidation of them all. The order in which the sessions end decides nothing. Pure.

use super::desk::{Desk, Effect, Entry, Fate, Repeated, StagedReply};
use crate::domain::{FindingId, PASSES, Role, Score};
use crate::panel::cluster;
use crate::panel::{Claim, ClaimId};
use std::collections::{BTreeMap, BTreeSet};

/// So many findings of one file are compared. More are a runaway model.
const MOST_COMPARED: usize = 300;

/// Everything that was said in a review, or in one section of it.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub entries: Vec<Entry>,
    /// The findings that may be published.
    pub due: BTreeSet<FindingId>,
    pub replies: Vec<StagedReply>,
    /// Findings that are open, and that only the text of an earlier review says.
    pub still_said: BTreeMap<FindingId, Score>,
    /// Findings that repeat what people decided in other pull requests.
    pub repeated: Vec<Repeated>,
    /// True if all passes were submitted.
    pub finished: bool,
}

impl Said {
    /// Adds replies, one for each thread.
    fn take(&mut self, replies: impl Iterator<Item = StagedReply>) {
        for reply in replies {
            if self
                .replies
                .iter()
                .all(|one| one.thread.id != reply.thread.id)
            {
                self.replies.push(reply);
            }
        }
    }
}

/// The words of all sections.
#[derive(Debug, Clone, Default)]
pub struct Assembled {
    pub said: Said,
    /// The section of each entry, in their order.
    sections: Vec<usize>,
    /// The findings that the consolidation is about.
    subjects: BTreeSet<FindingId>,
}

impl Assembled {
    /// Puts together what the sections have said, in their order.
    #[must_use]
    pub fn new(all: Vec<Said>) -> Self {
        let mut sum = Self::default();
        sum.said.finished = true;
        for (section, mut one) in all.into_iter().enumerate() {
            let before = u32::try_from(sum.said.entries.len()).unwrap_or(u32::MAX);
            for mut entry in one.entries {
                entry.id = entry.id.saturating_add(before);
                if let Fate::CombinedInto(number) = &mut entry.fate {
                    *number = number.saturating_add(before);
                }
                let suppressed = one.finished && matches!(entry.fate, Fate::Suppressed(_));
                if suppressed || (entry.fate == Fate::Staged && one.due.contains(&entry.finding.id))
                {
                    sum.subjects.insert(entry.finding.id.clone());
                }
                sum.said.entries.push(entry);
                sum.sections.push(section);
            }
            let all = &mut sum.said;
            all.due.append(&mut one.due);
            all.still_said.append(&mut one.still_said);
            all.repeated.append(&mut one.repeated);
            all.finished &= one.finished;
            // Threads are the first session's, as far as they are not found again.
            let replies = one.replies.into_iter();
            let replies = replies.filter(|one| section == 0 || one.effect == Effect::Reopen);
            all.take(replies);
        }
        sum.merge();
        sum
    }

    /// Leaves one of the findings that several sections made: the same cause at the same place, by the rules for several
    /// reviewers.
    fn merge(&mut self) {
        let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, entry) in self.said.entries.iter().enumerate() {
            let is_due = self.said.due.contains(&entry.finding.id);
            if is_due && entry.fate == Fate::Staged {
                files.entry(&entry.finding.file).or_default().push(at);
            }
        }
        let mut repeats: Vec<(usize, u32)> = Vec::new();
        for places in files.values() {
            let places = &places[..places.len().min(MOST_COMPARED)];
            repeats.extend(self.repeats(places));
        }
        for (at, lead) in repeats {
            let entry = &mut self.said.entries[at];
            entry.fate = Fate::CombinedInto(lead);
            self.said.due.remove(&entry.finding.id);
            self.subjects.remove(&entry.finding.id);
        }
    }

    /// Those of these entries, of one file, that repeat another, each with the number of that.
    fn repeats(&self, places: &[usize]) -> Vec<(usize, u32)> {
        let claims: Vec<Claim> = places
            .iter()
            .map(|at| {
                let entry = &self.said.entries[*at];
                Claim {
                    id: ClaimId {
                        seat: self.sections[*at],
                        number: entry.id,
                    },
                    finding: entry.finding.clone(),
                    withdrawn: false,
                    blocks: false,
                }
            })
            .collect();
        let grouping = cluster::group(&claims);
        let mut repeats = Vec::new();
        for (_, ids) in grouping.clusters() {
            let mut same: Vec<(usize, &Claim)> = places
                .iter()
                .copied()
                .zip(&claims)
                .filter(|(_, claim)| ids.contains(&claim.id))
                .collect();
            // What an earlier review has promised stays under its name.
            same.sort_by_key(|(at, claim)| (!self.said.entries[*at].carried, claim.lead_key()));
            let mut same = same.into_iter();
            let Some((_, lead)) = same.next() else {
                continue;
            };
            repeats.extend(same.map(|(at, _)| (at, lead.id.number)));
        }
        repeats
    }

    /// The findings that are consolidated, if there is something to consolidate: those of one section were consolidated in it.
    #[must_use]
    pub fn to_consolidate(&self) -> Option<&BTreeSet<FindingId>> {
        let of = self.sections.iter().zip(&self.said.entries);
        let of = of.filter(|(_, entry)| self.subjects.contains(&entry.finding.id));
        let sections: BTreeSet<&usize> = of.map(|(section, _)| section).collect();
        (sections.len() > 1).then_some(&self.subjects)
    }

    /// The result after the consolidation, which counts as a whole or not at all.
    #[must_use]
    pub fn consolidated(self, desk: &Desk) -> Said {
        let mut said = self.said;
        said.repeated.extend_from_slice(desk.repeated());
        let last = PASSES.first(Role::Consolidation);
        let finished = last.is_some_and(|last| desk.ledger.is_finished(last));
        let known = said.entries.len();
        let new = desk.entries().iter().skip(known);
        if !finished {
            // Its own findings are in the report, and nowhere else.
            let new = new.filter(|entry| entry.is_live());
            said.entries.extend(new.cloned());
            said.finished = false;
            return said;
        }
        let (due, _) = desk.publishable();
        let due: BTreeSet<&FindingId> = due.iter().map(|entry| &entry.finding.id).collect();
        for entry in new.filter(|entry| due.contains(&entry.finding.id)) {
            said.due.insert(entry.finding.id.clone());
        }
        said.entries = desk.entries().to_vec();
        let standing = said.entries.iter();
        let standing = standing.filter(|entry| entry.fate == Fate::Staged);
        let standing: BTreeSet<&FindingId> = standing.map(|entry| &entry.finding.id).collect();
        said.due.retain(|id| standing.contains(id));
        let (_, replies) = desk.publishable();
        let replies = replies.into_iter();
        said.take(replies.filter(|one| one.effect == Effect::Reopen).cloned());
        said.still_said
            .extend(desk.still_said().map(|(id, score)| (id.clone(), score)));
        said
    }
}

#[cfg(test)]
mod tests;
