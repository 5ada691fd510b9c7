//! The sidecar's folders and programs, made ready for the user it will be. Separate, because whom a folder belongs
//! to is no concern of starting a process.

use super::sandbox;
use anyhow::{Context as _, Result, ensure};
use nix::unistd::geteuid;
use reviewer_system::random;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

/// The sidecar's folders and programs, where the user that it becomes can reach them.
#[derive(Debug)]
pub(super) struct Workdir {
    pub executable: PathBuf,
    pub programs: Vec<PathBuf>,
    /// `None` where the reviewer is no superuser and cannot become somebody else.
    pub user: Option<u32>,
}

impl Workdir {
    pub(super) fn prepare(
        executable: &Path,
        programs: &[PathBuf],
        home: &Path,
        directory: &Path,
    ) -> Result<Self> {
        let folders = [home.to_owned(), home.join("tmp")];
        for folder in &folders {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        if !geteuid().is_root() {
            return Ok(Self {
                executable: executable.to_owned(),
                programs: programs.to_vec(),
                user: None,
            });
        }
        let user = user_of(home)?;
        for folder in &folders {
            chown(folder, Some(user), Some(user))
                .and_then(|()| std::fs::set_permissions(folder, Permissions::from_mode(0o700)))
                .with_context(|| folder.display().to_string())?;
        }
        for folder in [home, directory].into_iter().filter_map(Path::parent) {
            ensure!(
                is_open(folder),
                "{} cannot be entered by other users; set TMPDIR to a folder that can",
                folder.display()
            );
        }
        let store = home.with_file_name("programs");
        let programs = programs.iter().map(|program| within_reach(program, &store));
        Ok(Self {
            executable: within_reach(executable, &store)?,
            programs: programs.collect::<Result<_>>()?,
            user: Some(user),
        })
    }
}

/// The user that a home was given to before, or another one: a sidecar that takes a former one's place has to read what
/// it left.
fn user_of(home: &Path) -> Result<u32> {
    let owner = std::fs::metadata(home)
        .with_context(|| home.display().to_string())?
        .uid();
    if sandbox::USERS.contains(&owner) {
        return Ok(owner);
    }
    Ok(sandbox::user(random::number()?))
}

/// The program itself where everybody may execute it, else a copy: a checkout below a private home is no reason to
/// run as the superuser.
fn within_reach(program: &Path, store: &Path) -> Result<PathBuf> {
    let failed = || program.display().to_string();
    let program = std::fs::canonicalize(program).with_context(failed)?;
    let mode = std::fs::metadata(&program)
        .with_context(failed)?
        .permissions();
    if mode.mode() & 0o005 == 0o005 && program.parent().is_none_or(is_open) {
        return Ok(program);
    }
    let copy = store.join(program.file_name().unwrap_or_default());
    if !copy.exists() {
        let copied = std::fs::create_dir_all(store).and_then(|()| {
            std::fs::set_permissions(store, Permissions::from_mode(0o755))?;
            std::fs::copy(&program, &copy)?;
            std::fs::set_permissions(&copy, Permissions::from_mode(0o755))
        });
        copied.with_context(failed)?;
    }
    Ok(copy)
}

/// A folder for temporary ones: the one that is set, unless the sidecar's user could not pass through it.
#[must_use]
pub fn passable(set: Option<&Path>) -> PathBuf {
    let usual = Path::new("/tmp");
    let set = set.unwrap_or(usual);
    let hides = geteuid().is_root() && !is_open(set) && is_open(usual);
    if hides { usual } else { set }.to_owned()
}

/// True if every user may pass through a folder, from the root on.
pub(crate) fn is_open(folder: &Path) -> bool {
    let Ok(folder) = std::fs::canonicalize(folder) else {
        return false;
    };
    folder.ancestors().all(|folder| {
        std::fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out files")]
mod tests {
    use super::*;

    fn folder(parent: &Path, name: &str, mode: u32) -> PathBuf {
        let path = parent.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_program_in_a_private_folder_is_copied_and_another_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let (open, private) = (
            folder(dir.path(), "open", 0o755),
            folder(dir.path(), "private", 0o700),
        );
        let store = dir.path().join("programs");
        for place in [&open, &private] {
            std::fs::write(place.join("rg"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(place.join("rg"), Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(
            within_reach(&open.join("rg"), &store).unwrap(),
            open.join("rg")
        );
        assert!(!store.exists());
        let copy = within_reach(&private.join("rg"), &store).unwrap();
        assert_eq!(copy, store.join("rg"));
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "#!/bin/sh\n");
        assert!(within_reach(&private.join("missing"), &store).is_err());
    }
}
