//! Records that earlier heads have left. A rebase, a merge of the base or an amended message makes a new head of
//! the same change, and the same change is not reviewed twice.

use super::Run;
use super::reading::Reading;
use crate::domain::{CommitSha, FileDiff};
use crate::plan;
use crate::state::record::{self, Record};

/// How many heads are looked at: the one before a push, and those that our threads name.
const MOST_HEADS: usize = 6;

/// A record that covers this change under another head, made out to this one.
pub async fn covering(
    run: &Run<'_>,
    reading: &Reading,
    mut records: Vec<Record>,
) -> Option<Record> {
    for head in heads(run, reading) {
        // Without the right to read checks, or for a head that is gone, there is no record to find.
        let texts = super::reading::check_texts(run, &head)
            .await
            .unwrap_or_default();
        let found = texts
            .iter()
            .filter_map(|text| record::read(text, &run.pr, &run.keys));
        records.extend(found);
    }
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

fn heads(run: &Run<'_>, reading: &Reading) -> Vec<CommitSha> {
    let threads = reading
        .threads
        .iter()
        .rev()
        .filter_map(|thread| thread.head.clone());
    let mut heads: Vec<CommitSha> = Vec::new();
    for head in run.event.before.clone().into_iter().chain(threads) {
        if head != reading.pull.head_sha && !heads.contains(&head) {
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
