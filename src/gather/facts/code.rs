//! The change itself, from git objects, and a hash of the rules that it is reviewed by.

use crate::gather::change::Change;
use crate::host::{Failure, Job};
use reviewer_core::context::rules::RuleFile;
use reviewer_core::domain::CommitSha;
use reviewer_github::PullRequest;
use reviewer_repo::git::Repository;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The commits are fetched where the workspace does not have them.
pub(super) async fn change(
    job: &Job<'_>,
    pull: &PullRequest,
    merge_base: &CommitSha,
    snapshot: &Path,
) -> Result<Change, Failure> {
    let environment = &job.host.setup.environment;
    let directory = job.host.scratch.directory("objects")?;
    let workspace = environment.workspace.as_deref();
    let repository = Repository::open(&directory, workspace, &environment.for_git())?;
    let commits = [merge_base, &pull.head_sha];
    repository.ensure(&commits, &job.remote()).await?;
    Change::load(&job.host, repository, commits, snapshot).await
}

pub(super) fn rules_hash(job: &Job<'_>, rules: &[RuleFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(job.host.config.fingerprint());
    for rule in rules {
        hash.update(format!("\n{}\n{}\n", rule.path, rule.text.len()));
        hash.update(&rule.text);
    }
    data_encoding::HEXLOWER.encode(&hash.finalize()[..8])
}
