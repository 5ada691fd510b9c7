//! Takes secrets out of text that leaves: the run's own in any usual encoding, others by their shape or by a word
//! beside them. Separate and at the top, because comments, report, log and web all pass through it.

mod assignment;
mod judge;
mod nearby;
mod own;
mod secret_shapes;
mod view;

#[cfg(test)]
mod tests;

use own::Own;
use secrecy::SecretString;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Each round may uncover what the last one brought together. Ordinary text is done after one; text that is not done
/// after these was built to be taken apart, and none of it is kept.
const ROUNDS: usize = 4;

/// The kind of a removed secret: the words in the brackets that replace it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretKind(&'static str);

impl SecretKind {
    /// A secret of this run, in whatever encoding.
    pub(crate) const OWN: Self = Self("secret of this run");
    /// Text that still held secrets after every round.
    pub(crate) const ENTANGLED: Self = Self("text that hides secrets");
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[redacted: {}]", self.0)
    }
}

/// Text without secrets, and how many of which kind were in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    pub text: Cow<'a, str>,
    pub counts: BTreeMap<SecretKind, u32>,
}

/// Knows the secrets of one run.
pub struct Redactor {
    own: Own,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(***)")
    }
}

/// A stretch of the text to be replaced. The earlier source names it where two overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    span: Range<usize>,
    kind: SecretKind,
    source: Source,
}

impl Hit {
    /// True if a later one overlaps, or goes on with the same kind of secret.
    fn meets(&self, later: &Self) -> bool {
        later.span.start < self.span.end
            || (later.span.start == self.span.end && later.kind == self.kind)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Own,
    Shape,
    Context,
}

impl Redactor {
    /// The secrets of the run. Those too short or too common to be masked wherever they stand are passed over.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self {
            own: Own::new(secrets),
        }
    }

    /// The text with every secret replaced by the name of its kind. Cleaning twice is cleaning once.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean_counted(text).text
    }

    /// The same, and what was found.
    #[must_use]
    pub fn clean_counted<'a>(&self, text: &'a str) -> Cleaned<'a> {
        let mut counts = BTreeMap::new();
        let nothing_left = SecretKind::ENTANGLED.to_string();
        let mut text = Cow::Borrowed(text);
        if text == nothing_left {
            return Cleaned { text, counts };
        }
        for _ in 0..ROUNDS {
            let hits = self.hits(&text);
            if hits.is_empty() {
                return Cleaned { text, counts };
            }
            for hit in &hits {
                *counts.entry(hit.kind).or_default() += 1;
            }
            text = Cow::Owned(replace(&text, &hits));
        }
        if !self.hits(&text).is_empty() {
            *counts.entry(SecretKind::ENTANGLED).or_default() += 1;
            text = Cow::Owned(nothing_left);
        }
        Cleaned { text, counts }
    }

    /// A document with every text in it cleaned.
    #[must_use]
    pub fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean(&text).into_owned()),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.clean_value(item))
                .collect(),
            Value::Object(fields) => {
                let clean = |(name, value)| (name, self.clean_value(value));
                fields.into_iter().map(clean).collect()
            }
            other => other,
        }
    }

    /// Only the run's own secrets are replaced: for texts that the reviewer wrote itself, in which nothing else can be
    /// one.
    #[must_use]
    pub fn clean_own<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let hits = merged(self.own.find(text).map(own_hit).collect());
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replace(text, &hits))
    }

    /// Everything to be replaced, in order and without overlap.
    fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.own.find(text).map(own_hit).collect();
        secret_shapes::find(text, &mut hits);
        assignment::find(text, &mut hits);
        nearby::find(text, &mut hits);
        merged(hits)
    }
}

fn own_hit(span: Range<usize>) -> Hit {
    Hit {
        span,
        kind: SecretKind::OWN,
        source: Source::Own,
    }
}

fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.span.start, hit.source));
    let mut merged: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match merged.last_mut() {
            Some(last) if last.meets(&hit) => {
                last.span.end = last.span.end.max(hit.span.end);
                if hit.source < last.source {
                    (last.kind, last.source) = (hit.kind, hit.source);
                }
            }
            _ => merged.push(hit),
        }
    }
    merged
}

fn replace(text: &str, hits: &[Hit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for hit in hits {
        out.push_str(&text[end..hit.span.start]);
        out.push_str(&hit.kind.to_string());
        end = hit.span.end;
    }
    out.push_str(&text[end..]);
    out
}
