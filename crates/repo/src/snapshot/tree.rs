//! The directory being filled. Separate because it is all that touches the disk: nobody else writes there, and every
//! file is made anew, so no link is followed.

use anyhow::{Context as _, Result, bail};
use reviewer_text::hidden::visible;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub(crate) struct Tree {
    root: PathBuf,
    made: HashSet<PathBuf>,
}

impl Tree {
    /// An empty directory that is there.
    pub(crate) fn claim(dir: &Path) -> Result<Self> {
        let failed = || format!("cannot write files to {}", dir.display());
        let meta = std::fs::symlink_metadata(dir).with_context(failed)?;
        if !meta.is_dir()
            || std::fs::read_dir(dir)
                .with_context(failed)?
                .next()
                .is_some()
        {
            bail!("{}: it must be an empty directory", failed());
        }
        Ok(Self::resume(dir))
    }

    /// Opens a folder that was claimed before.
    pub(super) fn resume(dir: &Path) -> Self {
        Self {
            root: dir.to_owned(),
            made: HashSet::from([dir.to_owned()]),
        }
    }

    pub(super) fn path(&self, shown: &str) -> PathBuf {
        self.root.join(shown)
    }

    /// Adds a file that everybody may read.
    pub(super) fn add(&mut self, shown: &str, content: &[u8]) -> Result<()> {
        self.add_as(OsStr::new(shown), content, 0o644)
    }

    /// Adds a file with these permissions.
    pub(crate) fn add_as(&mut self, name: &OsStr, content: &[u8], mode: u32) -> Result<()> {
        let path = self.root.join(name);
        let failed = || {
            let root = self.root.display();
            format!(
                "cannot write {} to {root}",
                visible(&name.to_string_lossy())
            )
        };
        if let Some(parent) = path.parent() {
            directory(&mut self.made, parent).with_context(failed)?;
        }
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(mode).open(&path);
        let mut file = opened.with_context(failed)?;
        file.write_all(content).with_context(failed)?;
        // The umask of the job may have taken away what another user needs for reading.
        file.set_permissions(Permissions::from_mode(mode))
            .with_context(failed)
    }
}

fn directory(made: &mut HashSet<PathBuf>, path: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|p| !made.contains(*p))
        .collect();
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o755).create(dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => std::fs::set_permissions(dir, Permissions::from_mode(0o755))?,
        }
        made.insert(dir.to_owned());
    }
    Ok(())
}
