//! The walker of hunks and what is made of them: numbers follow each other, every line that is told is one of the
//! patch, an anchor is in the diff, and what the model reads has a line for each of ours.

use super::draw::Draw;
use reviewer_core::domain::diff::HunkError;
use reviewer_core::domain::{Anchor, DiffLine, FileDiff, Hunk, LineKind, Side};
use std::fmt::Write as _;

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "@@ -", " +", " @@", ",", "@@ -1 +1 @@\n", "@@ -1,3 +1,4 @@ fn main()\n", "@@ -0,0 +1,2 @@\n", "@@ -1,2 +0,0 @@\n", "\n",
    "\n+", "\n-", "\n ", "+", "-", " ", "\\ No newline at end of file\n", "\\", "\r", "\r\n", "4294967295", "4294967294", "0",
    "1", "2", "99999999999", "--- a/x\n", "+++ b/x\n", "diff --git a/x b/x\n", "Binary files differ\n", "\u{2028}", "\u{200b}",
    "\u{202e}", "\u{feff}", "\u{fe0f}", "ä", "KEY=value", "# comment", "export A_KEY: x", "-----BEGIN PRIVATE KEY-----", "␍",
    "\t", "12 | ", "(7)- ", "let a = 1;", "  ",
];

const PATHS: [&str; 6] = [
    "src/a.rs",
    ".env",
    "id_rsa",
    "a\nb`\u{202e}.md",
    "x/credentials.json",
    "",
];

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let name = draw.pick(&PATHS);
    let patch = if draw.flag() {
        let (patch, hunks) = written(&mut draw);
        let mut parsed = FileDiff::parse_hunks(&patch).expect("a patch");
        for hunk in &mut parsed {
            hunk.digest = [0; 32];
        }
        assert_eq!(parsed, hunks, "{patch:?}");
        patch
    } else {
        draw.text(PIECES)
    };
    match FileDiff::parse_hunks(&patch) {
        Ok(hunks) => {
            walked(&patch, &hunks);
            let file = FileDiff {
                path: name.to_owned(),
                hunks,
                ..FileDiff::default()
            };
            shown(&patch, &file);
            commented(&mut draw, &file);
        }
        Err(error) => refused(&patch, &error),
    }
}

/// A patch as git would write it, and what it says.
fn written(draw: &mut Draw<'_>) -> (String, Vec<Hunk>) {
    let (mut patch, mut hunks) = (String::new(), Vec::new());
    for _ in 0..=draw.below(3) {
        let mut hunk = Hunk {
            section: draw
                .pick(&["", "fn main() {", "@@ x", "a\r"])
                .trim()
                .to_owned(),
            lines: Vec::new(),
            digest: [0; 32],
        };
        let starts = [1, 2, 9, 4_294_967_200_u32];
        let (old, new) = (draw.pick(&starts), draw.pick(&starts));
        let (mut next_old, mut next_new) = (old, new);
        for _ in 0..draw.below(8) {
            let kind = draw.pick(&[LineKind::Context, LineKind::Added, LineKind::Removed]);
            let take = |next: &mut u32, without: LineKind| {
                (kind != without).then(|| std::mem::replace(next, *next + 1))
            };
            hunk.lines.push(DiffLine {
                kind,
                old: take(&mut next_old, LineKind::Added),
                new: take(&mut next_new, LineKind::Removed),
                text: draw.text(PIECES).replace('\n', "").into(),
            });
        }
        let counts = (next_old - old, next_new - new);
        let _ = writeln!(
            patch,
            "@@ -{old},{} +{new},{} @@ {}",
            counts.0, counts.1, hunk.section
        );
        for line in &hunk.lines {
            let _ = writeln!(patch, "{}{}", sign(line.kind), line.text);
            if draw.byte() % 8 == 7 {
                patch.push_str("\\ No newline at end of file\n");
            }
        }
        hunks.push(hunk);
    }
    (patch, hunks)
}

fn sign(kind: LineKind) -> char {
    match kind {
        LineKind::Context => ' ',
        LineKind::Added => '+',
        LineKind::Removed => '-',
    }
}

/// Numbers follow each other on both sides, and the lines are the patch's, in its order.
fn walked(patch: &str, hunks: &[Hunk]) {
    let mut source = patch.split('\n');
    for hunk in hunks {
        let (mut old, mut new) = (None, None);
        for line in &hunk.lines {
            let sides = (line.old.is_some(), line.new.is_some());
            let expected = (line.kind != LineKind::Added, line.kind != LineKind::Removed);
            assert_eq!(sides, expected, "{line:?} of {patch:?}");
            for (number, last) in [(line.old, &mut old), (line.new, &mut new)] {
                let Some(number) = number else { continue };
                assert!(number > 0, "{line:?} of {patch:?}");
                assert!(last.is_none_or(|last: u32| last + 1 == number), "{patch:?}");
                *last = Some(number);
            }
            let written = format!("{}{}", sign(line.kind), line.text);
            // Some tools drop the space of an empty context line.
            let is_it = |line: &str| line == written || (written == " " && line.is_empty());
            let found = source.by_ref().any(is_it);
            assert!(found, "{line:?} is not in {patch:?}");
        }
    }
}

fn refused(patch: &str, error: &HunkError) {
    let (HunkError::Header { line }
    | HunkError::Short { line }
    | HunkError::Prefix { line }
    | HunkError::Numbers { line }) = error;
    let lines = patch.split('\n').count();
    assert!((1..=lines).contains(line), "{error} of {patch:?}");
}

/// The model reads one line for each of ours, whatever is in them, and not much more than the patch; masking changes
/// no number.
fn shown(patch: &str, file: &FileDiff) {
    let lines: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let numbered = file.numbered();
    let expected = 1 + (file.hunks.len() + lines).max(1);
    assert_eq!(numbered.lines().count(), expected, "{numbered:?}");
    let most = 10 * (patch.len() + file.path.len()) + 20 * expected + 400;
    assert!(numbered.len() <= most, "{} > {most}", numbered.len());
    assert_eq!(
        file.additions() + file.deletions(),
        changed(file),
        "{patch:?}"
    );
    let masked = file.clone().masked();
    let numbers = |file: &FileDiff| -> Vec<(Option<u32>, Option<u32>)> {
        let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.map(|line| (line.old, line.new)).collect()
    };
    assert_eq!(numbers(&masked), numbers(file));
    assert_eq!(masked.clone().masked().hunks, masked.hunks, "{patch:?}");
}

fn changed(file: &FileDiff) -> usize {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter(|line| line.kind != LineKind::Context).count()
}

/// Wherever the model points, the comment hangs on a line that takes one, or the model is told why not.
fn commented(draw: &mut Draw<'_>, file: &FileDiff) {
    let hunk = draw.byte();
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let quoted = lines
        .clone()
        .nth(usize::from(hunk))
        .map(|line| line.text.as_str());
    let line = match draw.byte() {
        255 => None,
        254 => Some(u32::MAX),
        number => Some(u32::from(number)),
    };
    let said = draw.text(PIECES);
    for quote in [None, Some(said.as_str()), quoted] {
        match file.resolve(line, quote) {
            Ok(anchor) => hangs(file, anchor),
            Err(error) => assert!(error.to_string().len() > 20, "{error}"),
        }
    }
    for side in [Side::Left, Side::Right] {
        for range in file.commentable(side) {
            assert!(range.start() <= range.end());
            assert!(file.is_commentable(side, *range.start()));
            assert!(file.is_commentable(side, *range.end()));
        }
        if let Some(anchor) = file.nearest(side, line.unwrap_or_default()) {
            hangs(file, anchor);
        }
    }
    assert!(!file.describe_commentable().is_empty());
    assert!(file.moved(line.unwrap_or_default()) > 0);
}

fn hangs(file: &FileDiff, anchor: Anchor) {
    let hash = file.anchor_hash(anchor);
    assert_eq!(hash.len(), 16);
    let Anchor::Line { side, start, line } = anchor else {
        let lines: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        assert_eq!(lines, 0, "a file with lines takes comments on them");
        return;
    };
    assert!(file.is_commentable(side, line), "{anchor:?} of {file:?}");
    assert!(
        start.is_none_or(|start| start < line && file.is_commentable(side, start)),
        "{anchor:?} of {file:?}"
    );
    if start.is_none() {
        assert!(file.holds(&hash), "{anchor:?} of {file:?}");
    }
}
