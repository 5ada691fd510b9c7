//! The section `lifecycle` of the settings file: who reviews in the service, and what it does with approved pull requests.
//! The base branch's file counts, so a pull request never says who has to approve it.

use serde::{Deserialize, Serialize};

pub(super) const FIX_CYCLES: std::ops::RangeInclusive<u32> = 0..=10;
const DEFAULT_FIX_CYCLES: u32 = 2;
pub(super) const MOST_REVIEWERS: usize = 10;

/// The kind of a reviewer's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewerKind {
    /// An agent of the service, which is dispatched.
    Agent,
    /// A person, who is requested on GitHub and waited for.
    Human,
}

/// A reviewer whose approval is required.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reviewer {
    /// The agent's name, or the person's login.
    pub name: String,
    pub kind: ReviewerKind,
    /// The names that this reviewer may add as reviewers.
    #[serde(default)]
    pub can_escalate: Vec<String>,
    /// Those of them who are people, and not agents.
    #[serde(default)]
    pub people: Vec<String>,
}

/// The settings of a repository for the service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub enabled: bool,
    /// In the order in which they look.
    pub reviewers: Vec<Reviewer>,
    pub auto_merge: bool,
    pub require_human_approval: bool,
    /// Fix sessions that follow one another without an act of a person.
    pub max_fix_cycles: u32,
    /// The first mistake in the section. Nothing is reviewed or merged by settings that nobody meant.
    pub error: Option<String>,
}

impl Settings {
    /// True where the file names no reviewers of its own: the agents that the default names may be missing in the service.
    #[must_use]
    pub fn has_default_reviewers(&self) -> bool {
        self.reviewers == Self::default().reviewers
    }

    /// True for a name that the settings say is a person's: a reviewer, or somebody whom a reviewer may add.
    #[must_use]
    pub fn is_person(&self, name: &str) -> bool {
        self.reviewers.iter().any(|one| {
            let is_reviewer =
                one.kind == ReviewerKind::Human && one.name.eq_ignore_ascii_case(name);
            is_reviewer
                || one
                    .people
                    .iter()
                    .any(|person| person.eq_ignore_ascii_case(name))
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            reviewers: vec![Reviewer {
                name: "quality".into(),
                kind: ReviewerKind::Agent,
                can_escalate: vec!["security".into()],
                people: Vec::new(),
            }],
            auto_merge: false,
            require_human_approval: false,
            max_fix_cycles: DEFAULT_FIX_CYCLES,
            error: None,
        }
    }
}
