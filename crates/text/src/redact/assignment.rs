//! Secrets that are known by the word beside them: `password = "…"`, `"api_key": "…"`, `--token …`. Separate from
//! shapes, because here the value must be judged: most of what stands beside such a word is code.

use super::secret_shapes::compiled;
use super::{Hit, SecretKind, Source, judge};
use regex::{Captures, Regex};
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
        r"(?:api|access|auth|private|signing|encryption|account|license|device|preshared|master|service|server|write|read|admin|integration|consumer|app|subscription|storage)[ _-]?key|token|_pat\b|\bpat\b|credential|apikey|_api\b|[_-]auth\b|\bauth\b|licen[sc]e|sonar\.login|\bappid",
    ),
    // Other keys are often names of entries.
    ("other", r"\wkey\b|[._-]key\b|\bkey\b"),
];

/// Before "key", these say that it is the name of an entry or something public.
const ENTRIES: &[&str] = &[
    "cache",
    "child",
    "column",
    "composite",
    "config",
    "cookie",
    "data",
    "dedupe",
    "dict",
    "entry",
    "event",
    "field",
    "file",
    "filter",
    "foreign",
    "group",
    "hash",
    "header",
    "host",
    "hot",
    "i18n",
    "idempotency",
    "index",
    "issue",
    "item",
    "json",
    "label",
    "locale",
    "lock",
    "lookup",
    "map",
    "merge",
    "message",
    "meta",
    "metric",
    "node",
    "object",
    "order",
    "param",
    "parent",
    "partition",
    "path",
    "primary",
    "product",
    "project",
    "property",
    "public",
    "query",
    "record",
    "redis",
    "ref",
    "register",
    "registry",
    "resource",
    "route",
    "routing",
    "row",
    "s3",
    "schema",
    "settings",
    "short",
    "shard",
    "sort",
    "state",
    "stream",
    "tag",
    "task",
    "tenant",
    "test",
    "topic",
    "trace",
    "translation",
    "type",
    "unique",
    "url",
    "user",
    "verify",
    "websocket",
    "wrapper",
];

/// Services whose credentials are often assigned to their bare name.
const SERVICES: &str = r"airtable|algolia|amplitude|asana|atlassian|auth0|circleci|cloudflare|cloudinary|codecov|coinbase|confluent|contentful|datadog|deepgram|digitalocean|discord|docusign|dropbox|dynatrace|elevenlabs|fastly|figma|flutterwave|grafana|heroku|honeycomb|hubspot|intercom|jira|launchdarkly|linode|logdna|mailchimp|mailgun|mailjet|mapbox|messagebird|mixpanel|netlify|newrelic|new[_-]relic|notion|okta|onesignal|openai|opsgenie|pagerduty|paypal|paystack|pinecone|plaid|postmark|posthog|pushover|razorpay|rollbar|sauce|segment|sendbird|sendgrid|sendinblue|sentry|shippo|shodan|snyk|sonarcloud|splunk|squareup|stripe|telegram|travis|trello|twilio|twitch|twitter|typeform|vercel|vonage|vultr|wakatime|zapier|zendesk";

/// Matches the text between the name and the value, on one line, as the parts of a call, or as two fields of an object.
const BETWEEN: &str = r#"(?:\\*["'`\])]{0,3}\s{0,20}(?:::?=|=>|==?|:|,|>|\(|\{\s{0,20}default\s{0,20}=)\s{0,40}|\\*["']?\s{0,4},?\s{0,40}\\*["']?(?:value|val|default)\\*["']?\s{0,4}[:=]\s{0,4}|\s{1,4}(?:is\s|was\s)?)"#;

/// The words with the rest of their name, and the services.
static PATTERNS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let words: Vec<String> = WORDS
        .iter()
        .map(|(name, words)| format!("(?P<{name}>{words})"))
        .collect();
    let names = [
        format!(r"(?:{})[\w.-]{{0,32}}", words.join("|")),
        format!("(?P<service>{SERVICES})"),
    ];
    names.map(|name| {
        let value = format!(r#"(?P<between>{BETWEEN})(?P<quote>\\*["'`]?)"#);
        compiled(&format!("(?i){name}{value}"))
    })
});

/// Adds every value that the word before it makes a secret.
pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    let found = PATTERNS
        .iter()
        .flat_map(|pattern| pattern.captures_iter(text));
    let mut last = 0..0;
    for captures in found {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        let quote = captures
            .name("quote")
            .and_then(|quote| quote.as_str().chars().last());
        let span = value(text, whole.end(), quote);
        // A value within one that goes anyway is not judged again.
        if last.start <= span.start && span.end <= last.end {
            continue;
        }
        let place = ValuePlace {
            before: &text[..whole.start()],
            quoted: quote.is_some(),
            captures: &captures,
        };
        if let Some((kind, from)) = place.judge(&text[span.clone()]) {
            last = span.start + from..span.end;
            hits.push(Hit {
                span: span.start + from..span.end,
                kind,
                source: Source::Context,
            });
        }
    }
}

/// The place of a value.
struct ValuePlace<'a> {
    before: &'a str,
    quoted: bool,
    captures: &'a Captures<'a>,
}

impl ValuePlace<'_> {
    fn group(&self, name: &str) -> &str {
        self.captures.name(name).map_or("", |group| group.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.captures.name(name).is_some()
    }

    /// Returns the kind of secret that the value is, and where in it the secret starts.
    fn judge(&self, value: &str) -> Option<(SecretKind, usize)> {
        let quoted = self.quoted;
        let between = self.group("between").trim();
        let linked = matches!(between, "is" | "was");
        let assigned = !between.is_empty() && between != "is";
        let called = between.ends_with(['(', ',']);
        let named = assigned || linked || word_before(self.before).starts_with('-');
        let key = |value: &str| {
            judge::key(value)
                || (quoted || !called) && (named || value.len() >= 16) && judge::assigned_key(value)
        };
        let (found, label) = if self.has("password") {
            let assigned = assigned && !between.ends_with('(');
            (assigned && judge::password(value, quoted), "password")
        } else if self.has("client") {
            (judge::client_id(value), "client id")
        } else if self.has("other") {
            let found = match self.stem().as_str() {
                "" if linked => key(value),
                "" => judge::certain(value) || judge::long_key(value, quoted),
                stem if ENTRIES.iter().any(|entry| stem.ends_with(entry)) => {
                    judge::long_key(value, quoted)
                }
                _ => key(value),
            };
            (found, "key or token")
        } else if self.has("service") {
            (assigned && judge::key(value), "key or token")
        } else if self.has("secret") {
            let phrase = quoted && (judge::noise(value) || judge::passphrase(value));
            (key(value) || phrase, "secret")
        } else {
            (key(value), "key or token")
        };
        let pair = || {
            let (user, password) = value.split_once(':')?;
            let plain = !self.has("service") && !self.has("other") && !user.is_empty();
            (plain && assigned && judge::disordered(password))
                .then_some((SecretKind("password"), user.len() + 1))
        };
        found.then_some((SecretKind(label), 0)).or_else(pair)
    }

    /// Returns the text before "key": in the same name or, if that is all of it, the entry that is named one space
    /// before.
    fn stem(&self) -> String {
        let word = self.group("other").to_ascii_lowercase();
        let stem = word_before(self.before).to_ascii_lowercase() + word.trim_end_matches("key");
        let stem = stem.trim_matches(['.', '_', '-']).to_owned();
        match self.before.strip_suffix(' ').map(word_before) {
            Some(entry) if ENTRIES.contains(&entry) => entry.to_owned(),
            _ => stem,
        }
    }
}

/// Returns the end of a text that may be part of a name, within reason.
fn word_before(text: &str) -> &str {
    let part = |b: &&u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
    let length = text.bytes().rev().take(32).take_while(|b| part(&b)).count();
    &text[text.len() - length..]
}

/// True if a bare word ends before this character.
fn ends_word(c: char) -> bool {
    let bracket = matches!(c, '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']');
    bracket || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '|' | '\\')
}

/// From here to the closing quote, or to what ends a bare word.
fn value(text: &str, start: usize, quote: Option<char>) -> Range<usize> {
    let ends = |c: char| match quote {
        Some(quote) => c == quote || c == '\n',
        None => c.is_whitespace() || ends_word(c),
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
    let found = &rest[..length];
    let found = match quote {
        Some(_) => found.trim_end_matches('\\'),
        // The end of a sentence, not of an ellipsis.
        None => match found.strip_suffix('.') {
            Some(sentence) if !sentence.ends_with('.') => sentence,
            _ => found,
        },
    };
    start..start + found.len()
}
