//! One desk for many: the tools work on it while the run looks on. Separate, because the desk itself knows of no threads.

use super::Desk;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The desk, shared between the tools and the run. Empty until the pull request has been read; the lock
/// makes parallel tool calls take turns.
#[derive(Debug, Clone, Default)]
pub struct SharedDesk {
    desk: Arc<Mutex<Option<Desk>>>,
    watcher: Arc<OnceLock<Watcher>>,
}

/// Told of the desk after every call that may have changed it.
pub struct Watcher(pub Box<dyn Fn(&Desk) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

impl SharedDesk {
    pub fn open(&self, desk: Desk) {
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk);
    }

    /// The first one stays.
    pub fn watch(&self, watcher: Watcher) {
        let _stays = self.watcher.set(watcher);
    }

    /// A tool's work on the desk, which the watcher sees the end of.
    pub fn work<T>(&self, f: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        self.with(|desk| {
            let answer = f(desk);
            if let Some(Watcher(told)) = self.watcher.get() {
                told(desk);
            }
            answer
        })
    }

    /// Runs `f` on the desk, if there is one.
    pub fn with<T>(&self, f: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        self.desk
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
            .map(f)
    }
}
