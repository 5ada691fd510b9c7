//! A change cut into parts, each short enough for one prompt. The first part stands in the first prompt of a review, every
//! other one in a turn of its own in pass 1: a line that stood in no prompt was not reviewed. Pure.

use super::risk;
use crate::domain::{DiffLine, FileDiff, Hunk};
use reviewer_text::hidden::visible;
use std::borrow::Borrow;

/// The size of the diffs in the first prompt, in bytes; three or four are about a token.
const FIRST: usize = 160_000;
/// The size of each further part.
pub(super) const FURTHER: usize = 120_000;

/// The number of bytes of diffs that a model with this context can be shown: half of it, at three bytes a token. The
/// other half is for what it reads, says and is asked besides.
#[must_use]
pub fn room(context: u64) -> usize {
    usize::try_from(context / 2 * 3).unwrap_or(usize::MAX)
}

/// A change as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// Numbered diffs, at least one text.
    pub texts: Vec<String>,
    /// Paths of the files that there is no room for.
    pub beyond: Vec<String>,
}

/// True if diffs need more than the first prompt.
#[must_use]
pub fn is_large<D: Borrow<FileDiff>>(diffs: &[D]) -> bool {
    let weights = diffs.iter().map(|diff| risk::weight(diff.borrow()));
    weights.sum::<usize>() > FIRST
}

/// Cuts diffs into parts. Where there is not room for all, the riskiest files are shown.
#[must_use]
pub fn cut<D: Borrow<FileDiff>>(diffs: &[D], room: usize) -> Parts {
    let diffs: Vec<&FileDiff> = diffs.iter().map(Borrow::borrow).collect();
    let fitting = |weights: Vec<usize>, room: usize| {
        let paths = diffs.iter().map(|diff| diff.path.as_str());
        risk::fitting(paths.zip(weights), room)
    };
    // One text at a time: those that do not fit may be large.
    let weights: Vec<usize> = diffs.iter().map(|diff| diff.numbered().len()).collect();
    let fits = fitting(weights.clone(), room);
    // What does not fit at all is too large for the first part, too.
    let of_fitting = weights.iter().zip(&fits);
    let of_fitting = of_fitting.map(|(weight, fits)| if *fits { *weight } else { usize::MAX });
    let first = fitting(of_fitting.collect(), FIRST);
    let mut parts = Parts {
        texts: vec![String::new()],
        beyond: Vec::new(),
    };
    let mut pieces = Vec::new();
    for at in risk::order(diffs.iter().map(|diff| diff.path.as_str())) {
        if fits[at] && first[at] {
            continue;
        }
        let cut = fits[at].then(|| pieces_of(diffs[at])).flatten();
        match cut {
            Some(cut) => pieces.extend(cut),
            None => parts.beyond.push(diffs[at].path.clone()),
        }
    }
    let inline = (0..diffs.len()).filter(|at| first[*at]);
    parts.texts[0] = inline
        .map(|at| diffs[at].numbered())
        .collect::<Vec<_>>()
        .join("\n");
    parts.add(pieces);
    parts
}

impl Parts {
    /// Fills further parts with pieces, in their order.
    fn add(&mut self, pieces: Vec<String>) {
        let mut part = String::new();
        for piece in pieces {
            if !part.is_empty() && part.len() + piece.len() > FURTHER {
                self.texts.push(std::mem::take(&mut part));
            }
            part.push_str(&piece);
            part.push('\n');
        }
        if !part.is_empty() {
            self.texts.push(part);
        }
    }
}

/// A file's diff in pieces that each fit a part; `None` where a single line does not.
fn pieces_of(diff: &FileDiff) -> Option<Vec<String>> {
    let whole = diff.numbered();
    if whole.len() <= FURTHER {
        return Some(vec![whole]);
    }
    let cut = split(diff, FURTHER)?;
    let count = cut.len();
    let pieces = cut.into_iter().enumerate().map(|(at, piece)| {
        format!(
            "# Piece {} of {count} of this file's diff\n{}",
            at + 1,
            piece.numbered()
        )
    });
    Some(pieces.collect())
}

/// A file's diff as diffs of some of its lines, each of at most so many bytes with its numbers; `None` where a single line is
/// longer.
pub(super) fn split(diff: &FileDiff, most: usize) -> Option<Vec<FileDiff>> {
    // Names, beside the lines.
    let names = 2_000 + 2 * visible(&diff.path).len().min(20_000);
    let most = most.saturating_sub(names);
    let (mut cut, mut hunks, mut size): (Vec<Vec<Hunk>>, Vec<Hunk>, usize) = Default::default();
    for hunk in &diff.hunks {
        hunks.push(beginning(hunk));
        for line in &hunk.lines {
            let weight = weight(line);
            if weight > most {
                return None;
            }
            if size + weight > most {
                cut.push(std::mem::replace(&mut hunks, vec![beginning(hunk)]));
                size = 0;
            }
            size += weight;
            if let Some(hunk) = hunks.last_mut() {
                hunk.lines.push(line.clone());
            }
        }
    }
    cut.push(hunks);
    let bare = FileDiff {
        hunks: Vec::new(),
        ..diff.clone()
    };
    let pieces = cut.into_iter().map(|hunks| FileDiff {
        hunks,
        ..bare.clone()
    });
    Some(pieces.collect())
}

/// A hunk without its lines.
fn beginning(hunk: &Hunk) -> Hunk {
    Hunk {
        section: hunk.section.clone(),
        lines: Vec::new(),
        digest: hunk.digest,
    }
}

/// The size of a line, with its number.
fn weight(line: &DiffLine) -> usize {
    visible(&line.text).len() + 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn diff(path: &str, lines: usize) -> FileDiff {
        let mut hunk = format!("@@ -0,0 +1,{lines} @@\n");
        for line in 0..lines {
            let _ = writeln!(
                hunk,
                "+export const value{line} = load(\"{path}\", {line});"
            );
        }
        FileDiff {
            path: path.into(),
            hunks: FileDiff::parse_hunks(hunk).unwrap(),
            ..FileDiff::default()
        }
    }

    fn holds(parts: &Parts, diff: &FileDiff) -> bool {
        let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        let all = parts.texts.concat();
        lines
            .into_iter()
            .all(|line| all.contains(line.text.as_str()))
    }

    #[test]
    fn a_small_change_is_one_part_in_the_order_of_the_change() {
        let diffs = [diff("z.md", 10), diff("login.ts", 10)];
        let parts = cut(&diffs, room(200_000));
        let expected = format!("{}\n{}", diffs[0].numbered(), diffs[1].numbered());
        assert_eq!(parts.texts, [expected]);
        assert!(parts.beyond.is_empty() && !is_large(&diffs));
    }

    #[test]
    fn every_line_of_a_large_change_stands_in_some_part() {
        let mut diffs: Vec<FileDiff> = (0..20).map(|n| diff(&format!("src/{n}.ts"), 300)).collect();
        diffs.push(diff("src/huge.ts", 9_000));
        let parts = cut(&diffs, room(1_000_000));
        assert!(
            is_large(&diffs) && parts.texts.len() > 4,
            "{}",
            parts.texts.len()
        );
        assert!(parts.beyond.is_empty());
        assert!(diffs.iter().all(|diff| holds(&parts, diff)));
        assert!(parts.texts[0].len() <= FIRST);
        assert!(
            parts.texts[1..]
                .iter()
                .all(|text| text.len() <= FURTHER + 1)
        );
        assert!(parts.texts.concat().contains("# Piece 2 of "));
    }

    #[test]
    fn removals_are_shown_in_parts_as_well() {
        let lines = 6_000;
        let mut patch = format!("@@ -1,{lines} +0,0 @@\n");
        for line in 0..lines {
            let _ = writeln!(
                patch,
                "-checkPassword({line}); // it is not called any more"
            );
        }
        let removed = FileDiff {
            path: "src/auth.ts".into(),
            hunks: FileDiff::parse_hunks(patch).unwrap(),
            ..FileDiff::default()
        };
        let parts = cut(std::slice::from_ref(&removed), room(1_000_000));
        assert!(parts.texts.len() > 2 && holds(&parts, &removed));
    }

    #[test]
    fn what_there_is_no_room_for_is_named_and_the_riskiest_is_shown() {
        let diffs = [
            diff("docs/a.md", 3_000),
            diff("src/login.ts", 3_000),
            diff("src/b.ts", 3_000),
        ];
        let parts = cut(&diffs, 400_000);
        assert_eq!(parts.beyond, ["docs/a.md"]);
        assert!(holds(&parts, &diffs[1]) && holds(&parts, &diffs[2]));
        let none = cut(&diffs, 10);
        assert_eq!((none.texts, none.beyond.len()), (vec![String::new()], 3));
    }

    #[test]
    fn a_line_that_no_prompt_holds_leaves_its_file_out() {
        let patch = format!("@@ -0,0 +1 @@\n+{}\n", "x".repeat(FURTHER * 2));
        let minified = FileDiff {
            path: "app.js".into(),
            hunks: FileDiff::parse_hunks(patch).unwrap(),
            ..FileDiff::default()
        };
        assert_eq!(cut(&[minified], room(1_000_000)).beyond, ["app.js"]);
    }
}
