//! Trees and files as git stores them. Separate from the diff, because the snapshot reads these alone.

use super::Repository;
use super::hardening::{Access, Running};
use anyhow::{Context as _, Result, anyhow, bail};
use reviewer_core::domain::CommitSha;
use std::fmt::Write as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

/// The kind of a path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Executable,
    Symlink,
    Submodule,
}

impl EntryKind {
    fn from_mode(mode: &str) -> Self {
        match mode {
            "120000" => Self::Symlink,
            "160000" => Self::Submodule,
            "100755" => Self::Executable,
            _ => Self::File,
        }
    }
}

/// A file, link or submodule of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub kind: EntryKind,
    pub id: String,
    /// `None` for a submodule.
    pub size: Option<u64>,
    /// As git stores it: any bytes but NUL.
    pub path: Vec<u8>,
}

impl Repository {
    /// Every path of a commit, in git's order.
    pub async fn tree(&self, commit: &CommitSha) -> Result<Vec<TreeEntry>> {
        let args = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()];
        let listing = self.git.output(Access::Objects, &args).await?;
        let records = listing.split(|&b| b == 0).filter(|r| !r.is_empty());
        records.map(entry).collect()
    }

    /// Hands each object's content over in the order of `ids`, one at a time, so that memory holds the
    /// largest of them and no more.
    pub async fn read_blobs<S: AsRef<str>>(
        &self,
        ids: &[S],
        each: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut git = self.git.start(Access::Objects, &["cat-file", "--batch"])?;
        let stdin = git.stdin.take();
        // Both directions at once: git stops reading when nobody takes what it writes.
        let ((), ()) = tokio::try_join!(ask(stdin, ids), answers(&mut git, ids.len(), each))?;
        git.finish().await
    }

    /// The same for objects that are there and no larger than this; `each` gets the place among `ids`.
    pub async fn read_small(
        &self,
        ids: &[String],
        largest: u64,
        mut each: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let sizes = self.sizes(ids).await?.into_iter().enumerate();
        let small = sizes.filter(|(_, size)| size.is_some_and(|size| size <= largest));
        let small: Vec<usize> = small.map(|(at, _)| at).collect();
        let wanted: Vec<&String> = small.iter().map(|at| &ids[*at]).collect();
        self.read_blobs(&wanted, |index, content| each(small[index], content))
            .await
    }

    /// The sizes of files, in the order of `ids`; `None` for what is no file, or not there.
    async fn sizes<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<Option<u64>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let args = ["cat-file", "--batch-check=%(objecttype) %(objectsize)"];
        let mut git = self.git.start(Access::Objects, &args)?;
        let (stdin, mut sizes) = (git.stdin.take(), String::new());
        let read = async { Ok(git.stdout.read_to_string(&mut sizes).await?) };
        tokio::try_join!(ask(stdin, ids), read)?;
        git.finish().await?;
        let size = |line: &str| line.strip_prefix("blob ")?.parse().ok();
        Ok(sizes.lines().map(size).collect())
    }

    /// The beginning of a file, at most `max_bytes` of it; `None` where there is no regular file.
    pub async fn file(
        &self,
        commit: &CommitSha,
        path: &str,
        max_bytes: usize,
    ) -> Result<Option<String>> {
        let args = [
            "ls-tree",
            "-z",
            "-l",
            "--full-tree",
            commit.as_str(),
            "--",
            path,
        ];
        let listing = self.git.output(Access::Objects, &args).await?;
        let Some(record) = listing.split(|&b| b == 0).find(|r| !r.is_empty()) else {
            return Ok(None);
        };
        let found = entry(record)?;
        if found.path != path.as_bytes() {
            return Ok(None);
        }
        self.beginning(&found, max_bytes).await
    }

    /// The same of a file that a tree has named.
    pub async fn beginning(&self, file: &TreeEntry, max_bytes: usize) -> Result<Option<String>> {
        let regular = matches!(file.kind, EntryKind::File | EntryKind::Executable);
        if !regular || file.size.is_none() {
            return Ok(None);
        }
        let mut git = self
            .git
            .start(Access::Objects, &["cat-file", "blob", &file.id])?;
        let mut content = Vec::new();
        let limit = u64::try_from(max_bytes)?;
        (&mut git.stdout)
            .take(limit)
            .read_to_end(&mut content)
            .await?;
        if content.len() < max_bytes {
            git.finish().await?;
        } // Else there may be more, and dropping the process ends it.
        Ok(Some(String::from_utf8_lossy(&content).into_owned()))
    }
}

async fn ask<S: AsRef<str>>(stdin: Option<ChildStdin>, ids: &[S]) -> Result<()> {
    let mut stdin = stdin.context("git cat-file has no input")?;
    for chunk in ids.chunks(512) {
        let mut lines = String::with_capacity(chunk.len() * 41);
        for id in chunk {
            writeln!(lines, "{}", id.as_ref())?;
        }
        if stdin.write_all(lines.as_bytes()).await.is_err() {
            break; // git is gone; the reading side says so.
        }
    }
    Ok(())
}

async fn answers(
    git: &mut Running,
    count: usize,
    mut each: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut stdout = BufReader::with_capacity(64 * 1024, &mut git.stdout);
    let mut content = Vec::new();
    for index in 0..count {
        let size = announced(&mut stdout).await?;
        content.clear();
        let read = (&mut stdout).take(size).read_to_end(&mut content).await?;
        if u64::try_from(read)? != size || stdout.read_u8().await? != b'\n' {
            bail!("git cat-file ended in the middle of an object");
        }
        each(index, &content)?;
    }
    Ok(())
}

/// `<id> blob <size>`, or `<id> missing`.
async fn announced(stdout: &mut BufReader<&mut ChildStdout>) -> Result<u64> {
    let mut header = String::new();
    if stdout.read_line(&mut header).await? == 0 {
        bail!("git cat-file ended early");
    }
    let size = header
        .split_whitespace()
        .nth(2)
        .and_then(|size| size.parse().ok());
    size.ok_or_else(|| {
        anyhow!(
            "git has no object {}",
            header.trim().trim_end_matches(" missing")
        )
    })
}

/// `<mode> <type> <id> <size>\t<path>`
pub(super) fn entry(record: &[u8]) -> Result<TreeEntry> {
    let parse = || {
        let tab = record.iter().position(|&b| b == b'\t')?;
        let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split_whitespace();
        let kind = EntryKind::from_mode(fields.next()?);
        let id = fields.nth(1)?.to_owned();
        Some(TreeEntry {
            kind,
            id,
            size: fields.next()?.parse().ok(),
            path: record[tab + 1..].to_vec(),
        })
    };
    parse().context("git ls-tree printed a line that cannot be read")
}
