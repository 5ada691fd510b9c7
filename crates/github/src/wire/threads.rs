//! The threads of a review, which only GraphQL has.

use super::{Actor, Connection, User, number_of};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadsData {
    pub viewer: User,
    pub repository: Option<ThreadsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadsRepository {
    pub pull_request: Option<ThreadsPullRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadsPullRequest {
    pub review_threads: Connection<Thread>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub(crate) struct Thread {
    pub id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    #[serde(default)]
    pub viewer_can_resolve: bool,
    #[serde(default)]
    pub viewer_can_unresolve: bool,
    pub resolved_by: Option<Actor>,
    pub comments: Connection<ThreadComment>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadComment {
    /// A BigInt, which GitHub sends as text.
    pub full_database_id: Option<Value>,
    /// Not asked for everywhere.
    pub author: Option<Actor>,
    /// `SUBMITTED`, or `PENDING` in a draft.
    pub state: Option<String>,
    pub last_edited_at: Option<String>,
    pub editor: Option<Actor>,
}

impl ThreadComment {
    pub(crate) fn is_of_draft(&self) -> bool {
        self.state.as_deref() == Some("PENDING")
    }

    pub(crate) fn id(&self) -> Option<u64> {
        number_of(self.full_database_id.as_ref())
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct NodeData {
    pub node: Option<NodeThread>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NodeThread {
    pub comments: Option<Connection<ThreadComment>>,
}
