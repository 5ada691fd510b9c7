//! Bytes as text: UTF-8 with odd bytes spelled out, and text that git calls binary, which is UTF-16 or has NUL bytes in it.
//! What reads as code to a person or an interpreter must not pass as data.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use std::fmt::Write as _;

/// The text of a file that holds NUL bytes; `None` where it is no text. Bytes of no encoding are spelled `\xNN`.
#[must_use]
pub fn decoded(bytes: &[u8]) -> Option<String> {
    let known = infer::get(bytes).map(|kind| kind.matcher_type());
    if known.is_some_and(|kind| kind != infer::MatcherType::Text) {
        return None;
    }
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] if !is_ascii_in_pairs(rest) => utf16(UTF_16LE, rest),
        [0xfe, 0xff, rest @ ..] if !is_ascii_in_pairs(rest) => utf16(UTF_16BE, rest),
        _ if is_ascii_in_pairs(bytes) => mostly_utf8(bytes),
        _ => unmarked_utf16(bytes).or_else(|| mostly_utf8(bytes)),
    };
    text.filter(|text| is_text(text))
}

/// True if a part of it that could do something is ASCII: two such bytes in a row, which UTF-16 has as one rare
/// character. Padding with NUL bytes must not make code look like another script.
fn is_ascii_in_pairs(bytes: &[u8]) -> bool {
    let is_ascii = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte == b'\n';
    let pairs = bytes
        .windows(2)
        .filter(|pair| is_ascii(pair[0]) && is_ascii(pair[1]));
    pairs.count() >= 4
}

/// UTF-16 without a mark at its beginning: of code, a good part is ASCII, and has a NUL as every other byte.
fn unmarked_utf16(bytes: &[u8]) -> Option<String> {
    let zeros = |at: usize| bytes.chunks_exact(2).filter(|pair| pair[at] == 0).count();
    let (big, little) = (zeros(0), zeros(1));
    let most = big.max(little);
    if most * 20 < bytes.len() * 3 {
        return None;
    }
    let encoding = if little > big { UTF_16LE } else { UTF_16BE };
    utf16(encoding, bytes).filter(|text| is_text(text))
}

fn utf16(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    Some(text.into_owned())
}

/// UTF-8 as far as it is; bytes of another encoding are spelled `\xNN`, so that two names with such bytes stay two names.
#[must_use]
pub fn utf8_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn mostly_utf8(bytes: &[u8]) -> Option<String> {
    let odd: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (odd * 10 <= bytes.len()).then(|| utf8_text(bytes))
}

/// True if most of it is text that people write. NUL bytes count neither way: padding must not turn code into data.
fn is_text(text: &str) -> bool {
    let (mut plain, mut odd) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| *c != '\0') {
        let written = c.is_ascii_graphic() || c.is_ascii_whitespace() || c.is_alphanumeric();
        *(if written { &mut plain } else { &mut odd }) += 1;
    }
    plain > odd * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str, to: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to).collect()
    }

    #[test]
    fn text_is_read_in_every_encoding_that_git_calls_binary() {
        let code = "if (a) {\n  steal(\"ä\");\n}\n";
        let (little, big) = (wide(code, u16::to_le_bytes), wide(code, u16::to_be_bytes));
        let with_mark = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            little.clone(),
            big.clone(),
            with_mark(&[0xff, 0xfe], &little),
            with_mark(&[0xfe, 0xff], &big),
        ] {
            assert_eq!(decoded(&bytes).as_deref(), Some(code), "{bytes:?}");
        }
        assert_eq!(decoded(b"a();\0\n").as_deref(), Some("a();\0\n"));
        assert_eq!(
            decoded(b"# caf\xe9 and more\0\n").as_deref(),
            Some("# caf\\xe9 and more\0\n")
        );
        for code in ["rm -rf x\n", "rm -rf xy\n"] {
            for mark in [&b""[..], b"\xff\xfe", b"\xfe\xff"] {
                let padded = [mark, code.as_bytes(), &[0; 64]].concat();
                assert!(
                    decoded(&padded).is_some_and(|text| text.contains(code)),
                    "{padded:?}"
                );
            }
        }
    }

    #[test]
    fn data_is_no_text() {
        let noise: Vec<u8> = (0_u32..4096)
            .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
            .collect();
        for bytes in [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\x20\0\0\x02\x58\x08\x06\0\0\0\x9a\x76\x82\x70"
                .as_slice(),
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0",
            b"\0\x01\x02",
            b"\0\0\0\0",
            b"",
            &noise,
        ] {
            assert_eq!(decoded(bytes), None, "{bytes:?}");
        }
    }
}
