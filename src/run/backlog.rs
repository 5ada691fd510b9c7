//! Findings that a run before this one has made and could not post. They are posted now, in the same words, if their
//! code still stands and nobody has said the same meanwhile.

use super::Run;
use super::meanwhile::said_in;
use super::reading::Reading;
use crate::domain::{Finding, FindingId};
use crate::publish::comment;
use crate::state::owed::{self, Owed};
use crate::state::record::Record;
use std::collections::BTreeSet;

/// What the records of a pull request owe.
#[derive(Debug, Default)]
pub struct Carried {
    /// To be posted.
    pub findings: Vec<Finding>,
    /// A sentence for each that is not posted any more.
    pub dropped: Vec<String>,
    /// The ids of both.
    ids: Vec<FindingId>,
    /// Ids that earlier runs were done with.
    settled: BTreeSet<String>,
}

impl Carried {
    pub fn of(run: &Run<'_>, reading: &Reading, records: &[Record]) -> Self {
        let settled = records.iter().flat_map(|one| one.settled.iter().cloned());
        let mut carried = Self {
            settled: settled.collect(),
            ..Self::default()
        };
        for record in records {
            for finding in record.owed.iter().filter_map(Owed::finding) {
                let is_new = !carried.settled.contains(finding.id.as_str());
                if is_new && !carried.ids.contains(&finding.id) && !is_posted(reading, &finding.id)
                {
                    carried.ids.push(finding.id.clone());
                    carried.take(run, reading, record, finding);
                }
            }
        }
        carried
    }

    fn take(&mut self, run: &Run<'_>, reading: &Reading, record: &Record, mut finding: Finding) {
        if finding.assessment.score < run.engine.config.policy.threshold {
            return;
        }
        let same_change = record.head == reading.pull.head_sha.as_str()
            && record.merge_base == reading.merge_base.as_str();
        if !same_change {
            let diffs = &reading.change.diffs;
            let diff = diffs.iter().find(|diff| diff.path == finding.file);
            let Some(anchor) = diff.and_then(|diff| diff.place_of(&finding.anchor_hash)) else {
                self.dropped.push(comment::code_has_changed(&finding));
                return;
            };
            finding.anchor = anchor;
        }
        match said_in(run, &reading.threads, &finding) {
            Some(thread) => self.dropped.push(comment::said_since(&finding, thread)),
            None => self.findings.push(finding),
        }
    }

    /// Whether there is something to post.
    pub fn is_due(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Whether a record lists a finding that nobody could read yet.
    pub fn has(&self, id: &FindingId) -> bool {
        self.ids.contains(id)
    }

    /// Leaves in the record what is owed now, and that the rest of what was owed is done with. Says whether the record
    /// could hold it.
    pub fn settle(&self, record: &mut Record, unposted: &[&Finding]) -> bool {
        let owed = owed::all(unposted.iter().copied());
        let fits = owed.is_some();
        record.owe(owed.unwrap_or_default());
        let is_owed = |id: &String| record.owed.iter().any(|one| one.id == *id);
        let ids = self.ids.iter().map(ToString::to_string);
        let settled = self.settled.iter().cloned().chain(ids);
        record.settled = settled.filter(|id| !is_owed(id)).collect();
        fits
    }
}

/// On a line, on a file or in the text of a review; or it was, and somebody deleted it.
fn is_posted(reading: &Reading, id: &FindingId) -> bool {
    let threads = reading.threads.iter();
    let mut ids = threads.filter_map(|thread| thread.finding_id.as_ref());
    ids.any(|one| one == id) || reading.lost.iter().any(|lost| lost.id == *id)
}
