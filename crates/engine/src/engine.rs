//! The engine: inputs in, states out, everything in one commit per delivery. `run.rs` executes what it plans.

use crate::clock::{Clock, Hold};
use crate::delivery::{Delivery, apply, outside, parse};
use crate::error::{EngineError, Result};
use crate::limits::Limits;
use crate::machine::Machine;
use crate::overview::{self, Recent, Waiting};
use crate::queue::{self, Backlog, lease_statement};
use crate::records;
use crate::retry::Retry;
use crate::session::Counts;
use crate::store::Store;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

pub use crate::records::{Entry, Filter, Listed, Status};

/// The sender of a delivery waits for so long while the server of the store does not answer.
const DELIVERY_BUDGET_MS: u64 = 8_000;

/// A machine whose states are kept in a store.
pub struct Engine<M: Machine> {
    pub(crate) machine: M,
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    /// Names this process in leases.
    pub(crate) owner: String,
    pub(crate) lease_statement: String,
    pub(crate) wake: Wake,
}

/// The answer to a delivery.
#[derive(Debug)]
pub struct Answer<S> {
    /// The delivery was here before, and changed nothing now.
    pub duplicate: bool,
    pub state: S,
}

impl<M: Machine> fmt::Debug for Engine<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("store", &self.store)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Engine<M> {
    /// Opens the store `sqlite:<file>`, a path, or `postgres://…`, and brings it to the schema of this version.
    pub async fn open(
        store: &str,
        machine: M,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let store = Store::open_for_service(store).await?;
        let random = reviewer_system::random::hex(8);
        let engine = Self {
            machine,
            limits,
            clock,
            owner: random.map_err(|error| EngineError::NoRandomness(error.to_string()))?,
            lease_statement: lease_statement(store.dialect().skip_locked),
            wake: Wake::default(),
            store,
        };
        if engine.store.dialect().single_process {
            let now = engine.clock.now_ms();
            queue::take_back(&mut engine.store.session().await?, now).await?;
        }
        Ok(engine)
    }

    /// Steps one input from outside. It is durable, with everything that follows from it, when this returns. A delivery
    /// with an id of the last days is a duplicate. So is one that was committed when its connection was lost.
    pub async fn deliver(
        &self,
        key: &str,
        delivery: &str,
        input: &M::Input,
    ) -> Result<Answer<M::State>> {
        let _hold = self.clock.hold();
        let mut retry = Retry::new(&self.store, &*self.clock, DELIVERY_BUDGET_MS);
        loop {
            match self.deliver_once(key, delivery, input).await {
                Ok(answer) => return Ok(answer),
                Err(error) => retry.after(error).await?,
            }
        }
    }

    async fn deliver_once(
        &self,
        key: &str,
        delivery: &str,
        input: &M::Input,
    ) -> Result<Answer<M::State>> {
        let mut session = self.store.begin().await?;
        let now = self.now(&mut session).await?;
        let id = outside(delivery);
        let delivery = Delivery {
            key,
            id,
            input,
            now,
        };
        if let Some(state) = apply(&mut session, &self.machine, &delivery).await? {
            session.commit().await?;
            self.wake.call(&*self.clock);
            return Ok(Answer {
                duplicate: false,
                state,
            });
        }
        let status = records::status::<M>(&mut session, key).await?;
        Ok(Answer {
            duplicate: true,
            state: status.map(|status| status.state).unwrap_or_default(),
        })
    }

    /// The state of a key, if it has one.
    pub async fn status(&self, key: &str) -> Result<Option<Status<M::State>>> {
        records::status::<M>(&mut self.store.session().await?, key).await
    }

    /// The last `most` inputs of a key, the oldest first; fewer where they are large.
    pub async fn history(&self, key: &str, most: u32) -> Result<Vec<Entry>> {
        let mut session = self.store.session().await?;
        records::history(
            &mut session,
            key,
            i64::from(most),
            self.limits.history_bytes,
        )
        .await
    }

    /// The state of a key, computed again from its history; `None` if its first inputs were purged, or never came.
    pub async fn replay(&self, key: &str) -> Result<Option<M::State>> {
        let mut session = self.store.session().await?;
        let entries = records::history(&mut session, key, i64::MAX, u64::MAX).await?;
        if entries.first().is_none_or(|first| first.n != 1) {
            return Ok(None);
        }
        let mut state = M::State::default();
        for entry in entries {
            let input = parse("an input", key, &entry.input)?;
            state = self.machine.step(&state, &input, entry.at).state;
        }
        Ok(Some(state))
    }

    /// Keys with their phases, in the order of the keys.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Listed>> {
        records::list(&mut self.store.session().await?, filter).await
    }

    /// The number of keys in each phase, in the order of the phases.
    pub async fn phases(&self) -> Result<Vec<(String, u64)>> {
        records::phases(&mut self.store.session().await?).await
    }

    /// Keys with their phases, those that changed last first.
    pub async fn recent(&self, wanted: &Recent) -> Result<Vec<Listed>> {
        overview::recent(&mut self.store.session().await?, wanted).await
    }

    /// The states of these keys. A key without one is left out.
    pub async fn states(&self, keys: &[String]) -> Result<Vec<(String, Status<M::State>)>> {
        overview::states::<M>(&mut self.store.session().await?, keys).await
    }

    /// The effects and timers of a key that are not done.
    pub async fn waiting(&self, key: &str, most: u32) -> Result<Vec<Waiting>> {
        overview::waiting(&mut self.store.session().await?, key, most).await
    }

    /// Statements and commits since the store was opened.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.store.counts()
    }

    /// Work that waits.
    pub async fn backlog(&self) -> Result<Backlog> {
        let mut session = self.store.session().await?;
        let now = self.now(&mut session).await?;
        queue::backlog(&mut session, now).await
    }

    /// Removes deliveries that are old, and the oldest inputs of long histories; the number of rows.
    pub async fn purge(&self) -> Result<u64> {
        let mut session = self.store.begin().await?;
        let now = self.now(&mut session).await?;
        let removed = records::purge(&mut session, now, &self.limits).await?;
        session.commit().await?;
        Ok(removed)
    }

    /// Removes everything of a key, if it is at this version, has been still for longer than deliveries are recognised, and
    /// nothing of it waits: no effect and no timer. False: it is kept.
    pub async fn forget(&self, key: &str, seen: i64) -> Result<bool> {
        let mut session = self.store.begin().await?;
        let now = self.now(&mut session).await?;
        let forgotten = records::forget(&mut session, (key, seen), now, &self.limits).await?;
        session.commit().await?;
        Ok(forgotten)
    }

    /// The tables of agents and API tokens.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Closes the store. Nobody uses the engine any more.
    pub async fn close(self) {
        self.store.close().await;
    }

    pub(crate) async fn now(&self, session: &mut crate::session::Session) -> Result<i64> {
        session.now(&*self.clock).await
    }
}

/// Tells the loop that there may be work. The clock stands still until the loop has looked.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    notify: Notify,
    hold: Mutex<Option<Hold>>,
    listened: AtomicBool,
}

impl Wake {
    pub(crate) fn call(&self, clock: &dyn Clock) {
        if self.listened.load(Ordering::Acquire) {
            let hold = clock.hold();
            self.put(Some(hold));
        }
        self.notify.notify_one();
    }

    /// From now on calls hold the clock; before and after, nobody would let it go.
    pub(crate) fn listen(&self, listened: bool) {
        self.listened.store(listened, Ordering::Release);
        self.put(None);
    }

    pub(crate) async fn called(&self) {
        self.notify.notified().await;
    }

    /// The caller holds the clock itself.
    pub(crate) fn heard(&self) {
        self.put(None);
    }

    fn put(&self, hold: Option<Hold>) {
        let mut place = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, hold);
        drop(place);
        drop(before);
    }
}
