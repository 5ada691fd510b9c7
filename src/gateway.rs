//! The way from the sidecar to its model, in our own process: it puts the key where the sidecar has a placeholder,
//! and passes on what a review needs and nothing else. A request is read to its end and judged before anything of it
//! leaves. An edge: it decides nothing itself, the files beside it do.

mod adapters;
mod address;
mod body;
mod door;
mod meter;
mod refusal;
mod scrub;
mod shapes;
mod upstream;
mod wire;

pub use meter::Limits;
pub use upstream::problems;

use crate::config::ModelChoice;
use crate::outbound;
use crate::review::limits::Traffic;
use adapters::{Call, ModelIn};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use body::{BodyFault, Wanted};
use door::Door;
use futures_util::{Stream, StreamExt, TryStreamExt};
use meter::{Meter, Room};
use refusal::Refusal;
use scrub::{Scrubber, Spellings};
use secrecy::SecretString;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use upstream::Upstream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Shorter than what load balancers keep: a request on a connection that has just been closed would fail.
const KEPT_CONNECTION: Duration = Duration::from_secs(15);

/// The gateway of one run. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    door: Door,
    spellings: Spellings,
    meter: Meter,
    /// The names of the tools that requests may offer.
    tools: Vec<String>,
    /// A sidecar that is refused once may be refused a thousand times; the log needs one line.
    warned: AtomicBool,
}

impl Inner {
    /// A silence is counted; other errors pass or do not, and OpenCode finds out.
    fn note(&self, error: &reqwest::Error) {
        if error.is_timeout() && !error.is_connect() {
            self.meter.was_silent();
        }
    }

    fn judge(&self, call: &Call, body: &[u8]) -> Result<(), BodyFault> {
        let upstream = &self.door.upstream;
        let in_body = upstream.model_in == ModelIn::Body;
        let wanted = Wanted {
            model: in_body.then_some(upstream.model.as_str()),
            wire: call.wire,
            tools: &self.tools,
        };
        body::judge(body, &wanted)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("upstream", &self.0.door.upstream.host())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// `placeholder` is what the sidecar gets for a key, random and of this run; `network` the proxy variables; `tools`
    /// what the run's profile allows.
    pub fn new(
        model: &ModelChoice,
        placeholder: SecretString,
        network: &[(String, String)],
        limits: Limits,
        tools: Vec<String>,
    ) -> Result<Self, String> {
        let upstream = Upstream::of(model)?;
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
            spellings: Spellings::of(model.key.as_ref()),
            meter: Meter::new(limits),
            door: Door {
                upstream,
                placeholder,
            },
            tools,
            warned: AtomicBool::new(false),
        })))
    }

    #[must_use]
    pub fn placeholder(&self) -> &SecretString {
        &self.0.door.placeholder
    }

    /// What the run has asked of its model so far, counted where no sidecar can lie about it.
    #[must_use]
    pub fn taken(&self) -> Traffic {
        self.0.meter.taken()
    }

    /// Which limit was reached, for a person.
    #[must_use]
    pub fn exhausted(&self) -> Option<String> {
        self.0.meter.reached().and_then(|refusal| refusal.limit())
    }

    /// Whether a body may go to a path below `/model`. Requests are held against the same rules.
    #[must_use]
    pub fn admits(&self, path: &str, body: &[u8]) -> bool {
        let mut routes = self.0.door.upstream.routes.iter();
        let route = routes.find(|route| route.path == path);
        route.is_some_and(|route| self.0.judge(&route.call, body).is_ok())
    }

    /// Everything below `/model`, for a server that listens at this address.
    pub fn router(&self, address: SocketAddr) -> Router {
        let host = Arc::<str>::from(address.to_string());
        Router::new()
            .route("/model/{*path}", any(pass))
            .with_state((self.clone(), host))
    }
}

async fn pass(State((gateway, host)): State<(Gateway, Arc<str>)>, request: Request) -> Response {
    match forward(&gateway.0, &host, request).await {
        Ok(answer) => answer,
        Err(refusal) => {
            // The words are ours, but for short plain names of keys and values.
            if gateway.0.warned.swap(true, Ordering::Relaxed) {
                tracing::debug!("{refusal}");
            } else {
                tracing::warn!("{refusal}");
            }
            refusal.into_response()
        }
    }
}

async fn forward(gateway: &Arc<Inner>, host: &str, request: Request) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let door = &gateway.door;
    let admitted = door.judge(host, &head.method, &head.uri, &head.headers)?;
    gateway.meter.request(admitted.length)?;
    let mut room = gateway.meter.room();
    let body = whole(body, admitted.length, &mut room).await?;
    gateway.judge(&admitted.call, &body)?;
    let request = gateway.http.post(admitted.url).headers(admitted.headers);
    let sent = request.body(body).send().await;
    drop(room);
    let answer = sent.map_err(|error| {
        gateway.note(&error);
        Refusal::Unreachable {
            host: door.upstream.host(),
            cause: cause(&error),
        }
    })?;
    let status = answer.status();
    let host = || door.upstream.host();
    if status.is_redirection() {
        let status = status.as_u16();
        let host = host();
        return Err(Refusal::Redirect { host, status });
    }
    let encoding = answer.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        return Err(Refusal::Compressed { host: host() });
    }
    let headers = door::coming_back(answer.headers(), &gateway.spellings);
    let body = Body::from_stream(scrubbed(Arc::clone(gateway), answer));
    Ok((status, headers, body).into_response())
}

/// What is reserved at once for a request that tells its length; a length may be a lie.
const RESERVED: u64 = 1 << 20;

/// A request's body, read to its end.
async fn whole(body: Body, length: Option<u64>, room: &mut Room<'_>) -> Result<Bytes, Refusal> {
    let reserved = length.unwrap_or_default().min(RESERVED);
    let mut whole = Vec::with_capacity(usize::try_from(reserved).unwrap_or_default());
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Refusal::Incomplete)?;
        room.takes(u64::try_from(piece.len()).unwrap_or(u64::MAX))?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// The answer's body as it passes, without the key, up to its limit.
fn scrubbed(
    gateway: Arc<Inner>,
    answer: reqwest::Response,
) -> impl Stream<Item = Result<Bytes, String>> {
    let scrubber = Scrubber::new(gateway.spellings.clone());
    let pieces = answer.bytes_stream().map(Some);
    let end = futures_util::stream::iter([None]);
    pieces
        .chain(end)
        .scan(
            (gateway, scrubber, 0_u64),
            |(gateway, scrubber, so_far), piece| {
                let passed = match piece {
                    None => Ok(scrubber.finish()),
                    Some(Err(error)) => {
                        gateway.note(&error);
                        Err(cause(&error))
                    }
                    Some(Ok(piece)) => {
                        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                        *so_far = so_far.saturating_add(length);
                        let within = gateway.meter.brings(length, *so_far);
                        within
                            .map(|()| scrubber.push(&piece))
                            .map_err(|refusal| refusal.to_string())
                    }
                };
                std::future::ready(Some(passed.map(Bytes::from)))
            },
        )
        .try_filter(|piece| std::future::ready(!piece.is_empty()))
}

/// The innermost cause says what happened; the outer ones say only that something did.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
