//! The hunk walker: unified diff text to numbered lines. Separate because the counts of a hunk's header
//! decide what a line is, never its look: `--- x` inside a hunk is a removed line. It takes the text in pieces of any
//! length. Of a file that there is no room for, the changed lines are counted and none is kept.

use super::{Beyond, DiffLine, Hunk, LineKind, LineText};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The maximum size of one file's diff that is kept, in bytes. Ten million tokens of context, half of them for diffs,
/// show as much.
pub const FILE_ROOM: usize = 16 << 20;
/// The size that a kept line and a kept hunk count beside their text.
const A_LINE: usize = 64;
const A_HUNK: usize = 192;

/// The reason why a text is not a list of hunks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HunkError {
    #[error("line {line} of the patch is not a hunk header such as `@@ -1,4 +1,6 @@`")]
    Header { line: usize },
    #[error(
        "the hunk at line {line} of the patch ends before all the lines that its header counts"
    )]
    Short { line: usize },
    #[error("line {line} of the patch starts with none of `+`, `-` and space")]
    Prefix { line: usize },
    #[error("the hunk at line {line} of the patch counts lines that cannot exist")]
    Numbers { line: usize },
}

/// One side of a hunk header: the number of the next line and how many are still to come.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    next: u32,
    left: u32,
}

impl Cursor {
    /// `12,3`, or `12` for one line.
    fn parse(text: &str) -> Option<Self> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if !digits(start) || !digits(count) {
            return None;
        }
        Some(Self {
            next: start.parse().ok()?,
            left: count.parse().ok()?,
        })
    }

    /// Lines count from 1, and the last must still have a number.
    fn is_possible(self) -> bool {
        self.left == 0 || (self.next > 0 && self.next.checked_add(self.left).is_some())
    }

    fn take(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next += 1;
        Some(number)
    }
}

#[derive(Clone, Copy)]
struct Header<'a> {
    old: Cursor,
    new: Cursor,
    section: &'a str,
}

impl<'a> Header<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (old, rest) = text.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, section) = rest.split_once(" @@")?;
        Some(Self {
            old: Cursor::parse(old)?,
            new: Cursor::parse(new)?,
            section: section.trim(),
        })
    }
}

/// Reads the whole patch of one file.
pub(super) fn parse(patch: &[u8], room: usize) -> Result<Walked, HunkError> {
    let text = patch.strip_suffix(b"\n").unwrap_or(patch);
    let mut walker = Walker::new(room);
    if !text.is_empty() {
        walker.push(text)?;
        walker.push(b"\n")?;
    }
    walker.finish()
}

/// The room that a hunk takes.
pub(super) fn size(hunk: &Hunk) -> usize {
    let lines = hunk.lines.iter().map(|line| A_LINE + line.text.len());
    A_HUNK + hunk.section.len() + lines.sum::<usize>()
}

/// Reads the patch of one file.
#[derive(Debug)]
pub struct Walker {
    budget: Budget,
    hunks: Vec<Hunk>,
    /// All changed lines.
    counted: Beyond,
    open: Option<Open>,
    /// True if the line before this one was the last of the last hunk that is kept.
    after_hunk: bool,
    line: Line,
    /// The number of lines that have ended.
    lines: usize,
}

/// The room for one file's diff.
#[derive(Debug)]
struct Budget {
    room: usize,
    used: usize,
    /// True once a line did not fit: none is kept then.
    full: bool,
}

impl Budget {
    /// Takes so much room. Returns false if there is not enough.
    fn take(&mut self, cost: usize) -> bool {
        self.full |= self.used + cost > self.room;
        if !self.full {
            self.used += cost;
        }
        !self.full
    }
}

/// The result of walking one file's patch.
#[derive(Debug)]
pub struct Walked {
    pub hunks: Vec<Hunk>,
    /// The changed lines, where there was no room for them.
    pub beyond: Beyond,
    /// The room that the hunks take.
    pub used: usize,
}

/// A hunk that is being read.
#[derive(Debug)]
struct Open {
    header_line: usize,
    old: Cursor,
    new: Cursor,
    section: String,
    digest: Sha256,
    text: String,
    rows: Vec<Row>,
}

/// A kept line, and where it stands in the text of its hunk.
#[derive(Debug, Clone, Copy)]
struct Row {
    kind: LineKind,
    old: Option<u32>,
    new: Option<u32>,
    start: u32,
    end: u32,
}

/// The line that is being read.
#[derive(Debug, Default)]
struct Line {
    /// `None`: nothing of it was read yet.
    first: Option<u8>,
    /// The whole line, or nothing of one that there is no room for.
    kept: Vec<u8>,
    dropped: bool,
}

impl Line {
    /// Goes on with the line. `room` bounds how long it may get to be kept.
    fn push(&mut self, piece: &[u8], room: usize) {
        self.first = self.first.or(piece.first().copied());
        if self.dropped || self.kept.len() + piece.len() > room {
            self.dropped = true;
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(piece);
        }
    }

    fn clear(&mut self) {
        self.first = None;
        self.kept.clear();
        self.dropped = false;
    }
}

impl Walker {
    /// With room for so many bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            budget: Budget {
                room,
                used: 0,
                full: false,
            },
            hunks: Vec::new(),
            counted: Beyond::default(),
            open: None,
            after_hunk: false,
            line: Line::default(),
            lines: 0,
        }
    }

    /// True if the header of the hunk counts more lines than were read.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.open.is_some()
    }

    /// Goes on with the patch.
    pub fn push(&mut self, patch: &[u8]) -> Result<(), HunkError> {
        // Only a line feed ends a line for git: a lone CR, U+2028 and the like are text.
        for piece in patch.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n");
            let room = match (self.is_inside(), self.budget.full) {
                (true, true) => 0,
                (true, false) => self.budget.room,
                (false, _) => FILE_ROOM,
            };
            self.line.push(text.unwrap_or(piece), room);
            if let Some(open) = &mut self.open {
                open.digest.update(piece);
            }
            if text.is_some() {
                self.lines += 1;
                self.end_line()?;
                self.line.clear();
            }
        }
        Ok(())
    }

    /// Call at the end of the patch, after its last line feed.
    pub fn finish(self) -> Result<Walked, HunkError> {
        match self.open {
            Some(open) => Err(HunkError::Short {
                line: open.header_line,
            }),
            None if self.budget.full => Ok(Walked {
                hunks: Vec::new(),
                beyond: self.counted,
                used: 0,
            }),
            None => Ok(Walked {
                hunks: self.hunks,
                beyond: Beyond::default(),
                used: self.budget.used,
            }),
        }
    }

    fn end_line(&mut self) -> Result<(), HunkError> {
        let after_hunk = std::mem::take(&mut self.after_hunk);
        let Some(mut open) = self.open.take() else {
            return self.end_line_between(after_hunk);
        };
        let kind = match self.line.first {
            Some(b'+') => Some(LineKind::Added),
            Some(b'-') => Some(LineKind::Removed),
            // Some tools drop the lone space of an empty context line.
            Some(b' ') | None => Some(LineKind::Context),
            // "\ No newline at end of file" is about the line before it.
            Some(b'\\') => None,
            Some(_) => return Err(HunkError::Prefix { line: self.lines }),
        };
        if let Some(kind) = kind {
            self.end_line_inside(&mut open, kind)?;
        }
        self.open = Some(open);
        self.close_hunk();
        Ok(())
    }

    /// A line outside of hunks: a header, or a mark of the last line before it.
    fn end_line_between(&mut self, after_hunk: bool) -> Result<(), HunkError> {
        if self.line.first == Some(b'\\') {
            // It is part of what the hunk changes.
            if let Some(hunk) = self.hunks.last_mut().filter(|_| after_hunk) {
                hunk.digest = Sha256::new_with_prefix(hunk.digest)
                    .chain_update(&self.line.kept)
                    .finalize()
                    .into();
            }
            return Ok(());
        }
        let line_number = self.lines;
        let line = String::from_utf8_lossy(&self.line.kept);
        let header = Header::parse(&line).ok_or(HunkError::Header { line: line_number })?;
        if !header.old.is_possible() || !header.new.is_possible() {
            return Err(HunkError::Numbers { line: line_number });
        }
        let cost = A_HUNK + header.section.len();
        self.budget.take(cost);
        self.open = Some(Open {
            header_line: line_number,
            old: header.old,
            new: header.new,
            section: header.section.to_owned(),
            digest: Sha256::new(),
            text: String::new(),
            rows: Vec::new(),
        });
        self.close_hunk();
        Ok(())
    }

    fn end_line_inside(&mut self, open: &mut Open, kind: LineKind) -> Result<(), HunkError> {
        let short = HunkError::Short {
            line: open.header_line,
        };
        let (old, new) = match kind {
            LineKind::Added => (None, Some(open.new.take().ok_or(short)?)),
            LineKind::Removed => (Some(open.old.take().ok_or(short)?), None),
            LineKind::Context => (
                Some(open.old.take().ok_or(short.clone())?),
                Some(open.new.take().ok_or(short)?),
            ),
        };
        let text = String::from_utf8_lossy(self.line.kept.get(1..).unwrap_or_default());
        let cost = A_LINE + text.len();
        let start = u32::try_from(open.text.len());
        let end = u32::try_from(open.text.len() + text.len());
        self.counted.count(kind);
        self.budget.full |= self.line.dropped;
        match (start, end) {
            (Ok(start), Ok(end)) if self.budget.take(cost) => {
                open.text.push_str(&text);
                open.rows.push(Row {
                    kind,
                    old,
                    new,
                    start,
                    end,
                });
            }
            _ => (open.text, open.rows) = Default::default(),
        }
        Ok(())
    }

    /// Takes the open hunk, if all its lines were read.
    fn close_hunk(&mut self) {
        let is_whole = |open: &mut Open| open.old.left == 0 && open.new.left == 0;
        let Some(open) = self.open.take_if(is_whole) else {
            return;
        };
        if self.budget.full {
            self.hunks = Vec::new();
            return;
        }
        let buffer = Arc::new(open.text);
        let rows = open.rows.into_iter();
        let lines = rows.map(|row| DiffLine {
            kind: row.kind,
            old: row.old,
            new: row.new,
            text: LineText::within(&buffer, row.start..row.end),
        });
        self.hunks.push(Hunk {
            section: open.section,
            lines: lines.collect(),
            digest: open.digest.finalize().into(),
        });
        self.after_hunk = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(patch: &str) -> Vec<(Option<u32>, Option<u32>, String)> {
        let lines = hunks(patch.as_bytes())
            .into_iter()
            .flat_map(|hunk| hunk.lines);
        lines.map(|l| (l.old, l.new, l.text.to_string())).collect()
    }

    fn hunks(patch: &[u8]) -> Vec<Hunk> {
        parse(patch, FILE_ROOM).unwrap().hunks
    }

    #[test]
    fn both_sides_are_numbered_as_git_numbers_them() {
        let lines = numbered("@@ -3,3 +3,3 @@ fn main() {\n a\n-b\n+B\n c\n");
        let expected = [
            (Some(3), Some(3), "a"),
            (Some(4), None, "b"),
            (None, Some(4), "B"),
            (Some(5), Some(5), "c"),
        ];
        assert_eq!(lines, expected.map(|(o, n, t)| (o, n, t.to_owned())));
    }

    #[test]
    fn a_line_that_looks_like_a_header_is_what_the_counts_say() {
        let lines = numbered("@@ -1,2 +1,2 @@\n--- a/x\n-@@ -9 +9 @@\n+++ b/x\n+diff --git\n");
        let texts: Vec<&str> = lines.iter().map(|l| l.2.as_str()).collect();
        assert_eq!(texts, ["-- a/x", "@@ -9 +9 @@", "++ b/x", "diff --git"]);
    }

    #[test]
    fn a_missing_newline_moves_no_number_and_a_carriage_return_stays() {
        let lines = numbered(
            "@@ -1 +1,2 @@\n-a\r\n\\ No newline at end of file\n+a\r\n+b\n\\ No newline at end of file\n",
        );
        let expected = [
            (Some(1), None, "a\r"),
            (None, Some(1), "a\r"),
            (None, Some(2), "b"),
        ];
        assert_eq!(lines, expected.map(|(o, n, t)| (o, n, t.to_owned())));
    }

    #[test]
    fn nothing_is_no_hunk() {
        assert_eq!(hunks(b""), []);
        let empty = hunks(b"@@ -0,0 +0,0 @@");
        assert!(matches!(&empty[..], [hunk] if hunk.lines.is_empty()));
    }

    #[test]
    fn hunks_are_one_change_only_byte_for_byte() {
        let hunk = |patch: &[u8]| hunks(patch).remove(0);
        let same = |a: &[u8], b: &[u8]| hunk(a).digest == hunk(b).digest;
        assert!(same(
            b"@@ -1 +1 @@\n-a\n+b\n",
            b"@@ -7 +9 @@ fn x\n-a\n+b\n"
        ));
        for other in [
            b"@@ -1 +1 @@\n-a\n+\xfe\n".as_slice(),
            b"@@ -1 +1 @@\n-a\n+\xff\n\\ No newline at end of file\n",
            b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+\xff\n",
            b"@@ -1 +1 @@\n-a\n+\xff\r\n",
        ] {
            assert!(!same(b"@@ -1 +1 @@\n-a\n+\xff\n", other), "{other:?}");
        }
    }

    #[test]
    fn pieces_of_any_length_make_the_same_hunks() {
        let patch = "@@ -1,3 +1,2 @@ fn x\n a\n-b\n-\u{e9}\n+B\n\\ No newline at end of file\n\
                     @@ -9 +8,2 @@\n \n+c\n\\ No newline at end of file\n";
        let whole = hunks(patch.as_bytes());
        for length in 1..patch.len() {
            let mut walker = Walker::new(FILE_ROOM);
            for piece in patch.as_bytes().chunks(length) {
                walker.push(piece).unwrap();
            }
            assert_eq!(walker.finish().unwrap().hunks, whole, "{length}");
        }
    }

    #[test]
    fn the_lines_of_a_file_that_has_no_room_are_counted() {
        let patch = b"@@ -1,2 +1,3 @@\n-a\n+b\n c\n+d\n@@ -9,2 +10,1 @@\n-e\n f\n";
        let whole = parse(patch, FILE_ROOM).unwrap();
        assert_eq!((whole.hunks.len(), whole.beyond), (2, Beyond::default()));
        assert_eq!(whole.hunks.iter().map(size).sum::<usize>(), whole.used);
        assert_eq!(parse(patch, whole.used).unwrap().hunks, whole.hunks);
        for room in [0, A_HUNK, A_HUNK + 2 * (A_LINE + 1), whole.used - 1] {
            let cut = parse(patch, room).unwrap();
            assert_eq!((cut.hunks.len(), cut.used), (0, 0), "{room}");
            assert_eq!((cut.beyond.added, cut.beyond.removed), (2, 2), "{room}");
        }
    }

    #[test]
    fn a_long_line_and_many_lines_take_no_more_than_the_room() {
        let mut long = Walker::new(1 << 20);
        long.push(b"@@ -0,0 +1,2 @@\n+").unwrap();
        for _ in 0..64 {
            long.push(&b"x".repeat(64 << 10)).unwrap();
            assert!(long.line.kept.capacity() <= 2 << 20);
        }
        long.push(b"\n+y\n").unwrap();
        let long = long.finish().unwrap();
        assert_eq!((long.hunks.len(), long.beyond.added), (0, 2));
        let mut many = Walker::new(1 << 20);
        many.push(b"@@ -0,0 +1,1000000 @@\n").unwrap();
        many.push(&b"+\n".repeat(1_000_000)).unwrap();
        let many = many.finish().unwrap();
        assert_eq!((many.hunks.len(), many.beyond.added), (0, 1_000_000));
    }

    #[test]
    fn a_broken_patch_says_where() {
        let cases = [
            ("--- a/x\n+++ b/x\n", HunkError::Header { line: 1 }),
            ("@@@ -1 -1 +1 @@@\n", HunkError::Header { line: 1 }),
            ("@@ -1 ++1 @@\n", HunkError::Header { line: 1 }),
            ("@@ -1,2 +1,2 @@\n a\n", HunkError::Short { line: 1 }),
            ("@@ -1 +0,0 @@\n+a\n", HunkError::Short { line: 1 }),
            ("@@ -1 +1 @@\n*a\n", HunkError::Prefix { line: 2 }),
            ("@@ -0,1 +1 @@\n-a\n", HunkError::Numbers { line: 1 }),
            ("@@ -1 +4294967295,2 @@\n", HunkError::Numbers { line: 1 }),
        ];
        for (patch, error) in cases {
            let refused = parse(patch.as_bytes(), FILE_ROOM).map(|_| ());
            assert_eq!(refused, Err(error), "{patch}");
        }
    }
}
