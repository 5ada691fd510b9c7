//! Judges if a value is a secret by the look of it, or something that only stands where one would: an example, a
//! placeholder, a name, a path. Separate, because every rule asks the same questions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// In a value, these say that the real one is elsewhere.
const STAND_INS: &[&str] = &[
    "your",
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "dummy",
    "redacted",
    "process.env",
    "getenv",
    "environ",
    "secrets.",
    "env.",
    "vault:",
    "config.",
    "...",
    "<",
    "${",
    "{{",
    "$(",
    "%(",
    "#{",
];
/// Words that documentation puts in the place of a password.
const WORDS_FOR_IT: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "user",
    "username",
    "pw",
    "mypassword",
    "admin",
    "root",
    "postgres",
    "hunter2",
    "test",
    "guest",
    "none",
    "null",
    "true",
    "false",
    "string",
];

/// The most frequent pairs of letters in English.
const PAIRS: &str = "al an ar as at ce ch co ct de ec ed el en er es et ha he hi ic il in io is it la ld le li ma me nd ne \
                     ng nt of om on or ou pr ra re ri ro sa se si ss st ta te th ti to tr ur us ve ";

/// Names before a digest or the like, which is no secret.
const DIGESTS: &[&str] = &[
    "sha",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "h1",
    "blake2b",
    "blake3",
    "asset",
    "blob",
    "branch",
    "build",
    "bundle",
    "cache",
    "chunk",
    "cid",
    "commit",
    "css",
    "digest",
    "etag",
    "file",
    "git",
    "guid",
    "hash",
    "id",
    "image",
    "img",
    "index",
    "integrity",
    "job",
    "js",
    "layer",
    "main",
    "obj",
    "object",
    "pkg",
    "ref",
    "release",
    "rev",
    "run",
    "tag",
    "test",
    "tmp",
    "tree",
    "uuid",
    "vendor",
    "version",
];

/// Longer values are no keys that a person assigns by a word.
const LONGEST: usize = 512;

/// A value of documentation, whatever its shape: `AKIAIOSFODNN7EXAMPLE`, `xxxxxxxx`, zeros.
pub(super) fn documented(value: &str) -> bool {
    is_documented(&value.to_ascii_lowercase())
}

fn is_documented(lower: &str) -> bool {
    lower.ends_with("example")
        || lower.ends_with("examplekey")
        || ["xxxxxx", "000000", "******", "......", "######"]
            .iter()
            .any(|run| lower.contains(run))
}

/// A value that stands for another one, or that counts up as an invented one does.
pub(super) fn placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    is_documented(&lower)
        || STAND_INS.iter().any(|word| lower.contains(word))
        || WORDS_FOR_IT.contains(&lower.as_str())
        || !value.bytes().any(|b| b.is_ascii_alphanumeric())
        || lower.trim_matches('x').is_empty()
        || counts(lower.as_bytes(), 1)
        || counts(lower.as_bytes(), 2)
}

/// True if six characters follow each other as in "abcdef" and "987654" (step 1) or "a1b2c3d4" (step 2).
fn counts(bytes: &[u8], step: usize) -> bool {
    let (mut up, mut down) = (0, 0);
    for pair in bytes.windows(step + 1) {
        let (a, b) = (pair[0], pair[step]);
        let within = a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric();
        up = if within && b == a.wrapping_add(1) {
            up + 1
        } else {
            0
        };
        down = if within && a == b.wrapping_add(1) {
            down + 1
        } else {
            0
        };
        if up.max(down) >= 5 {
            return true;
        }
    }
    false
}

/// A value that a key or a token may have: a UUID, hexadecimal, base64, parts joined by dots, or random letters.
pub(super) fn key(value: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-.+/".contains(&b);
    value.trim_end_matches('=').bytes().all(allowed)
        && (uuid(value) || hexadecimal(value) || base64(value) || dotted(value) || random(value))
        && !placeholder(value)
}

/// A value that is no key by itself, but is one where a name says so: shorter, of letters alone, of parts.
pub(super) fn assigned_key(value: &str) -> bool {
    let short = |value: &str| {
        matches!(value.len(), 16 | 20 | 24 | 28) && hex_digits(value) && entropy(value) >= 2.5
    };
    let shaped = || disordered(value) || short(value) || scrambled(value) || joined(value);
    value.len() <= LONGEST && shaped() && !placeholder(value)
}

/// A value that no name is, for places where the word beside it may speak of something else.
pub(super) fn certain(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '_']).collect();
    value.len() >= 20
        && random(value)
        && !placeholder(value)
        && !parts.first().is_some_and(|name| digest(name))
        && !uuid(value)
        && (mixed(value) || digits(value) >= 4)
        && parts.iter().any(|part| part.len() >= 16 && random(part))
}

/// True if the name before a value says that it is the digest of something or the like, which is no secret.
pub(super) fn digest(name: &str) -> bool {
    DIGESTS.contains(&name.to_ascii_lowercase().as_str())
}

/// A value that can be nothing else than a key: longer than names are, or hexadecimal in quotes.
pub(super) fn long_key(value: &str, quoted: bool) -> bool {
    ((quoted && hexadecimal(value)) || (value.len() >= 36 && random(value) && !uuid(value)))
        && !placeholder(value)
}

/// True if the value identifies a client: like a key, but it may be shorter.
pub(super) fn client_id(value: &str) -> bool {
    key(value) || (value.len() == 20 && hex_digits(value) && !placeholder(value))
}

/// A value that a password may have. Without quotes nearly anything follows the word, so more is asked.
pub(super) fn password(value: &str, quoted: bool) -> bool {
    let least = if quoted { 6 } else { 8 };
    let has = |test: fn(&u8) -> bool| value.bytes().any(|b| test(&b));
    let symbol = |b: &u8| b.is_ascii_punctuation() && !b"_-./:".contains(b);
    let letters = has(u8::is_ascii_alphabetic);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if value.len() < least || value.chars().any(char::is_whitespace) {
        return false;
    }
    if value.starts_with(['$', '/', '.', '#', ':', '@', '%', '-', '(', '+', '\\'])
        || value.contains(['(', ')']) && !quoted
    {
        return false;
    }
    let shaped =
        (has(u8::is_ascii_digit) && letters && (quoted || !(compound(value) && named(value))))
            || (quoted
                && value.len() >= 8
                && mixed
                && value.starts_with(|c: char| c.is_ascii_alphanumeric())
                && value.bytes().any(|b| symbol(&b)));
    // What costs most is asked last: a text of nothing but such words has a value at each of them.
    shaped && !placeholder(value)
}

/// A quoted value with a symbol in it that no name, path or address has.
pub(super) fn passphrase(value: &str) -> bool {
    let odd = |c: char| "#!$%^&*~?".contains(c);
    value.len() >= 12
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.contains(odd)
        && !value.contains(|c: char| c.is_whitespace() || "/.:()[]{}<>\"'`,;=".contains(c))
        && !placeholder(value)
}

/// A quoted value of letters, digits and symbols in such disorder that nobody reads it.
pub(super) fn noise(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|b| test(&b));
    value.len() >= 20
        && !value.chars().any(char::is_whitespace)
        && has(u8::is_ascii_alphabetic)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_punctuation)
        && entropy(value) >= 4.0
        && !named(value)
        && !documented(value)
}

fn hex_digits(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_hexdigit())
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Keys are whole words of memory: 32, 40, 48, 64 digits.
pub(super) fn hexadecimal(value: &str) -> bool {
    hex_digits(value) && value.len() >= 32 && value.len().is_multiple_of(8) && entropy(value) >= 2.5
}

fn uuid(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts
            .iter()
            .all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn base64(value: &str) -> bool {
    let body = value.trim_end_matches('=');
    let plain: String = body.replace(['+', '/'], "");
    value.len() >= 20
        && value.len().is_multiple_of(4)
        && plain.len() < value.len()
        && plain.bytes().all(|b| b.is_ascii_alphanumeric())
        && plain.bytes().any(|b| b.is_ascii_uppercase())
        && plain.bytes().any(|b| b.is_ascii_lowercase())
        && random(&plain)
}

/// Letters and digits that change more often than those of a name, in a value that is too short to be sure of it.
pub(super) fn disordered(value: &str) -> bool {
    if !matches!(value.len(), 10..=24) || !value.bytes().all(plain) || reads(value, 7) {
        return false;
    }
    match digits(value) {
        0 => false,
        1 => both_cases(value) && 3 * changes(value) >= value.len(),
        _ => 4 * changes(value) >= value.len() && value.bytes().any(|b| b.is_ascii_alphabetic()),
    }
}

/// Letters with hardly a digit, in an order that no language has, of one case or of both in disorder.
fn scrambled(value: &str) -> bool {
    let strange = |part: &str| {
        part.len() >= 20
            && digits(part) <= 2
            && entropy(part) >= 3.0
            && (!both_cases(part) || 3 * changes(part) >= part.len())
            && !reads(part, 4)
    };
    value.bytes().all(plain) && !hex_digits(value) && value.split(['_', '-']).any(strange)
}

/// Parts joined by symbols, of which one is a key of its own.
fn joined(value: &str) -> bool {
    let symbol = |c: char| c.is_ascii_punctuation() && c != '_' && c != '-';
    let long = |part: &str| part.len() >= 20 && mixed(part);
    !value.contains("://")
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && (value.split(symbol).any(uuid) || value.split(|c| symbol(c) && c != '.').any(long))
}

/// True for a byte that keys are made of.
fn plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

/// Parts of some length tell a token from `s.method` and `v1.name`; beside short ones, one must be longer than a name.
fn dotted(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    let least = if parts.iter().all(|part| part.len() >= 6) {
        16
    } else {
        40
    };
    matches!(parts.len(), 2..=4)
        && parts.iter().any(|part| part.len() >= least && random(part))
        && random(&parts.concat())
}

/// Letters and digits in a disorder that names do not have.
pub(super) fn random(value: &str) -> bool {
    if !value.bytes().all(plain) {
        return false;
    }
    let enough = match digits(value) {
        // Without digits, only a constant change of case tells it from words.
        0 | 1 => value.len() >= 24 && 3 * changes(value) >= value.len(),
        _ => value.len() >= 16 && 8 * changes(value) >= value.len(),
    };
    enough
        && value.bytes().any(|b| b.is_ascii_alphabetic())
        && entropy(value) >= 3.0
        && !hex_digits(value)
        && !named(value)
}

/// The same, in capitals and small letters.
pub(super) fn mixed(value: &str) -> bool {
    random(value) && digits(value) >= 2 && both_cases(value)
}

fn both_cases(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase())
}

fn digits(value: &str) -> usize {
    value.bytes().filter(u8::is_ascii_digit).count()
}

/// Counts the changes of the kind of character, separators left out.
fn changes(value: &str) -> usize {
    let kind = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let kinds: Vec<_> = value
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(kind)
        .collect();
    kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// True if it reads as words, with numbers among them: `parseUtf8FromV2Header`, `build-2024-linux`. A name is not full
/// of digits.
fn named(value: &str) -> bool {
    reads(value, 7) && 4 * digits(value) < value.len()
}

/// True if at least so many twentieths of its pairs of letters are frequent in English. They are two thirds of the
/// pairs in a name, and a tenth of those in a random value.
fn reads(value: &str, twentieths: usize) -> bool {
    let (mut pairs, mut frequent) = (0, 0);
    for pair in value.as_bytes().windows(2) {
        let joined = pair.iter().all(u8::is_ascii_alphabetic) && !starts_word(pair);
        pairs += usize::from(joined);
        frequent += usize::from(joined && FREQUENT[place(pair[0])][place(pair[1])]);
    }
    20 * frequent >= twentieths * pairs.max(3)
}

/// True for each pair of letters that is among those.
static FREQUENT: LazyLock<[[bool; 32]; 32]> = LazyLock::new(|| {
    let mut frequent = [[false; 32]; 32];
    for pair in PAIRS.as_bytes().chunks(3) {
        frequent[place(pair[0])][place(pair[1])] = true;
    }
    frequent
});

/// The position of a letter in the alphabet, whatever its case.
fn place(letter: u8) -> usize {
    usize::from(letter & 31)
}

fn starts_word(pair: &[u8]) -> bool {
    pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
}

/// A name as code writes it: of several words.
fn compound(value: &str) -> bool {
    value.contains(['_', '-', '.']) || value.as_bytes().windows(2).any(starts_word)
}

/// Bits a character.
#[expect(
    clippy::cast_precision_loss,
    reason = "lengths of values, not of the universe"
)]
fn entropy(value: &str) -> f64 {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for c in value.chars() {
        *counts.entry(c).or_default() += 1;
    }
    let total = value.chars().count() as f64;
    counts
        .values()
        .map(|&count| count as f64 / total)
        .map(|share| -share * share.log2())
        .sum()
}
