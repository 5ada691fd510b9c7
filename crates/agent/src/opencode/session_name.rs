//! The name of a session, and the names that OpenCode has for what is its own: agent and tools. The first session of a
//! run has the plain names, so that one reviewer alone is what it always was.

use super::profile::{Profile, ToolName};
use std::fmt;

/// A session's name in the paths of its tools: `r1` is the first that reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionName {
    Review(u8),
    /// The one of a panel in which a second reviewer checks fixes.
    FixCheck,
    /// The one that fixes, alone in its sidecar.
    Fix,
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Review(number) => write!(f, "r{number}"),
            Self::FixCheck => f.write_str("check"),
            Self::Fix => f.write_str("fix"),
        }
    }
}

impl SessionName {
    /// Its first words, for sentences.
    #[must_use]
    pub fn stage(self) -> &'static str {
        match self {
            Self::Review(_) => "the start",
            Self::FixCheck => "the check of fixes",
            Self::Fix => "the fix",
        }
    }

    /// The prefix of its tools' names; empty for the first session.
    #[must_use]
    pub fn prefix(self) -> String {
        match self {
            Self::Review(1) | Self::Fix => String::new(),
            other => format!("{other}_"),
        }
    }

    /// The name of its agent.
    #[must_use]
    pub fn agent(self, profile: Profile) -> String {
        match self {
            Self::Review(1) | Self::Fix => profile.agent().to_owned(),
            other => format!("{}-{other}", profile.agent()),
        }
    }

    /// The name by which OpenCode and the model call a tool of the session.
    #[must_use]
    pub fn tool(self, tool: ToolName) -> String {
        format!("{}{tool}", self.prefix())
    }
}
