//! A scripted model behind the OpenAI-compatible protocol: a script is code that sees the request and
//! answers with text or tool calls. Everything around it, OpenCode included, is the real thing.

pub mod panel;
mod request;
mod script;
mod sse;
pub mod wires;

pub use request::Request;
pub use script::{Call, Script};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the model says to one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Text, then tool calls; either may be empty.
    Say { text: String, calls: Vec<Call> },
    /// Text that ends for another reason than that all is said: `length`, `content_filter`.
    Ends { text: String, why: &'static str },
    /// Tool calls of an endpoint that counts no tokens.
    Uncounted(Vec<Call>),
    /// An HTTP error.
    Status(u16, Value),
    /// A rate limit that asks to wait for so many seconds.
    Wait(u32),
    /// Success with a body that no model would send.
    Raw(&'static str),
    /// An answer that goes on and on.
    Endless,
    /// No answer at all, until the connection is closed.
    Stall,
}

impl Answer {
    pub fn text(text: &str) -> Self {
        Self::Say {
            text: text.to_owned(),
            calls: Vec::new(),
        }
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::calls(vec![Call::new(name, arguments)])
    }

    pub fn calls(calls: Vec<Call>) -> Self {
        Self::Say {
            text: String::new(),
            calls,
        }
    }

    pub fn text_and_calls(text: &str, calls: Vec<Call>) -> Self {
        Self::Say {
            text: text.to_owned(),
            calls,
        }
    }

    pub fn status(code: u16, body: Value) -> Self {
        Self::Status(code, body)
    }
}

type Behaviour = Box<dyn FnMut(&Request) -> Answer + Send>;

struct Shared {
    behaviour: Mutex<Behaviour>,
    requests: Mutex<Vec<Value>>,
    headers: Mutex<Vec<HeaderMap>>,
    latency: Mutex<Duration>,
}

/// A running scripted model. Dropped, it stops listening.
pub struct Model {
    url: String,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Model {
    /// On a thread and a runtime of its own, so that a test may block, or run a binary and wait for it.
    pub fn start(behaviour: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(Box::new(behaviour)),
            requests: Mutex::default(),
            headers: Mutex::default(),
            latency: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("non-blocking");
        let address = listener.local_addr().expect("the listener's address");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("the model serves"),
                    _ = stopped => {}
                }
            });
            // Stalled answers would otherwise be waited for.
            runtime.shutdown_background();
        });
        Self {
            url: format!("http://{address}/v1"),
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// From now on it behaves otherwise.
    pub fn becomes(&self, behaviour: impl FnMut(&Request) -> Answer + Send + 'static) {
        *self.shared.behaviour.lock().expect("no panic") = Box::new(behaviour);
    }

    /// From now on every answer takes this long. Requests that come together are answered together.
    pub fn answers_after(&self, latency: Duration) {
        *self.shared.latency.lock().expect("no panic") = latency;
    }

    /// What belongs into `model_base_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every request so far, as it came.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().expect("no panic").clone()
    }

    /// The headers of every request so far.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.shared.headers.lock().expect("no panic").clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _already_gone = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _reported = thread.join();
        }
    }
}

async fn complete(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    shared.headers.lock().expect("no panic").push(headers);
    let answer = shared.answer(&body);
    let latency = *shared.latency.lock().expect("no panic");
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    match answer {
        Some(response) => response,
        None => std::future::pending().await,
    }
}

impl Shared {
    /// `None` when the script stalls.
    fn answer(&self, body: &Bytes) -> Option<Response> {
        let Ok(raw) = serde_json::from_slice::<Value>(body) else {
            return Some((StatusCode::BAD_REQUEST, "not JSON").into_response());
        };
        let number = {
            let mut requests = self.requests.lock().expect("no panic");
            requests.push(raw.clone());
            requests.len()
        };
        let request = Request::new(raw);
        let answer = (self.behaviour.lock().expect("the script did not panic"))(&request);
        match answer {
            Answer::Say { text, calls } => {
                Some(sse::Said::new(number, text, calls, body.len()).answer(&request))
            }
            Answer::Ends { text, why } => {
                let mut said = sse::Said::new(number, text, Vec::new(), body.len());
                said.finish = Some(why);
                Some(said.answer(&request))
            }
            Answer::Uncounted(calls) => {
                let mut said = sse::Said::new(number, String::new(), calls, body.len());
                said.counted = false;
                Some(said.answer(&request))
            }
            Answer::Status(code, body) => {
                let code = StatusCode::from_u16(code).expect("a valid status");
                Some((code, axum::Json(body)).into_response())
            }
            Answer::Wait(seconds) => {
                let body = serde_json::json!({ "error": { "message": "Too many requests" } });
                let headers = [("retry-after", seconds.to_string())];
                Some((StatusCode::TOO_MANY_REQUESTS, headers, axum::Json(body)).into_response())
            }
            Answer::Raw(body) => Some(body.into_response()),
            Answer::Endless => {
                let pieces = futures_util::stream::unfold((), async |()| {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let piece = Bytes::from_static(b": going on\n\n");
                    Some((Ok::<_, std::io::Error>(piece), ()))
                });
                Some(Body::from_stream(pieces).into_response())
            }
            Answer::Stall => None,
        }
    }
}
