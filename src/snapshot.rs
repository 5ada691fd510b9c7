//! The tree that the model reads: the head commit's files, written from git objects as plain data. Separate
//! because it is a wall: no link, no repository and no name that OpenCode obeys gets through.

mod names;
#[cfg(test)]
mod tests;

pub use names::Reason;

use crate::domain::diff::visible;
use crate::domain::{CommitSha, FileDiff};
use crate::git::{EntryKind, Repository, TreeEntry, path_text};
use anyhow::{Context as _, Result, bail};
use names::Names;
use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// How much of a repository is written.
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

/// A file of the repository that the model cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// As the repository names it.
    pub path: String,
    pub reason: Reason,
    /// Whether the pull request changes it.
    pub changed: bool,
}

/// What was written, and under which names.
#[derive(Debug)]
pub struct Snapshot {
    root: PathBuf,
    own_folder: String,
    left_out: Vec<LeftOut>,
    files: usize,
    bytes: u64,
    /// Only the paths that had to be shown under another name.
    shown: HashMap<String, String>,
    stored: HashMap<String, String>,
}

/// Writes the files of `head` into the empty directory `dir`, those of `changed` first.
pub async fn write(
    repo: &Repository,
    head: &CommitSha,
    changed: &[FileDiff],
    dir: &Path,
    caps: &Caps,
) -> Result<Snapshot> {
    let mut tree = Tree::claim(dir)?;
    let entries = repo.tree(head).await?;
    let (plan, mut snapshot) = plan(entries, changed, dir, caps);
    let (blobs, submodules): (Vec<&Item>, Vec<&Item>) = plan
        .iter()
        .partition(|item| item.entry.kind != EntryKind::Submodule);
    let ids: Vec<&str> = blobs.iter().map(|item| item.entry.id.as_str()).collect();
    let mut bytes = 0;
    let write_blob = |index: usize, content: &[u8]| {
        let item = blobs[index];
        bytes += content.len() as u64;
        match item.entry.kind {
            EntryKind::Symlink => tree.add(&item.shown, link_text(content).as_bytes()),
            _ => tree.add(&item.shown, content),
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
    snapshot.files = plan.len();
    snapshot.bytes = bytes;
    Ok(snapshot)
}

impl Snapshot {
    /// Where the files are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// How many files were written, and their size.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        (self.files, self.bytes)
    }

    /// The top-level folder for our own files; no path of the repository leads into it.
    #[must_use]
    pub fn own_folder(&self) -> &str {
        &self.own_folder
    }

    /// The repository's path for one that the model saw, absolute or relative to the snapshot.
    #[must_use]
    pub fn repo_path(&self, shown: &str) -> String {
        let inside = Path::new(shown)
            .strip_prefix(&self.root)
            .ok()
            .and_then(Path::to_str);
        let relative = inside.unwrap_or(shown);
        let relative = relative.strip_prefix("./").unwrap_or(relative);
        self.stored
            .get(relative)
            .map_or(relative, String::as_str)
            .to_owned()
    }

    /// The path in the snapshot for one of the repository.
    #[must_use]
    pub fn shown_path(&self, repo: &str) -> String {
        self.shown.get(repo).map_or(repo, String::as_str).to_owned()
    }

    /// Writes a file of ours, `name` relative to our folder, and gives its path in the snapshot. A second
    /// text under the same name replaces the first.
    pub async fn write_extra(&self, name: &str, text: &str) -> Result<String> {
        let Some(name) = names::own_name(name) else {
            bail!("{name:?} cannot be the name of a file in the snapshot");
        };
        let shown = format!("{}/{name}", self.own_folder);
        let path = self.root.join(&shown);
        let mut tree = Tree::resume(&self.root);
        let content = text.to_owned();
        let place = shown.clone();
        let written = tokio::task::spawn_blocking(move || {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            tree.add(&place, content.as_bytes())
        });
        written.await??;
        Ok(shown)
    }
}

/// A path that will be written.
struct Item {
    entry: TreeEntry,
    shown: String,
    rank: u8,
}

/// Names first, in the tree's own order, so that they do not depend on what changed; then what fits.
fn plan(
    entries: Vec<TreeEntry>,
    changed: &[FileDiff],
    dir: &Path,
    caps: &Caps,
) -> (Vec<Item>, Snapshot) {
    let near = Near::to(changed);
    let mut names = Names::default();
    let mut snapshot = Snapshot::empty(dir);
    let mut items = Vec::with_capacity(entries.len());
    for entry in entries {
        let path = path_text(&entry.path);
        let rank = near.rank(&path);
        match names
            .place(&entry.path)
            .and_then(|shown| fits_in(dir, shown))
        {
            Ok(shown) => {
                snapshot.remember(&path, &shown);
                items.push(Item { entry, shown, rank });
            }
            Err(reason) => snapshot.leave_out(path, reason, rank),
        }
    }
    snapshot.own_folder = names.own_folder();
    items.sort_by_key(|item| item.rank);
    let (mut count, mut total) = (0, 0);
    items.retain(|item| {
        let size = item.entry.size.unwrap_or(0);
        let reason = if size > caps.file_bytes {
            Reason::TooLarge
        } else if count >= caps.files {
            Reason::TooManyFiles
        } else if total + size > caps.total_bytes {
            Reason::OverTotal
        } else {
            count += 1;
            total += size;
            return true;
        };
        snapshot.leave_out(path_text(&item.entry.path), reason, item.rank);
        false
    });
    (items, snapshot)
}

/// The whole path must fit into what the system takes, our directory included.
fn fits_in(dir: &Path, shown: String) -> Result<String, Reason> {
    const PATH_MAX: usize = 4096;
    if dir.as_os_str().len() + shown.len() + 2 > PATH_MAX {
        return Err(Reason::NameTooLong);
    }
    Ok(shown)
}

impl Snapshot {
    fn empty(dir: &Path) -> Self {
        Self {
            root: dir.to_owned(),
            own_folder: String::new(),
            left_out: Vec::new(),
            files: 0,
            bytes: 0,
            shown: HashMap::new(),
            stored: HashMap::new(),
        }
    }

    fn remember(&mut self, path: &str, shown: &str) {
        if path != shown {
            self.shown.insert(path.to_owned(), shown.to_owned());
            self.stored.insert(shown.to_owned(), path.to_owned());
        }
    }

    fn leave_out(&mut self, path: String, reason: Reason, rank: u8) {
        self.left_out.push(LeftOut {
            path,
            reason,
            changed: rank == 0,
        });
    }
}

/// What lies close to the change is written first: the model needs it most.
struct Near<'a> {
    files: HashSet<&'a str>,
    directories: HashSet<&'a str>,
}

impl<'a> Near<'a> {
    fn to(changed: &'a [FileDiff]) -> Self {
        let files = || changed.iter().map(|file| file.path.as_str());
        Self {
            files: files().collect(),
            directories: files().map(parent).collect(),
        }
    }

    fn rank(&self, path: &str) -> u8 {
        if self.files.contains(path) {
            0
        } else if self.directories.contains(parent(path)) {
            1
        } else {
            2
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn link_text(target: &[u8]) -> String {
    let target: String = String::from_utf8_lossy(target).chars().take(1000).collect();
    format!("[symbolic link to {}; not followed]\n", visible(&target))
}

/// The directory being filled. Nobody else writes there, and every file is made anew, so no link is followed.
struct Tree {
    root: PathBuf,
    made: HashSet<PathBuf>,
}

impl Tree {
    fn claim(dir: &Path) -> Result<Self> {
        let failed = || format!("cannot write the snapshot to {}", dir.display());
        let meta = std::fs::symlink_metadata(dir).with_context(failed)?;
        if !meta.is_dir()
            || std::fs::read_dir(dir)
                .with_context(failed)?
                .next()
                .is_some()
        {
            bail!("{}: it must be an empty directory", failed());
        }
        Ok(Self::resume(dir))
    }

    fn resume(dir: &Path) -> Self {
        Self {
            root: dir.to_owned(),
            made: HashSet::from([dir.to_owned()]),
        }
    }

    fn add(&mut self, shown: &str, content: &[u8]) -> Result<()> {
        let path = self.root.join(shown);
        let failed = || format!("cannot write {} to the snapshot", visible(shown));
        if let Some(parent) = path.parent() {
            self.directory(parent).with_context(failed)?;
        }
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o644).open(&path);
        let mut file = made.with_context(failed)?;
        file.write_all(content).with_context(failed)?;
        // The umask of the job may have taken away what another user needs for reading.
        file.set_permissions(Permissions::from_mode(0o644))
            .with_context(failed)
    }

    fn directory(&mut self, path: &Path) -> std::io::Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|p| !self.made.contains(*p))
            .collect();
        for dir in missing.into_iter().rev() {
            match DirBuilder::new().mode(0o755).create(dir) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => std::fs::set_permissions(dir, Permissions::from_mode(0o755))?,
            }
            self.made.insert(dir.to_owned());
        }
        Ok(())
    }
}
