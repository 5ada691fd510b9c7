//! Merging, bound to the head that was approved: at once, by GitHub's auto-merge, or by a merge queue. GitHub's refusals
//! are told apart here, because each needs another answer; and each call recognises that it was done already.

mod refusal;

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::pulls::PullState;
use super::wire;
use reviewer_core::domain::{CommitSha, PrKey};
use serde_json::json;

pub use refusal::MergeRefusal;
use refusal::{described, refusal};

const ARM: &str = "mutation($pull: ID!, $head: GitObjectID!, $method: PullRequestMergeMethod!) {
  enablePullRequestAutoMerge(input: { pullRequestId: $pull, expectedHeadOid: $head, mergeMethod: $method }) {
    clientMutationId
  }
}";

const DISARM: &str = "mutation($pull: ID!) {
  disablePullRequestAutoMerge(input: { pullRequestId: $pull }) { clientMutationId }
}";

const ENQUEUE: &str = "mutation($pull: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: { pullRequestId: $pull, expectedHeadOid: $head }) { clientMutationId }
}";

const DEQUEUE: &str = "mutation($pull: ID!) {
  dequeuePullRequest(input: { id: $pull }) { clientMutationId }
}";

/// The standing of a pull request after a merge was asked for.
const STANDING: &str = "query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state headRefOid isInMergeQueue mergeCommit { oid }
      autoMergeRequest { enabledBy { __typename login } }
    }
  }
}";

const MERGE_NAME: &str = "merge the pull request";
const ARM_NAME: &str = "enable auto-merge";
const DISARM_NAME: &str = "disable auto-merge";
const ENQUEUE_NAME: &str = "add the pull request to the merge queue";
const DEQUEUE_NAME: &str = "take the pull request out of the merge queue";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

impl MergeMethod {
    /// As REST writes it.
    fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    /// As GraphQL writes it.
    fn constant(self) -> &'static str {
        match self {
            Self::Merge => "MERGE",
            Self::Squash => "SQUASH",
            Self::Rebase => "REBASE",
        }
    }
}

/// A pull request that is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDone {
    /// The commit on the base branch, as far as GitHub tells; none in a dry run.
    pub sha: Option<CommitSha>,
    /// Somebody, or an earlier request, had merged it.
    pub already: bool,
}

/// A pull request as it stands between two attempts.
struct Standing {
    state: PullState,
    head: Option<CommitSha>,
    merge_commit: Option<CommitSha>,
    armed: bool,
    queued: bool,
}

impl GitHub {
    /// Merges this head and no other, by the first of these methods that the repository allows. One that is merged
    /// already counts as merged by this call, if it was this head.
    pub async fn merge_pull_request(
        &self,
        key: &PrKey,
        head: &CommitSha,
        methods: &[MergeMethod],
    ) -> Result<MergeDone, MergeRefusal> {
        let mut refusal = MergeRefusal::Method {
            message: "it allows none that is known here".to_owned(),
        };
        for method in methods {
            match self.merge_by(key, head, *method).await {
                Err(refused @ MergeRefusal::Method { .. }) => refusal = refused,
                outcome => return outcome,
            }
        }
        Err(refusal)
    }

    async fn merge_by(
        &self,
        key: &PrKey,
        head: &CommitSha,
        method: MergeMethod,
    ) -> Result<MergeDone, MergeRefusal> {
        let send = || async {
            let route = format!("/repos/{}/pulls/{}/merge", key.repo, key.number);
            let body = json!({"sha": head.as_str(), "merge_method": method.name()});
            let merged: wire::Merged = self.json(Call::put(MERGE_NAME, route, body)).await?;
            Ok(MergeDone {
                sha: merged.sha.and_then(|sha| sha.parse().ok()),
                already: false,
            })
        };
        let look = || async { Ok(self.standing(key).await?.done(head)) };
        match self.once(send, look).await {
            Ok(done) => Ok(done),
            Err(error) => {
                let refusal = refusal(head, error);
                // GitHub says of a merged pull request only that it cannot be merged.
                self.or_done(key, head, refusal, |now| now.done(head)).await
            }
        }
    }

    /// Lets GitHub merge this head as soon as its rules allow it. `pull` is GraphQL's id. Refused where nothing is to
    /// be waited for: `Ready` then.
    pub async fn enable_auto_merge(
        &self,
        key: &PrKey,
        pull: &str,
        head: &CommitSha,
        method: MergeMethod,
    ) -> Result<(), MergeRefusal> {
        let variables = json!({"pull": pull, "head": head.as_str(), "method": method.constant()});
        let armed = |now: &Standing| (now.is_at(head) && (now.armed || now.queued)).then_some(());
        let call = || Call::mutation(ARM_NAME, ARM, &variables);
        self.arrange(key, head, call, armed).await
    }

    /// Takes an auto-merge back, and a place in the merge queue. What is neither armed nor queued counts as taken back;
    /// so does a pull request that is closed.
    pub async fn disable_auto_merge(&self, key: &PrKey, pull: &str) -> Result<(), MergeRefusal> {
        let disarmed = |now: &Standing| !now.armed;
        let disarm = (DISARM_NAME, DISARM);
        self.take_back(key, pull, disarm, disarmed).await?;
        if self.is_dry_run() {
            return Ok(());
        }
        // GitHub puts an armed pull request into the queue by itself, so the queue is looked at last.
        let now = self.standing(key).await.map_err(described)?;
        if now.queued {
            let dequeue = (DEQUEUE_NAME, DEQUEUE);
            self.take_back(key, pull, dequeue, |now| !now.queued)
                .await?;
        }
        Ok(())
    }

    /// Sends a mutation, by its name and its text, that takes back what shows on the pull request. A refusal counts as
    /// done if there is nothing to take back.
    async fn take_back(
        &self,
        key: &PrKey,
        pull: &str,
        (name, text): (&'static str, &'static str),
        gone: impl Fn(&Standing) -> bool,
    ) -> Result<(), MergeRefusal> {
        let variables = json!({ "pull": pull });
        let send = || async {
            let call = Call::mutation(name, text, &variables).repeatable();
            self.graphql::<wire::Acknowledged>(call).await.map(drop)
        };
        let look = || async { Ok(gone(&self.standing(key).await?).then_some(())) };
        match self.once(send, look).await {
            Ok(()) => Ok(()),
            Err(error @ ApiError::GraphQl { .. }) => match look().await {
                Ok(Some(())) => Ok(()),
                _ => Err(described(error)),
            },
            Err(error) => Err(described(error)),
        }
    }

    /// Puts this head into the merge queue of its base. One that is there counts as put there by this call. A queue has
    /// a method of its own, so none is given.
    pub async fn enqueue_pull_request(
        &self,
        key: &PrKey,
        pull: &str,
        head: &CommitSha,
    ) -> Result<(), MergeRefusal> {
        let variables = json!({"pull": pull, "head": head.as_str()});
        let queued = |now: &Standing| (now.is_at(head) && now.queued).then_some(());
        let call = || Call::mutation(ENQUEUE_NAME, ENQUEUE, &variables);
        self.arrange(key, head, call, queued).await
    }

    /// Sends a mutation whose effect shows on the pull request.
    async fn arrange(
        &self,
        key: &PrKey,
        head: &CommitSha,
        call: impl Fn() -> Call,
        done: impl Fn(&Standing) -> Option<()>,
    ) -> Result<(), MergeRefusal> {
        let merged = |now: &Standing| done(now).or_else(|| now.done(head).map(drop));
        let send = || async { self.graphql::<wire::Acknowledged>(call()).await.map(drop) };
        let look = || async { Ok(merged(&self.standing(key).await?)) };
        match self.once(send, look).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let refusal = refusal(head, error);
                self.or_done(key, head, refusal, merged).await
            }
        }
    }

    /// A refusal, unless the pull request shows that there was nothing left to do. It also tells the head that it is at.
    async fn or_done<T>(
        &self,
        key: &PrKey,
        head: &CommitSha,
        refusal: MergeRefusal,
        done: impl Fn(&Standing) -> Option<T>,
    ) -> Result<T, MergeRefusal> {
        let final_word = matches!(
            refusal,
            MergeRefusal::Api(_) | MergeRefusal::NotPermitted { .. } | MergeRefusal::Method { .. }
        );
        if final_word {
            return Err(refusal);
        }
        let Ok(now) = self.standing(key).await else {
            return Err(refusal);
        };
        if let Some(done) = done(&now) {
            return Ok(done);
        }
        if !now.is_at(head) {
            let expected = head.clone();
            return Err(MergeRefusal::Moved {
                expected,
                now: now.head,
            });
        }
        Err(if now.state == PullState::Closed {
            MergeRefusal::Closed
        } else {
            refusal
        })
    }

    async fn standing(&self, key: &PrKey) -> Result<Standing, ApiError> {
        let name = "look what became of the merge";
        let variables =
            json!({"owner": key.repo.owner(), "name": key.repo.name(), "number": key.number});
        let data: wire::MergeData = self
            .graphql(Call::query(name, STANDING, &variables))
            .await?;
        let pull = data.repository.and_then(|one| one.pull_request);
        let hint = "there is no such pull request, or the token may not see it";
        let pull = pull.ok_or(ApiError::NotFound { call: name, hint })?;
        Ok(Standing {
            state: match pull.state.as_deref() {
                Some("MERGED") => PullState::Merged,
                Some("CLOSED") => PullState::Closed,
                _ => PullState::Open,
            },
            head: pull.head_ref_oid.and_then(|sha| sha.parse().ok()),
            merge_commit: pull.merge_commit.and_then(|commit| commit.oid.parse().ok()),
            armed: pull.auto_merge_request.is_some(),
            queued: pull.is_in_merge_queue,
        })
    }
}

impl Standing {
    fn is_at(&self, head: &CommitSha) -> bool {
        self.head.as_ref() == Some(head)
    }

    fn done(&self, head: &CommitSha) -> Option<MergeDone> {
        (self.state == PullState::Merged && self.is_at(head)).then(|| MergeDone {
            sha: self.merge_commit.clone(),
            already: true,
        })
    }
}
