//! The pull request itself: what it is, what it changes, who may write to its repository.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, encoded, not_understood};
use super::wire;
use reviewer_core::domain::{CommitSha, Login, PrKey, RepoName};
use serde_json::json;

/// The pull request as it is now; an event's payload is older.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub struct PullRequest {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub draft: bool,
    pub state: PullState,
    pub locked: bool,
    /// `None` where the account was deleted.
    pub author: Option<Login>,
    pub labels: Vec<String>,
    pub head_sha: CommitSha,
    pub head_ref: String,
    /// `None` where the fork was deleted.
    pub head_repo: Option<RepoName>,
    pub base_sha: CommitSha,
    pub base_ref: String,
    pub from_fork: bool,
    /// People with write access to the base may push to a fork's branch. The reviewer never does.
    pub maintainer_can_modify: bool,
    pub html_url: String,
    /// The number of changed files; GitHub lists at most 3000 of them.
    pub changed_files: Option<u64>,
    /// The number of lines that were added or removed.
    pub changed_lines: Option<u64>,
    /// The number of comments on its lines: another number is another discussion.
    pub review_comments: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PullState {
    Open,
    Closed,
    Merged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Added,
    Modified,
    Removed,
    Renamed,
    Copied,
    /// Mode or type changed.
    Changed,
    Unchanged,
}

impl ChangeKind {
    fn parse(text: &str) -> Self {
        match text {
            "added" => Self::Added,
            "removed" => Self::Removed,
            "renamed" => Self::Renamed,
            "copied" => Self::Copied,
            "changed" => Self::Changed,
            "unchanged" => Self::Unchanged,
            _ => Self::Modified,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    pub previous: Option<String>,
    pub status: ChangeKind,
    pub additions: u64,
    pub deletions: u64,
    /// Binary, very large and merely renamed files have none.
    pub has_patch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    pub sha: CommitSha,
    pub message: String,
    /// `None` where no account has the author's address.
    pub author: Option<Login>,
    pub parents: Vec<CommitSha>,
}

/// The access level of an account in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    None,
    Read,
    Write,
    Admin,
}

impl Permission {
    #[must_use]
    pub fn may_write(self) -> bool {
        self >= Self::Write
    }

    /// `permission` knows four levels; `maintain` and custom roles show in `role_name` beside it.
    fn parse(wire: &wire::UserPermission) -> Self {
        match (wire.permission.as_deref(), wire.role_name.as_deref()) {
            (Some("admin"), _) => Self::Admin,
            (Some("write" | "maintain"), _) | (None, Some("write" | "maintain")) => Self::Write,
            (Some("read" | "triage"), _) => Self::Read,
            _ => Self::None,
        }
    }
}

/// A file of a commit.
const FILE: &str = "query($owner: String!, $name: String!, $file: String!) {
  repository(owner: $owner, name: $name) {
    object(expression: $file) { ... on Blob { text isTruncated } }
  }
}";

/// A file at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAt {
    Missing,
    Text(String),
    /// There is something of this name, and GitHub gives no whole text of it.
    Unreadable,
}

impl From<wire::Blob> for FileAt {
    fn from(blob: wire::Blob) -> Self {
        let text = blob.text.filter(|_| blob.is_truncated != Some(true));
        text.map_or(Self::Unreadable, Self::Text)
    }
}

impl GitHub {
    /// Reads a file at a commit, by one query.
    pub async fn file(
        &self,
        repo: &RepoName,
        commit: &CommitSha,
        path: &str,
    ) -> Result<FileAt, ApiError> {
        let file = format!("{commit}:{path}");
        let variables = json!({ "owner": repo.owner(), "name": repo.name(), "file": file });
        let call = Call::query("read a file of the base branch", FILE, &variables);
        let data: wire::FileData = self.graphql(call).await?;
        let Some(blob) = data.repository.and_then(|repository| repository.object) else {
            return Ok(FileAt::Missing);
        };
        Ok(FileAt::from(blob))
    }

    pub async fn pull_request(&self, key: &PrKey) -> Result<PullRequest, ApiError> {
        let name = "read the pull request";
        let route = format!("/repos/{}/pulls/{}", key.repo, key.number);
        let hint = "there is no such pull request, or the token may not see it";
        let wire = self.json(Call::get(name, route).or_hint(hint)).await?;
        domain_pull_request(name, wire)
    }

    /// The changed files of all pages; GitHub lists at most 3000 of them.
    pub async fn files(&self, key: &PrKey) -> Result<Vec<ChangedFile>, ApiError> {
        let route = format!(
            "/repos/{}/pulls/{}/files?per_page=100",
            key.repo, key.number
        );
        let all = |page: Vec<wire::ChangedFile>| page;
        let files = self
            .pages("list the changed files", route, all, |file| {
                file.filename.clone()
            })
            .await?;
        Ok(files.into_iter().map(domain_file).collect())
    }

    /// Oldest first; GitHub lists at most 250.
    pub async fn commits(&self, key: &PrKey) -> Result<Vec<CommitInfo>, ApiError> {
        let name = "list the commits";
        let route = format!(
            "/repos/{}/pulls/{}/commits?per_page=100",
            key.repo, key.number
        );
        let commits = self
            .pages(
                name,
                route,
                |page: Vec<wire::Commit>| page,
                |commit| commit.sha.clone(),
            )
            .await?;
        commits
            .into_iter()
            .map(|commit| domain_commit(name, commit))
            .collect()
    }

    pub async fn merge_base(
        &self,
        repo: &RepoName,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<CommitSha, ApiError> {
        let name = "compare base and head";
        let route = format!("/repos/{repo}/compare/{base}...{head}?per_page=1");
        let hint =
            "one of the two commits is gone, as after a force push, or they share no history";
        let wire: wire::Comparison = self.json(Call::get(name, route).or_hint(hint)).await?;
        commit_sha(name, &wire.merge_base_commit.sha)
    }

    /// The people and teams whose review was asked for, as they are mentioned. A reviewer leaves the list by
    /// reviewing.
    pub async fn requested_reviewers(&self, key: &PrKey) -> Result<Vec<String>, ApiError> {
        let name = "read the requested reviewers";
        let route = format!(
            "/repos/{}/pulls/{}/requested_reviewers",
            key.repo, key.number
        );
        let wire: wire::RequestedReviewers = self.json(Call::get(name, route)).await?;
        let users = wire
            .users
            .into_iter()
            .filter(|user| user.kind.as_deref() != Some("Bot"));
        let teams = wire.teams.into_iter();
        let teams = teams.map(|team| format!("{}/{}", key.repo.owner(), team.slug));
        Ok(users.map(|user| user.login).chain(teams).collect())
    }

    /// The access of an account; none for one that the repository does not know.
    pub async fn permission(&self, repo: &RepoName, login: &Login) -> Result<Permission, ApiError> {
        let route = format!(
            "/repos/{repo}/collaborators/{}/permission",
            encoded(login.as_str())
        );
        match self
            .json(Call::get("read a collaborator's permission", route))
            .await
        {
            Ok(wire) => Ok(Permission::parse(&wire)),
            Err(error) if error.is_not_found() => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn commit_sha(call: &'static str, text: &str) -> Result<CommitSha, ApiError> {
    text.parse()
        .map_err(|problem| not_understood(call, &problem))
}

fn domain_pull_request(
    name: &'static str,
    wire: wire::PullRequest,
) -> Result<PullRequest, ApiError> {
    let head_repo = wire.head.repo.as_ref();
    let ids = (
        head_repo.and_then(|repo| repo.id),
        wire.base.repo.as_ref().and_then(|repo| repo.id),
    );
    Ok(PullRequest {
        number: wire.number,
        title: wire.title.unwrap_or_default(),
        body: wire.body.unwrap_or_default(),
        draft: wire.draft.unwrap_or(false),
        state: match wire.state.as_deref() {
            _ if wire.merged == Some(true) || wire.merged_at.is_some() => PullState::Merged,
            Some("closed") => PullState::Closed,
            _ => PullState::Open,
        },
        locked: wire.locked.unwrap_or(false),
        author: wire.user.map(|user| Login::new(&user.login)),
        labels: wire
            .labels
            .into_iter()
            .filter_map(|label| label.name)
            .collect(),
        head_sha: commit_sha(name, &wire.head.sha)?,
        head_ref: wire.head.name.unwrap_or_default(),
        head_repo: head_repo.and_then(|repo| repo.full_name.as_deref()?.parse().ok()),
        base_sha: commit_sha(name, &wire.base.sha)?,
        base_ref: wire.base.name.unwrap_or_default(),
        // A head whose repository is gone was a fork's.
        from_fork: ids.0.is_none() || ids.0 != ids.1,
        maintainer_can_modify: wire.maintainer_can_modify.unwrap_or(false),
        html_url: wire.html_url.unwrap_or_default(),
        changed_files: wire.changed_files,
        changed_lines: wire.additions.zip(wire.deletions).map(|(a, d)| a + d),
        review_comments: wire.review_comments,
    })
}

fn domain_file(wire: wire::ChangedFile) -> ChangedFile {
    ChangedFile {
        status: ChangeKind::parse(wire.status.as_deref().unwrap_or_default()),
        path: wire.filename,
        previous: wire.previous_filename,
        additions: wire.additions,
        deletions: wire.deletions,
        has_patch: wire.patch.is_some(),
    }
}

fn domain_commit(name: &'static str, wire: wire::Commit) -> Result<CommitInfo, ApiError> {
    let parents = wire.parents.iter();
    Ok(CommitInfo {
        parents: parents
            .map(|parent| commit_sha(name, &parent.sha))
            .collect::<Result<_, _>>()?,
        sha: commit_sha(name, &wire.sha)?,
        message: wire
            .detail
            .and_then(|commit| commit.message)
            .unwrap_or_default(),
        author: wire.author.map(|user| Login::new(&user.login)),
    })
}
