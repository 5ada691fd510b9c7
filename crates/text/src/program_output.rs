//! The output of a program as plain text: no colours, no cursor moves, no characters that a reader cannot see.

use crate::hidden::{is_hidden, is_line_break};

/// The text of an output. A line that was written over keeps what was written last.
#[must_use]
pub fn plain_output(bytes: &[u8]) -> String {
    let text = without_sequences(&String::from_utf8_lossy(bytes));
    let lines = text.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        let last = line.rsplit('\r').next().unwrap_or_default();
        let shown = last.chars().filter_map(|c| match c {
            '\t' => Some('\t'),
            c if is_line_break(c) => Some(' '),
            c => (!is_hidden(c)).then_some(c),
        });
        shown.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The last part of a text, at most so many bytes, from the beginning of a line on if there is one.
#[must_use]
pub fn last_part(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let part = &text[text.ceil_char_boundary(text.len() - bytes)..];
    part.split_once('\n').map_or(part, |(_, whole)| whole)
}

/// Leaves out what a terminal obeys: `ESC [ … letter`, `ESC ] … BEL`, and an escape with the character behind it.
fn without_sequences(text: &str) -> String {
    const ESCAPE: char = '\u{1b}';
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != ESCAPE {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => {
                while chars
                    .peek()
                    .is_some_and(|c| !matches!(*c, '\u{7}' | ESCAPE | '\n'))
                {
                    chars.next();
                }
            }
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_what_cannot_be_seen_are_left_out() {
        let output = b"\x1b[1;31merror\x1b[0m: x\r\n 10%\r 50%\rdone\r\n\x1b]0;title\x07a\tb\xe2\x80\xae\xff\0c\n";
        assert_eq!(plain_output(output), "error: x\ndone\na\tb\u{fffd}c\n");
        assert_eq!(plain_output(b"\x1b["), "");
        assert_eq!(plain_output(b"\x1b]0;never ends\nnext"), "\nnext");
    }

    #[test]
    fn the_last_part_begins_with_a_line() {
        assert_eq!(last_part("short", 16), "short");
        assert_eq!(last_part("first\nsecond\nthird", 9), "third");
        assert_eq!(last_part("äöü", 3), "ü");
    }
}
