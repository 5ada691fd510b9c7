//! The sessions that lives want, as cells of the store. Any process with a free place takes one; a session whose process is gone
//! is taken by another one, once. Everything is decided by the cells, so it is the same on every store.

use super::machine::Lifecycle;
use super::orders::Orders;
use super::reports;
use super::service::Counters;
use super::sessions::{SessionId, Starter};
use reviewer_core::dashboard::Spent;
use reviewer_core::lifecycle::{Effect, PullKey};
use reviewer_core::session_order::{SessionCost, SessionEvent, SessionMessage};
use reviewer_engine::clock::Clock;
use reviewer_engine::tokens::TokenHash;
use reviewer_engine::{CellChange, Engine, EngineError};
use secrecy::SecretString;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

mod cells;
mod fairness;
mod turns;
mod workers;

#[cfg(test)]
mod deaths;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub(super) use cells::ENDED;
pub(super) use cells::SPENT;
pub(crate) use cells::SessionAccount;
use cells::{Session, json};
use workers::Workers;
pub(crate) use workers::is_in_use;

/// The sessions of all processes, and those of this one.
pub(crate) struct Claims {
    pub engine: Weak<Engine<Lifecycle>>,
    pub orders: Orders,
    pub starter: Arc<dyn Starter>,
    pub clock: Arc<dyn Clock>,
    pub counters: Arc<Counters>,
    /// Sessions of this process at once; none where it runs none.
    pub most: usize,
    /// Held by whoever looks at the cells and starts sessions.
    workers: Mutex<Workers>,
    /// The sessions that this process has started and whose ends are not in the store, with their tokens.
    held: std::sync::Mutex<HashMap<SessionId, TokenHash>>,
    /// The time at which the other processes heard of this one last.
    reached: std::sync::Mutex<Option<Instant>>,
    /// Without the store for longer than this, the process ends its sessions.
    patience: Duration,
}

impl Claims {
    pub(crate) fn new(
        engine: &Arc<Engine<Lifecycle>>,
        orders: Orders,
        starter: Arc<dyn Starter>,
        clock: Arc<dyn Clock>,
        counters: Arc<Counters>,
        most: usize,
    ) -> Self {
        let workers = Workers::new(engine.store().is_shared());
        Self {
            engine: Arc::downgrade(engine),
            orders,
            starter,
            clock,
            counters,
            most,
            patience: workers.patience(),
            workers: Mutex::new(workers),
            held: std::sync::Mutex::default(),
            reached: std::sync::Mutex::default(),
        }
    }

    /// The engine; `None` while the service ends.
    fn engine(&self) -> Option<Arc<Engine<Lifecycle>>> {
        self.engine.upgrade()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, TokenHash>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_held(&self, id: &SessionId) -> bool {
        self.held().contains_key(id)
    }

    /// A life wants this session. It is in the store when this returns, and starts here if there is a free place.
    pub(crate) async fn want(&self, id: &SessionId, effect: &Effect) -> Result<(), EngineError> {
        let Some(engine) = self.engine() else {
            return Ok(());
        };
        let status = engine.status(&id.key.to_string()).await?;
        let facts = status.and_then(|status| status.state.facts);
        let author = facts.and_then(|facts| facts.author);
        let session = Session {
            effect: effect.clone(),
            author: author.map(|author| author.as_str().to_lowercase()),
            asked: self.clock.now_ms(),
            starts: 0,
            claim: None,
        };
        let text = json(&session);
        let add = CellChange::Add(&text);
        // One that is there already was wanted before.
        engine.store().change_cell(&cells::name(id), add).await?;
        self.look().await;
        Ok(())
    }

    /// True if the session is in the store: it waits for a place, or runs.
    pub(crate) async fn is_wanted(&self, id: &SessionId) -> Result<bool, EngineError> {
        match self.engine() {
            Some(engine) => Ok(engine.store().cell(&cells::name(id)).await?.is_some()),
            None => Ok(false),
        }
    }

    /// No life wants this session any more, whoever runs it.
    pub(crate) async fn end(&self, id: &SessionId) -> Result<(), EngineError> {
        if let Some(engine) = self.engine() {
            cells::remove(engine.store(), id).await?;
        }
        self.starter.end(id);
        self.look().await;
        Ok(())
    }

    /// A session of this process was ended, and says nothing.
    pub(crate) async fn dropped(&self, id: &SessionId) {
        self.held().remove(id);
        self.look().await;
    }

    /// A session of this process has ended: its last words go to the life, and what people may ask for is kept.
    pub(crate) async fn ended(
        &self,
        id: &SessionId,
        said: Result<SessionMessage, String>,
    ) -> Result<(), EngineError> {
        let Some(engine) = self.engine() else {
            return Ok(());
        };
        let message = reports::bounded(said.unwrap_or_else(|error| failed(id, error)));
        if !self.is_taken_over(&engine, id, &message).await? {
            self.tell(&engine, id, message).await?;
        }
        self.dropped(id).await;
        Ok(())
    }

    /// True for the failure of a session that another process runs by now: it may succeed there.
    async fn is_taken_over(
        &self,
        engine: &Engine<Lifecycle>,
        id: &SessionId,
        message: &SessionMessage,
    ) -> Result<bool, EngineError> {
        let store = engine.store();
        if !matches!(message.event, SessionEvent::Failed { .. }) {
            return Ok(false);
        }
        let session = cells::session(store, id).await?;
        let Some(claim) = session.and_then(|one| one.claim) else {
            return Ok(false);
        };
        if self.held().get(id) == Some(&claim.token) {
            return Ok(false);
        }
        let mut workers = self.workers.lock().await;
        let is_own = workers.name().is_some_and(|me| me == claim.worker);
        Ok(!is_own && workers.alive(store).await?.contains(&claim.worker))
    }

    async fn tell(
        &self,
        engine: &Engine<Lifecycle>,
        id: &SessionId,
        message: SessionMessage,
    ) -> Result<(), EngineError> {
        let store = engine.store();
        let session = cells::session(store, id).await?;
        let account = session.as_ref().and_then(SessionAccount::of);
        let (cost, error) = match &message.event {
            SessionEvent::Finished { cost, .. } => (cost.cost_usd, None),
            SessionEvent::Failed { cost, error, .. } => (cost.cost_usd, Some(error.clone())),
            SessionEvent::Started { .. } => (0.0, None),
        };
        self.counters
            .add_cost(reports::deliver(engine, id.key, message).await?);
        if let Some(account) = account {
            let account = SessionAccount {
                ended: Some(self.clock.now_ms()),
                cost_usd: cost,
                error,
                log: self.starter.log(id),
                ..account
            };
            cells::spend(store, id.key, &account).await?;
            cells::keep(store, id.key, &account).await?;
        }
        cells::remove(store, id).await
    }

    /// True if the token is that of this session.
    pub(crate) async fn knows(
        &self,
        id: &SessionId,
        token: &SecretString,
    ) -> Result<bool, EngineError> {
        let Some(engine) = self.engine() else {
            return Ok(false);
        };
        let session = cells::session(engine.store(), id).await?;
        let known = session.and_then(|one| one.claim).map(|claim| claim.token);
        Ok(known == Some(TokenHash::new(token)))
    }

    /// The number of sessions that run or wait, of all processes.
    pub(crate) async fn count(&self) -> Result<usize, EngineError> {
        match self.engine() {
            Some(engine) => cells::count(engine.store()).await,
            None => Ok(0),
        }
    }

    /// The cost so far of the sessions of these pull requests; none of one without a session that has ended.
    pub(crate) async fn spent(
        &self,
        keys: &[PullKey],
    ) -> Result<HashMap<PullKey, Spent>, EngineError> {
        match self.engine() {
            Some(engine) => cells::spent(engine.store(), keys).await,
            None => Ok(HashMap::new()),
        }
    }

    /// The last sessions of a pull request, the oldest first, on whatever process they ran.
    pub(crate) async fn accounts(&self, key: PullKey) -> Result<Vec<SessionAccount>, EngineError> {
        match self.engine() {
            Some(engine) => cells::accounts(engine.store(), key).await,
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
impl Claims {
    /// Puts a session with this token into the store, as if it were at work.
    pub(crate) async fn pretend(&self, id: &SessionId, token: &SecretString) {
        let session = Session {
            effect: Effect::Probe,
            author: None,
            asked: 0,
            starts: 1,
            claim: Some(cells::Claim {
                worker: "elsewhere".into(),
                token: TokenHash::new(token),
                since: 0,
            }),
        };
        let engine = self.engine().expect("an engine");
        let text = json(&session);
        let (store, add) = (engine.store(), CellChange::Add(&text));
        let added = store.change_cell(&cells::name(id), add).await;
        assert!(added.expect("the store answers"));
    }
}

fn failed(id: &SessionId, error: String) -> SessionMessage {
    SessionMessage {
        dispatch: id.dispatch,
        event: SessionEvent::Failed {
            error,
            retry_after_ms: None,
            cost: SessionCost::default(),
        },
    }
}
