//! Makes the server call this process: registers the endpoint as the newest deployment, and removes those before it as soon as
//! no call is bound to them.

use super::client::Client;
use super::objects::{Effects, Pull};
use super::rows::Registry;
use super::wire::{Deployment, Deployments, PULL, Registered, Rows};
use crate::limits::Limits;
use crate::restate_error::RestateError;
use data_encoding::HEXLOWER;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Collected, Empty};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HeaderValue};
use hyper::{Request, Uri};
use reqwest::Method;
use restate_sdk::endpoint::{Builder, Endpoint, HandlerOptions, ServiceOptions};
use restate_sdk::prelude::IntoServiceDefinition as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::time::Duration;

/// The server calls again after so long at most, for instance when a process is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The server's own number is 70, and then a call waits for a person. Ours wait for a process.
const ATTEMPTS: u64 = 1_000_000_000;
/// A call that is silent for so long goes on without a connection, once it executes nothing.
const SILENCE: Duration = Duration::from_secs(3);
/// The server then ends one that still executes after so long. An effect is short, but GitHub may make it wait.
const ABORT: Duration = Duration::from_mins(10);
/// Numbers of effects never repeat, and the server sends each call of ours once, so this only has to outlast a repeat.
const OURS_KNOWN: Duration = Duration::from_hours(1);
/// Handlers that may be called twice. The server would remember each call, as long as a delivery.
const REPEATABLE: [&str; 4] = ["status", "history", "resume", "forget"];

/// The kind of answer in which handlers are described.
const MANIFEST: &str = "application/vnd.restate.endpointmanifest.v4+json";
/// The name under which the server keeps the hash of that.
const NOTED: &str = "opencode-reviewer.handlers";

/// The handlers of a process.
pub(super) struct Handlers<'a> {
    /// Those of a service; a command has none.
    pub(super) service: Option<(Pull, Effects)>,
    pub(super) limits: &'a Limits,
    pub(super) identity: Option<&'a str>,
}

/// Handlers that can be served, and what a registration would tell the server about them.
pub(super) struct Built {
    pub(super) endpoint: Endpoint,
    /// The hash of their names and options.
    pub(super) manifest: String,
}

impl Handlers<'_> {
    pub(super) fn build(self) -> Result<Built, RestateError> {
        let mut builder = Builder::new();
        if let Some(key) = self.identity {
            let with_key = builder.identity_key(key);
            builder = with_key.map_err(|error| RestateError::BadAddress {
                store: "restate://…".to_owned(),
                why: format!("identity={key} is no key of a Restate server ({error})"),
            })?;
        }
        Ok(Built {
            manifest: manifest(&self.bind(Builder::new()).build()),
            endpoint: self.bind(builder).build(),
        })
    }

    fn bind(&self, builder: Builder) -> Builder {
        let ours = HandlerOptions::new().idempotency_retention(OURS_KNOWN);
        // The registry has all sessions, and a call reads one of them.
        let of_registry = options()
            .enable_lazy_state(true)
            .handler("swap", ours.clone());
        let builder = builder.bind(Registry.into_service_definition().options(of_registry));
        let Some((pull, effects)) = self.service.clone() else {
            return builder;
        };
        let known = Duration::from_millis(self.limits.inbox_ms);
        let mut of_pull = options()
            .idempotency_retention(known)
            .enable_lazy_state(true)
            .handler("answer", ours);
        for handler in REPEATABLE {
            let forgotten = HandlerOptions::new().idempotency_retention(Duration::ZERO);
            of_pull = of_pull.handler(handler, forgotten);
        }
        let of_effects = options().idempotency_retention(OURS_KNOWN);
        builder
            .bind(pull.into_service_definition().options(of_pull))
            .bind(effects.into_service_definition().options(of_effects))
    }
}

/// The hash of what the server gets to know at a registration.
fn manifest(endpoint: &Endpoint) -> String {
    let mut question = Request::new(Empty::<Bytes>::new());
    *question.uri_mut() = Uri::from_static("/discover");
    let accept = HeaderValue::from_static(MANIFEST);
    question.headers_mut().insert(ACCEPT, accept);
    let told = endpoint.handle(question).into_body().collect();
    // It is there already, so nothing is waited for.
    let told = told.now_or_never().and_then(Result::ok);
    let told = told.map(Collected::to_bytes).unwrap_or_default();
    HEXLOWER.encode(&Sha256::digest(&told))
}

fn options() -> ServiceOptions {
    ServiceOptions::new()
        .journal_retention(Duration::ZERO)
        .inactivity_timeout(SILENCE)
        .abort_timeout(ABORT)
        .retry_policy_initial_interval(FIRST_PAUSE)
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(LONGEST_PAUSE)
        .retry_policy_max_attempts(ATTEMPTS)
        .retry_policy_pause_on_max_attempts()
}

/// Registers handlers at this address, unless the server calls the same ones there already; the id of the deployment. So a
/// worker needs no answer of those that share its address, one of which may be frozen. Other code at the same address takes
/// the place of what was there, and goes on with the calls that are under way. A server that is just starting is healthy
/// before it takes registrations, so this is repeated.
pub(super) async fn register(
    client: &Client,
    advertise: &str,
    manifest: &str,
) -> Result<String, RestateError> {
    if let Some(id) = registered(&deployments(client).await?, advertise, manifest) {
        return Ok(id);
    }
    let metadata = json!({ NOTED: manifest });
    let body = json!({ "uri": advertise, "force": true, "metadata": metadata });
    let what = "to a registration";
    let registered: Registered = client
        .admin(what, Method::POST, "/deployments", Some(&body))
        .await?;
    Ok(registered.id)
}

/// The deployment with these handlers at this address, if all services of ours that it has are called there.
fn registered(all: &[Deployment], advertise: &str, manifest: &str) -> Option<String> {
    let newest = |name: &str| {
        let services = all.iter().flat_map(|one| &one.services);
        let revisions = services.filter(|one| one.name == name);
        revisions.map(|one| one.revision).max()
    };
    let is_it = |one: &&Deployment| {
        one.uri.trim_end_matches('/') == advertise
            && one
                .metadata
                .get(NOTED)
                .is_some_and(|noted| noted == manifest)
            && one
                .services
                .iter()
                .all(|service| Some(service.revision) == newest(&service.name))
    };
    all.iter().find(is_it).map(|one| one.id.clone())
}

/// True if the server knows a service of this name.
pub(super) async fn is_registered(client: &Client, service: &str) -> Result<bool, RestateError> {
    let all = deployments(client).await?;
    let mut services = all.iter().flat_map(|one| &one.services);
    Ok(services.any(|one| one.name == service))
}

/// Removes deployments of ours before `current` that no call is bound to.
pub(super) async fn drain(client: &Client, current: &str) -> Result<(), RestateError> {
    for old in deployments(client).await? {
        let mut services = old.services.iter();
        if old.id == current || !services.any(|one| one.name == PULL) {
            continue;
        }
        let question = format!(
            "SELECT COUNT(*) AS calls FROM sys_invocation
             WHERE pinned_deployment_id = '{}' AND status <> 'completed'",
            old.id
        );
        let counted: Vec<Calls> = query(client, &question).await?;
        let calls = counted.first().map_or(0, |counted| counted.calls);
        if calls > 0 {
            tracing::warn!(
                "{calls} calls of an earlier version go on at {}; keep that process until they have ended",
                old.uri
            );
            continue;
        }
        let path = format!("/deployments/{}?force=true", old.id);
        let removed = client.admin("to a removal", Method::DELETE, &path, None::<&()>);
        let _nothing: Value = removed.await?;
        tracing::info!(
            "the earlier version at {} was removed from the Restate server",
            old.uri
        );
    }
    Ok(())
}

/// The answer to a question in SQL about what the server knows.
pub(super) async fn query<T: serde::de::DeserializeOwned>(
    client: &Client,
    question: &str,
) -> Result<Vec<T>, RestateError> {
    let body = json!({ "query": question });
    let what = "to a question";
    let rows: Rows<T> = client
        .admin(what, Method::POST, "/query", Some(&body))
        .await?;
    Ok(rows.rows)
}

async fn deployments(client: &Client) -> Result<Vec<Deployment>, RestateError> {
    let what = "for its deployments";
    let all: Deployments = client
        .admin(what, Method::GET, "/deployments", None::<&()>)
        .await?;
    Ok(all.deployments)
}

/// A number of calls, as SQL counts them.
#[derive(serde::Deserialize)]
pub(super) struct Calls {
    pub(super) calls: i64,
}

#[cfg(test)]
#[path = "registration_tests.rs"]
mod tests;
