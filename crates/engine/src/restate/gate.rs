//! The places for effects that run at the same time in this process, given by the rule of `lanes.rs`. A place per process is
//! enough: what floods is one key's repository at a time, and each worker lets as many of it through as it may run. Few wait for
//! a place in the process, see `lane_queue.rs`.

use super::lane_queue::{LaneQueue, UNDER_WAY};
use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::machine::Lane;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

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
    fast: LaneQueue,
    slow: LaneQueue,
}

/// An effect that waits in the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sleeper {
    pub(super) lane: Lane,
    pub(super) key: String,
    /// By which it is woken.
    pub(super) ticket: String,
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
                fast: LaneQueue::new(limits.at_once),
                slow: LaneQueue::new(limits.slow_at_once),
            }),
            changed: Notify::new(),
        }
    }

    /// Waits for a place for the effect of this key. None: too many wait already.
    pub(super) async fn enter(self: &Arc<Self>, key: &str, lane: Lane) -> Option<Place> {
        let waiting = Waiting::new(self, key, lane)?;
        loop {
            let changed = self.changed.notified();
            if self.lock().start(lane) {
                drop(waiting);
                return Some(Place {
                    gate: Arc::clone(self),
                    lane,
                });
            }
            changed.await;
        }
    }

    /// Notes one that waits in the server from now on.
    pub(super) fn sleeps(&self, sleeper: Sleeper) {
        let Sleeper { lane, key, ticket } = sleeper;
        self.lock().queue(lane).wait(&key, ticket);
        self.changed.notify_waiters();
    }

    /// Notes one that has waited there since before this process, unless it is noted already.
    pub(super) fn take_over(&self, sleeper: Sleeper) {
        let inside = self.lock();
        let is_noted = inside.fast.has(&sleeper.key) || inside.slow.has(&sleeper.key);
        drop(inside);
        if !is_noted {
            self.sleeps(sleeper);
        }
    }

    /// Waits until there is room for some that wait in the server; these are to be woken.
    pub(super) async fn to_wake(&self) -> Vec<Sleeper> {
        loop {
            let changed = self.changed.notified();
            let woken = self.lock().wake(Instant::now());
            if !woken.is_empty() {
                return woken;
            }
            // Whoever was woken and does not come makes room, too.
            let _nothing_changed = timeout(UNDER_WAY, changed).await;
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
            Lane::Fast => (self.fast.inside() > 1, self.lanes.free_for_fast()),
            Lane::Slow => {
                let fast_wait = self.fast.inside() > 0;
                (fast_wait, self.lanes.free_for_slow(fast_wait))
            }
        };
        if free > 0 {
            self.lanes.start(lane, others_wait);
            self.taken += 1;
            self.queue(lane).begun();
        }
        free > 0
    }

    fn queue(&mut self, lane: Lane) -> &mut LaneQueue {
        match lane {
            Lane::Fast => &mut self.fast,
            Lane::Slow => &mut self.slow,
        }
    }

    fn wake(&mut self, now: Instant) -> Vec<Sleeper> {
        let free = self.lanes.free_for_slow(self.fast.inside() > 0);
        let slow = self.slow.wake(free, now).into_iter();
        let fast = self.fast.wake(self.lanes.free_for_fast(), now).into_iter();
        let of = |lane| move |(key, ticket)| Sleeper { lane, key, ticket };
        fast.map(of(Lane::Fast))
            .chain(slow.map(of(Lane::Slow)))
            .collect()
    }
}

impl<'a> Waiting<'a> {
    /// None: there is no room.
    fn new(gate: &'a Gate, key: &str, lane: Lane) -> Option<Self> {
        let mut inside = gate.lock();
        let was_woken = inside.fast.come(key) | inside.slow.come(key);
        let has_room = inside.queue(lane).enter(was_woken);
        has_room.then(|| Self { gate, lane })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.lock().queue(self.lane).leave();
        self.gate.changed.notify_waiters();
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
