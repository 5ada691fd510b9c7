//! Limits on the memory and disk that the sidecar takes. Separate, because the reviewer has to enforce them itself: the
//! sidecar's runtime reserves address space far beyond what it uses, so the kernel's limits on that would end it at
//! once, and the kernel has no limit for a folder.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads /proc and the scratch home"
)]

use nix::unistd::Pid;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that is read without end grew by 200 MB a second where it was seen.
const PAUSE: Duration = Duration::from_millis(500);

/// The limits of a process group, in bytes and in files.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    pub memory: u64,
    pub scratch: u64,
    /// More files than this are too many, whatever they hold.
    pub files: usize,
}

impl Quota {
    /// Six times the memory that a review takes, and less than the smallest runner has; fifty times its scratch home, which has
    /// a few dozen files.
    pub const USUAL: Self = Self {
        memory: 4 << 30,
        scratch: 2 << 30,
        files: 50_000,
    };

    /// For a build of the repository and its tests.
    pub const BUILD: Self = Self {
        memory: 4 << 30,
        scratch: 8 << 30,
        files: 400_000,
    };

    /// Waits until the processes of a group hold more memory, or a folder more bytes, than they may; says which. `name` is
    /// what the folder is called.
    pub(crate) async fn exceeded(self, group: Pid, home: &Path, name: &str) -> String {
        loop {
            let held = resident(group);
            if held > self.memory {
                return too_much("it held", held, " of memory", self.memory);
            }
            // A hostile sidecar can make a folder that takes long to measure.
            let folder = home.to_owned();
            let measured = tokio::task::spawn_blocking(move || on_disk(&folder, self.files)).await;
            match measured.ok() {
                Some(Ok(held)) if held > self.scratch => {
                    return too_much(&format!("{name} held"), held, "", self.scratch);
                }
                Some(Err(error)) => {
                    return format!("{name} cannot be measured: {error}");
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

fn too_much(what: &str, held: u64, of: &str, limit: u64) -> String {
    format!(
        "{what} {} MiB{of}, more than the {} MiB it may",
        held >> 20,
        limit >> 20
    )
}

/// The memory of a process group, swapped pages and shared memory included. Its members cannot leave it
/// (`sandbox/calls.rs`).
fn resident(group: Pid) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| of_process(&entry.path(), group))
        .sum()
}

/// The memory of a process of the group. One whose first thread has ended shows it in its other threads only.
fn of_process(process: &Path, group: Pid) -> Option<u64> {
    // Only a process that still runs has such a file. A process names itself, in any bytes.
    let status = |folder: &Path| {
        let text = fs::read(folder.join("status")).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let leader = status(process)?;
    let number = field(&leader, "NSpgid:")?;
    if number != u64::try_from(group.as_raw()).ok()? {
        return None;
    }
    held(&leader).or_else(|| {
        let threads = fs::read_dir(process.join("task")).ok()?.flatten();
        let mut threads = threads.filter_map(|thread| status(&thread.path()));
        threads.find_map(|thread| held(&thread))
    })
}

/// Resident and swapped memory, from the text of `/proc/<pid>/status`. A thread that has ended has none in it.
fn held(status: &str) -> Option<u64> {
    let kibibytes = field(status, "VmRSS:")? + field(status, "VmSwap:").unwrap_or(0);
    Some(kibibytes << 10)
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The bytes that a folder takes on disk. Files that were removed and are still open are not seen.
fn on_disk(folder: &Path, most_files: usize) -> io::Result<u64> {
    let mut waiting: Vec<PathBuf> = vec![folder.to_owned()];
    let (mut files, mut bytes) = (0, 0);
    while let Some(folder) = waiting.pop() {
        for entry in still_there(fs::read_dir(&folder))?.into_iter().flatten() {
            let Some(entry) = still_there(entry)? else {
                continue;
            };
            let Some(about) = still_there(entry.metadata())? else {
                continue;
            };
            files += 1;
            if files > most_files {
                return Err(io::Error::other(format!("more than {most_files} files")));
            }
            bytes += about.blocks() * 512;
            if about.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

/// `None` for what was removed while it was looked at.
fn still_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_by_its_group() {
        let dir = tempfile::tempdir().unwrap();
        let status = |group: u32, memory: &str| {
            let name = b"Name:\t\xff\xfe\n".to_vec();
            let rest = format!("NSpgid:\t{group}\nVmPeak:\t  900 kB\n{memory}Threads:\t2\n");
            [name, rest.into_bytes()].concat()
        };
        let of = |group| of_process(dir.path(), Pid::from_raw(group));
        assert_eq!(of(42), None, "no process");
        let memory = "VmRSS:\t  300 kB\nVmSwap:\t  50 kB\n";
        fs::write(dir.path().join("status"), status(42, memory)).unwrap();
        assert_eq!(of(42), Some(350 << 10));
        assert_eq!(of(4), None);
        fs::write(dir.path().join("status"), status(42, "")).unwrap();
        assert_eq!(of(42), None, "it has ended");
        fs::create_dir_all(dir.path().join("task/7")).unwrap();
        fs::write(dir.path().join("task/7/status"), status(42, memory)).unwrap();
        assert_eq!(of(42), Some(350 << 10), "its first thread has ended");
    }

    #[test]
    fn our_own_group_holds_memory() {
        assert!(resident(nix::unistd::getpgrp()) > 0);
    }

    #[test]
    fn a_folder_is_measured_with_everything_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let before = on_disk(dir.path(), 9).unwrap();
        fs::write(deep.join("file"), vec![1; 300_000]).unwrap();
        std::os::unix::fs::symlink("/usr", deep.join("link")).unwrap();
        let grown = on_disk(dir.path(), 9).unwrap() - before;
        assert!((300_000..400_000).contains(&grown), "{grown}");
        assert_eq!(on_disk(&dir.path().join("missing"), 9).unwrap(), 0);
        let error = on_disk(dir.path(), 3).unwrap_err().to_string();
        assert_eq!(error, "more than 3 files");
    }
}
