//! What has become of the code that open threads hang on: which files changed since each finding was made, and
//! the anchored lines then and now. Read from git objects; a head that cannot be fetched any more is left out.

use super::Run;
use super::reading::Reading;
use crate::context::brief::Excerpt;
use crate::domain::{CommitSha, FileDiff, Thread};
use std::collections::HashMap;

/// Lines shown on each side of an anchored one.
const AROUND: usize = 4;
const MAX_FILE: usize = 1024 * 1024;

pub struct Past {
    pub changed_since: HashMap<CommitSha, Vec<String>>,
    pub excerpts: Vec<Excerpt>,
}

impl Past {
    pub async fn of(run: &Run<'_>, reading: &Reading, threads: &[&Thread]) -> Self {
        let mut since: HashMap<CommitSha, Vec<FileDiff>> = HashMap::new();
        for head in threads.iter().filter_map(|thread| thread.head.as_ref()) {
            if *head == reading.pull.head_sha || since.contains_key(head) {
                continue;
            }
            match changes(run, reading, head).await {
                Ok(diffs) => {
                    since.insert(head.clone(), diffs);
                }
                Err(error) => tracing::debug!("{} cannot be compared: {error:#}", head.short()),
            }
        }
        let mut excerpts = Vec::new();
        for thread in threads {
            excerpts.push(excerpt(reading, thread, &since).await);
        }
        let paths = |diffs: Vec<FileDiff>| {
            let both = |diff: FileDiff| [Some(diff.path), diff.previous_path];
            diffs.into_iter().flat_map(both).flatten().collect()
        };
        Self {
            changed_since: since
                .into_iter()
                .map(|(head, diffs)| (head, paths(diffs)))
                .collect(),
            excerpts,
        }
    }
}

async fn changes(
    run: &Run<'_>,
    reading: &Reading,
    head: &CommitSha,
) -> anyhow::Result<Vec<FileDiff>> {
    let repository = &reading.change.repository;
    repository.ensure(&[head], &run.remote()).await?;
    repository.diff(head, &reading.pull.head_sha).await
}

async fn excerpt(
    reading: &Reading,
    thread: &Thread,
    since: &HashMap<CommitSha, Vec<FileDiff>>,
) -> Excerpt {
    let diffs = thread.head.as_ref().and_then(|head| since.get(head));
    let diff = diffs.and_then(|diffs| diffs.iter().find(|diff| diff.path == thread.file));
    let old_path = diff
        .and_then(|diff| diff.previous_path.as_deref())
        .unwrap_or(&thread.file);
    let then_line = thread.original_line.or(thread.line);
    let now_line = match (thread.outdated, diff, then_line) {
        (true, Some(diff), Some(line)) => Some(diff.moved(line)),
        _ => thread.line,
    };
    Excerpt {
        thread: thread.id,
        then: lines(reading, thread.head.as_ref(), old_path, then_line).await,
        now: lines(
            reading,
            Some(&reading.pull.head_sha),
            &thread.file,
            now_line,
        )
        .await,
    }
}

/// The lines around one, numbered.
async fn lines(
    reading: &Reading,
    commit: Option<&CommitSha>,
    path: &str,
    line: Option<u32>,
) -> Option<String> {
    let repository = &reading.change.repository;
    let text = repository.file(commit?, path, MAX_FILE).await.ok()??;
    let line = usize::try_from(line?).ok()?;
    let first = line.saturating_sub(AROUND).max(1);
    let shown = text
        .lines()
        .enumerate()
        .skip(first - 1)
        .take(line + AROUND + 1 - first);
    let shown: Vec<String> = shown
        .map(|(index, text)| format!("{:>5}  {text}", index + 1))
        .collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}
