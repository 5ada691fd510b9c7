//! Detects queries and URLs that would carry something out: text of the repository, or a secret. Separate from the
//! fetching, because it is judged before a name is even resolved: a lookup of a host name is a message, too.
//!
//! A copied line, any run of five words and any part of a key are recognised, however they are spaced or encoded.
//! Names, versions and error codes pass: they are what a question to the web is made of. What a model rewrites in
//! its own words cannot be recognised; the limits on length and number bound that.

use super::filter::{self, Filter};
use super::leak_encodings;
use reviewer_text::redact::Redactor;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The number of words in a row that make a quotation, and the least number of letters in them.
const WORDS: usize = 5;
const LINE_WORDS: usize = 4;
const LETTERS: usize = 24;
/// Longer pieces are not kept: no query could hold them.
const LONGEST_PIECE: usize = 240;
/// Any so long part of a key gives it away.
const KEY_PART: usize = 16;
const KEY_SHINGLE: usize = 12;
/// A longer run of letters and signs of Base64 is an image or the like.
const LONGEST_KEY: usize = 8192;
/// The number of words that are taken at a time. No piece has more than `LETTERS` words, so that many are kept for the
/// next time.
const AT_A_TIME: usize = 8192;
/// Links that are remembered, and the longest of them; no more are exempt.
const MOST_LINKS: usize = 100_000;
const LONGEST_LINK: usize = 2_000;

/// The kind of an entry in the filter, and the number of its probes. A question of 60 letters has about 40 places where
/// a quotation could begin, each with some 20 ends, in a dozen readings. With half of the filter's bits set, a first
/// part is found by chance in one of 2^6 places, then a piece with one of 2^13 ends, and a part of a key in one of 2^16
/// places: about one question in a hundred is refused for nothing, and with a quarter of the bits set none in a
/// million.
#[derive(Clone, Copy)]
enum Entry {
    /// The first letters of a piece, so that most places of a question are passed over at once.
    Beginning,
    Piece,
    KeyPart,
}

impl Entry {
    fn probes(self) -> u32 {
        match self {
            Self::Beginning => 6,
            Self::Piece => 13,
            Self::KeyPart => 16,
        }
    }

    /// The hash of such an entry, so that one of another kind is not taken for it.
    fn hash(self, hash: u64) -> u64 {
        match self {
            Self::Beginning => hash,
            Self::Piece => hash.rotate_left(21),
            Self::KeyPart => hash.rotate_left(42),
        }
    }
}

/// The repository's text in a form in which a copy of it is recognised. Its size is fixed: a word takes 19 probes, and half of
/// the bits of 64 MiB are set by 19 million words. Code has one in about 11 bytes, so that 200 MiB of it are held, and more
/// where they repeat each other.
pub struct RepositoryText {
    filter: Filter,
    /// Asking for a page that the repository itself links to tells nobody anything.
    links: HashSet<String>,
}

impl Default for RepositoryText {
    fn default() -> Self {
        Self::with_room(Self::BYTES)
    }
}

impl RepositoryText {
    /// The memory that it takes.
    pub(crate) const BYTES: usize = filter::BYTES;

    /// With room for other than the usual amount of text.
    #[must_use]
    pub fn with_room(bytes: usize) -> Self {
        Self {
            filter: Filter::new(bytes),
            links: HashSet::new(),
        }
    }

    /// Learns a text that is trusted: pages that it links to may be asked for.
    pub fn add_base(&mut self, text: &str) {
        let room = MOST_LINKS.saturating_sub(self.links.len());
        let short = links(text).filter(|link| link.len() <= LONGEST_LINK);
        self.links.extend(short.take(room));
        self.add(text);
    }

    /// Learns a text.
    pub fn add(&mut self, text: &str) {
        self.add_words(text);
        for line in text.lines() {
            let words: Vec<String> = words(line).take(LINE_WORDS + 1).collect();
            if words.len() == LINE_WORDS {
                let letters: Vec<char> = words.iter().flat_map(|word| word.chars()).collect();
                self.add_piece(&letters);
            }
        }
        for key in keys(text) {
            let letters: Vec<char> = letters(key).collect();
            for part in letters.windows(KEY_PART) {
                self.insert(Entry::KeyPart, least(part));
            }
        }
    }

    /// True if there was more text than can be told from other text.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.filter.is_full()
    }

    /// At every word the shortest quotation that begins there.
    fn add_words(&mut self, text: &str) {
        let (mut letters, mut starts): (Vec<char>, Vec<usize>) = Default::default();
        for word in words(text) {
            starts.push(letters.len());
            letters.extend(word.chars());
            if starts.len() == AT_A_TIME {
                let kept = AT_A_TIME - LETTERS;
                self.add_pieces(&letters, &starts, kept);
                let first = starts[kept];
                letters.drain(..first);
                starts = starts[kept..].iter().map(|start| start - first).collect();
            }
        }
        self.add_pieces(&letters, &starts, starts.len());
    }

    /// The pieces that begin at the first so many starts.
    fn add_pieces(&mut self, letters: &[char], starts: &[usize], count: usize) {
        for at in 0..count {
            // A word ends where the next one begins.
            let next = starts[at + 1..].iter().copied();
            let ends = next.chain(std::iter::once(letters.len()));
            let is_long = |end: &usize| end - starts[at] >= LETTERS;
            if let Some(end) = ends.skip(WORDS - 1).find(is_long) {
                self.add_piece(&letters[starts[at]..end]);
            }
        }
    }

    fn add_piece(&mut self, letters: &[char]) {
        if !(LETTERS..=LONGEST_PIECE).contains(&letters.len()) {
            return;
        }
        let beginning = letters[..LETTERS].iter().copied().fold(SEED, mix);
        let piece = letters[LETTERS..].iter().copied().fold(beginning, mix);
        self.insert(Entry::Beginning, beginning);
        self.insert(Entry::Piece, piece);
    }

    fn insert(&mut self, entry: Entry, hash: u64) {
        self.filter.insert(entry.hash(hash), entry.probes());
    }

    fn contains(&self, entry: Entry, hash: u64) -> bool {
        self.filter.contains(entry.hash(hash), entry.probes())
    }

    fn is_quoted_in(&self, text: &str) -> bool {
        let letters: Vec<char> = letters(text).collect();
        let key = |part: &[char]| self.contains(Entry::KeyPart, least(part));
        letters.windows(KEY_PART).any(key)
            || (0..letters.len()).any(|start| self.begins_piece(&letters[start..]))
    }

    /// True if a text begins with a piece.
    fn begins_piece(&self, letters: &[char]) -> bool {
        let Some((beginning, rest)) = letters.split_at_checked(LETTERS) else {
            return false;
        };
        let mut hash = beginning.iter().copied().fold(SEED, mix);
        if !self.contains(Entry::Beginning, hash) {
            return false;
        }
        self.contains(Entry::Piece, hash)
            || rest.iter().take(LONGEST_PIECE - LETTERS).any(|c| {
                hash = mix(hash, *c);
                self.contains(Entry::Piece, hash)
            })
    }
}

impl fmt::Debug for RepositoryText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepositoryText({} % full)", self.filter.percent())
    }
}

/// FNV-1a, letter by letter, so that the hash of every part of a text is had by going on.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The least hash of what a part of a key consists of. Parts that overlap mostly have the same, so that a key takes an entry
/// in three letters, and any part of it is found.
fn least(part: &[char]) -> u64 {
    let hashes = part.windows(KEY_SHINGLE);
    let hashes = hashes.map(|letters| letters.iter().copied().fold(SEED, mix));
    hashes
        .min_by_key(|hash| filter::mixed(*hash))
        .unwrap_or(SEED)
}

/// Reduces a text to its letters: without spacing, punctuation and case.
fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
}

/// Words, with a path or a qualified name (`std::sync::Arc`, `golang.org/x/net`) as one.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let inside = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    text.split(move |c| !inside(c))
        // The rest of a longer one is in no piece.
        .map(|word| letters(word).take(LONGEST_PIECE + 1).collect::<String>())
        .filter(|word| !word.is_empty())
}

/// Runs that no person would type: letters and digits, mixed and long.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let in_blob = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    text.split(move |c| !in_blob(c))
        .filter(|blob| blob.len() <= LONGEST_KEY)
        .flat_map(|blob| blob.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|run| {
            let digits = run.bytes().filter(u8::is_ascii_digit).count();
            run.len() >= KEY_PART && digits >= 3 && run.len() - digits >= 3
        })
}

fn links(text: &str) -> impl Iterator<Item = String> + '_ {
    let ends = |c: char| c.is_whitespace() || "\"'<>()[]{}`".contains(c);
    text.split(ends)
        .filter(|word| word.starts_with("https://") || word.starts_with("http://"))
        .map(|link| plain_link(link).to_owned())
}

/// Without the fragment, and the full stop of a sentence.
fn plain_link(link: &str) -> &str {
    let link = link.split('#').next().unwrap_or_default();
    link.trim_end_matches(['.', ',', ';', ':', '/'])
}

/// Judges what is about to leave.
#[derive(Clone)]
pub struct Guard {
    repository: Arc<RepositoryText>,
    secrets: Arc<Redactor>,
}

impl Guard {
    /// `secrets` knows those of the run.
    #[must_use]
    pub fn new(repository: RepositoryText, secrets: Arc<Redactor>) -> Self {
        Self {
            repository: Arc::new(repository),
            secrets,
        }
    }

    pub(crate) fn judge_query(&self, query: &str) -> Result<(), String> {
        self.judge("query", query)
    }

    pub(crate) fn judge_url(&self, url: &str) -> Result<(), String> {
        if self.repository.links.contains(plain_link(url)) && !self.holds_secret(url) {
            return Ok(());
        }
        self.judge("url", url)
    }

    fn judge(&self, argument: &str, text: &str) -> Result<(), String> {
        let readings = leak_encodings::readings(text);
        let repeats = |reading: &String| self.repository.is_quoted_in(reading);
        if readings.iter().any(repeats) {
            return Err(format!(
                "{argument} repeats text of the repository, which never leaves the review. Ask in your own words, by \
                 the names of libraries, functions, versions and error codes."
            ));
        }
        if readings.iter().any(|reading| self.holds_secret(reading)) {
            return Err(format!(
                "{argument} holds something that looks like a secret, which never leaves the review. Ask without it."
            ));
        }
        Ok(())
    }

    fn holds_secret(&self, text: &str) -> bool {
        let known = !self.secrets.clean_counted(text).counts.is_empty();
        known || text.split(|c: char| !is_in_key(c)).any(is_random)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.repository.fmt(f)
    }
}

fn is_in_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '-' | '=')
}

/// Long, in both cases, and changing between letters and digits all the time, as no name does. A hash in lower case
/// is not meant: commits are asked for by theirs.
fn is_random(run: &str) -> bool {
    let bytes = run.as_bytes();
    let changes = bytes.windows(2).filter(|pair| {
        pair.iter().any(u8::is_ascii_digit) && pair.iter().any(u8::is_ascii_alphabetic)
    });
    run.len() >= 28
        && bytes.iter().any(u8::is_ascii_lowercase)
        && bytes.iter().any(u8::is_ascii_uppercase)
        && changes.count() >= 5
}

#[cfg(test)]
#[path = "leak_tests.rs"]
mod tests;
