//! The service's side of callbacks: takes what sessions post, if the token is right.

use super::CALLBACK_TOKEN;
use axum::Router;
use axum::extract::{Json, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::post;
use serde_json::Value;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Shared {
    messages: Mutex<Vec<Value>>,
    failures: Mutex<usize>,
}

pub struct Receiver {
    url: String,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

impl Receiver {
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let bound = tokio::net::TcpListener::bind(("127.0.0.1", 0));
        let listener = runtime.block_on(bound).expect("a free port");
        let address = listener.local_addr().expect("the listener's address");
        let router = Router::new()
            .route("/pr/octo/shop/1/session", post(take))
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            url: format!("http://{address}/pr/octo/shop/1/session"),
            shared,
            _runtime: runtime,
        }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The next so many messages are taken down and answered with an error.
    pub fn fail_next(&self, times: usize) {
        *self.shared.failures.lock().expect("a lock") = times;
    }

    pub fn messages(&self) -> Vec<Value> {
        self.shared.messages.lock().expect("a lock").clone()
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> StatusCode {
    let bearer = headers.get(header::AUTHORIZATION);
    let expected = format!("Bearer {CALLBACK_TOKEN}");
    if bearer.and_then(|value| value.to_str().ok()) != Some(expected.as_str()) {
        return StatusCode::UNAUTHORIZED;
    }
    shared.messages.lock().expect("a lock").push(message);
    let mut failures = shared.failures.lock().expect("a lock");
    if *failures == 0 {
        return StatusCode::ACCEPTED;
    }
    *failures -= 1;
    StatusCode::SERVICE_UNAVAILABLE
}
