//! The hunk walker: unified diff text to numbered lines. Separate because the counts of a hunk's header
//! decide what a line is, never its look: `--- x` inside a hunk is a removed line.

use super::{DiffLine, Hunk, LineKind};
use sha2::{Digest, Sha256};

/// Why a text is not a list of hunks.
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

pub(super) fn parse(patch: &[u8]) -> Result<Vec<Hunk>, HunkError> {
    // Only a line feed ends a line for git: a lone CR, U+2028 and the like are text.
    let text = patch.strip_suffix(b"\n").unwrap_or(patch);
    let mut lines = text.split(|byte| *byte == b'\n').enumerate().peekable();
    let mut hunks = Vec::new();
    if text.is_empty() {
        return Ok(hunks);
    }
    while let Some((index, line)) = lines.next() {
        let line_number = index + 1;
        if line.starts_with(b"\\") {
            continue; // "\ No newline at end of file" is about the line before it.
        }
        let line = String::from_utf8_lossy(line);
        let header = Header::parse(&line).ok_or(HunkError::Header { line: line_number })?;
        if !header.old.is_possible() || !header.new.is_possible() {
            return Err(HunkError::Numbers { line: line_number });
        }
        let mut hunk = walk(header, line_number, &mut lines)?;
        // Of the last line; it is part of what the hunk changes.
        if let Some((_, mark)) = lines.next_if(|(_, line)| line.starts_with(b"\\")) {
            hunk.digest = Sha256::new_with_prefix(hunk.digest)
                .chain_update(mark)
                .finalize()
                .into();
        }
        hunks.push(hunk);
    }
    Ok(hunks)
}

fn walk<'a>(
    header: Header<'_>,
    header_line: usize,
    lines: &mut impl Iterator<Item = (usize, &'a [u8])>,
) -> Result<Hunk, HunkError> {
    let Header {
        mut old,
        mut new,
        section,
    } = header;
    let mut digest = Sha256::new();
    let mut numbered = Vec::new();
    while old.left > 0 || new.left > 0 {
        let short = HunkError::Short { line: header_line };
        let (index, line) = lines.next().ok_or(short.clone())?;
        digest.update(line);
        digest.update(b"\n");
        let (kind, text) = match split(line) {
            Some(split) => split,
            None if line.starts_with(b"\\") => continue,
            None => return Err(HunkError::Prefix { line: index + 1 }),
        };
        let (old, new) = match kind {
            LineKind::Added => (None, Some(new.take().ok_or(short)?)),
            LineKind::Removed => (Some(old.take().ok_or(short)?), None),
            LineKind::Context => (
                Some(old.take().ok_or(short.clone())?),
                Some(new.take().ok_or(short)?),
            ),
        };
        numbered.push(DiffLine {
            kind,
            old,
            new,
            text: String::from_utf8_lossy(text).into_owned(),
        });
    }
    Ok(Hunk {
        section: section.to_owned(),
        lines: numbered,
        digest: digest.finalize().into(),
    })
}

fn split(line: &[u8]) -> Option<(LineKind, &[u8])> {
    let kind = match line.first() {
        Some(b'+') => LineKind::Added,
        Some(b'-') => LineKind::Removed,
        Some(b' ') => LineKind::Context,
        // Some tools drop the lone space of an empty context line.
        None => return Some((LineKind::Context, b"")),
        Some(_) => return None,
    };
    Some((kind, &line[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(patch: &str) -> Vec<(Option<u32>, Option<u32>, String)> {
        let hunks = parse(patch.as_bytes()).unwrap();
        let lines = hunks.into_iter().flat_map(|hunk| hunk.lines);
        lines.map(|l| (l.old, l.new, l.text)).collect()
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
        assert_eq!(parse(b""), Ok(vec![]));
        let empty = parse(b"@@ -0,0 +0,0 @@").unwrap();
        assert!(matches!(&empty[..], [hunk] if hunk.lines.is_empty()));
    }

    #[test]
    fn hunks_are_one_change_only_byte_for_byte() {
        let hunk = |patch: &[u8]| parse(patch).unwrap().remove(0);
        let same = |a: &[u8], b: &[u8]| hunk(a).is_same_change(&hunk(b));
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
            assert_eq!(parse(patch.as_bytes()), Err(error), "{patch}");
        }
    }
}
