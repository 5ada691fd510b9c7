//! The pull requests of a head, and those of a merge queue, as GraphQL answers.

use super::{Nodes, Oid};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(crate) struct HeadPullsData {
    pub repository: Option<HeadPulls>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeadPulls {
    object: Option<HeadCommit>,
    /// Those that were asked for by their numbers, each under a name of the query's own.
    #[serde(flatten)]
    known: BTreeMap<String, Option<HeadPull>>,
}

impl HeadPulls {
    pub(crate) fn all(self) -> impl Iterator<Item = HeadPull> {
        let pulls = self
            .object
            .and_then(|commit| commit.associated_pull_requests);
        let pulls = pulls.into_iter().flat_map(Nodes::all);
        pulls.chain(self.known.into_values().flatten())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadCommit {
    associated_pull_requests: Option<Nodes<HeadPull>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeadPull {
    pub number: u64,
    pub state: Option<String>,
    pub is_draft: Option<bool>,
    pub is_cross_repository: Option<bool>,
    pub head_ref_oid: Option<String>,
    pub base_ref_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QueueData {
    pub repository: Option<QueueRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueRepository {
    merge_queue: Option<MergeQueue>,
}

impl QueueRepository {
    pub(crate) fn all(self) -> impl Iterator<Item = QueueEntry> {
        let entries = self.merge_queue.and_then(|queue| queue.entries);
        entries.into_iter().flat_map(Nodes::all)
    }
}

#[derive(Debug, Deserialize)]
struct MergeQueue {
    entries: Option<Nodes<QueueEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueEntry {
    pub base_commit: Option<Oid>,
    pub head_commit: Option<Oid>,
    pub pull_request: Option<HeadPull>,
}
