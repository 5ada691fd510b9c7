//! The lifecycle service: a second driver of the same reviews as the action. It decides when which review or fix runs.

pub(crate) mod backend;
pub(crate) mod http;
pub(crate) mod known_agents;
pub(crate) mod secrets;

use crate::host::{Failure, Setup};
use backend::{Accepted, Backend, Metrics, PullAt, Refused, ReportRefused};
use http::HttpSettings;
use reviewer_core::config::service::ServiceConfig;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Policy, PullKey, State};
use reviewer_engine::tokens::{ApiToken, TokenHash};
use reviewer_engine::{Entry, Listed, Store};
use secrecy::SecretString;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

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
    let config = &start.config;
    if start.rebuild {
        return Err(Failure::new("Lives cannot be rebuilt without an engine."));
    }
    let store = Store::open(&config.store).await.map_err(Failure::new)?;
    let settings = HttpSettings {
        limits: config.limits,
        webhook_secret: secrets::read(&config.webhook_secret, start.vars).map_err(Failure::new)?,
        clock: start.setup.clock,
    };
    let listener = listen(config).await?;
    let backend = Arc::new(Idle { store });
    let mut ends = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
    let ended = futures_util::future::select_all(ends.iter_mut().map(|end| {
        Box::pin(async move {
            match end {
                Ok(end) => drop(end.recv().await),
                Err(_) => std::future::pending().await,
            }
        })
    }));
    http::serve(listener, backend, settings, async { drop(ended.await) }).await;
    Ok(())
}

/// Opens the address of the configuration.
async fn listen(config: &ServiceConfig) -> Result<TcpListener, Failure> {
    TcpListener::bind(config.listen).await.map_err(|error| {
        let address = config.listen;
        Failure::new(format!(
            "The service cannot listen on {address}: {error}. Set listen in the configuration, or end whatever uses the port."
        ))
    })
}

/// A service without an engine: it knows the API tokens and nothing else.
struct Idle {
    store: Store,
}

fn not_started() -> Refused {
    Refused::Unavailable("the engine of the service is not started".to_owned())
}

impl Backend for Idle {
    async fn webhook(&self, _: &str, _: &str, _: &[u8]) -> Result<Accepted, Refused> {
        Err(not_started())
    }

    async fn event(&self, _: &PullAt, _: &str, _: &str) -> Result<State, Refused> {
        Err(not_started())
    }

    async fn retry(&self, _: &PullAt, _: &str, _: &str) -> Result<State, Refused> {
        Err(not_started())
    }

    async fn report(&self, _: &PullAt, _: &SecretString, body: &[u8]) -> Result<(), ReportRefused> {
        if body.is_empty() {
            return Err(ReportRefused::Unauthorized);
        }
        Err(not_started().into())
    }

    async fn state(&self, _: &PullAt) -> Result<(PullKey, State), Refused> {
        Err(not_started())
    }

    async fn history(&self, _: &PullAt, _: u32) -> Result<Vec<Entry>, Refused> {
        Err(not_started())
    }

    async fn list(&self, _: Option<&str>, _: u32) -> Result<Vec<Listed>, Refused> {
        Err(not_started())
    }

    fn policy(&self) -> Arc<Policy> {
        let login = Login::new("nobody");
        Arc::new(Policy::new(Vec::new(), Account::App { login }))
    }

    fn is_ready(&self) -> bool {
        false
    }

    async fn metrics(&self) -> Metrics {
        Metrics::default()
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>, Refused> {
        let found = self.store.token(hash).await;
        found.map_err(|error| Refused::Unavailable(error.to_string()))
    }
}
