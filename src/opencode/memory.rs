//! How much memory the sidecar holds. Separate, because the limit has to be ours: its runtime reserves address
//! space far beyond what it uses, so the kernel's limits on that would end it at once.
#![expect(clippy::disallowed_methods, reason = "edge: reads /proc")]

use nix::unistd::Pid;
use std::time::Duration;

/// A file that is read without end grew by 200 MB a second where it was seen.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until the processes of a group together hold more than so many bytes; returns how many.
pub(super) async fn exceeds(group: Pid, limit: u64) -> u64 {
    loop {
        let held = resident(group);
        if held > limit {
            return held;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The resident memory of a process group. Its members cannot leave it (`sandbox/calls.rs`).
fn resident(group: Pid) -> u64 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses = entries.filter_map(|entry| {
        // What is no process, or is one no more, has no such file.
        std::fs::read_to_string(entry.path().join("status")).ok()
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
    let kibibytes = number("VmRSS:")?;
    is_member.then_some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_by_its_group() {
        let status = "Name:\tnode\nNSpgid:\t42\nVmPeak:\t  900 kB\nVmRSS:\t  300 kB\nThreads:\t2\n";
        assert_eq!(of_group(status, Pid::from_raw(42)), Some(300 << 10));
        assert_eq!(of_group(status, Pid::from_raw(4)), None);
        assert_eq!(of_group("NSpgid:\t42\n", Pid::from_raw(42)), None);
        assert_eq!(of_group("", Pid::from_raw(42)), None);
    }

    #[test]
    fn our_own_group_holds_memory() {
        assert!(resident(nix::unistd::getpgrp()) > 0);
    }
}
