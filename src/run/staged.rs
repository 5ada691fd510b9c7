//! The result on the desk, with the findings that were open before the run: the ground of the verdict, and what the
//! record keeps of it for the next run.

use super::collected::Collected;
use super::recheck::Recheck;
use crate::gather::Facts;
use crate::outbox::Sent;
use reviewer_core::context::failed_checks;
use reviewer_core::domain::{
    Anchor, Awaiting, CommentId, Finding, FindingId, Score, Status, Thread,
};
use reviewer_core::plan::agenda::Agenda;
use reviewer_core::publish::comment::Voice;
use reviewer_core::review::desk::{Effect, Entry, Fate, StagedReply};
use reviewer_core::state::block::Listed;
use reviewer_core::state::record::{self, Record};
use std::collections::BTreeSet;

/// The result of the passes on the desk.
pub(crate) struct Staged<'a> {
    pub entries: Vec<Entry>,
    /// Findings of finished passes, where GitHub takes them.
    pub findings: Vec<Finding>,
    /// The entries of those, and of what the head moved away from.
    due: BTreeSet<FindingId>,
    pub replies: Vec<StagedReply>,
    /// Threads that were open before the run.
    open: Vec<&'a Thread>,
    /// Those of another run's reply since.
    answered: Vec<CommentId>,
    /// Threads that were closed before it, and are open again.
    reopened: Vec<Thread>,
    /// Scores of findings whose comments are gone, where no review since has looked again.
    pub lost: Vec<Score>,
}

/// The findings of finished passes, where GitHub takes them, in the order of the diff: calls that were made at once
/// arrive in any.
pub fn publishable(collected: &Collected, facts: &Facts) -> Vec<Finding> {
    let entries = collected
        .entries
        .iter()
        .filter(|entry| entry.fate == Fate::Staged && collected.due.contains(&entry.finding.id));
    let mut findings: Vec<Finding> = entries.map(|entry| placed(&entry.finding, facts)).collect();
    findings.sort_by(|one, other| (&one.file, one.line()).cmp(&(&other.file, other.line())));
    findings
}

impl<'a> Staged<'a> {
    /// The result where the model was not asked: the threads as they are.
    pub(crate) fn without_session(facts: &'a Facts, agenda: &Agenda) -> Self {
        Self {
            entries: Vec::new(),
            findings: Vec::new(),
            due: BTreeSet::new(),
            replies: Vec::new(),
            open: facts.open_threads().collect(),
            answered: Vec::new(),
            reopened: Vec::new(),
            lost: agenda.missed(&facts.pull.head_sha),
        }
    }

    /// The result of a session. `missed`: scores of lost findings that the session did not look at again; `None`: the
    /// desk knows which of them it found again.
    pub(crate) fn after_session(
        collected: &Collected,
        facts: &'a Facts,
        recheck: &'a Recheck,
        missed: Option<Vec<Score>>,
    ) -> Self {
        let mut entries = collected.entries.clone();
        let (due, mut replies) = (collected.due.clone(), collected.replies.clone());
        for (said, reason) in &recheck.said {
            let same = entries.iter_mut().filter(|one| one.finding.id == said.id);
            same.for_each(|entry| entry.fate = Fate::Withdrawn(reason.clone()));
        }
        replies.retain(|reply| !recheck.answered.contains(&reply.thread.id));
        let mut findings = publishable(collected, facts);
        findings.retain(|finding| recheck.lets(finding));
        let back = replies
            .iter()
            .filter(|reply| reply.effect == Effect::Reopen);
        let reopened = back.map(|reply| Thread {
            status: Status::Pending,
            awaiting: Awaiting::Developer,
            resolution: None,
            ..reply.thread.clone()
        });
        let reopened = reopened.collect();
        let threads = facts.threads.iter().chain(&recheck.threads);
        Self {
            entries,
            findings,
            due,
            replies,
            open: threads.filter(|thread| thread.status.is_open()).collect(),
            answered: recheck.answered.clone(),
            reopened,
            lost: missed.unwrap_or_else(|| collected.still_said.values().copied().collect()),
        }
    }

    /// The open threads on the pull request besides new findings, if nothing is closed.
    pub fn open(&self) -> Vec<&Thread> {
        self.open.iter().copied().chain(&self.reopened).collect()
    }

    /// The open threads in which no other run has spoken since the facts were gathered.
    pub(crate) fn untouched(&self) -> Vec<&'a Thread> {
        let open = self.open.iter().copied();
        open.filter(|thread| !self.answered.contains(&thread.id))
            .collect()
    }

    /// Enters into the record what proves later that somebody edited comments, or took back a fix.
    pub(crate) fn enter_in(&self, record: &mut Record, facts: &Facts) {
        let said = self.findings.iter();
        let said = said.map(|finding| (&finding.id, finding.assessment.score));
        let open = self.open().into_iter();
        let open =
            open.filter_map(|thread| Some((thread.finding_id.as_ref()?, thread.assessment.score)));
        for (id, score) in said.chain(open) {
            let (id, score) = (id.to_string(), score.get());
            if record.findings.iter().all(|listed| listed.id != id) {
                record.findings.push(Listed { id, score });
            }
        }
        let is_fix = |reply: &&StagedReply| matches!(reply.effect, Effect::Fixed { .. });
        let now = self.replies.iter().filter(is_fix);
        let now = now.map(|reply| reply.thread.id);
        let fixed = record::fixed(&facts.threads).chain(now);
        record.fixed = fixed.map(|thread| thread.0).collect();
    }

    /// Returns the findings that may be posted, were not, and have to be. The head moving away from a finding is no
    /// reason to forget it.
    pub(crate) fn unposted(&self, sent: &Sent) -> Vec<&Finding> {
        let entries = self.entries.iter();
        let due = entries.filter(|entry| self.due.contains(&entry.finding.id));
        let due = due.filter(|entry| entry.fate == Fate::Staged);
        let findings = due.map(|entry| &entry.finding);
        findings
            .filter(|finding| !sent.said.contains_key(finding.id.as_str()))
            .collect()
    }

    /// The findings that are to be said, whether they could be or not.
    pub(crate) fn said(&self) -> impl Iterator<Item = &Finding> {
        let entries = self.entries.iter();
        entries
            .filter(|entry| entry.fate == Fate::Staged)
            .map(|entry| &entry.finding)
    }
}

/// GitHub takes line comments only in files whose patch it shows. A check that fails there is named.
fn placed(finding: &Finding, facts: &Facts) -> Finding {
    let mut finding = finding.clone();
    finding.support.proof = failed_checks::proof(&facts.checks, &finding);
    let file = facts.files.iter().find(|file| file.path == finding.file);
    if file.is_some_and(|file| !file.has_patch) && finding.anchor != Anchor::File {
        finding.body = format!("{}{}", Voice::moved_note(&finding.place()), finding.body);
        finding.anchor = Anchor::File;
    }
    finding
}
