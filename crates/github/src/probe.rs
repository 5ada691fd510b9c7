//! Everything about one pull request that decides what the service does with it, by one query: events are late, doubled
//! and reordered, so nothing of them is believed. Two things need a second request: reviews beyond the first hundred, and
//! the commit of a review where GraphQL leaves it out.

mod reading;

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, not_understood};
use super::merging::MergeMethod;
use super::pulls::FileAt;
use super::threads::{MOST_PAGES, endless, next_cursor};
use super::wire;
use reviewer_core::domain::{CommentId, CommitSha, Login, PrKey, RepoName};
use reviewer_core::event::Association;
use serde_json::json;
use std::collections::HashMap;

const NAME: &str = "read the state of the pull request";
const REVIEWS_NAME: &str = "list the reviews";

/// The fields of a review, for both queries.
macro_rules! review_fields {
    () => {
        "pageInfo { hasNextPage endCursor }
        nodes {
          fullDatabaseId state submittedAt body lastEditedAt viewerDidAuthor
          authorAssociation authorCanPushToRepository
          author { __typename login }
          editor { __typename login }
          commit { oid }
        }"
    };
}

/// A team's name is not asked for: a classic token without `read:org` would get nothing at all.
const PROBE: &str = concat!(
    "query($owner: String!, $name: String!, $number: Int!, $settings: String!) {
  repository(owner: $owner, name: $name) {
    databaseId nameWithOwner autoMergeAllowed mergeCommitAllowed squashMergeAllowed rebaseMergeAllowed
    pullRequest(number: $number) {
      id number state updatedAt isDraft locked isCrossRepository headRefOid headRefName baseRefName
      author { __typename login }
      mergeable mergeStateStatus isInMergeQueue isMergeQueueEnabled
      autoMergeRequest { enabledBy { __typename login } }
      mergedBy { __typename login }
      mergeCommit { oid }
      baseRef { target { oid ... on Commit { file(path: $settings) { object { ... on Blob { text isTruncated } } } } } }
      labels(first: 100) { nodes { name } }
      reviewRequests(first: 100) {
        nodes { requestedReviewer { __typename ... on User { login } ... on Bot { login } ... on Mannequin { login } } }
      }
      commits(last: 1) {
        nodes { commit { oid author { user { __typename login } } committer { user { __typename login } } } }
      }
      comments(last: 100) {
        nodes { fullDatabaseId createdAt lastEditedAt body authorAssociation author { __typename login } }
      }
      reviews(first: 100) { ",
    review_fields!(),
    " }
    }
  }
}"
);

const REVIEWS: &str = concat!(
    "query($owner: String!, $name: String!, $number: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { reviews(first: 100, after: $after) { ",
    review_fields!(),
    " } }
  }
}"
);

/// A pull request at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub struct Probe {
    /// GitHub's id of the repository, which no other one ever gets.
    pub repository: u64,
    /// The name that it has now.
    pub repo: RepoName,
    pub number: u64,
    /// GraphQL's id, which mutations ask for.
    pub node_id: String,
    pub state: ProbedState,
    /// RFC 3339.
    pub updated_at: String,
    pub draft: bool,
    pub locked: bool,
    pub from_fork: bool,
    pub head: CommitSha,
    pub head_branch: String,
    pub base: String,
    /// The commit at the end of the base branch.
    pub base_head: Option<CommitSha>,
    /// `None` where the account was deleted.
    pub author: Option<Login>,
    pub labels: Vec<String>,
    /// People and bots whose review was asked for; without teams.
    pub requested: Vec<Login>,
    /// Submitted ones, oldest first.
    pub reviews: Vec<ProbedReview>,
    /// The last hundred of the conversation, oldest first.
    pub comments: Vec<ProbedComment>,
    /// The accounts of the head commit, where GitHub knows them.
    pub head_author: Option<Login>,
    pub head_committer: Option<Login>,
    pub mergeable: Mergeable,
    pub merge_state: MergeState,
    pub auto_merge_armed: bool,
    /// The account that armed it.
    pub auto_merge_by: Option<Login>,
    pub in_merge_queue: bool,
    /// The base branch has a merge queue.
    pub merge_queue: bool,
    /// The repository's setting "Allow auto-merge".
    pub auto_merge_allowed: bool,
    /// The methods that the repository allows, in the order in which they are tried.
    pub methods: Vec<MergeMethod>,
    /// The settings file at the head of the base branch.
    pub settings: FileAt,
}

impl Probe {
    /// The account that made the head: GitHub itself commits what people do on its pages, for the author then.
    #[must_use]
    pub fn last_push_by(&self) -> Option<&Login> {
        let committer = self.head_committer.as_ref();
        let person = committer.filter(|login| login.as_str() != "web-flow");
        person.or(self.head_author.as_ref())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbedState {
    Open,
    Closed,
    Merged {
        /// `None` where the account was deleted.
        by: Option<Login>,
        /// The commit on the base branch.
        sha: Option<CommitSha>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedReview {
    pub id: u64,
    /// `None` where the account was deleted.
    pub author: Option<Login>,
    pub association: Association,
    /// The author has write access to the repository.
    pub may_write: bool,
    /// The account of this token wrote it.
    pub own: bool,
    /// It was changed after it was submitted; by whom, where the account is still there.
    pub edited: bool,
    pub edited_by: Option<Login>,
    pub commit: Option<CommitSha>,
    pub state: ReviewState,
    /// RFC 3339.
    pub at: String,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedComment {
    pub id: CommentId,
    pub author: Option<Login>,
    /// `Other`: the permission endpoint has to be asked.
    pub association: Association,
    /// RFC 3339.
    pub at: String,
    pub edited: bool,
    pub body: String,
}

/// GitHub computes it after each push; until then it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mergeable {
    Unknown,
    Conflicting,
    Mergeable,
}

/// The obstacle between a pull request and its merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeState {
    Clean,
    /// Mergeable, though a check that is not required failed or has not ended.
    Unstable,
    /// A required check or review is missing.
    Blocked,
    /// The base has moved, and its rules want the head on top of it.
    Behind,
    /// Conflicts.
    Dirty,
    HasHooks,
    Draft,
    Unknown,
}

impl GitHub {
    /// Reads a pull request of the repository with this id. GitHub follows a renamed repository by its old name, unless
    /// another one has that name now; so the id is compared, and the name asked for by the id. `settings` is the path
    /// of the settings file.
    pub async fn probe(
        &self,
        repository: u64,
        key: &PrKey,
        settings: &str,
    ) -> Result<Probe, ApiError> {
        let first = self.probe_by_name(key, settings).await;
        let answer = match first {
            Ok((id, probe)) if id == repository => return Ok(probe),
            Err(error) if !error.is_not_found() => return Err(error),
            answer => answer,
        };
        let repo = self.repository_name(repository).await?;
        let gone = ApiError::NotFound {
            call: NAME,
            hint: "the repository has another id than expected",
        };
        if repo == key.repo {
            return Err(answer.err().unwrap_or(gone));
        }
        let key = PrKey {
            repo,
            number: key.number,
        };
        let (id, probe) = self.probe_by_name(&key, settings).await?;
        if id == repository {
            Ok(probe)
        } else {
            Err(gone)
        }
    }

    /// The name that the repository with this id has now.
    pub async fn repository_name(&self, id: u64) -> Result<RepoName, ApiError> {
        let name = "look up the repository by its id";
        let hint = "the repository was deleted, or the token may not see it";
        let call = Call::get(name, format!("/repositories/{id}")).or_hint(hint);
        let repo: wire::Repo = self.json(call).await?;
        let full_name = repo.full_name.filter(|_| repo.id == Some(id));
        let full_name = full_name.ok_or_else(|| not_understood(name, &"it names no repository"))?;
        full_name
            .parse()
            .map_err(|problem| not_understood(name, &problem))
    }

    async fn probe_by_name(&self, key: &PrKey, settings: &str) -> Result<(u64, Probe), ApiError> {
        let variables = json!({
            "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "settings": settings,
        });
        let data: wire::ProbeData = self.graphql(Call::query(NAME, PROBE, &variables)).await?;
        let hint = "there is no such pull request, or the token may not see it";
        let missing = || ApiError::NotFound { call: NAME, hint };
        let mut repository = data.repository.ok_or_else(missing)?;
        let id = repository.database_id.ok_or_else(missing)?;
        let mut pull = repository.pull_request.take().ok_or_else(missing)?;
        let reviews = self.all_reviews(key, pull.reviews.take()).await?;
        let probe = reading::probe(id, &repository, pull, reviews)?;
        Ok((id, probe))
    }

    /// The reviews of all pages, each with its commit where GitHub tells it anywhere.
    async fn all_reviews(
        &self,
        key: &PrKey,
        first: Option<wire::Connection<wire::ProbeReview>>,
    ) -> Result<Vec<ProbedReview>, ApiError> {
        let (mut reviews, mut page, mut after) = (Vec::new(), first, None);
        let mut pages = 0;
        while let Some(read) = page {
            pages += 1;
            if pages > MOST_PAGES {
                return Err(endless(REVIEWS_NAME));
            }
            let nodes = read.nodes.into_iter().flatten().flatten();
            reviews.extend(nodes.filter_map(reading::review));
            after = next_cursor(REVIEWS_NAME, read.page_info, after.as_ref())?;
            page = match &after {
                Some(cursor) => self.reviews_after(key, cursor).await?,
                None => None,
            };
        }
        if reviews.iter().any(|review| review.commit.is_none()) {
            self.fill_commits(key, &mut reviews).await?;
        }
        Ok(reviews)
    }

    async fn reviews_after(
        &self,
        key: &PrKey,
        cursor: &str,
    ) -> Result<Option<wire::Connection<wire::ProbeReview>>, ApiError> {
        let variables = json!({
            "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "after": cursor,
        });
        let call = Call::query(REVIEWS_NAME, REVIEWS, &variables);
        let data: wire::ReviewsData = self.graphql(call).await?;
        let pull = data.repository.and_then(|one| one.pull_request);
        Ok(pull.and_then(|pull| pull.reviews))
    }

    /// REST names the commit of a review where GraphQL has none.
    async fn fill_commits(
        &self,
        key: &PrKey,
        reviews: &mut [ProbedReview],
    ) -> Result<(), ApiError> {
        let listed = self.reviews(key).await?.into_iter();
        let mut commits: HashMap<u64, Option<CommitSha>> =
            listed.map(|one| (one.id, one.commit)).collect();
        for review in reviews.iter_mut().filter(|one| one.commit.is_none()) {
            review.commit = commits.remove(&review.id).flatten();
        }
        Ok(())
    }
}
