//! The bytes of a file as text that can be edited without changing anything else: encoding, byte order mark, line ends and
//! the final newline stay what they are. Separate, because editors damage exactly these.

use reviewer_text::count::plural;

/// The largest file that can be edited.
pub const MAX_BYTES: usize = 1 << 20;
/// More occurrences than this are not counted.
const MOST_COUNTED: usize = 100;
/// The number of lines that a refusal names.
const MOST_NAMED: usize = 8;
const BOM: &str = "\u{feff}";

/// The reason why a file cannot be edited as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    #[error("it has {0} bytes, and files above {MAX_BYTES} bytes are not edited")]
    TooLarge(usize),
    #[error("it is UTF-16, and only UTF-8 can be kept byte for byte")]
    Utf16,
    #[error("it holds NUL bytes, so it is binary")]
    Nul,
    #[error(
        "line {line} holds bytes that are not UTF-8 (it may be Latin-1), and an edit would damage them"
    )]
    NotUtf8 { line: usize },
}

/// The reason why a replacement was not made. The sentences are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReplaced {
    #[error("old is empty; copy the lines to be replaced from the file, exactly as they are")]
    EmptyOld,
    #[error(
        "old does not occur in the file; read the file again and copy the lines exactly, with their indentation"
    )]
    Missing,
    #[error(
        "old does not occur in the file, but lines that differ from it in white space only begin at line {line}; copy them \
         exactly, with their indentation"
    )]
    OtherSpace { line: usize },
    #[error(
        "old occurs {}, at {}; add lines before or after until it is unique", times(*.count), places(.lines, *.count)
    )]
    Ambiguous { count: usize, lines: Vec<usize> },
    #[error(
        "old and new are the same, or differ only in line ends or the final newline, which are kept; nothing would change"
    )]
    Same,
    #[error("the file would have {0} bytes, and files above {MAX_BYTES} bytes are not edited")]
    TooLarge(usize),
}

fn times(count: usize) -> String {
    if count >= MOST_COUNTED {
        format!("at least {MOST_COUNTED} times")
    } else {
        plural(count, "time")
    }
}

fn places(lines: &[usize], count: usize) -> String {
    let named: Vec<String> = lines
        .iter()
        .take(MOST_NAMED)
        .map(usize::to_string)
        .collect();
    let more = count > named.len();
    match named.split_last() {
        Some((last, before)) if !more && !before.is_empty() => {
            format!("lines {} and {last}", before.join(", "))
        }
        _ if more => format!("lines {} and others", named.join(", ")),
        _ => format!("line {}", named.join(", ")),
    }
}

/// The line ends that a file may have. A carriage return alone, U+2028 and the like end no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// The line ends of a text, in order.
    fn all(text: &str) -> impl Iterator<Item = Self> + '_ {
        let ends = text.match_indices('\n');
        ends.map(|(at, _)| {
            if text[..at].ends_with('\r') {
                Self::CrLf
            } else {
                Self::Lf
            }
        })
    }
}

/// A file that is valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    has_bom: bool,
    text: String,
}

impl FileText {
    pub fn parse(bytes: &[u8]) -> Result<Self, NotText> {
        if bytes.len() > MAX_BYTES {
            return Err(NotText::TooLarge(bytes.len()));
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(NotText::Utf16);
        }
        if bytes.contains(&0) {
            return Err(NotText::Nul);
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = before.split(|byte| *byte == b'\n').count();
            NotText::NotUtf8 { line }
        })?;
        let inner = text.strip_prefix(BOM);
        Ok(Self {
            has_bom: inner.is_some(),
            text: inner.unwrap_or(text).to_owned(),
        })
    }

    /// The text behind the byte order mark.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bom = if self.has_bom { BOM } else { "" };
        [bom.as_bytes(), self.text.as_bytes()].concat()
    }

    /// Replaces the only place where `old` stands. A line feed in `old` stands for the line end that is there; those in `new`
    /// become the line ends of the place.
    pub fn replace(&self, old: &str, new: &str) -> Result<Self, NotReplaced> {
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        if old.is_empty() {
            return Err(NotReplaced::EmptyOld);
        }
        let view = View::new(&self.text);
        let found = view.find(&old);
        let at = match found.as_slice() {
            [at] => *at,
            [] => return Err(view.missing(&old)),
            all => {
                return Err(NotReplaced::Ambiguous {
                    count: all.len(),
                    lines: all.iter().map(|at| view.line(*at)).collect(),
                });
            }
        };
        let end = self.end_at(view.original(at), view.original(at + old.len()));
        let (before, after) = common_ends(&old, &new);
        let start = view.original(at + before);
        let stop = view.original(at + old.len() - after);
        let inserted = with_ends(
            &new[before..new.len() - after],
            &self.text[start..stop],
            end,
        );
        let text = self.put_in(start, stop, &inserted, end);
        if text == self.text {
            return Err(NotReplaced::Same);
        }
        if text.len() > MAX_BYTES {
            return Err(NotReplaced::TooLarge(text.len()));
        }
        let has_bom = self.has_bom;
        Ok(Self { has_bom, text })
    }

    /// The text with a part replaced, and with a final newline where it has one now, without where it has none.
    fn put_in(&self, start: usize, stop: usize, inserted: &str, end: LineEnd) -> String {
        let (head, tail) = (&self.text[..start], &self.text[stop..]);
        let had_newline = self.text.ends_with('\n');
        let inserted = if tail.is_empty() && !had_newline {
            inserted.trim_end_matches(['\r', '\n'])
        } else {
            inserted
        };
        let mut text = [head, inserted, tail].concat();
        if had_newline && !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end.as_str());
        }
        text
    }

    /// The line end of a place: the first one inside, else the one of its line, else the one before, else that of most lines.
    fn end_at(&self, start: usize, stop: usize) -> LineEnd {
        let text = self.text.as_str();
        let inside = LineEnd::all(&text[start..stop]).next();
        let behind = || {
            let line_end = stop + text[stop..].find('\n')? + 1;
            LineEnd::all(&text[..line_end]).last()
        };
        let before = || {
            let line_start = text[..start].rfind('\n')? + 1;
            LineEnd::all(&text[..line_start]).last()
        };
        inside
            .or_else(behind)
            .or_else(before)
            .unwrap_or(LineEnd::Lf)
    }
}

/// The lengths of the beginning and of the end that two texts have in common, in bytes. They never overlap.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let pairs = old.chars().zip(new.chars());
    let before: usize = pairs
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let pairs = old[before..].chars().rev().zip(new[before..].chars().rev());
    let after = pairs
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    (before, after)
}

/// A new text with line ends: those of the replaced text, one by one, where both have as many; else the one of the place.
fn with_ends(new: &str, replaced: &str, end: LineEnd) -> String {
    let mut ends = LineEnd::all(replaced).peekable();
    let is_kept = new.matches('\n').count() == replaced.matches('\n').count();
    let mut text = String::with_capacity(new.len());
    for (at, line) in new.split('\n').enumerate() {
        if at > 0 {
            let kept = ends.next().filter(|_| is_kept);
            text.push_str(kept.unwrap_or(end).as_str());
        }
        text.push_str(line);
    }
    text
}

/// A text with line feeds as its only line ends, and the way back to the original.
struct View {
    text: String,
    /// The places in the view of the line feeds that stand for two characters.
    pairs: Vec<usize>,
}

impl View {
    fn new(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut pairs = Vec::new();
        for (at, part) in original.split("\r\n").enumerate() {
            if at > 0 {
                pairs.push(text.len());
                text.push('\n');
            }
            text.push_str(part);
        }
        Self { text, pairs }
    }

    /// The place in the original; before both characters of a pair.
    fn original(&self, at: usize) -> usize {
        at + self.pairs.partition_point(|pair| *pair < at)
    }

    /// The number of the line that a place is in.
    fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// The first places where a text stands, overlapping ones included.
    fn find(&self, wanted: &str) -> Vec<usize> {
        let step = wanted.chars().next().map_or(1, char::len_utf8);
        let mut from = 0;
        let next = || {
            let at = from + self.text.get(from..)?.find(wanted)?;
            from = at + step;
            Some(at)
        };
        std::iter::from_fn(next).take(MOST_COUNTED).collect()
    }

    /// The refusal for a text that is not there.
    fn missing(&self, wanted: &str) -> NotReplaced {
        let bare = |text: &str| -> Vec<String> {
            let lines = text.split('\n');
            lines
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect()
        };
        let (lines, wanted) = (bare(&self.text), bare(wanted.trim()));
        let says_something = wanted.iter().any(|line| line.len() >= 3);
        let at = lines
            .windows(wanted.len())
            .position(|window| window == wanted);
        match at.filter(|_| says_something) {
            Some(at) => NotReplaced::OtherSpace { line: at + 1 },
            None => NotReplaced::Missing,
        }
    }
}

#[cfg(test)]
mod tests;
