//! The backlog: findings that a run before this one has made and could not post. They are posted now, in the same words,
//! if their code still stands and nobody has said the same since.

use super::rebuild::Lost;
use super::record::Record;
use super::repeats::said_in;
use super::undelivered::{self, Undelivered};
use crate::domain::{CommitSha, FileDiff, Finding, FindingId, Score, Thread};
use std::collections::BTreeSet;

/// The pull request as it is now, as far as the backlog depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'a> {
    pub head: &'a CommitSha,
    pub merge_base: &'a CommitSha,
    pub diffs: &'a [FileDiff],
    pub threads: &'a [Thread],
    pub lost: &'a [Lost],
    pub threshold: Score,
    pub blocking: Option<Score>,
}

/// The undelivered findings in the records of a pull request.
#[derive(Debug, Clone, Default)]
pub struct Backlog {
    /// To be posted.
    pub findings: Vec<Finding>,
    /// Those that are not posted any more, and why.
    pub dropped: Vec<(Finding, Dropped)>,
    /// The ids of both.
    ids: Vec<FindingId>,
    /// Ids that earlier runs have posted or dropped.
    delivered: BTreeSet<String>,
}

/// The reason why a finding of the backlog is not posted.
#[derive(Debug, Clone)]
pub enum Dropped {
    CodeChanged,
    SaidIn(Box<Thread>),
}

impl Backlog {
    #[must_use]
    pub(crate) fn from_records<'r>(
        records: impl Iterator<Item = &'r Record> + Clone,
        now: &Now<'_>,
    ) -> Self {
        let delivered = records
            .clone()
            .flat_map(|one| one.delivered.iter().cloned());
        let mut backlog = Self {
            delivered: delivered.collect(),
            ..Self::default()
        };
        for record in records {
            for finding in record.undelivered.iter().filter_map(Undelivered::finding) {
                let is_new = !backlog.delivered.contains(finding.id.as_str());
                if is_new && !backlog.ids.contains(&finding.id) && !now.has_posted(&finding.id) {
                    backlog.ids.push(finding.id.clone());
                    backlog.take(now, record, finding);
                }
            }
        }
        backlog
    }

    fn take(&mut self, now: &Now<'_>, record: &Record, mut finding: Finding) {
        if finding.assessment.score < now.threshold {
            return;
        }
        let same_change =
            record.head == now.head.as_str() && record.merge_base == now.merge_base.as_str();
        if !same_change {
            let diff = now.diffs.iter().find(|diff| diff.path == finding.file);
            let Some(anchor) = diff.and_then(|diff| diff.place_of(&finding.anchor_hash)) else {
                self.dropped.push((finding, Dropped::CodeChanged));
                return;
            };
            finding.anchor = anchor;
        }
        match said_in(now.threads, &finding, now.blocking) {
            Some(thread) => {
                let said = Dropped::SaidIn(Box::new(thread.clone()));
                self.dropped.push((finding, said));
            }
            None => self.findings.push(finding),
        }
    }

    /// True if there is something to post.
    #[must_use]
    pub(crate) fn has_undelivered(&self) -> bool {
        !self.findings.is_empty()
    }

    /// True if a record lists a finding that nobody could read yet.
    #[must_use]
    pub(crate) fn has(&self, id: &FindingId) -> bool {
        self.ids.contains(id)
    }

    /// Enters the undelivered findings into the record, and the rest of the backlog as delivered. Returns false if the
    /// record could not hold them.
    #[must_use]
    pub fn enter_in(&self, record: &mut Record, unposted: &[&Finding]) -> bool {
        let undelivered = undelivered::all(unposted.iter().copied());
        let fits = undelivered.is_some();
        record.set_undelivered(undelivered.unwrap_or_default());
        let is_undelivered = |id: &String| record.undelivered.iter().any(|one| one.id == *id);
        let ids = self.ids.iter().map(ToString::to_string);
        let delivered = self.delivered.iter().cloned().chain(ids);
        record.delivered = delivered.filter(|id| !is_undelivered(id)).collect();
        fits
    }
}

impl Now<'_> {
    /// On a line, on a file or in the text of a review; or it was, and somebody deleted it.
    fn has_posted(&self, id: &FindingId) -> bool {
        let threads = self.threads.iter();
        let mut ids = threads.filter_map(|thread| thread.finding_id.as_ref());
        ids.any(|one| one == id) || self.lost.iter().any(|lost| lost.id == *id)
    }
}
