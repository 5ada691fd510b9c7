//! A commit with edits on it, written as files for the commands that verify a fix. Separate from the snapshot, because it is
//! what the repository's own build sees: real names, real modes, no mask. It holds no `.git`, and no symbolic link: links are
//! left out and named, so nothing that is written here leads out of the folder.

#[cfg(test)]
mod tests;

use crate::git::{EntryKind, FileEdit, Repository, TreeEntry, TreeId};
use crate::snapshot::{Tree, is_usable};
use anyhow::{Result, bail};
use reviewer_core::domain::CommitSha;
use reviewer_text::encoding::utf8_text;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Limits on an export. One of them exceeded ends it: a part of a repository proves nothing about the whole.
#[derive(Debug, Clone, Copy)]
pub struct ExportCaps {
    pub file_bytes: u64,
    pub files: usize,
    pub total_bytes: u64,
}

impl Default for ExportCaps {
    fn default() -> Self {
        Self {
            file_bytes: 100 << 20,
            files: 100_000,
            total_bytes: 2 << 30,
        }
    }
}

/// An export that was written.
#[derive(Debug)]
pub struct Export {
    /// The id of the tree that the files are of, left out ones included.
    pub tree: TreeId,
    /// Symbolic links, submodules and names that no folder takes, as the repository names them.
    pub left_out: Vec<String>,
}

/// Writes `head` with `edits` into the empty folder `dir`.
pub async fn write(
    repository: &Repository,
    head: &CommitSha,
    edits: &[FileEdit],
    dir: &Path,
    caps: &ExportCaps,
) -> Result<Export> {
    // Also refuses edits that a commit on GitHub could not hold.
    let tree = repository.tree_with(head, edits).await?;
    let mut folder = Tree::claim(dir)?;
    let edited: HashMap<&[u8], &FileEdit> = edits
        .iter()
        .map(|edit| (edit.path.as_bytes(), edit))
        .collect();
    let entries = repository.tree(head).await?;
    let (kept, left_out): (Vec<TreeEntry>, Vec<TreeEntry>) =
        entries.into_iter().partition(is_written);
    let kept: Vec<TreeEntry> = kept
        .into_iter()
        .filter(|entry| !edited.contains_key(entry.path.as_slice()))
        .collect();
    within(&kept, edits, caps)?;
    let ids: Vec<&str> = kept.iter().map(|entry| entry.id.as_str()).collect();
    let write_blob = |index: usize, content: &[u8]| {
        let entry = &kept[index];
        let mode = if entry.kind == EntryKind::Executable {
            0o755
        } else {
            0o644
        };
        folder.add_as(OsStr::from_bytes(&entry.path), content, mode)
    };
    repository.read_blobs(&ids, write_blob).await?;
    for edit in edits {
        if !is_usable(edit.path.as_bytes()) {
            bail!(
                "{} is no name that a fix may write",
                edit.path.escape_debug()
            );
        }
        if let Some(content) = &edit.content {
            folder.add_as(OsStr::new(&edit.path), content, 0o644)?;
        }
    }
    Ok(Export {
        tree,
        left_out: left_out.iter().map(|one| utf8_text(&one.path)).collect(),
    })
}

fn is_written(entry: &TreeEntry) -> bool {
    let regular = matches!(entry.kind, EntryKind::File | EntryKind::Executable);
    regular && is_usable(&entry.path)
}

fn within(kept: &[TreeEntry], edits: &[FileEdit], caps: &ExportCaps) -> Result<()> {
    let contents = edits.iter().filter_map(|edit| edit.content.as_ref());
    let edited = contents.map(|content| u64::try_from(content.len()).unwrap_or(u64::MAX));
    let sizes: Vec<u64> = kept
        .iter()
        .map(|entry| entry.size.unwrap_or(0))
        .chain(edited)
        .collect();
    let mebibytes = |bytes: u64| bytes >> 20;
    if sizes.len() > caps.files {
        let (count, most) = (sizes.len(), caps.files);
        bail!("the repository has {count} files, more than the {most} that are verified");
    }
    if let Some(large) = sizes.iter().find(|size| **size > caps.file_bytes) {
        let (size, most) = (mebibytes(*large), mebibytes(caps.file_bytes));
        bail!(
            "the repository has a file of {size} MiB, more than the {most} MiB that are verified"
        );
    }
    let total = sizes
        .iter()
        .fold(0_u64, |sum, size| sum.saturating_add(*size));
    if total > caps.total_bytes {
        let (total, most) = (mebibytes(total), mebibytes(caps.total_bytes));
        bail!(
            "the repository has {total} MiB of files, more than the {most} MiB that are verified"
        );
    }
    Ok(())
}
