//! The way of one session to its model: its placeholder, its upstream, its count. Separate from the gateway, which has one
//! for each session of a run and only chooses among them.

use super::CONNECT_TIMEOUT;
use super::adapters::{Call, ModelIn};
use super::admission::{self, Admission, Admitted};
use super::body::{self, BodyFault, Wanted};
use super::fatal::{Endpoint, Fatal, connect_cause};
use super::meter::{Meter, Room};
use super::provider_error;
use super::refusal::Refusal;
use super::scrub::{Scrubber, Spellings};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, TryStreamExt};
use reviewer_core::review::fallback::Cause;
use reviewer_core::review::limits::Traffic;
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The route of one session. Cheap to clone.
#[derive(Clone)]
pub struct SessionRoute(Arc<Inner>);

pub(super) struct Inner {
    pub(super) http: reqwest::Client,
    pub(super) admission: Admission,
    pub(super) spellings: Spellings,
    pub(super) meter: Meter,
    /// The names of the tools that requests may offer.
    pub(super) tools: Vec<String>,
    pub(super) endpoint: Endpoint,
    /// When a connection that failed is tried again, counted from the first try.
    pub(super) tries_at: [Duration; 2],
    pub(super) fatal: Fatal,
    /// The endpoint has answered a request of this session: key, model and address are right.
    pub(super) answered: AtomicBool,
    /// The session does not use it, or not any more.
    pub(super) is_closed: AtomicBool,
    /// The way to the model that takes this one's place where it cannot be used.
    pub(super) fallback: Option<SessionRoute>,
}

impl Inner {
    /// Sends a request. A connection that cannot be made is tried again, as nothing has reached the endpoint. After the
    /// last try the run ends; if the endpoint has answered before, OpenCode may ask again.
    async fn send(&self, admitted: Admitted, body: Bytes) -> Result<reqwest::Response, Refusal> {
        let Admitted { url, headers, .. } = admitted;
        let began = tokio::time::Instant::now();
        let mut again = self.tries_at.into_iter();
        loop {
            let request = self.http.post(url.clone()).headers(headers.clone());
            let error = match request.body(body.clone()).send().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !error.is_connect() {
                self.note(&error);
                return Err(Refusal::Unreachable {
                    host: self.admission.upstream.host(),
                    cause: cause(&error),
                });
            }
            let cause = connect_cause(&error, &url, CONNECT_TIMEOUT);
            let Some(at) = again.next() else {
                let tries = self.tries_at.len() + 1;
                let sentence = self.endpoint.unreachable(&url, &cause, tries);
                return Err(self.ends(Refusal::Unconnected(sentence)));
            };
            tracing::debug!("no connection to the model: {cause}");
            tokio::time::sleep_until(began + at).await;
        }
    }

    /// Ends the run, unless the endpoint has answered before: then the failure may pass. Returns the refusal.
    fn ends(&self, refusal: Refusal) -> Refusal {
        if !self.answered.load(Ordering::Relaxed) {
            self.fatal.record(None, refusal.to_string());
        }
        refusal
    }

    /// An error of the endpoint: one that no repeat can help ends the run, any other comes back as it is.
    async fn error(&self, answer: reqwest::Response) -> Result<Response, Refusal> {
        let status = answer.status();
        let headers = admission::coming_back(answer.headers(), &self.spellings);
        let body = self.error_body(answer).await;
        let answered = self.answered.load(Ordering::Relaxed);
        match provider_error::kind(status.as_u16(), &body, answered) {
            None => Ok((status, headers, body).into_response()),
            Some(kind) => {
                let words = provider_error::words(&body);
                let sentence = self.endpoint.refused(kind, status.as_u16(), &words);
                self.fatal.record(Some(kind), sentence);
                Err(Refusal::Ended)
            }
        }
    }

    /// The body of an error without the key, as far as it comes in time and is not too long.
    async fn error_body(&self, answer: reqwest::Response) -> Vec<u8> {
        let mut body = Vec::new();
        let mut pieces = answer.bytes_stream();
        let read = async {
            while let Some(Ok(piece)) = pieces.next().await {
                let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                body.extend_from_slice(&piece);
                let so_far = u64::try_from(body.len()).unwrap_or(u64::MAX);
                if self.meter.brings(length, so_far).is_err() || body.len() > ERROR_BYTES {
                    break;
                }
            }
        };
        // What has come by then is enough.
        let _late = tokio::time::timeout(ERROR_LIMIT, read).await;
        body.truncate(ERROR_BYTES);
        self.spellings.out_of(&body)
    }

    /// A silence is counted; other errors pass or do not, and OpenCode finds out.
    fn note(&self, error: &reqwest::Error) {
        if error.is_timeout() && !error.is_connect() {
            self.meter.was_silent();
        }
    }

    fn judge(&self, call: &Call, body: &[u8]) -> Result<(), BodyFault> {
        let upstream = &self.admission.upstream;
        let in_body = upstream.model_in == ModelIn::Body;
        let wanted = Wanted {
            model: in_body.then_some(upstream.model.as_str()),
            wire: call.wire,
            tools: &self.tools,
        };
        body::judge(body, &wanted)
    }
}

impl fmt::Debug for SessionRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionRoute")
            .field("path", &self.0.admission.prefix)
            .field("upstream", &self.0.admission.upstream.host())
            .finish_non_exhaustive()
    }
}

impl SessionRoute {
    pub(super) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Returns the path of the route on the gateway, without a slash at the end.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.admission.prefix.trim_end_matches('/')
    }

    #[must_use]
    pub fn placeholder(&self) -> &SecretString {
        &self.0.admission.placeholder
    }

    /// The header in which the sidecar sends the placeholder.
    #[must_use]
    pub fn credential_header(&self) -> &'static str {
        self.0.admission.upstream.credential_header
    }

    /// Returns the traffic between the session and its models so far, counted where no sidecar can lie about it.
    #[must_use]
    pub fn taken(&self) -> Traffic {
        let own = self.0.meter.taken();
        self.fallback().map_or(own, |other| own.plus(other.taken()))
    }

    /// Which limit of the session or of its run was reached, for a person.
    #[must_use]
    pub fn exhausted(&self) -> Option<String> {
        let reached = self.in_use().meter.reached();
        reached.and_then(|refusal| refusal.limit())
    }

    /// Returns true if that limit is the model's own silence.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        matches!(self.in_use().meter.reached(), Some(Refusal::Silent(_)))
    }

    /// The failure that ended the use of the model, for a person: the endpoint cannot be reached, or refused for good.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.in_use().fatal.recorded()
    }

    /// The cause of this failure, if another model may help.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.in_use().fatal.cause()
    }

    /// Waits for such a failure.
    pub async fn failed(&self) -> String {
        self.in_use().fatal.wait().await
    }

    /// The model does not answer now and wants to be asked again only later, as a sentence for a person.
    #[must_use]
    pub fn busy(&self, words: &str, wait: Duration) -> String {
        self.in_use().endpoint.busy(words, wait)
    }

    /// The way to the model to fall back to.
    #[must_use]
    pub fn fallback(&self) -> Option<&Self> {
        self.0.fallback.as_ref()
    }

    /// Returns true if the session uses its other model.
    #[must_use]
    pub fn has_fallen_back(&self) -> bool {
        self.0.is_closed.load(Ordering::Relaxed)
    }

    /// From here on the session uses its other model, and nothing passes to this one. Returns false where there is none, or
    /// where it does so already.
    #[must_use]
    pub fn fall_back(&self) -> bool {
        let Some(other) = self.fallback() else {
            return false;
        };
        other.0.is_closed.store(false, Ordering::Relaxed);
        !self.0.is_closed.swap(true, Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
    }

    /// The way to the model in use.
    fn in_use(&self) -> &Inner {
        let fallback = self.fallback().filter(|_| self.has_fallen_back());
        &fallback.unwrap_or(self).0
    }

    /// Returns true if a body may go to a path below the route's. Requests are held against the same rules.
    #[must_use]
    pub fn admits(&self, path: &str, body: &[u8]) -> bool {
        let mut routes = self.0.admission.upstream.routes.iter();
        let route = routes.find(|route| route.path == path);
        route.is_some_and(|route| self.0.judge(&route.call, body).is_ok())
    }

    pub(super) async fn forward(&self, host: &str, request: Request) -> Result<Response, Refusal> {
        let (head, body) = request.into_parts();
        let Inner {
            admission,
            meter,
            fatal,
            ..
        } = &*self.0;
        let admitted = admission.judge(host, &head.method, &head.uri, &head.headers)?;
        if self.0.is_closed.load(Ordering::Relaxed) {
            return Err(Refusal::Unused);
        }
        if fatal.recorded().is_some() {
            return Err(Refusal::Ended);
        }
        meter.request(admitted.length)?;
        let mut room = meter.room();
        let body = whole(body, admitted.length, &mut room).await?;
        self.0.judge(&admitted.call, &body)?;
        let answer = self.0.send(admitted, body).await?;
        drop(room);
        let host = || admission.upstream.host();
        let status = answer.status();
        if status.is_success() {
            self.0.answered.store(true, Ordering::Relaxed);
        }
        if status.is_redirection() {
            let status = status.as_u16();
            let host = host();
            return Err(self.0.ends(Refusal::Redirect { host, status }));
        }
        let encoding = answer.headers().get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            let refusal = Refusal::Compressed { host: host() };
            // The page of a load balancer says nothing about the endpoint.
            return Err(if status.is_server_error() {
                refusal
            } else {
                self.0.ends(refusal)
            });
        }
        if status.is_client_error() {
            return self.0.error(answer).await;
        }
        let headers = admission::coming_back(answer.headers(), &self.0.spellings);
        let body = Body::from_stream(scrubbed(Arc::clone(&self.0), answer));
        Ok((status, headers, body).into_response())
    }
}

/// The longest error that is read, and how long it may take.
const ERROR_BYTES: usize = 64 << 10;
const ERROR_LIMIT: Duration = Duration::from_secs(5);
/// The memory that is reserved at once for a request that tells its length; a length may be a lie.
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
    route: Arc<Inner>,
    answer: reqwest::Response,
) -> impl Stream<Item = Result<Bytes, String>> {
    let scrubber = Scrubber::new(route.spellings.clone());
    let pieces = answer.bytes_stream().map(Some);
    let end = futures_util::stream::iter([None]);
    pieces
        .chain(end)
        .scan(
            (route, scrubber, 0_u64),
            |(route, scrubber, so_far), piece| {
                let passed = match piece {
                    None => Ok(scrubber.finish()),
                    Some(Err(error)) => {
                        route.note(&error);
                        Err(cause(&error))
                    }
                    Some(Ok(piece)) => {
                        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                        *so_far = so_far.saturating_add(length);
                        let within = route.meter.brings(length, *so_far);
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
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
