//! A search endpoint that speaks MCP as far as a search needs it, and remembers what it was asked. Stands in for the
//! endpoint that OpenCode's own search uses.

use axum::Router;
use axum::extract::{Json, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// One question: the key that came with it, and the call.
#[derive(Debug, Clone)]
pub struct Asked {
    pub authorization: Option<String>,
    pub call: Value,
}

struct Shared {
    answer: String,
    asked: Mutex<Vec<Asked>>,
}

/// A running endpoint. Dropped, it stops listening.
pub struct SearchEndpoint {
    url: String,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl SearchEndpoint {
    /// Answers every search with this text, as a stream of events.
    pub fn start(answer: &str) -> Self {
        let shared = Arc::new(Shared {
            answer: answer.to_owned(),
            asked: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("non-blocking");
        let address = listener.local_addr().expect("the listener's address");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let router = Router::new()
            .route("/mcp", post(search))
            .with_state(Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("the endpoint serves"),
                    _ = stopped => {}
                }
            });
        });
        Self {
            url: format!("http://{address}/mcp"),
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// What belongs into `web_search_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().expect("no panic").clone()
    }
}

impl Drop for SearchEndpoint {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _already_gone = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _reported = thread.join();
        }
    }
}

async fn search(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(call): Json<Value>,
) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let authorization = authorization.and_then(|value| value.to_str().ok());
    let answer = json!({
        "jsonrpc": "2.0",
        "id": call["id"],
        "result": { "content": [{ "type": "text", "text": shared.answer }] },
    });
    shared.asked.lock().expect("no panic").push(Asked {
        authorization: authorization.map(str::to_owned),
        call,
    });
    let stream = format!("event: message\ndata: {answer}\n\n");
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}
