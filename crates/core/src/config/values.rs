//! One reader per kind of value: from the text that a person wrote to its meaning, or to what is expected
//! instead. Separate from the table, so that two inputs of a kind are read alike.

use super::{FixDelivery, FixMode, ForkReviews, Globs, ReviewMode};
use crate::domain::{Login, Score, Sensitivity};
use secrecy::SecretString;
use std::borrow::Cow;
use std::time::Duration;
use url::Url;

/// Longer than any provider's key; GitHub's newest tokens have about 520 characters.
const LONGEST_SECRET: usize = 8_192;
const SHORTEST_STATE_KEY: usize = 20;
const LONGEST_LIST: usize = 100;

/// The reason for refusing a value: the expected form, and whether the value may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidValue {
    expected: Cow<'static, str>,
    private: bool,
}

impl InvalidValue {
    pub(super) const fn new(expected: &'static str) -> Self {
        Self {
            expected: Cow::Borrowed(expected),
            private: false,
        }
    }

    /// The expected form with what is wrong with this value.
    pub(super) const fn told(expected: String) -> Self {
        Self {
            expected: Cow::Owned(expected),
            private: false,
        }
    }

    /// The value may hold a password.
    pub(super) const fn private(expected: &'static str) -> Self {
        Self {
            expected: Cow::Borrowed(expected),
            private: true,
        }
    }

    /// Continues "Input x …".
    pub(super) fn sentence(self, given: &str, secret: bool) -> String {
        let expected = self.expected;
        if secret || self.private {
            format!("has a value that cannot be used; expected {expected}.")
        } else {
            format!("is \"{}\"; expected {expected}.", shown(given))
        }
    }
}

/// At most 60 characters of the value, with control and invisible characters escaped.
pub(super) fn shown(given: &str) -> String {
    let cut: String = given
        .chars()
        .take(60)
        .flat_map(char::escape_debug)
        .collect();
    if given.chars().nth(60).is_some() {
        format!("{cut}…")
    } else {
        cut
    }
}

fn whole(text: &str, least: u64, most: u64) -> Result<u64, InvalidValue> {
    let expected = match (least, most) {
        (0, 20) => "a whole number from 0 to 20",
        (1, 10) => "a whole number from 1 to 10",
        (1, 100) => "a whole number from 1 to 100",
        (1, 360) => "a whole number from 1 to 360",
        (8_000, _) => "a whole number, at least 8000",
        _ => "a whole number above 0",
    };
    // `parse` alone would take "+5".
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|n| plain && (least..=most).contains(n));
    number.ok_or(InvalidValue::new(expected))
}

/// Parses the number of tokens that a model takes at once; no review fits into fewer.
pub(super) fn context(text: &str) -> Result<u64, InvalidValue> {
    whole(text, 8_000, 100_000_000)
}

pub(super) fn elevation(text: &str) -> Result<usize, InvalidValue> {
    let number = whole(text, 1, 100)?;
    usize::try_from(number).map_err(|_| InvalidValue::new("a whole number from 1 to 100"))
}

pub(super) fn fix_cycles(text: &str) -> Result<u32, InvalidValue> {
    let number = whole(text, 1, 10)?;
    u32::try_from(number).map_err(|_| InvalidValue::new("a whole number from 1 to 10"))
}

/// Parses the number of closed pull requests that are read, as many as one request to GitHub holds.
pub(super) fn memory(text: &str) -> Result<u8, InvalidValue> {
    let number = whole(text, 0, 20)?;
    u8::try_from(number).map_err(|_| InvalidValue::new("a whole number from 0 to 20"))
}

pub(super) fn minutes(text: &str) -> Result<Duration, InvalidValue> {
    whole(text, 1, 360).map(|minutes| Duration::from_secs(minutes * 60))
}

pub(super) fn score(text: &str) -> Result<Score, InvalidValue> {
    let number = whole(text, 1, 10)?;
    Score::new(number).ok_or(InvalidValue::new("a whole number from 1 to 10"))
}

pub(super) fn score_or_off(text: &str) -> Result<Option<Score>, InvalidValue> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let refusal = InvalidValue::new("a whole number from 1 to 10, or off");
    score(text).map(Some).map_err(|_| refusal)
}

pub(super) fn dollars(text: &str) -> Result<f64, InvalidValue> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let amount = text.parse().ok();
    amount
        .filter(|usd: &f64| plain && *usd > 0.0 && *usd <= 1_000_000.0)
        .ok_or(InvalidValue::new(
            "an amount above 0 in US dollars, for example 5 or 0.50",
        ))
}

pub(super) fn tokens(text: &str) -> Result<u64, InvalidValue> {
    whole(text, 1, 1_000_000_000_000)
}

/// The limits for a day, in dollars and in tokens.
pub(super) fn per_day(text: &str) -> Result<(Option<f64>, Option<u64>), InvalidValue> {
    const EXPECTED: &str = "an amount in US dollars, in tokens or both, each once, for example 20 USD, 5000000 tokens; or off";
    let refusal = || InvalidValue::new(EXPECTED);
    let (mut usd, mut number) = (None, None);
    // YAML turns `off` into what the runner spells `false`.
    if ["off", "false"]
        .iter()
        .any(|off| text.eq_ignore_ascii_case(off))
    {
        return Ok((usd, number));
    }
    for item in items(text) {
        let taken = match limit(item).ok_or_else(refusal)? {
            Limit::Usd(amount) => usd.replace(amount).is_some(),
            Limit::Tokens(amount) => number.replace(amount).is_some(),
        };
        if taken {
            return Err(refusal());
        }
    }
    if usd.is_none() && number.is_none() {
        return Err(refusal());
    }
    Ok((usd, number))
}

enum Limit {
    Usd(f64),
    Tokens(u64),
}

/// An amount with its unit: `$20`, `20 USD`, `5000000 tokens`.
fn limit(item: &str) -> Option<Limit> {
    if let Some(amount) = item.strip_prefix('$') {
        return dollars(amount.trim()).ok().map(Limit::Usd);
    }
    let unit = item.find(|c: char| c.is_ascii_alphabetic())?;
    let (amount, unit) = item.split_at(unit);
    match unit.to_ascii_lowercase().as_str() {
        "usd" => dollars(amount.trim()).ok().map(Limit::Usd),
        "token" | "tokens" => tokens(amount.trim()).ok().map(Limit::Tokens),
        _ => None,
    }
}

pub(super) fn fork_reviews(text: &str) -> Result<ForkReviews, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "on_mention" => Ok(ForkReviews::OnMention),
        "always" => Ok(ForkReviews::Always),
        "never" => Ok(ForkReviews::Never),
        _ => Err(InvalidValue::new("on_mention, always or never")),
    }
}

pub(super) fn review_mode(text: &str) -> Result<ReviewMode, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "comment" => Ok(ReviewMode::Comment),
        "decide" => Ok(ReviewMode::Decide),
        _ => Err(InvalidValue::new("comment or decide")),
    }
}

/// YAML turns `off` into what the runner spells `false`.
pub(super) fn fix_mode(text: &str) -> Result<FixMode, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "off" | "false" | "no" => Ok(FixMode::Off),
        "on_request" => Ok(FixMode::OnRequest),
        "auto" => Ok(FixMode::Auto),
        _ => Err(InvalidValue::new("off, on_request or auto")),
    }
}

pub(super) fn fix_delivery(text: &str) -> Result<FixDelivery, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "push" => Ok(FixDelivery::Push),
        "pull_request" => Ok(FixDelivery::PullRequest),
        "patch" => Ok(FixDelivery::Patch),
        _ => Err(InvalidValue::new("push, pull_request or patch")),
    }
}

/// YAML turns `on` and `yes` into what the runner spells in several ways.
pub(super) fn boolean(text: &str) -> Result<bool, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(InvalidValue::new("true or false")),
    }
}

pub(super) fn sensitivity(text: &str) -> Result<Option<Sensitivity>, InvalidValue> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Ok(None),
        "high" => Ok(Some(Sensitivity::High)),
        "moderate" => Ok(Some(Sensitivity::Moderate)),
        "low" => Ok(Some(Sensitivity::Low)),
        _ => Err(InvalidValue::new("auto, high, moderate or low")),
    }
}

/// `provider/name`; the name may have slashes of its own, as routers' models do.
pub(super) fn model(text: &str) -> Result<(String, String), InvalidValue> {
    let refusal = InvalidValue::new("provider/name, for example anthropic/claude-sonnet-4-5");
    let in_provider = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let in_name = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '{' | '}');
    let (provider, name) = text.split_once('/').ok_or(refusal.clone())?;
    let valid = text.len() <= 200
        && !provider.is_empty()
        && provider.chars().all(in_provider)
        && name.chars().all(in_name)
        && name.split('/').all(|part| !part.is_empty());
    let parts = || (provider.to_owned(), name.to_owned());
    valid.then(parts).ok_or(refusal)
}

/// Without a trailing slash. A value with a password in it is not shown.
pub(super) fn base_url(text: &str) -> Result<String, InvalidValue> {
    let expected = "an http or https URL without user name, password, query or fragment, for example https://llm.example/v1";
    let url = plain_url(text, expected)?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// A whole address: a slash at its end may matter.
pub(super) fn endpoint(text: &str) -> Result<String, InvalidValue> {
    let expected = "an http or https URL without user name, password, query or fragment, for example https://search.example/mcp";
    plain_url(text, expected).map(String::from)
}

/// True for what stands before a host or behind a path.
pub(super) fn has_room_for_a_password(text: &str) -> bool {
    text.contains(['@', '?'])
}

fn plain_url(text: &str, expected: &'static str) -> Result<Url, InvalidValue> {
    let refusal = if has_room_for_a_password(text) {
        InvalidValue::private(expected)
    } else {
        InvalidValue::new(expected)
    };
    // The parser forgives white space inside a URL; a person who wrote some meant something else.
    let odd = text.len() > 2_000 || text.contains(|c: char| c.is_whitespace() || c.is_control());
    let url = Url::parse(text)
        .ok()
        .filter(|_| !odd)
        .ok_or(refusal.clone())?;
    let valid = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    valid.then_some(url).ok_or(refusal)
}

/// Parses a value that can stand in an HTTP header; anything else would fail later, with a less helpful message.
pub(super) fn secret(text: &str) -> Result<SecretString, InvalidValue> {
    let valid = text.len() <= LONGEST_SECRET && text.bytes().all(|byte| byte.is_ascii_graphic());
    let expected =
        "one line of printable ASCII characters without spaces, as the provider issued it";
    valid
        .then(|| SecretString::from(text))
        .ok_or(InvalidValue::private(expected))
}

pub(super) fn state_keys(text: &str) -> Result<Vec<SecretString>, InvalidValue> {
    let expected = "one or several keys by comma or newline, each of at least 20 characters";
    let keys: Vec<&str> = items(text).collect();
    let long = |key: &&str| (SHORTEST_STATE_KEY..=LONGEST_SECRET).contains(&key.len());
    if keys.is_empty() || keys.len() > LONGEST_LIST || !keys.iter().all(long) {
        return Err(InvalidValue::private(expected));
    }
    Ok(keys.into_iter().map(SecretString::from).collect())
}

pub(super) fn logins(text: &str) -> Result<Vec<Login>, InvalidValue> {
    let expected = "GitHub logins by comma or newline, for example github-actions[bot]";
    let names: Vec<&str> = items(text)
        .map(|name| name.strip_prefix('@').unwrap_or(name))
        .collect();
    let valid = |name: &&str| is_login(name.strip_suffix("[bot]").unwrap_or(name));
    if names.is_empty() || names.len() > LONGEST_LIST || !names.iter().all(valid) {
        return Err(InvalidValue::new(expected));
    }
    Ok(names.into_iter().map(Login::new).collect())
}

/// Logins, and teams as org/team.
pub(super) fn people(text: &str) -> Result<Vec<String>, InvalidValue> {
    let expected = "GitHub logins or teams as org/team, by comma or newline";
    let names: Vec<&str> = items(text)
        .map(|name| name.strip_prefix('@').unwrap_or(name))
        .collect();
    let valid = |name: &&str| name.split('/').count() <= 2 && name.split('/').all(is_login);
    if names.is_empty() || names.len() > LONGEST_LIST || !names.iter().all(valid) {
        return Err(InvalidValue::new(expected));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// With its `@`, whether or not it was written.
pub(super) fn mention(text: &str) -> Result<String, InvalidValue> {
    let name = text.strip_prefix('@').unwrap_or(text);
    let expected =
        "a name of letters, digits and hyphens after an @, for example @review-my-code-bot";
    is_login(name)
        .then(|| format!("@{name}"))
        .ok_or(InvalidValue::new(expected))
}

pub(super) fn label(text: &str) -> Result<String, InvalidValue> {
    let valid = text.chars().count() <= 100 && !text.contains(|c: char| c.is_control());
    let expected = "the name of a label, on one line and of at most 100 characters";
    valid
        .then(|| text.to_owned())
        .ok_or(InvalidValue::new(expected))
}

pub(super) fn globs(text: &str) -> Result<Globs, InvalidValue> {
    let (globs, wrong) = Globs::new(items(text).map(str::to_owned).collect());
    let expected = "globs by comma or newline, for example docs/** or *.snap";
    let readable = wrong.is_empty() && !globs.patterns().is_empty();
    readable.then_some(globs).ok_or(InvalidValue::new(expected))
}

/// The most files of static analysis that a run reads.
const MOST_FILES: usize = 10;

/// Paths below the workspace, which no `..` leads out of.
pub(super) fn workspace_files(text: &str) -> Result<Vec<String>, InvalidValue> {
    let expected = "at most 10 files by comma or newline, as paths relative to the workspace and without .., for example semgrep.sarif";
    let files: Vec<&str> = items(text)
        .map(|file| file.trim_start_matches("./"))
        .collect();
    let valid = |file: &&str| {
        let mut parts = file.split('/');
        !file.is_empty()
            && file.len() <= 500
            && !file.contains(|c: char| c.is_control())
            && !file.starts_with('/')
            && parts.all(|part| part != "..")
    };
    if files.is_empty() || files.len() > MOST_FILES || !files.iter().all(valid) {
        return Err(InvalidValue::new(expected));
    }
    Ok(files.into_iter().map(str::to_owned).collect())
}

/// Letters, digits and hyphens; managed users have an underscore.
pub(super) fn is_login(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=60).contains(&name.len())
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n', '\r'])
        .map(str::trim)
        .filter(|item| !item.is_empty())
}
