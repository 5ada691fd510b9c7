//! Secrets that are known by a word near them in the same line, in whatever order: `the key of production (…)`,
//! `connect(…) // token`. Separate from context, because nothing says which value the word speaks of, and only what can
//! be nothing else counts.

use super::secret_shapes::{compiled, goes_on};
use super::{Hit, SecretKind, Source, judge};
use regex::Regex;
use std::sync::LazyLock;

/// The distance at which a word still makes a value a secret.
const REACH: usize = 80;

/// Words that speak of a secret. The replacement of a secret contains none of them.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\[redacted: [a-z ]{1,40}\]|(?:api|access|auth|private|secret|signing|service|account)[ _-]?keys?\b|tokens?\b|secrets?\b|passw(?:or)?ds?\b|credentials?\b|authorization|bearer",
    )
});

static VALUES: LazyLock<Regex> = LazyLock::new(|| compiled(r"[A-Za-z0-9_-]{16,}"));

/// Between a word and a plain number or identifier, these say what else it is.
static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)commit|request|\bid\b|[_-]id\b|uuid|guid|hash|digest|checksum|\bsha|trace|session|user|object|revision|build|version|public",
    )
});

/// Adds every value that a word near it makes a secret.
pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    let ours = |word: &regex::Match<'_>| word.as_str().starts_with('[');
    let words: Vec<_> = WORDS.find_iter(text).filter(|word| !ours(word)).collect();
    if words.is_empty() {
        return;
    }
    for value in VALUES.find_iter(text) {
        let before = &text[..value.start()];
        let rest = &text[value.end()..];
        if before.ends_with(['/', '+', '@', '#', '.', '$', '%']) || goes_on(rest) {
            continue;
        }
        let next = words.partition_point(|word| word.end() <= value.start());
        let last = next.checked_sub(1).and_then(|at| words.get(at));
        let ahead = last.and_then(|word| text.get(word.end()..value.start()));
        let behind = words[next..]
            .iter()
            .find(|word| word.start() >= value.end());
        let behind = behind.and_then(|word| text.get(value.end()..word.start()));
        let value_is = |test: fn(&str) -> bool| test(value.as_str());
        let near = [ahead, behind].into_iter().flatten().any(reaches);
        let secret = near && value_is(judge::certain)
            || ahead.is_some_and(|gap| reaches(gap) && leads(gap))
                && (value_is(judge::key) || value_is(judge::assigned_key));
        if secret {
            hits.push(Hit {
                span: value.range(),
                kind: SecretKind("key or token"),
                source: Source::Context,
            });
        }
    }
}

/// True if the text between a word and a value leaves them in one line, and nothing in it was removed already.
fn reaches(gap: &str) -> bool {
    gap.len() <= REACH && !gap.contains('\n') && !gap.contains("[redacted: ")
}

/// True if the text between them says that the word speaks of the value.
fn leads(gap: &str) -> bool {
    let said = gap.trim_end_matches(['"', '\'', '`', ' ', '\\']);
    [":", "=", "(", " is", "||", "??"]
        .iter()
        .any(|end| said.ends_with(end))
        && !gap.contains(';')
        && !said.ends_with("::")
        && !OTHERS.is_match(gap)
}
