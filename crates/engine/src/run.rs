//! The loop of the engine: fires timers, starts effects, waits for the next of both.

use crate::clock::{Hold, NEVER};
use crate::delivery::{Delivery, apply, caused_by, parse};
use crate::engine::Engine;
use crate::error::{Result, Trouble};
use crate::lanes::Lanes;
use crate::limits::after;
use crate::machine::{Lane, Machine, World};
use crate::queue::{self, Lease, Task};
use crate::retry::Retry;
use crate::worker;
use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Timers that are fired before effects get their turn.
const TIMERS_AT_ONCE: i64 = 64;
/// The loop repeats the transaction of a timer for so long. Then its next turn does.
const TIMER_BUDGET_MS: u64 = 1_000;
/// The wait after an error of the store.
const PAUSE_AFTER_ERROR_MS: u64 = 1_000;

/// The loop's own memory.
struct Turn {
    lanes: Lanes,
    running: JoinSet<Lane>,
    next_purge: i64,
}

/// The loop at work, or about to. However it ends, the clock is let go.
struct Listening<M: Machine> {
    engine: Arc<Engine<M>>,
    _hold: Hold,
}

impl<M: Machine> Drop for Listening<M> {
    fn drop(&mut self) {
        self.engine.wake.listen(false);
    }
}

impl<M: Machine> Engine<M> {
    /// Executes effects and timers until `shutdown` ends. Then nothing new starts; effects that run have the grace of the
    /// limits to finish, and are otherwise left to their leases. Holds the clock from the call on, not from the first poll.
    pub fn run<W: World<M>, S: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        world: Arc<W>,
        shutdown: S,
    ) -> impl Future<Output = ()> + Send + use<M, W, S> {
        self.wake.listen(true);
        let listening = Listening {
            engine: Arc::clone(self),
            _hold: self.clock.hold(),
        };
        async move { listening.engine.turns(&world, shutdown).await }
    }

    async fn turns<W: World<M>>(
        self: &Arc<Self>,
        world: &Arc<W>,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut turn = Turn {
            lanes: Lanes::new(self.limits.at_once, self.limits.slow_at_once),
            running: JoinSet::new(),
            next_purge: after(self.clock.now_ms(), self.limits.purge_every_ms),
        };
        let mut shutdown = pin!(shutdown);
        loop {
            self.wake.heard();
            let until = match self.advance(world, &mut turn).await {
                Ok(Some(until)) => until,
                // There may be more to do at once.
                Ok(None) => self.clock.now_ms(),
                Err(error) => {
                    match self.store.trouble(&error) {
                        Some(Trouble::Lost) => self.store.lost(&error),
                        Some(Trouble::Conflict) => tracing::debug!("the turn is repeated: {error}"),
                        None => tracing::error!("the engine could not go on: {error}"),
                    }
                    after(self.clock.now_ms(), PAUSE_AFTER_ERROR_MS)
                }
            };
            let sleep = self.clock.sleep_until(until);
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = turn.running.join_next() => end(&mut turn.lanes, ended),
                () = self.wake.called() => {}
                () = sleep => {}
            }
        }
        self.finish(turn).await;
    }

    async fn finish(&self, mut turn: Turn) {
        let until = after(self.clock.now_ms(), self.limits.grace_ms);
        let all = async {
            loop {
                tokio::select! {
                    ended = turn.running.join_next() => if ended.is_none() { return },
                    () = self.wake.called() => {}
                }
                self.wake.heard();
            }
        };
        tokio::select! {
            biased;
            () = all => {}
            () = self.clock.sleep_until(until) => {}
        }
        turn.running.shutdown().await;
    }

    /// Does what is due. The time to wait for on this machine's clock, or `None` if there may be more at once.
    async fn advance<W: World<M>>(
        self: &Arc<Self>,
        world: &Arc<W>,
        turn: &mut Turn,
    ) -> Result<Option<i64>> {
        while let Some(ended) = turn.running.try_join_next() {
            end(&mut turn.lanes, ended);
        }
        if self.clock.now_ms() >= turn.next_purge {
            turn.next_purge = after(self.clock.now_ms(), self.limits.purge_every_ms);
            self.purge().await?;
        }
        let mut session = self.store.session().await?;
        let now = self.now(&mut session).await?;
        let timers = queue::due_timers(&mut session, now, TIMERS_AT_ONCE).await?;
        drop(session);
        for timer in &timers {
            self.fire(timer).await?;
        }
        self.start(world, turn, now).await?;
        if !timers.is_empty() {
            return Ok(None);
        }
        let next = queue::next_due(&mut self.store.session().await?, now).await?;
        let longest = match self.limits.longest_sleep_ms {
            u64::MAX => NEVER,
            ms => after(now, ms),
        };
        let next = next.unwrap_or(NEVER).min(longest);
        if next == NEVER {
            return Ok(Some(NEVER));
        }
        // `now` is the time of the store. This machine's clock may show another one.
        Ok(Some(
            self.clock.now_ms().saturating_add(next.saturating_sub(now)),
        ))
    }

    /// Fires a timer. One whose key cannot go on is set aside, so that the other keys do.
    async fn fire(&self, timer: &Task) -> Result<()> {
        let mut retry = Retry::new(&self.store, &*self.clock, TIMER_BUDGET_MS);
        loop {
            match self.deliver_timer(timer).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_of_one_key() => {
                    return worker::set_aside(self, timer, &error).await;
                }
                Err(error) => retry.after(error).await?,
            }
        }
    }

    /// Delivers the input of a timer, in the transaction that removes the timer.
    async fn deliver_timer(&self, timer: &Task) -> Result<()> {
        let input: M::Input = parse("a timer", &timer.id.key, &timer.work)?;
        let mut session = self.store.begin().await?;
        let delivery = Delivery {
            key: &timer.id.key,
            id: caused_by(&timer.id.to_string()),
            input: &input,
            now: self.now(&mut session).await?,
        };
        apply(&mut session, &self.machine, &delivery).await?;
        // After the row of the key, in the order of an input that hurries its effects.
        if !queue::remove(&mut session, timer).await? {
            return Ok(());
        }
        session.commit().await
    }

    /// Leases what the lanes allow, and starts it.
    async fn start<W: World<M>>(
        self: &Arc<Self>,
        world: &Arc<W>,
        turn: &mut Turn,
        now: i64,
    ) -> Result<()> {
        let lease = Lease {
            statement: &self.lease_statement,
            owner: &self.owner,
            now,
            until: after(now, self.limits.lease_ms),
        };
        let free = turn.lanes.free_for_fast();
        let mut session = self.store.session().await?;
        let fast = lease.take(&mut session, Lane::Fast, free).await?;
        let fast_wait = fast.len() == free;
        for task in fast {
            self.spawn(world, turn, Lane::Fast, fast_wait, task);
        }
        let free = turn.lanes.free_for_slow(fast_wait);
        for task in lease.take(&mut session, Lane::Slow, free).await? {
            self.spawn(world, turn, Lane::Slow, fast_wait, task);
        }
        Ok(())
    }

    fn spawn<W: World<M>>(
        self: &Arc<Self>,
        world: &Arc<W>,
        turn: &mut Turn,
        lane: Lane,
        fast_wait: bool,
        task: Task,
    ) {
        turn.lanes.start(lane, fast_wait);
        let (engine, world) = (Arc::clone(self), Arc::clone(world));
        let hold = self.clock.hold();
        turn.running.spawn(async move {
            let id = task.id.clone();
            let work = AssertUnwindSafe(worker::work(&engine, &*world, task, lane));
            if work.catch_unwind().await.is_err() {
                tracing::error!("the effect {id} panicked, and is left to its lease");
            }
            engine.wake.call(&*engine.clock);
            drop(hold);
            lane
        });
    }
}

/// Panics are caught before, so a worker always says its lane.
fn end(lanes: &mut Lanes, ended: std::result::Result<Lane, tokio::task::JoinError>) {
    match ended {
        Ok(lane) => lanes.end(lane),
        Err(error) => tracing::error!("a worker ended: {error}"),
    }
}
