//! Reads the code that threads are about: the present names of their files, which files changed since each finding was
//! made, and the anchored lines then and now. Read from git objects; a head that cannot be fetched any more is left
//! out.

use super::change::Change;
use crate::host::Job;
use reviewer_core::context::brief::Excerpt;
use reviewer_core::domain::diff::Mask;
use reviewer_core::domain::{Anchor, CommentId, CommitSha, FileDiff, LineKind, Side, Thread};
use reviewer_repo::git::CHANGE_ROOM;
use std::collections::HashMap;

/// Lines shown on each side of an anchored one.
const AROUND: usize = 4;
const MAX_FILE: usize = 1024 * 1024;

/// The change as it is now, which is compared with what it was.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub change: &'a Change,
    pub merge_base: &'a CommitSha,
    pub head: &'a CommitSha,
}

/// The code that the threads to judge are about, then and now.
pub(crate) struct Excerpts {
    pub changed_since: HashMap<CommitSha, Vec<FileDiff>>,
    /// The removed lines that findings hang on, where they are known.
    pub removed_lines: HashMap<CommentId, Vec<String>>,
    pub code: Vec<Excerpt>,
}

impl Excerpts {
    pub async fn read(job: &Job<'_>, code: &Code<'_>, threads: &[&Thread]) -> Self {
        let mut since: HashMap<CommitSha, Vec<FileDiff>> = HashMap::new();
        let mut room = CHANGE_ROOM;
        for head in threads.iter().filter_map(|thread| thread.head.as_ref()) {
            if head == code.head || since.contains_key(head) {
                continue;
            }
            match changes(job, code, head).await {
                Ok(diffs) => {
                    let size = diffs.iter().map(FileDiff::size).sum();
                    if let Some(left) = room.checked_sub(size) {
                        room = left;
                        since.insert(head.clone(), diffs);
                    }
                }
                Err(error) => tracing::debug!("{} cannot be compared: {error:#}", head.short()),
            }
        }
        let mut excerpts = Vec::new();
        for thread in threads {
            excerpts.push(excerpt(code, thread, &since).await);
        }
        Self {
            removed_lines: removed_lines(code, threads, &since).await,
            changed_since: since,
            code: excerpts,
        }
    }
}

/// Gives each thread the present name of its file. GitHub lists a file that the pull request adds under its present
/// name only, so a rename by a later push is known from the head that the finding was made on.
pub(crate) async fn follow_renames(job: &Job<'_>, code: &Code<'_>, threads: &mut [Thread]) {
    let here = |file: &str| code.change.diffs.iter().any(|diff| diff.path == file);
    let mut since: HashMap<CommitSha, Vec<FileDiff>> = HashMap::new();
    for thread in threads.iter_mut().filter(|thread| !here(&thread.file)) {
        let Some(head) = thread.head.as_ref() else {
            continue;
        };
        if !since.contains_key(head) {
            // A head that is gone tells nothing, and is asked for once.
            let mut diffs = changes(job, code, head).await.unwrap_or_default();
            for diff in &mut diffs {
                diff.hunks = Vec::new(); // Only the names are asked for.
            }
            since.insert(head.clone(), diffs);
        }
        let was = Some(thread.file.as_str());
        let mut diffs = since[head].iter();
        if let Some(diff) = diffs.find(|diff| diff.previous_path.as_deref() == was) {
            thread.file.clone_from(&diff.path);
        }
    }
}

async fn changes(
    job: &Job<'_>,
    code: &Code<'_>,
    head: &CommitSha,
) -> anyhow::Result<Vec<FileDiff>> {
    let repository = &code.change.repository;
    repository.ensure(&[head], &job.remote()).await?;
    // Neither of the two heads says what is binary.
    let (trusted, now) = (code.merge_base, code.head);
    repository.diff_under(trusted, head, now).await
}

/// The lines of the base that a finding on removed lines hangs on, found by its anchor in the change as it was then.
async fn removed_lines(
    code: &Code<'_>,
    threads: &[&Thread],
    since: &HashMap<CommitSha, Vec<FileDiff>>,
) -> HashMap<CommentId, Vec<String>> {
    let mut lines = HashMap::new();
    for thread in threads.iter().filter(|thread| thread.side == Side::Left) {
        let head = thread.head.as_ref().filter(|head| since.contains_key(head));
        let (Some(head), Some(hash)) = (head, &thread.anchor_hash) else {
            continue;
        };
        let (repository, base) = (&code.change.repository, code.merge_base);
        let Ok(diffs) = repository.diff_under(base, base, head).await else {
            continue;
        };
        let anchored = diffs.iter().find_map(|diff| anchored(diff, thread, hash));
        lines.extend(anchored.map(|texts| (thread.id, texts)));
    }
    lines
}

/// The removed lines at the anchor of this hash, in the thread's file.
fn anchored(diff: &FileDiff, thread: &Thread, hash: &str) -> Option<Vec<String>> {
    let names = [Some(&diff.path), diff.previous_path.as_ref()];
    let place = names
        .contains(&Some(&thread.file))
        .then(|| diff.place_of(hash));
    let Some(Some(Anchor::Line {
        side: Side::Left,
        start,
        line,
    })) = place
    else {
        return None;
    };
    let range = start.unwrap_or(line)..=line;
    let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let removed = lines.filter(|one| {
        let number = one.old.unwrap_or_default();
        one.kind == LineKind::Removed && range.contains(&number)
    });
    Some(removed.map(|one| one.text.to_string()).collect())
}

async fn excerpt(
    code: &Code<'_>,
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
    // A secret by any name that the file has or had is one under all of them.
    let whole = code.change.diffs.iter();
    let whole = whole.filter(|diff| diff.path == thread.file);
    let masks = diff.into_iter().chain(whole).filter_map(FileDiff::mask);
    let mask = masks.chain(Mask::from_path(&thread.file)).max();
    let now = Some(code.head);
    Excerpt {
        thread: thread.id,
        then: lines(code, thread.head.as_ref(), old_path, then_line, mask).await,
        now: lines(code, now, &thread.file, now_line, mask).await,
    }
}

/// The lines around one, numbered.
async fn lines(
    code: &Code<'_>,
    commit: Option<&CommitSha>,
    path: &str,
    line: Option<u32>,
    mask: Option<Mask>,
) -> Option<String> {
    let repository = &code.change.repository;
    let text = repository.file(commit?, path, MAX_FILE).await.ok()??;
    let text = mask.map_or(text.clone(), |mask| mask.text(&text));
    let line = usize::try_from(line?).ok()?;
    let first = line.saturating_sub(AROUND).max(1);
    // Only a line feed ends a line, as for git.
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
