//! The difference of two files by lines, and a unified diff as git writes it. Bytes, because a patch has to apply to every
//! file, whatever its line ends.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The lines of a file, each with its line end.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A stretch of lines that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Changed {
    old: Range<usize>,
    new: Range<usize>,
}

/// The difference of two files.
#[derive(Debug)]
pub struct LineDiff<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    changes: Vec<Changed>,
}

impl<'a> LineDiff<'a> {
    #[must_use]
    pub fn new(old: &'a [u8], new: &'a [u8]) -> Self {
        let (old, new) = (lines(old), lines(new));
        let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old[before..].iter().rev().zip(new[before..].iter().rev());
        let after = rest.take_while(|(a, b)| a == b).count();
        // Numbers in place of lines are compared faster.
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let mut numbered = |lines: &[&'a [u8]]| -> Vec<usize> {
            let middle = &lines[before..lines.len() - after];
            let mut number = |line: &&'a [u8]| {
                let next = numbers.len();
                *numbers.entry(line).or_insert(next)
            };
            middle.iter().map(&mut number).collect()
        };
        let (a, b) = (numbered(&old), numbered(&new));
        let ops = capture_diff_slices(Algorithm::Myers, &a, &b);
        let changes = changes(&ops, before);
        Self { old, new, changes }
    }

    /// The lines that were added, without their line ends.
    pub fn added(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let ranges = self.changes.iter().map(|change| change.new.clone());
        ranges.flat_map(|range| self.new[range].iter().map(|line| bare(line)))
    }

    /// The lines that were removed, without their line ends.
    pub fn removed(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let ranges = self.changes.iter().map(|change| change.old.clone());
        ranges.flat_map(|range| self.old[range].iter().map(|line| bare(line)))
    }

    /// The hunks of a unified diff.
    #[must_use]
    pub fn hunks(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Writes the hunks of a unified diff.
    fn write(&self, out: &mut Vec<u8>) {
        let meets = |a: &Changed, b: &Changed| b.old.start <= a.old.end + 2 * CONTEXT;
        for hunk in self.changes.chunk_by(meets) {
            let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
                continue;
            };
            let before = first.old.start.min(CONTEXT);
            let after = (self.old.len() - last.old.end).min(CONTEXT);
            let old = first.old.start - before..last.old.end + after;
            let new = first.new.start - before..last.new.end + after;
            let header = format!("@@ -{} +{} @@\n", span(&old), span(&new));
            out.extend_from_slice(header.as_bytes());
            let mut at = old.start;
            for change in hunk {
                put(out, b' ', &self.old[at..change.old.start]);
                put(out, b'-', &self.old[change.old.clone()]);
                put(out, b'+', &self.new[change.new.clone()]);
                at = change.old.end;
            }
            put(out, b' ', &self.old[at..old.end]);
        }
    }
}

/// The changes in order, behind so many equal lines. Only the lengths of the operations count: where one inserts, its place in
/// the old file is not kept exact.
fn changes(ops: &[DiffOp], before: usize) -> Vec<Changed> {
    let (mut old, mut new) = (before, before);
    let mut changes: Vec<Changed> = Vec::new();
    for op in ops {
        let (old_end, new_end) = (old + op.old_range().len(), new + op.new_range().len());
        if !matches!(op, DiffOp::Equal { .. }) {
            match changes
                .last_mut()
                .filter(|last| last.old.end == old && last.new.end == new)
            {
                Some(last) => (last.old.end, last.new.end) = (old_end, new_end),
                None => changes.push(Changed {
                    old: old..old_end,
                    new: new..new_end,
                }),
            }
        }
        (old, new) = (old_end, new_end);
    }
    changes
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// `start,count` as a hunk's header has it; an empty range is named by the line before it.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn put(out: &mut Vec<u8>, mark: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Writes the change of one file, as `git diff` does. `None`: there is no such file.
pub(super) fn write(out: &mut Vec<u8>, path: &str, old: Option<&[u8]>, new: Option<&[u8]>) {
    let (a, b) = (format!("a/{path}"), format!("b/{path}"));
    let mut head = format!("diff --git {} {}\n", quoted(&a), quoted(&b));
    head.push_str(match (old, new) {
        (None, _) => "new file mode 100644\n",
        (_, None) => "deleted file mode 100644\n",
        _ => "",
    });
    let (old, new) = (old.map(|old| (a, old)), new.map(|new| (b, new)));
    let name = |side: &Option<(String, &[u8])>| {
        side.as_ref().map_or_else(
            || "/dev/null".to_owned(),
            |(name, _)| {
                // A name with blanks ends where the tab is.
                let tab = if name.contains(' ') { "\t" } else { "" };
                format!("{}{tab}", quoted(name))
            },
        )
    };
    let (old_name, new_name) = (name(&old), name(&new));
    let [old, new] = [old, new].map(|side| side.map_or(&[][..], |(_, bytes)| bytes));
    let diff = LineDiff::new(old, new);
    if !diff.changes.is_empty() {
        let _ = write!(head, "--- {old_name}\n+++ {new_name}\n");
    }
    out.extend_from_slice(head.as_bytes());
    diff.write(out);
}

/// A path as git quotes it where it has other characters than plain ones.
fn quoted(path: &str) -> String {
    let is_plain = |b: u8| (b' '..=b'~').contains(&b) && b != b'"' && b != b'\\';
    if path.bytes().all(is_plain) {
        return path.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            _ if is_plain(byte) => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn diff(path: &str, old: Option<&str>, new: Option<&str>) -> String {
        let mut out = Vec::new();
        let [old, new] = [old, new].map(|text| text.map(str::as_bytes));
        write(&mut out, path, old, new);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_change_has_three_lines_of_context_and_one_hunk_for_each_place() {
        let old: Vec<String> = (1..=20).map(|n| format!("{n}\n")).collect();
        let old = old.concat();
        let new = old.replace("5\n6\n", "5\nfive\n6\n").replace("19\n", "");
        assert_eq!(
            diff("src/a.rs", Some(&old), Some(&new)),
            "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
             @@ -3,6 +3,7 @@\n 3\n 4\n 5\n+five\n 6\n 7\n 8\n\
             @@ -16,5 +17,4 @@\n 16\n 17\n 18\n-19\n 20\n"
        );
    }

    #[test]
    fn new_deleted_and_empty_files_have_their_headers() {
        assert_eq!(
            diff("a", None, Some("x\n")),
            "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            diff("a", Some("x\ny\n"), None),
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n"
        );
        assert_eq!(
            diff("a", None, Some("")),
            "diff --git a/a b/a\nnew file mode 100644\n"
        );
    }

    #[test]
    fn a_missing_final_newline_is_marked_and_carriage_returns_are_bytes() {
        assert_eq!(
            diff("a", Some("x\r\ny"), Some("x\r\nz\r\n")),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\r\n-y\n\\ No newline at end of file\n+z\r\n"
        );
    }

    #[test]
    fn names_are_quoted_as_git_does_it() {
        assert!(diff("a b", Some("x\n"), Some("y\n")).contains("--- a/a b\t\n+++ b/a b\t\n"));
        assert!(diff("é\"", Some("x\n"), Some("y\n")).contains("--- \"a/\\303\\251\\\"\"\n"));
    }

    /// The new file, as a reader of the patch would make it.
    fn applied(old: &[u8], patch: &[u8]) -> Vec<u8> {
        let old = lines(old);
        let (mut new, mut at): (Vec<u8>, usize) = (Vec::new(), 0);
        let mut in_hunk = false;
        for line in lines(patch) {
            if line.starts_with(b"@@ -") {
                in_hunk = true;
                let header = std::str::from_utf8(line).unwrap();
                let range = header[4..].split(' ').next().unwrap();
                let mut parts = range.split(',').map(|n| n.parse::<usize>().unwrap());
                let (start, count) = (parts.next().unwrap(), parts.next().unwrap_or(1));
                let start = if count == 0 { start } else { start - 1 };
                new.extend(old[at..start].concat());
                at = start;
            } else if in_hunk {
                match line[0] {
                    b' ' | b'-' => {
                        let text = old[at].strip_suffix(b"\n").unwrap_or(old[at]);
                        assert_eq!(line[1..].strip_suffix(b"\n").unwrap(), text);
                        at += 1;
                        if line[0] == b' ' {
                            new.extend(&line[1..]);
                        }
                    }
                    b'+' => new.extend(&line[1..]),
                    _ => {
                        // The mark is about the line before; the new file's counts if it was one of its lines.
                        if new.ends_with(b"\n") && patch_ends_new(patch, line) {
                            new.pop();
                        }
                    }
                }
            }
        }
        new.extend(old[at..].concat());
        new
    }

    /// True if the last mark of a patch follows an added or unchanged line.
    fn patch_ends_new(patch: &[u8], mark: &[u8]) -> bool {
        let lines = lines(patch);
        let at = lines
            .iter()
            .position(|line| std::ptr::eq(*line, mark))
            .unwrap();
        lines[at - 1][0] != b'-'
    }

    fn files() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec!["a", "b", "", "+", "-", " ", "\\", "é"]);
        let end = prop::sample::select(vec!["\n", "\r\n"]);
        let lines = prop::collection::vec((line, end), 0..14);
        (lines, "[a-c]{0,2}").prop_map(|(lines, last)| {
            let lines: Vec<String> = lines
                .iter()
                .map(|(line, end)| format!("{line}{end}"))
                .collect();
            let lines = lines.concat();
            format!("{lines}{last}").into_bytes()
        })
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_new_file_of_the_old_one(old in files(), new in files()) {
            let mut patch = Vec::new();
            write(&mut patch, "a", Some(&old), Some(&new));
            prop_assert_eq!(applied(&old, &patch), new);
        }

        #[test]
        fn what_is_neither_added_nor_removed_is_the_same_in_both(old in files(), new in files()) {
            let diff = LineDiff::new(&old, &new);
            let (added, removed) = (diff.added().count(), diff.removed().count());
            prop_assert_eq!(lines(&old).len() - removed, lines(&new).len() - added);
            prop_assert_eq!(added + removed == 0, old == new);
        }
    }
}
