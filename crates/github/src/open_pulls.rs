//! The open pull requests of a repository, and the repositories of an installation: what the service compares with its
//! store, because webhooks get lost.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, not_understood};
use super::pulls::commit_sha;
use super::threads::{MOST_PAGES, endless, next_cursor};
use super::wire;
use reviewer_core::domain::{CommitSha, RepoName};
use serde_json::json;

const OPEN_PULLS: &str = "query($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequests(states: OPEN, first: 100, after: $after, orderBy: { field: CREATED_AT, direction: ASC }) {
      pageInfo { hasNextPage endCursor }
      nodes { number headRefOid baseRefName updatedAt baseRef { target { oid } } }
    }
  }
}";

const NAMED: &str = "query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { databaseId nameWithOwner }
}";

/// The open pull requests of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPulls {
    /// GitHub's id of the repository that has the name now.
    pub repository: u64,
    /// Oldest first.
    pub pulls: Vec<OpenPull>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPull {
    pub number: u64,
    pub head: CommitSha,
    pub base: String,
    /// The commit at the end of the base branch now; `None`: there is no such branch any more.
    pub base_head: Option<CommitSha>,
    /// RFC 3339; changes with everything that happens on the pull request.
    pub updated_at: String,
}

/// A repository with the name that it has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledRepository {
    pub id: u64,
    pub name: RepoName,
}

impl GitHub {
    /// Lists the open pull requests, a hundred a page. In the order of their creation, so that one that is opened or
    /// closed meanwhile moves no other to a page that was read.
    pub async fn open_pulls(&self, repo: &RepoName) -> Result<OpenPulls, ApiError> {
        let name = "list the open pull requests";
        let (mut pulls, mut after) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let variables = json!({"owner": repo.owner(), "name": repo.name(), "after": after});
            let call = Call::query(name, OPEN_PULLS, &variables);
            let data: wire::OpenPullsData = self.graphql(call).await?;
            let hint = "there is no such repository, or the token may not see it";
            let missing = || ApiError::NotFound { call: name, hint };
            let repository = data.repository.ok_or_else(missing)?;
            let id = repository.database_id.ok_or_else(missing)?;
            let page = repository.pull_requests;
            for pull in page.nodes.into_iter().flatten().flatten() {
                pulls.push(OpenPull {
                    number: pull.number,
                    head: commit_sha(name, &pull.head_ref_oid)?,
                    base: pull.base_ref_name,
                    base_head: pull.base_ref.as_ref().and_then(wire::ProbeBase::head),
                    updated_at: pull.updated_at,
                });
            }
            match next_cursor(name, page.page_info, after.as_ref())? {
                Some(cursor) => after = Some(cursor),
                None => {
                    return Ok(OpenPulls {
                        repository: id,
                        pulls,
                    });
                }
            }
        }
        Err(endless(name))
    }

    /// Finds a repository by its name or by one that it had, with the name that it has now.
    pub async fn repository_called(
        &self,
        repo: &RepoName,
    ) -> Result<InstalledRepository, ApiError> {
        let name = "look up the repository by its name";
        let hint = "there is no such repository, or the token may not see it";
        let missing = || ApiError::NotFound { call: name, hint };
        let variables = json!({"owner": repo.owner(), "name": repo.name()});
        let data: wire::NamedData = self.graphql(Call::query(name, NAMED, &variables)).await?;
        let found = data.repository.ok_or_else(missing)?;
        let full_name = found.name_with_owner.parse();
        Ok(InstalledRepository {
            id: found.database_id.ok_or_else(missing)?,
            name: full_name.map_err(|problem| not_understood(name, &problem))?,
        })
    }

    /// Lists the repositories that the installation of this token may use.
    pub async fn installed_repositories(&self) -> Result<Vec<InstalledRepository>, ApiError> {
        let name = "list the repositories of the installation";
        let route = "/installation/repositories?per_page=100".to_owned();
        let items = |page: wire::InstallationRepositories| page.repositories;
        let listed = self.pages(name, route, items, |repo| repo.id).await?;
        let installed = listed.into_iter().map(|repo| {
            let missing = || not_understood(name, &"a repository has no id or no name");
            let full_name = repo.full_name.as_deref();
            Ok(InstalledRepository {
                id: repo.id.ok_or_else(missing)?,
                name: full_name
                    .and_then(|name| name.parse().ok())
                    .ok_or_else(missing)?,
            })
        });
        installed.collect()
    }
}
