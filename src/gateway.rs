//! The way from the sidecar to its model, in our own process: it puts the key where the sidecar has a placeholder,
//! and passes on what a review needs and nothing else. An edge: it decides nothing itself, the files beside it do.

mod adapters;
mod body;
mod door;
mod meter;
mod refusal;
mod scrub;
mod upstream;
mod wire;

pub(crate) use door::same;
pub use meter::{Limits, Taken};
pub use refusal::OPENING;
pub use upstream::problems;

use crate::config::ModelChoice;
use crate::outbound;
use adapters::ModelIn;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use body::Scanner;
use door::Door;
use futures_util::{Stream, StreamExt, TryStreamExt};
use meter::Meter;
use refusal::Refusal;
use scrub::{Scrubber, Spellings};
use secrecy::SecretString;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
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
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("upstream", &self.0.door.upstream.host())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// `placeholder` is what the sidecar gets for a key, random and of this run; `network` the proxy variables.
    pub fn new(
        model: &ModelChoice,
        placeholder: SecretString,
        network: &[(String, String)],
        limits: Limits,
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
            warned: AtomicBool::new(false),
        })))
    }

    #[must_use]
    pub fn placeholder(&self) -> &SecretString {
        &self.0.door.placeholder
    }

    /// What the run has asked of its model so far, counted where no sidecar can lie about it.
    #[must_use]
    pub fn taken(&self) -> Taken {
        self.0.meter.taken()
    }

    /// Which limit was reached, for a person.
    #[must_use]
    pub fn exhausted(&self) -> Option<String> {
        self.0.meter.reached().and_then(|refusal| refusal.limit())
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
            // Both are ours: no word of the sidecar is in them.
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
    let verdict = Verdict::default();
    let body = checked(Arc::clone(gateway), body, verdict.clone());
    let sent = gateway
        .http
        .post(admitted.url)
        .headers(admitted.headers)
        .body(reqwest::Body::wrap_stream(body))
        .send()
        .await;
    if let Some(Err(refusal)) = verdict.get() {
        return Err(refusal.clone());
    }
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
    // An error may come early. A success for half a request is none that we have judged.
    if status.is_success() && verdict.get().is_none() {
        return Err(Refusal::Early { host: host() });
    }
    let headers = door::coming_back(answer.headers(), &gateway.spellings);
    let body = Body::from_stream(scrubbed(Arc::clone(gateway), answer));
    Ok((status, headers, body).into_response())
}

/// How the judgement of a body ended, once it has.
type Verdict = Arc<OnceLock<Result<(), Refusal>>>;

/// The request's body as it passes. Each piece waits for the next one: the last is sent only when all was judged.
fn checked(
    gateway: Arc<Inner>,
    body: Body,
    verdict: Verdict,
) -> impl Stream<Item = Result<Bytes, Refusal>> {
    let upstream = &gateway.door.upstream;
    let in_body = upstream.model_in == ModelIn::Body;
    let scanner = Scanner::new(in_body.then(|| upstream.model.clone()));
    let passage = Passage {
        gateway,
        scanner,
        so_far: 0,
        held: None,
        verdict,
    };
    let pieces = body.into_data_stream().map(Some);
    let end = futures_util::stream::iter([None]);
    pieces
        .chain(end)
        .scan(passage, |passage, piece| {
            let passed = passage.take(piece);
            std::future::ready(Some(passed))
        })
        .try_filter_map(|piece| std::future::ready(Ok(piece)))
}

struct Passage {
    gateway: Arc<Inner>,
    scanner: Scanner,
    so_far: u64,
    held: Option<Bytes>,
    verdict: Verdict,
}

impl Passage {
    /// The next piece, or the end; gives what may be sent now.
    fn take(
        &mut self,
        piece: Option<Result<Bytes, axum::Error>>,
    ) -> Result<Option<Bytes>, Refusal> {
        match self.judge(piece) {
            Ok((send, ended)) => {
                if ended {
                    let _first = self.verdict.set(Ok(()));
                }
                Ok(send)
            }
            Err(refusal) => {
                let _first = self.verdict.set(Err(refusal.clone()));
                Err(refusal)
            }
        }
    }

    fn judge(
        &mut self,
        piece: Option<Result<Bytes, axum::Error>>,
    ) -> Result<(Option<Bytes>, bool), Refusal> {
        let Some(piece) = piece else {
            self.scanner.finish()?;
            return Ok((self.held.take(), true));
        };
        let piece = piece.map_err(|_| Refusal::Incomplete)?;
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.so_far = self.so_far.saturating_add(length);
        self.gateway.meter.sends(length, self.so_far)?;
        self.scanner.feed(&piece)?;
        Ok((self.held.replace(piece), false))
    }
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
