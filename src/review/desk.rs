//! The desk: everything the model has said in this run, and what is to become of it. Each tool call is a typed
//! request, a pure decision, at most one staged effect and a short answer. Nothing here reaches GitHub.

mod discussion;

pub use discussion::Word;

use super::ledger::{Ledger, Stage, Submission};
use super::policy::{self, Case, Decision, Reason, Weights};
use crate::domain::{
    Assessment, Category, CommitSha, FileDiff, Finding, FindingId, Login, PassNumber, Score,
    Status, Thread, ThreadId,
};
use crate::state::rebuild::Remark;
use crate::state::repeats::{Claim, Likeness};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// On this level and above, the rubric asks for the merge to be blocked.
const CRITICAL: u8 = 9;
/// No comment of ours needs more; GitHub's own limit is far above.
const MAX_BODY: usize = 20_000;
const MAX_SENTENCES: usize = 4_000;
/// More than this in one run is a runaway model, not a review.
const MAX_FINDINGS: usize = 200;

/// What the run is about.
#[derive(Debug)]
pub struct Subject {
    pub head: CommitSha,
    /// The merge base that the head is compared with.
    pub base: CommitSha,
    pub diffs: Vec<FileDiff>,
    pub threads: Vec<Thread>,
    /// The snapshot's folder, because models name files by their whole path, too.
    pub root: String,
    /// Paths as the model sees them in the snapshot, where they differ from the repository's.
    pub shown_paths: HashMap<String, String>,
    /// The files that changed between an earlier head and this one, where that could be told.
    pub changed_since: HashMap<CommitSha, Vec<String>>,
    pub author: Option<Login>,
    /// What human reviewers have said on lines of the change.
    pub others: Vec<Remark>,
    /// Who decides where the model and the developer do not agree, as they are mentioned.
    pub human_reviewers: Vec<String>,
}

/// What became of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Staged,
    Suppressed(Reason),
    Withdrawn(String),
    /// Said as part of another.
    CombinedInto(u32),
}

/// A finding of this run.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: u32,
    pub finding: Finding,
    /// As the model gave it, before promotion and elevation.
    pub given: Score,
    pub fate: Fate,
}

impl Entry {
    #[must_use]
    pub fn thread_id(&self) -> ThreadId {
        ThreadId::Provisional(self.id)
    }

    /// Still stands: neither withdrawn nor part of another.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.fate, Fate::Staged | Fate::Suppressed(_))
    }
}

/// What a reply does to its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The finding stands, for the first time.
    Keep,
    /// A question was answered; nothing is decided.
    Answer,
    /// The developer is right.
    Concede,
    /// The code fixes it.
    Fixed {
        file: String,
        commit: Option<String>,
    },
    /// Argued twice without agreement: people decide. They are called once; nobody where nobody may be.
    Escalate { people: Vec<String> },
    /// Argued twice without agreement, and there is nobody to decide.
    DevelopersWord,
    /// What was fixed is back.
    Reopen,
}

/// A reply to a thread that is already on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedReply {
    pub thread: Thread,
    pub effect: Effect,
    pub body: String,
    pub stage: Stage,
}

/// A finding as the model offers it.
#[derive(Debug, Clone)]
pub struct Draft {
    pub file: String,
    pub line: Option<u32>,
    pub body: String,
    pub assessment: Assessment,
    pub category: Option<Category>,
    pub quote: Option<String>,
    pub distinct_from: Option<ThreadId>,
    pub combines: Vec<ThreadId>,
}

#[derive(Debug)]
pub struct Desk {
    subject: Subject,
    weights: Weights,
    reviewer: &'static str,
    /// Random, so that finding ids are unique beyond this run.
    run_nonce: String,
    pub ledger: Ledger,
    entries: Vec<Entry>,
    replies: Vec<StagedReply>,
    /// Possible repeats that were already pointed out.
    asked: HashSet<(ThreadId, String, Option<u32>)>,
}

type Answer = Result<String, String>;

impl Desk {
    #[must_use]
    pub fn new(
        subject: Subject,
        weights: Weights,
        reviewer: &'static str,
        run_nonce: String,
    ) -> Self {
        Self {
            subject,
            weights,
            reviewer,
            run_nonce,
            ledger: Ledger::default(),
            entries: Vec::new(),
            replies: Vec::new(),
            asked: HashSet::new(),
        }
    }

    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    #[must_use]
    pub fn replies(&self) -> &[StagedReply] {
        &self.replies
    }

    /// What may be published: the staged findings and replies of finished passes.
    #[must_use]
    pub fn publishable(&self) -> (Vec<&Entry>, Vec<&StagedReply>) {
        let finished = |pass: PassNumber| self.ledger.is_finished(pass);
        let entries = self.entries.iter();
        let replies = self.replies.iter();
        (
            entries
                .filter(|entry| entry.fate == Fate::Staged && finished(entry.finding.pass))
                .collect(),
            replies
                .filter(|reply| self.ledger.is_over(reply.stage))
                .collect(),
        )
    }

    /// A new finding. The answer is the same whether it will be said or not.
    pub fn post(&mut self, draft: Draft) -> Answer {
        let pass = self.current_pass()?;
        if self.entries.len() >= MAX_FINDINGS {
            return Err(format!(
                "This run already holds {MAX_FINDINGS} findings, which is its limit. Submit the pass."
            ));
        }
        check_texts(&draft)?;
        let file = self.repository_path(&draft.file);
        let diff = self.diff(&file)?;
        let anchor = diff
            .resolve(draft.line, draft.quote.as_deref())
            .map_err(|error| {
                format!("{error}. Nothing was recorded; correct it and call again.")
            })?;
        let finding = Finding {
            id: self.finding_id(),
            anchor_hash: diff.anchor_hash(anchor),
            file,
            anchor,
            body: draft.body.trim().to_owned(),
            assessment: draft.assessment,
            category: draft.category,
            pass,
            reviewer: self.reviewer.to_owned(),
        };
        if policy::out_of_proportion(finding.assessment.score, &finding.body) {
            return Err(format!(
                "The example is out of proportion: at score {} a remedy takes about five lines. Shorten it, \
                 or leave it out, and call again.",
                finding.assessment.score
            ));
        }
        if let Some(author) = self.said_by_another(&finding) {
            return Err(format!(
                "{author} has said this at this place already. Nothing was recorded; leave it to them."
            ));
        }
        if let Some(answer) = self.repeat(&finding, draft.distinct_from) {
            return answer;
        }
        Ok(self.record(finding, &draft.combines))
    }

    fn record(&mut self, mut finding: Finding, combines: &[ThreadId]) -> String {
        let parts: Vec<usize> = self.suppressed_among(combines);
        let given = finding.assessment.score;
        let fate = self.weigh(&mut finding, parts.len());
        let id = u32::try_from(self.entries.len() + 1).unwrap_or(u32::MAX);
        if fate == Fate::Staged && parts.len() >= self.weights.elevation {
            for index in parts {
                self.entries[index].fate = Fate::CombinedInto(id);
            }
        }
        let answer = format!(
            "Recorded as {} at {}.",
            ThreadId::Provisional(id),
            finding.place()
        );
        self.entries.push(Entry {
            id,
            finding,
            given,
            fate,
        });
        answer
    }

    /// Gives the finding the score that counts, and its fate by it.
    fn weigh(&self, finding: &mut Finding, combines: usize) -> Fate {
        let case = Case {
            score: finding.assessment.score,
            category: finding.category,
            pass: finding.pass,
            combines,
        };
        let (score, fate) = match self.weights.decide(&case) {
            Decision::Post(score) => (score, Fate::Staged),
            Decision::Suppress(score, reason) => (score, Fate::Suppressed(reason)),
        };
        finding.assessment.score = score;
        fate
    }

    fn suppressed_among(&self, ids: &[ThreadId]) -> Vec<usize> {
        let wanted: HashSet<&ThreadId> = ids.iter().collect();
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| matches!(entry.fate, Fate::Suppressed(_)))
            .filter(|(_, entry)| wanted.contains(&entry.thread_id()))
            .map(|(index, _)| index)
            .collect()
    }

    /// The answer to a finding that was made before, if it was.
    fn repeat(&mut self, finding: &Finding, distinct_from: Option<ThreadId>) -> Option<Answer> {
        let (id, likeness, text) = self.most_alike(finding)?;
        if likeness == Likeness::NearCertain {
            let back = self.is_back(id).cloned();
            return Some(match back {
                Some(thread) => self.reopen(thread, finding),
                None => self.restated(id, finding, &text),
            });
        }
        let question = (id, finding.file.clone(), finding.line());
        if distinct_from == Some(id) || !self.asked.insert(question) {
            return None;
        }
        Some(Err(format!(
            "This looks like thread {id}: \"{text}\". If it is the same, reply there with \
             github_reply_to_thread; if it is not, call again with distinct_from {{\"thread_id\": \"{id}\", \
             \"reason\": …}}."
        )))
    }

    /// The first score stands, unless pass 4 argues a higher one for a finding of this run.
    fn restated(&mut self, id: ThreadId, finding: &Finding, text: &str) -> Answer {
        let given = finding.assessment.score;
        let argued = |entry: &&Entry| finding.pass == PassNumber::LAST && given > entry.given;
        let Some(index) = self.position(id).filter(|i| argued(&&self.entries[*i])) else {
            return Err(format!(
                "Already said in thread {id}: \"{text}\". Nothing was recorded. To add to it, use \
                 github_reply_to_thread with thread_id \"{id}\"."
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
        };
        Ok(format!("Recorded as {id}, in place of what stood there."))
    }

    fn position(&self, id: ThreadId) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.thread_id() == id)
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

    /// Somebody who made this very point here before us. What blocks is said all the same: the gate hangs on it.
    fn said_by_another(&self, finding: &Finding) -> Option<&Login> {
        let mut weighed = finding.clone();
        self.weigh(&mut weighed, 0);
        if self.weights.blocks(weighed.assessment.score) {
            return None;
        }
        let mark = claim(finding).mark();
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
        same.next().map(|other| &other.author)
    }

    fn most_alike(&self, finding: &Finding) -> Option<(ThreadId, Likeness, String)> {
        let mark = claim(finding).mark();
        let threads = self.subject.threads.iter();
        let published = threads
            .filter(|thread| thread.file == finding.file)
            .filter(|thread| !self.is_past(thread))
            .map(|thread| {
                let said = Claim {
                    finding: &thread.assessment.finding,
                    assessment: &thread.assessment.assessment,
                    line: thread.line,
                    anchor_hash: thread.anchor_hash.as_deref(),
                };
                (ThreadId::Published(thread.id), said)
            });
        let entries = self.entries.iter();
        let recorded = entries
            .filter(|entry| entry.is_live() && entry.finding.file == finding.file)
            .map(|entry| (entry.thread_id(), claim(&entry.finding)));
        published
            .chain(recorded)
            .map(|(id, said)| (id, said.mark().likeness(&mark), said.finding))
            .filter(|(_, likeness, _)| *likeness != Likeness::Different)
            .max_by_key(|(_, likeness, _)| *likeness)
            .map(|(id, likeness, text)| (id, likeness, text.to_owned()))
    }

    /// Marks the pass under way as complete.
    pub fn submit(&mut self, number: u64, summary: &str, claims_blocking: bool) -> Answer {
        let holds_blocking = self
            .entries
            .iter()
            .any(|entry| entry.is_live() && entry.given.get() >= CRITICAL);
        self.ledger.submit(&Submission {
            number,
            summary,
            claims_blocking,
            holds_blocking,
        })
    }

    fn current_stage(&self) -> Result<Stage, String> {
        self.ledger.current().ok_or_else(|| {
            "This pass is submitted; nothing more can be recorded in it. End your turn.".into()
        })
    }

    fn current_pass(&self) -> Result<PassNumber, String> {
        match self.current_stage()? {
            Stage::Pass(pass) => Ok(pass),
            Stage::TurnZero => Err(
                "This turn judges what was said before; new findings belong to the passes \
                                    that follow. Nothing was recorded."
                    .into(),
            ),
        }
    }

    /// The repository's name of a path that the model read in the snapshot.
    fn repository_path(&self, shown: &str) -> String {
        let shown = shown.trim();
        let inside = shown.strip_prefix(&self.subject.root);
        let inside = inside.and_then(|rest| rest.strip_prefix('/'));
        let shown = inside.unwrap_or(shown).trim_start_matches("./");
        let known = self.subject.shown_paths.get(shown);
        known.map_or_else(|| shown.to_owned(), Clone::clone)
    }

    fn diff(&self, file: &str) -> Result<&FileDiff, String> {
        let found = self.subject.diffs.iter().find(|diff| diff.path == file);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.subject.diffs.iter().map(|diff| diff.path.as_str()).collect();
            let listed = names.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            let more = if names.len() > 20 { ", …" } else { "" };
            format!(
                "{file:?} is not changed by this pull request. Anchor the finding where the change causes the \
                 trouble; changed files: {listed}{more}."
            )
        })
    }

    fn finding_id(&self) -> FindingId {
        let digest = Sha256::digest(format!("{}:{}", self.run_nonce, self.entries.len()));
        let hex = data_encoding::HEXLOWER.encode(&digest[..8]);
        // Sixteen hexadecimal digits are a valid id by construction.
        hex.parse()
            .unwrap_or_else(|_| unreachable!("hexadecimal digits"))
    }
}

fn claim(finding: &Finding) -> Claim<'_> {
    Claim {
        finding: &finding.assessment.finding,
        assessment: &finding.assessment.assessment,
        line: finding.line(),
        anchor_hash: Some(&finding.anchor_hash),
    }
}

fn check_texts(draft: &Draft) -> Result<(), String> {
    let texts = [
        ("body", &draft.body, MAX_BODY),
        (
            "assessment.finding",
            &draft.assessment.finding,
            MAX_SENTENCES,
        ),
        (
            "assessment.assessment",
            &draft.assessment.assessment,
            MAX_SENTENCES,
        ),
    ];
    for (name, text, most) in texts {
        if text.trim().is_empty() || text.len() > most {
            return Err(format!("{name} must have 1 to {most} characters."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
