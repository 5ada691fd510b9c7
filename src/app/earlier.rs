//! Records that earlier heads have left: what the pull request has cost, and whether it was reviewed. A rebase, a
//! merge of the base or an amended message makes a new head of the same change, and that is not reviewed twice.

use super::reading::Reading;
use super::{Run, Stop};
use crate::domain::{CommitSha, FileDiff, Thread};
use crate::github::PullRequest;
use crate::plan;
use crate::state::record::{self, Record};

/// How many heads are looked at besides the last commits: the one before a push, and those that our threads name.
const MOST_HEADS: usize = 10;

/// What runs on other heads have left. Without the right to read checks there is nothing to find.
pub async fn records(
    run: &Run<'_>,
    pull: &PullRequest,
    threads: &[Thread],
) -> Result<Vec<Record>, Stop> {
    let heads = heads(run, &pull.head_sha, threads);
    let name = super::check::NAME;
    let texts = match run.github.check_texts(&run.pr, &heads, name).await {
        Ok(texts) => texts,
        Err(error) if error.is_permission() || error.is_not_found() => Vec::new(),
        Err(error) => return Err(Stop::fail(error)),
    };
    let read = |text: &String| record::read(text, &run.pr, &run.keys);
    Ok(texts.iter().filter_map(read).collect())
}

/// A record that covers this change under another head, made out to this one.
pub async fn covering(run: &Run<'_>, reading: &Reading, records: Vec<Record>) -> Option<Record> {
    for record in plan::finished_under(records, &reading.rules_hash) {
        if is_same_change(run, reading, &record).await.unwrap_or(false) {
            return Some(Record {
                head: reading.pull.head_sha.to_string(),
                merge_base: reading.merge_base.to_string(),
                ..record
            });
        }
    }
    None
}

fn heads(run: &Run<'_>, current: &CommitSha, threads: &[Thread]) -> Vec<CommitSha> {
    let threads = threads.iter().rev();
    let named = threads.filter_map(|thread| thread.head.clone());
    let mut heads: Vec<CommitSha> = Vec::new();
    for head in run.event.before.clone().into_iter().chain(named) {
        if head != *current && !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads.truncate(MOST_HEADS);
    heads
}

/// The old diff is computed anew from git: what cannot be fetched any more is not the same.
async fn is_same_change(run: &Run<'_>, reading: &Reading, record: &Record) -> anyhow::Result<bool> {
    let (base, head): (CommitSha, CommitSha) = (record.merge_base.parse()?, record.head.parse()?);
    let repository = &reading.change.repository;
    repository.ensure(&[&base, &head], &run.remote()).await?;
    let before = repository.diff(&base, &head).await?;
    let now = &reading.change.diffs;
    let same = |(a, b): (&FileDiff, &FileDiff)| a.is_same_change(b);
    Ok(before.len() == now.len() && before.iter().zip(now).all(same))
}
