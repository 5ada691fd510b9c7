//! Webhooks: everything that happens becomes a delivery in a queue, with GitHub's headers and a signature. The network
//! between GitHub and whoever listens is the test's: it doubles, drops and reorders what is in the queue.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::reply::Reply;
use super::state::{Identity, QueueEntry, State};
use super::{GitHub, Handle, events};

/// A webhook's configuration, as its owner has set it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookConfig {
    pub url: Option<String>,
    /// `json` or `form`; GitHub's default is `form`.
    pub content_type: Option<&'static str>,
    pub has_secret: bool,
    pub insecure: bool,
}

impl HookConfig {
    /// As GitHub sets up what a page of the service asks for.
    pub fn right(url: &str) -> Self {
        Self {
            url: Some(url.to_owned()),
            content_type: Some("json"),
            has_secret: true,
            insecure: false,
        }
    }

    /// GitHub leaves out what is not set, and shows no secret.
    pub fn shown(&self) -> Value {
        let mut shown = json!({ "insecure_ssl": if self.insecure { "1" } else { "0" } });
        shown["content_type"] = json!(self.content_type.unwrap_or("form"));
        if let Some(url) = &self.url {
            shown["url"] = json!(url);
        }
        if self.has_secret {
            shown["secret"] = json!("********");
        }
        shown
    }
}

/// A webhook of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryHook {
    pub config: HookConfig,
    pub active: bool,
    pub events: Vec<String>,
    /// The status of the last answer, 0 where there was none; `None`: nothing was sent yet.
    pub answered: Option<u16>,
}

/// `GET /repos/{owner}/{repo}/hooks`: only for administrators.
pub fn list(state: &State, identity: &Identity) -> Reply {
    if state.permission(&identity.login) != "admin" {
        return Reply::not_found();
    }
    let hooks = state.repository.hooks.iter().zip(1_u64..);
    let shown = hooks.map(|(hook, id)| hook_json(state, hook, id));
    Reply::json(200, &shown.collect())
}

fn hook_json(state: &State, hook: &RepositoryHook, id: u64) -> Value {
    let at = "2026-01-01T00:00:00Z";
    let name = &state.repository.full_name;
    let url = format!("{}/api/v3/repos/{name}/hooks/{id}", state.base_url);
    let last = match hook.answered {
        None => json!({ "code": null, "status": "unused", "message": null }),
        Some(0) => {
            json!({ "code": 0, "status": "misconfigured", "message": "failed to connect to host" })
        }
        Some(code @ 200..300) => json!({ "code": code, "status": "active", "message": "OK" }),
        Some(code) => {
            json!({ "code": code, "status": "misconfigured", "message": "Invalid HTTP Response: " })
        }
    };
    json!({
        "type": "Repository", "id": id, "name": "web", "active": hook.active, "events": hook.events,
        "config": hook.config.shown(), "updated_at": at, "created_at": at, "last_response": last,
        "url": url, "test_url": format!("{url}/test"), "ping_url": format!("{url}/pings"),
        "deliveries_url": format!("{url}/deliveries"),
    })
}

/// One delivery, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// `X-GitHub-Delivery`; a redelivery keeps it.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    pub action: Option<String>,
    pub body: Vec<u8>,
}

impl Delivery {
    /// `X-Hub-Signature-256` with this secret.
    pub fn signature(&self, secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
        mac.update(&self.body);
        let hex = data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes());
        format!("sha256={hex}")
    }
}

/// One try to deliver.
#[derive(Debug, Clone)]
struct Attempt {
    id: u64,
    delivery: Delivery,
    status: u16,
    redelivery: bool,
    at: String,
}

/// GitHub's side: what waits, and what became of what was sent.
#[derive(Debug, Default)]
pub struct Hooks {
    listening: bool,
    made: u64,
    queue: Vec<Delivery>,
    /// Oldest first.
    attempts: Vec<Attempt>,
}

impl Hooks {
    /// `GET /app/hook/deliveries`: newest first, in pages that a cursor leads through.
    pub fn page(&self, base_url: &str, from: usize, size: usize) -> Reply {
        let shown = self.attempts.iter().rev().skip(from).take(size).map(shown);
        let reply = Reply::json(200, &shown.collect());
        let next = from + size;
        if next >= self.attempts.len() {
            return reply;
        }
        let url = format!("{base_url}/api/v3/app/hook/deliveries?per_page={size}&cursor={next}");
        reply.with_header("link", format!("<{url}>; rel=\"next\""))
    }

    /// `POST /app/hook/deliveries/{id}/attempts`.
    pub fn again(&mut self, id: u64) -> Reply {
        let Some(attempt) = self.attempts.iter().find(|one| one.id == id) else {
            return Reply::not_found();
        };
        self.queue.push(attempt.delivery.clone());
        Reply::json(202, &json!({}))
    }
}

fn shown(attempt: &Attempt) -> Value {
    let status = match attempt.status {
        0 => "failed to connect to host",
        200..300 => "OK",
        _ => "Invalid HTTP Response",
    };
    json!({
        "id": attempt.id, "guid": attempt.delivery.guid, "delivered_at": attempt.at, "redelivery": attempt.redelivery,
        "duration": 0.1, "status": status, "status_code": attempt.status, "event": attempt.delivery.event,
        "action": attempt.delivery.action, "installation_id": null, "repository_id": null,
    })
}

/// The sender of deliveries to one address.
#[derive(Debug)]
pub struct Webhooks {
    github: Handle,
    url: String,
    secret: String,
    client: reqwest::Client,
}

impl Webhooks {
    /// From now on everything that happens is put into the queue.
    pub fn new(github: &GitHub, url: &str, secret: &str) -> Self {
        let handle = github.handle();
        handle.with(|state| state.hooks.listening = true);
        Self {
            github: handle,
            url: url.into(),
            secret: secret.into(),
            client: reqwest::Client::new(),
        }
    }

    /// Sends to another address from now on: the listener was started anew.
    pub fn moved_to(&mut self, url: &str) {
        self.url = url.into();
    }

    /// Looks at the queue and changes it: what is doubled, dropped or put elsewhere here is so on the way.
    pub fn arrange<T>(&self, act: impl FnOnce(&mut Vec<Delivery>) -> T) -> T {
        self.github.with(|state| act(&mut state.hooks.queue))
    }

    /// The queue as it is now.
    pub fn pending(&self) -> Vec<Delivery> {
        self.arrange(|queue| queue.clone())
    }

    /// The first of the queue does not arrive, and GitHub knows.
    pub fn fail_next(&self) -> Option<Delivery> {
        let first = self.arrange(|queue| (!queue.is_empty()).then(|| queue.remove(0)))?;
        self.note(&first, 502);
        Some(first)
    }

    /// Sends the first of the queue: what it was, and the status of the answer, 0 without one.
    pub async fn send_next(&self) -> Option<(Delivery, u16)> {
        let first = self.arrange(|queue| (!queue.is_empty()).then(|| queue.remove(0)))?;
        let status = self.send(&first).await;
        Some((first, status))
    }

    /// Sends until the queue is empty; the statuses of the answers.
    pub async fn send_all(&self) -> Vec<u16> {
        let mut statuses = Vec::new();
        while let Some((_, status)) = self.send_next().await {
            statuses.push(status);
        }
        statuses
    }

    /// Sends a delivery, of the queue or not, and keeps what became of it.
    pub async fn send(&self, delivery: &Delivery) -> u16 {
        let signature = delivery.signature(&self.secret);
        let status = self.send_signed(delivery, Some(&signature)).await;
        self.note(delivery, status);
        status
    }

    /// Sends with this signature or without one, as somebody else would.
    pub async fn send_signed(&self, delivery: &Delivery, signature: Option<&str>) -> u16 {
        let request = self.client.post(&self.url);
        let mut request = request
            .header("content-type", "application/json")
            .header("user-agent", "GitHub-Hookshot/0000000")
            .header("x-github-delivery", &delivery.guid)
            .header("x-github-event", &delivery.event)
            .header("x-github-hook-installation-target-type", "integration");
        if let Some(signature) = signature {
            request = request.header("x-hub-signature-256", signature);
        }
        let sent = request.body(delivery.body.clone()).send().await;
        sent.map_or(0, |answer| answer.status().as_u16())
    }

    /// Keeps what became of a delivery.
    pub fn note(&self, delivery: &Delivery, status: u16) {
        self.github.with(|state| {
            let (id, at) = (state.next_id(), state.now());
            let known = state.hooks.attempts.iter();
            let redelivery = known
                .map(|one| &one.delivery.guid)
                .any(|guid| *guid == delivery.guid);
            state.hooks.attempts.push(Attempt {
                id,
                delivery: delivery.clone(),
                status,
                redelivery,
                at,
            });
        });
    }
}

impl State {
    /// Something happened on a pull request.
    pub fn announce(&mut self, event: &str, action: Option<&str>, pull: u64, sender: &str) {
        self.touch(pull);
        self.deliver(event, |state| {
            let mut payload = events::of_pull(state, event, action, pull);
            payload["sender"] = state.user_json(sender);
            payload
        });
    }

    pub fn announce_synchronize(&mut self, pull: u64, before: &str) {
        self.touch(pull);
        self.deliver("pull_request", |state| {
            let mut payload = events::of_pull(state, "pull_request", Some("synchronize"), pull);
            payload["before"] = json!(before);
            payload
        });
    }

    pub fn announce_review(&mut self, action: &str, pull: u64, id: u64) {
        self.touch(pull);
        self.deliver("pull_request_review", |state| {
            events::of_review(state, action, pull, id)
        });
    }

    pub fn announce_comment(&mut self, event: &str, pull: u64, id: u64) {
        self.touch(pull);
        self.deliver(event, |state| events::of_comment(state, event, pull, id));
    }

    pub fn announce_push(&mut self, sender: &str, branch: &str, before: &str, after: &str) {
        self.deliver("push", |state| {
            let mut payload = events::of_push(state, sender, branch, before, after);
            for (key, value) in [("created", false), ("deleted", false), ("forced", false)] {
                payload[key] = json!(value);
            }
            payload
        });
    }

    pub fn announce_checks(&mut self, head: &str) {
        self.deliver("check_suite", |state| events::of_checks(state, head));
    }

    pub fn announce_group(&mut self, entry: &QueueEntry) {
        self.deliver("merge_group", |state| events::of_group(state, entry));
    }

    pub fn announce_move(&mut self, before: &str, sender: &str) {
        self.deliver("repository", |state| events::of_move(state, before, sender));
    }

    fn touch(&mut self, pull: u64) {
        let now = self.now();
        if let Some(pull) = self.pulls.get_mut(&pull) {
            pull.updated_at = now;
        }
    }

    fn deliver(&mut self, event: &str, payload: impl FnOnce(&Self) -> Value) {
        if !self.hooks.listening {
            return;
        }
        let mut payload = payload(self);
        if let Some(mark) = self.installation_mark() {
            payload["installation"] = mark;
        }
        self.hooks.made += 1;
        let made = self.hooks.made;
        self.hooks.queue.push(Delivery {
            guid: format!("{made:08x}-b361-11eb-836d-{made:012x}"),
            event: event.into(),
            action: payload["action"].as_str().map(str::to_owned),
            body: payload.to_string().into_bytes(),
        });
    }
}
