//! A thread: a finding on the pull request with its replies, as rebuilt from the comments.

use super::{Assessment, Category, CommentId, CommitSha, FindingId, Login, Side};
use std::fmt;

/// The state of a finding's discussion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Resolved,
    Disputed,
    Escalated,
}

impl Status {
    /// True unless resolved: every open thread counts against the change.
    #[must_use]
    pub fn is_open(self) -> bool {
        self != Self::Resolved
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "PENDING",
            Self::Resolved => "RESOLVED",
            Self::Disputed => "DISPUTED",
            Self::Escalated => "ESCALATED",
        })
    }
}

/// Whose turn it is in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Awaiting {
    Us,
    Developer,
    People,
    Nobody,
}

impl fmt::Display for Awaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Us => "us",
            Self::Developer => "developer",
            Self::People => "people",
            Self::Nobody => "nobody",
        })
    }
}

/// The weight of a person's word on this pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// May write to the repository.
    Writer,
    /// Opened the pull request, without write access.
    Author,
    Other,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Writer => "write access",
            Self::Author => "author of the pull request",
            Self::Other => "no standing",
        })
    }
}

/// The way in which a thread was resolved, which decides whether it can come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// A person who may closed the conversation. What they decided is not reopened.
    ByPerson,
    /// The code fixed it. It is reopened if the problem is back.
    Fixed,
    /// The finding was given up. It comes back only if the code changes.
    Conceded,
}

/// The evidence of who decided against a finding, where its code did not have to change for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// This person closed the conversation on GitHub.
    Closed(Login),
    /// This person dismissed the finding by a command.
    Dismissed(Login),
    /// The reviewer gave the finding up after this reply.
    Reply(CommentId),
}

/// The trust in the finding's own comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Signed by the reviewer.
    Signed,
    /// Under a name of the reviewer, without a signature that can be verified.
    Unsigned,
    /// Changed by somebody else; the manifest's score counts.
    Tampered,
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signed => "signed by the reviewer",
            Self::Unsigned => "not signed",
            Self::Tampered => "changed by somebody else",
        })
    }
}

/// A reply by somebody else in one of the reviewer's threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub id: CommentId,
    /// `None` where the account was deleted.
    pub author: Option<Login>,
    pub standing: Standing,
    pub body: String,
    /// RFC 3339, as GitHub gave it.
    pub created_at: String,
}

/// A finding of the reviewer on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: CommentId,
    pub finding_id: Option<FindingId>,
    pub file: String,
    /// The line now, or the original one when the thread is outdated; `None` for a file comment.
    pub line: Option<u32>,
    /// The line in the head that was reviewed when the finding was made.
    pub original_line: Option<u32>,
    /// The first line of a range that ends in `original_line`.
    pub original_start: Option<u32>,
    pub side: Side,
    pub outdated: bool,
    pub status: Status,
    pub awaiting: Awaiting,
    pub assessment: Assessment,
    pub category: Option<Category>,
    /// The reviewers of a panel who raised it; empty where one reviewed alone.
    pub reviewers: Vec<String>,
    /// The head that was reviewed when the finding was made.
    pub head: Option<CommitSha>,
    pub anchor_hash: Option<String>,
    pub trust: Trust,
    /// The way in which it was resolved, if it was.
    pub resolution: Option<Resolution>,
    /// The evidence of who decided against it, if somebody did; `None` where it is open or was fixed.
    pub decider: Option<Decider>,
    /// The comment that decided the status, and the reason.
    pub because: String,
    /// The highest sequence number of the reviewer's replies.
    pub seq: u32,
    pub replies: Vec<Reply>,
    /// The line that seems to fix it, as the reviewer's last word says; a hash.
    pub seems_fixed: Option<String>,
    /// The number of replies before the reviewer's last comment.
    pub answered: usize,
    /// GraphQL id of the conversation, where GitHub told it.
    pub node_id: Option<String>,
    /// True if the token may resolve the conversation; false where it is resolved.
    pub viewer_can_resolve: bool,
    /// True if the token may reopen the conversation; false where it is open.
    pub viewer_can_unresolve: bool,
    pub url: String,
    /// The finding's comment as it stands, where the reviewer may rewrite it.
    pub comment: Option<String>,
}

impl Thread {
    /// True if the conversation is open and the token may not resolve it.
    #[must_use]
    pub fn must_stay_open(&self) -> bool {
        self.node_id.is_some() && !self.viewer_can_resolve && !self.viewer_can_unresolve
    }

    /// The replies since the reviewer's last word.
    #[must_use]
    pub fn unanswered(&self) -> &[Reply] {
        self.replies.get(self.answered..).unwrap_or_default()
    }
}
