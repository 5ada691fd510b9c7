use super::fake::{OPERATE, READ, SESSION, Server, answer, told};
use reqwest::Method;
use reviewer_core::config::service::HttpLimits;
use serde_json::json;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PULL: &str = "/pr/octo/shop/7";

fn of(path: &str) -> String {
    format!("{PULL}/{path}")
}

#[tokio::test]
async fn the_status_has_the_names_of_the_seed() {
    let server = Server::start().await;
    let (status, document) = told(server.get(&of("status"), READ).await).await;
    assert_eq!(status, 200);
    for name in [
        "state",
        "prNumber",
        "repoFullName",
        "reviewers",
        "currentReviewerIndex",
        "currentSessionId",
        "reviewOutcomes",
        "retryCount",
        "lastError",
        "mergeType",
        "waitsFor",
    ] {
        assert!(document.get(name).is_some(), "{name} is not in {document}");
    }
}

#[tokio::test]
async fn sessions_are_told_with_their_cost_and_the_end_of_their_log() {
    let server = Server::start().await;
    let (status, document) = told(server.get(&of("sessions"), READ).await).await;
    assert_eq!(status, 200);
    let session = &document["sessions"][0];
    assert_eq!(session["agent"], "quality");
    assert_eq!(session["costUsd"], 0.25);
    assert_eq!(session["log"], "It ends.\n");
}

#[tokio::test]
async fn the_history_has_inputs_that_can_be_replayed() {
    let server = Server::start().await;
    let (status, document) = told(server.get(&of("history"), READ).await).await;
    assert_eq!(status, 200);
    let entry = &document["entries"][0];
    assert_eq!(entry["input"], json!({ "woken": { "cause": "opened" } }));
    assert_eq!(
        (&entry["n"], &entry["state"]),
        (&json!(1), &json!("pending"))
    );
    let (status, _) = told(server.get(&of("history?most=1000"), READ).await).await;
    assert_eq!(status, 200);
    let asked = ["history of 100", "history of 1000"];
    assert_eq!(server.fake.asked(), asked);
    for most in ["0", "1001", "all", "-1"] {
        let path = format!("{PULL}/history?most={most}");
        let (status, _) = told(server.get(&path, READ).await).await;
        assert_eq!(status, 422, "{most}");
    }
}

#[tokio::test]
async fn an_explanation_says_what_is_waited_for_and_shows_the_last_three_inputs() {
    let server = Server::start().await;
    let (status, document) = told(server.get(&of("explain"), READ).await).await;
    assert_eq!(status, 200);
    for name in ["state", "since", "why", "waitsFor", "movedBy"] {
        assert!(document.get(name).is_some(), "{name} is not in {document}");
    }
    assert_eq!(document["lastInputs"][0]["n"], 1);
    assert_eq!(server.fake.asked(), ["history of 3"]);
}

#[tokio::test]
async fn pull_requests_are_listed_by_state() {
    let server = Server::start().await;
    let (status, document) = told(server.get("/pr?state=pending&most=5", READ).await).await;
    assert_eq!(status, 200);
    assert_eq!(document["pullRequests"][0]["key"], "1/7");
    assert_eq!(server.fake.asked(), ["list Some(\"pending\") 5"]);
}

#[tokio::test]
async fn an_event_wakes_and_answers_with_the_state() {
    let server = Server::start().await;
    let request = server.request(Method::POST, &of("event"));
    let request = request
        .bearer_auth(OPERATE)
        .header("Idempotency-Key", "one");
    let request = request.body(r#"{"type":"PR_OPENED","prNumber":7}"#);
    let (status, document) = answer(request).await;
    assert_eq!((status, &document["state"]), (202, &json!("pending")));
    assert_eq!(server.fake.asked(), ["event api/ops/one: PR_OPENED by ops"]);

    for body in ["", "{}", "[]", r#"{"type":7}"#, r#"{"type":"a b"}"#] {
        let (status, _) = told(server.post(&of("event"), OPERATE, body).await).await;
        assert_eq!(status, 422, "{body}");
    }
    assert_eq!(server.fake.asked().len(), 1);
}

#[tokio::test]
async fn a_retry_names_the_token_that_ordered_it() {
    let server = Server::start().await;
    let (status, _) = told(server.post(&of("retry"), OPERATE, "").await).await;
    assert_eq!(status, 202);
    let asked = server.fake.asked();
    assert!(asked[0].starts_with("retry api/ops/"), "{asked:?}");
    assert!(asked[0].ends_with(" by ops"), "{asked:?}");
}

#[tokio::test]
async fn a_session_reports_with_its_own_token_only() {
    let server = Server::start().await;
    let report = of("session");
    let (status, _) = told(server.post(&report, SESSION, "{}").await).await;
    assert_eq!(status, 202);
    let (status, _) = told(server.post(&report, SESSION, "?").await).await;
    assert_eq!(status, 422);
    for token in [OPERATE, READ, "another-session"] {
        let (status, _) = told(server.post(&report, token, "{}").await).await;
        assert_eq!(status, 401, "{token}");
    }
    let other = "/pr/octo/shop/8/session";
    let (status, _) = told(server.post(other, SESSION, "{}").await).await;
    assert_eq!(status, 401);
    let (status, _) = answer(server.request(Method::POST, &report)).await;
    assert_eq!(status, 401);
    assert_eq!(server.fake.asked(), ["report of 2 bytes"]);
}

#[tokio::test]
async fn health_needs_no_token_and_readiness_follows_the_service() {
    let server = Server::start().await;
    let health = || answer(server.request(Method::GET, "/healthz"));
    let ready = || answer(server.request(Method::GET, "/readyz"));
    assert_eq!(health().await.0, 200);
    assert_eq!(ready().await.0, 503);
    server.fake.ready.store(true, Ordering::Relaxed);
    assert_eq!(ready().await.0, 200);
}

#[tokio::test]
async fn metrics_are_in_the_format_of_prometheus() {
    let server = Server::start().await;
    let (status, _) = answer(server.webhook("one", "{}")).await;
    assert_eq!(status, 202);
    let answer = server.get("/metrics", READ).await;
    let kind = answer.headers()["content-type"].to_str().expect("a text");
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let text = answer.text().await.expect("a text");
    for line in [
        "# TYPE opencode_reviewer_queue_length gauge",
        "opencode_reviewer_queue_length 4",
        "opencode_reviewer_store_statements_total 70",
        "opencode_reviewer_store_commits_total 10",
        "opencode_reviewer_event_age_seconds 1.5",
        "opencode_reviewer_sessions 1",
        "opencode_reviewer_events_dropped_total 3",
        "opencode_reviewer_webhooks_ignored_total 5",
        "opencode_reviewer_sessions_over_quota_total 3",
        "opencode_reviewer_cost_usd_total 0.25",
        r#"opencode_reviewer_github_rate_left{account="octo\"quality"} 4999"#,
        r#"opencode_reviewer_github_reserve_wait_seconds{account="installation 7"} 600"#,
        r#"opencode_reviewer_pull_requests{state="pending"} 1"#,
        "opencode_reviewer_webhooks_total 1",
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line} is not in\n{text}"
        );
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_browsers_out() {
    let server = Server::start().await;
    for (path, token) in [
        ("/healthz", ""),
        ("/nothing", ""),
        (&of("status"), READ),
        (&of("status"), ""),
    ] {
        let answer = server.get(path, token).await;
        let header = |name: &str| {
            answer
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        assert_eq!(header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(header("cache-control"), Some("no-store"), "{path}");
        assert!(header("content-security-policy").is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_server_ends() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    let head = "POST /pr/octo/shop/7/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-of-the-session\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("a request");
    // The server asks for the body, so it has begun to answer.
    let mut interim = [0; 25];
    stream
        .read_exact(&mut interim)
        .await
        .expect("an interim answer");
    assert!(interim.starts_with(b"HTTP/1.1 100"));
    let stopping = tokio::spawn(server.stop());
    stream.write_all(b"{}").await.expect("a body");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    assert!(text.starts_with("HTTP/1.1 202"), "{text}");
    stopping.await.expect("an end");
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_their_turn() {
    let limits = HttpLimits {
        connections: 1,
        ..HttpLimits::default()
    };
    let server = Server::with(limits, 1.0).await;
    let mut first = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    list(&mut first, 1).await;
    let mut second = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    ask(&mut second, 2).await;
    for _ in 0..20 {
        list(&mut first, 1).await;
    }
    assert_eq!(server.fake.asked(), ["list None 1"; 21]);
    drop(first);
    answered(&mut second).await;
    assert_eq!(
        server.fake.asked().last().expect("a question"),
        "list None 2"
    );
}

async fn ask(stream: &mut TcpStream, most: u32) {
    let request =
        format!("GET /pr?most={most} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {READ}\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("a request");
}

/// Reads the whole answer, which is right.
async fn answered(stream: &mut TcpStream) {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.ends_with("]}") {
        let read = stream.read(&mut bytes).await.expect("an answer");
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

async fn list(stream: &mut TcpStream, most: u32) {
    ask(stream, most).await;
    answered(stream).await;
}
