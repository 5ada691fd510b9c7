//! Sessions that a service left behind when it died: found by their folders, ended, and told or started again.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the folders of sessions and the kernel's list of processes"
)]

use super::{Children, Ended, PROCESS_FILE, SESSION_FILE, SessionId, Starter as _};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use reviewer_core::session_order::{RESULT_FILE, SessionMessage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// A process group by its leader. The time of its start tells it from another process that got its number later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    id: i32,
    started: u64,
}

impl Process {
    pub(super) fn of(id: Option<u32>) -> Option<Self> {
        let id = i32::try_from(id?).ok()?;
        let started = started(id)?;
        Some(Self { id, started })
    }

    fn is_there(&self) -> bool {
        started(self.id) == Some(self.started)
    }

    fn is_this(&self) -> bool {
        u32::try_from(self.id).ok() == Some(std::process::id())
    }

    pub(super) fn signal(&self, signal: Signal) {
        // It may have ended.
        let _gone = killpg(Pid::from_raw(self.id), signal);
    }
}

/// The time at which a process was started, in the kernel's ticks.
fn started(id: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name is in parentheses, and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A session and the service that runs it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Owned {
    pub id: SessionId,
    pub service: Option<Process>,
}

impl Children {
    /// Ends what a dead service of this folder left at work, and returns what had ended by itself. The others begin again.
    pub(crate) fn left_over(&self) -> Vec<Ended> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
        folders.filter_map(|folder| self.left_in(&folder)).collect()
    }

    fn left_in(&self, folder: &Path) -> Option<Ended> {
        let owned = read::<Owned>(&folder.join(SESSION_FILE));
        let service = owned.as_ref().and_then(|one| one.service.as_ref());
        if service.is_some_and(|service| service.is_there() && !service.is_this()) {
            // Another service uses the same folder, and is well.
            return None;
        }
        if let Some(process) = read::<Process>(&folder.join(PROCESS_FILE))
            && process.is_there()
        {
            process.signal(Signal::SIGKILL);
        }
        // Numbers of another store, which was lost, mean something else in this one.
        let id = owned
            .map(|one| one.id)
            .filter(|id| folder == self.folder(id));
        let said = read::<SessionMessage>(&folder.join(RESULT_FILE));
        let ended = id
            .zip(said)
            .filter(|(id, said)| said.dispatch == id.dispatch);
        let Some((id, said)) = ended else {
            let _gone = fs::remove_dir_all(folder);
            return None;
        };
        Some(Ended {
            id,
            said: Some(Ok(said)),
        })
    }
}
