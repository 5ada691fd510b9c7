//! Whether a query or a URL would carry something out: text of the repository, or a secret. Separate from the
//! fetching, because it is judged before a name is even resolved: a lookup of a host name is a message, too.
//!
//! A copied line, any run of five words and any part of a key are recognised, however they are spaced or encoded.
//! Names, versions and error codes pass: they are what a question to the web is made of. What a model rewrites in
//! its own words cannot be recognised; the limits on length and number bound that.

use super::decode;
use crate::redact::Redactor;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// So many words in a row are a quotation, so many letters of them at least.
const WORDS: usize = 5;
const LINE_WORDS: usize = 4;
const LETTERS: usize = 24;
/// Longer pieces are not kept: no query could hold them.
const LONGEST_PIECE: usize = 240;
/// Any so long part of a key gives it away.
const KEY_PART: usize = 16;

/// The repository's text in a form in which a copy of it is recognised.
#[derive(Default)]
pub struct RepositoryText {
    pieces: HashSet<u64>,
    /// The first letters of every piece, so that most texts are passed over at once.
    beginnings: HashSet<u64>,
    /// Asking for a page that the repository itself links to tells nobody anything.
    links: HashSet<String>,
}

impl RepositoryText {
    pub fn add(&mut self, text: &str) {
        let words: Vec<String> = words(text).collect();
        for start in 0..words.len() {
            self.add_piece(&words[start..], WORDS);
        }
        for line in text.lines() {
            let words: Vec<String> = self::words(line).collect();
            if words.len() == LINE_WORDS {
                self.add_piece(&words, LINE_WORDS);
            }
        }
        for key in keys(text) {
            let letters: Vec<char> = letters(key).collect();
            for part in letters.windows(KEY_PART) {
                let hash = part.iter().copied().fold(SEED, mix);
                self.pieces.insert(hash);
                self.beginnings.insert(hash);
            }
        }
        self.links.extend(links(text));
    }

    /// The shortest quotation that begins here.
    fn add_piece(&mut self, words: &[String], least: usize) {
        let (mut hash, mut beginning, mut length) = (SEED, SEED, 0);
        for (index, word) in words.iter().enumerate() {
            for c in word.chars() {
                hash = mix(hash, c);
                length += 1;
                if length == KEY_PART {
                    beginning = hash;
                }
            }
            if length > LONGEST_PIECE {
                return;
            }
            if index + 1 >= least && length >= LETTERS {
                self.pieces.insert(hash);
                self.beginnings.insert(beginning);
                return;
            }
        }
    }

    fn is_quoted_in(&self, text: &str) -> bool {
        let letters: Vec<char> = letters(text).collect();
        let starts = letters.windows(KEY_PART).enumerate();
        starts
            .map(|(start, beginning)| (start, beginning.iter().copied().fold(SEED, mix)))
            .filter(|(_, beginning)| self.beginnings.contains(beginning))
            .any(|(start, beginning)| {
                let end = letters.len().min(start + LONGEST_PIECE);
                let mut hash = beginning;
                self.pieces.contains(&hash)
                    || letters[start + KEY_PART..end].iter().any(|c| {
                        hash = mix(hash, *c);
                        self.pieces.contains(&hash)
                    })
            })
    }
}

impl fmt::Debug for RepositoryText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepositoryText({} pieces)", self.pieces.len())
    }
}

/// FNV-1a, letter by letter, so that the hash of every part of a text is had by going on.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3)
}

/// What is left of a text when spacing, punctuation and case are gone.
fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
}

/// Words, with a path or a qualified name (`std::sync::Arc`, `golang.org/x/net`) as one.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let inside = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    text.split(move |c| !inside(c))
        .map(|word| letters(word).collect::<String>())
        .filter(|word| !word.is_empty())
}

/// Runs that no person would type: letters and digits, mixed and long.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
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

    pub fn judge_query(&self, query: &str) -> Result<(), String> {
        self.judge("query", query)
    }

    pub fn judge_url(&self, url: &str) -> Result<(), String> {
        if self.repository.links.contains(plain_link(url)) && !self.holds_secret(url) {
            return Ok(());
        }
        self.judge("url", url)
    }

    fn judge(&self, argument: &str, text: &str) -> Result<(), String> {
        let readings = decode::readings(text);
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
