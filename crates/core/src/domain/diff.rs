//! The merge-base diff as data: which lines changed, how they are numbered, and where GitHub accepts a
//! comment. Anchors are judged here, before anything is sent.

mod anchor;
mod line_text;
mod mask;
mod numbered;
mod walker;

pub(crate) use line_text::LineText;
pub use mask::Mask;
pub use walker::HunkError;
pub use walker::{FILE_ROOM, Walker};

use std::ops::RangeInclusive;

/// The version of a file that a line number counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The merge base: removed lines only.
    Left,
    /// The head: added and context lines.
    Right,
}

/// The place of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// A line, or the range that ends in it; both ends in one hunk and on one side.
    Line {
        side: Side,
        /// The first line of a range, before `line`.
        start: Option<u32>,
        line: u32,
    },
    /// The file as a whole, because none of its lines takes a comment.
    File,
}

impl Anchor {
    /// The line that the comment hangs on; `None` for a comment on the file.
    #[must_use]
    pub fn line(self) -> Option<u32> {
        match self {
            Self::Line { line, .. } => Some(line),
            Self::File => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// A line of a hunk with its number on each side where it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: LineText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The text after the second `@@`: the enclosing function, usually.
    pub section: String,
    pub lines: Vec<DiffLine>,
    /// Hash of the lines as bytes, before anything was decoded or masked.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileStatus {
    Added,
    #[default]
    Modified,
    Removed,
    Renamed,
    /// Mode or type changed.
    Changed,
}

/// Mode and object id of both sides, as git's raw record has them; zeros for a side without the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    pub old_mode: u32,
    pub new_mode: u32,
    pub old_id: String,
    pub new_id: String,
}

impl Objects {
    pub(crate) const EXECUTABLE: u32 = 0o100_755;
    pub(crate) const SYMLINK: u32 = 0o120_000;
    pub(crate) const SUBMODULE: u32 = 0o160_000;

    /// For the headline of a diff: a changed mode, or one that is not that of a regular file.
    #[must_use]
    pub(crate) fn note(&self) -> String {
        let special = [Self::EXECUTABLE, Self::SYMLINK, Self::SUBMODULE];
        match self.changed_mode() {
            Some((old, new)) => format!(", {old} before, {new} now"),
            None if special.contains(&self.new_mode) => format!(", {}", mode_name(self.new_mode)),
            None => String::new(),
        }
    }

    /// The modes in words, where a file that both sides have changes its mode.
    #[must_use]
    pub(crate) fn changed_mode(&self) -> Option<(&'static str, &'static str)> {
        let both = self.old_mode != 0 && self.new_mode != 0;
        let changed = both && self.old_mode != self.new_mode;
        changed.then(|| (mode_name(self.old_mode), mode_name(self.new_mode)))
    }
}

fn mode_name(mode: u32) -> &'static str {
    match mode {
        Objects::EXECUTABLE => "executable file",
        Objects::SYMLINK => "symbolic link",
        Objects::SUBMODULE => "submodule",
        _ => "regular file",
    }
}

/// The part of the changed lines that a mask hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hidden {
    #[default]
    Nothing,
    /// Values of assignments, and PEM blocks.
    Data,
    /// Lines that may be anything.
    Lines,
}

/// Changed lines that were counted and not kept, because the diff is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beyond {
    pub added: usize,
    pub removed: usize,
}

impl Beyond {
    fn count(&mut self, kind: LineKind) {
        match kind {
            LineKind::Added => self.added += 1,
            LineKind::Removed => self.removed += 1,
            LineKind::Context => {}
        }
    }
}

impl std::ops::AddAssign for Beyond {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff {
    /// The path at the head, or the old one of a removed file.
    pub path: String,
    pub previous_path: Option<String>,
    pub status: FileStatus,
    /// Has content that cannot be shown as lines.
    pub binary: bool,
    pub hunks: Vec<Hunk>,
    /// The changed lines of a file that is too large for its hunks to be kept.
    pub beyond: Beyond,
    pub objects: Objects,
    pub hidden: Hidden,
}

/// The maximum number of ranges that a sentence about commentable lines names before it only counts the rest.
const RANGES_SHOWN: usize = 40;

impl DiffLine {
    /// The number of lines by which it moves the lines after it.
    fn shift(&self) -> i64 {
        match self.kind {
            LineKind::Added => 1,
            LineKind::Removed => -1,
            LineKind::Context => 0,
        }
    }

    /// The number on the side where a comment on this line hangs: context lines belong to the head.
    fn commentable_on(&self, side: Side) -> Option<u32> {
        match (side, self.kind) {
            (Side::Right, LineKind::Added | LineKind::Context) => self.new,
            (Side::Left, LineKind::Removed) => self.old,
            _ => None,
        }
    }
}

impl Hunk {
    /// Its first line in the old version; `None` where that has no such lines.
    #[must_use]
    pub(crate) fn begins(&self) -> Option<u32> {
        self.lines.iter().find_map(|line| line.old)
    }
}

impl FileDiff {
    /// Hunks of one file from the text that follows its header, or from GitHub's `patch` field.
    pub fn parse_hunks(patch: impl AsRef<[u8]>) -> Result<Vec<Hunk>, HunkError> {
        Ok(walker::parse(patch.as_ref(), usize::MAX)?.hunks)
    }

    /// Takes the hunks of a patch, as far as there is room for them.
    pub fn take_patch(&mut self, patch: &[u8], room: &mut usize) -> Result<(), HunkError> {
        let walked = walker::parse(patch, FILE_ROOM.min(*room))?;
        *room -= walked.used.min(*room);
        (self.hunks, self.beyond) = (walked.hunks, walked.beyond);
        Ok(())
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.hunks.iter().map(walker::size).sum()
    }

    /// True if its changed lines are there.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.beyond == Beyond::default()
    }

    /// Lines that take a comment on a side, as ranges that never cross a hunk.
    #[must_use]
    pub fn commentable(&self, side: Side) -> Vec<RangeInclusive<u32>> {
        self.hunks
            .iter()
            .flat_map(|hunk| ranges(hunk, side))
            .collect()
    }

    #[must_use]
    pub fn is_commentable(&self, side: Side, line: u32) -> bool {
        self.numbers(side).any(|number| number == line)
    }

    /// For people and the model: `10-24, 40-52 (removed: 7-9)`.
    #[must_use]
    pub fn describe_commentable(&self) -> String {
        let head = list(&self.commentable(Side::Right));
        let removed = list(&self.commentable(Side::Left));
        match (head.is_empty(), removed.is_empty()) {
            (true, true) => "no line".to_owned(),
            (true, false) => format!("no line of the head (removed: {removed})"),
            (false, true) => head,
            (false, false) => format!("{head} (removed: {removed})"),
        }
    }

    /// True if it is a regular file, or was one that is gone, and stays what it was.
    #[must_use]
    pub(crate) fn is_plain_file(&self) -> bool {
        let special = [Objects::SYMLINK, Objects::SUBMODULE];
        self.objects.changed_mode().is_none() && !special.contains(&self.objects.new_mode)
    }

    /// True if it moves a submodule to another commit, and does nothing else.
    #[must_use]
    pub(crate) fn is_submodule_bump(&self) -> bool {
        let modes = [self.objects.old_mode, self.objects.new_mode];
        modes == [Objects::SUBMODULE; 2] && self.previous_path.is_none()
    }

    /// True if both do the same kind of thing to the same file: same names, status and modes.
    #[must_use]
    pub(crate) fn is_of_a_kind_with(&self, other: &Self) -> bool {
        let modes = |diff: &Self| (diff.objects.old_mode, diff.objects.new_mode);
        self.path == other.path
            && self.previous_path == other.previous_path
            && self.status == other.status
            && modes(self) == modes(other)
            && self.binary == other.binary
    }

    /// Maps a line of the old version to the new one; a removed line maps to where it would stand.
    #[must_use]
    pub fn moved(&self, old_line: u32) -> u32 {
        let moved = self.moved_each(std::iter::once(old_line));
        moved.first().copied().unwrap_or(old_line)
    }

    /// The same for lines in ascending order, in one pass over the diff.
    #[must_use]
    pub(crate) fn moved_each(&self, old_lines: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut lines = self.hunks.iter().flat_map(|hunk| &hunk.lines).peekable();
        let mut shift = 0;
        let mut moved = Vec::new();
        let mut last_old = 0;
        for old_line in old_lines {
            // All that stands before the line.
            while let Some(line) = lines.next_if(|line| line.old.unwrap_or(last_old) < old_line) {
                last_old = line.old.unwrap_or(last_old);
                shift += line.shift();
            }
            // What was put in the place of the line, where it is gone.
            let mut place = i64::from(old_line) + shift;
            let replaced = lines
                .clone()
                .take_while(|line| line.kind != LineKind::Context);
            for line in replaced.filter(|line| line.kind == LineKind::Added) {
                place += i64::from(line.new.is_some_and(|new| i64::from(new) <= place));
            }
            moved.push(u32::try_from(place.max(1)).unwrap_or(old_line));
        }
        moved
    }

    #[must_use]
    pub fn additions(&self) -> usize {
        self.count(LineKind::Added) + self.beyond.added
    }

    #[must_use]
    pub fn deletions(&self) -> usize {
        self.count(LineKind::Removed) + self.beyond.removed
    }

    /// The commentable line nearest to one that is not, on the same side while that side has any.
    #[must_use]
    pub fn nearest(&self, side: Side, line: u32) -> Option<Anchor> {
        self.nearest_where(side, line, |_| true)
    }

    /// The same for a line that should take a comment, and does not.
    #[must_use]
    pub fn nearest_other(&self, side: Side, line: u32) -> Option<Anchor> {
        self.nearest_where(side, line, |other| other != line)
    }

    fn nearest_where(&self, side: Side, line: u32, may_be: impl Fn(u32) -> bool) -> Option<Anchor> {
        let other = match side {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        };
        [side, other].into_iter().find_map(|side| {
            let others = self.numbers(side).filter(|other| may_be(*other));
            let line = others.min_by_key(|other| other.abs_diff(line))?;
            Some(Anchor::Line {
                side,
                start: None,
                line,
            })
        })
    }

    fn numbers(&self, side: Side) -> impl Iterator<Item = u32> {
        self.hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter_map(move |line| line.commentable_on(side))
    }

    fn count(&self, kind: LineKind) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.kind == kind).count()
    }
}

fn ranges(hunk: &Hunk, side: Side) -> Vec<RangeInclusive<u32>> {
    let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
    for number in hunk.lines.iter().filter_map(|l| l.commentable_on(side)) {
        match ranges.last_mut() {
            Some(last) if last.end().checked_add(1) == Some(number) => {
                *last = *last.start()..=number;
            }
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

fn list(ranges: &[RangeInclusive<u32>]) -> String {
    let mut shown: Vec<String> = ranges.iter().take(RANGES_SHOWN).map(span).collect();
    if ranges.len() > RANGES_SHOWN {
        shown.push(format!("and {} more", ranges.len() - RANGES_SHOWN));
    }
    shown.join(", ")
}

fn span(range: &RangeInclusive<u32>) -> String {
    if range.start() == range.end() {
        range.start().to_string()
    } else {
        format!("{}-{}", range.start(), range.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A modified file with this patch.
    pub(super) fn file(patch: &str) -> FileDiff {
        FileDiff {
            path: "src/a.ts".to_owned(),
            hunks: FileDiff::parse_hunks(patch).unwrap(),
            ..FileDiff::default()
        }
    }

    const TWO_HUNKS: &str = "@@ -6,4 +6,5 @@ fn one()\n a\n-b\n-c\n+B\n+C\n+D\n e\n\
                             @@ -30 +31 @@\n-old\n+new\n";

    #[test]
    fn a_developer_sees_where_a_comment_may_stand() {
        let file = file(TWO_HUNKS);
        assert_eq!(file.commentable(Side::Right), [6..=10, 31..=31]);
        assert_eq!(file.commentable(Side::Left), [7..=8, 30..=30]);
        assert_eq!(file.describe_commentable(), "6-10, 31 (removed: 7-8, 30)");
        assert_eq!((file.additions(), file.deletions()), (4, 3));
    }

    #[test]
    fn context_takes_comments_at_the_head_only() {
        let file = file(TWO_HUNKS);
        assert!(file.is_commentable(Side::Right, 6));
        assert!(!file.is_commentable(Side::Left, 6));
        assert!(!file.is_commentable(Side::Right, 11));
    }

    #[test]
    fn hunks_that_touch_stay_apart_because_a_range_may_not_cross_them() {
        let file = file("@@ -1 +1 @@\n-a\n+b\n@@ -2 +2 @@\n-c\n+d\n");
        assert_eq!(file.commentable(Side::Right), [1..=1, 2..=2]);
    }

    #[test]
    fn lines_that_were_removed_apart_are_named_apart() {
        let file = file("@@ -1,4 +1,2 @@\n-a\n b\n-c\n d\n");
        assert_eq!(file.commentable(Side::Left), [1..=1, 3..=3]);
        assert_eq!(file.describe_commentable(), "1-2 (removed: 1, 3)");
    }

    #[test]
    fn a_comment_beside_the_diff_moves_to_the_nearest_line() {
        let at = |side, line| {
            Some(Anchor::Line {
                side,
                start: None,
                line,
            })
        };
        let changed = file(TWO_HUNKS);
        assert_eq!(changed.nearest(Side::Right, 1), at(Side::Right, 6));
        assert_eq!(changed.nearest(Side::Right, 22), at(Side::Right, 31));
        assert_eq!(changed.nearest(Side::Left, 20), at(Side::Left, 30));
        let deleted = file("@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(deleted.nearest(Side::Right, 2), at(Side::Left, 2));
        assert_eq!(deleted.nearest_other(Side::Left, 2), at(Side::Left, 1));
        assert_eq!(
            deleted.describe_commentable(),
            "no line of the head (removed: 1-2)"
        );
        assert_eq!(file("").nearest(Side::Right, 1), None);
    }

    /// Maps one line by the definition: looks at every line of the diff.
    fn moved_slowly(file: &FileDiff, old_line: u32) -> u32 {
        let mut moved = i64::from(old_line);
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            match line.kind {
                LineKind::Removed if line.old.is_some_and(|old| old < old_line) => moved -= 1,
                LineKind::Added if line.new.is_some_and(|new| i64::from(new) <= moved) => {
                    moved += 1;
                }
                _ => {}
            }
        }
        u32::try_from(moved.max(1)).unwrap_or(old_line)
    }

    #[test]
    fn lines_move_in_one_pass_as_they_do_one_by_one() {
        for patch in [
            TWO_HUNKS,
            "@@ -0,0 +1,3 @@\n+a\n+b\n+c\n",
            "@@ -1,3 +0,0 @@\n-a\n-b\n-c\n",
            "@@ -1,4 +1,5 @@\n+x\n+y\n a\n-b\n c\n d\n@@ -9,5 +10,4 @@\n a\n-b\n-c\n+z\n d\n e\n",
            "@@ -2,6 +2,6 @@\n a\n-b\n-c\n-d\n+x\n+y\n+z\n e\n f\n@@ -40,2 +40,3 @@\n a\n b\n+c\n",
            "",
        ] {
            let file = file(patch);
            let slowly: Vec<u32> = (1..60).map(|line| moved_slowly(&file, line)).collect();
            assert_eq!(file.moved_each(1..60), slowly, "{patch}");
            let singly: Vec<u32> = (1..60).map(|line| file.moved(line)).collect();
            assert_eq!(singly, slowly, "{patch}");
        }
    }

    #[test]
    fn many_hunks_are_counted_rather_than_listed() {
        use std::fmt::Write as _;
        let mut patch = String::new();
        for n in 0..50 {
            writeln!(patch, "@@ -{0} +{0} @@\n-a\n+b", n * 10 + 1).unwrap();
        }
        assert!(
            file(&patch)
                .describe_commentable()
                .contains("391, and 10 more")
        );
    }
}
