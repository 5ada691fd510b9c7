//! The processes of a service on a store that several share: each changes a cell of its own again and again. One whose cell stands
//! still for longer than a lease, by the clock of whoever watches it, is gone. So no two clocks are compared. Fronts, which run no
//! sessions, do so, too: whoever moves the store asks whether anybody is there.

use reviewer_engine::{CellChange, EngineError, Store};
use reviewer_system::random;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;

const WORKERS: &str = "worker/";
/// A process whose cell stands still for so long is gone.
const LEASE: Duration = Duration::from_secs(30);
/// The time between two looks at the cells of others.
const WATCH: Duration = Duration::from_millis(500);
/// The time between two changes of the own cell.
const BEAT: Duration = Duration::from_secs(5);

/// A cell as it was seen.
#[derive(Debug)]
struct Seen {
    version: i64,
    /// The time of the first look at this version.
    since: Instant,
}

/// The other processes as this one sees them, and its own name.
#[derive(Debug)]
pub(super) struct Workers {
    /// Other processes can use the store.
    shared: bool,
    me: Option<(String, Seen)>,
    others: HashMap<String, Seen>,
    lease: Duration,
    beat: Duration,
}

impl Workers {
    pub(super) fn new(shared: bool) -> Self {
        Self {
            shared,
            me: None,
            others: HashMap::new(),
            lease: LEASE,
            beat: BEAT,
        }
    }

    /// Of a store that is shared, with a lease of a moment.
    #[cfg(test)]
    pub(super) fn brief(lease: Duration) -> Self {
        Self {
            lease,
            beat: lease / 20,
            ..Self::new(true)
        }
    }

    /// The name of this process, if it has one yet.
    pub(super) fn name(&self) -> Option<String> {
        self.me.as_ref().map(|(name, _)| name.clone())
    }

    /// The time for which a process may miss the store: the others take it for gone later than that, by as much as the ends of
    /// its sessions take.
    pub(super) fn patience(&self) -> Duration {
        self.lease * 2 / 3
    }

    /// The time at which the others have heard of this process last; `None` where there are none.
    pub(super) fn reached(&self) -> Option<Instant> {
        let me = self.me.as_ref().filter(|_| self.shared);
        me.map(|(_, seen)| seen.since)
    }

    /// Says that this process is there. Returns its name: another one if the others took it for gone.
    pub(super) async fn beat(&mut self, store: &Store) -> Result<String, EngineError> {
        let asked = Instant::now();
        if let Some((name, seen)) = &mut self.me {
            if !self.shared || seen.since.elapsed() < self.beat {
                return Ok(name.clone());
            }
            let (version, text) = (seen.version, "");
            let replace = CellChange::Replace {
                seen: version,
                text,
            };
            if store.change_cell(&cell(name), replace).await? {
                *seen = Seen {
                    version: version + 1,
                    since: asked,
                };
                return Ok(name.clone());
            }
            // An earlier change whose answer was lost was made: the next beat begins from it.
            if let Some(found) = store.cell(&cell(name)).await? {
                seen.version = found.version;
                return Ok(name.clone());
            }
            tracing::warn!("The other processes took this one for gone; its sessions begin again.");
        }
        let name = random::hex(8);
        let name = name.map_err(|error| EngineError::NoRandomness(error.to_string()))?;
        if self.shared {
            store.change_cell(&cell(&name), CellChange::Add("")).await?;
        }
        let seen = Seen {
            version: 1,
            since: asked,
        };
        self.me = Some((name.clone(), seen));
        Ok(name)
    }

    /// The names of all processes that are there.
    pub(super) async fn alive(&mut self, store: &Store) -> Result<HashSet<String>, EngineError> {
        let mut alive: HashSet<String> = self.name().into_iter().collect();
        if !self.shared {
            return Ok(alive);
        }
        let cells = store.cells(WORKERS).await?;
        self.others
            .retain(|name, _| cells.iter().any(|one| one.name == *name));
        for one in cells {
            let seen = self.others.entry(one.name.clone()).or_insert(Seen {
                version: one.version,
                since: Instant::now(),
            });
            if seen.version != one.version {
                *seen = Seen {
                    version: one.version,
                    since: Instant::now(),
                };
            }
            let is_late = seen.since.elapsed() > self.lease;
            let name = one.name.strip_prefix(WORKERS).unwrap_or(&one.name);
            if is_late && !alive.contains(name) {
                let remove = CellChange::Remove { seen: one.version };
                if store.change_cell(&one.name, remove).await? {
                    tracing::warn!("A process that ran sessions is gone; they begin again.");
                    continue;
                }
            }
            alive.insert(name.to_owned());
        }
        Ok(alive)
    }

    /// Says that this process is gone.
    pub(super) async fn leave(&mut self, store: &Store) -> Result<(), EngineError> {
        let Some((name, seen)) = self.me.take() else {
            return Ok(());
        };
        if self.shared {
            let remove = CellChange::Remove { seen: seen.version };
            store.change_cell(&cell(&name), remove).await?;
        }
        Ok(())
    }
}

fn cell(name: &str) -> String {
    format!("{WORKERS}{name}")
}

/// True if a process of the service uses the store. Watches cells that dead processes have left for as long as a lease, and then
/// removes them.
pub(crate) async fn is_in_use(store: &Store) -> Result<bool, EngineError> {
    is_in_use_within(store, LEASE).await
}

async fn is_in_use_within(store: &Store, lease: Duration) -> Result<bool, EngineError> {
    let first = store.cells(WORKERS).await?;
    if first.is_empty() {
        return Ok(false);
    }
    tracing::info!("Processes have not left the store; waiting whether one is still there.");
    let begun = Instant::now();
    while begun.elapsed() <= lease {
        tokio::time::sleep(WATCH.min(lease / 20)).await;
        let now = store.cells(WORKERS).await?;
        if now.is_empty() {
            return Ok(false);
        }
        if now.iter().any(|one| !first.contains(one)) {
            return Ok(true);
        }
    }
    for one in first {
        let remove = CellChange::Remove { seen: one.version };
        store.change_cell(&one.name, remove).await?;
    }
    Ok(false)
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;
