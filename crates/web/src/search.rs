//! Searches the web through an endpoint that speaks MCP: by default the one that OpenCode's own search uses, otherwise
//! the operator's. The operator chose it, so its address is not judged; what it answers is foreign text.

use super::fetch::{USER_AGENT, read_up_to};
use super::wire;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect, retry};
use reviewer_system::outbound;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::Duration;

/// Exa's, which answers some questions without a key.
pub(crate) const DEFAULT_ENDPOINT: &str = "https://mcp.exa.ai/mcp";
const TIME: Duration = Duration::from_secs(25);
const MOST_BYTES: usize = 2 << 20;
const RESULTS: u32 = 8;
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The reason why there are no results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SearchFailure {
    /// The reviewer's own sentence.
    Ours(String),
    /// The endpoint's message: foreign text.
    Theirs(String),
}

impl SearchFailure {
    fn ours(sentence: impl Into<String>) -> Self {
        Self::Ours(sentence.into())
    }
}

#[derive(Debug, Clone)]
pub struct Search {
    endpoint: String,
    key: Option<SecretString>,
    client: Client,
    time: Duration,
}

impl Search {
    /// `network` are the proxy variables.
    pub fn new(
        endpoint: Option<&str>,
        key: Option<SecretString>,
        network: &[(String, String)],
    ) -> Result<Self, String> {
        let client = outbound::client(network)
            .map_err(|error| error.to_string())?
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .build();
        Ok(Self {
            endpoint: endpoint.unwrap_or(DEFAULT_ENDPOINT).to_owned(),
            key,
            client: client.map_err(|error| format!("No HTTP client could be made: {error}."))?,
            time: TIME,
        })
    }

    /// With another time limit.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// Returns the results of the endpoint, as text.
    pub(crate) async fn search(&self, query: &str) -> Result<String, SearchFailure> {
        tokio::time::timeout(self.time, self.ask(query))
            .await
            .unwrap_or_else(|_| {
                Err(SearchFailure::ours(format!(
                    "The search gave no answer within {} seconds. Go on without it.",
                    self.time.as_secs()
                )))
            })
    }

    /// Most endpoints take the call at once, as OpenCode makes it; one that keeps sessions is greeted first.
    async fn ask(&self, query: &str) -> Result<String, SearchFailure> {
        let call = wire::call(query, RESULTS);
        let mut response = send(self.request(&call)).await?;
        if wants_greeting(response.status())
            && let Some(session) = self.greet().await?
        {
            response = send(session.mark(self.request(&call))).await?;
        }
        let status = response.status();
        if status.is_success() || status == StatusCode::BAD_REQUEST {
            return read(response).await;
        }
        tracing::warn!("the search endpoint (web_search_url) answered with status {status}");
        Err(SearchFailure::ours(match status.as_u16() {
            401 | 403 => "The search endpoint wants another key (web_search_api_key). Go on without searching.".to_owned(),
            429 => "The search endpoint takes no more questions for now. Go on without searching.".to_owned(),
            other => format!("The search endpoint answered with status {other}. Go on without searching."),
        }))
    }

    fn request(&self, body: &Value) -> RequestBuilder {
        let request = self
            .client
            .post(&self.endpoint)
            .header(ACCEPT, "application/json, text/event-stream")
            .json(body);
        let key = self.key.as_ref().map(|key| {
            let bearer = format!("Bearer {}", key.expose_secret());
            let mut bearer = HeaderValue::from_str(&bearer).ok()?;
            bearer.set_sensitive(true);
            Some(bearer)
        });
        match key.flatten() {
            Some(bearer) => request.header(AUTHORIZATION, bearer),
            None => request,
        }
    }

    /// `None` if the endpoint takes no `initialize` either.
    async fn greet(&self) -> Result<Option<Session>, SearchFailure> {
        let response = send(self.request(&wire::initialize())).await?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let session = Session(response.headers().get(SESSION).cloned());
        // What it says of itself does not matter, but the session counts from there.
        let _greeting = read(response).await;
        send(session.mark(self.request(&wire::initialized()))).await?;
        Ok(Some(session))
    }
}

/// The endpoint's name for a session, if it has given one.
struct Session(Option<HeaderValue>);

impl Session {
    fn mark(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.header(VERSION, wire::PROTOCOL);
        match &self.0 {
            Some(id) => request.header(SESSION, id),
            None => request,
        }
    }
}

fn wants_greeting(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 409 | 422)
}

async fn send(request: RequestBuilder) -> Result<Response, SearchFailure> {
    request.send().await.map_err(|_| {
        tracing::warn!("the search endpoint (web_search_url) could not be reached");
        SearchFailure::ours("The search endpoint could not be reached. Go on without searching.")
    })
}

/// One JSON message, or a stream of events of which one is the answer.
async fn read(response: Response) -> Result<String, SearchFailure> {
    let kind = response.headers().get(CONTENT_TYPE);
    let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let answer = if streams {
        answer_in_stream(response).await
    } else {
        let bytes = read_up_to(response, MOST_BYTES).await.unwrap_or_default();
        wire::answer(&String::from_utf8_lossy(&bytes))
    };
    match answer {
        Some(Ok(text)) if text.trim().is_empty() => Err(SearchFailure::ours(
            "Nothing was found. Try other words, or go on without.",
        )),
        Some(Ok(text)) => Ok(text),
        Some(Err(said)) => Err(SearchFailure::Theirs(said)),
        None => Err(SearchFailure::ours(
            "The search endpoint gave an answer that cannot be understood. Go on without searching.",
        )),
    }
}

/// Ends with the answer: the endpoint may never close the stream.
async fn answer_in_stream(response: Response) -> Option<Result<String, String>> {
    let mut left = MOST_BYTES;
    let capped = response.bytes_stream().take_while(move |chunk| {
        let length = chunk.as_deref().map_or(0, <[u8]>::len);
        let fits = length <= left;
        left = left.saturating_sub(length);
        std::future::ready(fits)
    });
    let mut events = std::pin::pin!(capped.eventsource());
    while let Some(Ok(event)) = events.next().await {
        if let Some(answer) = wire::answer(&event.data) {
            return Some(answer);
        }
    }
    None
}
