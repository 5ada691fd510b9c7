//! The facts that one probe reads from GitHub. Plain data: nothing here decides.

use super::{Decision, Settings};
use crate::domain::{CommitSha, Login, RepoName};
use serde::{Deserialize, Serialize};

/// The state of a pull request on GitHub.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PullState {
    Open,
    Closed,
    Merged {
        by: Option<Login>,
        sha: Option<CommitSha>,
    },
}

/// The state of a review on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

/// The decision of a persona, from a block that the service signed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonaDecision {
    pub agent: String,
    pub decision: Decision,
    #[serde(default)]
    pub escalations: Vec<String>,
}

/// A submitted review.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFact {
    pub id: u64,
    /// `None`: the account was deleted.
    pub author: Option<Login>,
    pub author_is_bot: bool,
    pub commit: Option<CommitSha>,
    pub state: ReviewState,
    /// ISO 8601, UTC.
    pub at: String,
    /// The names in its tags `<!-- escalate: name -->`.
    #[serde(default)]
    pub escalations: Vec<String>,
    /// Decisions of agents that the review's block states, where its signature is right. They count in a review of the agent's own
    /// account.
    #[serde(default)]
    pub personas: Vec<PersonaDecision>,
    /// True if the author may write to the repository.
    pub may_write: bool,
}

/// An order that somebody with write access gave in a comment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderFact {
    pub id: u64,
    pub by: Login,
    pub at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mergeable {
    Unknown,
    Conflicting,
    Mergeable,
}

/// GitHub's `mergeStateStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeState {
    Clean,
    Unstable,
    Blocked,
    Behind,
    Dirty,
    HasHooks,
    Draft,
    Unknown,
}

/// One probe's answer.
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    pub repo: RepoName,
    pub number: u64,
    pub state: PullState,
    pub draft: bool,
    pub locked: bool,
    pub head: CommitSha,
    pub head_branch: String,
    pub from_fork: bool,
    pub base: String,
    /// The end of the base branch, by which a reconciliation sees that it has moved.
    #[serde(default)]
    pub base_head: Option<CommitSha>,
    /// `None`: the account was deleted.
    pub author: Option<Login>,
    /// True if the author may write to the repository.
    #[serde(default = "yes")]
    pub author_may_write: bool,
    pub labels: Vec<String>,
    /// The people whose review is requested.
    pub requested: Vec<Login>,
    pub reviews: Vec<ReviewFact>,
    /// The account that committed the head, where GitHub knows it.
    pub last_push_by: Option<Login>,
    /// Comments `fix resume` of people with write access.
    pub resumes: Vec<OrderFact>,
    /// Comments of people with write access that ask the service for a review.
    #[serde(default)]
    pub invitations: Vec<OrderFact>,
    pub mergeable: Mergeable,
    pub merge_state: MergeState,
    pub auto_merge_armed: bool,
    pub in_merge_queue: bool,
    /// Of the base branch.
    pub settings: Settings,
    /// GitHub's time of the last change, by which a reconciliation sees that something was missed. RFC 3339.
    #[serde(default)]
    pub updated_at: String,
}

const fn yes() -> bool {
    true
}

impl Facts {
    /// True for a head that somebody without write access has written.
    pub(super) fn is_of_stranger(&self) -> bool {
        self.from_fork && !self.author_may_write
    }
}
