//! Closed pull requests with their threads, as GraphQL answers.

use super::{Actor, Nodes, User, number_of};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(crate) struct ClosedPullsData {
    pub viewer: User,
    pub repository: Option<ClosedRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedRepository {
    pub owner: Option<Actor>,
    pub pull_requests: Nodes<ClosedPull>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedPull {
    pub number: u64,
    pub closed_at: Option<String>,
    pub merged: bool,
    pub author: Option<Actor>,
    pub merged_by: Option<Actor>,
    pub reviews: Option<Nodes<ClosedReview>>,
    pub review_threads: Option<Nodes<ClosedThread>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedReview {
    #[serde(default)]
    pub author: Option<Actor>,
    pub author_can_push_to_repository: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedThread {
    pub path: String,
    pub line: Option<u32>,
    pub original_line: Option<u32>,
    pub is_resolved: bool,
    pub is_outdated: bool,
    pub resolved_by: Option<Actor>,
    pub comments: ClosedComments,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedComments {
    /// Of all, also of those that the answer lacks.
    pub total_count: usize,
    #[serde(flatten)]
    page: Nodes<ClosedComment>,
}

impl ClosedComments {
    pub fn all(self) -> impl Iterator<Item = ClosedComment> {
        self.page.all()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedComment {
    full_database_id: Option<Value>,
    pub url: String,
    pub body: String,
    pub created_at: String,
    pub last_edited_at: Option<String>,
    pub editor: Option<Actor>,
    pub author: Option<Actor>,
    pub pull_request_review: Option<ClosedReview>,
}

impl ClosedComment {
    pub fn id(&self) -> Option<u64> {
        number_of(self.full_database_id.as_ref())
    }
}
