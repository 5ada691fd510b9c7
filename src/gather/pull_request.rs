//! The pull request itself, or a sentence about why there is none.

use crate::host::Failure;
use reviewer_core::domain::PrKey;
use reviewer_github::{ApiError, GitHub, PullRequest};

/// The pull request to review. Who may not even read it is told what a review takes, and not only the first step of it.
pub(crate) async fn to_review(github: &GitHub, pr: &PrKey) -> Result<PullRequest, Failure> {
    match github.pull_request(pr).await {
        Ok(pull) => Ok(pull),
        Err(error) if error.is_permission() => Err(Failure::new(
            "The token may not read the pull request; a review is posted, too, so add `pull-requests: write` to the \
             job's permissions.",
        )),
        Err(error) => Err(not_found(pr, &error)),
    }
}

pub(crate) async fn found(github: &GitHub, pr: &PrKey) -> Result<PullRequest, Failure> {
    let found = github.pull_request(pr).await;
    found.map_err(|error| not_found(pr, &error))
}

fn not_found(pr: &PrKey, error: &ApiError) -> Failure {
    if error.is_not_found() {
        return Failure::new(format!(
            "The pull request {pr} was not found; check its number, and that github_token may read {}.",
            pr.repo
        ));
    }
    Failure::new(error)
}
