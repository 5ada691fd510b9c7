//! The repository's settings for fixes: what verifies one, and which files one may touch. Only the settings file of the base
//! branch has them, so a pull request never says what is run.

use super::Globs;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const MINUTES: std::ops::RangeInclusive<u64> = 1..=60;
pub(super) const DEFAULT_MINUTES: u64 = 10;

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
