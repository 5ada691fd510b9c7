//! Reasons for reviewing nothing, in the words of the notice that a person reads. Separate, because these sentences are
//! the whole answer of such a run.

use crate::domain::{Login, RepoName};

/// The reason why an event starts no review, or why the pull request, as it is now, is not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    #[error(
        "The event {event} does not concern a pull request; expected pull_request, pull_request_target, pull_request_review, pull_request_review_comment, issue_comment, workflow_dispatch or merge_group."
    )]
    UnknownEvent { event: String },
    #[error("Nothing to review when a {event} event has the action {action}.")]
    OtherAction { event: String, action: String },
    #[error("The comment is on an issue, and only pull requests are reviewed.")]
    PlainIssue,
    #[error("The comment or review is a bot's, and bots are not answered.")]
    Bot,
    /// The author's account was deleted, so nobody can say what their word weighs.
    #[error("The account that wrote the comment no longer exists, so nobody is answered.")]
    Ghost,
    #[error(
        "The comment neither mentions {mention} nor replies in a review thread; a mention counts outside code, quotes and links."
    )]
    NoMention { mention: String },
    #[error("The pull request is closed; it is reviewed when it is reopened.")]
    Closed,
    #[error("The pull request is merged already.")]
    Merged,
    #[error("The conversation of the pull request is locked.")]
    Locked,
    /// GitHub gives the run of a fork no secrets.
    #[error(
        "The pull request comes from a fork, and GitHub gives such a run no secrets, hence no model key, and a token that only reads; the reviewer's examples/forks.yml is a workflow that is safe for forks (pull_request_target and issue_comment), and there somebody with write access mentions {mention} in the conversation."
    )]
    ForkWithoutSecrets { mention: String },
    #[error(
        "Dependabot started this run or opened the pull request, and GitHub gives it only Dependabot's secrets, hence no model key; add the key to the Dependabot secrets, or let somebody with write access mention {mention} in a comment of the conversation (issue_comment)."
    )]
    Dependabot { mention: String },
    #[error(
        "The pull request is a draft; it is reviewed when it is marked ready or when somebody mentions {mention}."
    )]
    Draft { mention: String },
    /// Closed since the event.
    #[error("The pull request is closed.")]
    ClosedSince,
    #[error("The pull request carries the label {0}.")]
    Label(String),
    #[error("The pull request changes nothing.")]
    NoChanges,
    /// Of one whose pull requests the repository does not have reviewed.
    #[error(
        "Pull requests of {author} are not reviewed, as skip.authors says, unless somebody mentions {mention}."
    )]
    Author { author: Login, mention: String },
    /// Larger than what the repository has reviewed.
    #[error(
        "The pull request changes {changed} {what}, more than skip.max_changed_{what} ({most}); it is reviewed when somebody mentions {mention}."
    )]
    TooLarge {
        changed: u64,
        what: &'static str,
        most: u64,
        mention: String,
    },
    /// A fork's pull request, for which nobody has asked.
    #[error(
        "The pull request comes from a fork; each of its heads is reviewed when somebody with write access mentions {mention}. Input fork_reviews decides this."
    )]
    Fork { mention: String },
    #[error("The pull request comes from a fork, and input fork_reviews is never.")]
    NoForks,
    /// Somebody without write access caused the run.
    #[error(
        "{0} caused this run without write access to the repository, so nothing was asked of the model."
    )]
    Unauthorized(Login),
    /// Somebody without write access mentioned the reviewer.
    #[error("{login} addressed the reviewer without write access to {repo}; nothing was started.")]
    UnauthorizedMention { login: Login, repo: RepoName },
}

impl SkipReason {
    /// A fork's pull request, for which nobody has asked.
    #[must_use]
    pub(crate) fn fork(mention: &str) -> Self {
        let mention = mention.to_owned();
        Self::Fork { mention }
    }

    pub(super) fn event(event: &str) -> Self {
        Self::UnknownEvent {
            event: super::shown(event),
        }
    }

    pub(super) fn action(event: &str, action: &str) -> Self {
        Self::OtherAction {
            event: super::shown(event),
            action: super::shown(action),
        }
    }
}
