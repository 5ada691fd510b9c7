//! A service from its parts, and what it does again and again: the ends of sessions, reconciliation.

use super::accounts::Accounts;
use super::assembly::{Assembled, Surroundings, assemble, server_url};
use super::claims::Claims;
use super::directory::Directory;
use super::front::Front;
use super::http::{HttpSettings, UiSettings};
use super::machine::Lifecycle;
use super::orders::Orders;
use super::reconcile::reconcile;
use super::reserve::Reserve;
use super::role::Role;
use super::secrets;
use super::service::{Counters, Service};
use super::sessions::{Children, Ended, Starter};
use super::working::Running;
use super::world::{ServiceWorld, SessionSettings};
use crate::host::{Failure, Setup};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use reviewer_core::config::service::ServiceConfig;
use reviewer_core::dashboard::SessionKeys;
use reviewer_core::domain::{Login, RepoName};
use reviewer_core::lifecycle::{Policy, Quotas};
use reviewer_engine::clock::Clock;
use reviewer_engine::{Engine, EngineError, Limits};
use reviewer_text::capital::full_sentence;
use reviewer_text::redact::Redactor;
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};

/// Everything that a service starts with.
pub(crate) struct Start<'a> {
    pub setup: &'a Setup,
    pub config: ServiceConfig,
    /// The environment variables, for secrets that the configuration names.
    pub vars: &'a [(String, String)],
    /// Lives are read from GitHub anew, because the store was lost.
    pub rebuild: bool,
    pub role: Role,
}

/// Runs the service until a signal ends it, or a part of it has failed.
pub(crate) async fn run(start: Start<'_>) -> Result<(), Failure> {
    let (config, setup, role) = (&start.config, start.setup, start.role);
    let around = &Surroundings {
        variables: start.vars.to_vec(),
        network: setup.environment.network.clone(),
        clock: setup.clock,
        program: setup.launcher.clone(),
    };
    let one = |why: String| Failure(vec![why]);
    if role != Role::All && !config.has_server() {
        return Err(one(ALONE.to_owned()));
    }
    let assembled = assemble(config, around, role).await.map_err(Failure)?;
    let Assembled {
        parts,
        children,
        ends,
        webhook_secret,
        secrets: hidden,
    } = assembled;
    setup.actions.hide(&Arc::new(Redactor::new(&hidden)));
    let policy = Arc::new(parts.policy.clone());
    let service = Service::open(parts).await;
    let service = service.map_err(|error| one(full_sentence(&error.to_string())))?;
    let listener = if role.is_front() {
        Some(listener(config).await.map_err(one)?)
    } else {
        None
    };
    if role.is_worker() {
        let recovered = service.recover(&children).await;
        recovered.map_err(|error| one(full_sentence(&error.to_string())))?;
    }
    let settings = http_settings(config, start.vars, webhook_secret, around.clock).map_err(one)?;
    let front = Arc::new(Front {
        service,
        policy,
        max_sessions: config.sessions.most,
        ready: AtomicBool::new(true),
    });
    let running = Running {
        role,
        rebuild: start.rebuild,
        listener,
        front,
        settings,
    };
    if role == Role::Worker {
        tracing::info!("The worker runs up to {} sessions.", config.sessions.most);
    } else {
        tracing::info!("The service listens on {}.", config.listen);
    }
    running.until_end(children, ends).await.map_err(one)
}

fn http_settings(
    config: &ServiceConfig,
    vars: &[(String, String)],
    webhook_secret: SecretString,
    clock: reviewer_system::clock::Clock,
) -> Result<HttpSettings, String> {
    Ok(HttpSettings {
        limits: config.limits,
        webhook_secret,
        clock,
        ui: UiSettings {
            keys: SessionKeys::new(&secrets::session_keys(config, vars)?),
            github: server_url(&config.api_url),
            public_url: config.public_url.clone(),
        },
    })
}

/// The refusal of a part of a service where there can be no other.
const ALONE: &str = "A store in a file has one process: leave --role away, or name a server with --store, as \
                     postgres:// or restate://.";

async fn listener(config: &ServiceConfig) -> Result<TcpListener, String> {
    TcpListener::bind(config.listen).await.map_err(|error| {
        format!(
            "The service cannot listen on {}: {error}; change listen in service.yml.",
            config.listen
        )
    })
}

/// The parts that a service is made of.
pub(crate) struct Parts {
    pub store: SecretString,
    pub policy: Policy,
    pub limits: Limits,
    pub clock: Arc<dyn Clock>,
    pub accounts: Accounts,
    pub login: Login,
    pub settings: SessionSettings,
    pub quotas: Quotas,
    pub starter: Arc<dyn Starter>,
    /// Sessions of this process at once; none where it runs none.
    pub most_sessions: usize,
    /// Empty with an App.
    pub repositories: Vec<RepoName>,
}

impl Service {
    /// Opens the store and puts the parts together. Nothing runs yet.
    pub(crate) async fn open(parts: Parts) -> Result<Arc<Self>, EngineError> {
        let counters = Arc::<Counters>::default();
        let machine = Lifecycle {
            policy: parts.policy,
            given_up: Arc::clone(&counters.given_up),
        };
        let clock = Arc::clone(&parts.clock);
        let engine = Engine::open(
            parts.store.expose_secret(),
            machine,
            parts.limits,
            parts.clock,
        )
        .await?;
        let directory = Arc::new(Directory::new(parts.repositories.clone()));
        let engine = Arc::new(engine);
        let (accounts, settings) = (Arc::new(parts.accounts), Arc::new(parts.settings));
        let orders = Orders {
            accounts: Arc::clone(&accounts),
            directory: Arc::clone(&directory),
            settings: Arc::clone(&settings),
        };
        let claims = Claims::new(
            &engine,
            orders,
            parts.starter,
            Arc::clone(&clock),
            Arc::clone(&counters),
            parts.most_sessions,
        );
        let world = ServiceWorld {
            accounts,
            login: parts.login,
            directory: Arc::clone(&directory),
            claims: Arc::new(claims),
            settings,
            reserve: Reserve::default(),
            quotas: parts.quotas,
            store: engine.store().id().await?,
            engine: Arc::downgrade(&engine),
        };
        let service = Arc::new(Self {
            engine,
            world: Arc::new(world),
            directory,
            repositories: parts.repositories,
            clock,
            counters,
            reconciles: Notify::new(),
            remembered: Mutex::default(),
        });
        service.remember().await?;
        Ok(service)
    }

    /// Tells what sessions of a dead service came to, and starts again what did not end.
    pub(crate) async fn recover(&self, children: &Children) -> Result<(), EngineError> {
        for ended in children.left_over() {
            let id = ended.id.clone();
            self.take_end(ended).await?;
            children.clear(&id);
        }
        self.world.claims.look().await;
        Ok(())
    }

    /// Takes the end of a session of this process.
    pub(crate) async fn take_end(&self, ended: Ended) -> Result<(), EngineError> {
        let claims = &self.world.claims;
        if let Some(said) = ended.said {
            return claims.ended(&ended.id, said).await;
        }
        claims.dropped(&ended.id).await;
        Ok(())
    }

    /// Takes the ends of sessions until nobody can send one any more. One that the store does not take holds up no other.
    pub(crate) async fn take_ends(
        self: Arc<Self>,
        children: Arc<Children>,
        mut ends: mpsc::UnboundedReceiver<Ended>,
    ) {
        let mut taking = FuturesUnordered::new();
        loop {
            tokio::select! {
                ended = ends.recv() => match ended {
                    Some(ended) => taking.push(self.take_until_stored(&children, ended)),
                    None => break,
                },
                Some(()) = taking.next() => children.remove_old_logs(self.wall_clock()),
            }
        }
        while taking.next().await.is_some() {}
    }

    /// Takes the end of a session, and tries again until it is in the store.
    async fn take_until_stored(&self, children: &Children, ended: Ended) {
        const LONGEST: Duration = Duration::from_mins(1);
        let mut again = Duration::from_secs(1);
        while let Err(error) = self.take_end(ended.clone()).await {
            tracing::error!("the end of a session is not in the store yet: {error}");
            tokio::time::sleep(again).await;
            again = LONGEST.min(again * 2);
        }
        if ended.said.is_some() {
            children.clear(&ended.id);
        }
    }

    /// Learns again and again what other processes have read, until the end.
    pub(super) async fn remember_until(self: Arc<Self>, mut ends: watch::Receiver<bool>) {
        const EVERY: Duration = Duration::from_secs(10);
        while self.engine.store().is_shared() {
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                _ = ends.wait_for(|ended| *ended) => return,
            }
            if let Err(error) = self.remember().await {
                tracing::warn!("pull requests could not be listed: {error}");
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
                    tracing::info!("{done}");
                    // The repositories that wait come with all others next time.
                    all &= done.waiting > 0;
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
