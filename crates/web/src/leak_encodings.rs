//! The readings of a short text: as it stands, and with the encodings undone in which text is carried out unseen.
//! Separate from the judgement, so that a reading is added without touching what is looked for; and from `redact/view.rs`,
//! because nothing is cut out here: what is looked for is not known beforehand, so whole texts are decoded, without places.

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, Encoding, HEXLOWER};
use percent_encoding::percent_decode_str;

/// Shorter runs carry less than a word.
const SHORTEST_RUN: usize = 16;

/// The text, and everything that it may stand for.
#[must_use]
pub(crate) fn readings(text: &str) -> Vec<String> {
    let mut plain = vec![text.to_owned()];
    for _ in 0..2 {
        let last = plain.last().map_or("", String::as_str);
        let decoded = percent_decode_str(last).decode_utf8_lossy().into_owned();
        if decoded == last {
            break;
        }
        plain.push(decoded);
    }
    let mut all = plain.clone();
    for text in &plain {
        all.push(text.chars().rev().collect());
        all.push(text.chars().map(rot13).collect());
        // Host names cut what they carry into labels, paths into segments.
        let without = |separators: &[char]| text.replace(separators, "");
        for text in [
            text.clone(),
            without(&['.']),
            without(&['.', '-', '/', ' ', '+']),
        ] {
            undo_base64(&text, &mut all);
            undo_base32(&text, &mut all);
            undo_hex(&text, &mut all);
        }
    }
    all
}

fn rot13(c: char) -> char {
    let turned = |first: u8| {
        let offset = (u32::from(c) - u32::from(first) + 13) % 26;
        char::from_u32(u32::from(first) + offset).unwrap_or(c)
    };
    match c {
        'a'..='z' => turned(b'a'),
        'A'..='Z' => turned(b'A'),
        _ => c,
    }
}

/// Decodes both alphabets; a run may begin with something else, so each alignment is tried.
fn undo_base64(text: &str, all: &mut Vec<String>) {
    let in_alphabet = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    for run in runs(text, in_alphabet) {
        let run = run.replace('-', "+").replace('_', "/");
        for start in 0..4 {
            all.extend(undo(&BASE64_NOPAD, &run[start..], 4));
        }
    }
}

fn undo_base32(text: &str, all: &mut Vec<String>) {
    let in_alphabet = |c: char| c.is_ascii_alphabetic() || ('2'..='7').contains(&c);
    for run in runs(text, in_alphabet) {
        all.extend(undo(&BASE32_NOPAD, &run.to_ascii_uppercase(), 8));
    }
}

fn undo_hex(text: &str, all: &mut Vec<String>) {
    for run in runs(text, |c| c.is_ascii_hexdigit()) {
        let run = run.to_ascii_lowercase();
        for start in 0..2 {
            all.extend(undo(&HEXLOWER, &run[start..], 2));
        }
    }
}

/// The whole run, or, where its end is something else, as many groups of it as are complete.
fn undo(encoding: &Encoding, run: &str, group: usize) -> Option<String> {
    let complete = &run.as_bytes()[..run.len() / group * group];
    let bytes = encoding.decode(run.as_bytes());
    let bytes = bytes.or_else(|_| encoding.decode(complete)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn runs(text: &str, inside: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !inside(c))
        .filter(|run| run.len() >= SHORTEST_RUN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::{BASE32, BASE64, BASE64URL_NOPAD};
    use percent_encoding::NON_ALPHANUMERIC;

    const LINE: &str = "return Math.floor(count / size);";

    fn is_read(text: &str) -> bool {
        let squeezed = |text: &str| text.replace(' ', "").to_lowercase();
        let found = |reading: &String| squeezed(reading).contains("math.floor(count/size)");
        readings(text).iter().any(found)
    }

    #[test]
    fn a_line_is_read_in_every_common_encoding() {
        let bytes = LINE.as_bytes();
        let percent = percent_encoding::percent_encode(bytes, NON_ALPHANUMERIC).to_string();
        let twice = percent.replace('%', "%25");
        let base32 = BASE32.encode(bytes).to_lowercase();
        let labels: Vec<&str> = base32
            .as_bytes()
            .chunks(20)
            .map(|chunk| std::str::from_utf8(chunk).unwrap())
            .collect();
        for carried in [
            LINE.to_owned(),
            percent,
            twice,
            BASE64.encode(bytes),
            BASE64URL_NOPAD.encode(bytes),
            format!("xy{}", BASE64URL_NOPAD.encode(bytes)),
            HEXLOWER.encode(bytes),
            HEXLOWER.encode(bytes).to_uppercase(),
            LINE.chars().rev().collect(),
            LINE.chars().map(rot13).collect(),
            format!(
                "https://{}.evil.example/",
                labels.join(".").replace('=', "")
            ),
            format!("https://evil.example/?d={}", BASE64.encode(bytes)),
        ] {
            assert!(is_read(&carried), "{carried}");
        }
    }

    #[test]
    fn any_text_has_readings_and_none_of_them_panics() {
        for text in [
            "",
            "%",
            "%f0%9f",
            "é%zz",
            "aaaaaaaaaaaaaaaaa",
            "\u{fffd}====",
        ] {
            assert_eq!(readings(text)[0], text);
        }
    }
}
