//! The places for effects that run at the same time in this process, given by the rule of `lanes.rs`. A place per process is
//! enough: what floods is one key's repository at a time, and each worker lets as many of it through as it may run.

use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::machine::Lane;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The places, and who waits for them.
#[derive(Debug)]
pub(super) struct Gate {
    inside: Mutex<Inside>,
    changed: Notify,
}

#[derive(Debug)]
struct Inside {
    lanes: Lanes,
    taken: usize,
    fast_waiting: usize,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    gate: Arc<Gate>,
    lane: Lane,
}

/// One that waits, until it is dropped.
struct Waiting<'a> {
    gate: &'a Gate,
    lane: Lane,
}

impl Gate {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            inside: Mutex::new(Inside {
                lanes: Lanes::new(limits.at_once, limits.slow_at_once),
                taken: 0,
                fast_waiting: 0,
            }),
            changed: Notify::new(),
        }
    }

    /// Waits for a place.
    pub(super) async fn enter(self: &Arc<Self>, lane: Lane) -> Place {
        let waiting = Waiting::new(self, lane);
        loop {
            let changed = self.changed.notified();
            if self.lock().start(lane) {
                drop(waiting);
                return Place {
                    gate: Arc::clone(self),
                    lane,
                };
            }
            changed.await;
        }
    }

    /// Ends when nobody has a place.
    pub(super) async fn emptied(&self) {
        loop {
            let changed = self.changed.notified();
            if self.lock().taken == 0 {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Starts an effect whose owner is among the waiting.
    fn start(&mut self, lane: Lane) -> bool {
        let (others_wait, free) = match lane {
            Lane::Fast => (self.fast_waiting > 1, self.lanes.free_for_fast()),
            Lane::Slow => {
                let fast_wait = self.fast_waiting > 0;
                (fast_wait, self.lanes.free_for_slow(fast_wait))
            }
        };
        if free > 0 {
            self.lanes.start(lane, others_wait);
            self.taken += 1;
        }
        free > 0
    }
}

impl<'a> Waiting<'a> {
    fn new(gate: &'a Gate, lane: Lane) -> Self {
        if lane == Lane::Fast {
            gate.lock().fast_waiting += 1;
        }
        Self { gate, lane }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.lane == Lane::Fast {
            self.gate.lock().fast_waiting -= 1;
            self.gate.changed.notify_waiters();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.gate.lock();
        inside.lanes.end(self.lane);
        inside.taken -= 1;
        drop(inside);
        self.gate.changed.notify_waiters();
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
