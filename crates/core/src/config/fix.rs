//! Fixing: which runs fix and how a fix is delivered, by inputs; what verifies one and which files one may touch, by the
//! settings file of the base branch alone, so a pull request never says what is run.

use super::Globs;
use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const MINUTES: std::ops::RangeInclusive<u64> = 1..=60;
pub(super) const DEFAULT_MINUTES: u64 = 10;

/// The runs that fix findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FixMode {
    #[default]
    Off,
    /// When somebody with write access asks.
    OnRequest,
    /// These, and every review whose consensus is not `approve`.
    Auto,
}

/// The form in which a fix is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FixDelivery {
    /// One commit on the pull request's branch.
    #[default]
    Push,
    /// A pull request onto that branch.
    PullRequest,
    /// A file; nothing is pushed.
    Patch,
}

/// The settings of fixing.
#[derive(Debug, Clone, Default)]
pub struct FixChoice {
    pub mode: FixMode,
    pub delivery: FixDelivery,
    /// Pushes, and does nothing else; `None`: the run's own token.
    pub push_token: Option<SecretString>,
    pub max_cycles: u32,
    pub settings: FixSettings,
}

/// The repository's settings for fixes.
#[derive(Debug, Clone)]
pub struct FixSettings {
    /// Commands that a fix has to pass, each a program with its arguments. No shell reads them.
    pub verify: Vec<Vec<String>>,
    /// Files outside the change that a fix may touch.
    pub allow: Globs,
    /// Absolute paths that the commands may read besides the system's own.
    pub verify_read: Vec<PathBuf>,
    /// Absolute paths that they may also execute from.
    pub verify_exec: Vec<PathBuf>,
    /// The time that a fix session has, and the same for all commands together, each time that they run.
    pub timeout: Duration,
}

impl Default for FixSettings {
    fn default() -> Self {
        Self {
            verify: Vec::new(),
            allow: Globs::default(),
            verify_read: Vec::new(),
            verify_exec: Vec::new(),
            timeout: Duration::from_secs(DEFAULT_MINUTES * 60),
        }
    }
}
