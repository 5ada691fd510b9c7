//! Calls to a Restate server: objects by its ingress, questions and deployments by its admin interface. Every call may be
//! repeated, because it only reads or has an idempotency key, so a server that restarts costs time and nothing else.

use super::address::Address;
use super::wire::Trouble;
use crate::restate_error::RestateError;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client as Http, Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time after which a call that got no answer is given up. The server needs one minute to notice a dead connection to a
/// process that answers it.
const PATIENCE: Duration = Duration::from_secs(90);
const ONE_REQUEST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

type Result<T> = std::result::Result<T, RestateError>;

/// A client of one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: Http,
    pub(crate) address: Arc<Address>,
    requests: Arc<AtomicU64>,
    patience: Duration,
}

/// A call of a handler.
#[derive(Debug)]
pub(crate) struct Call<'a, T> {
    pub(crate) what: &'static str,
    pub(crate) service: &'a str,
    pub(crate) key: &'a str,
    pub(crate) handler: &'a str,
    pub(crate) idempotency: Option<&'a str>,
    /// A handler without an input takes no body.
    pub(crate) body: Option<&'a T>,
}

impl Client {
    pub(crate) fn new(address: Address) -> Result<Self> {
        // The server is on this machine or in a private network, so there is no proxy.
        let builder = reviewer_system::outbound::client(&[]);
        let builder = builder.map_err(|error| RestateError::NoClient(error.to_string()))?;
        let http = builder.timeout(ONE_REQUEST).build();
        Ok(Self {
            http: http.map_err(|error| RestateError::NoClient(chain(&error)))?,
            address: Arc::new(address),
            requests: Arc::default(),
            patience: PATIENCE,
        })
    }

    /// Requests since the client was made.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Gives up earlier.
    pub(crate) fn with_patience(&self, patience: Duration) -> Self {
        Self {
            patience,
            ..self.clone()
        }
    }

    /// Calls a handler of an object.
    pub(crate) async fn call<T: Serialize + Sync, A: DeserializeOwned>(
        &self,
        call: &Call<'_, T>,
    ) -> Result<A> {
        let key = utf8_percent_encode(call.key, NON_ALPHANUMERIC);
        let path = format!(
            "{}/{}/{key}/{}",
            self.address.ingress, call.service, call.handler
        );
        let request = || {
            let request = self.http.post(&path);
            let request = match call.body {
                Some(body) => request.json(body),
                None => request,
            };
            match call.idempotency {
                Some(key) => request.header("idempotency-key", header(key)),
                None => request,
            }
        };
        let target = Target {
            what: call.what,
            address: &self.address.ingress,
            service: call.service,
        };
        self.send(&target, &request).await
    }

    /// Ends a wait of a call, also one that has ended before.
    pub(crate) async fn resolve(&self, awakeable: &str) -> Result<()> {
        let path = format!(
            "{}/restate/awakeables/{awakeable}/resolve",
            self.address.ingress
        );
        let target = Target {
            what: "for an effect that waits",
            address: &self.address.ingress,
            service: "awakeables",
        };
        let _nothing: Value = self.send(&target, &|| self.http.post(&path)).await?;
        Ok(())
    }

    /// Makes a request to the admin interface.
    pub(crate) async fn admin<T: Serialize + Sync, A: DeserializeOwned>(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<A> {
        let path = format!("{}{path}", self.address.admin);
        let request = || {
            let request = self.http.request(method.clone(), &path);
            let request = request.header("accept", "application/json");
            match body {
                Some(body) => request.json(body),
                None => request,
            }
        };
        let target = Target {
            what,
            address: &self.address.admin,
            service: &path,
        };
        self.send(&target, &request).await
    }

    /// Sends a request until there is an answer that another one would only repeat.
    async fn send<A: DeserializeOwned>(
        &self,
        target: &Target<'_>,
        request: &(dyn Fn() -> RequestBuilder + Sync),
    ) -> Result<A> {
        let mut last = Failed::Now("it is silent".to_owned());
        let trying = async {
            loop {
                self.requests.fetch_add(1, Ordering::Relaxed);
                match attempt(request()).await {
                    Err(failed) if !matches!(failed, Failed::For(_)) => last = failed,
                    other => return other,
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let tried = tokio::time::timeout(self.patience, trying).await;
        let body = tried.unwrap_or(Err(last));
        let body = body.map_err(|failed| target.error(failed))?;
        serde_json::from_slice(&body)
            .map_err(|error| target.refused(format!("its answer cannot be read: {error}")))
    }
}

/// The receiver of a request, for messages.
struct Target<'a> {
    what: &'static str,
    address: &'a str,
    service: &'a str,
}

impl Target<'_> {
    fn error(&self, failed: Failed) -> RestateError {
        match failed {
            Failed::Now(why) => RestateError::NoAnswer {
                address: self.address.to_owned(),
                what: self.what,
                why,
            },
            Failed::Missing => RestateError::NotRegistered {
                address: self.address.to_owned(),
                service: self.service.to_owned(),
            },
            Failed::For(why) => self.refused(why),
        }
    }

    fn refused(&self, why: String) -> RestateError {
        RestateError::Refused {
            address: self.address.to_owned(),
            what: self.what,
            why,
        }
    }
}

/// Our own endpoint's answer to a server that does not sign, as the server tells it.
const UNSIGNED: &str = "401 Unauthorized";

enum Failed {
    /// A later attempt can succeed.
    Now(String),
    /// The service is not registered, or not yet.
    Missing,
    For(String),
}

async fn attempt(request: RequestBuilder) -> std::result::Result<Vec<u8>, Failed> {
    let now = |error: reqwest::Error| Failed::Now(chain(&error));
    let response = request.send().await.map_err(now)?;
    let status = response.status();
    let body = response.bytes().await.map_err(now)?;
    if status.is_success() {
        let body = if body.is_empty() { b"null" } else { &body[..] };
        return Ok(body.to_vec());
    }
    if status == StatusCode::NOT_FOUND {
        return Err(Failed::Missing);
    }
    let told = serde_json::from_slice(&body).map(|trouble: Trouble| trouble.message);
    let told = format!("{status}: {}", told.unwrap_or_default());
    let is_passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    if is_passing && !told.contains(UNSIGNED) {
        return Err(Failed::Now(told));
    }
    Err(Failed::For(told))
}

/// An id as the value of a header. What a header cannot hold is escaped, so that different ids stay different.
fn header(id: &str) -> String {
    let plain = id
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'%');
    if plain {
        return id.to_owned();
    }
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

/// An error with its causes, without the address, which can be long.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = error.to_string();
        cause = error.source();
    }
    told
}
