//! A check run as GitHub tells it, and the conclusions of the reviewer's own.

/// The conclusion of a check run of the reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
}

impl Conclusion {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A check run of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunInfo {
    pub id: u64,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// `None` until it is completed.
    pub conclusion: Option<String>,
    pub external_id: Option<String>,
    pub text: Option<String>,
    pub app_slug: Option<String>,
    /// RFC 3339, as GitHub gave it.
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
}

/// A check run of any name on a commit, as far as others are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCheck {
    pub name: String,
    /// `None` until it is completed.
    pub conclusion: Option<String>,
    /// The page of its run.
    pub details_url: Option<String>,
    /// Its result in a line of its own words.
    pub title: Option<String>,
    /// Its words about lines of the commit.
    pub annotations: Vec<Annotation>,
}

impl NamedCheck {
    /// True if it ended and failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let conclusion = self.conclusion.as_deref().unwrap_or_default();
        matches!(
            conclusion,
            "failure" | "timed_out" | "startup_failure" | "error"
        )
    }
}

/// The words of a check about a line of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// True for a failure; a warning and a notice are none.
    pub fails: bool,
    pub path: String,
    pub line: u32,
    pub message: String,
}
