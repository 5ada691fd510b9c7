//! The new part of a change since it was reviewed: a push is not a reason to read everything again. Pure; both sides
//! are diffs against their own merge base, so that a rebase by itself is nothing new.

use crate::domain::{CommitSha, FileDiff, Hunk};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

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

/// Maps the lines of one merge base to another: the same words at another place are another change. The default: there
/// is one merge base.
#[derive(Debug, Default)]
pub struct Moves(Option<HashMap<String, FileDiff>>);

impl Moves {
    /// From what has changed between two merge bases.
    #[must_use]
    pub fn new(between: Vec<FileDiff>) -> Self {
        let by_path = |diff: FileDiff| {
            let path = diff.previous_path.clone();
            (path.unwrap_or_else(|| diff.path.clone()), diff)
        };
        Self(Some(between.into_iter().map(by_path).collect()))
    }

    /// The hunks of a diff from then by their bytes and the place where they begin now; `None` where the move of the file's
    /// lines is not known whole.
    fn places(&self, then: &FileDiff) -> Option<Vec<HunkPlace>> {
        let path = then.previous_path.as_ref().unwrap_or(&then.path);
        let begins = then.hunks.iter().filter_map(Hunk::begins);
        let begins = match self.0.as_ref().and_then(|moves| moves.get(path)) {
            Some(diff) if !diff.is_whole() => return None,
            Some(diff) => diff.moved_each(begins),
            None => begins.collect(),
        };
        let mut begins = begins.into_iter();
        let place = |hunk: &Hunk| {
            let begins = hunk.begins().and_then(|_| begins.next());
            (begins, hunk.digest)
        };
        Some(then.hunks.iter().map(place).collect())
    }

    /// True if a file changes as it did then: by its objects where both changes have one merge base, else by its modes
    /// and the bytes of its hunks, or the new object where there are none.
    fn is_known(&self, then: &FileDiff, now: &FileDiff) -> bool {
        if !then.is_of_a_kind_with(now) {
            return false;
        }
        if self.0.is_none() {
            return then.objects == now.objects;
        }
        if !then.is_whole() || !now.is_whole() {
            return false;
        }
        if now.hunks.is_empty() {
            return then.hunks.is_empty() && then.objects.new_id == now.objects.new_id;
        }
        let places = now.hunks.iter().map(place);
        self.places(then)
            .is_some_and(|then| then.into_iter().eq(places))
    }
}

/// The first line of a hunk in the old version, and the hash of its bytes: the same bytes at the same place are the
/// same change.
type HunkPlace = (Option<u32>, [u8; 32]);

fn place(hunk: &Hunk) -> HunkPlace {
    (hunk.begins(), hunk.digest)
}

impl Since {
    #[must_use]
    pub fn compare(head: CommitSha, before: &[FileDiff], now: &[FileDiff], moves: &Moves) -> Self {
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

    /// True if the change is the one that was reviewed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts().0 == 0 && self.taken_back.is_empty()
    }

    /// True if nothing is new in a file, or it does not have to be shown at all.
    #[must_use]
    pub fn is_known(&self, diff: &FileDiff) -> bool {
        !matches!(self.files.get(&diff.path), Some(News::Hunks(_) | News::All))
    }

    /// The new part of a file's diff; the whole diff where all of it is new.
    #[must_use]
    pub fn new_in<'d>(&'d self, diff: &'d FileDiff) -> Cow<'d, FileDiff> {
        match self.files.get(&diff.path) {
            Some(News::Hunks(hunks)) => Cow::Borrowed(hunks),
            Some(News::Nothing | News::All) | None => Cow::Borrowed(diff),
        }
    }

    /// The numbers of files with and without new parts.
    #[must_use]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let known = self.files.values();
        let known = known.filter(|news| matches!(news, News::Nothing)).count();
        (self.files.len() - known, known)
    }
}

fn news(then: &FileDiff, now: &FileDiff, moves: &Moves) -> News {
    if moves.is_known(then, now) {
        return News::Nothing;
    }
    let known: HashSet<HunkPlace> = moves.places(then).into_iter().flatten().collect();
    let is_new = |hunk: &&Hunk| !known.contains(&place(hunk));
    let hunks: Vec<Hunk> = now.hunks.iter().filter(is_new).cloned().collect();
    if !then.is_of_a_kind_with(now) || hunks.is_empty() || !now.is_whole() {
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
    use crate::domain::diff::Beyond;
    use crate::domain::{FileStatus, Objects};

    fn diff(path: &str, hunks: &str) -> FileDiff {
        FileDiff {
            path: path.into(),
            hunks: FileDiff::parse_hunks(hunks).unwrap(),
            ..FileDiff::default()
        }
    }

    const FIRST: &str = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    const SECOND: &str = "@@ -40,1 +40,2 @@\n d\n+e\n";
    /// The first one further down.
    const MOVED: &str = "@@ -11,2 +11,2 @@ fn x()\n-a\n+b\n c\n";
    /// Lines that the base branch may have got above it.
    const TEN_LINES: &str = "@@ -0,0 +1,10 @@\n+1\n+2\n+3\n+4\n+5\n+6\n+7\n+8\n+9\n+10\n";

    fn since_with(before: &[FileDiff], now: &[FileDiff], moves: &Moves) -> Since {
        Since::compare("a".repeat(40).parse().unwrap(), before, now, moves)
    }

    fn since(before: &[FileDiff], now: &[FileDiff]) -> Since {
        since_with(before, now, &Moves::new(vec![diff("same", TEN_LINES)]))
    }

    fn with_objects(diff: &FileDiff, modes: [u32; 2], ids: [&str; 2]) -> FileDiff {
        FileDiff {
            objects: Objects {
                old_mode: modes[0],
                new_mode: modes[1],
                old_id: ids[0].into(),
                new_id: ids[1].into(),
            },
            ..diff.clone()
        }
    }

    #[test]
    fn with_one_merge_base_only_the_same_objects_are_the_same_change() {
        let plain = [0o100_644; 2];
        let then = with_objects(&diff("x", FIRST), plain, ["1", "2"]);
        let is_same = |now: FileDiff| {
            since_with(std::slice::from_ref(&then), &[now], &Moves::default()).is_empty()
        };
        assert!(is_same(then.clone()));
        assert!(
            !is_same(with_objects(&then, plain, ["1", "3"])),
            "masked content"
        );
        assert!(!is_same(with_objects(
            &then,
            [0o100_644, 0o100_755],
            ["1", "2"]
        )));
    }

    #[test]
    fn with_another_merge_base_modes_and_bytes_or_the_new_object_decide() {
        let plain = [0o100_644; 2];
        let moved = Moves::new(vec![]);
        let is_same = |then: &FileDiff, now: &FileDiff| {
            since_with(
                std::slice::from_ref(then),
                std::slice::from_ref(now),
                &moved,
            )
            .is_empty()
        };
        let text = with_objects(&diff("x", FIRST), plain, ["1", "2"]);
        assert!(is_same(&text, &with_objects(&text, plain, ["8", "9"])));
        assert!(!is_same(
            &text,
            &with_objects(&text, [0o100_644, Objects::SYMLINK], ["1", "2"])
        ));
        let image = FileDiff {
            binary: true,
            ..with_objects(&diff("y", ""), plain, ["1", "2"])
        };
        assert!(is_same(&image, &with_objects(&image, plain, ["8", "2"])));
        assert!(!is_same(&image, &with_objects(&image, plain, ["1", "9"])));
    }

    #[test]
    fn the_same_words_at_another_place_are_another_change() {
        let (before, now) = ([diff("x", FIRST)], [diff("x", MOVED)]);
        let elsewhere = Moves::new(vec![]);
        assert!(!since_with(&before, &now, &elsewhere).is_empty());
        let since = since(&before, &now);
        assert!(!since.is_known(&now[0]));
        assert_eq!(*since.new_in(&now[0]), now[0]);
        let rebased = Moves::new(vec![diff("x", TEN_LINES)]);
        assert!(since_with(&before, &now, &rebased).is_empty());
        assert!(!since_with(&before, &before, &rebased).is_empty());
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
    fn a_file_of_which_lines_are_missing_is_not_known_and_moves_nothing() {
        let beyond = Beyond {
            added: 9,
            removed: 0,
        };
        let cut = |diff: FileDiff| FileDiff { beyond, ..diff };
        let (whole, now) = ([diff("x", FIRST)], [cut(diff("x", FIRST))]);
        assert!(since(&whole, &whole).is_empty());
        assert!(!since(&whole, &now).is_empty());
        assert!(!since(&now, &whole).is_empty());
        let moves = Moves::new(vec![cut(diff("x", TEN_LINES))]);
        assert!(!since_with(&whole, &[diff("x", MOVED)], &moves).is_empty());
    }

    #[test]
    fn another_kind_of_change_is_new_as_a_whole() {
        let renamed = FileDiff {
            status: FileStatus::Renamed,
            previous_path: Some("old".into()),
            ..diff("x", FIRST)
        };
        let before = [diff("x", FIRST)];
        let since = since(&before, &[renamed]);
        assert_eq!(since.counts(), (1, 0));
    }
}
