//! GitHub's refusals to merge, told apart by their status and their words. Pure.

use crate::error::{ApiError, sentence};
use reviewer_core::domain::CommitSha;

/// A merge that did not happen. Every sentence says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeRefusal {
    #[error("The head is not {expected} any more{}.", now_at(now.as_ref()))]
    Moved {
        expected: CommitSha,
        /// As far as GitHub told.
        now: Option<CommitSha>,
    },
    #[error("The base branch moved during the merge; it can be tried again.")]
    BaseMoved,
    #[error(
        "The pull request has conflicts, or GitHub has not computed yet if it has ({message})."
    )]
    NotMergeable { message: String },
    #[error("A required check has not passed ({message}).")]
    Checks { message: String },
    #[error("A required review is missing ({message}).")]
    Reviews { message: String },
    #[error("Only the merge queue merges into this branch ({message}).")]
    NeedsQueue { message: String },
    #[error("The repository does not allow this method of merging ({message}).")]
    Method { message: String },
    #[error("The pull request can be merged at once, so there is nothing to wait for ({message}).")]
    Ready { message: String },
    #[error("The repository does not allow auto-merge ({message}).")]
    AutoMergeOff { message: String },
    #[error("The pull request is a draft ({message}).")]
    Draft { message: String },
    #[error("The pull request was closed without a merge.")]
    Closed,
    #[error("The token may not merge ({message}).")]
    NotPermitted { message: String },
    #[error("GitHub refused to merge: {message}.")]
    Refused { message: String },
    #[error(transparent)]
    Api(ApiError),
}

fn now_at(now: Option<&CommitSha>) -> String {
    now.map_or_else(String::new, |now| format!(", but {now}"))
}

pub(super) fn described(error: ApiError) -> MergeRefusal {
    match error {
        ApiError::GraphQl { errors, .. } => {
            let messages: Vec<&str> = errors.iter().map(|(_, message)| message.as_str()).collect();
            let message = sentence(&messages.join("; "));
            let forbidden = |(kind, text): &(String, String)| {
                kind == "FORBIDDEN" || text.contains("Resource not accessible")
            };
            if errors.iter().any(forbidden) {
                return MergeRefusal::NotPermitted { message };
            }
            MergeRefusal::Refused { message }
        }
        other => MergeRefusal::Api(other),
    }
}

/// A refusal in GitHub's words, as one of ours.
pub(super) fn refusal(head: &CommitSha, error: ApiError) -> MergeRefusal {
    let moved = MergeRefusal::Moved {
        expected: head.clone(),
        now: None,
    };
    let message = match error {
        ApiError::Unexpected { status: 409, .. } => return moved,
        ApiError::Unexpected {
            status: 405,
            message,
            ..
        }
        | ApiError::Unprocessable { message, .. } => sentence(&message),
        ApiError::Forbidden { message, .. } => {
            return MergeRefusal::NotPermitted {
                message: sentence(&message),
            };
        }
        other => match described(other) {
            MergeRefusal::Refused { message } => message,
            refusal => return refusal,
        },
    };
    worded(head, message)
}

/// A kind of refusal, and words of GitHub's that tell it. The order matters: some messages hold words of several.
type Kind = (fn(String) -> MergeRefusal, &'static [&'static str]);

const KINDS: &[Kind] = &[
    (|_| MergeRefusal::BaseMoved, &["base branch was modified"]),
    (
        |message| MergeRefusal::Ready { message },
        &[
            "in clean status",
            "in unstable status",
            "in has_hooks status",
        ],
    ),
    (
        |message| MergeRefusal::AutoMergeOff { message },
        &["auto merge is not allowed", "can't enable auto-merge"],
    ),
    (
        |message| MergeRefusal::NeedsQueue { message },
        &["merge queue"],
    ),
    (|message| MergeRefusal::Draft { message }, &["draft"]),
    (
        |message| MergeRefusal::Method { message },
        &[
            "merges are not allowed",
            "commits are not allowed",
            "merge method",
        ],
    ),
    (
        |message| MergeRefusal::Checks { message },
        &["status check", "required workflow", "required check"],
    ),
    (
        |message| MergeRefusal::Reviews { message },
        &[
            "approving review",
            "review is required",
            "changes were requested",
            "must be approved",
        ],
    ),
    (
        |message| MergeRefusal::NotMergeable { message },
        &[
            "not mergeable",
            "merge conflict",
            "in dirty status",
            "in unknown status",
        ],
    ),
    (
        |message| MergeRefusal::NotPermitted { message },
        &["not authorized", "not accessible"],
    ),
];

fn worded(head: &CommitSha, message: String) -> MergeRefusal {
    let said = message.to_ascii_lowercase();
    let moved = [
        "head branch was modified",
        "head sha",
        "expected head",
        "expectedheadoid",
    ];
    if moved.iter().any(|words| said.contains(words)) {
        return MergeRefusal::Moved {
            expected: head.clone(),
            now: None,
        };
    }
    let mut kinds = KINDS.iter();
    let known = kinds.find(|(_, words)| words.iter().any(|words| said.contains(words)));
    match known {
        Some((kind, _)) => kind(message),
        None => MergeRefusal::Refused { message },
    }
}
