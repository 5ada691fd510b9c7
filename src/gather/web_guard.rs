//! Tells the guard of the web what the repository says, so that no question carries it out.

use super::change::Change;
use crate::host::{Failure, Host};
use anyhow::Context as _;
use reviewer_repo::git::{Repository, TreeEntry};
use reviewer_repo::snapshot::Caps;
use reviewer_text::encoding;
use reviewer_web::leak::{Guard, RepositoryText};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum size of the base and the head that is read. More takes too long, and would hardly fit the guard.
const MOST_BYTES: u64 = 1 << 30;
/// The maximum size of files that are held in memory while they are learned.
const BATCH_BYTES: u64 = 8 << 20;
/// Shorter stretches of readable bytes are no text.
const SHORTEST_RUN: usize = 16;

/// From here on questions are judged, by the files of the base and the head, the change and the run's secrets. Where not all
/// of it could be learned, nothing is asked, and the returned sentence says why.
pub async fn open(host: &Host<'_>, change: &Change) -> Result<Option<String>, Failure> {
    let Some(web) = &host.web else {
        return Ok(None);
    };
    match whole(learned(change).await) {
        Ok(text) => {
            web.open(Guard::new(text, Arc::clone(&host.secrets.redactor)));
            Ok(None)
        }
        Err(warning) => {
            web.close();
            host.setup.actions.warning(&warning);
            Ok(Some(warning))
        }
    }
}

/// The text, if it is all of the repository; else why nothing is asked.
fn whole(learned: anyhow::Result<RepositoryText>) -> Result<RepositoryText, String> {
    let why = match learned {
        Ok(text) if !text.is_full() => return Ok(text),
        Ok(_) => "it has more than about 200 MiB of text".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Err(format!(
        "This review does not ask the web: a question must not quote the repository, and not all of the repository could be \
         learned ({why}). Turn enable_web off, or take data out of the repository."
    ))
}

/// Learns everything that the model could read: the base first, which nobody can change from a pull request, then what
/// the head has beside it. Files that are too large for the snapshot are known to the model by their diffs alone.
async fn learned(change: &Change) -> anyhow::Result<RepositoryText> {
    let [base, head] = &change.commits;
    let mut text = RepositoryText::default();
    let (mut seen, mut room) = (HashSet::new(), MOST_BYTES);
    for (commit, is_base) in [(base, true), (head, false)] {
        let mut files = change.repository.tree(commit).await?;
        files.retain(|file| {
            let small = file
                .size
                .is_some_and(|size| size <= Caps::default().file_bytes);
            small && seen.insert(file.id.clone())
        });
        for batch in batches(&files) {
            let size: u64 = batch.iter().filter_map(|file| file.size).sum();
            room = room.checked_sub(size).with_context(|| {
                format!("it has more than {} MiB of small files", MOST_BYTES >> 20)
            })?;
            text = add_files(text, &change.repository, batch, is_base).await?;
            if text.is_full() {
                return Ok(text);
            }
        }
    }
    let diffs = change.diffs.clone();
    let learn = move || {
        for hunk in diffs.iter().flat_map(|diff| &diff.hunks) {
            let lines: Vec<&str> = hunk.lines.iter().map(|line| line.text.as_str()).collect();
            text.add(&lines.join("\n"));
        }
        text
    };
    Ok(tokio::task::spawn_blocking(learn).await?)
}

/// Files in their order, so many at a time as are held in memory.
fn batches(files: &[TreeEntry]) -> impl Iterator<Item = &[TreeEntry]> {
    let mut size = 0;
    files.chunk_by(move |_, next| {
        size += next.size.unwrap_or(0);
        let fits = size <= BATCH_BYTES;
        if !fits {
            size = 0;
        }
        fits
    })
}

async fn add_files(
    mut text: RepositoryText,
    repository: &Repository,
    files: &[TreeEntry],
    is_base: bool,
) -> anyhow::Result<RepositoryText> {
    let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
    let mut contents: Vec<Vec<u8>> = Vec::with_capacity(ids.len());
    let keep = |_: usize, content: &[u8]| {
        contents.push(content.to_vec());
        Ok(())
    };
    repository.read_blobs(&ids, keep).await?;
    let learn = move || {
        for content in contents {
            match readable(&content) {
                content if is_base => text.add_base(&content),
                content => text.add(&content),
            }
        }
        text
    };
    Ok(tokio::task::spawn_blocking(learn).await?)
}

/// The text of a file; of data, the stretches that a person could read.
fn readable(content: &[u8]) -> Cow<'_, str> {
    if !content.contains(&0) {
        return String::from_utf8_lossy(content);
    }
    Cow::Owned(encoding::decoded(content).unwrap_or_else(|| {
        let printed = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        let runs = content.split(|byte| !printed(byte));
        let runs = runs.filter(|run| run.len() >= SHORTEST_RUN);
        let runs: Vec<_> = runs.map(String::from_utf8_lossy).collect();
        runs.join("\n")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_that_knows_a_part_only_is_none() {
        let words: Vec<String> = (0..99).map(|number| format!("word{number}")).collect();
        let code = words.join(" ");
        let learned = |bytes: usize| {
            let mut text = RepositoryText::with_room(bytes);
            text.add(&code);
            whole(Ok(text)).map(|_| ())
        };
        assert_eq!(learned(1 << 10), Ok(()));
        let full = learned(1).unwrap_err();
        assert!(full.contains("more than about 200 MiB of text"), "{full}");
        assert!(full.contains("Turn enable_web off"), "{full}");
        let unread = whole(Err(anyhow::anyhow!("git has no object 1"))).unwrap_err();
        assert!(unread.contains("learned (git has no object 1)"), "{unread}");
    }

    #[test]
    fn text_is_read_whatever_its_encoding_and_out_of_data() {
        let wide: Vec<u8> = "let x = 1;"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(readable(&wide), "let x = 1;");
        assert_eq!(readable(b"caf\xe9"), "caf\u{fffd}");
        let noise = [0x9a, 0, 0x82, 0x17].repeat(50);
        let data = [&noise[..], b"a private sentence", &noise].concat();
        assert_eq!(readable(&data), "a private sentence");
    }

    #[test]
    fn files_are_read_in_batches_of_some_size() {
        let file = |size| TreeEntry {
            kind: reviewer_repo::git::EntryKind::File,
            id: String::new(),
            size: Some(size),
            path: Vec::new(),
        };
        let files: Vec<TreeEntry> = (0..40).map(|_| file(1 << 20)).collect();
        let sizes: Vec<usize> = batches(&files).map(<[_]>::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 40);
        assert!(sizes.iter().all(|size| *size <= 10), "{sizes:?}");
    }
}
