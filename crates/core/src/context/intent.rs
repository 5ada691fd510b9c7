//! The purpose of a pull request: the issues that it closes. Their text is of others, and is shown as such. An issue that cannot be read
//! is named and not guessed.

use crate::domain::RepoName;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::HashSet;
use std::fmt;

/// Issues that the model is shown; a pull request that closes more is listed with their names.
pub const MOST_ISSUES: usize = 5;
/// Names of others that are listed. A description has room for thousands.
const MOST_NAMES: usize = 10;

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
    /// True if not everybody may read it.
    pub private: bool,
    pub title: String,
    pub body: String,
}

/// The issues that a pull request closes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// As people write their names, with their texts.
    pub issues: Vec<(String, LinkedIssue)>,
    /// The names of those that GitHub tells and nobody reads, because there are too many.
    pub beyond: Names,
    /// The names of those that only the description tells.
    pub unread: Names,
}

/// The first names of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    pub first: Vec<String>,
    /// The number of the others.
    pub more: usize,
}

impl Intent {
    /// From what GitHub tells, and from the description, which may name issues that the token cannot see. A review that everybody
    /// may read does not read what others may not: whoever writes a description chooses the issue.
    #[must_use]
    pub fn new(
        repo: &RepoName,
        is_private: bool,
        description: &str,
        linked: Vec<LinkedIssue>,
    ) -> Self {
        let tells =
            |issue: &LinkedIssue| !is_private && issue.private && !is_same(&issue.name.repo, repo);
        let (untold, linked): (Vec<_>, Vec<_>) = linked.into_iter().partition(tells);
        let mut known: HashSet<String> = linked.iter().map(|issue| issue.name.key()).collect();
        let untold = untold.into_iter().map(|issue| issue.name);
        let mut unread: Vec<IssueName> = untold.chain(named_in(description, repo)).collect();
        unread.retain(|name| known.insert(name.key()));
        let mut linked = linked.into_iter();
        let issues = linked.by_ref().take(MOST_ISSUES);
        let issues = issues.map(|issue| (issue.name.within(repo), issue));
        Self {
            issues: issues.collect(),
            beyond: Names::new(linked.map(|issue| issue.name.within(repo))),
            unread: Names::new(unread.iter().map(|name| name.within(repo))),
        }
    }
}

impl Names {
    pub fn new(mut names: impl Iterator<Item = String>) -> Self {
        let first = names.by_ref().take(MOST_NAMES).collect();
        Self {
            first,
            more: names.count(),
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

    /// The same for each way in which the name is written.
    fn key(&self) -> String {
        self.to_string().to_ascii_lowercase()
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

/// The words that people read as such. Templates give advice in HTML comments, and code closes nothing.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut in_code = false;
    for event in Parser::new(text) {
        match event {
            Event::Text(words) if !in_code => shown.push_str(&words),
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link) => {}
            // A word that closes nothing.
            Event::Code(_) => shown.push_str(" ` "),
            // A place where a word ends.
            Event::End(_) | Event::SoftBreak | Event::HardBreak => shown.push(' '),
            _ => {}
        }
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
            private: false,
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
            "# Fixes [#12](https://github.com/octo/shop/issues/12)",
        ] {
            assert_eq!(named(text), ["octo/shop#12"], "{text}");
        }
        for text in [
            "See #12",
            "Fixes #(issue)",
            "<!-- Fixes #12 -->",
            "<!-- Fixes\n\n#12 -->",
            "`Fixes #12` and fixes `x` #12",
            "```\nFixes #12\n```",
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
        let intent = Intent::new(&repo(), false, text, vec![linked("Octo/Shop", 12)]);
        let names: Vec<&str> = intent
            .issues
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["#12"]);
        assert_eq!(intent.unread.first, ["#13", "other/lib#3"]);
        assert_eq!(intent.unread.more, 0);
    }

    #[test]
    fn a_private_issue_of_another_repository_is_read_in_private_only() {
        let issue = |name: &str| LinkedIssue {
            private: true,
            ..linked(name, 3)
        };
        let read = |is_private: bool, name: &str| {
            let intent = Intent::new(&repo(), is_private, "", vec![issue(name)]);
            (intent.issues.len(), intent.unread.first.concat())
        };
        assert_eq!(read(false, "octo/plans"), (0, "octo/plans#3".to_owned()));
        assert_eq!(read(true, "octo/plans"), (1, String::new()));
        assert_eq!(read(false, "Octo/Shop"), (1, String::new()));
    }

    #[test]
    fn of_many_issues_the_first_ones_are_shown() {
        let many = (1..=7).map(|number| linked("octo/shop", number)).collect();
        let intent = Intent::new(&repo(), false, "", many);
        assert_eq!(intent.issues.len(), MOST_ISSUES);
        assert_eq!(intent.beyond.first, ["#6", "#7"]);
        assert_eq!(intent.unread, Names::default());
    }

    #[test]
    fn a_description_of_nothing_but_names_is_read_at_once_and_told_in_a_line() {
        let names = (1..8_000).map(|number| format!("fixes #{number} "));
        let intent = Intent::new(&repo(), false, &names.collect::<String>(), Vec::new());
        assert_eq!(intent.unread.first.len(), MOST_NAMES);
        assert_eq!(intent.unread.more, 7_999 - MOST_NAMES);
    }
}
