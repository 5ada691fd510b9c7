//! Detects findings that were made before: in this run, on the pull request, or by a human reviewer. The same thing is
//! never said twice.

use super::{Answer, Desk, Distinct, Entry, Finding};
use crate::domain::{Status, Thread, ThreadId, Trust};
use crate::state::rebuild::Remark;
use crate::state::repeats::{Claim, Likeness};

impl Desk {
    /// The answer to a finding that was made before, if it was.
    pub(super) fn repeat(
        &mut self,
        finding: &Finding,
        distinct: Option<&Distinct>,
    ) -> Option<Answer> {
        let (id, likeness, text) = self.most_alike(finding)?;
        if likeness == Likeness::NearCertain {
            let back = self.is_back(id).cloned();
            return Some(match back {
                Some(thread) => self.reopen(thread, finding),
                None => self.restated(id, finding, &text),
            });
        }
        let question = (id, finding.file.clone(), finding.line());
        let differs = distinct.is_some_and(|distinct| distinct.thread == id);
        if differs || !self.asked.insert(question) {
            return None;
        }
        let same = match id {
            ThreadId::Published(_) => "reply there with github_reply_to_thread",
            ThreadId::Provisional(_) | ThreadId::Decided(_) => "leave it",
        };
        Some(Err(format!(
            "This looks like thread {id}: \"{text}\". If it is the same, {same}; if it is not, call again with \
             distinct_from {{\"thread_id\": \"{id}\", \"reason\": …}}."
        )))
    }

    /// The first score stands, unless the consolidation argues a higher one for a finding of this run.
    fn restated(&mut self, id: ThreadId, finding: &Finding, text: &str) -> Answer {
        let given = finding.assessment.score;
        let consolidates = self.is_last_word(finding.pass);
        let argued = |entry: &&Entry| consolidates && given > entry.given;
        let Some(index) = self.position(id).filter(|i| argued(&&self.entries[*i])) else {
            let more = match id {
                ThreadId::Published(_) => {
                    format!("To add to it, use github_reply_to_thread with thread_id \"{id}\".")
                }
                ThreadId::Provisional(_) | ThreadId::Decided(_) => {
                    "The last pass writes its text.".to_owned()
                }
            };
            return Err(format!(
                "Already said in thread {id}: \"{text}\". Nothing was recorded. {more}"
            ));
        };
        let first = &self.entries[index].finding;
        let mut finding = Finding {
            id: first.id.clone(),
            pass: first.pass,
            category: finding.category.or(first.category),
            ..finding.clone()
        };
        let fate = self.weigh(&mut finding, 0);
        self.entries[index] = Entry {
            id: self.entries[index].id,
            finding,
            given,
            fate,
            carried: self.entries[index].carried,
            worded: true,
        };
        Ok(format!("Recorded as {id}, in place of what stood there."))
    }

    /// A thread that was resolved and whose code is no longer there says nothing about the code as it is now.
    fn is_past(&self, thread: &Thread) -> bool {
        let Some(hash) = thread.anchor_hash.as_deref() else {
            return false;
        };
        let mut here = self
            .subject
            .diffs
            .iter()
            .filter(|diff| diff.path == thread.file);
        thread.status == Status::Resolved && !here.any(|diff| diff.holds(hash))
    }

    /// Somebody who made this very point here before the reviewer. What blocks is said all the same: the gate hangs on
    /// it.
    pub(super) fn said_by_another(&self, finding: &Finding) -> Option<&Remark> {
        if self.would_block(finding) {
            return None;
        }
        let mark = Claim::from(finding).mark();
        let here = self
            .subject
            .others
            .iter()
            .filter(|other| other.file == finding.file);
        let mut same = here.filter(|other| {
            let theirs = Claim {
                finding: &other.body,
                assessment: "",
                line: other.line,
                anchor_hash: None,
            };
            theirs.mark().likeness(&mark) == Likeness::NearCertain
        });
        same.next()
    }

    pub(super) fn would_block(&self, finding: &Finding) -> bool {
        let mut weighed = finding.clone();
        self.weigh(&mut weighed, 0);
        self.weights.blocks(weighed.assessment.score)
    }

    /// Returns true if a thread can stand for a finding. One without the reviewer's signature may be anybody's: it
    /// stands for what blocks only if it holds the gate itself, where nobody closes it but people who may.
    fn stands_for(&self, thread: &Thread, blocks: bool) -> bool {
        !blocks || thread.trust == Trust::Signed || self.weights.blocks(thread.assessment.score)
    }

    fn most_alike(&self, finding: &Finding) -> Option<(ThreadId, Likeness, String)> {
        let mark = Claim::from(finding).mark();
        let blocks = self.would_block(finding);
        let threads = self.subject.threads.iter();
        let published = threads
            .filter(|thread| thread.file == finding.file)
            .filter(|thread| !self.is_past(thread) && self.stands_for(thread, blocks))
            .map(|thread| (ThreadId::Published(thread.id), Claim::from(thread)));
        let entries = self.entries.iter();
        let recorded = entries
            .filter(|entry| entry.is_live() && entry.finding.file == finding.file)
            .map(|entry| (entry.thread_id(), Claim::from(&entry.finding)));
        published
            .chain(recorded)
            .map(|(id, said)| (id, said.mark().likeness(&mark), said.finding))
            .filter(|(_, likeness, _)| *likeness != Likeness::Different)
            .max_by_key(|(_, likeness, _)| *likeness)
            .map(|(id, likeness, text)| (id, likeness, text.to_owned()))
    }
}
