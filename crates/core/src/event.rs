//! From GitHub's event to what the reviewer was asked to do, or to the reason why it does nothing. Separate, so that
//! "not for the reviewer" is decided in one place, before anything is read, started or judged.

mod command;
pub mod hooks;
mod mention;
mod skip;
#[cfg(test)]
mod tests;
mod triggers;
pub mod webhook;
mod wire;

pub use command::{Command, command};
pub use mention::mentions;
pub use skip::SkipReason;

use crate::domain::{CommentId, CommitSha, Login, PrKey, RepoName};
use serde_json::Value;

/// The rules that an event is judged by.
#[derive(Debug, Clone, Copy)]
pub struct TriggerRules<'a> {
    /// With its `@`.
    pub mention: &'a str,
    /// True if the run holds what it needs to reach a model; forks and Dependabot get no secrets.
    pub has_model_key: bool,
}

/// The reader's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    Run(Event),
    /// A run without a model key, which only concludes what needs no model; else it is skipped for this reason.
    WithoutKey(Event, SkipReason),
    /// A pull request of one of the repository's own branches was closed: others may have its head.
    Closed(PrKey),
    /// The merge queue asks for the checks of a group.
    Merge(MergeGroup),
    Skip(SkipReason),
}

/// Pull requests that a queue is about to merge, as one commit on top of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    pub repo: RepoName,
    pub head: CommitSha,
    pub head_ref: String,
    pub base: CommitSha,
    /// The branch that they are merged into, by its name alone.
    pub base_ref: String,
}

/// One pull request, and the reason for looking at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub repo: RepoName,
    pub number: u64,
    pub kind: EventKind,
    /// The head before a push, where the event names it.
    pub before: Option<CommitSha>,
    pub sender: Option<Login>,
}

impl Event {
    /// The wish of whoever starts the program in a shell.
    #[must_use]
    pub fn manual(pr: &PrKey) -> Self {
        Self {
            repo: pr.repo.clone(),
            number: pr.number,
            kind: EventKind::Manual,
            before: None,
            sender: None,
        }
    }

    /// The person whose words caused the run. Of a comment it is the author, as GitHub tells it with the event.
    #[must_use]
    pub fn speaker(&self) -> Option<&Login> {
        match &self.kind {
            EventKind::Mention { author, .. } => Some(author),
            EventKind::ThreadReply { .. } | EventKind::ReviewSubmitted => self.sender.as_ref(),
            EventKind::Opened
            | EventKind::Retargeted
            | EventKind::Pushed
            | EventKind::Ready
            | EventKind::Dispatch
            | EventKind::Manual => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// Opened or reopened.
    Opened,
    /// Its base is another branch now.
    Retargeted,
    Pushed,
    Ready,
    ReviewSubmitted,
    /// Somebody mentioned the reviewer.
    Mention {
        comment_id: CommentId,
        on: CommentPlace,
        body: String,
        author: Login,
        association: Association,
        /// RFC 3339, as GitHub gave it; empty where it did not.
        created_at: String,
    },
    /// Somebody answered in a review thread, perhaps one of the reviewer's.
    ThreadReply {
        comment_id: CommentId,
        in_reply_to: CommentId,
    },
    /// `workflow_dispatch`.
    Dispatch,
    /// From a shell.
    Manual,
}

impl EventKind {
    /// A draft is reviewed only when a mention asks for it. Payloads do not always say whether the pull
    /// request is a draft, so whoever re-reads it asks again here.
    #[must_use]
    pub fn accepts_draft(&self) -> bool {
        matches!(self, Self::Mention { .. })
    }
}

/// The kind of comment that holds a mention: GitHub numbers the two separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommentPlace {
    IssueComment,
    ReviewComment,
}

/// GitHub's `author_association`, as far as it tells who may write. It understates members whose membership
/// is private, so `Other` means "ask the permission endpoint".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Association {
    Owner,
    Member,
    Collaborator,
    Other,
}

impl Association {
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "OWNER" => Self::Owner,
            "MEMBER" => Self::Member,
            "COLLABORATOR" => Self::Collaborator,
            _ => Self::Other,
        }
    }

    /// As GitHub writes it; empty for those that give no right.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "OWNER",
            Self::Member => "MEMBER",
            Self::Collaborator => "COLLABORATOR",
            Self::Other => "",
        }
    }
}

/// An event for the reviewer that cannot be understood. Each is one sentence for the person who wrote the workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error(
        "The payload of the {event} event does not have GitHub's shape ({problem}); the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    )]
    Shape { event: String, problem: String },
    #[error(
        "The {event} event holds no repository as owner/name; the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    )]
    NoRepository { event: String },
    #[error(
        "The {event} event holds no pull request number; the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    )]
    NoNumber { event: String },
    #[error(
        "The {event} event holds no comment id; the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    )]
    NoComment { event: String },
    #[error(
        "The merge_group event holds no commits and branches of a group; the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    )]
    NoGroup,
    #[error(
        "The workflow_dispatch event holds no input pull_request; add one to the workflow and give it a pull request's number, #number or URL."
    )]
    NoDispatchInput,
    #[error(
        "The workflow_dispatch input pull_request is {given}; expected a pull request of {repo}: its number, #number or URL."
    )]
    BadDispatchInput { given: String, repo: RepoName },
}

/// `name` is `GITHUB_EVENT_NAME`, `payload` the parsed event file.
pub fn parse(name: &str, payload: &Value, rules: &TriggerRules<'_>) -> Result<Trigger, EventError> {
    let reader = triggers::EventReader { name, rules };
    match name {
        "pull_request" | "pull_request_target" => reader.pull_request(reader.read(payload)?),
        "pull_request_review" => reader.review(reader.read(payload)?),
        "issue_comment" => reader.issue_comment(reader.read(payload)?),
        "pull_request_review_comment" => reader.review_comment(reader.read(payload)?),
        "merge_group" => reader.merge_group(reader.read(payload)?),
        "workflow_dispatch" => reader.dispatch(&reader.read(payload)?),
        _ => Ok(Trigger::Skip(SkipReason::event(name))),
    }
}

/// Foreign text inside one of the reviewer's sentences: short, on one line, nothing that a terminal obeys.
fn shown(text: &str) -> String {
    let escaped: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    match text.chars().nth(60) {
        Some(_) => format!("{escaped}…"),
        None => escaped,
    }
}
