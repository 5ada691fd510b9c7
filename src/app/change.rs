//! What git says about the change: the diffs, the rules that the base has for it, and the snapshot that the model reads.

use super::{Engine, Stop};
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
        let rules = rule_files(&repository, merge_base, &base, &diffs).await?;
        let (sensitivity, evidence) = match engine.config.policy.sensitivity {
            Some(set) => (set, vec!["set by the sensitivity input".into()]),
            None => sensitivity::judge(&manifests(&repository, merge_base).await?),
        };
        let source = Source {
            head,
            base: &base,
            changed: &diffs,
        };
        let snapshot = snapshot::write(&repository, &source, snapshot, &Caps::default()).await?;
        Ok(Self {
            unshown: unshown(&diffs),
            diffs,
            rules,
            sensitivity,
            evidence,
            snapshot,
            repository,
        })
    }
}

fn unshown(diffs: &[FileDiff]) -> BTreeSet<String> {
    let files = diffs
        .iter()
        .map(|diff| (diff.path.as_str(), risk::weight(diff)));
    let fits = risk::fitting(files, risk::SHOWN_BYTES);
    let beyond = diffs.iter().zip(fits).filter(|(_, fits)| !fits);
    beyond.map(|(diff, _)| diff.path.clone()).collect()
}

/// No manifest of a sane repository is larger, and no rules file that is heeded is.
const MAX_TEXT: usize = 256 * 1024;

async fn rule_files(
    repository: &Repository,
    commit: &CommitSha,
    base: &[TreeEntry],
    diffs: &[FileDiff],
) -> Result<Vec<RuleFile>, Stop> {
    let changed: Vec<&str> = diffs.iter().map(|diff| diff.path.as_str()).collect();
    let mut rules = Vec::new();
    // One that is too large is left out of the snapshot as well, and named there.
    let heeded = base
        .iter()
        .filter(|entry| entry.size.is_some_and(|size| size <= rules::MAX_BYTES));
    let paths = heeded.filter_map(|entry| std::str::from_utf8(&entry.path).ok());
    for path in paths {
        if rules::applies(path, &changed)
            && let Some(text) = repository.file(commit, path, MAX_TEXT).await?
        {
            rules.push(RuleFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(rules)
}

async fn manifests(
    repository: &Repository,
    base: &CommitSha,
) -> Result<Vec<(String, String)>, Stop> {
    let mut found = Vec::new();
    for name in MANIFESTS {
        if let Some(text) = repository.file(base, name, MAX_TEXT).await? {
            found.push(((*name).to_owned(), text));
        }
    }
    Ok(found)
}
