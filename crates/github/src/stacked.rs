//! A pull request of the reviewer's own, onto the branch of the one that it reviewed.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, encoded};
use super::once::mark;
use super::wire;
use reviewer_core::domain::RepoName;
use serde_json::json;

/// A pull request to open, between two branches of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    pub head: String,
    /// The branch of the pull request that it is stacked on.
    pub base: String,
    pub title: String,
    /// Ends in a block that tells it from every other.
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRef {
    /// 0 in a dry run.
    pub number: u64,
    pub html_url: String,
}

impl GitHub {
    /// Opens a pull request. An open one of the same branches counts as opened by this call.
    pub async fn create_pull_request(
        &self,
        repo: &RepoName,
        pull: &NewPull,
    ) -> Result<PullRef, ApiError> {
        let send = || async {
            let body = json!({
                "title": pull.title, "head": pull.head, "base": pull.base, "body": pull.body,
            });
            let call = Call::post("open a pull request", format!("/repos/{repo}/pulls"), body);
            let opened: wire::ListedPull = self.json(call).await?;
            Ok(pull_ref(opened))
        };
        let same = async |state: &'static str| self.pull_of(repo, pull, state).await;
        let look = || async { same("all").await };
        match self.once(send, look).await {
            Err(refused @ ApiError::Unprocessable { .. }) => same("open").await?.ok_or(refused),
            outcome => outcome,
        }
    }

    /// The numbers of the open pull requests of a branch of the repository.
    pub async fn open_pulls_of_branch(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Vec<u64>, ApiError> {
        let head = encoded(&format!("{}:{branch}", repo.owner()));
        let route = format!("/repos/{repo}/pulls?head={head}&state=open&per_page=100");
        let all = |page: Vec<wire::ListedPull>| page;
        let pulls = self.pages("list pull requests", route, all, |pull| pull.number);
        let pulls = pulls.await?.into_iter();
        let own = pulls.filter(|pull| is_from(pull, branch, repo));
        Ok(own.map(|pull| pull.number).collect())
    }

    /// The newest pull request between these branches: any open one, or one with the same block.
    async fn pull_of(
        &self,
        repo: &RepoName,
        wanted: &NewPull,
        state: &'static str,
    ) -> Result<Option<PullRef>, ApiError> {
        let head = encoded(&format!("{}:{}", repo.owner(), wanted.head));
        let base = encoded(&wanted.base);
        let route =
            format!("/repos/{repo}/pulls?head={head}&base={base}&state={state}&per_page=100");
        let all = |page: Vec<wire::ListedPull>| page;
        let pulls = self.pages("list pull requests", route, all, |pull| pull.number);
        let mut pulls = pulls.await?.into_iter();
        let found = pulls.find(|one| is_of(one, wanted, repo));
        Ok(found.map(pull_ref))
    }
}

fn is_of(listed: &wire::ListedPull, wanted: &NewPull, repo: &RepoName) -> bool {
    let open = listed.state.as_deref() == Some("open");
    let same = mark(listed.body.as_deref().unwrap_or_default()) == mark(&wanted.body);
    is_from(listed, &wanted.head, repo) && (open || same)
}

/// GitHub ignores a `head` that it does not understand and lists everything then.
fn is_from(listed: &wire::ListedPull, branch: &str, repo: &RepoName) -> bool {
    let head = listed.head.as_ref();
    let name = head.and_then(|head| head.name.as_deref());
    let own = head.and_then(|head| head.repo.as_ref()?.full_name.as_deref());
    name == Some(branch) && own.is_some_and(|own| own.eq_ignore_ascii_case(&repo.to_string()))
}

fn pull_ref(wire: wire::ListedPull) -> PullRef {
    PullRef {
        number: wire.number,
        html_url: wire.html_url.unwrap_or_default(),
    }
}
