//! The sandbox of the sidecar: what it may reach, and what of that the kernel could enforce. Separate from
//! starting it, because this is the specification, and `enter` applies it.

pub mod enter;
pub(super) mod loader;
mod own_network;
mod seccomp;
pub mod sockets;

use reviewer_core::report::document::SandboxReport;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Everything the sidecar may reach. Everything else is out of reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Folders and files that it may read.
    pub read: Vec<PathBuf>,
    /// Programs that it may execute: itself, and the loaders of those that are not linked statically.
    pub execute: Vec<PathBuf>,
    /// Folders that it may do anything in.
    pub write: Vec<PathBuf>,
    /// The one port it may listen on, and those it may connect to, where no supervisor answers for its sockets.
    pub listen: u16,
    pub connect: Vec<u16>,
    /// True if the process that started it supervises its sockets, over its standard input.
    #[serde(default)]
    pub supervised: bool,
    /// The user and group to become; `None` where the reviewer is no superuser itself.
    pub user: Option<u32>,
    /// Ends the process before it begins if there is a gap.
    pub required: bool,
    /// For a command that verifies a fix, in place of the sidecar: it reaches nobody, and has a network of its own where
    /// the kernel gives one.
    #[serde(default)]
    pub check: Option<CheckLimits>,
}

/// The limits of a command that verifies a fix, where they are others than the sidecar's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckLimits {
    /// Seconds that each of its processes may compute. It ends them where nobody watches any more.
    pub cpu_seconds: u64,
}

/// Users for sidecars: those that systemd, too, gives to whatever needs one for a while. Each run takes one of them, so
/// that the limit of processes counts its own sidecar only. A container with the usual 65,536 users has them all.
pub(crate) const USERS: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// The user of a run, by a random number.
pub(crate) fn user(random: u32) -> u32 {
    USERS.start() + random % (USERS.end() - USERS.start() + 1)
}

/// Files that its runtime needs besides libraries: of `/proc`, its own memory map. Anything more of `/proc/self` would
/// give it its environment.
const SYSTEM: [&str; 3] = ["/proc/self/maps", "/dev/urandom", "/dev/random"];

/// Folders in which distributions keep the shared libraries of programs that are not linked statically.
const LIBRARY_FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// More of the system for commands that verify a fix: they ask for the number of processors.
const SYSTEM_OF_CHECKS: [&str; 5] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/dev/zero",
    "/dev/full",
];

/// The largest file that it may write, and that a command may write.
const FILE_LIMIT: u64 = 1 << 30;
const FILE_LIMIT_OF_CHECKS: u64 = 2 << 30;

/// The maximum number of files and sockets that each of its processes may have open.
const DESCRIPTOR_LIMIT: u64 = 4_096;

/// The maximum number of processes and threads. Only set where the sidecar has a user of its own: otherwise it would
/// count everything else that the person runs.
const PROCESS_LIMIT: u64 = 512;

/// Devices that it may write to.
const DEVICES: [&str; 1] = ["/dev/null"];

/// A restriction that is missing, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// No Landlock at all.
    Landlock(String),
    /// Nobody answers for its sockets, and Landlock holds the ports only.
    Addresses(String),
    /// Nobody answers for its sockets, and this Landlock does not know TCP.
    Tcp(String),
    /// A Landlock too old to hold back signals, where no other user does.
    Signals,
    /// It runs as the superuser.
    User(String),
    Capabilities(String),
    /// No filter of system calls.
    Calls(String),
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock(why) => {
                write!(f, "Landlock ({why}): it can read what its user can read")
            }
            Self::Addresses(why) => write!(
                f,
                "supervised sockets ({why}): it can connect to the reviewer's port number on any host, and listen on a port \
                 that the kernel chooses"
            ),
            Self::Tcp(why) => write!(
                f,
                "supervised sockets ({why}) and Landlock's rules for TCP (they need Linux 6.7): it can connect to any \
                 address"
            ),
            Self::Signals => f.write_str(
                "Landlock's rules for signals (they need Linux 6.12): it can signal processes of the same user",
            ),
            Self::User(why) => write!(f, "another user ({why}): it runs as the superuser"),
            Self::Capabilities(why) => write!(f, "dropped capabilities ({why})"),
            Self::Calls(why) => write!(
                f,
                "the filter of system calls ({why}): it can open sockets of every kind"
            ),
        }
    }
}

/// The restrictions that are in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub gaps: Vec<Gap>,
    /// The user it runs as.
    pub user: u32,
    /// The version of Landlock that was used.
    pub landlock: Option<i32>,
    /// The reason why a command has no network of its own, and so no sockets at all. That is no gap: it reaches less, not more.
    #[serde(default)]
    pub no_loopback: Option<String>,
}

impl Confinement {
    #[must_use]
    pub(crate) fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// One sentence about what is missing; `None` where nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        if self.is_complete() {
            return None;
        }
        let gaps: Vec<String> = self.gaps.iter().map(ToString::to_string).collect();
        Some(format!("The sandbox lacks {}.", gaps.join("; ")))
    }
}

impl From<&Confinement> for SandboxReport {
    fn from(confinement: &Confinement) -> Self {
        Self {
            complete: confinement.is_complete(),
            missing: confinement.gaps.iter().map(ToString::to_string).collect(),
            user: confinement.user,
            landlock_abi: confinement.landlock,
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.missing(), self.landlock) {
            (Some(missing), _) => f.write_str(&missing),
            (None, Some(abi)) => write!(
                f,
                "The sandbox is complete: user {}, Landlock ABI {abi}, filtered system calls.",
                self.user
            ),
            (None, None) => write!(f, "The sandbox is complete: user {}.", self.user),
        }
    }
}

/// The report of the process that enters the sandbox to the one that started it: one line before the sidecar's own
/// output begins.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Announcement {
    Entered(Confinement),
    /// The sandbox is required and not complete, so nothing was started.
    Refused(Confinement),
    /// A command could not be started, and why. It comes after `Entered`.
    NotStarted(String),
}

const ANNOUNCED: &str = "opencode-reviewer confine: ";

impl Announcement {
    #[must_use]
    pub fn line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{ANNOUNCED}{json}")
    }

    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim_end().strip_prefix(ANNOUNCED)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_precisely() {
        let confinement = Confinement {
            gaps: vec![
                Gap::Tcp("it needs Linux 5.9".into()),
                Gap::User("EPERM: Operation not permitted".into()),
            ],
            user: 0,
            landlock: Some(3),
            no_loopback: None,
        };
        assert_eq!(
            confinement.to_string(),
            "The sandbox lacks supervised sockets (it needs Linux 5.9) and Landlock's rules for TCP (they need Linux 6.7): \
             it can connect to any address; another user (EPERM: Operation not permitted): it runs as the superuser."
        );
        assert!(!confinement.is_complete());
    }

    #[test]
    fn every_run_takes_a_user_that_a_small_container_has() {
        assert_eq!(user(0), 61_184);
        assert_eq!(user(4_335), 65_519);
        assert_eq!(user(4_336), 61_184);
        assert!(USERS.contains(&user(u32::MAX)));
    }

    #[test]
    fn an_announcement_survives_the_pipe_and_nothing_else_passes_for_one() {
        let complete = Confinement {
            gaps: vec![],
            user: user(0),
            landlock: Some(7),
            no_loopback: None,
        };
        let announcement = Announcement::Entered(complete);
        let line = format!("{}\n", announcement.line());
        assert_eq!(Announcement::read(&line), Some(announcement));
        assert_eq!(Announcement::read("opencode server listening on …"), None);
        assert_eq!(Announcement::read("opencode-reviewer confine: {}"), None);
    }
}
