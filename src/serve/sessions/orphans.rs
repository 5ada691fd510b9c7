//! Sessions that a service left behind when it died: found by their folders, ended, and told or started again.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the folders of sessions and the kernel's list of processes"
)]

use super::{Children, Ended, LAUNCH_FILE, Launched, PROCESS_FILE, SessionId};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use reviewer_core::lifecycle::Effect;
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

/// A session that a dead service left.
#[derive(Debug)]
pub(crate) enum Left {
    /// It has said its last message.
    Ended(Ended),
    /// It is to be started again.
    Again { id: SessionId, effect: Box<Effect> },
}

/// A session is started so often, whatever ends the service.
pub(super) const MOST_STARTS: u32 = 3;

impl Children {
    /// Ends what a dead service left at work, and returns it.
    pub(crate) fn left_over(&self) -> Vec<Left> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
        folders
            .filter_map(|folder| left_in(&folder, &self.store))
            .collect()
    }
}

fn left_in(folder: &Path, store: &str) -> Option<Left> {
    if let Some(process) = read::<Process>(&folder.join(PROCESS_FILE))
        && process.is_there()
    {
        process.signal(Signal::SIGKILL);
    }
    let launched = read::<Launched>(&folder.join(LAUNCH_FILE));
    // Numbers of another store, which was lost, mean something else in this one.
    let own = |one: &Launched| folder.file_name() == Some(one.id.name(store).as_ref());
    let Some(launched) = launched.filter(own) else {
        let _gone = fs::remove_dir_all(folder);
        return None;
    };
    let id = launched.id;
    let said = read::<SessionMessage>(&folder.join(RESULT_FILE));
    if let Some(said) = said.filter(|one| one.dispatch == id.dispatch) {
        return Some(Left::Ended(Ended { id, said: Ok(said) }));
    }
    if launched.starts >= MOST_STARTS {
        let why = format!("The service ended {MOST_STARTS} times during the session.");
        return Some(Left::Ended(Ended { id, said: Err(why) }));
    }
    Some(Left::Again {
        id,
        effect: Box::new(launched.effect),
    })
}
