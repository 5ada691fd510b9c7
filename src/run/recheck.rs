//! Rechecks the pull request just before anything is posted, because the model worked for minutes: a head that moved,
//! and findings that another run has posted.

use crate::gather::{Facts, Memory, Remembered, excerpts};
use crate::host::Job;
use crate::outbox::Sent;
use reviewer_core::domain::{CommentId, CommitSha, FileDiff, Finding, Thread};
use reviewer_core::publish::comment;
use reviewer_core::state::repeats::said_in;
use reviewer_github::PullRequest;

/// The findings that are not posted, and the reasons.
#[derive(Default)]
pub(crate) struct Recheck {
    /// Left to the next run: a sentence each.
    pub left_behind: Vec<(Finding, String)>,
    /// Said by another run: the finding and the reason.
    pub said: Vec<(Finding, String)>,
    /// Threads that were not there before.
    pub threads: Vec<Thread>,
    /// Threads in which another run has replied.
    pub answered: Vec<CommentId>,
}

impl Recheck {
    pub(crate) async fn look(job: &Job<'_>, facts: &Facts, findings: &[Finding]) -> Self {
        let mut recheck = Self::default();
        // A look that fails is no reason to withhold a review: GitHub judges what is sent by itself.
        let Ok(pull) = job.github.pull_request(&job.pr).await else {
            return recheck;
        };
        if pull.review_comments != facts.pull.review_comments {
            recheck.read_new_comments(job, facts, findings).await;
        }
        if pull.head_sha != facts.pull.head_sha {
            recheck.leave_behind(job, facts, &pull, findings).await;
        }
        recheck
    }

    /// Adds a sentence to `sent` for each finding that is left to the next run.
    pub(crate) fn left_out_of(&self, mut sent: Sent) -> Sent {
        let left = self.left_behind.iter();
        sent.failed
            .extend(left.map(|(_, sentence)| sentence.clone()));
        sent
    }

    /// True if a finding is to be posted.
    pub(crate) fn lets(&self, finding: &Finding) -> bool {
        let withheld = self.left_behind.iter().chain(&self.said);
        withheld.map(|(one, _)| &one.id).all(|id| *id != finding.id)
    }

    /// Reads the comments since the facts were gathered.
    async fn read_new_comments(&mut self, job: &Job<'_>, facts: &Facts, findings: &[Finding]) {
        let author = facts.pull.author.as_ref();
        let memory = Memory::from_job(job);
        let rebuilt = match job.github.reviews(&job.pr).await {
            Ok(reviews) => memory.rebuild(author, &reviews, &facts.files).await,
            Err(_) => return,
        };
        let Ok(Remembered { mut rebuilt, .. }) = rebuilt else {
            return;
        };
        excerpts::follow_renames(job, &facts.code(), &mut rebuilt.threads).await;
        for thread in rebuilt.threads {
            match facts.threads.iter().find(|old| old.id == thread.id) {
                None => self.threads.push(thread),
                Some(old) if old.seq < thread.seq => self.answered.push(thread.id),
                Some(_) => {}
            }
        }
        for finding in findings {
            if let Some(thread) = said_in(&self.threads, finding, job.host.config.policy.blocking) {
                let reason = comment::unposted::said_before_recheck(thread);
                self.said.push((finding.clone(), reason));
            }
        }
    }

    /// Findings in files that the new head leaves alone are posted on the commit that was reviewed, while it is part of
    /// the pull request; GitHub follows their lines.
    async fn leave_behind(
        &mut self,
        job: &Job<'_>,
        facts: &Facts,
        pull: &PullRequest,
        findings: &[Finding],
    ) {
        let changed = changed_since(job, facts, &pull.head_sha).await;
        let stands = |finding: &&Finding| {
            let changed = changed.as_ref();
            changed.is_some_and(|files| !files.contains(&finding.file))
        };
        for finding in findings.iter().filter(|finding| !stands(finding)) {
            let sentence = comment::unposted::left_behind(finding, &pull.head_sha);
            self.left_behind.push((finding.clone(), sentence));
        }
    }
}

/// The files that differ between the reviewed commit and the new head; `None` where the reviewed commit is not part of
/// the pull request any more, or nobody can tell.
async fn changed_since(job: &Job<'_>, facts: &Facts, now: &CommitSha) -> Option<Vec<String>> {
    let reviewed = &facts.pull.head_sha;
    let commits = job.github.commits(&job.pr).await.ok()?;
    commits.iter().find(|commit| commit.sha == *reviewed)?;
    let repository = &facts.change.repository;
    repository.ensure(&[now], &job.remote()).await.ok()?;
    let diffs = repository
        .diff_under(&facts.merge_base, reviewed, now)
        .await
        .ok()?;
    let both = |diff: FileDiff| [Some(diff.path), diff.previous_path];
    Some(diffs.into_iter().flat_map(both).flatten().collect())
}
