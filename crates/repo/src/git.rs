//! Git objects without a checkout: a private bare repository that borrows the workspace's object store or
//! fetches two commits. Separate because it is the one place that starts `git`, and it starts it so that
//! nothing of the workspace (configuration, hooks, attributes) is ever run.

mod binary_text;
mod compare;
mod edited_tree;
mod hardening;
mod objects;
mod worktree;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub use compare::CHANGE_ROOM;
pub use edited_tree::{FileEdit, HeadFile, TreeId};
pub use objects::{EntryKind, TreeEntry};
pub use worktree::{Taken, WorkTree};

use anyhow::{Context as _, Result, bail};
use hardening::{Access, Git};
use reviewer_core::domain::CommitSha;
use secrecy::SecretString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The repository from which the commits can be fetched.
#[derive(Debug, Clone)]
pub struct Remote {
    /// `https://host/owner/name`, without credentials.
    pub url: String,
    pub token: Option<SecretString>,
}

/// The place where the objects of a commit were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectSource {
    Workspace,
    Fetched,
}

/// A bare repository in a directory that the reviewer owns.
#[derive(Debug)]
pub struct Repository {
    git: Git,
    fetched: AtomicBool,
}

impl Repository {
    /// Makes the repository in `dir`. Of `passthrough_env` only the search path, the proxy and the
    /// certificate variables are used.
    pub fn open(
        dir: &Path,
        workspace: Option<&Path>,
        passthrough_env: &[(String, String)],
    ) -> Result<Self> {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot create the directory {}", dir.display()))?;
        let store = workspace.map(|path| path.join(".git").join("objects"));
        let git = Git::new(dir, store.filter(|path| path.is_dir()), passthrough_env)?;
        git.init()?;
        Ok(Self {
            git,
            fetched: AtomicBool::new(false),
        })
    }

    /// Makes sure that every tree and file of these commits can be read, and fetches them if not.
    pub async fn ensure(&self, commits: &[&CommitSha], remote: &Remote) -> Result<ObjectSource> {
        if self.is_complete(commits).await? {
            let borrowed = self.git.borrows() && !self.fetched.load(Ordering::Relaxed);
            return Ok(if borrowed {
                ObjectSource::Workspace
            } else {
                ObjectSource::Fetched
            });
        }
        self.fetch(commits, remote).await?;
        self.fetched.store(true, Ordering::Relaxed);
        if self.is_complete(commits).await? {
            return Ok(ObjectSource::Fetched);
        }
        let names: Vec<&str> = commits.iter().map(|commit| commit.short()).collect();
        bail!(
            "{} did not send all objects of {}; run again, or check out with fetch-depth: 0",
            hardening::without_credentials(&remote.url),
            names.join(" and ")
        );
    }

    /// A commit alone proves nothing: shallow clones lack commits, partial ones lack files. So every
    /// object is looked up, which git does without reading it.
    async fn is_complete(&self, commits: &[&CommitSha]) -> Result<bool> {
        let mut args = vec!["rev-list", "--objects", "--no-walk", "--quiet"];
        args.extend(commits.iter().map(|commit| commit.as_str()));
        args.push("--");
        self.git.succeeds(Access::Objects, &args).await
    }

    async fn fetch(&self, commits: &[&CommitSha], remote: &Remote) -> Result<()> {
        let url = hardening::without_credentials(&remote.url);
        if !remote.url.starts_with("https://") && !remote.url.starts_with("http://") {
            bail!("cannot fetch from {url:?}: the address must start with https:// or http://");
        }
        let mut args = vec![
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            remote.url.as_str(),
        ];
        args.extend(commits.iter().map(|commit| commit.as_str()));
        let fetched = self.git.output(Access::Network(remote), &args).await;
        fetched.with_context(|| {
            format!("cannot fetch the commits of the pull request from {url}; the token needs `contents: read`")
        })?;
        Ok(())
    }
}
