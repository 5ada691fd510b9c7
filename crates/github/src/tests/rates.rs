//! The rate that GitHub's answers tell: by every answer, of every kind, and never by that of another account.

use super::{Server, key, ok, refused};
use axum::response::Response;
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use serde_json::json;
use std::time::{Duration, UNIX_EPOCH};

/// The answer with this rest of a thousand requests, for ten minutes.
fn limited(mut answer: Response, resource: &'static str, left: u64) -> Response {
    let now = Clock::scaled(1.0).now().duration_since(UNIX_EPOCH);
    let reset = now.unwrap().as_secs() + 600;
    for (name, value) in [
        ("x-ratelimit-limit", "1000".to_owned()),
        ("x-ratelimit-remaining", left.to_string()),
        ("x-ratelimit-reset", reset.to_string()),
        ("x-ratelimit-resource", resource.to_owned()),
    ] {
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}

#[tokio::test]
async fn work_without_hurry_waits_once_any_answer_tells_that_few_requests_are_left() {
    let server = Server::answering(|turn, _| match turn {
        0 => limited(
            ok(&json!({"data": {"viewer": {"login": "dev"}}})),
            "graphql",
            900,
        ),
        1 => limited(ok(&json!({"id": 1, "full_name": "acme/shop"})), "core", 500),
        _ => limited(refused(404, &json!({"message": "Not Found"})), "core", 199),
    })
    .await;
    let github = server.client();
    assert_eq!(
        (github.rate_left().await, github.rate_wait().await),
        (None, None)
    );
    github.viewer().await.unwrap();
    github.repository_name(1).await.unwrap();
    assert_eq!(
        (github.rate_left().await, github.rate_wait().await),
        (Some(500), None)
    );
    github.pull_request(&key()).await.unwrap_err();
    assert_eq!(github.rate_left().await, Some(199));
    let wait = github.rate_wait().await.expect("a wait");
    assert!(
        wait > Duration::from_secs(500) && wait <= Duration::from_mins(10),
        "{wait:?}"
    );
    // Another account has an hour of its own.
    let other = github.with_token(&SecretString::from("ghs_other")).unwrap();
    assert_eq!(
        (other.rate_left().await, other.rate_wait().await),
        (None, None)
    );
}
