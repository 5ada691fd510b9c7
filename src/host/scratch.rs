//! The run's temporary folder, gone with it.

use super::Failure;
use reviewer_agent::opencode::workdir;
use reviewer_core::config::environment::Environment;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder that the sidecar's user may pass through, and not list.
    pub fn new(environment: &Environment) -> Result<Self, Failure> {
        let parent = workdir::passable(environment.temporary.as_deref());
        let made = tempfile::Builder::new()
            .prefix("reviewer-")
            .permissions(Permissions::from_mode(0o711))
            .tempdir_in(&parent);
        made.map(|directory| Self(directory.keep()))
            .map_err(|error| {
                let parent = parent.display();
                Failure::new(format!(
                    "No temporary folder could be made in {parent}: {error}"
                ))
            })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder of this name, or of a similar one if there is such a folder.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, Failure> {
        let taken = |name: &str| self.0.join(name).exists();
        let mut names = (2..).map(|number| format!("{name}-{number}"));
        let free = if taken(name) {
            names.find(|name| !taken(name))
        } else {
            Some(name.to_owned())
        };
        self.directory(&free.unwrap_or_else(|| name.to_owned()))
    }

    /// A folder of its own in it.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.0.join(name);
        std::fs::create_dir(&path)
            .map_err(|error| Failure::new(format!("No temporary folder could be made: {error}")))?;
        Ok(path)
    }
}

/// The maximum number of attempts to remove the folder, and the pause between.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// A run that is cut off drops everything at once, and what it had started may write for another moment.
impl Drop for Scratch {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match std::fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    std::thread::sleep(PAUSE);
                }
                _ => return,
            }
        }
        tracing::warn!("{} could not be removed", self.0.display());
    }
}
