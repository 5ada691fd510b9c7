//! What comes back: at once, and without the key.

use super::bench::{BODY, Bench, KEY, Pieces, Provider, piecewise, refused};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use std::sync::Mutex;

/// A provider that answers once, with the pieces that the test sends.
async fn speaking(content_type: &'static str) -> (Pieces, Provider) {
    let (send, body) = piecewise();
    let body = Mutex::new(Some(body));
    let provider = Provider::answers(move |_| {
        let body = body.lock().unwrap().take().unwrap();
        ([("content-type", content_type)], body).into_response()
    });
    (send, provider.await)
}

#[tokio::test]
async fn an_event_arrives_before_the_next_one_is_sent() {
    let (send, provider) = speaking("text/event-stream").await;
    let bench = Bench::at(&provider.url()).await;
    let first = "data: sk-real is no key\n\n";
    send.send(Ok(first.into())).unwrap();
    let answer = bench.asks(BODY).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut events = answer.bytes_stream();
    assert_eq!(events.next().await.unwrap().unwrap(), first);
    // Only now is there a second.
    send.send(Ok("data: two\n\n".into())).unwrap();
    assert_eq!(events.next().await.unwrap().unwrap(), "data: two\n\n");
    drop(send);
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_key_that_the_provider_echoes_does_not_come_back() {
    let provider = Provider::answers(|_| {
        let (send, body) = piecewise();
        let (first, second) = KEY.split_at(17);
        for piece in ["data: your key is ", first, second, ", is it not?\n\n"] {
            send.send(Ok(piece.to_owned().into())).unwrap();
        }
        let headers = [("x-request-id", KEY), ("set-cookie", KEY)];
        (headers, body).into_response()
    })
    .await;
    let bench = Bench::at(&provider.url()).await;
    let answer = bench.asks(BODY).send().await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], "***");
    assert!(!answer.headers().contains_key("set-cookie"));
    assert_eq!(
        answer.text().await.unwrap(),
        "data: your key is ***, is it not?\n\n"
    );
}

#[tokio::test]
async fn a_providers_own_error_comes_back_as_it_is() {
    let provider = Provider::answers(|_| {
        let headers = [("retry-after", "7"), ("content-type", "application/json")];
        let body = format!(r#"{{"error":{{"message":"slow down, {KEY}"}}}}"#);
        (StatusCode::TOO_MANY_REQUESTS, headers, body).into_response()
    })
    .await;
    let bench = Bench::at(&provider.url()).await;
    let answer = bench.asks(BODY).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "7");
    assert_eq!(
        answer.text().await.unwrap(),
        r#"{"error":{"message":"slow down, ***"}}"#
    );
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_passed_on() {
    let provider =
        Provider::answers(|_| ([("content-encoding", "gzip")], "no text").into_response()).await;
    let bench = Bench::at(&provider.url()).await;
    let (status, message) = refused(bench.asks(BODY)).await;
    assert_eq!(status, 502);
    assert!(message.contains("it is compressed"), "{message}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_looks_broken_off() {
    let (send, provider) = speaking("text/event-stream").await;
    let bench = Bench::at(&provider.url()).await;
    send.send(Ok("data: half".into())).unwrap();
    let mut events = bench.asks(BODY).send().await.unwrap().bytes_stream();
    assert_eq!(events.next().await.unwrap().unwrap(), "data: half");
    send.send(Err(std::io::Error::other("gone"))).unwrap();
    assert!(events.next().await.unwrap().is_err());
}
