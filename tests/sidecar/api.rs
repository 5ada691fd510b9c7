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
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, broadcast};

pub struct Server {
    agent: Agent,
    authorization: String,
    /// What the session holds: messages with their parts, as they are listed.
    messages: Mutex<Vec<Value>>,
    events: broadcast::Sender<Value>,
    aborted: Notify,
}

const SESSION: &str = "ses_scripted";

impl Server {
    pub fn new(given: Configuration) -> Self {
        let credentials = format!("opencode:{}", given.password);
        Self {
            agent: Agent::new(given.config),
            authorization: format!("Basic {}", BASE64.encode(credentials.as_bytes())),
            messages: Mutex::default(),
            events: broadcast::channel(1024).0,
            aborted: Notify::new(),
        }
    }

    fn messages(&self) -> Vec<Value> {
        let messages = self.messages.lock();
        messages.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, message: Value) {
        let messages = self.messages.lock();
        messages
            .unwrap_or_else(PoisonError::into_inner)
            .push(message);
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
        .route("/permission", get(nothing))
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

async fn create() -> Json<Value> {
    Json(json!({ "id": SESSION }))
}

async fn session(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Json<Value> {
    let messages = server.messages();
    let sum = |pointer: &str| -> f64 {
        let numbers = messages
            .iter()
            .filter_map(|message| message.pointer(pointer));
        numbers.filter_map(Value::as_f64).sum()
    };
    let tokens =
        json!({ "input": sum("/info/tokens/input"), "output": sum("/info/tokens/output") });
    Json(json!({ "id": id, "tokens": tokens, "cost": sum("/info/cost") }))
}

async fn list(State(server): State<Arc<Server>>) -> Json<Value> {
    Json(Value::Array(server.messages()))
}

async fn abort(State(server): State<Arc<Server>>) -> Json<Value> {
    server.aborted.notify_waiters();
    Json(json!(true))
}

/// One prompt, and everything that the model does about it.
async fn prompt(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Json<Value> {
    let parts = body["parts"].as_array().into_iter().flatten();
    let text: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    let parent = format!("msg_{}", server.messages().len());
    server.push(json!({ "info": { "role": "user", "id": parent }, "parts": body["parts"] }));
    let tell = |said: &Said| {
        for part in said.parts() {
            let properties = json!({ "sessionID": SESSION, "part": part });
            server.tell("message.part.updated", &properties);
        }
        server.push(said.message(&parent));
    };
    let directory = directory(&headers);
    let text = text.join("\n");
    let turn = server.agent.turn(&text, &directory, tell);
    let last = tokio::select! {
        last = turn => last,
        () = server.aborted.notified() => Said::failed("MessageAbortedError", "Aborted", None),
    };
    server.tell("session.idle", &json!({ "sessionID": SESSION }));
    Json(last.message(&parent))
}

fn directory(headers: &HeaderMap) -> PathBuf {
    let given = headers.get("x-opencode-directory");
    let given = given.and_then(|value| value.to_str().ok());
    let given = given.unwrap_or_default();
    PathBuf::from(percent_decode_str(given).decode_utf8_lossy().into_owned())
}

async fn events(State(server): State<Arc<Server>>) -> Response {
    let told = futures_util::stream::unfold(server.events.subscribe(), async |mut events| {
        let event = events.recv().await.ok()?;
        Some((event, events))
    });
    let connected = futures_util::stream::iter([json!({ "type": "server.connected" })]);
    let stream = connected
        .chain(told)
        .map(|event| Ok::<_, std::io::Error>(format!("data: {event}\n\n")));
    let body = Body::from_stream(stream);
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
