//! Pull requests that share a head commit, and the entries of a merge queue.

use super::CommitSha;

/// A pull request that may have a commit as its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadPull {
    pub number: u64,
    pub open: bool,
    pub draft: bool,
    pub from_fork: bool,
    pub head: CommitSha,
    pub base_ref: String,
}

/// A pull request in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    pub number: u64,
    /// The head of the pull request.
    pub pull_head: CommitSha,
    /// The commit below, and the one that GitHub made of the entry.
    pub base: CommitSha,
    pub commit: CommitSha,
}
