//! Failures that no repeat can help: they are recorded for whoever watches the turn, and the provider is not asked again.

use super::bench::{BODY, Bench, KEY, PLACEHOLDER, Provider, refused};
use super::opencode::choice;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use reviewer_agent::gateway::Limits;
use serde_json::json;
use std::time::Duration;

const ENDED: &str =
    "The model gateway refused the request: the run has ended, because its model cannot be used.";

#[tokio::test]
async fn an_exhausted_quota_is_told_once_and_never_called_a_rate_limit() {
    let provider = Provider::answers(|_| {
        let message = format!("You exceeded your current quota, {KEY}.");
        let error = json!({ "error": { "message": message, "code": "insufficient_quota" } });
        (StatusCode::TOO_MANY_REQUESTS, axum::Json(error)).into_response()
    })
    .await;
    let bench = Bench::at(&provider.url()).await;
    for _ in 0..3 {
        let (status, message) = refused(bench.asks(BODY)).await;
        assert_eq!((status, message.as_str()), (403, ENDED));
    }
    assert_eq!(provider.got().len(), 1, "the provider is asked once");
    let url = provider.url();
    let told = format!(
        "The model endpoint {url} (model_base_url) does not answer, because the account has no credit or quota left: You \
         exceeded your current quota, *** (HTTP 429). Check the billing of the account that the API key belongs to."
    );
    assert_eq!(bench.routes[0].failed().await, told);
}

#[tokio::test]
async fn a_rate_limit_and_an_overload_are_left_to_opencode() {
    for status in [429, 500, 503, 529] {
        let provider = Provider::answers(move |_| {
            let error =
                json!({ "error": { "message": "Rate limit reached", "code": "rate_limit" } });
            let headers = [("retry-after", "7")];
            let status = StatusCode::from_u16(status).unwrap();
            (status, headers, axum::Json(error)).into_response()
        })
        .await;
        let bench = Bench::at(&provider.url()).await;
        for _ in 0..2 {
            let answer = bench.asks(BODY).send().await.unwrap();
            assert_eq!(answer.status(), status);
            assert_eq!(answer.headers()["retry-after"], "7");
        }
        assert_eq!(provider.got().len(), 2, "it is asked again");
        assert_eq!(bench.routes[0].failure(), None);
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_once_and_made_later_costs_nothing() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = choice("standin", "m-1", Some(&format!("http://{address}/v1")));
    let limits = Limits {
        tries_at: [1, 30].map(Duration::from_secs),
        ..Limits::default()
    };
    let bench = Bench::between(&[("r1", &model, PLACEHOLDER)], &[], limits).await;
    let asked = tokio::spawn(bench.asks(BODY).send());
    // The first try has failed by now, the second is to come.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!asked.is_finished());
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let router = axum::Router::new().fallback(async || "here");
    tokio::spawn(async move { axum::serve(listener, router).await });
    let answer = asked.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "here");
    assert_eq!(bench.routes[0].failure(), None);
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_told_as_such() {
    let bench = Bench::at("http://no-such-host.invalid/v1").await;
    let (_, message) = refused(bench.asks(BODY)).await;
    let told = "The model gateway cannot reach http://no-such-host.invalid: the name no-such-host.invalid could not be \
                resolved (";
    assert!(message.starts_with(told), "{message}");
    assert!(
        message.contains(" (3 tries). Check model_base_url"),
        "{message}"
    );
}
