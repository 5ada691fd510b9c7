//! A change divided into sections: each is what one session can be shown whole. Every file that can be shown is in exactly
//! one section, and one that no session holds is in several, every line in exactly one. The same change gives the same
//! sections, the riskiest first: if time or money ends early, they have been reviewed. Pure.

use super::parts::{self, FURTHER};
use super::risk;
use crate::domain::{FileDiff, Side};
use std::borrow::{Borrow, Cow};

/// A change divided into sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Division {
    /// In the order in which they are reviewed; none where nothing can be shown.
    pub sections: Vec<Section>,
    /// Paths of files with a line that no prompt holds.
    pub beyond: Vec<String>,
}

/// The share of a change that one session reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// Counted from 1.
    pub number: usize,
    shares: Vec<Share>,
}

/// A file of a section, or a piece of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    /// Its place in the change.
    file: usize,
    /// Counted from 1, and of how many; `None`: the whole diff.
    piece: Option<(usize, usize)>,
}

/// A diff as a section shows it.
#[derive(Debug, Clone)]
pub struct Shown<'a> {
    pub diff: Cow<'a, FileDiff>,
    /// The piece of the file's diff that it is, counted from 1, and of how many.
    pub piece: Option<(usize, usize)>,
}

/// Divides a change. `room`: the bytes of diffs that a session can be shown.
#[must_use]
pub fn divide<D: Borrow<FileDiff>>(diffs: &[D], room: usize) -> Division {
    let mut division = Division::default();
    let mut left = 0;
    let paths = diffs.iter().map(|diff| diff.borrow().path.as_str());
    for file in risk::order(paths) {
        let diff = diffs[file].borrow();
        let Some(shares) = shares(diff, file, room) else {
            division.beyond.push(diff.path.clone());
            continue;
        };
        for (share, weight) in shares {
            match division.sections.last_mut() {
                Some(section) if weight <= left => section.shares.push(share),
                _ => {
                    left = room;
                    division.sections.push(Section {
                        number: division.sections.len() + 1,
                        shares: vec![share],
                    });
                }
            }
            left = left.saturating_sub(weight);
        }
    }
    division
}

impl Division {
    /// The number of the section that shows each of these lines, by path and number in the new file; the first section has those
    /// that none shows.
    #[must_use]
    pub fn sections_of<'a, D: Borrow<FileDiff>>(
        &self,
        diffs: &[D],
        room: usize,
        lines: impl Iterator<Item = (&'a str, u32)>,
    ) -> Vec<usize> {
        let lines: Vec<(&str, u32)> = lines.collect();
        let mut numbers: Vec<Option<usize>> = vec![None; lines.len()];
        for section in self.sections.iter().filter(|_| !lines.is_empty()) {
            let own = section.diffs(diffs, room);
            for ((path, line), number) in lines.iter().zip(&mut numbers) {
                let mut of_file = own.iter().filter(|one| one.diff.path == *path);
                let shows = |one: &Shown<'_>| one.diff.is_commentable(Side::Right, *line);
                if number.is_none() && of_file.any(shows) {
                    *number = Some(section.number);
                }
            }
        }
        let first = self.sections.first().map_or(1, |first| first.number);
        let numbers = numbers.into_iter();
        numbers.map(|number| number.unwrap_or(first)).collect()
    }
}

/// A file whole or in pieces, each with its size; `None` where one of its lines is too long for any prompt.
fn shares(diff: &FileDiff, file: usize, room: usize) -> Option<Vec<(Share, usize)>> {
    let weight = diff.numbered().len();
    let can_be_cut = || weight <= FURTHER || parts::split(diff, FURTHER).is_some();
    if weight <= room {
        let whole = Share { file, piece: None };
        return can_be_cut().then(|| vec![(whole, weight)]);
    }
    let pieces = parts::split(diff, piece(room))?;
    let of = pieces.len();
    let shares = pieces.iter().enumerate().map(|(at, piece)| {
        let share = Share {
            file,
            piece: Some((at + 1, of)),
        };
        (share, piece.numbered().len())
    });
    Some(shares.collect())
}

/// The size of a piece: one prompt, or less where the model takes less.
fn piece(room: usize) -> usize {
    FURTHER.min(room)
}

impl Section {
    /// The diffs of this section, of the change and the room that it was made from.
    #[must_use]
    pub fn diffs<'a, D: Borrow<FileDiff>>(&self, diffs: &'a [D], room: usize) -> Vec<Shown<'a>> {
        let mut split: Option<(usize, Vec<FileDiff>)> = None;
        let shown = self.shares.iter().filter_map(|share| {
            let diff = diffs.get(share.file)?.borrow();
            let Some((number, _)) = share.piece else {
                return Some(Shown {
                    diff: Cow::Borrowed(diff),
                    piece: None,
                });
            };
            if split.as_ref().is_none_or(|(file, _)| *file != share.file) {
                split = Some((share.file, parts::split(diff, piece(room))?));
            }
            let (_, pieces) = split.as_mut()?;
            let diff = std::mem::take(pieces.get_mut(number - 1)?);
            Some(Shown {
                diff: Cow::Owned(diff),
                piece: share.piece,
            })
        });
        shown.collect()
    }

    /// The paths of its files.
    pub fn paths<'a, D: Borrow<FileDiff>>(
        &'a self,
        diffs: &'a [D],
    ) -> impl Iterator<Item = &'a str> {
        let mut before = None;
        let files = self.shares.iter().map(|share| share.file);
        let files = files.filter(move |file| before.replace(*file) != Some(*file));
        files.filter_map(|file| Some(diffs.get(file)?.borrow().path.as_str()))
    }
}

#[cfg(test)]
mod tests;
