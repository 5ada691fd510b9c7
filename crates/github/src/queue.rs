//! Pull requests that share a head commit, and the entries of a merge queue.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::domain::{CommitSha, HeadPull, PrKey, QueueEntry, RepoName};
use serde_json::json;
use std::fmt::Write as _;

/// The pull requests of a commit. Of one that is in the default branch GitHub does not tell the open ones, so those
/// whose numbers are known are asked for by these.
const PULLS: &str = "query($owner: String!, $name: String!, $head: GitObjectID!) {
  repository(owner: $owner, name: $name) {
    object(oid: $head) {
      ... on Commit { associatedPullRequests(first: 100) { nodes { ...pull } } }
    }
    KNOWN
  }
}
fragment pull on PullRequest {
  number state isDraft isCrossRepository headRefOid baseRefName
}";

const QUEUE: &str = "query($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) {
    mergeQueue(branch: $branch) {
      entries(first: 100) {
        nodes {
          baseCommit { oid }
          headCommit { oid }
          pullRequest { number headRefOid }
        }
      }
    }
  }
}";

const QUEUED: &str = "query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { isInMergeQueue } }
}";

impl GitHub {
    /// True while the pull request waits in a merge queue: GitHub takes no push to its branch then.
    pub async fn is_queued(&self, key: &PrKey) -> Result<bool, ApiError> {
        let variables =
            json!({ "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number });
        let call = Call::query("ask whether the pull request is queued", QUEUED, &variables);
        let data: wire::QueuedData = self.graphql(call).await?;
        let pull = data.repository.and_then(|one| one.pull_request);
        Ok(pull.and_then(|pull| pull.is_in_merge_queue) == Some(true))
    }

    /// The pull requests of a commit, and those with these numbers, whatever their state.
    pub async fn pulls_of(
        &self,
        repo: &RepoName,
        head: &CommitSha,
        known: &[u64],
    ) -> Result<Vec<HeadPull>, ApiError> {
        let mut others = String::new();
        for number in known {
            let _ = writeln!(
                others,
                "pull{number}: pullRequest(number: {number}) {{ ...pull }}"
            );
        }
        let query = PULLS.replace("KNOWN", &others);
        let variables =
            json!({ "owner": repo.owner(), "name": repo.name(), "head": head.as_str() });
        let call = Call::query("list the pull requests of the head", &query, &variables);
        let data: wire::HeadPullsData = self.graphql(call).await?;
        let repository = data.repository;
        let pulls = repository.into_iter().flat_map(wire::HeadPulls::all);
        Ok(pulls.filter_map(head_pull).collect())
    }

    /// The entries of a branch's merge queue, the first hundred.
    pub async fn merge_queue(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Vec<QueueEntry>, ApiError> {
        let variables = json!({ "owner": repo.owner(), "name": repo.name(), "branch": branch });
        let call = Call::query("read the merge queue", QUEUE, &variables);
        let data: wire::QueueData = self.graphql(call).await?;
        let repository = data.repository;
        let entries = repository.into_iter().flat_map(wire::QueueRepository::all);
        Ok(entries.filter_map(queue_entry).collect())
    }
}

fn head_pull(wire: wire::HeadPull) -> Option<HeadPull> {
    Some(HeadPull {
        number: wire.number,
        open: wire.state.as_deref() == Some("OPEN"),
        draft: wire.is_draft.unwrap_or(false),
        from_fork: wire.is_cross_repository.unwrap_or(true),
        head: wire.head_ref_oid?.parse().ok()?,
        base_ref: wire.base_ref_name.unwrap_or_default(),
    })
}

fn queue_entry(wire: wire::QueueEntry) -> Option<QueueEntry> {
    let commit = |commit: Option<wire::Oid>| commit?.oid.parse().ok();
    let pull = wire.pull_request?;
    Some(QueueEntry {
        number: pull.number,
        pull_head: pull.head_ref_oid?.parse().ok()?,
        base: commit(wire.base_commit)?,
        commit: commit(wire.head_commit)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_is_missing_in_the_answer_is_left_out() {
        let sha = "a".repeat(40);
        let pull = json!({"number": 1, "state": "OPEN", "isDraft": false, "isCrossRepository": false,
            "headRefOid": sha, "baseRefName": "main"});
        let read = |answer: Value| -> Vec<u64> {
            let data: wire::HeadPullsData = serde_json::from_value(answer).unwrap();
            let pulls = data.repository.into_iter().flat_map(wire::HeadPulls::all);
            pulls
                .filter_map(head_pull)
                .map(|pull| pull.number)
                .collect()
        };
        let mut known = pull.clone();
        known["number"] = json!(7);
        let nodes = json!({ "associatedPullRequests": { "nodes": [null, pull] } });
        let all = json!({ "repository": { "object": nodes, "pull7": known, "pull8": null } });
        assert_eq!(read(all), [1, 7]);
        assert!(read(json!({ "repository": { "object": null } })).is_empty());
        assert!(read(json!({ "repository": { "object": {} } })).is_empty());
        assert!(read(json!({ "repository": null })).is_empty());
        let entry = json!({"baseCommit": {"oid": sha}, "headCommit": null, "pullRequest": {"number": 1, "headRefOid": sha}});
        let answer =
            json!({ "repository": { "mergeQueue": { "entries": { "nodes": [entry, null] } } } });
        let data: wire::QueueData = serde_json::from_value(answer).unwrap();
        let entries = data
            .repository
            .into_iter()
            .flat_map(wire::QueueRepository::all);
        assert_eq!(entries.filter_map(queue_entry).count(), 0);
    }
}
