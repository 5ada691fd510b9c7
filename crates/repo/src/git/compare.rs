//! The diff of two commits: exact paths and statuses from git's raw format, hunks from its patch format,
//! joined by their order. Separate because neither format alone is enough: the patch quotes and guesses
//! paths, the raw list has no lines.

use super::Repository;
use super::hardening::{Access, Running};
use anyhow::{Context as _, Result, bail};
use reviewer_core::domain::diff::{Beyond, FILE_ROOM, Walker};
use reviewer_core::domain::{CommitSha, FileDiff, FileStatus, Hunk, Objects};
use reviewer_text::encoding::utf8_text;
use std::collections::HashSet;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Fixed, so that the same commits give the same diff everywhere, and GitHub's where it matters: renames by
/// half here, three lines of context where the patch is asked for.
pub(super) const OPTIONS: [&str; 15] = [
    "-r",
    "-M50%",
    "-l1000",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--full-index",
];

/// The maximum size of a change's lines that are kept, in bytes. More cannot be reviewed, and would take the machine's
/// memory.
pub const CHANGE_ROOM: usize = 4 * FILE_ROOM;
/// No line between the hunks is longer: it names two paths, or quotes the beginning of a line.
const LONGEST_HEADER: usize = 1 << 20;
const UNREADABLE: &str = "git diff-tree printed a patch that cannot be read";

impl Repository {
    /// Returns the changes from `base` to `head`, in git's order. Files that the base calls binary are binary; the
    /// head's own attributes are ignored. The values of files that hold secrets are masked.
    pub async fn diff(&self, base: &CommitSha, head: &CommitSha) -> Result<Vec<FileDiff>> {
        self.diff_under(base, base, head).await
    }

    /// The same between any two commits, with the attributes of a third.
    pub async fn diff_under(
        &self,
        attributes: &CommitSha,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Vec<FileDiff>> {
        let access = Access::Attributes(attributes);
        let command = |format: &'static [&'static str]| {
            let mut args = vec!["diff-tree"];
            args.extend(format.iter().chain(&OPTIONS).copied());
            args.extend([base.as_str(), head.as_str(), "--"]);
            args
        };
        let raw = self.git.output(access, &command(&["--raw", "-z"])).await?;
        let changes = changes(&raw)?;
        let patch = self.git.start(access, &command(&["--patch", "-U3"]))?;
        let (sections, room) = sections(patch).await?;
        let mut files = join(changes, sections)?;
        self.decode(&mut files, room).await?;
        Ok(files.into_iter().map(FileDiff::masked).collect())
    }
}

/// One record of the raw format.
struct RawChange {
    letter: u8,
    objects: Objects,
    previous: Option<Vec<u8>>,
    path: Vec<u8>,
}

/// One `diff --git` section of the patch format.
#[derive(Default)]
struct Section {
    binary: bool,
    hunks: Vec<Hunk>,
    beyond: Beyond,
}

/// `:<mode> <mode> <id> <id> <letter><score>`, NUL, path, NUL, and for a rename a second path.
fn changes(raw: &[u8]) -> Result<Vec<RawChange>> {
    let mut fields = raw.split(|&b| b == 0).filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    let unreadable = "git diff-tree printed a record that cannot be read";
    while let Some(meta) = fields.next() {
        let meta: Vec<&[u8]> = meta.split(|&b| b == b' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = meta[..] else {
            bail!(unreadable);
        };
        let mode = |field: &[u8]| {
            let digits = std::str::from_utf8(field).ok()?;
            u32::from_str_radix(digits.trim_start_matches(':'), 8).ok()
        };
        let id = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let letter = *status.first().context(unreadable)?;
        let first = fields.next().context(unreadable)?.to_vec();
        let (previous, path) = if matches!(letter, b'R' | b'C') {
            (Some(first), fields.next().context(unreadable)?.to_vec())
        } else {
            (None, first)
        };
        changes.push(RawChange {
            letter,
            objects: Objects {
                old_mode: mode(old_mode).context(unreadable)?,
                new_mode: mode(new_mode).context(unreadable)?,
                old_id: id(old_id),
                new_id: id(new_id),
            },
            previous,
            path,
        });
    }
    Ok(changes)
}

/// The sections of a patch, read as git prints it, and the room that is left. Files that do not fit are counted.
async fn sections(mut git: Running) -> Result<(Vec<Section>, usize)> {
    let mut stdout = BufReader::with_capacity(64 * 1024, &mut git.stdout);
    let mut reader = SectionReader::new(CHANGE_ROOM);
    loop {
        let printed = stdout.fill_buf().await?;
        if printed.is_empty() {
            break;
        }
        let read = printed.len();
        for piece in printed.split_inclusive(|byte| *byte == b'\n') {
            reader.push(piece)?;
        }
        stdout.consume(read);
    }
    git.finish().await?;
    reader.finish()
}

/// Takes a patch of many files, piece by piece; a piece ends at a line feed or where a read ended.
struct SectionReader {
    sections: Vec<Section>,
    /// The hunks of the last section.
    walker: Option<Walker>,
    /// A line that is not inside of a hunk, as far as it was read.
    line: Vec<u8>,
    room: usize,
}

impl SectionReader {
    fn new(room: usize) -> Self {
        Self {
            sections: Vec::new(),
            walker: None,
            line: Vec::new(),
            room,
        }
    }

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        if let Some(walker) = self.walker.as_mut().filter(|walker| walker.is_inside()) {
            return walker.push(piece).context(UNREADABLE);
        }
        if self.line.len() + piece.len() > LONGEST_HEADER {
            bail!(UNREADABLE);
        }
        self.line.extend_from_slice(piece);
        if piece.ends_with(b"\n") {
            self.end_line()?;
            self.line.clear();
        }
        Ok(())
    }

    /// A line of a header: a line of content starts with one of `+- \`, and was taken by the walker.
    fn end_line(&mut self) -> Result<()> {
        if self.line.starts_with(b"diff --git ") {
            self.end_section()?;
            self.sections.push(Section::default());
            return Ok(());
        }
        let section = self
            .sections
            .last_mut()
            .context("git diff-tree printed no header")?;
        if self.walker.is_some() || self.line.starts_with(b"@@ ") {
            let walker = self
                .walker
                .get_or_insert_with(|| Walker::new(self.room.min(FILE_ROOM)));
            walker.push(&self.line).context(UNREADABLE)?;
        } else if self.line.starts_with(b"Binary files ") {
            section.binary = true;
        }
        Ok(())
    }

    fn end_section(&mut self) -> Result<()> {
        if let (Some(walker), Some(section)) = (self.walker.take(), self.sections.last_mut()) {
            let walked = walker.finish().context(UNREADABLE)?;
            self.room -= walked.used.min(self.room);
            (section.hunks, section.beyond) = (walked.hunks, walked.beyond);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Vec<Section>, usize)> {
        self.end_section()?;
        Ok((self.sections, self.room))
    }
}

fn join(changes: Vec<RawChange>, sections: Vec<Section>) -> Result<Vec<FileDiff>> {
    let mut sections = sections.into_iter();
    let mut taken = HashSet::new();
    let mut files = Vec::with_capacity(changes.len());
    let disagree = "git diff-tree printed a list of files and a patch that disagree";
    for change in changes {
        let mut section = sections.next().context(disagree)?;
        if change.letter == b'T' {
            // A changed type is shown as a removal and an addition.
            let added = sections.next().context(disagree)?;
            section.binary |= added.binary;
            section.hunks.extend(added.hunks);
            section.beyond += added.beyond;
        }
        let mut path = utf8_text(&change.path);
        while !taken.insert(path.clone()) {
            path.push('~');
        }
        files.push(FileDiff {
            path,
            previous_path: change.previous.as_deref().map(utf8_text),
            status: status(change.letter, &change.objects),
            binary: section.binary,
            hunks: section.hunks,
            beyond: section.beyond,
            objects: change.objects,
            ..FileDiff::default()
        });
    }
    if sections.next().is_some() {
        bail!(disagree);
    }
    Ok(files)
}

fn status(letter: u8, objects: &Objects) -> FileStatus {
    match letter {
        b'A' | b'C' => FileStatus::Added,
        b'D' => FileStatus::Removed,
        b'R' => FileStatus::Renamed,
        b'M' if objects.old_id != objects.new_id => FileStatus::Modified,
        _ => FileStatus::Changed,
    }
}
