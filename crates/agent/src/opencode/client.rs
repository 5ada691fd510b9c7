//! The sidecar's HTTP API, as far as a review needs it. Separate from the process, because everything here
//! works against any OpenCode that listens.

use super::profile;
use super::providers::ModelName;
use super::wire;
use eventsource_stream::Eventsource;
use futures_util::{Stream, StreamExt};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder};
use reviewer_core::review::sidecar_events::{ProviderInfo, SessionId, SidecarEvent, Tokens, Usage};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An answered call of the sidecar is a matter of milliseconds; but a request that connects just as the port
/// opens is sometimes never answered, so it is better asked again than waited for.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_ATTEMPTS: usize = 3;
/// The longest session has a few megabytes. The sidecar is hostile, and the reviewer's memory is not its to fill.
const MAX_ANSWER: usize = 64 << 20;
/// As much of an error as is read, quoted and not parsed.
const MAX_ERROR: usize = 8 << 10;

/// An error of a request to the sidecar.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("OpenCode did not answer {call}: {cause}")]
    Unreachable { call: String, cause: String },
    #[error("OpenCode answered {call} with HTTP {status}: {body}")]
    Status {
        call: String,
        status: u16,
        body: String,
    },
    #[error("OpenCode answered {call} with something that is not understood: {cause}")]
    Malformed { call: String, cause: String },
}

/// Cheap to clone: every clone shares the connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    password: SecretString,
    /// Answers the prompts.
    agent: Arc<str>,
    /// Answers in place of the agent's own model.
    model: Option<Arc<ModelName>>,
    /// The folder that it works in, as a header takes it.
    directory: String,
}

impl Client {
    /// `base` without a slash at the end; `agent` answers the prompts, about the files of `directory`.
    pub fn new(
        base: String,
        password: SecretString,
        agent: &str,
        directory: &Path,
    ) -> Result<Self, ClientError> {
        // No certificates: it is plain HTTP on this machine, and reading the system's takes time.
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|error| ClientError::Unreachable {
                call: "anything".to_owned(),
                cause: chain(&error),
            })?;
        Ok(Self {
            http,
            base,
            password,
            agent: agent.into(),
            model: None,
            directory: utf8_percent_encode(&directory.to_string_lossy(), NON_ALPHANUMERIC)
                .to_string(),
        })
    }

    /// The same with another agent and its own model.
    #[must_use]
    pub(crate) fn as_agent(&self, agent: &str) -> Self {
        Self {
            agent: agent.into(),
            model: None,
            ..self.clone()
        }
    }

    /// The same with the agent and the model of another client.
    #[must_use]
    pub(super) fn speaking_as(&self, other: &Self) -> Self {
        Self {
            agent: Arc::clone(&other.agent),
            model: other.model.clone(),
            ..self.clone()
        }
    }

    /// From here on this model answers.
    pub(super) fn ask_model(&mut self, model: ModelName) {
        self.model = Some(Arc::new(model));
    }

    /// The version, if it is healthy. One attempt: the caller asks again and again.
    pub async fn health(&self, timeout: Duration) -> Result<String, ClientError> {
        let request = self.request(Method::GET, "/global/health").timeout(timeout);
        let health: wire::Health = read(request, "/global/health").await?;
        if health.healthy {
            Ok(health.version)
        } else {
            Err(ClientError::Malformed {
                call: "/global/health".to_owned(),
                cause: "it says that it is not healthy".to_owned(),
            })
        }
    }

    /// Opens a session with all tools of the agent.
    pub async fn create_session(&self, title: &str) -> Result<SessionId, ClientError> {
        self.create_session_without(&[], title).await
    }

    /// Opens a session in which the model is not shown these tools. A title keeps OpenCode from asking the model for one.
    pub async fn create_session_without(
        &self,
        hidden: &[String],
        title: &str,
    ) -> Result<SessionId, ClientError> {
        let body = json!({ "title": title, "permission": profile::denied(hidden) });
        let session: wire::Session = self.call(Method::POST, "/session", Some(&body)).await?;
        session.id().ok_or_else(|| ClientError::Malformed {
            call: "/session".to_owned(),
            cause: "the session has no usable id".to_owned(),
        })
    }

    /// Stops the turn that runs, if one does.
    pub async fn abort(&self, session: &SessionId) -> Result<(), ClientError> {
        let path = format!("/session/{session}/abort");
        self.call::<IgnoredAny>(Method::POST, &path, None).await?;
        Ok(())
    }

    /// Returns the cost of the session, with the number of model requests. Reads every message: for the end of a turn.
    pub async fn usage(&self, session: &SessionId) -> Result<Usage, ClientError> {
        Ok(wire::usage(&self.messages(session).await?))
    }

    /// Returns the cost of the session so far, by OpenCode's own sum. Small whatever the session's length, so it can be
    /// asked while a turn runs.
    pub async fn spent(&self, session: &SessionId) -> Result<(Tokens, f64), ClientError> {
        let session: wire::Session = self.get(&format!("/session/{session}")).await?;
        Ok(session.spent())
    }

    /// The catalogue. Some megabytes: ask once.
    pub async fn providers(&self) -> Result<Vec<ProviderInfo>, ClientError> {
        let providers: wire::Providers = self.get("/provider").await?;
        Ok(providers.into())
    }

    /// The ids of the permissions that wait for a person.
    pub async fn pending_permissions(&self) -> Result<Vec<String>, ClientError> {
        let pending: Vec<wire::Pending> = self.get("/permission").await?;
        Ok(pending.into_iter().map(|one| one.id).collect())
    }

    pub(crate) async fn pending_questions(&self) -> Result<Vec<String>, ClientError> {
        let pending: Vec<wire::Pending> = self.get("/question").await?;
        Ok(pending.into_iter().map(|one| one.id).collect())
    }

    pub(crate) async fn reject_permission(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/permission/{}/reply", segment(id));
        // With a message the model is told and goes on; without one OpenCode ends the turn in silence.
        let body = json!({ "reply": "reject", "message": "Not allowed here; go on without it." });
        self.call::<Value>(Method::POST, &path, Some(&body)).await?;
        Ok(())
    }

    pub(crate) async fn reject_question(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/question/{}/reject", segment(id));
        self.call::<Value>(Method::POST, &path, None).await?;
        Ok(())
    }

    /// Returns the stream of events from now on. It ends when the connection does.
    pub async fn events(
        &self,
    ) -> Result<impl Stream<Item = SidecarEvent> + Send + use<>, ClientError> {
        let request = self.request(Method::GET, "/event");
        let response = checked(request, "/event").await?;
        // An event without an end would fill the memory; the connection is made anew.
        let pieces = response.bytes_stream().scan(0, |so_far, piece| {
            if let Ok(piece) = &piece {
                *so_far += piece.len();
            }
            std::future::ready((*so_far <= MAX_ANSWER).then_some(piece))
        });
        let events = pieces.eventsource();
        Ok(events
            .take_while(|event| std::future::ready(event.is_ok()))
            .filter_map(|event| std::future::ready(event.ok()))
            .map(|event| wire::event(&event.data)))
    }

    pub(super) async fn messages(
        &self,
        session: &SessionId,
    ) -> Result<Vec<wire::Message>, ClientError> {
        self.get(&format!("/session/{session}/message")).await
    }

    /// The prompt that the session's last message is or answers; empty before the first.
    pub(super) async fn last_prompt(&self, session: &SessionId) -> Result<String, ClientError> {
        let path = format!("/session/{session}/message?limit=1");
        let messages: Vec<wire::Message> = self.get(&path).await?;
        Ok(messages.last().map_or("", |last| last.prompt()).to_owned())
    }

    /// True if the session says that it is busy.
    pub(super) async fn is_busy(&self, session: &SessionId) -> Result<bool, ClientError> {
        let busy: wire::Busy = self.get("/session/status").await?;
        Ok(busy.contains_key(session.as_str()))
    }

    /// The one call without a time limit: it is answered when the turn is over.
    pub(super) async fn ask(
        &self,
        session: &SessionId,
        text: &str,
    ) -> Result<wire::Message, ClientError> {
        let path = format!("/session/{session}/message");
        let mut body =
            json!({ "agent": &*self.agent, "parts": [{ "type": "text", "text": text }] });
        if let Some(name) = &self.model {
            body["model"] = json!({ "providerID": name.provider, "modelID": name.model });
        }
        read(self.request(Method::POST, &path).json(&body), &path).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, None).await
    }

    /// Every call made this way may be repeated without harm: a second session stays unused.
    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ClientError> {
        let mut attempt = 1;
        loop {
            let mut request = self.request(method.clone(), path).timeout(CALL_TIMEOUT);
            if let Some(body) = body {
                request = request.json(body);
            }
            match read(request, path).await {
                Err(ClientError::Unreachable { .. }) if attempt < CALL_ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .header("x-opencode-directory", &self.directory)
            .basic_auth("opencode", Some(self.password.expose_secret()))
    }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder, call: &str) -> Result<T, ClientError> {
    let malformed = |cause: String| ClientError::Malformed {
        call: call.to_owned(),
        cause,
    };
    let mut response = checked(request, call).await?;
    let bytes = body(&mut response, MAX_ANSWER).await;
    let bytes = bytes.map_err(|e| unreachable(call, &e))?;
    if bytes.len() > MAX_ANSWER {
        let limit = MAX_ANSWER >> 20;
        return Err(malformed(format!("it is larger than {limit} MiB")));
    }
    serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))
}

/// The body, read no further than a chunk past the limit.
async fn body(response: &mut reqwest::Response, limit: usize) -> reqwest::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() <= limit
        && let Some(chunk) = response.chunk().await?
    {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn checked(request: RequestBuilder, call: &str) -> Result<reqwest::Response, ClientError> {
    let mut response = request.send().await.map_err(|e| unreachable(call, &e))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = body(&mut response, MAX_ERROR).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    Err(ClientError::Status {
        call: call.to_owned(),
        status: status.as_u16(),
        body: body.chars().take(500).collect(),
    })
}

fn unreachable(call: &str, error: &reqwest::Error) -> ClientError {
    ClientError::Unreachable {
        call: call.to_owned(),
        cause: chain(error),
    }
}

/// reqwest says "error sending request" and keeps the reason in its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// An id from an event as one part of a path: what is not plain cannot name another route.
fn segment(id: &str) -> String {
    id.chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}
