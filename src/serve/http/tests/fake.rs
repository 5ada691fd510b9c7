//! A backend that remembers what it was asked, and a server in front of it.

use crate::serve::backend::{
    Accepted, Backend, Metrics, PullAt, PullParts, Refused, ReportRefused, Rows,
};
use crate::serve::claims::SessionAccount;
use crate::serve::http::{HttpSettings, UiSettings, serve};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Client, Method, RequestBuilder, Response};
use reviewer_core::config::service::HttpLimits;
use reviewer_core::dashboard::Row;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Policy, PullKey, State};
use reviewer_engine::tokens::{ApiToken, Role, TokenHash};
use reviewer_engine::{Backlog, Counts, Entry, Listed, Recent};
use reviewer_system::clock::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(super) const READ: &str = "token-that-reads";
pub(super) const OPERATE: &str = "token-that-operates";
pub(super) const SESSION: &str = "token-of-the-session";
const SECRET: &str = "webhook secret";

/// Knows octo/shop#7 and nothing else.
#[derive(Default)]
pub(super) struct Fake {
    deliveries: Mutex<HashSet<String>>,
    asked: Mutex<Vec<String>>,
    pub(super) ready: AtomicBool,
    /// Of the pull request.
    pub(super) state: Mutex<State>,
    pub(super) version: AtomicI64,
    /// Looks for changes so far.
    pub(super) looks: AtomicUsize,
    /// Names of tokens that were removed.
    pub(super) removed: Mutex<HashSet<String>>,
}

impl Fake {
    /// Everything that the server asked for, but for tokens.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("a lock").clone()
    }

    fn note(&self, what: String) {
        self.asked.lock().expect("a lock").push(what);
    }

    fn known(at: &PullAt) -> Result<(), Refused> {
        let is_known = at.repo.to_string() == "octo/shop" && at.number == 7;
        is_known.then_some(()).ok_or(Refused::NotFound)
    }
}

impl Backend for Fake {
    async fn webhook(&self, delivery: &str, event: &str, body: &[u8]) -> Result<Accepted, Refused> {
        let mut deliveries = self.deliveries.lock().expect("a lock");
        let duplicate = !deliveries.insert(delivery.to_owned());
        drop(deliveries);
        self.note(format!(
            "webhook {delivery} {event} of {} bytes",
            body.len()
        ));
        Ok(Accepted {
            duplicate,
            woken: usize::from(!duplicate),
        })
    }

    async fn event(&self, at: &PullAt, delivery: &str, cause: &str) -> Result<State, Refused> {
        Self::known(at)?;
        self.note(format!("event {delivery}: {cause}"));
        Ok(State::default())
    }

    async fn retry(&self, at: &PullAt, delivery: &str, by: &str) -> Result<State, Refused> {
        Self::known(at)?;
        self.note(format!("retry {delivery} by {by}"));
        Ok(State::default())
    }

    async fn sessions(&self, at: &PullAt) -> Result<Vec<SessionAccount>, Refused> {
        Self::known(at)?;
        Ok(vec![SessionAccount {
            dispatch: 3,
            agent: "quality".into(),
            task: "review".into(),
            asked: 1_000,
            started: Some(2_000),
            ended: Some(9_000),
            cost_usd: 0.25,
            error: None,
            log: "It ends.\n".into(),
        }])
    }

    async fn report(
        &self,
        at: &PullAt,
        token: &SecretString,
        body: &[u8],
    ) -> Result<(), ReportRefused> {
        if Self::known(at).is_err() || token.expose_secret() != SESSION {
            return Err(ReportRefused::Unauthorized);
        }
        if body == b"?" {
            return Err(ReportRefused::Invalid("the report is no JSON".to_owned()));
        }
        self.note(format!("report of {} bytes", body.len()));
        Ok(())
    }

    async fn state(&self, at: &PullAt) -> Result<(PullKey, State), Refused> {
        Self::known(at)?;
        let key = PullKey {
            repository: 1,
            number: 7,
        };
        Ok((key, State::default()))
    }

    async fn history(&self, at: &PullAt, most: u32) -> Result<Vec<Entry>, Refused> {
        Self::known(at)?;
        self.note(format!("history of {most}"));
        Ok(vec![Entry {
            n: 1,
            at: 5,
            delivery: "event:a".to_owned(),
            input: r#"{"woken":{"cause":"opened"}}"#.to_owned(),
            log: vec!["woken".to_owned()],
            phase: "pending".to_owned(),
        }])
    }

    async fn list(&self, phase: Option<&str>, most: u32) -> Result<Vec<Listed>, Refused> {
        self.note(format!("list {phase:?} {most}"));
        Ok(vec![Listed {
            key: "1/7".to_owned(),
            version: 3,
            phase: "pending".to_owned(),
            changed: 5,
        }])
    }

    async fn rows(&self, wanted: &[Recent]) -> Result<Vec<Rows>, Refused> {
        self.note(format!("rows of {}", wanted.len()));
        let row = || Row {
            key: PullKey {
                repository: 1,
                number: 7,
            },
            repo: Some("octo/shop".parse().expect("a name")),
            state: self.state.lock().expect("a lock").clone(),
            spent: None,
        };
        let is_pending = |one: &&Recent| one.phase.as_deref() == Some("pending");
        Ok(wanted
            .iter()
            .map(|one| Rows {
                rows: Some(one)
                    .filter(is_pending)
                    .map(|_| row())
                    .into_iter()
                    .collect(),
                more: None,
            })
            .collect())
    }

    async fn recent(&self, _wanted: &Recent) -> Result<Vec<Listed>, Refused> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Ok(vec![Listed {
            key: "1/7".to_owned(),
            version: self.version.load(Ordering::Relaxed),
            phase: "pending".to_owned(),
            changed: 5,
        }])
    }

    async fn phases(&self) -> Result<Vec<(String, u64)>, Refused> {
        Ok(vec![("pending".to_owned(), 1)])
    }

    async fn pull(&self, at: &PullAt, most: u32) -> Result<PullParts, Refused> {
        Self::known(at)?;
        let state = self.state.lock().expect("a lock").clone();
        Ok(PullParts {
            state,
            entries: self.history(at, most).await?,
            sessions: self.sessions(at).await?,
            waiting: Vec::new(),
            spent: None,
        })
    }

    async fn key(&self, at: &PullAt) -> Result<PullKey, Refused> {
        Ok(self.state(at).await?.0)
    }

    fn now(&self) -> i64 {
        1_800_000_000_000
    }

    fn policy(&self) -> Arc<Policy> {
        let login = Login::new("octo-quality");
        Arc::new(Policy::new(Vec::new(), Account::Personal { login }))
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    async fn metrics(&self) -> Metrics {
        Metrics {
            backlog: Backlog {
                effects: 4,
                timers: 2,
                oldest_ms: 1_500,
            },
            sessions: 1,
            max_sessions: 2,
            ignored: 5,
            over_quota: 3,
            dropped: 3,
            rate_left: vec![("octo\"quality".to_owned(), 4_999)],
            rate_waits: vec![("installation 7".to_owned(), 600)],
            cost_usd: 0.25,
            pulls: vec![("pending".to_owned(), 1)],
            store: Counts {
                statements: 70,
                commits: 10,
            },
        }
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>, Refused> {
        let all = [("dash", READ, Role::Read), ("ops", OPERATE, Role::Operate)];
        let mut all = all.into_iter().map(|(name, token, role)| ApiToken {
            name: name.to_owned(),
            hash: TokenHash::new(&SecretString::from(token)),
            role,
            created: 0,
        });
        let removed = self.removed.lock().expect("a lock");
        Ok(all.find(|token| token.hash == *hash && !removed.contains(&token.name)))
    }
}

/// A running server. Dropped, it ends.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) fake: Arc<Fake>,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    client: Client,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::with(HttpLimits::default(), 1.0).await
    }

    /// With other limits, and with times shortened by `limit_scale`.
    pub(super) async fn with(limits: HttpLimits, limit_scale: f64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let fake = Arc::new(Fake::default());
        let settings = HttpSettings {
            limits,
            webhook_secret: SecretString::from(SECRET),
            clock: Clock::scaled(1.0).limited(limit_scale),
            ui: UiSettings::plain(),
        };
        let (end, ended) = oneshot::channel::<()>();
        let serving = serve(listener, Arc::clone(&fake), settings, async {
            drop(ended.await);
        });
        Self {
            address,
            fake,
            end: Some(end),
            task: tokio::spawn(serving),
            client: Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .expect("a client"),
        }
    }

    /// Ends as a signal ends the service, and waits for it.
    pub(super) async fn stop(mut self) {
        drop(self.end.take());
        (&mut self.task).await.expect("an end");
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.client.request(method, url)
    }

    pub(super) async fn get(&self, path: &str, token: &str) -> Response {
        let request = self.request(Method::GET, path).bearer_auth(token);
        request.send().await.expect("an answer")
    }

    pub(super) async fn post(&self, path: &str, token: &str, body: &str) -> Response {
        let request = self.request(Method::POST, path).bearer_auth(token);
        request
            .body(body.to_owned())
            .send()
            .await
            .expect("an answer")
    }

    /// A right webhook with this body, before it is sent.
    pub(super) fn webhook(&self, delivery: &str, body: impl Into<Vec<u8>>) -> RequestBuilder {
        let body = body.into();
        self.request(Method::POST, "/webhook")
            .header("X-Hub-Signature-256", signature(&body))
            .header("X-GitHub-Delivery", delivery)
            .header("X-GitHub-Event", "pull_request")
            .header("Content-Type", "application/json")
            .body(body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(body);
    format!("sha256={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
}

/// Sends a request, and returns the status with the sentence or document of its answer.
pub(super) async fn answer(request: RequestBuilder) -> (u16, serde_json::Value) {
    told(request.send().await.expect("an answer")).await
}

pub(super) async fn told(answer: Response) -> (u16, serde_json::Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.expect("a text");
    let json = serde_json::from_str(&text);
    (status, json.unwrap_or(serde_json::Value::String(text)))
}
