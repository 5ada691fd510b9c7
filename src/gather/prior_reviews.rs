//! Records that earlier heads have left: what the pull request has cost, and whether it was reviewed. A rebase, a
//! merge of the base or an amended message makes a new head of the same change, and that is not reviewed twice; of a push
//! that changes it, what is new is.

use super::reading::Reading;
use super::{Run, Stop};
use crate::context::since::{Moves, Since};
use crate::domain::{CommitSha, FileDiff};
use crate::github::PullRequest;
use crate::plan;
use crate::state::rebuild::Rebuilt;
use crate::state::record::{self, Record};

/// How many heads are looked at besides the last commits and those that a forced push replaced: the one before a push,
/// and those that our reviews and threads name.
const MOST_HEADS: usize = 10;

/// What runs on other heads have left. Without the right to read checks there is nothing to find.
pub async fn records(
    run: &Run<'_>,
    pull: &PullRequest,
    rebuilt: &Rebuilt,
) -> Result<Vec<Record>, Stop> {
    let heads = heads(run, &pull.head_sha, rebuilt);
    let name = super::check::NAME;
    let texts = match run.github.check_texts(&run.pr, &heads, name).await {
        Ok(texts) => texts,
        Err(error) if error.is_permission() || error.is_not_found() => Vec::new(),
        Err(error) => return Err(Stop::fail(error)),
    };
    let read = |text: &String| record::read(text, &run.pr, &run.keys);
    Ok(texts.iter().filter_map(read).collect())
}

/// What an earlier review says about the change as it is now.
pub enum Earlier {
    /// The same change, and its record, made out to this head.
    Same(Box<Record>),
    /// Another one: this much is new.
    Since(Since),
}

/// How many finished reviews are held against the change.
const MOST_REVIEWS: usize = 5;

/// The newest review that can be gone on from, or one that covers the change.
pub async fn review(run: &Run<'_>, reading: &Reading, records: Vec<Record>) -> Option<Earlier> {
    let change = &reading.change;
    let now: Vec<FileDiff> = change.owed().cloned().collect();
    let mut newest = None;
    for record in plan::finished_under(records, &reading.rules_hash).take(MOST_REVIEWS) {
        let Ok((head, before, moves)) = change_of(run, reading, &record).await else {
            continue;
        };
        let since = Since::of(head, &before, &now, &moves);
        if since.is_empty() {
            return Some(Earlier::Same(Box::new(Record {
                head: reading.pull.head_sha.to_string(),
                merge_base: reading.merge_base.to_string(),
                left_out: change.unreadable().collect(),
                // Accepted was another head.
                accepted: None,
                ..record
            })));
        }
        newest.get_or_insert(since);
    }
    newest.map(Earlier::Since)
}

fn heads(run: &Run<'_>, current: &CommitSha, rebuilt: &Rebuilt) -> Vec<CommitSha> {
    let threads = rebuilt.threads.iter().rev();
    let named = threads.filter_map(|thread| thread.head.clone());
    let named = rebuilt.heads.iter().cloned().chain(named);
    let mut heads: Vec<CommitSha> = Vec::new();
    for head in run.event.before.clone().into_iter().chain(named) {
        if head != *current && !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads.truncate(MOST_HEADS);
    heads
}

/// The old diff is computed anew from git: what cannot be fetched any more was not reviewed.
async fn change_of(
    run: &Run<'_>,
    reading: &Reading,
    record: &Record,
) -> Result<(CommitSha, Vec<FileDiff>, Moves), Stop> {
    let commit = |text: &str| text.parse::<CommitSha>().map_err(Stop::fail);
    let (base, head) = (commit(&record.merge_base)?, commit(&record.head)?);
    let repository = &reading.change.repository;
    repository.ensure(&[&base, &head], &run.remote()).await?;
    let before = repository.diff(&base, &head).await?;
    let moves = if base == reading.merge_base {
        Moves::default()
    } else {
        Moves::of(repository.diff(&base, &reading.merge_base).await?)
    };
    let shown = reading.change.shown_before(&run.engine, &base, before);
    Ok((head, shown.await?, moves))
}
