//! Secrets that are known by the word beside them: `password = "…"`, `"api_key": "…"`, `--token …`. Separate from
//! shapes, because here the value must be judged: most of what stands beside such a word is code.

use super::shapes::compiled;
use super::{Hit, Kind, Source, judge};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Longer values are not read to their end; what a person assigns is shorter.
const LONGEST: usize = 1024;

/// The words, by what may stand beside them. The longer ones of the same kind first: the rest of the name follows.
const WORDS: &[(&str, &str)] = &[
    ("password", r"passw(?:or)?d|passphrase|passcode|pwd|_pass\b"),
    ("client", r"client[_-]?id|reporter[_-]?id"),
    ("secret", r"secret(?:[ _-](?:access[ _-])?key)?"),
    (
        "key",
        r"(?:api|access|auth|private|signing|encryption|account|license|device|preshared|master|service|server|write|read|admin|integration|consumer|app|subscription|storage)[ _-]?key|token|_pat\b|\bpat\b|credential|apikey|_api\b|sonar\.login|\bappid",
    ),
    // Other keys are often names of entries: only what is too long for one counts.
    ("other", r"\wkey\b|[._-]key\b"),
];

/// What stands between the name and the value, on one line or as the parts of a call.
const BETWEEN: &str = r#"(?:\\*["'`\])]{0,3}\s{0,20}(?:::?=|=>|==?|:|,|>|\{\s{0,20}default\s{0,20}=)\s{0,40}|\s{1,4}(?:is\s|was\s)?)"#;

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let words: Vec<String> = WORDS
        .iter()
        .map(|(name, words)| format!("(?P<{name}>{words})"))
        .collect();
    compiled(&format!(
        r#"(?i)(?:{})[\w.-]{{0,32}}(?P<between>{BETWEEN})(?P<quote>\\*["'`]?)"#,
        words.join("|")
    ))
});

/// Adds every value that the word before it makes a secret.
pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    for captures in PATTERN.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        let group = |name: &str| captures.name(name).map_or("", |group| group.as_str());
        let quote = group("quote").chars().last();
        let span = value(text, whole.end(), quote);
        let value = &text[span.clone()];
        let assigned = !group("between").trim_end_matches("is ").trim().is_empty();
        let kind = if captures.name("password").is_some() {
            (assigned && judge::password(value, quote.is_some())).then_some(Kind("password"))
        } else if captures.name("client").is_some() {
            judge::client_id(value).then_some(Kind("client id"))
        } else if captures.name("other").is_some() {
            judge::long_key(value, quote.is_some()).then_some(Kind("key or token"))
        } else {
            let secret = captures.name("secret").is_some();
            let noise =
                secret && quote.is_some() && (judge::noise(value) || judge::passphrase(value));
            let label = if secret { "secret" } else { "key or token" };
            (judge::key(value) || noise).then_some(Kind(label))
        };
        if let Some(kind) = kind {
            hits.push(Hit {
                span,
                kind,
                source: Source::Context,
            });
        }
    }
}

/// From here to the closing quote, or to what ends a bare word.
fn value(text: &str, start: usize, quote: Option<char>) -> Range<usize> {
    let ends = |c: char| match quote {
        Some(quote) => c == quote || c == '\n',
        None => c.is_whitespace() || "\"'`<>(){}[],;&|\\".contains(c),
    };
    let rest = &text[start..];
    let length = rest
        .char_indices()
        .take(LONGEST)
        .find(|(_, c)| ends(*c))
        .map_or_else(
            || {
                rest.char_indices()
                    .nth(LONGEST)
                    .map_or(rest.len(), |(at, _)| at)
            },
            |(at, _)| at,
        );
    let escaped = rest[..length].trim_end_matches('\\').len();
    start..start + if quote.is_some() { escaped } else { length }
}
