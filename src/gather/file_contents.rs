//! Reads the changed files as far as their coverage depends on it: the beginning of binary files, and the sources that
//! lock files name.

use crate::host::Failure;
use reviewer_core::context::coverage::{self, Content, Cover};
use reviewer_core::context::ignore::Ignore;
use reviewer_core::context::locks::{self, Sources};
use reviewer_core::domain::{FileDiff, FileStatus};
use reviewer_repo::git::{Repository, TreeEntry};
use std::collections::BTreeMap;

/// Larger files are not looked into.
const LARGEST: u64 = 32 * 1024 * 1024;
/// The maximum number of lock files that are read.
const MOST_LOCKS: usize = 100;

/// Decides how each changed file has to be covered, in the order of the change.
pub(crate) async fn covers(
    repository: &Repository,
    base: &[TreeEntry],
    ignore: &Ignore,
    diffs: &[FileDiff],
) -> Result<Vec<Cover>, Failure> {
    let assets = assets(repository, diffs).await?;
    let known = known_sources(repository, base, diffs).await?;
    let content = assets.into_iter().zip(known);
    let content = content.map(|(asset, known_sources)| Content {
        asset,
        known_sources,
    });
    let both = diffs.iter().zip(content);
    Ok(both
        .map(|(diff, content)| coverage::cover(diff, ignore, content))
        .collect())
}

/// The kinds of the binary files, by their first bytes.
async fn assets(
    repository: &Repository,
    diffs: &[FileDiff],
) -> Result<Vec<Option<coverage::Excuse>>, Failure> {
    let mut assets = vec![None; diffs.len()];
    let binary: Vec<usize> = (0..diffs.len()).filter(|at| diffs[*at].binary).collect();
    let ids = binary.iter().map(|at| diffs[*at].objects.new_id.clone());
    let mut found = Vec::new();
    repository
        .read_small(&ids.collect::<Vec<_>>(), LARGEST, |index, content| {
            found.push((
                binary[index],
                coverage::asset(&diffs[binary[index]].path, content),
            ));
            Ok(())
        })
        .await?;
    for (at, asset) in found {
        assets[at] = asset;
    }
    Ok(assets)
}

/// Finds the changed lock files that name only sources which the lock files of their kind in the base name, too. The
/// first one of a kind may name the registries of its tool.
async fn known_sources(
    repository: &Repository,
    base: &[TreeEntry],
    diffs: &[FileDiff],
) -> Result<Vec<bool>, Failure> {
    let mut known = vec![false; diffs.len()];
    let locks = (0..diffs.len()).filter(|at| locks::is_lock(&diffs[*at].path));
    let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in locks.take(MOST_LOCKS) {
        kinds
            .entry(file_name(&diffs[at].path))
            .or_default()
            .push(at);
    }
    for (kind, changed) in kinds {
        let new_ids: Vec<String> = changed
            .iter()
            .map(|at| diffs[*at].objects.new_id.clone())
            .collect();
        let named = sources(repository, kind, &new_ids).await?;
        // Their own versions of the base first, in case that there are more than are read.
        let own = changed.iter().map(|at| diffs[*at].objects.old_id.clone());
        let others = base
            .iter()
            .filter(|entry| entry.path.rsplit(|b| *b == b'/').next() == Some(kind.as_bytes()));
        let of_base = own.chain(others.map(|entry| entry.id.clone()));
        let of_base: Vec<String> = of_base.take(2 * MOST_LOCKS).collect();
        let of_base = sources(repository, kind, &of_base).await?;
        let mut of_base: Sources = of_base.into_iter().flatten().flatten().collect();
        if of_base.is_empty() {
            of_base = locks::registries(kind);
        }
        for (at, named) in changed.into_iter().zip(named) {
            let is_gone = diffs[at].status == FileStatus::Removed;
            known[at] = is_gone || named.is_some_and(|named| named.is_subset(&of_base));
        }
    }
    Ok(known)
}

/// The sources that lock files name; `None` for one that cannot be read.
async fn sources(
    repository: &Repository,
    path: &str,
    ids: &[String],
) -> Result<Vec<Option<Sources>>, Failure> {
    let mut named = vec![None; ids.len()];
    let mut found = Vec::new();
    repository
        .read_small(ids, LARGEST, |index, content| {
            found.push((index, locks::sources(path, content)));
            Ok(())
        })
        .await?;
    for (index, sources) in found {
        named[index] = sources;
    }
    Ok(named)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
