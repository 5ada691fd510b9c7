//! The service at work: the engine's loop, the ends of sessions, reconciliation, and a clean end.

use super::accounts::Accounts;
use super::assembly::{Assembled, Surroundings, assemble};
use super::directory::Directory;
use super::front::Front;
use super::http::{self, HttpSettings};
use super::machine::Lifecycle;
use super::reconcile::reconcile;
use super::service::{Counters, Service};
use super::sessions::{Children, Ended, Left, SessionId, Starter};
use super::world::{ServiceWorld, SessionSettings, is_running};
use crate::host::{Failure, Setup};
use reviewer_core::config::service::ServiceConfig;
use reviewer_core::domain::{Login, RepoName};
use reviewer_core::lifecycle::{Effect, Policy};
use reviewer_engine::clock::Clock;
use reviewer_engine::{EffectId, Engine, EngineError, Limits, World as _};
use reviewer_text::redact::Redactor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};

/// The time between two reconciliations.
const RECONCILE: Duration = Duration::from_mins(10);

/// Everything that a service starts with.
pub(crate) struct Start<'a> {
    pub setup: &'a Setup,
    pub config: ServiceConfig,
    /// The environment variables, for secrets that the configuration names.
    pub vars: &'a [(String, String)],
    /// Lives are read from GitHub anew, because the store was lost.
    pub rebuild: bool,
}

/// Runs the service until a signal ends it.
pub(crate) async fn run(start: Start<'_>) -> Result<(), Failure> {
    let (config, setup) = (&start.config, start.setup);
    let around = &Surroundings {
        variables: start.vars.to_vec(),
        network: setup.environment.network.clone(),
        clock: setup.clock,
        program: setup.launcher.clone(),
    };
    let one = |why: String| Failure(vec![why]);
    let assembled = assemble(config, around).await.map_err(Failure)?;
    let Assembled {
        parts,
        children,
        ends,
        webhook_secret,
        secrets,
    } = assembled;
    setup.actions.hide(&Arc::new(Redactor::new(&secrets)));
    let policy = Arc::new(parts.policy.clone());
    let service = Service::open(parts).await;
    let service = service.map_err(|error| one(error.to_string()))?;
    let listener = listener(config).await.map_err(one)?;
    let recovered = service.recover(&children).await;
    recovered.map_err(|error| one(error.to_string()))?;
    let settings = HttpSettings {
        limits: config.limits,
        webhook_secret,
        clock: around.clock,
    };
    let front = Arc::new(Front {
        service: Arc::clone(&service),
        policy,
        max_sessions: config.sessions.most,
        ready: AtomicBool::new(true),
    });
    let (end, ended) = watch::channel(false);
    let serving = tokio::spawn(http::serve(
        listener,
        Arc::clone(&front),
        settings,
        until(ended.clone()),
    ));
    let taking = tokio::spawn(Arc::clone(&service).take_ends(Arc::clone(&children), ends));
    let work = tokio::spawn(work(Arc::clone(&service), start.rebuild, ended));
    tracing::info!("The service listens on {}.", config.listen);
    let signal = crate::run::exits::stop_signal().await;
    tracing::info!(
        "The service ends on signal {signal}; its sessions begin again with the next start."
    );
    front.ready.store(false, Ordering::Release);
    // Nobody listens any more once all of them have ended.
    let _heard = end.send(true);
    children.end_all().await;
    let _ended = tokio::join!(work, serving);
    taking.abort();
    Ok(())
}

async fn listener(config: &ServiceConfig) -> Result<TcpListener, String> {
    TcpListener::bind(config.listen).await.map_err(|error| {
        format!(
            "The service cannot listen on {}: {error}; change listen in service.yml.",
            config.listen
        )
    })
}

/// Ends with the service.
async fn until(mut ended: watch::Receiver<bool>) {
    // An error means that nobody can end it any more.
    let _ended = ended.wait_for(|ended| *ended).await;
}

/// Executes effects and reconciles, until the end.
async fn work(service: Arc<Service>, rebuild: bool, ended: watch::Receiver<bool>) {
    let world = Arc::clone(&service.world);
    let executing = service.engine.run(world, until(ended.clone()));
    let reconciling = Arc::clone(&service).reconcile_until(RECONCILE, rebuild, ended);
    tokio::join!(executing, reconciling);
}

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
        let counters = Counters::default();
        let machine = Lifecycle {
            policy: parts.policy,
            given_up: Arc::clone(&counters.given_up),
        };
        let clock = Arc::clone(&parts.clock);
        let engine = Engine::open(&parts.store, machine, parts.limits, parts.clock).await?;
        let directory = Arc::new(Directory::new(parts.repositories.clone()));
        let engine = Arc::new(engine);
        let world = ServiceWorld {
            accounts: Arc::new(parts.accounts),
            login: parts.login,
            directory: Arc::clone(&directory),
            starter: parts.starter,
            settings: Arc::new(parts.settings),
            store: engine.store().id().await?,
            engine: OnceLock::from(Arc::downgrade(&engine)),
            tokens: Mutex::default(),
        };
        let service = Arc::new(Self {
            engine,
            world: Arc::new(world),
            directory,
            repositories: parts.repositories,
            clock,
            counters,
            reconciles: Notify::new(),
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
        if !is_running(&state, id.dispatch) {
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
                    Ok(()) => {
                        children.clear(&id);
                        break children.remove_old_logs(self.wall_clock());
                    }
                    Err(error) => {
                        tracing::error!("the end of a session is not in the store yet: {error}");
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
    }

    fn wall_clock(&self) -> SystemTime {
        let ms = u64::try_from(self.clock.now_ms()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_millis(ms)
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
                () = self.reconciles.notified() => {}
                _ = ends.wait_for(|ended| *ended) => return,
            }
        }
    }
}
