//! Text that leaves: of a run's own secrets nothing is left, in whatever encoding they stand in whatever text; and
//! cleaning twice is cleaning once.

use super::draw::Draw;
use super::forms::FORMS;
use reviewer_text::redact::Redactor;
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

/// What a form leaves once separators are gone, for the eye of an attacker. Other letters are no separators.
fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.collect::<String>().to_lowercase()
}
