//! The parts of GitHub's webhook payloads that the reviewer reads. Everything is optional: one struct serves all
//! events, and what an event must hold is judged where it is used.

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Payload {
    pub action: Option<String>,
    pub number: Option<u64>,
    pub before: Option<String>,
    pub pull_request: Option<PullRequest>,
    pub issue: Option<Issue>,
    pub comment: Option<Comment>,
    pub review: Option<Review>,
    pub repository: Option<Repository>,
    pub sender: Option<User>,
    pub inputs: Option<Inputs>,
    pub changes: Option<Changes>,
    pub merge_group: Option<MergeGroup>,
}

/// The changes of an edit.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Changes {
    pub base: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct MergeGroup {
    pub head_sha: Option<String>,
    pub head_ref: Option<String>,
    pub base_sha: Option<String>,
    pub base_ref: Option<String>,
}

/// A delivery of a webhook to the service. It is only a pointer, so nothing else of it is read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delivery {
    pub action: Option<String>,
    pub pull_request: Option<Numbered>,
    pub issue: Option<Issue>,
    pub check_suite: Option<CheckSuite>,
    pub merge_group: Option<MergeGroup>,
    pub repository: Option<Repository>,
    pub installation: Option<Installation>,
    /// The commit of a status.
    pub sha: Option<String>,
    /// The state of a status.
    pub state: Option<String>,
    /// The branch or tag of a push, with its prefix.
    #[serde(rename = "ref")]
    pub pushed: Option<String>,
    /// The push removed it.
    pub deleted: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Numbered {
    pub number: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CheckSuite {
    pub head_sha: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Installation {
    pub id: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PullRequest {
    pub number: Option<u64>,
    pub state: Option<String>,
    pub locked: Option<bool>,
    pub merged: Option<bool>,
    pub merged_at: Option<String>,
    pub user: Option<User>,
    pub head: Option<Branch>,
    pub base: Option<Branch>,
}

impl PullRequest {
    /// A head whose repository is gone was a fork's: a repository's own branch cannot outlive it.
    pub(super) fn is_from_fork(&self) -> bool {
        fn repo(branch: Option<&Branch>) -> Option<&Repository> {
            branch?.repo.as_ref()
        }
        let (head, base) = (repo(self.head.as_ref()), repo(self.base.as_ref()));
        match (head.and_then(|r| r.id), base.and_then(|r| r.id)) {
            (Some(head), Some(base)) => head != base,
            _ => head.is_none() && self.head.is_some(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Branch {
    pub repo: Option<Repository>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Repository {
    pub id: Option<u64>,
    pub full_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Issue {
    pub number: Option<u64>,
    pub state: Option<String>,
    pub locked: Option<bool>,
    /// Present when the issue is a pull request.
    pub pull_request: Option<PullMark>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PullMark {
    pub merged_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Comment {
    pub id: Option<u64>,
    pub in_reply_to_id: Option<u64>,
    pub body: Option<String>,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub created_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Review {
    pub user: Option<User>,
    pub body: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct User {
    pub login: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// The inputs of a dispatch are strings, but a caller of the API may send a number.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Inputs {
    pub pull_request: Option<Value>,
}

pub(super) fn is_bot(user: Option<&User>) -> bool {
    user.is_some_and(|user| {
        user.kind.as_deref() == Some("Bot")
            || user
                .login
                .as_deref()
                .is_some_and(|login| login.ends_with("[bot]"))
    })
}

pub(super) fn is_dependabot(user: Option<&User>) -> bool {
    user.and_then(|user| user.login.as_deref()) == Some("dependabot[bot]")
}
