//! The service at work: the engine's loop, the ends of sessions, reconciliation, and a clean end.

use super::accounts::Accounts;
use super::directory::Directory;
use super::machine::Lifecycle;
use super::reconcile::reconcile;
use super::service::{Counters, Service};
use super::sessions::{Children, Ended, Left, SessionId, Starter};
use super::world::{ServiceWorld, SessionSettings};
use reviewer_core::domain::{Login, RepoName};
use reviewer_core::lifecycle::{Effect, Policy};
use reviewer_engine::clock::Clock;
use reviewer_engine::{EffectId, Engine, EngineError, Limits, World as _};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The parts that a service is made of.
pub(crate) struct Parts {
    pub store: String,
    pub policy: Policy,
    pub limits: Limits,
    pub clock: Arc<dyn Clock>,
    pub accounts: Accounts,
    pub login: Login,
    pub settings: SessionSettings,
    pub starter: Arc<dyn Starter>,
    /// Empty with an App.
    pub repositories: Vec<RepoName>,
}

impl Service {
    /// Opens the store and puts the parts together. Nothing runs yet.
    pub(crate) async fn open(parts: Parts) -> Result<Arc<Self>, EngineError> {
        let machine = Lifecycle {
            policy: parts.policy,
        };
        let clock = Arc::clone(&parts.clock);
        let engine = Engine::open(&parts.store, machine, parts.limits, parts.clock).await?;
        let (engine, directory) = (Arc::new(engine), Arc::new(Directory::default()));
        let world = ServiceWorld {
            accounts: parts.accounts,
            login: parts.login,
            directory: Arc::clone(&directory),
            starter: parts.starter,
            settings: parts.settings,
            engine: OnceLock::from(Arc::downgrade(&engine)),
            tokens: Mutex::default(),
        };
        let service = Arc::new(Self {
            engine,
            world: Arc::new(world),
            directory,
            repositories: parts.repositories,
            clock,
            counters: Counters::default(),
        });
        service.remember().await?;
        Ok(service)
    }

    /// Tells what sessions of a dead service came to, and starts again what did not end.
    pub(crate) async fn recover(&self, children: &Children) -> Result<(), EngineError> {
        for left in children.left_over() {
            match left {
                Left::Ended(ended) => {
                    let id = ended.id.clone();
                    self.take_end(ended).await?;
                    children.clear(&id);
                }
                Left::Again { id, effect } => self.start_again(children, &id, *effect).await?,
            }
        }
        Ok(())
    }

    async fn start_again(
        &self,
        children: &Children,
        id: &SessionId,
        effect: Effect,
    ) -> Result<(), EngineError> {
        let state = self.state(id.key).await?.unwrap_or_default();
        let is_current = state
            .session
            .as_ref()
            .is_some_and(|session| session.dispatch == id.dispatch);
        if !is_current {
            children.clear(id);
            return Ok(());
        }
        let effect_id = EffectId {
            key: id.key.to_string(),
            seq: id.dispatch,
        };
        if let Err(error) = self.world.execute(&effect_id, effect).await {
            let ended = Ended {
                id: id.clone(),
                said: Err(error.to_string()),
            };
            self.take_end(ended).await?;
            children.clear(id);
        }
        Ok(())
    }

    /// Takes the ends of sessions until nobody can send one any more.
    pub(crate) async fn take_ends(
        self: Arc<Self>,
        children: Arc<Children>,
        mut ends: mpsc::UnboundedReceiver<Ended>,
    ) {
        const AGAIN: Duration = Duration::from_secs(1);
        while let Some(Ended { id, said }) = ends.recv().await {
            loop {
                let ended = Ended {
                    id: id.clone(),
                    said: said.clone(),
                };
                match self.take_end(ended).await {
                    Ok(()) => break children.clear(&id),
                    Err(error) => {
                        tracing::error!("the end of a session is not in the store yet: {error}");
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
    }

    /// Reconciles at once and then again and again, until the end.
    pub(crate) async fn reconcile_until(
        self: Arc<Self>,
        every: Duration,
        all_at_first: bool,
        mut ends: watch::Receiver<bool>,
    ) {
        let (mut round, mut all) = (0_u64, all_at_first);
        let began = self.clock.now_ms();
        loop {
            let name = format!("{began}-{round}");
            match reconcile(&self, &name, all).await {
                Ok(done) => {
                    tracing::info!(
                        "Reconciled {} open pull requests; {} were woken.",
                        done.listed,
                        done.woken
                    );
                    all = false;
                }
                Err(error) => tracing::warn!("Reconciliation failed: {error}"),
            }
            round += 1;
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                _ = ends.wait_for(|ended| *ended) => return,
            }
        }
    }
}
