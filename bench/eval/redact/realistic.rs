//! Puts a realistic secret of the same shape in the place of a published one. Separate from the counting, because it
//! knows no rule: published examples count up or repeat, and what a rule does to them says little about real ones.

use sha2::{Digest, Sha256};

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
/// Rows of a keyboard.
const ROWS: [&[u8]; 4] = [b"1234567890", b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];
/// So many characters in a row that follow each other do not stand in a realistic secret.
const RUN: usize = 4;
/// Many services begin their tokens with fixed characters: so many stay in secrets of at least `LONG`.
const STEM: usize = 4;
const LONG: usize = 20;
/// Longer runs of letters are not taken for a fixed word.
const WORD: usize = 18;

/// A secret with the same separators and words. Every other run of letters and digits is drawn anew from its own
/// alphabet. The draw depends on nothing but the secret and the number.
pub(super) fn realistic(secret: &str, number: u8) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(secret.len());
    let mut draw = Draw::new(secret, number);
    let stem = if secret.len() >= LONG { STEM } else { 0 };
    for run in runs(secret.as_bytes()) {
        if !run[0].is_ascii_alphanumeric() || fixed(run, secret.len()) {
            out.extend_from_slice(run);
            continue;
        }
        let kept = stem.saturating_sub(out.len()).min(run.len());
        let (head, rest) = run.split_at(if follows(&run[..kept]) { 0 } else { kept });
        out.extend_from_slice(head);
        let alphabet = alphabet(rest);
        for _ in rest {
            out.push(draw.next(&alphabet, &out));
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Stretches of letters and digits, and the stretches between them.
fn runs(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric())
}

/// Whether it is a word or a version within a longer secret: `live`, `PRIVATE`, `v1`, `api03`.
fn fixed(run: &[u8], whole: usize) -> bool {
    let digits = run.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let letters = &run[..run.len() - digits.count()];
    let longest = if letters.len() == run.len() { WORD } else { 6 };
    !letters.is_empty()
        && letters.iter().all(u8::is_ascii_alphabetic)
        && (run.len() <= longest && run.len() < whole)
        && !(run.len() >= RUN && run.iter().all(u8::is_ascii_hexdigit))
        && !run.windows(RUN).any(follows)
}

/// Whether each character follows the one before it: in the alphabet, on the keyboard in either direction, or by
/// being the same.
fn follows(run: &[u8]) -> bool {
    let place = |byte: u8| {
        let lower = byte.to_ascii_lowercase();
        let column = |row: &&[u8]| row.iter().position(|&key| key == lower);
        let row = ROWS.iter().position(|row| row.contains(&lower))?;
        Some((row, column(&ROWS[row])?))
    };
    let neighbours = |a: u8, b: u8| match (place(a), place(b)) {
        (Some((row, column)), Some((other, next))) => row == other && column.abs_diff(next) == 1,
        _ => false,
    };
    let all = |test: &dyn Fn(u8, u8) -> bool| run.windows(2).all(|pair| test(pair[0], pair[1]));
    let (lower, next) = (
        |b: u8| b.to_ascii_lowercase(),
        |b: u8| b.to_ascii_lowercase().wrapping_add(1),
    );
    run.len() >= RUN
        && (all(&|a, b| lower(a) == lower(b))
            || all(&|a, b| next(a) == lower(b))
            || all(&neighbours))
}

/// What a run is made of: hexadecimal digits of one case, or the kinds of characters that are in it.
fn alphabet(run: &[u8]) -> Vec<u8> {
    let has = |set: &[u8]| run.iter().any(|byte| set.contains(byte));
    let hexadecimal = run.iter().all(u8::is_ascii_hexdigit) && has(LOWER) != has(UPPER);
    let letters = if hexadecimal { 6 } else { 26 };
    let parts = [(LOWER, letters), (UPPER, letters), (DIGITS, 10)];
    let present = parts.into_iter().filter(|(set, _)| has(set));
    present
        .flat_map(|(set, length)| &set[..length])
        .copied()
        .collect()
}

/// Bytes that follow from a secret and a number.
struct Draw {
    block: [u8; 32],
    at: usize,
}

impl Draw {
    fn new(secret: &str, number: u8) -> Self {
        let block = Sha256::new().chain_update([number]).chain_update(secret);
        Self {
            block: block.finalize().into(),
            at: 0,
        }
    }

    fn byte(&mut self) -> usize {
        if self.at == self.block.len() {
            self.block = Sha256::digest(self.block).into();
            self.at = 0;
        }
        self.at += 1;
        usize::from(self.block[self.at - 1])
    }

    /// A character that makes no run with those before it. An alphabet of one character has no other choice.
    fn next(&mut self, alphabet: &[u8], before: &[u8]) -> u8 {
        let tail = &before[before.len().saturating_sub(RUN - 1)..];
        let first = self.byte();
        let choice = |offset: usize| alphabet[(first + offset) % alphabet.len()];
        let runs_on = |&byte: &u8| follows(&[tail, &[byte]].concat());
        (0..alphabet.len())
            .map(choice)
            .find(|byte| !runs_on(byte))
            .unwrap_or(alphabet[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realistic_secret_has_the_shape_of_the_published_one() {
        for (secret, shape) in [
            ("acme_live_abcdefgh12345678", "acme_live_****************"),
            ("01234567-89ab-cdef-0123-456789abcdef", "0000-"),
            (
                "-----BEGIN PRIVATE KEY-----\nabcd1234ABCD/+==",
                "-----BEGIN PRIVATE KEY-----\n",
            ),
            ("hunter2", ""),
        ] {
            let drawn = realistic(secret, 0);
            let prefix: String = shape.chars().take_while(|c| !"*0".contains(*c)).collect();
            assert!(drawn.starts_with(&prefix), "{drawn}");
            assert_eq!(drawn.len(), secret.len());
            assert_ne!(drawn, secret);
            for (a, b) in drawn.bytes().zip(secret.bytes()) {
                assert_eq!(
                    a.is_ascii_alphanumeric(),
                    b.is_ascii_alphanumeric(),
                    "{drawn}"
                );
            }
            assert_eq!(drawn, realistic(secret, 0), "each time the same");
            assert_ne!(drawn, realistic(secret, 1), "each number another");
        }
        let uuid = realistic("01234567-89ab-cdef-0123-456789abcdef", 3);
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-');
        assert!(uuid.bytes().all(hex), "{uuid}");
        assert!(
            realistic("123456789012", 0)
                .bytes()
                .all(|b| b.is_ascii_digit())
        );
    }

    #[test]
    fn no_four_characters_follow_each_other() {
        for run in [
            "abcd", "4567", "AbCd", "aaaa", "7777", "qwer", "rewq", "lkjh", "9876",
        ] {
            assert!(follows(run.as_bytes()), "{run}");
        }
        for run in ["abc", "abce", "qwet", "acaz", "1357"] {
            assert!(!follows(run.as_bytes()), "{run}");
        }
        for number in 0..50 {
            let drawn = realistic("0000000000000000000000000000000000000000", number);
            assert!(!drawn.as_bytes().windows(RUN).any(follows), "{drawn}");
        }
    }
}
