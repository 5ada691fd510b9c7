//! The JSON around commits, branches and pull requests that the reviewer makes.

use super::{Nodes, Oid, Repo};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommitData {
    pub create_commit_on_branch: Option<CommitPayload>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CommitPayload {
    pub commit: Option<BranchCommit>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BranchData {
    repository: Option<BranchRepository>,
}

impl BranchData {
    /// The last commits of the branch, newest first; `None` where there is no such branch.
    pub(crate) fn commits(self) -> Option<Vec<BranchCommit>> {
        let target = self.repository?.branch?.target?;
        Some(target.history?.all().collect())
    }
}

#[derive(Debug, Deserialize)]
struct BranchRepository {
    #[serde(rename = "ref")]
    branch: Option<BranchRef>,
}

#[derive(Debug, Deserialize)]
struct BranchRef {
    target: Option<BranchTarget>,
}

#[derive(Debug, Deserialize)]
struct BranchTarget {
    history: Option<Nodes<BranchCommit>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BranchCommit {
    pub oid: String,
    pub tree: Option<Oid>,
    pub message: Option<String>,
    parents: Option<Nodes<Oid>>,
}

impl BranchCommit {
    pub(crate) fn has_parent(&self, parent: &str) -> bool {
        let nodes = self.parents.as_ref().and_then(|one| one.nodes.as_ref());
        let mut parents = nodes.into_iter().flatten().flatten();
        parents.next().is_some_and(|one| one.oid == parent) && parents.next().is_none()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct QueuedData {
    pub repository: Option<QueuedRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedRepository {
    pub pull_request: Option<QueuedPull>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedPull {
    pub is_in_merge_queue: Option<bool>,
}

/// The answer to a comment on a file in a draft.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddedThread {
    add_pull_request_review_thread: Option<ThreadPayload>,
}

#[derive(Debug, Deserialize)]
struct ThreadPayload {
    thread: Option<IgnoredAny>,
}

impl AddedThread {
    /// `None` if GitHub made none, which it may do without an error.
    pub(crate) fn thread(self) -> Option<()> {
        self.add_pull_request_review_thread?.thread.map(drop)
    }
}

/// A pull request in a list, or just opened. An answer that names none is a dry run's.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedPull {
    #[serde(default)]
    pub number: u64,
    pub html_url: Option<String>,
    pub body: Option<String>,
    pub state: Option<String>,
    pub head: Option<ListedHead>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListedHead {
    #[serde(rename = "ref")]
    pub name: Option<String>,
    pub repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub parameters: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProtectedBranch {
    pub protected: Option<bool>,
    #[serde(default)]
    pub protection: Value,
}

/// The names of the checks in `{"contexts": ["a"]}`, or in `[{"context": "a"}]`.
pub(crate) fn contexts(checks: &Value) -> Vec<String> {
    let list = checks.get("contexts").unwrap_or(checks).as_array();
    let names = list.into_iter().flatten().map(|one| {
        let name = one.get("context").unwrap_or(one);
        name.as_str().unwrap_or_default().to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}
