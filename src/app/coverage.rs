//! Looks into the changed files as far as it takes to say what a review owes to each: the beginning of binary files, and
//! the sources that lock files name.

use super::Stop;
use crate::context::coverage::{self, Content, Cover};
use crate::context::ignore::Ignore;
use crate::context::locks::{self, Sources};
use crate::domain::FileDiff;
use crate::git::{Repository, TreeEntry};

/// Larger files are not looked into.
const LARGEST: u64 = 32 * 1024 * 1024;
/// How many lock files of the base are read to learn its sources.
const MOST_LOCKS: usize = 100;

/// What a review owes to each changed file, in the order of the change.
pub async fn covers(
    repository: &Repository,
    base: &[TreeEntry],
    ignore: &Ignore,
    diffs: &[FileDiff],
) -> Result<Vec<Cover>, Stop> {
    let mut covers = Vec::with_capacity(diffs.len());
    let assets = assets(repository, diffs).await?;
    for (diff, asset) in diffs.iter().zip(assets) {
        let content = Content {
            asset,
            known_sources: locks::is_lock(&diff.path)
                && has_known_sources(repository, base, diff).await?,
        };
        covers.push(coverage::cover(diff, ignore, content));
    }
    Ok(covers)
}

/// What the binary files are, by their first bytes.
async fn assets(
    repository: &Repository,
    diffs: &[FileDiff],
) -> Result<Vec<Option<coverage::Excuse>>, Stop> {
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

/// Whether a lock file names no source that the lock files of its kind in the base do not name. The first one may name the
/// registries of its tool.
async fn has_known_sources(
    repository: &Repository,
    base: &[TreeEntry],
    diff: &FileDiff,
) -> Result<bool, Stop> {
    let new_id = &diff.objects.new_id;
    if new_id.bytes().all(|b| b == b'0') {
        return Ok(true);
    }
    let Some(Some(named)) = sources(repository, &diff.path, std::slice::from_ref(new_id))
        .await?
        .pop()
    else {
        return Ok(false);
    };
    let name = file_name(&diff.path).as_bytes();
    let of_kind = base
        .iter()
        .filter(|entry| entry.path.rsplit(|b| *b == b'/').next() == Some(name));
    let ids: Vec<String> = of_kind
        .take(MOST_LOCKS)
        .map(|entry| entry.id.clone())
        .collect();
    let of_base = sources(repository, &diff.path, &ids).await?;
    let mut known: Sources = of_base.into_iter().flatten().flatten().collect();
    if known.is_empty() {
        known = locks::registries(&diff.path);
    }
    Ok(named.is_subset(&known))
}

/// The sources that lock files name; `None` for one that cannot be read.
async fn sources(
    repository: &Repository,
    path: &str,
    ids: &[String],
) -> Result<Vec<Option<Sources>>, Stop> {
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
