//! The HTTP server of the service. Every route but the webhook, health, the sessions' callback and the way into the dashboard needs an
//! API token, or a session that began with one; requests are limited by address and by token, bodies by size, memory and time.
//! Nothing here decides about a pull request.

mod access;
mod answer;
mod body;
mod connections;
mod metrics;
mod pulls;
mod rate;
#[cfg(test)]
mod tests;
mod ui;
mod webhook;

use super::backend::Backend;
use answer::{Refusal, error, secured};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use connections::Peer;
use rate::Buckets;
use reviewer_core::config::service::HttpLimits;
use reviewer_engine::tokens::Role;
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub(crate) use ui::UiSettings;

/// The time for an answer, the body of the request included.
const ANSWER: Duration = Duration::from_mins(1);

/// Settings of the server.
#[derive(Debug, Clone)]
pub(crate) struct HttpSettings {
    pub limits: HttpLimits,
    pub webhook_secret: SecretString,
    pub clock: Clock,
    pub ui: UiSettings,
}

/// Everything that routes share.
struct Shared<B> {
    backend: Arc<B>,
    settings: HttpSettings,
    by_address: Mutex<Buckets<IpAddr>>,
    by_token: Mutex<Buckets<String>>,
    /// Attempts to sign in.
    sign_ins: Mutex<Buckets<IpAddr>>,
    /// KiB of bodies that may be in memory at once: of their beginnings, and of what follows.
    beginnings: Semaphore,
    rests: Semaphore,
    counts: Counts,
    ui: ui::Ui,
}

/// Requests since the start, for the metrics.
#[derive(Debug, Default)]
struct Counts {
    webhooks: AtomicU64,
    duplicates: AtomicU64,
    /// Webhooks without a right signature.
    unsigned: AtomicU64,
    unauthorized: AtomicU64,
    limited: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl<B> Shared<B> {
    fn new(backend: Arc<B>, settings: HttpSettings) -> Self {
        let limits = settings.limits;
        Self {
            backend,
            by_address: Mutex::new(Buckets::new(limits.requests_per_minute_per_address)),
            by_token: Mutex::new(Buckets::new(limits.requests_per_minute)),
            sign_ins: Mutex::new(Buckets::new(limits.requests_per_minute)),
            beginnings: Semaphore::new(body::KIB_OF_BEGINNINGS),
            rests: Semaphore::new(body::KIB_OF_RESTS),
            counts: Counts::default(),
            ui: ui::Ui::new(settings.ui.clone(), limits.connections),
            settings,
        }
    }

    /// Takes one request from a bucket, or answers how long to wait.
    fn admit<K: std::hash::Hash + Eq>(
        &self,
        buckets: &Mutex<Buckets<K>>,
        key: K,
    ) -> Result<(), Refusal> {
        let now = self.settings.clock.instant();
        let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(key, now).map_err(|wait| {
            count(&self.counts.limited);
            answer::too_many(wait)
        })
    }
}

/// Serves requests until `shutdown` ends; those under way have some seconds to finish.
pub(crate) async fn serve<B: Backend>(
    listener: TcpListener,
    backend: Arc<B>,
    settings: HttpSettings,
    shutdown: impl Future<Output = ()> + Send,
) {
    let (connections, clock) = (settings.limits.connections, settings.clock);
    let shared = Arc::new(Shared::new(backend, settings));
    let router = routes(&shared);
    let shutdown = async {
        shutdown.await;
        shared.ui.end();
    };
    connections::serve(listener, router, connections, clock, shutdown).await;
}

/// The routes for a test without a socket.
#[cfg(test)]
pub(crate) fn router<B: Backend>(backend: Arc<B>, settings: HttpSettings) -> Router {
    routes(&Arc::new(Shared::new(backend, settings)))
}

/// The routes, each with its limits and its access.
fn routes<B: Backend>(shared: &Arc<Shared<B>>) -> Router {
    let needs = |role| from_fn_with_state((Arc::clone(shared), role), access::authorize::<B>);
    let read = Router::new()
        .route("/pr", get(pulls::list::<B>))
        .route(
            "/pr/{owner}/{repo}/{number}/status",
            get(pulls::status::<B>),
        )
        .route(
            "/pr/{owner}/{repo}/{number}/history",
            get(pulls::history::<B>),
        )
        .route(
            "/pr/{owner}/{repo}/{number}/explain",
            get(pulls::explain::<B>),
        )
        .route(
            "/pr/{owner}/{repo}/{number}/sessions",
            get(pulls::sessions::<B>),
        )
        .route("/metrics", get(metrics::metrics::<B>))
        .route_layer(needs(Role::Read));
    let operate = Router::new()
        .route("/pr/{owner}/{repo}/{number}/event", post(pulls::event::<B>))
        .route("/pr/{owner}/{repo}/{number}/retry", post(pulls::retry::<B>))
        .route_layer(needs(Role::Operate));
    Router::new()
        .route("/webhook", post(webhook::webhook::<B>))
        .route(
            "/pr/{owner}/{repo}/{number}/session",
            post(pulls::session::<B>),
        )
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready::<B>))
        .merge(read)
        .merge(operate)
        .merge(ui::routes(shared))
        .fallback(async || error(StatusCode::NOT_FOUND, "there is nothing here"))
        .layer(from_fn_with_state(Arc::clone(shared), limited::<B>))
        .layer(from_fn(secured))
        .with_state(Arc::clone(shared))
}

/// Lets a request through if its address has not used up its rate, and ends it after its time. Webhooks have no rate: behind a proxy
/// all clients are one address, and a flood of others must not keep GitHub's own away.
async fn limited<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let is_webhook = request.uri().path() == "/webhook";
    if let Some(Peer(address)) = peer.filter(|_| !is_webhook)
        && let Err(refusal) = shared.admit(&shared.by_address, address)
    {
        return refusal.into_response();
    }
    let limit = shared.settings.clock.limit(ANSWER);
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            error(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long").into_response()
        }
    }
}

async fn ready<B: Backend>(State(shared): State<Arc<Shared<B>>>) -> Response {
    if shared.backend.is_ready() {
        return "ready\n".into_response();
    }
    error(StatusCode::SERVICE_UNAVAILABLE, "the service is starting").into_response()
}
