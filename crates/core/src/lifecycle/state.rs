//! The state of one pull request, as it is kept in the store. Names of agents only, nothing secret. A later field needs a default.

use super::{CallReason, Decision, Facts, MergeState, Millis, Task};
use crate::domain::{CommitSha, Login};
use serde::{Deserialize, Serialize};

/// The reason why a pull request is `pending`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PendingWait {
    /// The facts are not read yet.
    Facts,
    /// Earlier approvals are compared with the new head.
    Comparison,
    Draft,
    /// The repository's settings do not enable the service.
    Disabled,
    /// The head is a stranger's, and nobody with write access has asked for its review.
    Invitation,
}

/// The way a pull request was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeType {
    /// By the service.
    Auto,
    /// By a person, once everybody had approved.
    Approved,
    /// By a person before that.
    Forced,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    Pending {
        wait: PendingWait,
    },
    /// An agent's session, or a person, looks at the head.
    Reviewing {
        reviewer: String,
    },
    /// The author, or the author's agent, is to change something.
    Fixing {
        asked_by: String,
    },
    Approved,
    NeedsHuman {
        reason: CallReason,
        logins: Vec<Login>,
        /// Reviews and orders up to these ids were there before.
        seen_review: u64,
        seen_resume: u64,
    },
    Merged {
        merge_type: MergeType,
    },
    Closed,
    Error {
        message: String,
        /// True if other settings end it.
        of_settings: bool,
    },
}

/// The progress of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Progress {
    /// Dispatched. It starts by this time, or ends by it once it has started.
    Running { until: Millis },
    /// It failed; the next attempt waits.
    Backoff { until: Millis },
    /// The day has no more sessions for it. It did not begin.
    Quota { until: Millis, quota: String },
    /// The wait is over; the next probe dispatches again, if it is still needed.
    Due,
    /// A fix is pushed as this commit. Probes asked up to the number `after` may be older than the push; `asked` counts later ones
    /// that did not show it.
    Pushed {
        commit: CommitSha,
        after: u64,
        asked: u32,
    },
}

/// The session that the state waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub dispatch: u64,
    pub task: Task,
    pub agent: String,
    pub head: CommitSha,
    /// The id that the session gave itself, once it runs.
    pub id: Option<String>,
    /// Failures of this task on this head so far.
    pub failures: u32,
    pub progress: Progress,
}

/// A decision of a reviewer, as the status shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub reviewer: String,
    pub decision: Decision,
    pub comment: String,
    pub escalations: Vec<String>,
    /// ISO 8601, UTC.
    pub timestamp: String,
    pub commit: CommitSha,
    /// The review on GitHub, where the decision was read from one.
    #[serde(default)]
    pub review: Option<u64>,
    /// True for a configured person.
    #[serde(default)]
    pub by_person: bool,
}

/// A reviewer who was added by another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    pub to: String,
    pub by: String,
}

/// A commit that somebody has approved, compared with the head.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub from: CommitSha,
    /// The number of the effect.
    pub seq: u64,
    /// `None`: not answered yet.
    pub identical: Option<bool>,
}

/// The progress of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Merging {
    #[default]
    Idle,
    /// `abandoned`: the approval is gone; an armed merge is taken back once the answer is there.
    Asked {
        attempt: u64,
        head: CommitSha,
        abandoned: bool,
    },
    /// GitHub merges on its own. Probes asked up to the number `after` may be older.
    Armed {
        head: CommitSha,
        queued: bool,
        after: u64,
        until: Millis,
    },
    /// GitHub does not know yet whether it can be merged; asked again at `until`.
    Unsettled { until: Millis },
    /// Asked again at `until`, or once GitHub's merge state is another one.
    Refused {
        why: String,
        merge_state: MergeState,
        until: Millis,
    },
    /// `failed`: asked again, if a later probe still shows an armed merge.
    Disarming { attempt: u64, failed: bool },
}

/// A timer that asks for a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskTimer {
    /// The number of the `Wake` effect.
    pub seq: u64,
    pub at: Millis,
}

/// The reminder of people in the present phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reminder {
    #[default]
    Unset,
    Set {
        seq: u64,
    },
    Sent,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    pub phase: Phase,
    /// The time at which the phase began.
    pub since: Millis,
    /// The time of the first input; 0 in states of earlier versions. It tells effects apart from those that had the same number before
    /// the store forgot an ended pull request.
    pub born: Millis,
    /// Lives so far; reopening begins the next one.
    pub generation: u32,
    /// The last number that was given to an effect.
    pub seq: u64,
    /// The probe under way.
    pub probe: Option<u64>,
    /// True if something woke the pull request during it.
    pub probe_again: bool,
    /// Probes that failed in a row since something woke the pull request.
    pub probe_failures: u32,
    /// The last facts, and the probe that read them.
    pub facts: Option<Facts>,
    pub facts_probe: u64,
    /// Approved commits that were compared with the head.
    pub compared: Vec<Comparison>,
    pub outcomes: Vec<Outcome>,
    pub escalated: Vec<Escalation>,
    /// The reviewer who looks first: whoever asked for the change, or was interrupted.
    pub first: Option<String>,
    pub session: Option<Session>,
    /// Fix sessions since the last act of a person, and further ones that people have granted.
    pub cycles: u32,
    pub granted: u32,
    pub merging: Merging,
    /// The head for which a `CarryCheck` was emitted.
    pub checked: Option<CommitSha>,
    /// Reviews of agents up to this id do not count: they are of an earlier life or somebody has put them aside.
    pub horizon: u64,
    /// Approvals of people up to this id do not count: they are of the change towards another base.
    pub base_horizon: u64,
    /// Orders up to this id were given for an earlier head and invite no review of this one.
    pub order_horizon: u64,
    /// Orders to review up to this id are answered, or came while no agent's request for changes stood.
    pub ordered: u64,
    /// The head whose sessions an operator lets begin beyond the quota of a day.
    pub waived: Option<CommitSha>,
    /// People whose review was requested for this head.
    pub requested: Vec<Login>,
    /// The number of the last `RequestReviewers`.
    pub request: Option<u64>,
    /// Answers "unknown" in a row, and refusals, of this head's merge.
    pub unsettled: u32,
    pub refusals: u32,
    pub ask_timer: Option<AskTimer>,
    pub reminder: Reminder,
    pub last_error: Option<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            phase: Phase::Pending {
                wait: PendingWait::Facts,
            },
            since: 0,
            born: 0,
            generation: 0,
            seq: 0,
            probe: None,
            probe_again: false,
            probe_failures: 0,
            facts: None,
            facts_probe: 0,
            compared: Vec::new(),
            outcomes: Vec::new(),
            escalated: Vec::new(),
            first: None,
            session: None,
            cycles: 0,
            granted: 0,
            merging: Merging::Idle,
            checked: None,
            horizon: 0,
            base_horizon: 0,
            order_horizon: 0,
            ordered: 0,
            waived: None,
            requested: Vec::new(),
            request: None,
            unsettled: 0,
            refusals: 0,
            ask_timer: None,
            reminder: Reminder::Unset,
            last_error: None,
        }
    }
}

impl Phase {
    /// The state's name, as the status shows it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Reviewing { .. } => "reviewing",
            Self::Fixing { .. } => "fixing",
            Self::Approved => "approved",
            Self::NeedsHuman { .. } => "needsHuman",
            Self::Merged { .. } => "merged",
            Self::Closed => "closed",
            Self::Error { .. } => "error",
        }
    }
}
