//! Records that earlier heads have left: what the pull request has cost, and whether it was reviewed. A rebase, a
//! merge of the base or an amended message makes a new head of the same change, and that is not reviewed twice; of a push
//! that changes it, what is new is.

use super::facts::Facts;
use crate::host::{Failure, Job};
use reviewer_core::context::since::{Moves, Since};
use reviewer_core::domain::{CommitSha, FileDiff};
use reviewer_core::state::check_mark::CHECK_NAME;
use reviewer_core::state::rebuild::Rebuilt;
use reviewer_core::state::record::{self, Record};
use reviewer_github::PullRequest;

/// The maximum number of heads that are looked at besides the last commits and those that a forced push replaced: the
/// one before a push, and those that the reviewer's reviews and threads name.
const MOST_HEADS: usize = 10;

/// Returns the records of runs on other heads. Without the right to read checks there is nothing to find.
pub(crate) async fn records(
    job: &Job<'_>,
    pull: &PullRequest,
    rebuilt: &Rebuilt,
) -> Result<Vec<Record>, Failure> {
    if !job.uses_check_runs() {
        return Ok(Vec::new());
    }
    let heads = heads(job, &pull.head_sha, rebuilt);
    let texts = match job.github.check_texts(&job.pr, &heads, CHECK_NAME).await {
        Ok(texts) => texts,
        Err(error) if error.is_permission() || error.is_not_found() => Vec::new(),
        Err(error) => return Err(Failure::new(error)),
    };
    let read = |text: &String| record::read(text, &job.pr, &job.keys);
    Ok(texts.iter().filter_map(read).collect())
}

/// The result of an earlier review for the change as it is now.
pub(crate) enum Prior {
    /// The same change, and its record, made out to this head.
    Same(Box<Record>),
    /// Another one: this much is new.
    Since(Since),
}

impl Prior {
    pub(crate) fn same_change(&self) -> Option<&Record> {
        match self {
            Self::Same(record) => Some(record),
            Self::Since(_) => None,
        }
    }

    pub fn since(&self) -> Option<&Since> {
        match self {
            Self::Same(_) => None,
            Self::Since(since) => Some(since),
        }
    }
}

/// The maximum number of finished reviews that are held against the change.
const MOST_REVIEWS: usize = 5;

/// The newest of the reviews that can be gone on from, or one that covers the change.
pub(crate) async fn compare(job: &Job<'_>, facts: &Facts, records: Vec<Record>) -> Option<Prior> {
    let change = &facts.change;
    let now: Vec<FileDiff> = change.required().cloned().collect();
    let mut newest = None;
    for record in records.into_iter().take(MOST_REVIEWS) {
        let Ok((head, before, moves)) = change_of(job, facts, &record).await else {
            continue;
        };
        let since = Since::compare(head, &before, &now, &moves);
        if since.is_empty() {
            return Some(Prior::Same(Box::new(Record {
                head: facts.pull.head_sha.to_string(),
                merge_base: facts.merge_base.to_string(),
                left_out: change.unreadable().collect(),
                // Accepted was another head.
                accepted: None,
                ..record
            })));
        }
        newest.get_or_insert(since);
    }
    newest.map(Prior::Since)
}

fn heads(job: &Job<'_>, current: &CommitSha, rebuilt: &Rebuilt) -> Vec<CommitSha> {
    let threads = rebuilt.threads.iter().rev();
    let named = threads.filter_map(|thread| thread.head.clone());
    let named = rebuilt.heads.iter().cloned().chain(named);
    let mut heads: Vec<CommitSha> = Vec::new();
    for head in job.event.before.clone().into_iter().chain(named) {
        if head != *current && !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads.truncate(MOST_HEADS);
    heads
}

/// The old diff is computed anew from git: what cannot be fetched any more was not reviewed.
async fn change_of(
    job: &Job<'_>,
    facts: &Facts,
    record: &Record,
) -> Result<(CommitSha, Vec<FileDiff>, Moves), Failure> {
    let commit = |text: &str| text.parse::<CommitSha>().map_err(Failure::new);
    let (base, head) = (commit(&record.merge_base)?, commit(&record.head)?);
    let repository = &facts.change.repository;
    repository.ensure(&[&base, &head], &job.remote()).await?;
    let before = repository.diff(&base, &head).await?;
    let moves = if base == facts.merge_base {
        Moves::default()
    } else {
        Moves::new(repository.diff(&base, &facts.merge_base).await?)
    };
    let shown = facts.change.shown_before(&job.host, &base, before);
    Ok((head, shown.await?, moves))
}
