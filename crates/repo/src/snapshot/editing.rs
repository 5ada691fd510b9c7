//! Writes the edits of a fix into the snapshot, where the sidecar reads them back; it cannot write there itself. Every folder on
//! the way is opened without following links, and a file appears whole or not at all.

use super::Snapshot;
use super::layout::Content;
use super::names::{Names, Reason};
use crate::git::FileEdit;
use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use reviewer_text::hidden::visible;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::PoisonError;

/// The reason why an edit was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditRefusal {
    /// It is shown without the values that may be secrets, so nobody could edit it from what is shown.
    Masked,
    NotRegular,
    LeftOut(Reason),
    /// The name is not one that a repository or a folder takes.
    Name(Reason),
    /// A folder of this name, or a file in place of one of its folders, is there.
    Taken,
    /// To be deleted, and not there.
    Missing,
}

impl fmt::Display for EditRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Masked => f.write_str("values in it are masked, because they may be secrets"),
            Self::NotRegular => f.write_str("it is a symbolic link or a submodule"),
            Self::LeftOut(reason) => write!(f, "it is not shown: {reason}"),
            Self::Name(reason) => write!(f, "its name cannot be used: {reason}"),
            Self::Taken => f.write_str("a file and a folder would have the same name"),
            Self::Missing => f.write_str("there is no such file"),
        }
    }
}

/// The files that a fix has made, and the names that are left for more.
#[derive(Debug)]
pub(super) struct Made {
    names: Names,
    /// Repository path → path in the snapshot.
    places: HashMap<String, String>,
    /// The number of edits so far.
    count: u64,
}

impl Made {
    pub(super) fn none(names: Names) -> Self {
        Self {
            names,
            places: HashMap::new(),
            count: 0,
        }
    }
}

impl Snapshot {
    /// Writes an edit, and returns the path under which the snapshot shows it. To undo one, write the head's content, or
    /// delete what the head does not have.
    pub async fn edit(&self, edit: &FileEdit) -> Result<Result<String, EditRefusal>> {
        let shown = match self.place(edit) {
            Ok(shown) => shown,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (root, place, content) = (self.root.clone(), shown.clone(), edit.content.clone());
        let unfinished = self.unfinished();
        let written = tokio::task::spawn_blocking(move || match content {
            Some(content) => write(&root, &place, &unfinished, &content),
            None => remove(&root, &place),
        });
        let failed = || format!("cannot write {} to the snapshot", visible(&edit.path));
        match written.await? {
            Err(Errno::ENOENT) if edit.content.is_none() => Ok(Err(EditRefusal::Missing)),
            written => written.with_context(failed).map(|()| Ok(shown)),
        }
    }

    /// The path in the snapshot for an edit, or why there is none.
    fn place(&self, edit: &FileEdit) -> Result<String, EditRefusal> {
        let path = edit.path.as_str();
        if let Some(left_out) = self.left_out.iter().find(|one| one.path == path) {
            return Err(EditRefusal::LeftOut(left_out.reason));
        }
        match self.contents.get(path) {
            Some(Content::Plain) => return Ok(self.shown_path(path)),
            Some(Content::Masked(_)) => return Err(EditRefusal::Masked),
            Some(Content::Link | Content::Submodule) => return Err(EditRefusal::NotRegular),
            None => {}
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = made.places.get(path) {
            return Ok(shown.clone());
        }
        if edit.content.is_none() {
            return Err(EditRefusal::Missing);
        }
        let taken = self
            .all_paths()
            .chain(made.places.keys().map(String::as_str));
        if taken
            .into_iter()
            .any(|other| is_within(other, path) || is_within(path, other))
        {
            return Err(EditRefusal::Taken);
        }
        let shown = made
            .names
            .place(path.as_bytes())
            .map_err(EditRefusal::Name)?;
        made.places.insert(path.to_owned(), shown.clone());
        Ok(shown)
    }

    /// The place of a file while it is written, in the folder that no path of the repository leads into.
    fn unfinished(&self) -> String {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.count += 1;
        format!("{}/unfinished-{}", self.own_folder, made.count)
    }

    fn all_paths(&self) -> impl Iterator<Item = &str> {
        let left_out = self.left_out.iter().map(|one| one.path.as_str());
        self.contents.keys().map(String::as_str).chain(left_out)
    }
}

const READABLE: Mode = Mode::from_bits_truncate(0o644);
const PASSABLE: Mode = Mode::from_bits_truncate(0o755);

/// True if `path` lies in a folder called `folder`.
fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn write(root: &Path, shown: &str, unfinished: &str, content: &[u8]) -> nix::Result<()> {
    let (folder, name) = folder_of(root, shown, true)?;
    let (store, unfinished) = folder_of(root, unfinished, true)?;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let file = openat(&store, unfinished, flags, READABLE)?;
    // The umask of the job may have taken away what another user needs for reading.
    fchmod(&file, READABLE)?;
    let written = File::from(file).write_all(content);
    written.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    renameat(&store, unfinished, &folder, name)
}

fn remove(root: &Path, shown: &str) -> nix::Result<()> {
    let (folder, name) = folder_of(root, shown, false)?;
    unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)
}

/// Opens the folder of a path, one component after the other, and makes it where it is missing.
fn folder_of<'a>(root: &Path, shown: &'a str, make: bool) -> nix::Result<(OwnedFd, &'a str)> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let mut folder = open(root, flags, Mode::empty())?;
    let (parents, name) = shown.rsplit_once('/').unwrap_or(("", shown));
    for component in parents.split('/').filter(|one| !one.is_empty()) {
        let is_new = make && mkdirat(&folder, component, PASSABLE).is_ok();
        folder = openat(&folder, component, flags, Mode::empty())?;
        if is_new {
            fchmod(&folder, PASSABLE)?;
        }
    }
    Ok((folder, name))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "edge: tests look at files")]
mod tests {
    use super::*;
    use crate::git::fixture::Work;
    use crate::snapshot::{Caps, SnapshotSource, write};
    use reviewer_core::domain::FileDiff;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use tempfile::TempDir;

    async fn snapshot(work: &Work) -> (TempDir, Snapshot) {
        let head = work.commit();
        let (dir, opened) = (TempDir::new().unwrap(), work.open());
        let changed = FileDiff {
            path: ".env".to_owned(),
            ..FileDiff::default()
        };
        let source = SnapshotSource {
            head: &head,
            base: &[],
            changed: &[changed],
        };
        let caps = Caps::default();
        let written = write(&opened.repository, &source, dir.path(), &caps).await;
        (dir, written.unwrap())
    }

    fn edit(path: &str, content: Option<&[u8]>) -> FileEdit {
        FileEdit {
            path: path.to_owned(),
            content: content.map(<[u8]>::to_vec),
        }
    }

    #[tokio::test]
    async fn an_edit_is_read_back_byte_for_byte_and_can_be_undone() {
        let work = Work::new();
        work.write("src/a.rs", "one\r\n").write("AGENTS.md", "data");
        let (dir, snapshot) = snapshot(&work).await;
        let read = |path: &str| std::fs::read(dir.path().join(path)).ok();
        let bytes: &[u8] = b"caf\xe9\r\nno end";
        let shown = snapshot.edit(&edit("src/a.rs", Some(bytes))).await.unwrap();
        assert_eq!(shown.as_deref(), Ok("src/a.rs"));
        assert_eq!(read("src/a.rs").as_deref(), Some(bytes));
        let mode = std::fs::metadata(dir.path().join("src/a.rs")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o644);
        for content in [None, Some(&b"one\r\n"[..])] {
            let shown = snapshot.edit(&edit("src/a.rs", content)).await.unwrap();
            assert!(shown.is_ok());
            assert_eq!(read("src/a.rs").as_deref(), content);
        }
        let shown = snapshot.edit(&edit("AGENTS.md", Some(b"new"))).await;
        assert_eq!(shown.unwrap().as_deref(), Ok("AGENTS.md.pr-data"));
        assert_eq!(read("AGENTS.md"), None);
    }

    #[tokio::test]
    async fn a_new_file_gets_a_name_of_its_own_and_is_deleted_again() {
        let work = Work::new();
        work.write("src/Readme", "x").write("src/readme", "y");
        let (dir, snapshot) = snapshot(&work).await;
        for (path, shown) in [
            ("src/new/deep/a.rs", "src/new/deep/a.rs"),
            (".opencode/plugin/x.js", ".opencode.pr-data/plugin/x.js"),
            ("src/readme~2", "src/readme~2~2"),
        ] {
            for content in [b"1", b"2"] {
                let placed = snapshot.edit(&edit(path, Some(content))).await.unwrap();
                assert_eq!(placed.as_deref(), Ok(shown));
                assert_eq!(std::fs::read(dir.path().join(shown)).unwrap(), content);
            }
            assert!(snapshot.edit(&edit(path, None)).await.unwrap().is_ok());
            assert!(!dir.path().join(shown).exists());
            let again = snapshot.edit(&edit(path, None)).await.unwrap();
            assert_eq!(again, Err(EditRefusal::Missing));
        }
        assert_eq!(
            std::fs::read(dir.path().join("src/readme~2")).unwrap(),
            b"y"
        );
    }

    #[tokio::test]
    async fn what_is_masked_linked_left_out_or_named_wrongly_is_refused() {
        let work = Work::new();
        work.write(".env", "KEY=secret-value-1\n")
            .write("deploy/.env", "KEY=secret-value-2\n")
            .write("src/a.rs", "x")
            .link("link", "/etc/passwd");
        let (dir, snapshot) = snapshot(&work).await;
        let secrets = EditRefusal::LeftOut(Reason::MayHoldSecrets);
        for (path, refusal) in [
            (".env", EditRefusal::Masked),
            ("deploy/.env", secrets),
            ("link", EditRefusal::NotRegular),
            ("link/x", EditRefusal::Taken),
            ("src/a.rs/x", EditRefusal::Taken),
            ("src", EditRefusal::Taken),
            (".git/hooks/x", EditRefusal::Name(Reason::GitDirectory)),
            ("../x", EditRefusal::Name(Reason::Escapes)),
            ("/etc/x", EditRefusal::Name(Reason::Escapes)),
        ] {
            let refused = snapshot.edit(&edit(path, Some(b"x"))).await.unwrap();
            assert_eq!(refused, Err(refusal), "{path}");
        }
        assert!(!dir.path().parent().unwrap().join("x").exists());
    }

    #[tokio::test]
    async fn a_link_that_somebody_put_in_the_way_is_not_followed() {
        let work = Work::new();
        work.write("src/a.rs", "x").write("b.rs", "y");
        let (dir, snapshot) = snapshot(&work).await;
        let outside = TempDir::new().unwrap();
        std::fs::write(outside.path().join("a.rs"), "outside").unwrap();
        std::fs::remove_dir_all(dir.path().join("src")).unwrap();
        symlink(outside.path(), dir.path().join("src")).unwrap();
        assert!(
            snapshot
                .edit(&edit("src/a.rs", Some(b"new")))
                .await
                .is_err()
        );
        assert!(snapshot.edit(&edit("src/a.rs", None)).await.is_err());
        std::fs::remove_file(dir.path().join("b.rs")).unwrap();
        symlink(outside.path().join("a.rs"), dir.path().join("b.rs")).unwrap();
        assert!(
            snapshot
                .edit(&edit("b.rs", Some(b"new")))
                .await
                .unwrap()
                .is_ok()
        );
        assert_eq!(std::fs::read(dir.path().join("b.rs")).unwrap(), b"new");
        let text = std::fs::read_to_string(outside.path().join("a.rs")).unwrap();
        assert_eq!(text, "outside");
    }
}
