//! The tree that the model reads: the head commit's files, written from git objects as plain data, and the base's
//! rules in their place. Separate because it is a wall: no link, no repository, no secret and no name that
//! OpenCode obeys gets through from a pull request.

mod editing;
mod layout;
mod names;
#[cfg(test)]
mod tests;
mod tree;

pub use editing::EditRefusal;
pub(crate) use names::{Reason, is_usable};
pub(crate) use tree::Tree;

use crate::git::{Repository, TreeEntry};
use anyhow::{Result, bail};
use editing::Made;
use layout::{Content, Item, Plan};
use reviewer_core::domain::{CommitSha, FileDiff};
use reviewer_text::hidden::visible;
use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Limits on the part of a repository that is written.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    pub file_bytes: u64,
    pub files: usize,
    pub total_bytes: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            files: 20_000,
            total_bytes: 200 * 1024 * 1024,
        }
    }
}

/// The contents of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSource<'a> {
    pub head: &'a CommitSha,
    /// Every path of the base. Its `AGENTS.md` files are the rules.
    pub base: &'a [TreeEntry],
    /// The files that the pull request changes: they are written first.
    pub changed: &'a [FileDiff],
}

/// A file that the model cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// As the repository names it.
    pub path: String,
    pub reason: Reason,
    /// True if the pull request changes it.
    pub changed: bool,
}

/// The written files, and their names.
#[derive(Debug)]
pub struct Snapshot {
    root: PathBuf,
    own_folder: String,
    left_out: Vec<LeftOut>,
    /// Only the paths that had to be shown under another name.
    shown: HashMap<String, String>,
    /// The head's paths in it, as the repository names them, with the way in which each became a file.
    contents: HashMap<String, Content>,
    /// The files that a fix has made.
    made: Mutex<Made>,
}

/// Writes the files of the head into the empty directory `dir`.
pub async fn write(
    repo: &Repository,
    source: &SnapshotSource<'_>,
    dir: &Path,
    caps: &Caps,
) -> Result<Snapshot> {
    let mut tree = Tree::claim(dir)?;
    let entries = repo.tree(source.head).await?;
    let plan = Plan::new(entries, source, dir, caps);
    let is_blob = |item: &&Item| item.content != Content::Submodule;
    let (blobs, submodules): (Vec<&Item>, Vec<&Item>) = plan.items.iter().partition(is_blob);
    let ids: Vec<&str> = blobs.iter().map(|item| item.entry.id.as_str()).collect();
    let write_blob = |index: usize, content: &[u8]| {
        let item = blobs[index];
        match item.content {
            Content::Link => tree.add(&item.shown, link_text(content).as_bytes()),
            Content::Masked(mask) => {
                let text = mask.text(&String::from_utf8_lossy(content));
                tree.add(&item.shown, text.as_bytes())
            }
            Content::Plain | Content::Submodule => tree.add(&item.shown, content),
        }
    };
    repo.read_blobs(&ids, write_blob).await?;
    for item in submodules {
        let text = format!(
            "[submodule at commit {}; its files are not here]\n",
            item.entry.id
        );
        tree.add(&item.shown, text.as_bytes())?;
    }
    Ok(Snapshot {
        root: dir.to_owned(),
        contents: plan.contents(),
        own_folder: plan.own_folder,
        left_out: plan.left_out,
        shown: plan.shown,
        made: Mutex::new(Made::none(plan.names)),
    })
}

impl Snapshot {
    /// The folder of the files.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The paths of what was left out, by reason.
    #[must_use]
    pub fn left_out_by_reason(&self) -> BTreeMap<Reason, Vec<&LeftOut>> {
        let mut reasons: BTreeMap<Reason, Vec<&LeftOut>> = BTreeMap::new();
        for file in &self.left_out {
            reasons.entry(file.reason).or_default().push(file);
        }
        reasons
    }

    /// The top-level folder for the reviewer's own files; no path of the repository leads into it.
    #[must_use]
    pub fn own_folder(&self) -> &str {
        &self.own_folder
    }

    /// True if values in a file are masked.
    #[must_use]
    pub fn is_masked(&self, repo: &str) -> bool {
        matches!(self.contents.get(repo), Some(Content::Masked(_)))
    }

    /// The path in the snapshot for one of the repository.
    #[must_use]
    pub fn shown_path(&self, repo: &str) -> String {
        self.shown.get(repo).map_or(repo, String::as_str).to_owned()
    }

    /// Writes files of the reviewer, each a name relative to its folder with its text, and gives their paths in the
    /// snapshot, in the same order. Names that would meet in one place are kept apart; a second call with the same
    /// names replaces what the first one wrote.
    pub async fn write_own(&self, files: Vec<(String, String)>) -> Result<Vec<String>> {
        let wanted: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let names = match names::own_names(&wanted) {
            Ok(names) => names,
            Err(reason) => {
                bail!("a file of the reviewer cannot be written into the snapshot: {reason}")
            }
        };
        let shown = names
            .iter()
            .map(|name| format!("{}/{name}", self.own_folder));
        let shown: Vec<String> = shown.collect();
        let (places, mut tree) = (shown.clone(), Tree::resume(&self.root));
        let written = tokio::task::spawn_blocking(move || -> Result<()> {
            for (place, (_, text)) in places.iter().zip(&files) {
                match std::fs::remove_file(tree.path(place)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    _ => tree.add(place, text.as_bytes())?,
                }
            }
            Ok(())
        });
        written.await??;
        Ok(shown)
    }
}

fn link_text(target: &[u8]) -> String {
    let target: String = String::from_utf8_lossy(target).chars().take(1000).collect();
    format!("[symbolic link to {}; not followed]\n", visible(&target))
}
