//! The change in a person's working tree: the tree as a commit of the reviewer's own, and the commit that it is
//! compared with.

use crate::host::{Failure, Host};
use reviewer_core::domain::CommitSha;
use reviewer_repo::git::{Repository, WorkTree};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The change that is reviewed, and its names.
pub(crate) struct LocalChange {
    pub base: String,
    pub merge_base: CommitSha,
    pub head: CommitSha,
    pub title: String,
    pub author: String,
    pub commits: Vec<(String, String)>,
    pub nested: Vec<String>,
    /// The top folder of the working tree.
    pub root: PathBuf,
}

/// The working tree as a commit, and the one that it is compared with. It breaks with the commit and a sentence where nothing
/// has changed.
pub(crate) async fn take(
    host: &Host<'_>,
    directory: &Path,
    base_name: Option<&str>,
) -> Result<ControlFlow<(CommitSha, String), (LocalChange, Repository)>, Failure> {
    let environment = &host.setup.environment;
    let objects = host.scratch.directory("objects")?;
    let home = environment.home.as_deref();
    let tree = WorkTree::find(&objects, directory, home, &environment.for_git()).await?;
    let Some(tree) = tree else {
        return Err(Failure::new(format!(
            "{} is in no git working tree; run this command in the repository that is to be reviewed.",
            directory.display()
        )));
    };
    let Compared {
        base,
        own,
        merge_base,
    } = compared(&tree, base_name).await?;
    let branch = tree.branch().await?;
    let author = tree.person().await?;
    let commits = tree.commits(&merge_base, &own).await?;
    let root = tree.root().to_owned();
    let taken = tree.take(&own, &merge_base).await?;
    if !taken.changed {
        let why = format!("Nothing has changed since {base}; there is nothing to review.");
        return Ok(ControlFlow::Break((merge_base, why)));
    }
    let repository = taken.repository;
    if !repository.holds(&[&merge_base, &taken.head]).await? {
        return Err(Failure::new(format!(
            "The repository does not hold everything of {}; it may be a shallow or partial clone: fetch the rest first.",
            merge_base.short()
        )));
    }
    let change = LocalChange {
        base,
        merge_base,
        head: taken.head,
        title: branch.unwrap_or_else(|| own.short().to_owned()),
        author: author.unwrap_or_else(|| "you".to_owned()),
        commits,
        nested: taken.nested,
        root,
    };
    Ok(ControlFlow::Continue((change, repository)))
}

/// Says that a directory is none, which git would tell as a missing git; `None` where it is one.
pub(crate) fn no_directory(path: &Path) -> Option<String> {
    let said = || {
        format!(
            "--path {} is no directory; name a directory of the repository.",
            path.display()
        )
    };
    (!path.is_dir()).then(said)
}

/// The commits that a working tree is compared by.
pub(crate) struct Compared {
    /// The name of the base.
    pub base: String,
    pub own: CommitSha,
    pub merge_base: CommitSha,
}

/// Resolves the base and the commit that it has in common with the branch.
pub(crate) async fn compared(
    tree: &WorkTree,
    base_name: Option<&str>,
) -> Result<Compared, Failure> {
    let (base, target) = base(tree, base_name).await?;
    let Some(own) = tree.commit("HEAD").await? else {
        return Err(Failure::new(
            "The branch has no commit yet; there is nothing to compare with.",
        ));
    };
    let Some(merge_base) = tree.merge_base(&own, &target).await? else {
        return Err(Failure::new(format!(
            "HEAD and {base} have no commit in common; name another --base, or fetch more of the history."
        )));
    };
    Ok(Compared {
        base,
        own,
        merge_base,
    })
}

/// Resolves the base to compare with: its name and its commit.
async fn base(tree: &WorkTree, given: Option<&str>) -> Result<(String, CommitSha), Failure> {
    if let Some(name) = given {
        let commit = tree.commit(name).await?.ok_or_else(|| {
            Failure::new(format!(
                "--base {name} names no commit of this repository; expected a branch, a tag or a commit, for \
                 example main, origin/main or HEAD~3."
            ))
        })?;
        return Ok((name.to_owned(), commit));
    }
    if tree.commit("HEAD").await?.is_none() {
        return Err(Failure::new(
            "The repository has no commit yet, so there is nothing to compare with; commit something first.",
        ));
    }
    let usual = ["main", "master"].map(str::to_owned);
    for name in tree.default_branch().await?.into_iter().chain(usual) {
        if let Some(commit) = tree.commit(&name).await? {
            return Ok((name, commit));
        }
    }
    Err(Failure::new(
        "There is neither a branch main nor a branch master, and the default branch of origin is not known; name a \
         branch, a tag or a commit with --base.",
    ))
}
