//! Supervises the sidecar's process: starts it, notices when it has ended or answers nobody, and starts another one in the
//! same home, where OpenCode finds its sessions again. Shared by all sessions, which are apart from it (`conversation`).

use super::client::Client;
use super::process::{Sidecar, Spec, StartError};
use super::sandbox::Confinement;
use reviewer_system::clock::Clock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Mutex;

/// The maximum number of times that a run replaces its sidecar. One that keeps dying fails because of its prompts.
pub(crate) const MOST_RESTARTS: usize = 2;
/// The number of failed health checks in a row after which it is given up; together with the pauses 25 s.
const MISSES: u32 = 5;
const HEALTH_PAUSE: Duration = Duration::from_secs(1);
const HEALTH_LIMIT: Duration = Duration::from_secs(4);
/// However short a test makes its waits: a process needs some time to answer.
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);

/// One process of those that a run starts, one after the other.
#[derive(Debug)]
pub struct Process {
    /// The number of processes that were started before it.
    generation: usize,
    sidecar: Sidecar,
    clock: Clock,
}

impl Process {
    #[must_use]
    pub fn client(&self) -> &Client {
        self.sidecar.client()
    }

    #[must_use]
    pub fn confinement(&self) -> &Confinement {
        self.sidecar.confinement()
    }

    /// Waits until it is of no more use, and says why.
    pub(crate) async fn lost(&self) -> String {
        tokio::select! {
            how = self.sidecar.exited() => format!("OpenCode ended ({how})"),
            () = self.unresponsive() => "OpenCode did not answer any more".to_owned(),
        }
    }

    /// Returns the reason why the process cannot be used any more, if there is one; waits a moment for a process whose
    /// connection has just broken.
    pub(crate) async fn is_lost(&self) -> Option<String> {
        let how = self.sidecar.ended().await?;
        Some(format!("OpenCode ended ({how})"))
    }

    /// True if both are the same process.
    #[must_use]
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.generation == other.generation
    }

    /// Waits until several health checks in a row have failed. A single one proves nothing: the process may be busy.
    async fn unresponsive(&self) {
        let limit = self.clock.shortened(HEALTH_LIMIT).max(SHORTEST_LIMIT);
        let mut missed = 0;
        while missed < MISSES {
            tokio::time::sleep(HEALTH_PAUSE).await;
            missed = match self.client().health(limit).await {
                Ok(_) => 0,
                Err(_) => missed + 1,
            };
        }
    }
}

#[derive(Debug)]
pub struct Supervisor {
    spec: Spec,
    clock: Clock,
    current: RwLock<Arc<Process>>,
    /// Held by whoever replaces the process; the others wait, and see the new one.
    replacing: Mutex<()>,
    restarts: AtomicUsize,
}

impl Supervisor {
    pub async fn start(spec: Spec, clock: Clock) -> Result<Arc<Self>, StartError> {
        let first = Process {
            generation: 0,
            sidecar: Sidecar::start(&spec, &clock).await?,
            clock,
        };
        Ok(Arc::new(Self {
            spec,
            clock,
            current: RwLock::new(Arc::new(first)),
            replacing: Mutex::default(),
            restarts: AtomicUsize::default(),
        }))
    }

    /// The process that there is now.
    #[must_use]
    pub fn process(&self) -> Arc<Process> {
        let current = self.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of processes that replaced the first, including those that did not start.
    #[must_use]
    pub fn restarts(&self) -> usize {
        self.restarts.load(Ordering::Relaxed)
    }

    /// The process in the place of one that is lost: the one that another session has started meanwhile, or a new one, as
    /// often as a run may.
    pub(crate) async fn replace(&self, lost: &Process) -> Result<Arc<Process>, String> {
        let _alone = self.replacing.lock().await;
        let current = self.process();
        if !current.is(lost) {
            return Ok(current);
        }
        let mut why = None;
        while self.restarts() < MOST_RESTARTS {
            let generation = 1 + self.restarts.fetch_add(1, Ordering::Relaxed);
            lost.sidecar.kill().await;
            match Sidecar::start(&self.spec, &self.clock).await {
                Ok(sidecar) => return Ok(self.put(generation, sidecar)),
                Err(error) => why = Some(error.to_string()),
            }
        }
        Err(why.unwrap_or_else(|| format!("it was restarted {MOST_RESTARTS} times already")))
    }

    fn put(&self, generation: usize, sidecar: Sidecar) -> Arc<Process> {
        let process = Arc::new(Process {
            generation,
            sidecar,
            clock: self.clock,
        });
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::clone(&process);
        process
    }

    pub async fn stop(&self) {
        self.process().sidecar.stop().await;
    }
}
