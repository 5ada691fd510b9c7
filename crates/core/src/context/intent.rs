//! The purpose of a pull request: the issues that it closes. Their text is of others, and is shown as such. An issue that cannot be read
//! is named and not guessed.

use crate::domain::RepoName;
use std::fmt;

/// Issues that the model is shown; a pull request that closes more is listed with their names.
pub const MOST_ISSUES: usize = 5;

/// The words after which GitHub closes an issue.
const CLOSING: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];

/// An issue by its repository and number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueName {
    pub repo: RepoName,
    pub number: u64,
}

/// An issue that the pull request closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedIssue {
    pub name: IssueName,
    pub title: String,
    pub body: String,
}

/// The issues that a pull request closes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// As people write their names, with their texts.
    pub issues: Vec<(String, LinkedIssue)>,
    /// The names of those whose text is not known.
    pub unread: Vec<String>,
}

impl Intent {
    /// From what GitHub tells, and from the description, which may name issues that the token cannot see.
    #[must_use]
    pub fn new(repo: &RepoName, description: &str, linked: Vec<LinkedIssue>) -> Self {
        let known: Vec<IssueName> = linked.iter().map(|issue| issue.name.clone()).collect();
        let named = named_in(description, repo).into_iter();
        let mut unread: Vec<IssueName> = Vec::new();
        for name in named.filter(|name| !known.iter().any(|one| one.is(name))) {
            if !unread.iter().any(|one| one.is(&name)) {
                unread.push(name);
            }
        }
        let mut linked = linked.into_iter();
        let issues = linked.by_ref().take(MOST_ISSUES);
        let issues = issues.map(|issue| (issue.name.within(repo), issue));
        let issues = issues.collect();
        let more = linked.map(|issue| issue.name);
        let unread = more.chain(unread).map(|name| name.within(repo));
        Self {
            issues,
            unread: unread.collect(),
        }
    }
}

impl IssueName {
    /// As people of the repository write it.
    fn within(&self, repo: &RepoName) -> String {
        if is_same(&self.repo, repo) {
            format!("#{}", self.number)
        } else {
            self.to_string()
        }
    }

    fn is(&self, other: &Self) -> bool {
        self.number == other.number && is_same(&self.repo, &other.repo)
    }
}

impl fmt::Display for IssueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

fn is_same(one: &RepoName, other: &RepoName) -> bool {
    one.to_string().eq_ignore_ascii_case(&other.to_string())
}

/// The issues that a description says to close, by GitHub's words: `Fixes #12`, `closes: octo/shop#12`, and addresses of issues.
fn named_in(description: &str, repo: &RepoName) -> Vec<IssueName> {
    let shown = shown(description);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let named = words.windows(2).filter_map(|pair| {
        let verb = pair[0].trim_start_matches(['(', '*', '_', '-']);
        let verb = verb.trim_end_matches(':').to_ascii_lowercase();
        CLOSING.contains(&verb.as_str()).then_some(pair[1])
    });
    named.filter_map(|word| issue(word, repo)).collect()
}

/// The text without HTML comments, in which templates give advice.
fn shown(text: &str) -> String {
    let mut parts = text.split("<!--");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push(' ');
        shown.push_str(part.split_once("-->").map_or("", |(_, after)| after));
    }
    shown
}

fn issue(word: &str, repo: &RepoName) -> Option<IssueName> {
    let word = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    if let Some((place, number)) = word.split_once('#') {
        let repo = match place {
            "" => repo.clone(),
            place => place.parse().ok()?,
        };
        return named(repo, number);
    }
    let (before, number) = word.split_once("/issues/")?;
    let mut parts = before.rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    before.starts_with("https://").then_some(())?;
    named(format!("{owner}/{name}").parse().ok()?, number)
}

fn named(repo: RepoName, number: &str) -> Option<IssueName> {
    let number = number.parse().ok().filter(|number| *number > 0)?;
    Some(IssueName { repo, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> RepoName {
        "octo/shop".parse().unwrap()
    }

    fn linked(name: &str, number: u64) -> LinkedIssue {
        LinkedIssue {
            name: IssueName {
                repo: name.parse().unwrap(),
                number,
            },
            title: "Pages".into(),
            body: "The last page is shown.".into(),
        }
    }

    #[test]
    fn issues_are_named_by_githubs_words_and_by_nothing_else() {
        let named = |text: &str| {
            let names = named_in(text, &repo());
            names.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for text in [
            "Fixes #12",
            "fix: #12.",
            "It (closes #12), and more",
            "**Resolves** nothing. Resolved #12",
            "closes octo/shop#12",
            "Fixed https://github.com/octo/shop/issues/12",
        ] {
            assert_eq!(named(text), ["octo/shop#12"], "{text}");
        }
        for text in [
            "See #12",
            "Fixes #(issue)",
            "<!-- Fixes #12 -->",
            "fixes 12",
            "fixes a/b/c#12",
            "fixes #0",
            "fixes http://github.com/octo/shop/issues/12",
            "Fixes",
        ] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
        assert_eq!(named("Fixes other/lib#3"), ["other/lib#3"]);
    }

    #[test]
    fn what_cannot_be_read_is_named_once() {
        let text = "Fixes #12, fixes #13 and closes other/lib#3. Fixes Other/Lib#3";
        let intent = Intent::new(&repo(), text, vec![linked("Octo/Shop", 12)]);
        let names: Vec<&str> = intent
            .issues
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["#12"]);
        assert_eq!(intent.unread, ["#13", "other/lib#3"]);
    }

    #[test]
    fn of_many_issues_the_first_ones_are_shown() {
        let many = (1..=7).map(|number| linked("octo/shop", number)).collect();
        let intent = Intent::new(&repo(), "", many);
        assert_eq!(intent.issues.len(), MOST_ISSUES);
        assert_eq!(intent.unread, ["#6", "#7"]);
    }
}
