//! Lines of files that git calls binary and that are text: UTF-16, and text with NUL bytes. Separate from the diff,
//! because both sides are decoded first, and git compares them again.

use super::Repository;
use super::compare::OPTIONS;
use super::hardening::Access;
use anyhow::{Context as _, Result};
use reviewer_core::domain::{FileDiff, FileStatus};
use reviewer_text::encoding::decoded;
use std::collections::HashMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// No text that people write is larger.
const LARGEST: u64 = 1024 * 1024;
/// A change with more such files is one of data.
const MOST_FILES: usize = 200;
/// The maximum size of a change that is decoded. The rest stays binary, and was not reviewed.
const MOST_BYTES: usize = 32 << 20;

impl Repository {
    /// Gives hunks to binary files that are text. Their lines count in the decoded text.
    pub(super) async fn decode(&self, files: &mut [FileDiff], mut room: usize) -> Result<()> {
        let binary = files.iter_mut().filter(|file| file.binary);
        let mut binary: Vec<&mut FileDiff> = binary.take(MOST_FILES).collect();
        let ids = binary.iter().flat_map(|file| {
            let objects = &file.objects;
            [objects.old_id.clone(), objects.new_id.clone()]
        });
        let texts = self.texts(ids.collect()).await?;
        for file in &mut binary {
            let text = |id: &String| {
                let none = id.bytes().all(|b| b == b'0');
                texts.get(id).map(String::as_str).or(none.then_some(""))
            };
            let (old, new) = (text(&file.objects.old_id), text(&file.objects.new_id));
            let (old, new) = match (old, new, file.status) {
                (Some(old), Some(new), _) => (old, new),
                // The old side was data and cannot be shown as text; the new side can.
                (None, Some(new), status) if status != FileStatus::Removed => ("", new),
                _ => continue,
            };
            let patch = self.patch(old, new).await?;
            let hunks = patch.windows(4).position(|bytes| bytes == b"\n@@ ");
            let hunks = hunks.map_or(&[][..], |at| &patch[at + 1..]);
            file.take_patch(hunks, &mut room)
                .context("git diff printed a patch that cannot be read")?;
            file.binary = false;
        }
        Ok(())
    }

    /// The objects that are text, by id.
    async fn texts(&self, ids: Vec<String>) -> Result<HashMap<String, String>> {
        let mut texts = HashMap::new();
        let mut total = 0;
        self.read_small(&ids, LARGEST, |at, content| {
            if let Some(text) = decoded(content).filter(|text| total + text.len() <= MOST_BYTES) {
                total += text.len();
                texts.insert(ids[at].clone(), text);
            }
            Ok(())
        })
        .await?;
        Ok(texts)
    }

    async fn patch(&self, old: &str, new: &str) -> Result<Vec<u8>> {
        let (old, new) = (
            self.store(old.as_bytes()).await?,
            self.store(new.as_bytes()).await?,
        );
        // The same diff as that of two commits, whatever git thinks of the content.
        let args = [
            &["diff", "--text", "-U3"],
            &OPTIONS[..],
            &[&old, &new, "--"],
        ]
        .concat();
        self.git.output(Access::Objects, &args).await
    }

    /// Puts a file's content into the reviewer's own store. Returns its id.
    pub(super) async fn store(&self, content: &[u8]) -> Result<String> {
        let args = ["hash-object", "-w", "--stdin"];
        let mut git = self.git.start(Access::Objects, &args)?;
        let mut stdin = git.stdin.take().context("git hash-object has no input")?;
        stdin.write_all(content).await?;
        drop(stdin);
        let mut id = String::new();
        git.stdout.read_to_string(&mut id).await?;
        git.finish().await?;
        Ok(id.trim().to_owned())
    }
}
