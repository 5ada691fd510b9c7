//! Resolves the place of a finding: the model's line and quote against the diff. Separate because it forgives (a wrong
//! line beside a right quote, a copied gutter) and refuses (code that is not in the change).

use super::numbered::CARRIAGE_RETURN;
use super::{Anchor, FileDiff, Hunk, LineKind, Side};
use data_encoding::HEXLOWER;
use reviewer_text::hidden::visible;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// Shorter pieces stand in so many lines that they cannot say which one is meant.
const SHORTEST_FRAGMENT: usize = 4;
/// The longest quote, in lines. Nobody comments on more code at once, and matching stays quick.
const LONGEST_QUOTE: usize = 400;

/// The reason why a place takes no comment, in words that the model can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    #[error("say where in {path}: give a line or quote the code; commentable: {commentable}")]
    Missing { path: String, commentable: String },
    #[error("line {line} is not in the diff of {path}; commentable: {commentable}")]
    Outside {
        path: String,
        line: u32,
        commentable: String,
    },
    #[error(
        "line {line} was removed from {path}: quote its text to comment on the removed line; commentable: {commentable}"
    )]
    RemovedLine {
        path: String,
        line: u32,
        commentable: String,
    },
    #[error(
        "the quote {quote:?} is nowhere in the diff of {path}; copy whole lines from the diff, or give a line without a quote; commentable: {commentable}"
    )]
    QuoteNotFound {
        path: String,
        quote: String,
        commentable: String,
    },
    #[error(
        "the quote has {lines} lines; quote at most {LONGEST_QUOTE}, best the one to five that matter"
    )]
    QuoteTooLong { lines: usize },
}

impl FileDiff {
    /// The anchor for a line of the head, a quote of the code meant, or both. Where they disagree, the
    /// quote wins: models miscount lines more often than they misquote them.
    pub fn resolve(&self, line: Option<u32>, quote: Option<&str>) -> Result<Anchor, AnchorError> {
        if self.nearest(Side::Right, 1).is_none() {
            return Ok(Anchor::File);
        }
        match (line, quote.filter(|q| !q.trim().is_empty())) {
            (_, Some(quote)) => self.resolve_quote(line, quote),
            (Some(line), None) => self.resolve_line(line),
            (None, None) => Err(AnchorError::Missing {
                path: self.shown_path(),
                commentable: self.describe_commentable(),
            }),
        }
    }

    fn resolve_line(&self, line: u32) -> Result<Anchor, AnchorError> {
        let at = |side| Anchor::Line {
            side,
            start: None,
            line,
        };
        let removed = self.is_commentable(Side::Left, line);
        if self.is_commentable(Side::Right, line) {
            return Ok(at(Side::Right));
        }
        // Where nothing is left at the head, a number can only mean the old file.
        if removed && self.numbers(Side::Right).next().is_none() {
            return Ok(at(Side::Left));
        }
        let (path, commentable) = (self.shown_path(), self.describe_commentable());
        Err(if removed {
            AnchorError::RemovedLine {
                path,
                line,
                commentable,
            }
        } else {
            AnchorError::Outside {
                path,
                line,
                commentable,
            }
        })
    }

    fn resolve_quote(&self, line: Option<u32>, quote: &str) -> Result<Anchor, AnchorError> {
        let lines = quote.lines().count();
        if lines > LONGEST_QUOTE {
            return Err(AnchorError::QuoteTooLong { lines });
        }
        let views: Vec<View> = self.hunks.iter().flat_map(View::both).collect();
        let best = readings(quote).into_iter().find_map(|reading| {
            let hits = views.iter().flat_map(|view| view.find(&reading, line));
            hits.min_by_key(|hit| hit.rank(&reading, line))
        });
        best.map(Hit::anchor)
            .ok_or_else(|| AnchorError::QuoteNotFound {
                path: self.shown_path(),
                quote: visible(quote.trim()).chars().take(120).collect(),
                commentable: self.describe_commentable(),
            })
    }

    /// A name for the code under an anchor that survives moves and re-indentation: the anchored lines and
    /// one neighbour each side, whitespace-normalised.
    #[must_use]
    pub fn anchor_hash(&self, anchor: Anchor) -> String {
        let text = match anchor {
            Anchor::File => format!("file\n{}", self.path),
            Anchor::Line { side, start, line } => {
                let lines = start.unwrap_or(line)..=line;
                let views = self.hunks.iter().flat_map(View::both);
                let mut on_side = views.filter(|view| view.side == side);
                on_side
                    .find_map(|view| view.with_neighbours(&lines))
                    .unwrap_or_default()
            }
        };
        hashed(&text)
    }

    /// True if code of this hash still stands somewhere in the diff.
    #[must_use]
    pub fn holds(&self, hash: &str) -> bool {
        self.place_of(hash).is_some()
    }

    /// The first place in the diff where code of this hash stands.
    #[must_use]
    pub fn place_of(&self, hash: &str) -> Option<Anchor> {
        if self.anchor_hash(Anchor::File) == hash {
            return Some(Anchor::File);
        }
        let sides = [Side::Right, Side::Left];
        let ranges = sides.into_iter().flat_map(|side| {
            self.commentable(side)
                .into_iter()
                .map(move |range| (side, range))
        });
        ranges.into_iter().find_map(|(side, range)| {
            let mut anchors = range.clone().flat_map(|line| {
                let first = line.saturating_sub(LONGEST_ANCHOR).max(*range.start());
                let starts = (first..line).map(Some);
                std::iter::once(None)
                    .chain(starts)
                    .map(move |start| Anchor::Line { side, start, line })
            });
            anchors.find(|anchor| self.anchor_hash(*anchor) == hash)
        })
    }

    /// The places where lines of these hashes stand, in one walk through the diff. A file as a whole is no place here: its
    /// name says nothing about its code.
    #[must_use]
    pub fn places_of(&self, hashes: &HashSet<&str>) -> HashMap<String, Anchor> {
        let mut places = HashMap::new();
        if hashes.is_empty() {
            return places;
        }
        for view in self.hunks.iter().flat_map(View::both) {
            for rows in view.commentable() {
                let hash = hashed(&view.text_around(rows.clone()));
                if hashes.contains(hash.as_str()) {
                    places.entry(hash).or_insert_with(|| view.anchor(&rows));
                }
            }
        }
        places
    }

    fn shown_path(&self) -> String {
        visible(&self.path).into_owned()
    }
}

/// Longer quotes are not looked for again.
const LONGEST_ANCHOR: u32 = 12;

/// One side of a hunk as a run of lines: what the file says there before or after the change.
struct View {
    side: Side,
    rows: Vec<Row>,
}

struct Row {
    number: u32,
    kind: LineKind,
    text: String,
}

impl View {
    fn both(hunk: &Hunk) -> [Self; 2] {
        [Side::Right, Side::Left].map(|side| Self {
            side,
            rows: hunk
                .lines
                .iter()
                .filter_map(|line| {
                    let number = match side {
                        Side::Right => line.new,
                        Side::Left => line.old,
                    }?;
                    Some(Row {
                        number,
                        kind: line.kind,
                        text: normalise(&line.text),
                    })
                })
                .collect(),
        })
    }

    fn find(&self, reading: &QuoteReading, line: Option<u32>) -> Vec<Hit> {
        let windows = self.rows.windows(reading.lines.len());
        windows
            .filter_map(|rows| {
                let exact = rows.iter().map(|r| &r.text).eq(&reading.lines);
                if exact || contains(rows, &reading.lines, line) {
                    self.hit(rows, exact)
                } else {
                    None
                }
            })
            .collect()
    }

    /// On the old side only removed lines take a comment, so a match shrinks to them.
    fn hit(&self, rows: &[Row], exact: bool) -> Option<Hit> {
        let takes = |row: &&Row| self.side == Side::Right || row.kind == LineKind::Removed;
        Some(Hit {
            side: self.side,
            first: rows.iter().find(takes)?.number,
            last: rows.iter().rev().find(takes)?.number,
            exact,
            changed: rows.iter().any(|row| row.kind != LineKind::Context),
        })
    }

    fn with_neighbours(&self, lines: &RangeInclusive<u32>) -> Option<String> {
        let first = self.rows.iter().position(|r| lines.contains(&r.number))?;
        let last = self.rows.iter().rposition(|r| lines.contains(&r.number))?;
        Some(self.text_around(first..=last))
    }

    /// The text of these rows with one neighbour each side.
    fn text_around(&self, rows: RangeInclusive<usize>) -> String {
        let (first, last) = (*rows.start(), *rows.end());
        let rows = self
            .rows
            .iter()
            .take(last + 2)
            .skip(first.saturating_sub(1));
        let texts: Vec<&str> = rows.map(|row| row.text.as_str()).collect();
        texts.join("\n")
    }

    /// The runs of rows that a comment can stand on, as long as an anchor may be.
    fn commentable(&self) -> impl Iterator<Item = RangeInclusive<usize>> + '_ {
        let longest = LONGEST_ANCHOR as usize;
        let takes = |row: &Row| self.side == Side::Right || row.kind == LineKind::Removed;
        (0..self.rows.len()).flat_map(move |last| {
            let rows = self.rows[last.saturating_sub(longest)..=last].iter();
            let run = rows.rev().take_while(|row| takes(row)).count();
            (0..run).map(move |above| last - above..=last)
        })
    }

    fn anchor(&self, rows: &RangeInclusive<usize>) -> Anchor {
        let [first, last] = [rows.start(), rows.end()].map(|row| self.rows[*row].number);
        Anchor::Line {
            side: self.side,
            start: (first < last).then_some(first),
            line: last,
        }
    }
}

fn hashed(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..8])
}

/// The quote's first and last line may be pieces of the lines that they come from.
fn contains(rows: &[Row], quote: &[String], line: Option<u32>) -> bool {
    let last = quote.len() - 1;
    rows.iter().zip(quote).enumerate().all(|(i, (row, piece))| {
        if i != 0 && i != last {
            return row.text == *piece;
        }
        let telling = piece.chars().count() >= SHORTEST_FRAGMENT || Some(row.number) == line;
        row.text == *piece || (telling && row.text.contains(piece.as_str()))
    })
}

/// A place where the quote stands.
struct Hit {
    side: Side,
    first: u32,
    last: u32,
    exact: bool,
    changed: bool,
}

impl Hit {
    /// The least is the best: at the line named, then whole lines, then the side meant, then near.
    fn rank(&self, reading: &QuoteReading, line: Option<u32>) -> impl Ord + use<> {
        let distance = line.map_or(0, |line| {
            let below = self.first.saturating_sub(line);
            below.max(line.saturating_sub(self.last))
        });
        let at_line = line.is_some() && distance == 0 && self.side == reading.prefers;
        (
            Reverse(at_line),
            Reverse(self.exact),
            Reverse(self.side == reading.prefers),
            distance,
            Reverse(self.changed),
            self.first,
        )
    }

    fn anchor(self) -> Anchor {
        Anchor::Line {
            side: self.side,
            start: (self.first < self.last).then_some(self.first),
            line: self.last,
        }
    }
}

/// One way to understand a quote.
struct QuoteReading {
    lines: Vec<String>,
    prefers: Side,
}

impl QuoteReading {
    fn new<'a>(lines: impl Iterator<Item = &'a str>, prefers: Side) -> Option<Self> {
        let lines: Vec<String> = lines.map(normalise).collect();
        let first = lines.iter().position(|line| !line.is_empty())?;
        let last = lines.iter().rposition(|line| !line.is_empty())?;
        Some(Self {
            lines: lines[first..=last].to_vec(),
            prefers,
        })
    }
}

/// The quote as it is; then, since models copy what they see, without line numbers, without diff markers,
/// and last as one side of a piece of diff.
fn readings(quote: &str) -> Vec<QuoteReading> {
    let plain: Vec<&str> = quote.lines().collect();
    let ungutter: Vec<&str> = plain.iter().map(|line| strip_gutter(line)).collect();
    let mut readings = vec![
        QuoteReading::new(plain.iter().copied(), Side::Right),
        QuoteReading::new(ungutter.iter().copied(), Side::Right),
    ];
    for lines in [&plain, &ungutter] {
        let unmarked = || lines.iter().map(|line| strip_marker(line));
        let only = |dropped: char| {
            unmarked()
                .filter(move |(marker, _)| *marker != Some(dropped))
                .map(|(_, text)| text)
        };
        let removed = |(marker, text): (Option<char>, &str)| marker == Some('-') || text.is_empty();
        let side = if unmarked().all(removed) {
            Side::Left
        } else {
            Side::Right
        };
        readings.push(QuoteReading::new(unmarked().map(|(_, text)| text), side));
        readings.push(QuoteReading::new(only('-'), Side::Right));
        readings.push(QuoteReading::new(only('+'), Side::Left));
    }
    readings.into_iter().flatten().collect()
}

/// Drops `42 |`, `42:`, `42`, `(41)` and what else numbers a line.
fn strip_gutter(line: &str) -> &str {
    let start = line.trim_start();
    let (open, inner) = match start.strip_prefix('(') {
        Some(inner) => (true, inner.trim_start()),
        None => (false, start),
    };
    let rest = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == inner.len() {
        return line;
    }
    let rest = if open {
        rest.strip_prefix(')').unwrap_or(rest)
    } else {
        rest.trim_start()
    };
    rest.strip_prefix(['|', ':']).unwrap_or(rest)
}

fn strip_marker(line: &str) -> (Option<char>, &str) {
    let start = line.trim_start();
    match start.chars().next() {
        Some(marker @ ('+' | '-')) => (Some(marker), &start[1..]),
        _ => (None, line),
    }
}

/// Trimmed, every run of blanks one space, hidden characters spelled out as the model saw them.
fn normalise(line: &str) -> String {
    let words: Vec<&str> = line
        .trim_end_matches(CARRIAGE_RETURN)
        .split_whitespace()
        .collect();
    visible(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests;
