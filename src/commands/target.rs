//! The pull request that a command in a shell is about: what was typed, or the repository of the current directory.

use crate::host::Setup;
use reviewer_core::domain::{PrKey, PullRef, RepoName, RepoRef};
use reviewer_repo::git::WorkTree;
use std::path::Path;

/// Finds the pull request, or a sentence that says what is missing. The token is sent to one server only, so an address
/// of another one is refused: a clone could name any server as its `origin`.
pub async fn pull_request(
    setup: &Setup,
    pull: &PullRef,
    repo: Option<&RepoRef>,
    directory: &Path,
) -> Result<PrKey, String> {
    let repo = match (&pull.repo, repo) {
        (Some(of_pull), Some(given)) if of_pull.name != given.name => {
            return Err(format!(
                "--pr names a pull request of {}, and --repo names {}; leave --repo out.",
                of_pull.name, given.name
            ));
        }
        (Some(of_pull), _) => of_pull.clone(),
        (None, Some(given)) => given.clone(),
        (None, None) => usual(setup, directory).await?,
    };
    let server = &setup.environment.server_url;
    if !repo.is_on(server) {
        let host = repo.host.unwrap_or_default();
        return Err(format!(
            "{} is on {host}, and the token is for {server}; for another server, run `export \
             GITHUB_SERVER_URL=https://{host}` and set GITHUB_TOKEN to a token of it.",
            repo.name
        ));
    }
    Ok(PrKey {
        repo: repo.name,
        number: pull.number,
    })
}

/// The repository that the runner names, or git's `origin`.
async fn usual(setup: &Setup, directory: &Path) -> Result<RepoRef, String> {
    const MISSING: &str = "add --repo owner/name, or give --pr the address of the pull request.";
    let runner = setup.environment.repository.as_deref();
    if let Some(name) = runner.and_then(|name| name.parse::<RepoName>().ok()) {
        return Ok(RepoRef { host: None, name });
    }
    let origin = origin(setup, directory).await;
    let origin = origin.map_err(|error| format!("git's remotes cannot be read: {error:#}"))?;
    let Some(origin) = origin else {
        return Err(format!(
            "No repository is named, and the current directory has no git remote origin; {MISSING}"
        ));
    };
    origin.parse().map_err(|_| {
        format!("No repository is named, and git's remote origin is none of GitHub's; {MISSING}")
    })
}

async fn origin(setup: &Setup, directory: &Path) -> anyhow::Result<Option<String>> {
    let scratch = tempfile::tempdir()?;
    let environment = &setup.environment;
    let home = environment.home.as_deref();
    let tree = WorkTree::find(scratch.path(), directory, home, &environment.for_git()).await?;
    match tree {
        Some(tree) => tree.origin().await,
        None => Ok(None),
    }
}
