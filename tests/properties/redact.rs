//! Text that leaves: of a run's own secrets nothing is left, in whatever encoding they stand in whatever text; and
//! cleaning twice is cleaning once.

use super::draw::Draw;
use crate::redact::Redactor;
use data_encoding::{BASE32, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use secrecy::SecretString;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Pieces that make rules meet.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "token", "password", "secret", "api_key", "client_id", "key", "bearer ", "authorization", "=", ": ", ":", "'", "\"", "`", " ",
    "\n", "-", ".", "_", ",", ";", "ghp_", "ghs_1_eyJ", "eyJ", "AKIA", "://", "@", "sk-", "sk-ant-", "xoxb-", "AIza",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[redacted: ", "[redacted: secret of this run]", "redacted",
    "]", "é", "\u{200B}", "\u{AD}", "\u{301}", "\u{E0041}", "ａ", "\u{1D41A}", "%", "%25", "%41", "\\", "\\n", "\\u{", "\\u0041",
    "\\x41", "&#", "&#65;", "&amp;", "0x", "0x41, ", "q7Zt0Xw3Lr9Vb5Ns1Kd8", "Yg4Pf6Hm2Jc0Tu7Ea3Ri", "9f86d081884c7d659a2feaa0c55ad015",
    "c55dbac4-e0e8-4a06-b892-75cac2387ce5", "Q3ZTB7WXLR5VNS2K", "<", ">", "{", "}", "(", "$", "curl -u a:", "user:",
    "default", "add key=\"", "value=\"", "arn:aws:iam::123456789012:", "machine a login b password ", "-u ", "/", "+",
    "acme_key = ", "cache key ", " is ", "--token ", "acme_live_", "12|", "heroku", "value", "||", "aB3xK9mQ2w",
];

/// Letters that keys are made of.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+/=.~-";

/// Making a redactor costs more than using it; most inputs take one of these.
static KNOWN: LazyLock<Vec<(String, Redactor)>> = LazyLock::new(|| {
    let secrets = [
        "mk-Q7zt0Xw3_Lr9Vb5Ns1Kd8/Yg4Pf6+Hm2Jc0",
        "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
        "q7Zt0Xw3Lr9Vb5",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "a1B2~c3D4=e5F6+",
        "aZ9aZ9aZ9aZ9aZ9aZ9X",
        "runQ7x2kT",
    ];
    let known = secrets.map(|secret| (secret.to_owned(), redactor(secret)));
    known.into()
});

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let choice = draw.byte();
    let fresh;
    let (secret, redactor) = if choice % 32 == 31 {
        let secret = secret(&mut draw);
        fresh = (secret.clone(), redactor(&secret));
        &fresh
    } else {
        &KNOWN[usize::from(choice) % KNOWN.len()]
    };
    let (name, form) = draw.pick(FORMS);
    let form = form(secret);
    let (before, after) = (draw.text(PIECES), draw.text(PIECES));
    let text = format!("{before} {form} {after}");
    let cleaned = any_text(redactor, &text);
    assert!(
        !cleaned.contains(&form),
        "{name}: {text:?} became {cleaned:?}"
    );
    let left = bare(&cleaned).contains(&bare(secret));
    assert!(!left, "{name}: {text:?} became {cleaned:?}");
    let own = redactor.clean_own(&text);
    assert!(!own.contains(&form), "{name}: {text:?} became {own:?}");
}

/// What holds whether there is a secret in the text or not. Returns the cleaned text.
fn any_text(redactor: &Redactor, text: &str) -> String {
    let cleaned = redactor.clean_counted(text);
    let untouched = matches!(cleaned.text, Cow::Borrowed(_));
    assert_eq!(untouched, cleaned.counts.is_empty(), "{text:?}");
    assert_eq!(cleaned.text == text, untouched, "{text:?}");
    assert!(cleaned.text.len() <= 16 * text.len() + 64, "{text:?}");
    let once = Value::Array(vec![cleaned.text.clone().into()]);
    assert_eq!(redactor.clean_value(once.clone()), once, "{text:?}");
    cleaned.text.into_owned()
}

fn redactor(secret: &str) -> Redactor {
    Redactor::new(&[SecretString::from(secret)])
}

/// Long enough and mixed enough for every part that is cut off to leave something to be known by.
fn secret(draw: &mut Draw<'_>) -> String {
    let mut secret = String::new();
    for _ in 0..8 + draw.below(40) {
        secret.push(char::from(draw.pick(LETTERS)));
    }
    secret + "q7Zt0Xw35B"
}

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

/// What a form leaves once separators are gone, for the eye of an attacker. Other letters are no separators.
fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.collect::<String>().to_lowercase()
}
