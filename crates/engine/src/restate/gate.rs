//! The places for effects that run at the same time in this process, given by the rule of `lanes.rs`. A place per process is
//! enough: what floods is one key's repository at a time, and each worker lets as many of it through as it may run. Few wait for
//! a place in the process; all others wait in the server, which keeps them at no cost, and are called when there is room.

use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::machine::Lane;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Effects that wait in the process, for each place of their lane: enough to keep the places busy while others are called.
const ROOM: usize = 4;

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
    fast: Queue,
    slow: Queue,
}

/// The effects of a lane that have no place.
#[derive(Debug)]
struct Queue {
    room: usize,
    /// Those in the process.
    inside: usize,
    /// Those that may be called because others have begun. Without it, all that are inside would leave after a while and be called
    /// again at once, for as long as nobody ends.
    callable: usize,
    /// The keys of those in the server, the first to be called first, and their tickets.
    outside: VecDeque<String>,
    tickets: HashMap<String, String>,
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
                fast: Queue::new(limits.at_once),
                slow: Queue::new(limits.slow_at_once),
            }),
            changed: Notify::new(),
        }
    }

    /// Waits for a place. None: too many wait already.
    pub(super) async fn enter(self: &Arc<Self>, lane: Lane) -> Option<Place> {
        let waiting = Waiting::new(self, lane)?;
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

    /// Notes that the effect of this key waits in the server. Whoever comes again with another ticket keeps its turn.
    pub(super) fn wait_outside(&self, lane: Lane, key: &str, ticket: String) {
        let mut inside = self.lock();
        let queue = inside.queue(lane);
        if queue.tickets.insert(key.to_owned(), ticket).is_none() {
            queue.outside.push_back(key.to_owned());
        }
        drop(inside);
        self.changed.notify_waiters();
    }

    /// Notes one that an earlier process would have called, unless it has come meanwhile.
    pub(super) fn take_over(&self, key: String, ticket: String) {
        let mut inside = self.lock();
        if inside.fast.tickets.contains_key(&key) || inside.slow.tickets.contains_key(&key) {
            return;
        }
        // It may be fast. It is called by and by all the same.
        inside.slow.tickets.insert(key.clone(), ticket);
        inside.slow.outside.push_back(key);
        drop(inside);
        self.changed.notify_waiters();
    }

    /// Waits until there is room, and returns the tickets of those for whom there is.
    pub(super) async fn next_called(&self) -> Vec<String> {
        loop {
            let changed = self.changed.notified();
            let called = self.lock().call();
            if !called.is_empty() {
                return called;
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
            Lane::Fast => (self.fast.inside > 1, self.lanes.free_for_fast()),
            Lane::Slow => {
                let fast_wait = self.fast.inside > 0;
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

    fn queue(&mut self, lane: Lane) -> &mut Queue {
        match lane {
            Lane::Fast => &mut self.fast,
            Lane::Slow => &mut self.slow,
        }
    }

    fn call(&mut self) -> Vec<String> {
        let slow_free = self.lanes.free_for_slow(self.fast.inside > 0);
        let mut called = self.fast.call(self.lanes.free_for_fast());
        called.append(&mut self.slow.call(slow_free));
        called
    }
}

impl Queue {
    fn new(places: usize) -> Self {
        Self {
            room: places.max(1).saturating_mul(ROOM),
            inside: 0,
            callable: 0,
            outside: VecDeque::new(),
            tickets: HashMap::new(),
        }
    }

    /// One has got a place. Two may follow, so that the room fills.
    fn begun(&mut self) {
        self.callable = self.room.min(self.callable + 2);
    }

    /// Those to be called while so many places are free.
    fn call(&mut self, free: usize) -> Vec<String> {
        let room = self.room.saturating_sub(self.inside);
        let most = room.min(self.callable + free).min(self.outside.len());
        self.callable = self.callable.saturating_sub(most);
        let keys = self.outside.drain(..most);
        keys.filter_map(|key| self.tickets.remove(&key)).collect()
    }
}

impl<'a> Waiting<'a> {
    /// None: there is no room.
    fn new(gate: &'a Gate, lane: Lane) -> Option<Self> {
        let mut inside = gate.lock();
        let queue = inside.queue(lane);
        if queue.inside >= queue.room {
            return None;
        }
        queue.inside += 1;
        drop(inside);
        Some(Self { gate, lane })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.lock().queue(self.lane).inside -= 1;
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
