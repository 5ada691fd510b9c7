//! Deliveries of webhooks: what happens is signed and sent, and can be lost, doubled, reordered and sent again.

use super::*;
use crate::standin::github::webhooks::{Delivery, Webhooks};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use reviewer_core::event::webhook::{self, Wakes};
use reviewer_github::{App, is_signed};
use std::sync::{Arc, Mutex};

const SECRET: &str = "a webhook's secret";

/// Somebody who takes what is signed: the guids and what they wake.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<(String, Wakes)>>>);

impl Listener {
    async fn start() -> (Self, String) {
        let listener = Self::default();
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", socket.local_addr().unwrap());
        let router = axum::Router::new()
            .fallback(take)
            .with_state(listener.clone());
        tokio::spawn(async move { axum::serve(socket, router).await });
        (listener, url)
    }

    fn heard(&self) -> Vec<(String, Wakes)> {
        self.0.lock().unwrap().clone()
    }
}

async fn take(
    State(listener): State<Listener>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> StatusCode {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let secret = SecretString::from(SECRET);
    if !is_signed(&text("x-hub-signature-256"), &secret, &body) {
        return StatusCode::UNAUTHORIZED;
    }
    let read = webhook::read(&text("x-github-event"), &body);
    listener
        .0
        .lock()
        .unwrap()
        .push((text("x-github-delivery"), read.wakes));
    StatusCode::ACCEPTED
}

#[tokio::test]
async fn what_happens_wakes_what_it_happened_to() {
    let (github, number) = shop();
    let (listener, url) = Listener::start().await;
    let hooks = Webhooks::new(&github, &url, SECRET);
    push(&github, number, &[Change::write("b.txt", "b2\n")]);
    github.review(number, "writer", "APPROVED", "");
    github.comment(number, "lead", "fix resume");
    github.remark(number, "lead", ("b.txt", 1), "Why?");
    github.act(number, "converted_to_draft", "dev");
    github.act(number, "ready_for_review", "dev");
    github.conclude(number, "test", "success");
    github.rename("octo/store", "octo");
    github.merge(number, "lead");
    let sent: Vec<String> = hooks
        .pending()
        .iter()
        .map(|one| one.event.clone())
        .collect();
    let statuses = hooks.send_all().await;
    assert_eq!(statuses, vec![202; sent.len()]);
    let heard: Vec<Wakes> = listener
        .heard()
        .into_iter()
        .map(|(_, wakes)| wakes)
        .collect();
    let pulls = heard
        .iter()
        .filter(|one| matches!(one, Wakes::Pull { number: 1, .. }));
    assert_eq!(pulls.count(), 8, "{sent:?} {heard:?}");
    let tip = head(&github, number);
    assert!(
        heard
            .iter()
            .any(|one| matches!(one, Wakes::Head { sha, .. } if *sha == tip))
    );
    assert!(
        heard
            .iter()
            .any(|one| matches!(one, Wakes::Base { branch, .. } if branch == "main"))
    );
    let moved = |one: &Wakes| matches!(one, Wakes::Renamed { repository } if repository.name.to_string() == "octo/store");
    assert!(heard.iter().any(moved), "{heard:?}");
    assert!(
        !heard.iter().any(|one| matches!(one, Wakes::Nothing(_))),
        "{heard:?}"
    );
    github.finish();
}

#[tokio::test]
async fn only_what_is_signed_with_the_secret_is_heard() {
    let (github, number) = shop();
    let (listener, url) = Listener::start().await;
    let hooks = Webhooks::new(&github, &url, SECRET);
    github.comment(number, "lead", "Hello.");
    let delivery = hooks.pending().remove(0);
    let good = delivery.signature(SECRET);
    for signature in [
        None,
        Some(""),
        Some("sha256="),
        Some("sha256=zz"),
        Some(delivery.signature("another").as_str()),
        Some(good.replace("sha256", "sha1").as_str()),
        Some(good.trim_start_matches("sha256=")),
        Some(&good[..good.len() - 2]),
    ] {
        assert_eq!(
            hooks.send_signed(&delivery, signature).await,
            401,
            "{signature:?}"
        );
    }
    let mut changed = delivery.clone();
    changed.body.push(b' ');
    assert_eq!(hooks.send_signed(&changed, Some(&good)).await, 401);
    assert!(listener.heard().is_empty());
    assert_eq!(hooks.send(&delivery).await, 202);
    assert_eq!(listener.heard().len(), 1);
    assert!(!is_signed(
        &delivery.signature(""),
        &SecretString::from(""),
        &delivery.body
    ));
}

#[tokio::test]
async fn a_network_doubles_drops_and_reorders() {
    let (github, number) = shop();
    let (listener, url) = Listener::start().await;
    let hooks = Webhooks::new(&github, &url, SECRET);
    for text in ["one", "two", "three"] {
        github.comment(number, "lead", text);
    }
    let guid = |delivery: &Delivery| delivery.guid.clone();
    let guids: Vec<String> = hooks.pending().iter().map(guid).collect();
    hooks.arrange(|queue| {
        queue.remove(1);
        queue.reverse();
        queue.push(queue[0].clone());
    });
    hooks.send_all().await;
    let heard: Vec<String> = listener.heard().into_iter().map(|(guid, _)| guid).collect();
    assert_eq!(
        heard,
        [guids[2].clone(), guids[0].clone(), guids[2].clone()]
    );
}

#[tokio::test]
async fn an_app_finds_failed_deliveries_and_has_them_sent_again() {
    let (github, number) = shop();
    let key = github.register_app("reviewer", &["pull-requests:write"]);
    let (api, graphql) = addresses(&github);
    let pem = SecretString::from(key.private_key);
    let app = App::new(&api, &graphql, key.id, &pem, Clock::scaled(0.001), &[]).unwrap();
    let mut hooks = Webhooks::new(&github, "http://127.0.0.1:9/nobody", SECRET);
    github.comment(number, "lead", "one");
    github.comment(number, "lead", "two");
    let (lost, status) = hooks.send_next().await.unwrap();
    assert_eq!(status, 0);
    let (listener, url) = Listener::start().await;
    hooks.moved_to(&url);
    hooks.send_all().await;
    let failed = app.failed_deliveries().await.unwrap();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (failed[0].guid.as_str(), failed[0].event.as_str()),
        (lost.guid.as_str(), "issue_comment")
    );
    app.redeliver(&failed[0]).await.unwrap();
    hooks.send_all().await;
    let heard: Vec<String> = listener.heard().into_iter().map(|(guid, _)| guid).collect();
    assert_eq!(heard.last(), Some(&lost.guid));
    assert!(app.failed_deliveries().await.unwrap().is_empty());
    let body: serde_json::Value = serde_json::from_slice(&lost.body).unwrap();
    assert_eq!(body["installation"]["id"], key.installation);
    github.finish();
}

#[tokio::test]
async fn failed_deliveries_are_found_on_every_page() {
    let (github, number) = shop();
    let key = github.register_app("reviewer", &[]);
    github.with(|state| state.page_size = 2);
    let (api, graphql) = addresses(&github);
    let pem = SecretString::from(key.private_key);
    let app = App::new(&api, &graphql, key.id, &pem, Clock::scaled(0.001), &[]).unwrap();
    let hooks = Webhooks::new(&github, "http://127.0.0.1:9/nobody", SECRET);
    for text in ["one", "two", "three", "four", "five"] {
        github.comment(number, "lead", text);
        hooks.fail_next();
    }
    assert_eq!(app.failed_deliveries().await.unwrap().len(), 5);
    github.finish();
}
