//! The desk: everything the model has said in this run, and what is to become of it. Each tool call is a typed
//! request, a pure decision, at most one staged effect and a short answer. Nothing here reaches GitHub.

mod author_text;
mod candidates;
mod conversations;
mod decided;
mod dispute;
mod escalation;
mod examination;
mod fix_evidence;
mod joint;
mod repetition;
mod shared;

pub use author_text::AuthorText;
pub use candidates::{CandidateVerdict, GivenCandidateVerdict};
pub use conversations::GivenConversation;
pub use decided::Repeated;
pub use dispute::{Claim, Word};
pub use examination::{Docket, GivenVerdict, Quote, ToCompare, ToVerify, finding_name, pair_name};
pub(crate) use fix_evidence::Fix;
pub use fix_evidence::is_quotable;
pub use shared::{SharedDesk, Watcher};

use candidates::Docketed;
use conversations::Conversations;
use escalation::Escalation;
use examination::Examination;

use super::ledger::{Ledger, Stage, Submission};
use super::policy::{self, Case, Decision, Reason, Weights};
use crate::domain::{
    Assessment, Category, CommentId, CommitSha, FileDiff, Finding, FindingId, Login, PassNumber,
    Score, Support, Thread, ThreadId,
};
use crate::state::decided::DecidedHere;
use crate::state::rebuild::Remark;
use reviewer_text::hidden::visible;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// On this level and above, the rubric asks for the merge to be blocked.
const CRITICAL: u8 = 9;
/// No comment of the reviewer needs more; GitHub's own limit is far above.
const MAX_BODY: usize = 20_000;
const MAX_SENTENCES: usize = 4_000;
/// More than this in one run is a runaway model, not a review.
const MAX_FINDINGS: usize = 200;

/// The change that the run reviews, with the threads and remarks on it.
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
    /// The changes between an earlier head and this one, where they could be told.
    pub changed_since: HashMap<CommitSha, Vec<FileDiff>>,
    /// The removed lines that a thread hangs on, where they are known.
    pub removed_lines: HashMap<CommentId, Vec<String>>,
    /// The remarks of human reviewers on lines of the change.
    pub others: Vec<Remark>,
    /// The people who decide where the model and the developer do not agree, as they are mentioned.
    pub human_reviewers: Vec<String>,
    /// The questions about code of the change that people decided in other pull requests.
    pub decided: Vec<DecidedHere>,
}

impl Subject {
    /// Returns true if a file of this name is changed by the pull request, or was since a finding was made.
    fn is_changed(&self, file: &str) -> bool {
        let since = self.changed_since.values().flatten();
        let mut names = since.flat_map(|diff| [Some(&diff.path), diff.previous_path.as_ref()]);
        self.diffs.iter().any(|diff| diff.path == file)
            || names.any(|name| name.is_some_and(|name| name == file))
    }
}

/// The decision about a finding.
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
    /// Made by a review before this one, which could not post it.
    pub carried: bool,
    /// True if its body is the text for the author; before the last pass it is the scenario.
    pub worded: bool,
}

impl Entry {
    /// A finding that a review before this one has made and could not post.
    #[must_use]
    pub fn carried(id: u32, finding: Finding) -> Self {
        Self {
            id,
            given: finding.assessment.score,
            finding,
            fate: Fate::Staged,
            carried: true,
            worded: true,
        }
    }

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

/// The effect of a reply on its thread.
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
    /// The code seems to fix it, and nobody has confirmed it; a person closes the thread.
    SeemsFixed {
        fix: Fix,
        commit: Option<String>,
        /// The reason why the check says otherwise, if it was made.
        objection: Option<String>,
    },
    /// The developer is right about a finding that blocks; a person closes the thread.
    GiveUp,
    /// A person has dismissed it, in this comment.
    Dismissed { by: Login, comment: CommentId },
    /// Argued twice without agreement: people decide. They are called once; nobody where nobody may be.
    Escalate { people: Vec<String> },
    /// Argued twice without agreement, and there is nobody to decide.
    DevelopersWord,
    /// A problem that was fixed is back.
    Reopen,
}

impl Effect {
    /// Returns true if it closes the thread.
    #[must_use]
    pub fn closes(&self) -> bool {
        matches!(
            self,
            Self::Concede | Self::Fixed { .. } | Self::DevelopersWord | Self::Dismissed { .. }
        )
    }
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
    pub distinct_from: Option<Distinct>,
    pub combines: Vec<ThreadId>,
}

/// The thread that a finding looks like, and what makes it another one.
#[derive(Debug, Clone)]
pub struct Distinct {
    pub thread: ThreadId,
    pub reason: String,
}

#[derive(Debug)]
pub struct Desk {
    /// Shared by the desks of a run: it may hold a large change.
    subject: Arc<Subject>,
    weights: Weights,
    /// The name of the reviewer whose desk it is.
    reviewer: String,
    /// Random, so that finding ids are unique beyond this run.
    run_nonce: String,
    pub ledger: Ledger,
    entries: Vec<Entry>,
    replies: Vec<StagedReply>,
    /// The number of entries when a pass, or a part of one, was submitted last.
    submitted: usize,
    /// Findings in the text of an earlier review that this one has made again.
    still_said: HashMap<FindingId, Score>,
    /// Threads whose fix is being checked.
    unchecked: Vec<CommentId>,
    /// Possible repeats that were already pointed out.
    asked: HashSet<(ThreadId, String, Option<u32>)>,
    /// Findings that repeat what people decided in other pull requests.
    repeated: Vec<Repeated>,
    examination: Examination,
    conversations: Conversations,
    escalation: Escalation,
    /// The texts for the author, until the last pass is submitted.
    texts: HashMap<ThreadId, String>,
    /// The results of static analysis to judge.
    docketed: Docketed,
    /// True if the last pass was refused for want of texts or verdicts.
    missing_refused: bool,
    /// True if it holds the findings of all sections of a large change.
    joint: bool,
}

type Answer = Result<String, String>;

impl Desk {
    #[must_use]
    pub fn new(
        subject: impl Into<Arc<Subject>>,
        weights: Weights,
        reviewer: &str,
        run_nonce: String,
    ) -> Self {
        Self {
            subject: subject.into(),
            weights,
            reviewer: reviewer.to_owned(),
            run_nonce,
            ledger: Ledger::default(),
            entries: Vec::new(),
            replies: Vec::new(),
            submitted: 0,
            still_said: HashMap::new(),
            unchecked: Vec::new(),
            asked: HashSet::new(),
            repeated: Vec::new(),
            examination: Examination::default(),
            conversations: Conversations::default(),
            escalation: Escalation::default(),
            texts: HashMap::new(),
            docketed: Docketed::default(),
            missing_refused: false,
            joint: false,
        }
    }

    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The findings that are open, and that only the text of an earlier review says, with their scores.
    pub fn still_said(&self) -> impl Iterator<Item = (&FindingId, Score)> {
        self.still_said.iter().map(|(id, score)| (id, *score))
    }

    #[must_use]
    pub fn replies(&self) -> &[StagedReply] {
        &self.replies
    }

    /// Returns what may be published: the staged findings and replies of finished passes, and of the parts of a pass
    /// that were submitted.
    #[must_use]
    pub fn publishable(&self) -> (Vec<&Entry>, Vec<&StagedReply>) {
        let finished = |pass: PassNumber| self.ledger.is_finished(pass);
        let entries = self.entries.iter().enumerate();
        let replies = self.replies.iter();
        let submitted = |at: usize, entry: &Entry| {
            entry.carried || at < self.submitted || finished(entry.finding.pass)
        };
        (
            entries
                .filter(|(at, entry)| entry.fate == Fate::Staged && submitted(*at, entry))
                .map(|(_, entry)| entry)
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
            reviewer: self.reviewer.clone(),
            support: Support::default(),
        };
        if policy::out_of_proportion(finding.assessment.score, &finding.body) {
            return Err(format!(
                "The example is out of proportion: at score {} a remedy takes about five lines. Shorten it, \
                 or leave it out, and call again.",
                finding.assessment.score
            ));
        }
        if let Some(Remark { author, own, .. }) = self.said_by_another(&finding) {
            let said = format!(
                "{author} has said this at this place already. Nothing was recorded; leave it to them."
            );
            self.still_said.extend(own.clone());
            return Err(said);
        }
        let distinct = draft.distinct_from.as_ref();
        if let Some(answer) = self.repeat(&finding, distinct) {
            return answer;
        }
        if let Some(question) = self.asked_back(&finding, distinct) {
            return Err(question);
        }
        Ok(self.record(finding, &draft.combines))
    }

    fn record(&mut self, mut finding: Finding, combines: &[ThreadId]) -> String {
        let parts: Vec<usize> = self.suppressed_among(combines);
        let given = finding.assessment.score;
        let fate = self.weigh(&mut finding, parts.len());
        let id = self.next_id();
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
        let worded = self.is_last_word(finding.pass);
        self.entries.push(Entry {
            id,
            finding,
            given,
            fate,
            carried: false,
            worded,
        });
        answer
    }

    /// Lays down what a review before this one has found and could not post.
    pub fn carry(&mut self, finding: Finding) {
        self.entries.push(Entry::carried(self.next_id(), finding));
    }

    fn next_id(&self) -> u32 {
        u32::try_from(self.entries.len() + 1).unwrap_or(u32::MAX)
    }

    /// Gives the finding the score that counts, and its fate by it.
    fn weigh(&self, finding: &mut Finding, combines: usize) -> Fate {
        let case = Case {
            score: finding.assessment.score,
            category: finding.category,
            role: self.ledger.passes().role(finding.pass),
            combines,
        };
        let (score, fate) = match self.weights.decide(&case) {
            Decision::Post(score) => (score, Fate::Staged),
            Decision::Suppress(score, reason) => (score, Fate::Suppressed(reason)),
        };
        if let Some(raised) = self.weights.raised(&case, score) {
            let given = finding.assessment.assessment.trim_end();
            finding.assessment.assessment = format!("{given} {raised}");
        }
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

    fn position(&self, id: ThreadId) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.thread_id() == id)
    }

    /// Marks the pass under way as complete. `texts`: for the author, in the last pass; those of other passes do not count.
    pub fn submit(
        &mut self,
        number: u64,
        summary: &str,
        claims_blocking: bool,
        texts: &[AuthorText],
    ) -> Answer {
        if self.ends_consolidation(number) && !self.joint {
            self.ask_once_for_missing(texts)?;
        }
        let holds_blocking = self
            .entries
            .iter()
            .any(|entry| entry.is_live() && entry.given.get() >= CRITICAL);
        let answer = self.ledger.submit(&Submission {
            number,
            summary,
            claims_blocking,
            holds_blocking,
        })?;
        self.put_texts();
        if self.ledger.current().is_none() {
            self.submitted = self.entries.len();
        }
        Ok(answer)
    }

    fn current_stage(&self) -> Result<Stage, String> {
        match self.ledger.current() {
            Some(stage) => stage.refusal().map_or(Ok(stage), |why| Err(why.into())),
            None => Err(
                "This pass is submitted; nothing more can be recorded in it. End your turn.".into(),
            ),
        }
    }

    fn current_pass(&self) -> Result<PassNumber, String> {
        match self.current_stage()? {
            Stage::Pass(pass) => Ok(pass),
            Stage::TurnZero | Stage::FixCheck | Stage::Conversations => Err(
                "This turn judges what was said before; new findings belong to the passes \
                                    that follow. Nothing was recorded."
                    .into(),
            ),
        }
    }

    /// The repository's name of a path that the model read in the snapshot: as the model wrote it if a changed file is
    /// called so, else without the spaces around it.
    fn repository_path(&self, shown: &str) -> String {
        let exact = self.inside(shown);
        if self.subject.is_changed(&exact) {
            exact
        } else {
            self.inside(shown.trim())
        }
    }

    fn inside(&self, shown: &str) -> String {
        let inside = shown.strip_prefix(&self.subject.root);
        let inside = inside.and_then(|rest| rest.strip_prefix('/'));
        let shown = inside.unwrap_or(shown).trim_start_matches("./");
        let known = self.subject.shown_paths.get(shown);
        known.map_or_else(|| shown.to_owned(), Clone::clone)
    }

    fn diff(&self, file: &str) -> Result<&FileDiff, String> {
        let found = self.subject.diffs.iter().find(|diff| diff.path == file);
        found.ok_or_else(|| {
            let names = self.subject.diffs.iter().map(|diff| visible(&diff.path));
            let names: Vec<Cow<'_, str>> = names.collect();
            let listed = names[..names.len().min(20)].join(", ");
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
pub(in crate::review) mod tests;
