//! A clock for tests: it moves to the next deadline when nobody works, so that a life of days runs in milliseconds.

use crate::clock::{Clock, Hold, NEVER, Sleep};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// A clock that stands still while somebody holds it, and jumps to the earliest deadline when everybody sleeps. Whoever
/// shares it takes a hold first, and drops it when done.
#[derive(Debug, Clone)]
pub struct VirtualClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Debug)]
struct State {
    now: i64,
    /// Holds without the sleeps that stand in for one.
    working: i64,
    next: u64,
    sleepers: BTreeMap<(i64, u64), Waker>,
}

impl VirtualClock {
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                now: now_ms,
                working: 0,
                next: 0,
                sleepers: BTreeMap::new(),
            }),
            settled: Notify::new(),
        }))
    }

    /// Moves on by hand, no matter who holds the clock.
    pub fn advance(&self, ms: i64) {
        let mut state = self.0.lock();
        state.now = state.now.saturating_add(ms);
        while state.first().is_some_and(|at| at <= state.now) {
            state.wake_first();
        }
    }

    /// Ends when nobody works and nobody waits for a deadline. The caller holds nothing.
    pub async fn settled(&self) {
        loop {
            let notified = self.0.settled.notified();
            if self.0.lock().is_settled() {
                return;
            }
            notified.await;
        }
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> i64 {
        self.0.lock().now
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        Box::pin(VirtualSleep {
            clock: &self.0,
            at: at_ms,
            id: None,
        })
    }

    fn hold(&self) -> Hold {
        self.0.lock().working += 1;
        Hold::new(Held(Arc::clone(&self.0)))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One worker fewer. The last one moves the clock.
    fn rest(&self, state: &mut State) {
        state.working -= 1;
        if state.working > 0 {
            return;
        }
        if let Some(at) = state.first().filter(|at| *at < NEVER) {
            state.now = state.now.max(at);
            state.wake_first();
        } else {
            self.settled.notify_waiters();
        }
    }
}

impl State {
    fn first(&self) -> Option<i64> {
        self.sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    fn is_settled(&self) -> bool {
        self.working <= 0 && self.first().is_none_or(|at| at == NEVER)
    }

    /// The sleeper works from now on, even before it is polled.
    fn wake_first(&mut self) {
        if let Some((_, waker)) = self.sleepers.pop_first() {
            self.working += 1;
            waker.wake();
        }
    }
}

struct Held(Arc<Shared>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.rest(&mut self.0.lock());
    }
}

struct VirtualSleep<'a> {
    clock: &'a Shared,
    at: i64,
    /// Given at the first poll.
    id: Option<u64>,
}

impl Future for VirtualSleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.lock();
        let Some(id) = self.id else {
            if self.at <= state.now {
                return Poll::Ready(());
            }
            let id = state.next;
            state.next += 1;
            let waker = context.waker().clone();
            state.sleepers.insert((self.at, id), waker);
            self.clock.rest(&mut state);
            drop(state);
            self.id = Some(id);
            return Poll::Pending;
        };
        match state.sleepers.get_mut(&(self.at, id)) {
            Some(waker) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for VirtualSleep<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut state = self.clock.lock();
        if state.sleepers.remove(&(self.at, id)).is_some() {
            state.working += 1;
        }
    }
}

#[cfg(test)]
#[path = "virtual_clock_tests.rs"]
mod tests;
