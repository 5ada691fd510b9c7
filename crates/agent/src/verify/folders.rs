//! The folders of the commands: the export, a home and a folder for temporary files, all given to the user that they run as.

use crate::opencode::sandbox;
use crate::opencode::workdir::is_open;
use anyhow::{Context as _, Result, ensure};
use nix::unistd::geteuid;
use reviewer_system::random;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Folders {
    pub(super) tree: PathBuf,
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
    /// `None` where the reviewer is no superuser and cannot become somebody else.
    pub(super) user: Option<u32>,
}

impl Folders {
    /// Makes what is missing in `folder`, whose `tree` is there. Home and temporary folder must not be there yet.
    pub(super) fn prepare(folder: &Path, other_than: Option<u32>) -> Result<Self> {
        let told = || folder.display().to_string();
        let folder = std::fs::canonicalize(folder).with_context(told)?;
        let mut folders = Self {
            tree: folder.join("tree"),
            home: folder.join("home"),
            temporary: folder.join("tmp"),
            user: None,
        };
        for new in [&folders.home, &folders.temporary] {
            std::fs::create_dir(new)
                .and_then(|()| std::fs::set_permissions(new, Permissions::from_mode(0o700)))
                .with_context(|| new.display().to_string())?;
        }
        if !geteuid().is_root() {
            return Ok(folders);
        }
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).with_context(told)?;
        ensure!(
            is_open(&folder),
            "{} cannot be entered by other users; set TMPDIR to a folder that can",
            folder.display()
        );
        let user = user(random::number()?, other_than);
        for given in folders.writable() {
            give(&given, user).with_context(|| given.display().to_string())?;
        }
        folders.user = Some(user);
        Ok(folders)
    }

    pub(super) fn writable(&self) -> Vec<PathBuf> {
        vec![self.tree.clone(), self.home.clone(), self.temporary.clone()]
    }

    /// Everything that a command finds in its environment, but for the search path.
    pub(super) fn variables(&self) -> [(&'static str, &Path); 4] {
        [
            ("HOME", &self.home),
            ("TMPDIR", &self.temporary),
            ("LANG", Path::new("C.UTF-8")),
            ("CI", Path::new("1")),
        ]
    }
}

/// A user for a while, by a random number.
fn user(random: u32, other_than: Option<u32>) -> u32 {
    let user = sandbox::user(random);
    if other_than == Some(user) {
        sandbox::user(random.wrapping_add(1))
    } else {
        user
    }
}

/// Gives a folder and everything in it away. Nothing hostile runs yet, and links are not followed.
fn give(path: &Path, user: u32) -> std::io::Result<()> {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if std::fs::symlink_metadata(&path)?.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
        lchown(&path, Some(user), Some(user))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_never_have_the_user_of_the_sidecar() {
        for random in [0, 1, 4_335, u32::MAX] {
            let sidecar = sandbox::user(random);
            let chosen = user(random, Some(sidecar));
            assert_ne!(chosen, sidecar);
            assert!(sandbox::USERS.contains(&chosen));
            assert_eq!(user(random, None), sidecar);
        }
    }
}
