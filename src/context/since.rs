//! What is new in a change since it was reviewed: a push is not a reason to read everything again. Pure; both sides are
//! diffs against their own merge base, so that a rebase by itself is nothing new.

use crate::domain::{CommitSha, FileDiff, Hunk};
use std::borrow::Cow;
use std::collections::HashMap;

/// The change now, held against the change that was reviewed.
#[derive(Debug, Clone)]
pub struct Since {
    /// The head that was reviewed.
    pub head: CommitSha,
    files: HashMap<String, News>,
    /// Files that the change touched then, and does not any more.
    pub taken_back: Vec<String>,
}

#[derive(Debug, Clone)]
enum News {
    /// The same change as then.
    Nothing,
    /// These hunks.
    Hunks(FileDiff),
    All,
}

/// Where the lines of one merge base stand in another: the same words at another place are another change.
#[derive(Debug, Default)]
pub struct Moves(HashMap<String, FileDiff>);

impl Moves {
    /// From what has changed between the two; nothing, where they are one.
    #[must_use]
    pub fn of(between: Vec<FileDiff>) -> Self {
        let by_path = |diff: FileDiff| {
            let path = diff.previous_path.clone();
            (path.unwrap_or_else(|| diff.path.clone()), diff)
        };
        Self(between.into_iter().map(by_path).collect())
    }

    fn line(&self, path: &str, line: u32) -> u32 {
        self.0.get(path).map_or(line, |diff| diff.moved(line))
    }

    /// Whether a hunk of then is one of now: the same words at the same place.
    fn is_same(&self, then: &FileDiff, hunk: &Hunk, now: &Hunk) -> bool {
        let path = then.previous_path.as_ref().unwrap_or(&then.path);
        let begins = hunk.begins().map(|line| self.line(path, line));
        begins == now.begins() && hunk.is_same_change(now)
    }

    /// Whether a file changes as it did then.
    fn is_known(&self, then: &FileDiff, now: &FileDiff) -> bool {
        let mut pairs = then.hunks.iter().zip(&now.hunks);
        then.is_of_a_kind_with(now)
            && then.hunks.len() == now.hunks.len()
            && pairs.all(|(old, new)| self.is_same(then, old, new))
    }

    /// Whether two changes are one and the same.
    #[must_use]
    pub fn is_same_change(&self, before: &[FileDiff], now: &[FileDiff]) -> bool {
        let mut pairs = before.iter().zip(now);
        before.len() == now.len() && pairs.all(|(then, now)| self.is_known(then, now))
    }
}

impl Since {
    #[must_use]
    pub fn of(head: CommitSha, before: &[FileDiff], now: &[FileDiff], moves: &Moves) -> Self {
        let then: HashMap<&str, &FileDiff> = before
            .iter()
            .map(|diff| (diff.path.as_str(), diff))
            .collect();
        let news = |diff: &FileDiff| match then.get(diff.path.as_str()) {
            Some(then) => news(then, diff, moves),
            None => News::All,
        };
        let files: HashMap<String, News> = now
            .iter()
            .map(|diff| (diff.path.clone(), news(diff)))
            .collect();
        let gone = before.iter().filter(|diff| !files.contains_key(&diff.path));
        let taken_back = gone.map(|diff| diff.path.clone()).collect();
        Self {
            head,
            files,
            taken_back,
        }
    }

    /// Whether nothing is new in a file.
    #[must_use]
    pub fn is_known(&self, diff: &FileDiff) -> bool {
        matches!(self.files.get(&diff.path), Some(News::Nothing))
    }

    /// What is new in a file; the whole diff where all of it is.
    #[must_use]
    pub fn new_in<'d>(&'d self, diff: &'d FileDiff) -> Cow<'d, FileDiff> {
        match self.files.get(&diff.path) {
            Some(News::Hunks(hunks)) => Cow::Borrowed(hunks),
            Some(News::Nothing | News::All) | None => Cow::Borrowed(diff),
        }
    }

    /// How many files have news, and how many have none.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let known = self.files.values();
        let known = known.filter(|news| matches!(news, News::Nothing)).count();
        (self.files.len() - known, known)
    }
}

fn news(then: &FileDiff, now: &FileDiff, moves: &Moves) -> News {
    if moves.is_known(then, now) {
        return News::Nothing;
    }
    let is_known = |new: &Hunk| then.hunks.iter().any(|old| moves.is_same(then, old, new));
    let is_new = |hunk: &&Hunk| !is_known(hunk);
    let hunks: Vec<Hunk> = now.hunks.iter().filter(is_new).cloned().collect();
    if !then.is_of_a_kind_with(now) || hunks.is_empty() {
        // What is left may not do without what was taken back.
        return News::All;
    }
    News::Hunks(FileDiff {
        hunks,
        ..now.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FileStatus;

    fn diff(path: &str, hunks: &str) -> FileDiff {
        FileDiff {
            path: path.into(),
            previous_path: None,
            status: FileStatus::Modified,
            binary: false,
            hunks: FileDiff::parse_hunks(hunks).unwrap(),
        }
    }

    const FIRST: &str = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    const SECOND: &str = "@@ -40,1 +40,2 @@\n d\n+e\n";
    /// The first one further down.
    const MOVED: &str = "@@ -11,2 +11,2 @@ fn x()\n-a\n+b\n c\n";
    /// What the base branch may have got above it.
    const TEN_LINES: &str = "@@ -0,0 +1,10 @@\n+1\n+2\n+3\n+4\n+5\n+6\n+7\n+8\n+9\n+10\n";

    fn since(before: &[FileDiff], now: &[FileDiff]) -> Since {
        let base = Moves::of(vec![diff("same", TEN_LINES)]);
        Since::of("a".repeat(40).parse().unwrap(), before, now, &base)
    }

    #[test]
    fn the_same_words_at_another_place_are_another_change() {
        let (before, now) = ([diff("x", FIRST)], [diff("x", MOVED)]);
        let one_base = Moves::default();
        assert!(!one_base.is_same_change(&before, &now));
        assert!(one_base.is_same_change(&before, &before));
        let since = since(&before, &now);
        assert!(!since.is_known(&now[0]));
        assert_eq!(*since.new_in(&now[0]), now[0]);
        let rebased = Moves::of(vec![diff("x", TEN_LINES)]);
        assert!(rebased.is_same_change(&before, &now));
        assert!(!rebased.is_same_change(&before, &before));
    }

    #[test]
    fn only_what_is_new_is_shown() {
        let before = [
            diff("same", FIRST),
            diff("more", FIRST),
            diff("back", FIRST),
        ];
        let now = [
            diff("same", MOVED),
            diff("more", &format!("{FIRST}{SECOND}")),
            diff("added", SECOND),
        ];
        let since = since(&before, &now);
        assert!(since.is_known(&now[0]));
        assert_eq!(since.new_in(&now[1]).hunks, now[1].hunks[1..]);
        assert_eq!(*since.new_in(&now[2]), now[2]);
        assert_eq!(since.taken_back, ["back"]);
        assert_eq!(since.counts(), (2, 1));
    }

    #[test]
    fn a_file_of_which_a_part_was_taken_back_is_read_whole() {
        let before = [diff("x", &format!("{FIRST}{SECOND}"))];
        let now = [diff("x", FIRST)];
        let since = since(&before, &now);
        assert!(!since.is_known(&now[0]));
        assert_eq!(*since.new_in(&now[0]), now[0]);
    }

    #[test]
    fn another_kind_of_change_is_new_as_a_whole() {
        let renamed = FileDiff {
            status: FileStatus::Renamed,
            previous_path: Some("old".into()),
            ..diff("x", FIRST)
        };
        let binary = FileDiff {
            binary: true,
            hunks: Vec::new(),
            ..diff("y", FIRST)
        };
        let before = [diff("x", FIRST), binary.clone()];
        let now = [renamed, binary];
        let since = since(&before, &now);
        assert_eq!(
            since.counts(),
            (2, 0),
            "what a binary file holds nobody can tell"
        );
    }
}
