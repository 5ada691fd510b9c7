//! The ways to write a secret that a hostile text may ask for. Separate from the property, because the redactor's own tests
//! go through them, too.

use data_encoding::{BASE32, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use serde_json::Value;

/// A way to write a secret.
type Form = fn(&str) -> String;

/// Every way that is known here, by name.
pub const FORMS: &[(&str, Form)] = &[
    ("raw", str::to_owned),
    ("upper case", str::to_ascii_uppercase),
    ("base64 without padding", |s| {
        BASE64_NOPAD.encode(s.as_bytes())
    }),
    ("base64url", |s| BASE64URL.encode(s.as_bytes())),
    ("base64url without padding", |s| {
        BASE64URL_NOPAD.encode(s.as_bytes())
    }),
    ("base64 twice", |s| {
        BASE64.encode(BASE64.encode(s.as_bytes()).as_bytes())
    }),
    ("base64 backwards", |s| {
        backwards(&BASE64.encode(s.as_bytes()))
    }),
    ("base64 shifted by none", |s| {
        BASE64.encode(format!("{s}&more").as_bytes())
    }),
    ("base64 shifted by one", |s| {
        BASE64.encode(format!("x{s}&more").as_bytes())
    }),
    ("base64 shifted by two", |s| {
        BASE64.encode(format!("xy{s}&more").as_bytes())
    }),
    ("base32", |s| BASE32.encode(s.as_bytes())),
    ("hexadecimal", |s| HEXLOWER.encode(s.as_bytes())),
    ("hexadecimal in capitals", |s| HEXUPPER.encode(s.as_bytes())),
    ("hexadecimal with colons", |s| {
        each(s, |c| format!("{:02x}:", c as u32))
    }),
    ("hexadecimal as in C", |s| {
        each(s, |c| format!("0x{:02X}, ", c as u32))
    }),
    ("decimal", |s| each(s, |c| format!("{},", c as u32))),
    ("URL-encoded", |s| each(s, |c| format!("%{:02X}", c as u32))),
    ("URL-encoded twice", |s| {
        each(s, |c| format!("%25{:02X}", c as u32))
    }),
    ("backwards", backwards),
    ("rot13", rot13),
    ("rot13 in base64", |s| BASE64.encode(rot13(s).as_bytes())),
    ("JSON escapes", |s| {
        each(s, |c| format!("\\u{:04x}", c as u32))
    }),
    ("C escapes", |s| each(s, |c| format!("\\x{:02x}", c as u32))),
    ("JSON", |s| Value::from(s).to_string()),
    ("entities", |s| each(s, |c| format!("&#{};", c as u32))),
    ("hexadecimal entities", |s| {
        each(s, |c| format!("&#x{:x};", c as u32))
    }),
    ("full width", |s| shifted(s, 0xFEE0)),
    ("tags", |s| shifted(s, 0xE0000)),
    ("split by lines", |s| split(s, "\n")),
    ("split by blanks", |s| split(s, " ")),
    ("split by zero-width spaces", |s| split(s, "\u{200B}")),
    ("split by word joiners", |s| split(s, "\u{2060}")),
    ("split by soft hyphens", |s| split(s, "\u{AD}")),
    ("split by tags", |s| split(s, "\u{E0041}")),
    ("split by hyphens", |s| split(s, "-")),
    ("split by dots", |s| split(s, ".")),
    ("split by underscores", |s| split(s, "_")),
    ("split by commas", |s| split(s, ", ")),
    ("split as a sum of strings", |s| split(s, "\" + \"")),
    ("split by escaped line ends", |s| split(s, "\\n")),
    ("split by stars", |s| split(s, "**")),
    ("split by bars", |s| split(s, "|")),
];

fn each(text: &str, form: impl Fn(char) -> String) -> String {
    text.chars().map(form).collect()
}

fn split(text: &str, separator: &str) -> String {
    each(text, |c| format!("{c}{separator}"))
}

fn shifted(text: &str, by: u32) -> String {
    let shift = |c: char| char::from_u32(c as u32 + by).unwrap_or(c);
    text.chars().map(shift).collect()
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

fn rot13(text: &str) -> String {
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        _ => c,
    };
    text.chars().map(turn).collect()
}
