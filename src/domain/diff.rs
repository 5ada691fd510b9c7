//! The merge-base diff as data: which lines changed, how they are numbered, and where GitHub accepts a
//! comment. Anchors are judged here, before anything is sent.

/// Which version of a file a line number counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The merge base: removed lines only.
    Left,
    /// The head: added and context lines.
    Right,
}

/// Where a comment hangs.
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
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// What follows the second `@@`: the enclosing function, usually.
    pub section: String,
    pub lines: Vec<DiffLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileStatus {
    Added,
    Modified,
    Removed,
    Renamed,
    /// Mode or type changed.
    Changed,
}

/// What changed in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path at the head, or the old one of a removed file.
    pub path: String,
    pub previous_path: Option<String>,
    pub status: FileStatus,
    pub binary: bool,
    pub hunks: Vec<Hunk>,
}
