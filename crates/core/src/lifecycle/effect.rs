//! Effects: what the world is asked to do, each with a number that never repeats. A timer is an effect, too.

use super::{Input, PullKey};
use crate::domain::{CommitSha, Login};
use serde::{Deserialize, Serialize};

/// The task of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Task {
    Review {
        #[serde(default)]
        can_escalate: Vec<String>,
        /// True if every other agent whose approval the head needs has given it. Where agents share an account, its approval on
        /// GitHub is that of the last one.
        #[serde(default)]
        is_last: bool,
    },
    /// Fixes what the reviewer has asked for.
    Fix { asked_by: String },
}

/// The reason why people are called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallReason {
    /// Fix sessions have reached their limit.
    CapReached {
        cycles: u32,
        asked_by: String,
    },
    /// A reviewer asks for a person.
    Escalated {
        by: String,
        to: String,
    },
    /// Nobody but the author is configured to review.
    NoReviewer,
    NothingFixed {
        why: String,
    },
    /// The author is neither a person nor an agent who could answer the request for changes.
    NoFixer {
        asked_by: String,
    },
    /// Somebody has dismissed the agent's review of this head.
    Dismissed {
        reviewer: String,
    },
    MergeRefused {
        why: String,
    },
    /// A session failed for good.
    Failed,
    WrongSettings {
        message: String,
    },
    /// GitHub did not take the request for a review.
    NotRequested,
    /// People have been waited for, for long. Effects of earlier versions; `StillWaiting` says for what.
    Reminder,
    StillWaiting {
        what: String,
    },
}

impl CallReason {
    /// The reason as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::CapReached { cycles, asked_by } => {
                let times = if *cycles == 1 { "session" } else { "sessions" };
                format!("{asked_by} still requests changes after {cycles} fix {times}.")
            }
            Self::Escalated { by, to } => format!("{by} asks for a review by {to}."),
            Self::NoReviewer => "Nobody but the author is configured to review.".into(),
            Self::NothingFixed { why } => {
                let first = why.lines().next().unwrap_or_default();
                let first = first.strip_prefix("Nothing was fixed: ").unwrap_or(first);
                format!("The fix session has changed nothing: {first}")
            }
            Self::NoFixer { asked_by } => {
                format!("{asked_by} requests changes, and the author is nobody who could answer.")
            }
            Self::Dismissed { reviewer } => {
                format!("The review of {reviewer} was dismissed for this head.")
            }
            Self::MergeRefused { why } => format!("The merge does not succeed: {why}"),
            Self::Failed => "The service has failed and does not go on by itself.".into(),
            Self::WrongSettings { message } => message.clone(),
            Self::NotRequested => "GitHub did not take the request for a review.".into(),
            Self::Reminder | Self::StillWaiting { .. } => "The pull request still waits.".into(),
        }
    }

    /// The acts that lead on. `mention` is how a comment addresses the service; without it, its commands are named alone.
    #[must_use]
    pub fn needed(&self, mention: Option<&str>) -> String {
        let comment = |words: &str| match mention {
            Some(mention) => format!("the comment `{mention} {words}`"),
            None => format!("`{words}`"),
        };
        match self {
            Self::CapReached { .. } | Self::NothingFixed { .. } => format!(
                "a review of this head, a push, {} or the command retry",
                comment("fix resume")
            ),
            Self::NoFixer { .. } => format!(
                "a push, or {} once the findings are closed",
                comment("review")
            ),
            Self::Escalated { to, .. } => {
                format!("a review of this head by {to} or by another person with write access")
            }
            Self::NoReviewer => "a review of this head by a person with write access".into(),
            Self::Dismissed { .. } => format!(
                "a review of this head by a person, a push, {} or the command retry",
                comment("review")
            ),
            Self::MergeRefused { .. } => "somebody to merge, a push, or the command retry".into(),
            Self::Failed => "a push, or the command retry".into(),
            Self::WrongSettings { .. } => "a correction of the settings in the base branch".into(),
            Self::NotRequested => "a review of this head".into(),
            Self::Reminder => "an answer".into(),
            Self::StillWaiting { what } => what.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Read the facts. Answered by `Probed`.
    Probe,
    /// Compare two commits' changes by git's objects. Answered by `Compared`.
    Compare { from: CommitSha, to: CommitSha },
    /// Start a session. Answered by `SessionStarted`, then `SessionEnded` or `SessionFailed`; or by `OverQuota`. `dispatch` is the
    /// effect's number.
    Dispatch {
        dispatch: u64,
        task: Task,
        head: CommitSha,
        agent: String,
        deadline_ms: u64,
        /// Somebody has asked for it, so no quota keeps it from beginning.
        #[serde(default)]
        beyond_quota: bool,
    },
    /// End a session, if it is still at work. Nothing is answered.
    EndSession { dispatch: u64 },
    /// Request reviews. Nothing is answered.
    RequestReviewers { logins: Vec<Login> },
    /// Merge this head, by queue, auto-merge or at once, as GitHub offers it. Answered by `Merge`. `attempt` is the effect's number.
    Merge { attempt: u64, head: CommitSha },
    /// Take an armed auto-merge or a place in the queue back. Answered by `Merge` with `Disarmed`. `attempt` is the effect's number.
    Disarm { attempt: u64 },
    /// Put the check of an App on a head that makes the same change as `from`, which its agents have approved: no session reviews this
    /// head. One that has a check keeps it. Nothing is answered.
    CarryCheck { from: CommitSha, head: CommitSha },
    /// One comment that people are needed, recognised by the effect's id in its marker. Nothing is answered.
    Call {
        reason: CallReason,
        logins: Vec<Login>,
    },
    /// A timer: delivers `input` after the time.
    Wake { after_ms: u64, input: Box<Input> },
}

/// An effect with its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Numbered {
    pub seq: u64,
    pub effect: Effect,
}

impl Numbered {
    /// The same after every crash and on every store.
    #[must_use]
    pub fn id(&self, key: &PullKey) -> String {
        format!("{key}/{}", self.seq)
    }
}
