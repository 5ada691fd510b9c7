//! Why an event asks nothing of us, in the words of the notice that a person reads. Separate, because these
//! sentences are the whole answer of such a run.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    UnknownEvent {
        event: String,
    },
    OtherAction {
        event: String,
        action: String,
    },
    PlainIssue,
    Bot,
    /// The author's account was deleted, so nobody can say what their word weighs.
    Ghost,
    NoMention {
        mention: String,
    },
    Closed,
    Merged,
    Locked,
    Fork {
        mention: String,
    },
    Dependabot {
        mention: String,
    },
}

impl SkipReason {
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

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownEvent { event } => write!(
                f,
                "The event {event} does not concern a pull request; reviewed are pull_request, pull_request_target, pull_request_review, pull_request_review_comment, issue_comment, workflow_dispatch and merge_group."
            ),
            Self::OtherAction { event, action } => {
                write!(
                    f,
                    "Nothing to review when a {event} event has the action {action}."
                )
            }
            Self::PlainIssue => {
                f.write_str("The comment is on an issue, and only pull requests are reviewed.")
            }
            Self::Bot => {
                f.write_str("The comment or review is a bot's, and bots are not answered.")
            }
            Self::Ghost => f.write_str(
                "The account that wrote the comment no longer exists, so nobody is answered.",
            ),
            Self::NoMention { mention } => write!(
                f,
                "The comment neither mentions {mention} nor replies in a review thread; a mention counts outside code, quotes and links."
            ),
            Self::Closed => {
                f.write_str("The pull request is closed; it is reviewed when it is reopened.")
            }
            Self::Merged => f.write_str("The pull request is merged already."),
            Self::Locked => f.write_str("The conversation of the pull request is locked."),
            Self::Fork { mention } => write!(
                f,
                "The pull request comes from a fork, and GitHub gives such a run no secrets, hence no model key, and a token that only reads; the reviewer's examples/forks.yml is a workflow that is safe for forks (pull_request_target and issue_comment), and there somebody with write access mentions {mention} in the conversation."
            ),
            Self::Dependabot { mention } => write!(
                f,
                "Dependabot started this run or opened the pull request, and GitHub gives it only Dependabot's secrets, hence no model key; add the key to the Dependabot secrets, or let somebody with write access mention {mention} in a comment of the conversation (issue_comment)."
            ),
        }
    }
}
