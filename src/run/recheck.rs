//! What has happened to the pull request while the model worked, looked up just before anything is posted: a head that
//! moved, and findings that another run has said.

use super::reading::Reading;
use super::{Run, past};
use crate::domain::{CommentId, CommitSha, FileDiff, Finding, Score, Thread, Trust};
use crate::github::PullRequest;
use crate::publish::comment;
use crate::state::repeats::{Claim, Likeness};

/// What is not posted, and why.
#[derive(Default)]
pub struct Meanwhile {
    /// Left to the next run: a sentence each.
    pub left_behind: Vec<(Finding, String)>,
    /// Said by another run: the finding and the reason.
    pub said: Vec<(Finding, String)>,
    /// Threads that were not there before.
    pub threads: Vec<Thread>,
    /// Threads in which another run has replied.
    pub answered: Vec<CommentId>,
}

impl Meanwhile {
    pub async fn of(run: &Run<'_>, reading: &Reading, findings: &[Finding]) -> Self {
        let mut meanwhile = Self::default();
        // A look that fails is no reason to withhold a review: GitHub judges what is sent by itself.
        let Ok(pull) = run.github.pull_request(&run.pr).await else {
            return meanwhile;
        };
        if pull.review_comments != reading.pull.review_comments {
            meanwhile.hear(run, reading, findings).await;
        }
        if pull.head_sha != reading.pull.head_sha {
            meanwhile.leave_behind(run, reading, &pull, findings).await;
        }
        meanwhile
    }

    /// Whether a finding is to be posted.
    pub fn lets(&self, finding: &Finding) -> bool {
        let withheld = self.left_behind.iter().chain(&self.said);
        withheld.map(|(one, _)| &one.id).all(|id| *id != finding.id)
    }

    /// What was said since.
    async fn hear(&mut self, run: &Run<'_>, reading: &Reading, findings: &[Finding]) {
        let author = reading.pull.author.as_ref();
        let memory = run.memory();
        let rebuilt = match run.github.reviews(&run.pr).await {
            Ok(reviews) => memory.rebuild(author, &reviews, &reading.files).await,
            Err(_) => return,
        };
        let Ok(mut rebuilt) = rebuilt else { return };
        past::follow_renames(run, reading, &mut rebuilt.threads).await;
        for thread in rebuilt.threads {
            match reading.threads.iter().find(|old| old.id == thread.id) {
                None => self.threads.push(thread),
                Some(old) if old.seq < thread.seq => self.answered.push(thread.id),
                Some(_) => {}
            }
        }
        for finding in findings {
            if let Some(thread) = said_in(run, &self.threads, finding) {
                let reason = comment::said_meanwhile(thread);
                self.said.push((finding.clone(), reason));
            }
        }
    }

    /// Findings in files that the new head leaves alone are posted on the commit that was reviewed, while it is part of
    /// the pull request; GitHub follows their lines.
    async fn leave_behind(
        &mut self,
        run: &Run<'_>,
        reading: &Reading,
        pull: &PullRequest,
        findings: &[Finding],
    ) {
        let changed = changed_since(run, reading, &pull.head_sha).await;
        let stands = |finding: &&Finding| {
            let changed = changed.as_ref();
            changed.is_some_and(|files| !files.contains(&finding.file))
        };
        for finding in findings.iter().filter(|finding| !stands(finding)) {
            let sentence = comment::left_behind(finding, &pull.head_sha);
            self.left_behind.push((finding.clone(), sentence));
        }
    }
}

/// The thread that says the same. One that we did not sign may be anybody's, and anybody's word silences nothing that
/// blocks.
pub fn said_in<'t>(run: &Run<'_>, threads: &'t [Thread], finding: &Finding) -> Option<&'t Thread> {
    let blocks = |score: Score| {
        run.engine
            .config
            .policy
            .blocking
            .is_some_and(|from| score >= from)
    };
    let trusted =
        |thread: &&Thread| thread.trust == Trust::Signed || !blocks(finding.assessment.score);
    let mut threads = threads.iter().filter(trusted);
    threads.find(|thread| is_same(finding, thread))
}

/// Nobody can be asked any more, so at the same place a likeness is enough: two runs of ours looked at the same code at
/// the same time.
fn is_same(finding: &Finding, thread: &Thread) -> bool {
    let (new, said) = (Claim::from(finding).mark(), Claim::from(thread).mark());
    finding.file == thread.file && new.is_near(&said) && new.likeness(&said) != Likeness::Different
}

/// The files that differ between the reviewed commit and the new head; `None` where the reviewed commit is not part of
/// the pull request any more, or nobody can tell.
async fn changed_since(run: &Run<'_>, reading: &Reading, now: &CommitSha) -> Option<Vec<String>> {
    let reviewed = &reading.pull.head_sha;
    let commits = run.github.commits(&run.pr).await.ok()?;
    commits.iter().find(|commit| commit.sha == *reviewed)?;
    let repository = &reading.change.repository;
    repository.ensure(&[now], &run.remote()).await.ok()?;
    let diffs = repository
        .diff_under(&reading.merge_base, reviewed, now)
        .await
        .ok()?;
    let both = |diff: FileDiff| [Some(diff.path), diff.previous_path];
    Some(diffs.into_iter().flat_map(both).flatten().collect())
}
