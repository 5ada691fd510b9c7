//! The facts that GitHub has: files and commits, the discussion, what surrounds the pull request, and the records of earlier runs.

use crate::gather::memory::{Memory, Remembered};
use crate::host::{Failure, Job};
use reviewer_core::context::failed_checks::{FailedCheck, failed_checks};
use reviewer_core::context::intent::Intent;
use reviewer_core::domain::{CommitSha, Login};
use reviewer_core::panel::open_conversations::PeopleConversations;
use reviewer_core::plan::agenda::HeadRecord;
use reviewer_core::state::check_mark::CHECK_NAME;
use reviewer_core::state::rebuild::Rebuilt;
use reviewer_core::state::record::{self, Record};
use reviewer_github::{ApiError, ChangedFile, CommitInfo, IssueComment, PullRequest, Review};

/// The discussion as GitHub has it.
pub(super) struct Discussion {
    pub files: Vec<ChangedFile>,
    pub commits: Vec<CommitInfo>,
    pub rebuilt: Rebuilt,
    pub people: PeopleConversations,
    pub viewer: Login,
    pub conversation: Vec<IssueComment>,
    pub reviews: Vec<Review>,
    pub has_draft: bool,
    pub intent: Intent,
    pub checks: Vec<FailedCheck>,
    pub on_head: Vec<HeadRecord>,
    pub of_manifests: Vec<Record>,
}

impl Discussion {
    pub(super) async fn read(job: &Job<'_>, pull: &PullRequest) -> Result<Self, Failure> {
        let github = &job.github;
        // First, so that whatever a run posted before it concluded its check is in what is read after it.
        let on_head = head_records(job, &pull.head_sha)
            .await
            .map_err(Failure::new)?;
        let (files, commits, conversation, (reviews, has_draft), (intent, checks)) =
            tokio::try_join!(
                github.files(&job.pr),
                github.commits(&job.pr),
                github.issue_comments(&job.pr),
                github.reviews_and_draft(&job.pr),
                surroundings(job, pull),
            )
            .map_err(Failure::new)?;
        let Remembered {
            rebuilt,
            people,
            viewer,
        } = Memory::from_job(job)
            .rebuild(pull.author.as_ref(), &reviews, &files)
            .await?;
        let of_manifests = reviews
            .iter()
            .rev()
            .filter_map(|review| record::from_manifest(&review.body, &job.pr, &job.keys));
        Ok(Self {
            of_manifests: of_manifests.collect(),
            on_head,
            files,
            commits,
            rebuilt,
            people,
            viewer,
            conversation,
            reviews,
            has_draft,
            intent,
            checks,
        })
    }
}

/// The issues that the pull request closes, and the checks of others that failed on the head. A review does without what cannot be
/// read; issues whose text GitHub does not tell are named.
async fn surroundings(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<(Intent, Vec<FailedCheck>), ApiError> {
    let commits = (&pull.head_sha, &pull.base_sha);
    let told = job.github.surroundings(&job.pr, commits).await;
    let told =
        told.inspect_err(|error| tracing::debug!("issues and checks are not known: {error}"));
    let told = told.unwrap_or_default();
    let linked = told.issues.unwrap_or_default();
    let intent = Intent::new(&job.pr.repo, told.private, &pull.body, linked);
    Ok((intent, failed_checks(&told.head, &told.base)))
}

/// The records of the reviewer's check runs on a head, newest first. Without the right to read them there is no memory
/// there.
pub(crate) async fn head_records(
    job: &Job<'_>,
    head: &CommitSha,
) -> Result<Vec<HeadRecord>, ApiError> {
    if !job.uses_check_runs() {
        return Ok(Vec::new());
    }
    match job.github.check_runs(&job.pr.repo, head, CHECK_NAME).await {
        Ok(mut runs) => {
            runs.sort_by_key(|check| std::cmp::Reverse(check.id));
            let records = runs.into_iter().filter_map(|check| {
                Some(HeadRecord {
                    id: check.id,
                    record: record::read(check.text.as_deref()?, &job.pr, &job.keys)?,
                    concluded_at: check.completed_at,
                })
            });
            Ok(records.collect())
        }
        Err(error) if error.is_permission() || error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(super) async fn merge_base(job: &Job<'_>, pull: &PullRequest) -> Result<CommitSha, Failure> {
    job.github
        .merge_base(&job.pr.repo, &pull.base_sha, &pull.head_sha)
        .await
        .map_err(Failure::new)
}
