//! Text as a search for secrets sees it: look-alikes folded, invisible characters gone, escapes undone, each byte with
//! the place that it came from. Separate, because it is about writing and knows no secret. Its escapes are not those of
//! `web/decode.rs`: here each byte keeps its place, so that a secret can be cut out, and base64 is undone nowhere, because
//! the secret is known and is encoded instead (`own.rs`).

use crate::hidden::{is_hidden, is_selector, tagged_ascii};
use std::ops::Range;

/// A byte that means something, and the stretch of the original that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Letter {
    byte: u8,
    start: usize,
    end: usize,
}

/// One way to read a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading(Vec<Letter>);

/// A reading reduced to the bytes that are searched, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    letters: Vec<Letter>,
}

impl View {
    /// Maps a range of the view to the original.
    pub fn place(&self, span: &Range<usize>) -> Range<usize> {
        let inside = &self.letters[span.clone()];
        let start = inside.iter().map(|letter| letter.start).min();
        let end = inside.iter().map(|letter| letter.end).max();
        start.unwrap_or_default()..end.unwrap_or_default()
    }
}

impl Reading {
    /// The text as written.
    pub fn new(text: &str) -> Self {
        let mut letters = Vec::with_capacity(text.len());
        for (start, c) in text.char_indices() {
            let end = start + c.len_utf8();
            push(&mut letters, fold(c), start, end);
        }
        Self(letters)
    }

    /// The text without tags, which may spell a secret or stand between its letters; `None` where there are none.
    pub(crate) fn without_tags(text: &str) -> Option<Self> {
        let is_tag = |start: usize| text[start..].starts_with(|c| tagged_ascii(c).is_some());
        let mut reading = Self::new(text);
        let all = reading.0.len();
        reading.0.retain(|letter| !is_tag(letter.start));
        (reading.0.len() < all).then_some(reading)
    }

    /// The text with one layer of escapes undone; `None` where there are none.
    pub(crate) fn decoded(&self) -> Option<Self> {
        let mut letters = Vec::with_capacity(self.0.len());
        let mut at = 0;
        while let Some(&letter) = self.0.get(at) {
            if let Some((value, length)) = self.escape(at) {
                let end = self.0[at + length - 1].end;
                match value {
                    Escaped::Byte(byte) => letters.push(Letter {
                        byte,
                        start: letter.start,
                        end,
                    }),
                    Escaped::Char(c) => push(&mut letters, fold(c), letter.start, end),
                    Escaped::Nothing => {}
                }
                at += length;
            } else {
                letters.push(letter);
                at += 1;
            }
        }
        (letters.len() < self.0.len()).then_some(Self(letters))
    }

    /// Letters and digits only: whatever separates the pieces of a secret falls away.
    pub(crate) fn words(&self) -> View {
        self.view(|byte| byte.is_ascii_alphanumeric())
    }

    /// All that is visible, for secrets that consist of symbols.
    pub(crate) fn symbols(&self) -> View {
        self.view(|byte| !byte.is_ascii_whitespace() && !byte.is_ascii_control())
    }

    fn view(&self, keep: impl Fn(u8) -> bool) -> View {
        let kept = self.0.iter().filter(|letter| keep(letter.byte));
        let letters: Vec<Letter> = kept.copied().collect();
        View {
            bytes: letters
                .iter()
                .map(|letter| letter.byte.to_ascii_lowercase())
                .collect(),
            letters,
        }
    }

    fn bytes(&self, at: usize, length: usize) -> Option<Vec<u8>> {
        let letters = self.0.get(at..at.checked_add(length)?)?;
        Some(letters.iter().map(|letter| letter.byte).collect())
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.0.get(at).map(|letter| letter.byte)
    }

    fn number(&self, at: usize, length: usize, radix: u32) -> Option<u32> {
        let digits = String::from_utf8(self.bytes(at, length)?).ok()?;
        digits
            .bytes()
            .all(|b| b.is_ascii_alphanumeric())
            .then(|| u32::from_str_radix(&digits, radix).ok())
            .flatten()
    }

    /// Decodes an escape that starts here, and returns its length, too.
    fn escape(&self, at: usize) -> Option<(Escaped, usize)> {
        match self.byte(at)? {
            b'%' => Some((Escaped::of_byte(self.number(at + 1, 2, 16)?), 3)),
            b'\\' => self.backslash(at),
            b'&' => self.entity(at),
            // "0x67, 0x68": only the prefix goes, the digits are found as hexadecimal.
            b'0' if matches!(self.byte(at + 1)?, b'x' | b'X') => {
                self.number(at + 2, 2, 16)?;
                Some((Escaped::Nothing, 2))
            }
            _ => None,
        }
    }

    fn backslash(&self, at: usize) -> Option<(Escaped, usize)> {
        let value = match self.byte(at + 1)? {
            b'n' | b'r' | b't' | b'b' | b'f' => (Escaped::Nothing, 2),
            b'x' => (Escaped::of_byte(self.number(at + 2, 2, 16)?), 4),
            b'u' if self.byte(at + 2)? == b'{' => {
                let length = (1..=6).find(|n| self.byte(at + 3 + n) == Some(b'}'))?;
                let c = char::from_u32(self.number(at + 3, length, 16)?)?;
                (Escaped::Char(c), length + 4)
            }
            b'u' => (
                Escaped::Char(char::from_u32(self.number(at + 2, 4, 16)?)?),
                6,
            ),
            _ => (Escaped::Nothing, 1),
        };
        Some(value)
    }

    fn entity(&self, at: usize) -> Option<(Escaped, usize)> {
        let length = (2..=9).find(|n| self.byte(at + n) == Some(b';'))?;
        let name = self.bytes(at + 1, length - 1)?;
        let c = match name.as_slice() {
            b"amp" => '&',
            b"lt" => '<',
            b"gt" => '>',
            b"quot" => '"',
            b"apos" => '\'',
            b"nbsp" => ' ',
            [b'#', b'x' | b'X', ..] => char::from_u32(self.number(at + 3, length - 3, 16)?)?,
            [b'#', ..] => char::from_u32(self.number(at + 2, length - 2, 10)?)?,
            _ => return None,
        };
        Some((Escaped::Char(c), length + 1))
    }
}

enum Escaped {
    Byte(u8),
    Char(char),
    Nothing,
}

impl Escaped {
    fn of_byte(value: u32) -> Self {
        u8::try_from(value).map_or(Self::Nothing, Self::Byte)
    }
}

fn push(letters: &mut Vec<Letter>, c: Option<char>, start: usize, end: usize) {
    let Some(c) = c else { return };
    let mut buffer = [0; 4];
    for byte in c.encode_utf8(&mut buffer).bytes() {
        letters.push(Letter { byte, start, end });
    }
}

/// The character that a reader takes it for; `None` for what nobody sees.
fn fold(c: char) -> Option<char> {
    if c.is_ascii_graphic() {
        return Some(c);
    }
    if let Some(letter) = tagged_ascii(c) {
        return Some(letter);
    }
    if c.is_whitespace() {
        return Some(' ');
    }
    if is_hidden(c) || is_selector(c) {
        return None;
    }
    let code = u32::from(c);
    let ascii = |code: u32| char::from_u32(code);
    match code {
        // Combining marks change how a letter looks, not which it is.
        0x0300..=0x036F => None,
        // Full width.
        0xFF01..=0xFF5E => ascii(code - 0xFF01 + 0x21),
        // Circled letters.
        0x24B6..=0x24CF => ascii(code - 0x24B6 + u32::from(b'A')),
        0x24D0..=0x24E9 => ascii(code - 0x24D0 + u32::from(b'a')),
        // Mathematical alphabets: thirteen of 52 letters, then five times ten digits.
        0x1D400..=0x1D6A3 => match (code - 0x1D400) % 52 {
            upper @ 0..26 => ascii(u32::from(b'A') + upper),
            lower => ascii(u32::from(b'a') + lower - 26),
        },
        0x1D7CE..=0x1D7FF => ascii(u32::from(b'0') + (code - 0x1D7CE) % 10),
        _ => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(reading: &Reading) -> String {
        String::from_utf8(reading.words().bytes).unwrap()
    }

    #[test]
    fn whatever_separates_letters_falls_away() {
        for text in [
            "a-B c.1",
            "a\u{200B}b\u{E0001}\u{FE0F}c\n1",
            "ａＢｃ１",
            "\u{E0061}\u{E0042}\u{E0063}\u{E0031}",
            "\u{1D41A}\u{1D401}\u{24D2}\u{1D7CF}",
            "\u{24B6}b\u{0301}c\u{1D7D9}",
        ] {
            assert_eq!(words(&Reading::new(text)), "abc1", "{text:?}");
        }
    }

    #[test]
    fn whatever_is_hidden_falls_away_or_is_a_tag() {
        let is_nothing = |c: &char| {
            let hidden = is_hidden(*c) || is_selector(*c);
            hidden && tagged_ascii(*c).is_none()
        };
        for c in ('\0'..=char::MAX).filter(is_nothing) {
            let reading = Reading::new(&format!("a{c}b{c}{c}c{c}1"));
            assert_eq!(words(&reading), "abc1", "{c:?}");
            assert_eq!(reading.symbols().bytes, b"abc1", "{c:?}");
        }
    }

    #[test]
    fn escapes_are_undone_one_layer_at_a_time() {
        for (text, once) in [
            ("%61bc%31", "abc1"),
            (r"\x61\u0062\u{63}\u{000031}", "abc1"),
            ("&#97;&#x62;&#X63;&amp;1", "abc1"),
            (r#"a\"b\nc\\1"#, "abc1"),
            ("0x61, 0x62", "6162"),
            ("%2561b%32", "61b2"),
        ] {
            let decoded = Reading::new(text).decoded().unwrap();
            assert_eq!(words(&decoded), once, "{text}");
        }
        let twice = Reading::new("%2561").decoded().unwrap().decoded().unwrap();
        assert_eq!(words(&twice), "a");
        for plain in ["abc 100%", "a & b; c", "%zz", "&nothing;", "0x", "0xzz", ""] {
            assert_eq!(Reading::new(plain).decoded(), None, "{plain}");
        }
    }

    #[test]
    fn a_broken_escape_stays_text() {
        for text in [
            r"\u12",
            r"\u{zz}",
            r"\u{1234567}",
            r"\xz1",
            "&#xD800;",
            "&#;",
        ] {
            let reading = Reading::new(text);
            assert_eq!(reading.decoded(), None, "{text}");
        }
        assert_eq!(Reading::new("%+1").decoded(), None);
    }

    #[test]
    fn every_letter_knows_where_it_came_from() {
        let text = "é %41-\u{200B}ｂ";
        let view = Reading::new(text).decoded().unwrap().words();
        assert_eq!(view.bytes, b"ab");
        let place = |span| &text[view.place(&span)];
        assert_eq!(place(0..1), "%41");
        assert_eq!(place(1..2), "ｂ");
        assert_eq!(place(0..2), "%41-\u{200B}ｂ");
    }

    #[test]
    fn tags_are_letters_or_nothing() {
        let text = "a\u{E0062}c";
        assert_eq!(words(&Reading::new(text)), "abc");
        assert_eq!(words(&Reading::without_tags(text).unwrap()), "ac");
        assert_eq!(Reading::without_tags("a\u{200B}c"), None);
    }

    #[test]
    fn symbols_stay_where_they_are_asked_for() {
        let view = Reading::new("A$\u{200B}é\t!\u{7}").symbols();
        assert_eq!(view.bytes, "a$é!".as_bytes());
    }
}
