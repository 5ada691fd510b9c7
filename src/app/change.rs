//! What git says about the change: the diffs, the rules that the base has for it, and the snapshot that the model reads.

use super::{Engine, Stop};
use crate::config::Instruction;
use crate::config::file::PATH;
use crate::context::ignore::{Attributes, Ignore};
use crate::context::risk;
use crate::context::rules::{self, RuleFile};
use crate::context::sensitivity::{self, MANIFESTS};
use crate::domain::{CommitSha, FileDiff, Sensitivity};
use crate::git::{Repository, TreeEntry};
use crate::snapshot::{self, Caps, Snapshot, Source};
use std::collections::BTreeSet;
use std::path::Path;

pub struct Change {
    pub diffs: Vec<FileDiff>,
    /// Paths of those that the model is not shown, because the change is larger than a review can be.
    pub unshown: BTreeSet<String>,
    /// Paths of those that nobody wants a review of.
    pub ignored: BTreeSet<String>,
    ignore: Ignore,
    pub rules: Vec<RuleFile>,
    pub sensitivity: Sensitivity,
    pub evidence: Vec<String>,
    pub snapshot: Snapshot,
    pub repository: Repository,
}

impl Change {
    pub async fn of(
        engine: &Engine<'_>,
        repository: Repository,
        [merge_base, head]: [&CommitSha; 2],
        snapshot: &Path,
    ) -> Result<Self, Stop> {
        let diffs = repository.diff(merge_base, head).await?;
        let base = repository.tree(merge_base).await?;
        let attributes = attributes(&repository, &base, &diffs).await?;
        let ignore = Ignore::new(&engine.config.ignore, &attributes);
        let ignored = ignored(&ignore, &diffs);
        let reviewed: Vec<&FileDiff> = diffs
            .iter()
            .filter(|diff| !ignored.contains(&diff.path))
            .collect();
        let unshown = unshown(&reviewed);
        let mut rules = rule_files(&repository, &base, &reviewed).await?;
        rules.extend(instructions(&engine.config.instructions, &reviewed));
        let (sensitivity, evidence) = match engine.config.policy.sensitivity {
            Some(set) => (set, vec!["set by the sensitivity input".into()]),
            None => sensitivity::judge(&manifests(&repository, &base).await?),
        };
        let source = Source {
            head,
            base: &base,
            changed: &diffs,
        };
        let snapshot = snapshot::write(&repository, &source, snapshot, &Caps::default()).await?;
        Ok(Self {
            diffs,
            unshown,
            ignored,
            ignore,
            rules,
            sensitivity,
            evidence,
            snapshot,
            repository,
        })
    }
}

impl Change {
    /// The diffs of a change, but for those that nobody wants a review of.
    pub fn reviewed(&self, mut diffs: Vec<FileDiff>) -> Vec<FileDiff> {
        diffs.retain(|diff| !is_ignored(&self.ignore, diff));
        diffs
    }
}

fn ignored(ignore: &Ignore, diffs: &[FileDiff]) -> BTreeSet<String> {
    let ignored = diffs.iter().filter(|diff| is_ignored(ignore, diff));
    ignored.map(|diff| diff.path.clone()).collect()
}

/// A submodule is one line that nobody writes for a program, and that stands for all of its code.
fn is_ignored(ignore: &Ignore, diff: &FileDiff) -> bool {
    ignore.takes(&diff.path) && !diff.is_submodule()
}

/// What the repository asks for where these files change, as rules from the base.
fn instructions<'a>(
    instructions: &'a [Instruction],
    reviewed: &'a [&FileDiff],
) -> impl Iterator<Item = RuleFile> + 'a {
    let concerned = instructions
        .iter()
        .filter(|one| reviewed.iter().any(|diff| one.globs.take(&diff.path)));
    concerned.map(|one| RuleFile {
        path: format!("{PATH} for {}", one.shown),
        text: one.text.clone(),
    })
}

fn unshown(diffs: &[&FileDiff]) -> BTreeSet<String> {
    let files = diffs
        .iter()
        .map(|diff| (diff.path.as_str(), risk::weight(diff)));
    let fits = risk::fitting(files, risk::SHOWN_BYTES);
    let beyond = diffs.iter().zip(fits).filter(|(_, fits)| !fits);
    beyond.map(|(diff, _)| diff.path.clone()).collect()
}

/// An entry whose path is text, with that path.
fn named(entry: &TreeEntry) -> Option<(&str, &TreeEntry)> {
    Some((std::str::from_utf8(&entry.path).ok()?, entry))
}

/// No manifest of a sane repository is larger, and no rules file that is heeded is.
const MAX_TEXT: usize = 256 * 1024;

async fn rule_files(
    repository: &Repository,
    base: &[TreeEntry],
    diffs: &[&FileDiff],
) -> Result<Vec<RuleFile>, Stop> {
    let changed: Vec<&str> = diffs.iter().map(|diff| diff.path.as_str()).collect();
    let mut rules = Vec::new();
    // One that is too large is left out of the snapshot as well, and named there.
    let heeded = base
        .iter()
        .filter(|entry| entry.size.is_some_and(|size| size <= rules::MAX_BYTES));
    for (path, entry) in heeded.filter_map(named) {
        if rules::applies(path, &changed)
            && let Some(text) = repository.beginning(entry, MAX_TEXT).await?
        {
            rules.push(RuleFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(rules)
}

/// How many `.gitattributes` are read; a repository with more has them for other things.
const MOST_ATTRIBUTES: usize = 50;

/// The `.gitattributes` of the base that say something about a changed file.
async fn attributes(
    repository: &Repository,
    base: &[TreeEntry],
    diffs: &[FileDiff],
) -> Result<Vec<Attributes>, Stop> {
    let above = base.iter().filter_map(named).filter_map(|(path, entry)| {
        let folder = path.strip_suffix(".gitattributes")?;
        let holds = |diff: &FileDiff| diff.path.starts_with(folder);
        let is_whole = folder.is_empty() || folder.ends_with('/');
        (is_whole && diffs.iter().any(holds)).then_some((folder, entry))
    });
    let mut found = Vec::new();
    for (folder, entry) in above.take(MOST_ATTRIBUTES) {
        if let Some(text) = repository.beginning(entry, MAX_TEXT).await? {
            found.push((folder.to_owned(), text));
        }
    }
    Ok(found)
}

async fn manifests(
    repository: &Repository,
    base: &[TreeEntry],
) -> Result<Vec<(String, String)>, Stop> {
    let mut found = Vec::new();
    for name in MANIFESTS {
        if let Some(entry) = base.iter().find(|entry| entry.path == name.as_bytes())
            && let Some(text) = repository.beginning(entry, MAX_TEXT).await?
        {
            found.push(((*name).to_owned(), text));
        }
    }
    Ok(found)
}
