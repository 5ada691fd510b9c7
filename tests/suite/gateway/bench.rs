//! A gateway on the bench: our loopback server, a provider that a test speaks for, and a client in the sidecar's place.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use reqwest::RequestBuilder;
use reviewer_agent::gateway::{Gateway, Limits, SessionRoute};
use reviewer_agent::opencode::Profile;
use reviewer_agent::opencode::SessionName;
use reviewer_agent::tools::server::{Offer, ToolServer};
use reviewer_agent::tools::{review_names, review_tools};
use reviewer_core::config::ModelChoice;
use reviewer_core::review::desk::SharedDesk;
use reviewer_text::redact::Redactor;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const KEY: &str = "sk-real-0123456789abcdef0123456789abcdef";
pub const PLACEHOLDER: &str = "6a09e667f3bcc908b2fb1366ea957d3e3adec17512775099da2f590b0667322a";
pub const BODY: &str = r#"{"model":"m-1","messages":[],"stream":true}"#;

/// One request as the provider got it, to its last byte.
#[derive(Debug, Clone)]
pub struct Got {
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

type Speaks = Arc<dyn Fn(&Got) -> Response + Send + Sync>;

/// A provider that answers as it is told to, and remembers whole requests.
pub struct Provider {
    pub address: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Provider {
    pub async fn answers(speaks: impl Fn(&Got) -> Response + Send + Sync + 'static) -> Self {
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let speaks: Speaks = Arc::new(speaks);
        let router = Router::new()
            .fallback(hear)
            .with_state((Arc::clone(&got), speaks));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, got }
    }

    pub async fn says(text: &'static str) -> Self {
        Self::answers(move |_| text.into_response()).await
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// A body that breaks off is no request.
async fn hear(
    State((got, speaks)): State<(Arc<Mutex<Vec<Got>>>, Speaks)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return "broken off".into_response();
    };
    let one = Got {
        uri: head.uri,
        headers: head.headers,
        body,
    };
    got.lock().unwrap().push(one.clone());
    speaks(&one)
}

/// The server that the sidecar would reach.
pub struct Bench {
    pub server: ToolServer,
    pub gateway: Gateway,
    pub routes: Vec<SessionRoute>,
    http: reqwest::Client,
}

impl Bench {
    pub async fn at(base_url: &str) -> Self {
        Self::with(base_url, Some(KEY), &[], Limits::default()).await
    }

    pub async fn with(
        base_url: &str,
        key: Option<&str>,
        network: &[(&str, &str)],
        limits: Limits,
    ) -> Self {
        let model = ModelChoice {
            provider: "standin".into(),
            name: "m-1".into(),
            base_url: Some(base_url.to_owned()),
            key: key.map(Into::into),
            context: None,
        };
        Self::before(&model, network, limits).await
    }

    pub async fn before(model: &ModelChoice, network: &[(&str, &str)], limits: Limits) -> Self {
        let limits = Limits {
            // Nobody waits for an endpoint that is not there.
            tries_at: [Duration::ZERO; 2],
            ..limits
        };
        Self::between(&[("r1", model, PLACEHOLDER)], network, limits).await
    }

    /// With a route for each session: its name, model and placeholder.
    pub async fn between(
        sessions: &[(&str, &ModelChoice, &str)],
        network: &[(&str, &str)],
        limits: Limits,
    ) -> Self {
        let network: Vec<(String, String)> = network
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let gateway = Gateway::new(&network, limits).unwrap();
        let open = |(session, model, placeholder): &(&str, &ModelChoice, &str)| {
            let tools =
                Profile::Reviewer.tools(SessionName::Review(1), &review_names(false, false));
            let opened = gateway.open(session, (*model).into(), &(*placeholder).into(), &tools);
            opened.unwrap()
        };
        let routes = sessions.iter().map(open).collect();
        let offer = Offer {
            session: SessionName::Review(1),
            bearer: "bearer".into(),
            redactor: Arc::new(Redactor::new(&[])),
            tools: review_tools(&SharedDesk::default(), None, None),
        };
        let server = ToolServer::start(vec![offer], Some(&gateway));
        Self {
            server: server.await.unwrap(),
            gateway,
            routes,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    /// To any path, with nothing set.
    pub fn plain(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.base_url());
        self.http.request(method, url)
    }

    /// As OpenCode asks.
    pub fn asks(&self, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.plain(reqwest::Method::POST, "/model/r1/chat/completions")
            .bearer_auth(PLACEHOLDER)
            .header("content-type", "application/json")
            .body(body)
    }
}

/// Status and message of a refusal.
pub async fn refused(request: RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    let message = body["error"]["message"].as_str().unwrap().to_owned();
    (status, message)
}

pub type Pieces = tokio::sync::mpsc::UnboundedSender<Result<Bytes, std::io::Error>>;

/// A body that comes piece by piece, as the test sends it.
pub fn piecewise() -> (Pieces, Body) {
    let (send, receive) = tokio::sync::mpsc::unbounded_channel();
    let stream = futures_util::stream::unfold(receive, |mut receive| async move {
        let piece: Result<Bytes, std::io::Error> = receive.recv().await?;
        Some((piece, receive))
    });
    (send, Body::from_stream(stream))
}
