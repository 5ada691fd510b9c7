//! The pull request that a command in a shell is about: what was typed, or the repository of the current directory.

use crate::host::Setup;
use reviewer_core::config::inputs;
use reviewer_core::domain::{PrKey, PullRef, RepoName, RepoRef};
use reviewer_github::GitHub;
use reviewer_repo::git::WorkTree;
use reviewer_text::hidden::visible;
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
    Ok(PrKey {
        repo: here(setup, repo)?,
        number: pull.number,
    })
}

/// Finds the repository, or a sentence that says what is missing.
pub async fn repository(
    setup: &Setup,
    repo: Option<&RepoRef>,
    directory: &Path,
) -> Result<RepoName, String> {
    let repo = match repo {
        Some(given) => given.clone(),
        None => usual(setup, directory).await?,
    };
    here(setup, repo)
}

/// Finds the open pull request of the branch that is checked out, or a sentence that says what is missing.
pub async fn pull_request_of_branch(
    setup: &Setup,
    repo: Option<&RepoRef>,
    directory: &Path,
) -> Result<PrKey, String> {
    let repo = repository(setup, repo, directory).await?;
    let branch = branch(setup, directory).await;
    let branch = branch.map_err(|error| format!("git's HEAD cannot be read: {error:#}"))?;
    let Some(branch) = branch else {
        return Err(
            "No pull request is named, and the current directory has no branch checked out; add --pr with its number."
                .into(),
        );
    };
    let token = inputs::github_token(&setup.inputs).map_err(|errors| {
        let sentences: Vec<String> = errors.iter().map(ToString::to_string).collect();
        sentences.join(" ")
    })?;
    let environment = &setup.environment;
    let (api, graphql) = (&environment.api_url, &environment.graphql_url);
    let github = GitHub::new(api, graphql, &token, setup.clock, &environment.network)
        .map_err(|error| error.to_string())?;
    let found = github.open_pulls_of_branch(&repo, &branch).await;
    let found = found.map_err(|error| error.to_string())?;
    let shown = visible(&branch);
    match found.as_slice() {
        [number] => Ok(PrKey {
            repo,
            number: *number,
        }),
        [] => Err(format!(
            "The branch {shown} has no open pull request in {repo}; open one, or add --pr with its number."
        )),
        several => {
            let numbers: Vec<String> = several.iter().map(|number| format!("#{number}")).collect();
            Err(format!(
                "The branch {shown} has several open pull requests in {repo}: {}; add --pr with the number of one.",
                numbers.join(", ")
            ))
        }
    }
}

/// The name of a repository on the server that the token is for.
fn here(setup: &Setup, repo: RepoRef) -> Result<RepoName, String> {
    let server = &setup.environment.server_url;
    if !repo.is_on(server) {
        let host = repo.host.unwrap_or_default();
        return Err(format!(
            "{} is on {host}, and the token is for {server}; for another server, run `export \
             GITHUB_SERVER_URL=https://{host}` and set GITHUB_TOKEN to a token of it.",
            repo.name
        ));
    }
    Ok(repo.name)
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
    match work_tree(setup, scratch.path(), directory).await? {
        Some(tree) => tree.origin().await,
        None => Ok(None),
    }
}

async fn branch(setup: &Setup, directory: &Path) -> anyhow::Result<Option<String>> {
    let scratch = tempfile::tempdir()?;
    match work_tree(setup, scratch.path(), directory).await? {
        Some(tree) => tree.branch().await,
        None => Ok(None),
    }
}

async fn work_tree(
    setup: &Setup,
    scratch: &Path,
    directory: &Path,
) -> anyhow::Result<Option<WorkTree>> {
    let environment = &setup.environment;
    let home = environment.home.as_deref();
    WorkTree::find(scratch, directory, home, &environment.for_git()).await
}
