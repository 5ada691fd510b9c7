//! Identifiers. Each has private fields and one constructor that can fail, so that a value of the type
//! is a valid one wherever it appears.

use std::fmt;
use std::str::FromStr;

/// The error for a text that should have been an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct InvalidId {
    value: String,
    expected: &'static str,
}

impl InvalidId {
    fn new(value: &str, expected: &'static str) -> Self {
        Self {
            value: value.chars().take(80).collect(),
            expected,
        }
    }
}

/// `owner/name`, as GitHub spells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for RepoName {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let expected = "a repository as owner/name";
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let valid = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && part.chars().all(allowed)
        };
        match text.split_once('/') {
            Some((owner, name)) if valid(owner) && valid(name) => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(InvalidId::new(text, expected)),
        }
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// One pull request of one repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrKey {
    pub repo: RepoName,
    pub number: u64,
}

impl fmt::Display for PrKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

/// A full git object name: 40 hexadecimal digits, or 64 in a SHA-256 repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitSha(String);

impl CommitSha {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, as people quote commits.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for CommitSha {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let hex = text.bytes().all(|b| b.is_ascii_hexdigit());
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(InvalidId::new(text, "a full commit id"))
        }
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A review comment, by GitHub's database id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommentId(pub u64);

impl fmt::Display for CommentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A thread of another pull request that people have decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DecidedId {
    pub pull: u64,
    /// The first comment of the thread.
    pub root: CommentId,
}

impl fmt::Display for DecidedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}/{}", self.pull, self.root)
    }
}

/// A thread as the model names it: published ones by their root comment, staged ones provisionally, those of other pull
/// requests with the number of the pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadId {
    Published(CommentId),
    Provisional(u32),
    Decided(DecidedId),
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(id) => id.fmt(f),
            Self::Provisional(n) => write!(f, "new-{n}"),
            Self::Decided(id) => id.fmt(f),
        }
    }
}

impl FromStr for ThreadId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let text = text.trim();
        let parsed = match (text.strip_prefix("new-"), text.split_once('/')) {
            (Some(n), _) => n.parse().ok().map(Self::Provisional),
            (None, Some((pull, root))) => decided(pull, root).map(Self::Decided),
            (None, None) => text.parse().ok().map(|id| Self::Published(CommentId(id))),
        };
        parsed.ok_or_else(|| InvalidId::new(text, "a thread id such as 123456 or new-1"))
    }
}

/// Models leave the `#` out, too.
fn decided(pull: &str, root: &str) -> Option<DecidedId> {
    let pull = pull.strip_prefix('#').unwrap_or(pull);
    Some(DecidedId {
        pull: pull.parse().ok()?,
        root: CommentId(root.parse().ok()?),
    })
}

/// The name a finding keeps for life, random, inside its block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FindingId(String);

impl FindingId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FindingId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let valid = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::new(text, "a finding id"))
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A GitHub account. REST says `github-actions[bot]` where GraphQL says `github-actions`: both are
/// kept in the REST form, and compared without regard to case.
#[derive(Debug, Clone, Eq)]
pub struct Login(String);

impl Login {
    /// As REST and the event payloads name the account.
    #[must_use]
    pub fn new(login: &str) -> Self {
        Self(login.to_owned())
    }

    /// As GraphQL names it, with its `__typename`.
    #[must_use]
    pub fn from_graphql(login: &str, typename: &str) -> Self {
        if typename == "Bot" && !login.ends_with("[bot]") {
            Self(format!("{login}[bot]"))
        } else {
            Self(login.to_owned())
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.0.ends_with("[bot]")
    }

    /// True if GraphQL may mean this account by `name` where it knows users alone, and bots by their bare names.
    #[must_use]
    pub fn may_be_called(&self, name: &Self) -> bool {
        let bare = |login: &Self| Self::new(login.0.trim_end_matches("[bot]"));
        bare(self) == bare(name)
    }
}

impl PartialEq for Login {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl std::hash::Hash for Login {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_ascii_lowercase().hash(state);
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a pass, counted from 1. The table of passes says which there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PassNumber(u8);

impl PassNumber {
    pub const FIRST: Self = Self(1);

    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        let number = u8::try_from(number).ok();
        number.filter(|number| *number > 0).map(Self)
    }

    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for PassNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_two_plain_names() {
        assert_eq!(
            "acme/shop".parse::<RepoName>().unwrap().to_string(),
            "acme/shop"
        );
        for wrong in [
            "",
            "acme",
            "acme/",
            "/shop",
            "a/b/c",
            "a b/c",
            "acme/..",
            "acme/shop?x",
        ] {
            assert!(wrong.parse::<RepoName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn thread_ids_read_back_as_they_were_shown() {
        let decided = ThreadId::Decided(DecidedId {
            pull: 3,
            root: CommentId(1001),
        });
        let published = ThreadId::Published(CommentId(7));
        for id in [published, ThreadId::Provisional(3), decided] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!("3/1001".parse(), Ok(decided));
        for wrong in [
            "",
            "-1",
            "1.5",
            "new-",
            "new-x",
            "99999999999999999999999",
            "#3",
            "#3/",
            "#/7",
            "##3/7",
        ] {
            assert!(wrong.parse::<ThreadId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_finding_is_named_by_letters_digits_and_dashes() {
        let longest = "a".repeat(64);
        for id in ["83187e5a8178f320", "old-7", &longest] {
            let read = id.parse::<FindingId>().map(|id| id.to_string());
            assert_eq!(read.as_deref(), Ok(id));
        }
        for wrong in ["", "a b", "a/b", "é", "-->", &"a".repeat(65)] {
            assert!(wrong.parse::<FindingId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bot_has_one_name_whichever_api_names_it() {
        let rest = Login::new("github-actions[bot]");
        assert_eq!(rest, Login::from_graphql("github-actions", "Bot"));
        assert_ne!(rest, Login::from_graphql("github-actions", "User"));
        assert_eq!(Login::new("Ann"), Login::new("ann"));
    }

    #[test]
    fn passes_are_counted_from_one() {
        assert_eq!(PassNumber::new(0), None);
        assert_eq!(PassNumber::new(1), Some(PassNumber::FIRST));
        assert_eq!(PassNumber::new(256), None);
    }
}
