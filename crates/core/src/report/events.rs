//! The steps of fixing in the report file, each with its time.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A step of fixing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EventReport {
    /// RFC 3339, in UTC.
    pub at: String,
    pub event: EventKind,
    /// Ids and numbers of the step.
    pub details: Value,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A fix begins, with a summary of the review.
    FixCreated,
    FixCompleted,
    FixFailed,
    /// Somebody took a fix back.
    FixReverted,
    /// The head that a fix made is reviewed.
    ReReview,
    HumanEscalation,
}

impl EventKind {
    /// The step in words, for people.
    #[must_use]
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::FixCreated => "fix begun",
            Self::FixCompleted => "fix completed",
            Self::FixFailed => "fix failed",
            Self::FixReverted => "fix reverted",
            Self::ReReview => "review of the fix",
            Self::HumanEscalation => "people called",
        }
    }
}
