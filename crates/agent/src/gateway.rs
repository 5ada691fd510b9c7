//! The way from the sidecar to its models, in the reviewer's own process: it puts the key where the sidecar has a
//! placeholder, and passes on what a review needs and nothing else. A request is read to its end and judged before
//! anything of it leaves. Each session has a route of its own. An edge: it decides nothing itself, the files beside it
//! do.

mod adapters;
mod admission;
mod body;
mod fatal;
mod meter;
mod provider_error;
mod refusal;
mod scrub;
mod session_route;
mod shapes;
mod upstream;
mod url_like;
mod wire;

pub use meter::Limits;
pub use session_route::SessionRoute;
pub use upstream::problems;

use admission::Admission;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use fatal::{Endpoint, Fatal};
use meter::Meter;
use refusal::Refusal;
use reviewer_core::config::ModelChoice;
use reviewer_core::review::limits::Traffic;
use reviewer_system::outbound;
use scrub::Spellings;
use secrecy::SecretString;
use session_route::{Inner as Route, cause};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use upstream::Upstream;

/// Together with the pauses between the tries, an endpoint that does not answer is given up after 12 s.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// Shorter than what load balancers keep: a request on a connection that has just been closed would fail.
const KEPT_CONNECTION: Duration = Duration::from_secs(15);

/// The path prefix of the routes on the loopback server.
const PREFIX: &str = "/model/";

/// The models of a session.
#[derive(Debug, Clone, Copy)]
pub struct Models<'a> {
    pub model: &'a ModelChoice,
    /// Takes its place where it cannot be used.
    pub fallback: Option<&'a ModelChoice>,
}

impl<'a> From<&'a ModelChoice> for Models<'a> {
    fn from(model: &'a ModelChoice) -> Self {
        let fallback = None;
        Self { model, fallback }
    }
}

/// The gateway of one run. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    limits: Limits,
    /// Counts what all sessions take together.
    meter: Arc<Meter>,
    /// By the names of their sessions.
    routes: RwLock<HashMap<String, SessionRoute>>,
    /// A sidecar that is refused once may be refused a thousand times; the log needs one line.
    warned: AtomicBool,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Without a route. `network` is the proxy variables; the limits hold for each session, and for all of them together.
    pub fn new(network: &[(String, String)], limits: Limits) -> Result<Self, String> {
        let http = outbound::client(network)
            .map_err(|error| error.to_string())?
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(limits.silence)
            .pool_idle_timeout(KEPT_CONNECTION)
            .build()
            .map_err(|error| format!("No HTTP client could be made: {}.", cause(&error)))?;
        Ok(Self(Arc::new(Inner {
            http,
            limits,
            meter: Arc::new(Meter::new(limits)),
            routes: RwLock::default(),
            warned: AtomicBool::new(false),
        })))
    }

    /// A gateway for another sidecar of the run, with routes and limits of its own. Both share the memory for requests.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self(Arc::new(Inner {
            http: self.0.http.clone(),
            limits: self.0.limits,
            meter: Arc::new(self.0.meter.beside()),
            routes: RwLock::default(),
            warned: AtomicBool::new(false),
        }))
    }

    /// Opens the route `/model/<session>/…`, and `/model/<session>-fallback/…` if the session has a model to fall back to; that
    /// one lets nothing pass until the session falls back. `placeholder` is what the sidecar gets for a key, random and of this
    /// session; `tools` what the session's profile allows.
    pub fn open(
        &self,
        session: &str,
        models: Models<'_>,
        placeholder: &SecretString,
        tools: &[String],
    ) -> Result<SessionRoute, String> {
        let route = |name: &str, model: &ModelChoice, fallback: Option<SessionRoute>| {
            let route = SessionRoute::new(Route {
                http: self.0.http.clone(),
                spellings: Spellings::new(model.key.as_ref()),
                meter: Meter::of_session(self.0.limits, &self.0.meter),
                admission: Admission {
                    prefix: format!("{PREFIX}{name}/"),
                    upstream: Upstream::from_choice(model)?,
                    placeholder: placeholder.clone(),
                },
                tools: tools.to_vec(),
                endpoint: Endpoint::from_choice(model),
                tries_at: self.0.limits.tries_at,
                fatal: Fatal::default(),
                answered: AtomicBool::new(false),
                is_closed: AtomicBool::new(false),
                fallback,
            });
            self.insert(name, route)
        };
        let fallback = models.fallback.map(|model| {
            let behind = route(&format!("{session}-fallback"), model, None)?;
            behind.close();
            Ok::<_, String>(behind)
        });
        route(session, models.model, fallback.transpose()?)
    }

    fn insert(&self, session: &str, route: SessionRoute) -> Result<SessionRoute, String> {
        let routes = self.0.routes.write();
        let mut routes = routes.unwrap_or_else(PoisonError::into_inner);
        if routes.contains_key(session) {
            return Err(format!("The session {session} has its model already."));
        }
        routes.insert(session.to_owned(), route.clone());
        Ok(route)
    }

    /// Model traffic of all sessions of the run so far.
    #[must_use]
    pub fn taken(&self) -> Traffic {
        self.0.meter.taken()
    }

    /// Everything below `/model`, for a server that listens at this address.
    pub(crate) fn router(&self, address: SocketAddr) -> Router {
        let host = Arc::<str>::from(address.to_string());
        Router::new()
            .route("/model/{*path}", any(pass))
            .with_state((self.clone(), host))
    }

    /// The route that a path is below of.
    fn route(&self, path: &str) -> Option<SessionRoute> {
        let (session, _) = path.strip_prefix(PREFIX)?.split_once('/')?;
        let routes = self.0.routes.read();
        let routes = routes.unwrap_or_else(PoisonError::into_inner);
        routes.get(session).cloned()
    }
}

async fn pass(State((gateway, host)): State<(Gateway, Arc<str>)>, request: Request) -> Response {
    let passed = match gateway.route(request.uri().path()) {
        Some(route) => route.forward(&host, request).await,
        // As if the placeholder were wrong: nobody learns which sessions there are.
        None => Err(admission::stranger(&host, request.uri(), request.headers())),
    };
    match passed {
        Ok(answer) => answer,
        Err(refusal) => {
            // The sentence is the gateway's own, apart from short plain names of keys and values. The run itself tells
            // the reason for an end.
            let is_told = matches!(refusal, Refusal::Ended | Refusal::Unconnected(_));
            if is_told || gateway.0.warned.swap(true, Ordering::Relaxed) {
                tracing::debug!("{refusal}");
            } else {
                tracing::warn!("{refusal}");
            }
            refusal.into_response()
        }
    }
}
