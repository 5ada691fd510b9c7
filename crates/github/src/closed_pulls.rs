//! The last closed pull requests with the threads on them: one request, whose further pages nobody reads. What people decided
//! there is judged in the core.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::domain::{CommentId, Login, RepoName};
use reviewer_core::state::decided::{ClosedComment, ClosedPull, ClosedPulls, ClosedThread};
use serde_json::json;

/// GitHub answers about at most 500,000 objects; of 20 pull requests these are 21,420. It counts a point for a hundred lists.
pub(super) const CLOSED_PULLS: &str = "query($owner: String!, $name: String!, $pulls: Int!) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    owner { __typename login }
    pullRequests(states: [CLOSED, MERGED], first: $pulls, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        number
        closedAt
        merged
        author { __typename login }
        mergedBy { __typename login }
        reviews(last: 20) { nodes { author { __typename login } authorCanPushToRepository } }
        reviewThreads(first: 50) {
          nodes {
            path
            line
            originalLine
            isResolved
            isOutdated
            resolvedBy { __typename login }
            comments(first: 20) {
              totalCount
              nodes {
                fullDatabaseId
                url
                body
                createdAt
                lastEditedAt
                editor { __typename login }
                author { __typename login }
                pullRequestReview { authorCanPushToRepository }
              }
            }
          }
        }
      }
    }
  }
}";

/// Of an answer that is read, in bytes. That of twenty pull requests with thirty findings each has about a million.
const LONGEST: usize = 16 * 1024 * 1024;

impl GitHub {
    /// Reads the closed pull requests that were changed last.
    pub async fn closed_pulls(&self, repo: &RepoName, most: u8) -> Result<ClosedPulls, ApiError> {
        let name = "read the last closed pull requests";
        let hint = "there is no such repository, or the token may not see it";
        let variables = json!({"owner": repo.owner(), "name": repo.name(), "pulls": most});
        let call = Call::query(name, CLOSED_PULLS, &variables).at_most(LONGEST);
        let data: wire::ClosedPullsData = self.graphql(call).await?;
        let found = data.repository;
        let found = found.ok_or(ApiError::NotFound { call: name, hint })?;
        Ok(ClosedPulls {
            viewer: Login::new(&data.viewer.login),
            owner: found.owner.as_ref().map(wire::Actor::account),
            pulls: found.pull_requests.all().map(pull).collect(),
        })
    }
}

fn pull(wire: wire::ClosedPull) -> ClosedPull {
    let reviews = wire.reviews.into_iter().flat_map(wire::Nodes::all);
    let of_writers = reviews.filter(|review| review.author_can_push_to_repository);
    let threads = wire.review_threads.into_iter().flat_map(wire::Nodes::all);
    ClosedPull {
        number: wire.number,
        closed_at: wire.closed_at.unwrap_or_default(),
        author: wire.author.as_ref().map(wire::Actor::account),
        is_merged: wire.merged,
        merged_by: wire.merged_by.as_ref().map(wire::Actor::account),
        writers: of_writers
            .filter_map(|review| review.author.as_ref().map(wire::Actor::account))
            .collect(),
        threads: threads.filter_map(thread).collect(),
    }
}

/// `None` for a thread of which the answer lacks a comment: the last one may have decided something else.
fn thread(wire: wire::ClosedThread) -> Option<ClosedThread> {
    let total = wire.comments.total_count;
    let comments: Vec<ClosedComment> = wire.comments.all().filter_map(comment).collect();
    (comments.len() == total).then(|| ClosedThread {
        path: wire.path,
        line: wire.line.or(wire.original_line),
        is_resolved: wire.is_resolved,
        is_outdated: wire.is_outdated,
        resolved_by: wire.resolved_by.as_ref().map(wire::Actor::account),
        comments,
    })
}

fn comment(wire: wire::ClosedComment) -> Option<ClosedComment> {
    let edited = wire.editor.is_some() || wire.last_edited_at.is_some();
    Some(ClosedComment {
        id: CommentId(wire.id()?),
        author: wire.author.as_ref().map(wire::Actor::account),
        edited: edited.then(|| wire.editor.as_ref().map(wire::Actor::account)),
        author_may_push: wire
            .pull_request_review
            .is_some_and(|review| review.author_can_push_to_repository),
        body: wire.body,
        created_at: wire.created_at,
        url: wire.url,
    })
}
