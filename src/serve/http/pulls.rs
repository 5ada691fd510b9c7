//! The routes below `/pr`: the state of pull requests, orders of operators, reports of sessions.

use super::access::{Caller, bearer};
use super::answer::{self, Refusal, refused};
use super::webhook::is_word;
use super::{Shared, body, count};
use crate::serve::backend::{Backend, PullAt};
use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, response};
use reviewer_core::lifecycle::{self, State as PullState};
use reviewer_engine::Entry;
use reviewer_system::random;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Owner, repository and number, as the address has them.
pub(super) type At = Path<(String, String, String)>;
type Queries = Query<HashMap<String, String>>;
type Answer = Result<Response, Refusal>;

const USUAL_ENTRIES: u32 = 100;
const MOST_ENTRIES: u32 = 1_000;
/// Inputs that an explanation shows.
const LAST_INPUTS: u32 = 3;

/// A pull request that cannot exist is answered like one that does not.
fn pull(given: &(String, String, String)) -> Result<PullAt, Refusal> {
    at(given).ok_or_else(answer::not_found)
}

/// The pull request of an address, if it can exist.
pub(super) fn at((owner, repo, number): &(String, String, String)) -> Option<PullAt> {
    let repo = format!("{owner}/{repo}").parse().ok();
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|number| is_plain && *number > 0);
    let at = repo.zip(number);
    at.map(|(repo, number)| PullAt { repo, number })
}

pub(super) async fn status<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Path(at): At,
) -> Answer {
    let state = shared.backend.state(&pull(&at)?).await;
    let (_, state) = state.map_err(refused)?;
    Ok(document(&shared, StatusCode::OK, &state))
}

pub(super) async fn history<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Path(at): At,
    Query(query): Queries,
) -> Answer {
    let most = most(&query)?;
    let entries = shared.backend.history(&pull(&at)?, most).await;
    let entries = entries.map_err(refused)?;
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    Ok(Json(json!({ "entries": entries })).into_response())
}

/// The last sessions of a pull request: agent, time, cost, and the end of the log.
pub(super) async fn sessions<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Path(at): At,
) -> Answer {
    let sessions = shared.backend.sessions(&pull(&at)?).await;
    let sessions = sessions.map_err(refused)?;
    Ok(Json(json!({ "sessions": sessions })).into_response())
}

pub(super) async fn explain<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Path(at): At,
) -> Answer {
    let at = pull(&at)?;
    let (_, state) = shared.backend.state(&at).await.map_err(refused)?;
    let inputs = shared.backend.history(&at, LAST_INPUTS).await;
    let inputs: Vec<Value> = inputs.map_err(refused)?.iter().map(entry).collect();
    let explanation = lifecycle::explain(&state, &shared.backend.policy());
    let mut told = serde_json::to_value(explanation).unwrap_or_default();
    told["lastInputs"] = Value::Array(inputs);
    Ok(Json(told).into_response())
}

/// Pull requests by their ids, those of one state where the query names one.
pub(super) async fn list<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Query(query): Queries,
) -> Answer {
    let most = most(&query)?;
    let phase = query.get("state").map(String::as_str);
    let listed = shared.backend.list(phase, most).await.map_err(refused)?;
    let listed = listed.iter().map(|one| {
        json!({ "key": one.key, "state": one.phase, "version": one.version, "changed": one.changed })
    });
    let listed: Vec<Value> = listed.collect();
    Ok(Json(json!({ "pullRequests": listed })).into_response())
}

/// The seed's events: each wakes the pull request and decides nothing.
pub(super) async fn event<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(Caller(caller)): Extension<Caller>,
    Path(at): At,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let at = pull(&at)?;
    let held = body::read(&shared, &headers, body, body::SMALL).await?;
    let event: Option<Value> = serde_json::from_slice(&held.bytes).ok();
    let kind = event.as_ref().and_then(|event| event["type"].as_str());
    let kind = kind.filter(|kind| is_word(kind)).ok_or_else(|| {
        let sentence = "expected a JSON object with the type of the event";
        answer::error(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    })?;
    let (delivery, cause) = (delivery(&headers, &caller)?, format!("{kind} by {caller}"));
    let state = shared.backend.event(&at, &delivery, &cause).await;
    Ok(document(
        &shared,
        StatusCode::ACCEPTED,
        &state.map_err(refused)?,
    ))
}

pub(super) async fn retry<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(Caller(caller)): Extension<Caller>,
    Path(at): At,
    headers: HeaderMap,
) -> Answer {
    let delivery = delivery(&headers, &caller)?;
    let state = shared.backend.retry(&pull(&at)?, &delivery, &caller).await;
    Ok(document(
        &shared,
        StatusCode::ACCEPTED,
        &state.map_err(refused)?,
    ))
}

/// A report of a session, which has a token of its own.
pub(super) async fn session<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Path(at): At,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let unauthorized = || {
        count(&shared.counts.unauthorized);
        answer::unauthorized()
    };
    let token = bearer(&headers).ok_or_else(unauthorized)?;
    let at = pull(&at)?;
    let held = body::read(&shared, &headers, body, body::SMALL).await?;
    let reported = shared.backend.report(&at, &token, &held.bytes).await;
    reported.map_err(answer::report_refused)?;
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}

fn document<B: Backend>(shared: &Shared<B>, code: StatusCode, state: &PullState) -> Response {
    let status = lifecycle::status(state, &shared.backend.policy());
    (code, response::Json(status)).into_response()
}

fn entry(entry: &Entry) -> Value {
    let input = serde_json::from_str(&entry.input);
    json!({
        "n": entry.n,
        "at": entry.at,
        "delivery": entry.delivery,
        "input": input.unwrap_or_else(|_| json!(entry.input)),
        "log": entry.log,
        "state": entry.phase,
    })
}

fn most(query: &HashMap<String, String>) -> Result<u32, Refusal> {
    let Some(given) = query.get("most") else {
        return Ok(USUAL_ENTRIES);
    };
    let number = given.parse().ok();
    let number = number.filter(|number| (1..=MOST_ENTRIES).contains(number));
    number.ok_or_else(|| {
        let sentence = format!("most takes a whole number from 1 to {MOST_ENTRIES}");
        answer::error(StatusCode::UNPROCESSABLE_ENTITY, &sentence)
    })
}

/// The id by which a repeated order is recognised: the caller's, in a space of its own, or a new one.
pub(super) fn delivery(headers: &HeaderMap, caller: &str) -> Result<String, Refusal> {
    if let Some(key) = headers.get("idempotency-key") {
        let key = key.to_str().ok().filter(|key| is_word(key));
        return key.map(|key| format!("api/{caller}/{key}")).ok_or_else(|| {
            let sentence =
                "Idempotency-Key takes at most 100 letters, digits, hyphens, dots and underscores";
            answer::error(StatusCode::BAD_REQUEST, sentence)
        });
    }
    let random = random::hex(16).map_err(|error| {
        let sentence = error.to_string();
        answer::error(StatusCode::SERVICE_UNAVAILABLE, &sentence)
    })?;
    Ok(format!("api/{caller}/{random}"))
}
