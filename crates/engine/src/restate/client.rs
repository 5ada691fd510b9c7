//! Calls to a Restate server: objects by its ingress, questions and deployments by its admin interface. Every call may be
//! repeated, because it only reads or has an idempotency key, so a server that restarts costs time and nothing else.

use super::address::Address;
use super::error::RestateError;
use super::wire::Trouble;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client as Http, Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time after which a call that got no answer is given up.
const PATIENCE: Duration = Duration::from_secs(60);
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
        match self.send(call.what, &request, &self.address.ingress).await {
            Err(RestateError::Refused { why, .. }) if why == NOT_FOUND => {
                Err(RestateError::NotRegistered {
                    address: self.address.ingress.clone(),
                    service: call.service.to_owned(),
                })
            }
            other => other,
        }
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
        self.send(what, &request, &self.address.admin).await
    }

    /// Sends a request until there is an answer that another one would only repeat.
    async fn send<A: DeserializeOwned>(
        &self,
        what: &'static str,
        request: &(dyn Fn() -> RequestBuilder + Sync),
        address: &str,
    ) -> Result<A> {
        let until = Instant::now() + self.patience;
        loop {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let attempt = attempt(request()).await;
            let why = match attempt {
                Ok(body) => {
                    return serde_json::from_slice(&body).map_err(|error| RestateError::Refused {
                        address: address.to_owned(),
                        what,
                        why: format!("its answer cannot be read: {error}"),
                    });
                }
                Err(Failed::For(why)) => {
                    return Err(RestateError::Refused {
                        address: address.to_owned(),
                        what,
                        why,
                    });
                }
                Err(Failed::Now(why)) => why,
            };
            if Instant::now() + PAUSE >= until {
                return Err(match why == NOT_FOUND {
                    true => RestateError::Refused {
                        address: address.to_owned(),
                        what,
                        why,
                    },
                    false => RestateError::NoAnswer {
                        address: address.to_owned(),
                        what,
                        why,
                    },
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The reason for which a service is not there yet.
const NOT_FOUND: &str = "not found";

enum Failed {
    /// A later attempt can succeed.
    Now(String),
    For(String),
}

async fn attempt(request: RequestBuilder) -> std::result::Result<Vec<u8>, Failed> {
    let now = |error: reqwest::Error| Failed::Now(chain(&error));
    let response = request.send().await.map_err(now)?;
    let status = response.status();
    let body = response.bytes().await.map_err(now)?;
    if status.is_success() {
        return Ok(match body.is_empty() {
            true => b"null".to_vec(),
            false => body.to_vec(),
        });
    }
    if status == StatusCode::NOT_FOUND {
        return Err(Failed::Now(NOT_FOUND.to_owned()));
    }
    let told = serde_json::from_slice(&body).map(|trouble: Trouble| trouble.message);
    let told = format!("{status}: {}", told.unwrap_or_default());
    let is_passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    Err(match is_passing {
        true => Failed::Now(told),
        false => Failed::For(told),
    })
}

/// An id as the value of a header. What a header cannot hold is escaped, so that different ids stay different.
fn header(id: &str) -> String {
    let plain = id
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'%');
    match plain {
        true => id.to_owned(),
        false => utf8_percent_encode(id, NON_ALPHANUMERIC).to_string(),
    }
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
