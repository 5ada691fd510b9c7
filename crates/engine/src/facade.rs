//! The engine and the store as their users see them: one type each, with a driver for SQL or for Restate below. Separate,
//! because a store is named at run time, and neither driver knows the other.

use crate::agents::Agent;
use crate::cells::{Cell, CellChange};
use crate::clock::Clock;
use crate::engine::{Answer, Engine as SqlEngine, Entry, Filter, Listed, Status};
use crate::error::Result;
use crate::limits::Limits;
use crate::machine::{Machine, World};
use crate::overview::{Recent, Waiting};
use crate::queue::Backlog;
#[cfg(feature = "restate")]
use crate::restate::{Address, Registry, Restate};
use crate::sealed::Sealed;
use crate::session::Counts;
use crate::store::Store as SqlStore;
use crate::tokens::{ApiToken, TokenHash};
#[cfg(feature = "restate")]
use futures_util::future::Either;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A machine whose states are kept in a store.
pub struct Engine<M: Machine> {
    driver: Driver<M>,
    store: Store,
}

enum Driver<M: Machine> {
    Sql(Arc<SqlEngine<M>>),
    #[cfg(feature = "restate")]
    Restate(Arc<Restate<M>>),
}

/// Calls a method of the driver that there is.
macro_rules! each {
    ($driver:expr, $one:ident => $call:expr) => {
        match $driver {
            Driver::Sql($one) => $call,
            #[cfg(feature = "restate")]
            Driver::Restate($one) => $call,
        }
    };
}

impl<M: Machine> fmt::Debug for Engine<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(&self.driver, one => one.fmt(f))
    }
}

impl<M: Machine> Engine<M> {
    /// Opens a store by its name: `sqlite:<file>` or a path, or `restate://<host>:<port>` where this build has the driver.
    pub async fn open(
        store: &str,
        machine: M,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        #[cfg(feature = "restate")]
        if Address::is_meant(store) {
            let restate = Restate::open(store, machine, limits, clock).await?;
            return Ok(Self {
                store: Store(Rows::Restate(restate.registry())),
                driver: Driver::Restate(Arc::new(restate)),
            });
        }
        let sql = SqlEngine::open(store, machine, limits, clock).await?;
        Ok(Self {
            store: Store(Rows::Sql(sql.store().clone())),
            driver: Driver::Sql(Arc::new(sql)),
        })
    }

    /// Steps one input from outside. It is durable, with everything that follows from it, when this returns. A delivery
    /// with an id of the last days is a duplicate.
    pub async fn deliver(
        &self,
        key: &str,
        delivery: &str,
        input: &M::Input,
    ) -> Result<Answer<M::State>> {
        each!(&self.driver, one => one.deliver(key, delivery, input).await)
    }

    /// The state of a key, if it has one.
    pub async fn status(&self, key: &str) -> Result<Option<Status<M::State>>> {
        each!(&self.driver, one => one.status(key).await)
    }

    /// The last `most` inputs of a key, the oldest first.
    pub async fn history(&self, key: &str, most: u32) -> Result<Vec<Entry>> {
        each!(&self.driver, one => one.history(key, most).await)
    }

    /// The state of a key, computed again from its history; `None` if its first inputs were purged, or never came.
    pub async fn replay(&self, key: &str) -> Result<Option<M::State>> {
        each!(&self.driver, one => one.replay(key).await)
    }

    /// Keys with their phases, in the order of the keys.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Listed>> {
        each!(&self.driver, one => one.list(filter).await)
    }

    /// The number of keys in each phase, in the order of the phases.
    pub async fn phases(&self) -> Result<Vec<(String, u64)>> {
        each!(&self.driver, one => one.phases().await)
    }

    /// Keys with their phases, those that changed last first.
    pub async fn recent(&self, wanted: &Recent) -> Result<Vec<Listed>> {
        each!(&self.driver, one => one.recent(wanted).await)
    }

    /// The states of these keys, with one question to the store. A key without one is left out.
    pub async fn states(&self, keys: &[String]) -> Result<Vec<(String, Status<M::State>)>> {
        each!(&self.driver, one => one.states(keys).await)
    }

    /// The effects and timers of a key that are not done, in the order of their numbers, at most `most`.
    pub async fn waiting(&self, key: &str, most: u32) -> Result<Vec<Waiting>> {
        each!(&self.driver, one => one.waiting(key, most).await)
    }

    /// Statements and commits since the store was opened; on Restate requests and deliveries.
    #[must_use]
    pub fn counts(&self) -> Counts {
        each!(&self.driver, one => one.counts())
    }

    /// Work that waits.
    pub async fn backlog(&self) -> Result<Backlog> {
        each!(&self.driver, one => one.backlog().await)
    }

    /// Removes what is old; the number of rows. A server that does so by itself has none to remove.
    pub async fn purge(&self) -> Result<u64> {
        each!(&self.driver, one => one.purge().await)
    }

    /// Removes everything of a key, if it is at this version, has been still for longer than deliveries are recognised, and
    /// nothing of it waits: no effect and no timer. False: it is kept. The numbers of its effects begin anew.
    pub async fn forget(&self, key: &str, seen: i64) -> Result<bool> {
        each!(&self.driver, one => one.forget(key, seen).await)
    }

    /// The agents and API tokens.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Executes effects and timers until `shutdown` ends. Then nothing new starts; effects that run have the grace of the
    /// limits to finish, and are otherwise left to the next process.
    pub fn run<W: World<M>, S: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        world: Arc<W>,
        shutdown: S,
    ) -> impl Future<Output = ()> + Send + use<M, W, S> {
        #[cfg(not(feature = "restate"))]
        {
            let Driver::Sql(sql) = &self.driver;
            sql.run(world, shutdown)
        }
        #[cfg(feature = "restate")]
        match &self.driver {
            Driver::Sql(sql) => Either::Left(sql.run(world, shutdown)),
            Driver::Restate(restate) => {
                let restate = Arc::clone(restate);
                Either::Right(async move { restate.run(world, shutdown).await })
            }
        }
    }

    /// Closes the store. Nobody uses the engine any more.
    pub async fn close(self) {
        match self.driver {
            Driver::Sql(sql) => match Arc::try_unwrap(sql) {
                Ok(sql) => sql.close().await,
                Err(_shared) => self.store.close().await,
            },
            #[cfg(feature = "restate")]
            Driver::Restate(restate) => restate.close().await,
        }
    }
}

/// The agents and API tokens of a service. A command opens it beside a running service.
#[derive(Debug)]
pub struct Store(Rows);

#[derive(Debug)]
enum Rows {
    Sql(SqlStore),
    #[cfg(feature = "restate")]
    Restate(Registry),
}

/// Calls a method of the rows that there are.
macro_rules! rows {
    ($store:expr, $one:ident => $call:expr) => {
        match $store {
            Rows::Sql($one) => $call,
            #[cfg(feature = "restate")]
            Rows::Restate($one) => $call,
        }
    };
}

impl Store {
    /// Opens a store for its rows, also while a service uses it.
    pub async fn open(store: &str) -> Result<Self> {
        #[cfg(feature = "restate")]
        if Address::is_meant(store) {
            return Ok(Self(Rows::Restate(Registry::open(store)?)));
        }
        Ok(Self(Rows::Sql(SqlStore::open(store).await?)))
    }

    /// The random name of this store. The numbers of effects begin anew in another one.
    pub async fn id(&self) -> Result<String> {
        rows!(&self.0, one => one.id().await)
    }

    pub async fn add_agent(&self, agent: &Agent) -> Result<()> {
        rows!(&self.0, one => one.add_agent(agent).await)
    }

    /// All agents, in the order of their names.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        rows!(&self.0, one => one.agents().await)
    }

    /// Removes an agent. False: there is none of this name.
    pub async fn remove_agent(&self, name: &str) -> Result<bool> {
        rows!(&self.0, one => one.remove_agent(name).await)
    }

    /// Gives an agent another token, or the same one sealed anew. False: there is none of this name.
    pub async fn rotate_agent(&self, name: &str, token: &Sealed) -> Result<bool> {
        rows!(&self.0, one => one.rotate_agent(name, token).await)
    }

    pub async fn add_token(&self, token: &ApiToken) -> Result<()> {
        rows!(&self.0, one => one.add_token(token).await)
    }

    /// All tokens, in the order of their names.
    pub async fn tokens(&self) -> Result<Vec<ApiToken>> {
        rows!(&self.0, one => one.tokens().await)
    }

    /// The token with this hash. The hash tells nothing about the token, so the time of the search tells nothing either.
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>> {
        rows!(&self.0, one => one.token(hash).await)
    }

    /// Removes a token. False: there is none of this name.
    pub async fn remove_token(&self, name: &str) -> Result<bool> {
        rows!(&self.0, one => one.remove_token(name).await)
    }

    /// Puts another token in the place of one. False: there is none of this name.
    pub async fn rotate_token(&self, name: &str, hash: &TokenHash) -> Result<bool> {
        rows!(&self.0, one => one.rotate_token(name, hash).await)
    }

    /// The cells whose names begin like this, in the order of their names.
    pub async fn cells(&self, prefix: &str) -> Result<Vec<Cell>> {
        rows!(&self.0, one => one.cells(prefix).await)
    }

    /// The cell of this name.
    pub async fn cell(&self, name: &str) -> Result<Option<Cell>> {
        rows!(&self.0, one => one.cell(name).await)
    }

    /// The cells of these names, with one question to the store. One that is not there is left out.
    pub async fn cells_named(&self, names: &[String]) -> Result<Vec<Cell>> {
        rows!(&self.0, one => one.cells_named(names).await)
    }

    /// Changes a cell. False: somebody else was first, and nothing changed.
    pub async fn change_cell(&self, name: &str, change: CellChange<'_>) -> Result<bool> {
        rows!(&self.0, one => one.change_cell(name, change).await)
    }

    /// True if several processes can use the store at the same time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        rows!(&self.0, one => one.is_shared())
    }

    pub async fn close(self) {
        match self.0 {
            Rows::Sql(sql) => sql.close().await,
            #[cfg(feature = "restate")]
            Rows::Restate(registry) => registry.close().await,
        }
    }
}
