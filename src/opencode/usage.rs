//! How much memory and disk the sidecar takes. Separate, because the limits have to be ours: its runtime reserves address
//! space far beyond what it uses, so the kernel's limits on that would end it at once, and the kernel has no limit for a
//! folder.
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

/// More files than this are too many, whatever they hold: OpenCode's home has a few dozen.
const MOST_FILES: usize = 50_000;

/// What the sidecar may take, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    pub memory: u64,
    pub scratch: u64,
}

impl Quota {
    /// Six times the memory that a review takes, and less than the smallest runner has; fifty times its scratch home.
    pub const USUAL: Self = Self {
        memory: 4 << 30,
        scratch: 2 << 30,
    };

    /// Waits until the processes of a group hold more memory, or its home more bytes, than they may; says which.
    pub(super) async fn exceeded(self, group: Pid, home: &Path) -> String {
        loop {
            let held = resident(group);
            if held > self.memory {
                return too_much("it held", held, "of memory", self.memory);
            }
            // A hostile sidecar can make a folder that takes long to measure.
            let folder = home.to_owned();
            let measured = tokio::task::spawn_blocking(move || on_disk(&folder)).await;
            match measured.ok() {
                Some(Ok(held)) if held > self.scratch => {
                    return too_much("its scratch home held", held, "", self.scratch);
                }
                Some(Err(error)) => {
                    return format!("its scratch home cannot be measured: {error}");
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

fn too_much(what: &str, held: u64, of: &str, limit: u64) -> String {
    let of = if of.is_empty() {
        String::new()
    } else {
        format!(" {of}")
    };
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
    let statuses = entries.filter_map(|entry| {
        // What is no process, or is one no more, has no such file.
        fs::read_to_string(entry.path().join("status")).ok()
    });
    statuses.filter_map(|status| of_group(&status, group)).sum()
}

/// From the text of `/proc/<pid>/status`. A process that is ending has no memory in it.
fn of_group(status: &str, group: Pid) -> Option<u64> {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let is_member = number("NSpgid:")? == u64::try_from(group.as_raw()).ok()?;
    let kibibytes = number("VmRSS:")? + number("VmSwap:").unwrap_or(0);
    is_member.then_some(kibibytes << 10)
}

/// The bytes that a folder takes on disk. Files that were removed and are still open are not seen.
fn on_disk(folder: &Path) -> io::Result<u64> {
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
            if files > MOST_FILES {
                return Err(io::Error::other(format!("more than {MOST_FILES} files")));
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
        let status = "Name:\tnode\nNSpgid:\t42\nVmPeak:\t  900 kB\nVmRSS:\t  300 kB\nVmSwap:\t  50 kB\nThreads:\t2\n";
        assert_eq!(of_group(status, Pid::from_raw(42)), Some(350 << 10));
        assert_eq!(of_group(status, Pid::from_raw(4)), None);
        assert_eq!(of_group("NSpgid:\t42\n", Pid::from_raw(42)), None);
        assert_eq!(of_group("", Pid::from_raw(42)), None);
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
        let before = on_disk(dir.path()).unwrap();
        fs::write(deep.join("file"), vec![1; 300_000]).unwrap();
        std::os::unix::fs::symlink("/usr", deep.join("link")).unwrap();
        let grown = on_disk(dir.path()).unwrap() - before;
        assert!((300_000..400_000).contains(&grown), "{grown}");
        assert_eq!(on_disk(&dir.path().join("missing")).unwrap(), 0);
    }
}
