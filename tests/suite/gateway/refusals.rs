//! What the gateway does not pass on. The provider hears of none of it.

use super::bench::{BODY, Bench, KEY, PLACEHOLDER, Provider, piecewise, refused};
use axum::response::IntoResponse;
use reqwest::Method;
use reviewer_agent::gateway::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_request_without_the_placeholder_causes_nothing() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let path = "/model/r1/chat/completions";
    for request in [
        bench.plain(Method::POST, path).body(BODY),
        bench.plain(Method::POST, path).bearer_auth(KEY).body(BODY),
        bench
            .plain(Method::POST, path)
            .bearer_auth("bearer")
            .body(BODY),
        bench
            .plain(Method::POST, path)
            .header("x-title", PLACEHOLDER)
            .body(BODY),
    ] {
        let (status, message) = refused(request).await;
        assert_eq!(status, 401, "{message}");
    }
    assert!(provider.got().is_empty());
}

#[tokio::test]
async fn the_two_secrets_of_the_server_open_one_door_each() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let tools = bench.plain(Method::POST, "/mcp/r1/github");
    let answer = tools.bearer_auth(PLACEHOLDER).body("{}").send().await;
    assert_eq!(answer.unwrap().status(), 401);
}

#[tokio::test]
async fn another_method_path_or_origin_is_refused() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH] {
        let request = bench.plain(method, "/model/r1/chat/completions");
        let (status, message) = refused(request.bearer_auth(PLACEHOLDER)).await;
        assert_eq!(status, 403, "{message}");
    }
    for path in [
        "/model/r1/models",
        "/model/r1/files",
        "/model/r1/chat/completions/x",
        "/model/r1/chat/completions?key=1",
        "/model/r1/chat%2fcompletions",
        "/model/r1//chat/completions",
    ] {
        let request = bench.plain(Method::POST, path).bearer_auth(PLACEHOLDER);
        let (status, message) = refused(request.body(BODY)).await;
        assert_eq!(status, 403, "{path}: {message}");
    }
    let origin = bench.asks(BODY).header("origin", "http://evil.example");
    assert_eq!(refused(origin).await.0, 403);
    assert!(provider.got().is_empty());
}

/// What no HTTP client would write.
#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let ours = bench.server.base_url().trim_start_matches("http://");
    let evil = &provider.address;
    for (target, host) in [
        ("/model/r1/chat/completions", evil.as_str()),
        ("/model/r1/chat/completions", "localhost"),
        (
            &format!("http://{evil}/model/r1/chat/completions") as &str,
            ours,
        ),
        ("/model/r1/x/../chat/completions", ours),
    ] {
        let mut stream = tokio::net::TcpStream::connect(ours).await.unwrap();
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {PLACEHOLDER}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{BODY}",
            BODY.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403"), "{target}: {answer}");
    }
    assert!(provider.got().is_empty());
}

#[tokio::test]
async fn a_body_that_does_not_ask_for_the_configured_model_is_refused() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    for (body, why) in [
        (r#"{"model":"m-2"}"#, "names another model"),
        (r#"{"messages":[]}"#, "names no model"),
        (r#"{"model":"m-1","model":"m-2"}"#, "more than once"),
        (r#"{"model":"m-1","MODEL":"m-2"}"#, "odd spelling"),
        (r#"{"\u006dodel":"m-2"}"#, "names another model"),
        (r#"{"usage":{"model":"m-1"}}"#, "names no model"),
        (r#"{"body":{"model":"m-1"}}"#, "an unknown object at body"),
        (r#"{"model":"m-1","models":["m-2"]}"#, "the key models"),
        (r#"[{"model":"m-1"}]"#, "not one JSON object"),
        ("", "not one JSON object"),
        (r#"{"model":"m-1"#, "not one JSON object"),
    ] {
        let (status, message) = refused(bench.asks(body)).await;
        assert_eq!(status, 403, "{body}");
        assert!(message.contains(why), "{body}: {message}");
    }
    assert!(provider.got().is_empty());
}

/// The length was told and all but the end is right: and still nothing of it goes out.
#[tokio::test]
async fn a_large_request_that_turns_out_wrong_at_its_end_is_not_begun() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let padding = "x".repeat(3 << 20);
    for end in ["\"model\":\"m-2\"}", "\"end\":1}", "\"model\":\"m-1\"}}"] {
        let body = format!("{{\"text\":\"{padding}\",{end}");
        let (status, message) = refused(bench.asks(body)).await;
        assert_eq!(status, 403, "{message}");
    }
    assert!(provider.got().is_empty());
    let right = format!("{{\"text\":\"{padding}\",\"model\":\"m-1\"}}");
    assert_eq!(bench.asks(right).send().await.unwrap().status(), 200);
    assert_eq!(provider.got()[0].body.len(), padding.len() + 25);
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let other = Provider::says("elsewhere").await;
    let target = other.url();
    let provider =
        Provider::answers(move |_| axum::response::Redirect::temporary(&target).into_response())
            .await;
    let bench = Bench::at(&provider.url()).await;
    let answer = bench.asks(BODY).send().await.unwrap();
    assert_eq!(answer.status(), 502);
    assert!(!answer.headers().contains_key("location"));
    let told = answer.text().await.unwrap();
    assert!(
        told.contains("does not follow redirects") && told.contains("HTTP 307"),
        "{told}"
    );
    assert!(other.got().is_empty());
}

#[tokio::test]
async fn a_run_that_asks_too_much_is_ended_in_words_that_opencode_does_not_ask_again_after() {
    let provider = Provider::says("ok").await;
    let limits = Limits {
        requests: 2,
        request_bytes: 100,
        answer_bytes: 100,
        total_bytes: 10_000,
        ..Limits::default()
    };
    let bench = Bench::with(&provider.url(), Some(KEY), &[], limits).await;
    let long = format!("{{\"model\":\"m-1\",\"text\":\"{}\"}}", "x".repeat(200));
    let (status, message) = refused(bench.asks(long.clone())).await;
    assert_eq!((status, message.contains("it has more than")), (403, true));
    let unsaid = futures_util::stream::iter([Ok::<_, std::io::Error>(long)]);
    let (status, message) = refused(bench.asks(reqwest::Body::wrap_stream(unsaid))).await;
    assert_eq!((status, message.contains("it has more than")), (403, true));
    assert_eq!(bench.asks(BODY).send().await.unwrap().status(), 200);
    let (status, message) = refused(bench.asks(BODY)).await;
    assert_eq!(status, 403);
    assert!(message.contains("has made 2 requests"), "{message}");
    assert_eq!(provider.got().len(), 1);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_and_was_the_last() {
    let provider = Provider::answers(|_| {
        let (send, body) = piecewise();
        for _ in 0..20 {
            send.send(Ok("data: again\n\n".into())).unwrap();
        }
        axum::response::Response::new(body)
    })
    .await;
    let limits = Limits {
        answer_bytes: 100,
        ..Limits::default()
    };
    let bench = Bench::with(&provider.url(), Some(KEY), &[], limits).await;
    let answer = bench.asks(BODY).send().await.unwrap();
    assert!(answer.bytes().await.is_err(), "it does not look complete");
    let (status, message) = refused(bench.asks(BODY)).await;
    assert_eq!(status, 403);
    assert!(message.contains("an answer before it"), "{message}");
    assert_eq!(provider.got().len(), 1);
}
