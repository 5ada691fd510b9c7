//! The routes, in the shapes of OpenCode 1.18.

use crate::Configuration;
use crate::turn::{Agent, Said};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use data_encoding::BASE64;
use futures_util::StreamExt as _;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

pub struct Server {
    agent: Agent,
    authorization: String,
    events: broadcast::Sender<Value>,
    /// The sessions whose turn is to end.
    aborted: broadcast::Sender<String>,
    busy: Mutex<BTreeSet<String>>,
}

impl Server {
    pub fn new(given: Configuration) -> Self {
        let credentials = format!("opencode:{}", given.password);
        Self {
            agent: Agent::new(given.config),
            authorization: format!("Basic {}", BASE64.encode(credentials.as_bytes())),
            events: broadcast::channel(1024).0,
            aborted: broadcast::channel(64).0,
            busy: Mutex::default(),
        }
    }

    fn known(&self, id: &str) -> Result<(), StatusCode> {
        let known = self.agent.store.knows(id);
        known.then_some(()).ok_or(StatusCode::NOT_FOUND)
    }

    fn busy(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, kind: &str, properties: &Value) {
        // Nobody has to listen.
        let _nobody = self
            .events
            .send(json!({ "type": kind, "properties": properties }));
    }
}

pub fn router(server: Arc<Server>) -> Router {
    let nothing = || async { Json(json!([])) };
    Router::new()
        .route("/global/health", get(health))
        .route("/session", post(create))
        .route("/session/{id}", get(session))
        .route("/session/{id}/message", get(list).post(prompt))
        .route("/session/{id}/abort", post(abort))
        .route("/event", get(events))
        .route("/session/status", get(status))
        .route("/permission", get(permissions))
        .route("/permission/{id}/reply", post(reply))
        .route("/question", get(nothing))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(
            Arc::clone(&server),
            authorised,
        ))
        .with_state(server)
}

async fn authorised(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    if given.is_some_and(|given| given.as_bytes() == server.authorization.as_bytes()) {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

async fn health() -> Json<Value> {
    Json(json!({ "healthy": true, "version": "1.18.33" }))
}

async fn create(State(server): State<Arc<Server>>) -> Json<Value> {
    Json(json!({ "id": server.agent.begin() }))
}

async fn status(State(server): State<Arc<Server>>) -> Json<Value> {
    let mut busy = json!({});
    for id in server.busy().iter() {
        busy[id] = json!({ "type": "busy" });
    }
    Json(busy)
}

async fn permissions(State(server): State<Arc<Server>>) -> Json<Value> {
    let waiting = server.agent.quirks.waiting();
    let waiting = waiting.iter().map(|id| json!({ "id": id }));
    Json(waiting.collect())
}

async fn reply(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Json<Value> {
    server.agent.quirks.answer(&id);
    Json(json!(true))
}

async fn session(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, StatusCode> {
    server.known(&id)?;
    let messages = server.agent.store.messages(&id);
    let sum = |pointer: &str| -> f64 {
        let numbers = messages
            .iter()
            .filter_map(|message| message.pointer(pointer));
        numbers.filter_map(Value::as_f64).sum()
    };
    let tokens =
        json!({ "input": sum("/info/tokens/input"), "output": sum("/info/tokens/output") });
    Ok(Json(
        json!({ "id": id, "tokens": tokens, "cost": sum("/info/cost") }),
    ))
}

async fn list(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, StatusCode> {
    server.known(&id)?;
    Ok(Json(Value::Array(server.agent.store.messages(&id))))
}

async fn abort(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Json<Value> {
    // Nothing has to be under way.
    let _nothing = server.aborted.send(id);
    Json(json!(true))
}

/// One prompt, and everything that the model does about it.
async fn prompt(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    server.known(&id)?;
    let (store, quirks) = (&server.agent.store, &server.agent.quirks);
    let parts = body["parts"].as_array().into_iter().flatten();
    let text: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    let parent = format!("msg_{}", store.messages(&id).len());
    let prompt = json!({ "info": { "role": "user", "id": parent }, "parts": body["parts"] });
    store.push(&id, prompt);
    let mut aborted = server.aborted.subscribe();
    server.busy().insert(id.clone());
    let tell = |said: &Said| {
        store.push(&id, said.message(&parent));
        for part in said.parts() {
            let properties = json!({ "sessionID": id, "part": part });
            server.tell("message.part.updated", &properties);
        }
    };
    let directory = directory(&headers);
    let text = text.join("\n");
    let named = |key: &str| body["model"][key].as_str();
    let model = named("providerID").zip(named("modelID"));
    let model = model.map(|(provider, model)| format!("{provider}/{model}"));
    let around = (directory.as_path(), model.as_deref());
    let turn = server.agent.turn(&id, &text, around, tell);
    let last = tokio::select! {
        last = turn => last,
        () = told_of(&mut aborted, &id) => Said::failed("MessageAbortedError", "Aborted", None),
    };
    server.busy().remove(&id);
    server.tell("session.idle", &json!({ "sessionID": id }));
    if quirks.mute.swap(false, Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
    Ok(Json(last.message(&parent)))
}

/// Waits until this session is named.
async fn told_of(aborted: &mut broadcast::Receiver<String>, id: &str) {
    while aborted.recv().await.is_ok_and(|named| named != id) {}
}

fn directory(headers: &HeaderMap) -> PathBuf {
    let given = headers.get("x-opencode-directory");
    let given = given.and_then(|value| value.to_str().ok());
    let given = given.unwrap_or_default();
    PathBuf::from(percent_decode_str(given).decode_utf8_lossy().into_owned())
}

async fn events(State(server): State<Arc<Server>>) -> Result<Response, StatusCode> {
    let mut silent = server.agent.quirks.silent.subscribe();
    if *silent.borrow() {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let told = futures_util::stream::unfold(server.events.subscribe(), async |mut events| {
        let event = events.recv().await.ok()?;
        Some((event, events))
    });
    let connected = futures_util::stream::iter([json!({ "type": "server.connected" })]);
    let stream = connected
        .chain(told)
        .map(|event| Ok::<_, std::io::Error>(format!("data: {event}\n\n")))
        .take_until(async move {
            let _gone = silent.wait_for(|silent| *silent).await;
        });
    let body = Body::from_stream(stream);
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}
