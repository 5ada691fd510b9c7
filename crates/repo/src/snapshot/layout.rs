//! Lays out the snapshot: which files are written, as what and in which order. Separate because it is pure: two lists
//! of paths and a diff go in, a list of files comes out.

use super::names::{Names, Reason};
use super::{Caps, LeftOut, SnapshotSource};
use crate::git::{EntryKind, TreeEntry};
use reviewer_core::context::rules;
use reviewer_core::domain::FileDiff;
use reviewer_core::domain::diff::Mask;
use reviewer_text::encoding::utf8_text;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The way in which an object becomes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Plain,
    /// Without the values that may be secrets.
    Masked(Mask),
    /// A line that says where it leads.
    Link,
    /// A line that says which commit it is.
    Submodule,
}

/// A path that will be written.
pub(super) struct Item {
    pub(super) entry: TreeEntry,
    pub(super) shown: String,
    pub(super) content: Content,
    rank: Rank,
}

/// The order of writing: files that the model needs most come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Rules,
    Changed,
    Beside,
    Elsewhere,
}

pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) own_folder: String,
    /// Repository path → path in the snapshot, where they differ.
    pub(super) shown: HashMap<String, String>,
    pub(super) names: Names,
}

impl Plan {
    /// Names first, in the tree's own order, so that they do not depend on what changed; then what fits.
    pub(super) fn new(
        head: Vec<TreeEntry>,
        source: &SnapshotSource<'_>,
        dir: &Path,
        caps: &Caps,
    ) -> Self {
        let near = Near::to(source.changed);
        let mut names = Names::default();
        let mut plan = Self {
            items: Vec::with_capacity(head.len()),
            left_out: Vec::new(),
            own_folder: String::new(),
            shown: HashMap::new(),
            names: Names::default(),
        };
        for entry in head {
            let shown = names.place(&entry.path);
            plan.add_file(entry, shown.and_then(|shown| fits_in(dir, shown)), &near);
        }
        for entry in source.base {
            plan.add_rules(entry, &mut names, dir);
        }
        plan.own_folder = names.own_folder();
        plan.names = names;
        plan.items.sort_by_key(|item| item.rank);
        plan.keep_what_fits(caps);
        plan
    }

    fn add_file(&mut self, entry: TreeEntry, shown: Result<String, Reason>, near: &Near<'_>) {
        let path = utf8_text(&entry.path);
        let rank = near.rank(&path);
        let changed = rank == Rank::Changed;
        let content = match entry.kind {
            EntryKind::Symlink => Ok(Content::Link),
            EntryKind::Submodule => Ok(Content::Submodule),
            EntryKind::File | EntryKind::Executable => match near.mask(&path) {
                None => Ok(Content::Plain),
                Some(mask) if changed => Ok(Content::Masked(mask)),
                Some(_) => Err(Reason::MayHoldSecrets),
            },
        };
        match shown.and_then(|shown| Ok((shown, content?))) {
            Ok((shown, content)) => {
                if path != shown {
                    self.shown.insert(path, shown.clone());
                }
                self.items.push(Item {
                    entry,
                    shown,
                    content,
                    rank,
                });
            }
            Err(reason) => self.leave_out(path, reason, changed),
        }
    }

    /// The base's `AGENTS.md`, under its own name. The head's is data beside it and changes nothing here. Where the
    /// head has no such directory any more, there is nothing left to govern.
    fn add_rules(&mut self, entry: &TreeEntry, names: &mut Names, dir: &Path) {
        let regular = matches!(entry.kind, EntryKind::File | EntryKind::Executable);
        if !regular || !rules::is_rules(&entry.path) {
            return;
        }
        let Some(shown) = names.place_rules(&entry.path) else {
            return;
        };
        let fits = match entry.size {
            Some(size) if size <= rules::MAX_BYTES => fits_in(dir, shown),
            _ => Err(Reason::RulesTooLarge),
        };
        match fits {
            Ok(shown) => self.items.push(Item {
                entry: entry.clone(),
                shown,
                content: Content::Plain,
                rank: Rank::Rules,
            }),
            Err(reason) => self.leave_out(utf8_text(&entry.path), reason, false),
        }
    }

    fn keep_what_fits(&mut self, caps: &Caps) {
        let (mut count, mut total) = (0, 0);
        let mut kept = Vec::with_capacity(self.items.len());
        for item in std::mem::take(&mut self.items) {
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
                kept.push(item);
                continue;
            };
            let path = utf8_text(&item.entry.path);
            self.leave_out(path, reason, item.rank == Rank::Changed);
        }
        self.items = kept;
    }

    /// The head's paths that are written. A name that is no UTF-8 could be mistaken for another one.
    pub(super) fn contents(&self) -> HashMap<String, Content> {
        let of_head = self.items.iter().filter(|item| item.rank != Rank::Rules);
        let named = of_head.filter_map(|item| {
            let path = String::from_utf8(item.entry.path.clone()).ok()?;
            Some((path, item.content))
        });
        named.collect()
    }

    fn leave_out(&mut self, path: String, reason: Reason, changed: bool) {
        self.left_out.push(LeftOut {
            path,
            reason,
            changed,
        });
    }
}

/// The whole path must fit into what the system takes, the snapshot's directory included.
fn fits_in(dir: &Path, shown: String) -> Result<String, Reason> {
    const PATH_MAX: usize = 4096;
    if dir.as_os_str().len() + shown.len() + 2 > PATH_MAX {
        return Err(Reason::NameTooLong);
    }
    Ok(shown)
}

/// The files that the change touches, and those close to it.
struct Near<'a> {
    files: HashMap<&'a str, &'a FileDiff>,
    directories: HashSet<&'a str>,
}

impl<'a> Near<'a> {
    fn to(changed: &'a [FileDiff]) -> Self {
        let files = changed.iter().map(|file| (file.path.as_str(), file));
        let directories = changed.iter().map(|file| parent(&file.path));
        Self {
            files: files.collect(),
            directories: directories.collect(),
        }
    }

    fn rank(&self, path: &str) -> Rank {
        if self.files.contains_key(path) {
            Rank::Changed
        } else if self.directories.contains(parent(path)) {
            Rank::Beside
        } else {
            Rank::Elsewhere
        }
    }

    /// A changed file may be a secret by the name that it had.
    fn mask(&self, path: &str) -> Option<Mask> {
        match self.files.get(path) {
            Some(file) => file.mask(),
            None => Mask::from_path(path),
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
