//! Reads the change from git: the diffs, the rules that the base has for it, and the snapshot that the model reads.

use super::file_contents;
use crate::host::{Failure, Host};
use reviewer_core::config::Instruction;
use reviewer_core::config::file::PATH;
use reviewer_core::context::coverage::{Cover, Excuse};
use reviewer_core::context::ignore::{Attributes, BasePaths, Ignore};
use reviewer_core::context::rules::{self, RuleFile};
use reviewer_core::context::sensitivity::{self, MANIFESTS};
use reviewer_core::domain::{CommitSha, FileDiff, Sensitivity};
use reviewer_repo::git::{Repository, TreeEntry};
use reviewer_repo::snapshot::{self, Caps, Snapshot, SnapshotSource};
use reviewer_text::hidden::visible;
use std::collections::HashSet;
use std::path::Path;

pub(crate) struct Change {
    pub diffs: Vec<FileDiff>,
    /// The cover that each of them needs, in their order.
    covers: Vec<Cover>,
    pub rules: Vec<RuleFile>,
    pub sensitivity: Sensitivity,
    pub evidence: Vec<String>,
    pub snapshot: Snapshot,
    pub repository: Repository,
    /// The merge base and the head.
    pub commits: [CommitSha; 2],
}

impl Change {
    pub async fn load(
        host: &Host<'_>,
        repository: Repository,
        [merge_base, head]: [&CommitSha; 2],
        snapshot: &Path,
    ) -> Result<Self, Failure> {
        let diffs = repository.diff(merge_base, head).await?;
        let base = repository.tree(merge_base).await?;
        let covers = covers(host, &repository, &base, &diffs).await?;
        let reviewed: Vec<&FileDiff> = shown(&diffs, &covers).collect();
        let mut rules = rule_files(&repository, &base, &reviewed).await?;
        rules.extend(instructions(&host.config.instructions, &reviewed));
        let (sensitivity, evidence) = match host.config.policy.sensitivity {
            Some(set) => (set, vec!["set by the sensitivity input".into()]),
            None => sensitivity::judge(&manifests(&repository, &base).await?),
        };
        let source = SnapshotSource {
            head,
            base: &base,
            changed: &diffs,
        };
        let snapshot = snapshot::write(&repository, &source, snapshot, &Caps::default()).await?;
        Ok(Self {
            diffs,
            covers,
            rules,
            sensitivity,
            evidence,
            snapshot,
            repository,
            commits: [merge_base.clone(), head.clone()],
        })
    }

    fn covered(&self) -> impl Iterator<Item = (&FileDiff, Cover)> {
        self.diffs.iter().zip(self.covers.iter().copied())
    }

    /// The files whose lines have to stand in a prompt.
    pub(crate) fn required(&self) -> impl Iterator<Item = &FileDiff> {
        let required = self
            .covered()
            .filter(|(_, cover)| *cover == Cover::Required);
        required.map(|(diff, _)| diff)
    }

    /// These, and what is shown beside them.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &FileDiff> {
        shown(&self.diffs, &self.covers)
    }

    /// The files that are excused, with the reason.
    pub(crate) fn excused(&self) -> impl Iterator<Item = (&str, Excuse)> {
        self.covered().filter_map(|(diff, cover)| match cover {
            Cover::Excused(excuse) => Some((diff.path.as_str(), excuse)),
            Cover::Required | Cover::Unreadable(_) => None,
        })
    }

    /// The number of these that are not shown at all.
    pub fn hidden(&self) -> usize {
        let hidden = self.excused().filter(|(_, excuse)| !excuse.is_shown());
        hidden.count()
    }

    /// The files that nobody can show, each with the reason.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = String> {
        self.covered().filter_map(|(diff, cover)| match cover {
            Cover::Unreadable(why) => Some(format!("{} ({why})", visible(&diff.path))),
            Cover::Required | Cover::Excused(_) => None,
        })
    }

    /// Returns the diffs of an earlier change, from another base, that were shown then and matter now: of files that
    /// have to be shown, and of files that are not changed any more.
    pub(crate) async fn shown_before(
        &self,
        host: &Host<'_>,
        merge_base: &CommitSha,
        before: Vec<FileDiff>,
    ) -> Result<Vec<FileDiff>, Failure> {
        let base = self.repository.tree(merge_base).await?;
        let covers = covers(host, &self.repository, &base, &before).await?;
        let required: HashSet<&str> = self.required().map(|diff| diff.path.as_str()).collect();
        let all: HashSet<&str> = self.diffs.iter().map(|diff| diff.path.as_str()).collect();
        let counts = |path: &str| required.contains(path) || !all.contains(path);
        let before = before.into_iter().zip(covers);
        let shown = before.filter(|(diff, cover)| *cover == Cover::Required && counts(&diff.path));
        Ok(shown.map(|(diff, _)| diff).collect())
    }
}

/// Decides how each file of a change has to be covered, by what its base says.
async fn covers(
    host: &Host<'_>,
    repository: &Repository,
    base: &[TreeEntry],
    diffs: &[FileDiff],
) -> Result<Vec<Cover>, Failure> {
    let attributes = attributes(repository, base, diffs).await?;
    let paths = base.iter().filter_map(named);
    let paths = BasePaths::new(paths.map(|(path, _)| path.to_owned()).collect());
    let ignore = Ignore::new(&host.config.ignore, &attributes, paths);
    file_contents::covers(repository, base, &ignore, diffs).await
}

fn shown<'a>(diffs: &'a [FileDiff], covers: &'a [Cover]) -> impl Iterator<Item = &'a FileDiff> {
    let is_shown = |cover: &Cover| match cover {
        Cover::Required => true,
        Cover::Excused(excuse) => excuse.is_shown(),
        Cover::Unreadable(_) => false,
    };
    let both = diffs.iter().zip(covers);
    both.filter(move |(_, cover)| is_shown(cover))
        .map(|(diff, _)| diff)
}

/// The repository's instructions for these files, as rules from the base.
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
) -> Result<Vec<RuleFile>, Failure> {
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

/// The maximum number of `.gitattributes` that are read; a repository with more has them for other things.
const MOST_ATTRIBUTES: usize = 50;

/// The `.gitattributes` of the base that say something about a changed file.
async fn attributes(
    repository: &Repository,
    base: &[TreeEntry],
    diffs: &[FileDiff],
) -> Result<Vec<Attributes>, Failure> {
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
) -> Result<Vec<(String, String)>, Failure> {
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
