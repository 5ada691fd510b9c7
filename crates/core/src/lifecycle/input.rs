//! Inputs: a wake, the answers to effects, timers, commands. Each but the wake names the effect that it belongs to.

use super::{Facts, Millis};
use crate::domain::CommitSha;
use serde::{Deserialize, Serialize};

/// A reviewer's decision about one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approved,
    ChangesRequested,
}

/// The end of a session that did its task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionResult {
    Reviewed {
        decision: Decision,
        comment: String,
        #[serde(default)]
        escalations: Vec<String>,
    },
    /// The fix is the head of the branch.
    Fixed {
        commit: CommitSha,
    },
    NothingFixed {
        why: String,
    },
}

/// GitHub's answer to a merge, or to the end of an armed one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeAnswer {
    Merged,
    /// GitHub merges when the requirements are met.
    Armed,
    /// In the merge queue.
    Queued,
    /// The head is another one, or something else has changed since the approval was read.
    Moved,
    /// GitHub does not know yet whether it can be merged.
    Unknown,
    Refused {
        why: String,
    },
    /// The armed auto-merge is taken back, or there was none.
    Disarmed,
}

/// A timer, with what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Timer {
    /// The session `dispatch` failed and may be repeated.
    Retry { dispatch: u64 },
    /// The day is over whose quota had no place for the session `dispatch`.
    NextDay { dispatch: u64 },
    /// The session `dispatch` has not started in its time.
    QueueDeadline { dispatch: u64 },
    /// The session `dispatch` has had its time.
    Deadline { dispatch: u64 },
    /// Asks for a probe: after one failed, or while GitHub settles or a merge waits.
    AskAgain,
    /// People were waited for so long that they are called once more.
    Reminder,
}

/// An order through the HTTP API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    Retry,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// A webhook, a reconciliation or an event of the API. It decides nothing and asks for a probe.
    Woken {
        cause: String,
    },
    /// `probe` is the number of the `Probe` effect.
    Probed {
        probe: u64,
        facts: Box<Facts>,
    },
    /// `identical`: both commits make the same change, by git's objects.
    Compared {
        from: CommitSha,
        to: CommitSha,
        identical: bool,
    },
    SessionStarted {
        dispatch: u64,
        session: String,
    },
    SessionEnded {
        dispatch: u64,
        result: SessionResult,
    },
    SessionFailed {
        dispatch: u64,
        error: String,
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
    /// The session `dispatch` does not begin before `until`. `quota` names whose quota is used up.
    OverQuota {
        dispatch: u64,
        quota: String,
        until: Millis,
    },
    Merge {
        attempt: u64,
        answer: MergeAnswer,
    },
    /// The driver gave an effect up.
    EffectFailed {
        seq: u64,
        error: String,
    },
    /// `seq` is the number of the `Wake` effect.
    Timer {
        seq: u64,
        timer: Timer,
    },
    Command {
        command: Command,
        by: String,
    },
}
