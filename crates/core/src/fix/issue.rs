//! An issue: what is to be fixed, whoever said it. Separate from a finding, because people's requests are none.

use crate::authority::Person;
use crate::domain::ids::InvalidId;
use crate::domain::{Category, CommentId, FindingId, Login, Thread};
use crate::panel::consensus::Priority;
use std::fmt;
use std::str::FromStr;

/// The name of an issue, in tools and reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IssueId {
    /// A finding of the reviewer.
    Finding(FindingId),
    /// An inline comment; of the reviewer only where its finding has no id.
    Comment(CommentId),
    /// The text of a review.
    Review(u64),
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding(id) => id.fmt(f),
            Self::Comment(id) => write!(f, "comment-{id}"),
            Self::Review(id) => write!(f, "review-{id}"),
        }
    }
}

impl FromStr for IssueId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let number = |kind| text.strip_prefix(kind).and_then(|n| n.parse().ok());
        if let Some(id) = number("comment-") {
            return Ok(Self::Comment(CommentId(id)));
        }
        if let Some(id) = number("review-") {
            return Ok(Self::Review(id));
        }
        text.parse().map(Self::Finding)
    }
}

/// The person or the session that raised an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The reviewer, in a thread.
    Finding {
        thread: CommentId,
        category: Option<Category>,
        /// Those of a panel who raised it.
        reviewers: Vec<String>,
    },
    /// A person, in a review that requests changes.
    Person {
        author: Login,
        /// RFC 3339, as GitHub gave it.
        created_at: String,
    },
}

/// Something to fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub id: IssueId,
    pub source: Source,
    pub priority: Priority,
    /// `None` where it has no place.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// One sentence.
    pub title: String,
    pub text: String,
    pub url: String,
    /// A hash of the code that it is about, where there is such code.
    pub anchor_hash: Option<String>,
    /// Need not be fixed: what of it was not done is deferred.
    pub optional: bool,
}

impl Issue {
    /// True if it is about this file.
    #[must_use]
    pub fn is_anchored_in(&self, file: &str) -> bool {
        self.file.as_deref() == Some(file)
    }

    /// The number that GitHub gave to the comment or the review; of two comments, the later one has the larger.
    pub(super) fn number(&self) -> u64 {
        match (&self.source, &self.id) {
            (Source::Finding { thread, .. }, _) => thread.0,
            (_, IssueId::Comment(comment)) => comment.0,
            (_, IssueId::Review(review)) => *review,
            (_, IssueId::Finding(_)) => 0,
        }
    }

    /// True if its text names this file by its whole path.
    #[must_use]
    pub(crate) fn names(&self, file: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
        let names = |text: &str| {
            text.match_indices(file).any(|(at, _)| {
                let behind = &text[at + file.len()..];
                // A full stop may end the sentence.
                let behind = behind.trim_start_matches('.');
                !text[..at].ends_with(is_part) && !behind.starts_with(is_part)
            })
        };
        self.is_anchored_in(file) || names(&self.title) || names(&self.text)
    }
}

impl From<&Thread> for Issue {
    fn from(thread: &Thread) -> Self {
        let id = thread.finding_id.clone().map(IssueId::Finding);
        Self {
            id: id.unwrap_or(IssueId::Comment(thread.id)),
            source: Source::Finding {
                thread: thread.id,
                category: thread.category,
                reviewers: thread.reviewers.clone(),
            },
            priority: Priority::from(thread.assessment.score),
            file: Some(thread.file.clone()),
            line: thread.line,
            title: thread.assessment.finding.clone(),
            text: thread.assessment.assessment.clone(),
            url: thread.url.clone(),
            anchor_hash: thread.anchor_hash.clone(),
            optional: Priority::from(thread.assessment.score) == Priority::P3,
        }
    }
}

/// The words of a person in a review that requests changes: its text, or an inline comment at top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    pub id: IssueId,
    pub author: Login,
    pub person: Person,
    pub body: String,
    pub file: Option<String>,
    /// The line in the head.
    pub line: Option<u32>,
    /// RFC 3339, as GitHub gave it.
    pub created_at: String,
    pub url: String,
    /// The priority that the comments analyzer gave to the conversation, where it did.
    pub weighed: Option<Priority>,
    /// True if the conversation is resolved.
    pub resolved: bool,
}

/// The priority of a request that nobody weighed: as heavy as what makes the reviewer request changes.
const OF_PEOPLE: Priority = Priority::P1;
/// The longest title that is made of a comment.
const MAX_TITLE: usize = 120;

impl From<&ChangeRequest> for Issue {
    fn from(request: &ChangeRequest) -> Self {
        let line = request.body.trim().lines().next().unwrap_or_default();
        let priority = request.weighed.unwrap_or(OF_PEOPLE);
        Self {
            id: request.id.clone(),
            source: Source::Person {
                author: request.author.clone(),
                created_at: request.created_at.clone(),
            },
            priority,
            file: request.file.clone(),
            line: request.line,
            title: line.trim().chars().take(MAX_TITLE).collect(),
            text: request.body.clone(),
            url: request.url.clone(),
            anchor_hash: None,
            optional: priority == Priority::P3,
        }
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    /// An issue of P1 at line 2 of a file.
    pub(crate) fn issue(id: &str, file: &str) -> Issue {
        Issue {
            id: id.parse().unwrap(),
            source: Source::Finding {
                thread: CommentId(1),
                category: None,
                reviewers: Vec::new(),
            },
            priority: Priority::P1,
            file: Some(file.into()),
            line: Some(2),
            title: "The last page is lost.".into(),
            text: "It happens on every call.".into(),
            url: String::new(),
            anchor_hash: None,
            optional: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::issue;
    use super::*;

    #[test]
    fn an_issue_is_called_by_its_finding_or_by_what_a_person_wrote() {
        for name in ["83187e5a8178f320", "comment-12", "review-7"] {
            assert_eq!(name.parse::<IssueId>().unwrap().to_string(), name);
        }
        assert_eq!("comment-12".parse(), Ok(IssueId::Comment(CommentId(12))));
        assert_eq!("review-7".parse(), Ok(IssueId::Review(7)));
        assert!("a b".parse::<IssueId>().is_err());
    }

    #[test]
    fn an_issue_names_a_file_by_its_whole_path_only() {
        let mut one = issue("a", "src/a.rs");
        one.text = "See src/b.rs. And `lib/c.py`, not my/src/d.rs or src/e.rs.orig".into();
        for (file, named) in [
            ("src/a.rs", true),
            ("src/b.rs", true),
            ("lib/c.py", true),
            ("src/d.rs", false),
            ("src/e.rs", false),
            ("c.py", false),
        ] {
            assert_eq!(one.names(file), named, "{file}");
        }
    }
}
