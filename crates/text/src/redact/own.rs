//! Finds the run's own secrets in text, whole or in part, in every usual encoding. Separate from shapes and words,
//! because here the bytes are known: seeds of each encoding are looked up in one pass and grown as far as they match.

use super::view::{Reading, View};
use aho_corasick::AhoCorasick;
use data_encoding::{BASE32, BASE64, HEXLOWER};
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Shorter secrets stand in ordinary text by chance.
const SHORTEST: usize = 6;
/// Values that people put where a secret is asked for, and that ordinary text is full of.
const COMMON: &[&str] = &[
    "actions",
    "admin",
    "changeme",
    "default",
    "development",
    "disabled",
    "enabled",
    "example",
    "false",
    "github",
    "github-actions",
    "localhost",
    "master",
    "nobody",
    "null",
    "password",
    "placeholder",
    "production",
    "public",
    "redacted",
    "review",
    "reviewer",
    "secret",
    "staging",
    "string",
    "testing",
    "token",
    "undefined",
];
/// The number of letters in a row that gives a secret away, and that no ordinary text has by chance.
const TELLING: usize = 16;
/// The number of characters that may be cut off, in all, without hiding the rest.
const CUT: usize = 14;
/// The least of a secret that is looked for.
const LEAST: usize = 8;
/// Length of a seed.
const SEED: usize = 8;

/// The secrets of one run, ready to be looked for.
pub(super) struct Own {
    words: Index,
    symbols: Index,
}

/// One secret in one encoding, as a view shows it.
struct Stream {
    bytes: Vec<u8>,
    /// The number of its characters that gives the secret away.
    need: usize,
    /// Words in it may stand elsewhere: part of it counts only where it has digits.
    wordy: bool,
    /// Its letters do not fall together with those of the secret: the two beside a run still carry bits of it.
    packed: bool,
}

#[derive(Default)]
struct Index {
    streams: Vec<Stream>,
    automaton: Option<AhoCorasick>,
    /// For each seed, the streams and offsets where it stands.
    seeds: Vec<Vec<(usize, usize)>>,
}

impl Own {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut words = Vec::new();
        let mut symbols = Vec::new();
        let texts: BTreeSet<&str> = secrets
            .into_iter()
            .map(|secret| secret.expose_secret().trim())
            .filter(|secret| worth_masking(secret))
            .collect();
        for text in texts {
            words.extend(encodings(text));
            for text in [text, &rot13(text)] {
                let forwards = stream(&Reading::new(text).symbols(), text);
                symbols.extend([reversed(&forwards), forwards]);
            }
        }
        Self {
            words: Index::new(words),
            symbols: Index::new(symbols),
        }
    }

    /// Finds the places of secrets, in no order, possibly overlapping.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = Range<usize>> + use<> {
        let mut found = Vec::new();
        for first in [Some(Reading::new(text)), Reading::without_tags(text)] {
            let mut reading = first;
            for _ in 0..3 {
                let Some(current) = reading else { break };
                self.words.find(&current.words(), text, &mut found);
                self.symbols.find(&current.symbols(), text, &mut found);
                reading = current.decoded();
            }
        }
        found.into_iter()
    }
}

fn worth_masking(secret: &str) -> bool {
    let distinct: BTreeSet<char> = secret.chars().collect();
    secret.chars().count() >= SHORTEST
        && distinct.len() > 2
        && !COMMON.contains(&secret.to_ascii_lowercase().as_str())
}

/// The number of characters of a text of this length that gives it away.
fn need(length: usize) -> usize {
    length
        .saturating_sub(CUT)
        .clamp(LEAST.min(length), TELLING)
        .max(1)
}

/// A secret as letters and digits: as it is and turned by 13, and both again in the encodings that tools offer; each
/// forwards and backwards. One encoding within another is what comes of encoding the output of a command.
fn encodings(secret: &str) -> Vec<Stream> {
    let base64 = BASE64.encode(secret.as_bytes());
    let hex = HEXLOWER.encode(secret.as_bytes());
    let mut streams = Vec::new();
    for text in [secret, &rot13(secret), &base64, &hex] {
        streams.push(stream(&Reading::new(text).words(), text));
        streams.extend(encoded(text.as_bytes()));
    }
    let backwards: Vec<Stream> = streams.iter().map(reversed).collect();
    streams.extend(backwards);
    streams.retain(|stream| stream.bytes.len() >= SHORTEST);
    streams
}

fn stream(view: &View, text: &str) -> Stream {
    Stream {
        need: need(view.bytes.len()),
        bytes: view.bytes.clone(),
        wordy: wordy(text),
        packed: false,
    }
}

/// True if a part of the text could stand elsewhere: no digits, and no capitals inside.
fn wordy(text: &str) -> bool {
    !text.bytes().any(|b| b.is_ascii_digit())
        && !text.bytes().skip(1).any(|b| b.is_ascii_uppercase())
}

fn reversed(stream: &Stream) -> Stream {
    Stream {
        bytes: stream.bytes.iter().rev().copied().collect(),
        ..*stream
    }
}

fn encoded(bytes: &[u8]) -> Vec<Stream> {
    let least = need(bytes.len());
    let decimal: String = bytes.iter().map(u8::to_string).collect();
    let mut streams = vec![
        letters(&HEXLOWER.encode(bytes), 2 * least, false),
        letters(&decimal, 2 * least, false),
    ];
    // What stands before the secret shifts it against the groups of the encoding; the letters that it shares with
    // its neighbours are left out.
    for before in 0..3 {
        let text = BASE64.encode(&[&vec![0; before][..], bytes].concat());
        let own = inner(&text, before, bytes.len(), 6);
        streams.push(letters(own, (4 * least / 3).saturating_sub(4), true));
    }
    for before in 0..5 {
        let text = BASE32.encode(&[&vec![0; before][..], bytes].concat());
        let own = inner(&text, before, bytes.len(), 5);
        streams.push(letters(own, (8 * least / 5).saturating_sub(2), true));
    }
    streams
}

/// The letters, `bits` bits each, that hold nothing but the bytes after the first `before`.
fn inner(text: &str, before: usize, length: usize, bits: usize) -> &str {
    let first = (8 * before).div_ceil(bits);
    let last = 8 * (before + length) / bits;
    text.get(first..last).unwrap_or_default()
}

fn letters(text: &str, need: usize, packed: bool) -> Stream {
    let bytes = Reading::new(text).words().bytes;
    Stream {
        need: need.clamp(SHORTEST, bytes.len().max(SHORTEST)),
        bytes,
        wordy: false,
        packed,
    }
}

fn rot13(text: &str) -> String {
    let turn = |c: char, first: u8| char::from((c as u8 - first + 13) % 26 + first);
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            _ => c,
        })
        .collect()
}

impl Stream {
    /// Seeds so close together that whatever gives the secret away contains one.
    fn seeds(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let length = SEED.min(self.need);
        let step = self.need - length + 1;
        let last = self.bytes.len().saturating_sub(length);
        (0..=last)
            .step_by(step)
            .filter_map(move |at| Some((self.bytes.get(at..at + length)?, at)))
    }

    fn gives_away(&self, run: &[u8]) -> bool {
        let most = 5 * run.len() >= 3 * self.bytes.len();
        let mixed = run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
        let telling = run.len() >= TELLING && !self.wordy;
        run.len() >= self.need && (most || mixed || telling)
    }

    /// The longest stretch of the view around a seed that is also a stretch of this stream.
    fn grown(&self, view: &[u8], seed: usize, offset: usize) -> Range<usize> {
        let before = view[..seed].iter().rev();
        let left = same(before, self.bytes[..offset].iter().rev());
        let right = same(view[seed..].iter(), self.bytes[offset..].iter());
        seed - left..seed + right
    }
}

fn same<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

impl Index {
    fn new(streams: Vec<Stream>) -> Self {
        let mut seeds: BTreeMap<Vec<u8>, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, stream) in streams.iter().enumerate() {
            for (seed, offset) in stream.seeds() {
                seeds
                    .entry(seed.to_vec())
                    .or_default()
                    .push((number, offset));
            }
        }
        let automaton = (!seeds.is_empty()).then(|| automaton(seeds.keys()));
        Self {
            automaton,
            seeds: seeds.into_values().collect(),
            streams,
        }
    }

    fn find(&self, view: &View, text: &str, found: &mut Vec<Range<usize>>) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        // A stretch that was grown is not grown again from its next seed.
        let mut grown = vec![(0_usize, 0_usize); self.streams.len()];
        for hit in automaton.find_overlapping_iter(&view.bytes) {
            for &(number, offset) in &self.seeds[hit.pattern().as_usize()] {
                let stream = &self.streams[number];
                let diagonal = hit.start() + stream.bytes.len() - offset;
                if grown[number].0 == diagonal && hit.end() <= grown[number].1 {
                    continue;
                }
                let run = stream.grown(&view.bytes, hit.start(), offset);
                grown[number] = (diagonal, run.end);
                if stream.gives_away(&view.bytes[run.clone()]) {
                    let place = view.place(&run);
                    found.push(if stream.packed {
                        widened(text, place)
                    } else {
                        place
                    });
                }
            }
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "building fails only beyond two thousand million seeds; to go on without would let secrets out"
)]
fn automaton<'a>(seeds: impl Iterator<Item = &'a Vec<u8>>) -> AhoCorasick {
    AhoCorasick::new(seeds).expect("the seeds of a run's secrets fit into an automaton")
}

/// With up to two letters on either side that share bits with the secret.
fn widened(text: &str, place: Range<usize>) -> Range<usize> {
    let shared = |b: &u8| b.is_ascii_alphanumeric() || b"+/-_=".contains(b);
    let before = text.as_bytes()[..place.start].iter().rev();
    let after = text.as_bytes()[place.end..].iter();
    let left = before.take(2).take_while(|b| shared(b)).count();
    let right = after.take(2).take_while(|b| shared(b)).count();
    place.start - left..place.end + right
}
