//! The way to the provider: the key, the path, the proxy.

use super::bench::{BODY, Bench, KEY, PLACEHOLDER, Provider, refused};
use reviewer_agent::gateway::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn the_provider_gets_the_request_with_the_key_and_without_the_placeholder() {
    let provider = Provider::says("data: hello\n\n").await;
    let bench = Bench::at(&provider.url()).await;
    let request = bench
        .asks(BODY)
        .header("x-session-id", "s-1")
        .header("cookie", "a=b")
        .header("x-forwarded-host", "evil.example");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "data: hello\n\n");
    let got = &provider.got()[0];
    assert_eq!(got.uri, "/v1/chat/completions");
    assert_eq!(got.body, BODY);
    assert_eq!(got.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(got.headers["host"], provider.address);
    assert_eq!(got.headers["content-length"], BODY.len().to_string());
    assert_eq!(got.headers["accept-encoding"], "identity");
    assert_eq!(got.headers["x-session-id"], "s-1");
    assert!(!got.headers.contains_key("cookie"));
    assert!(!got.headers.contains_key("x-forwarded-host"));
    assert!(!format!("{:?}", got.headers).contains(PLACEHOLDER));
}

#[tokio::test]
async fn a_body_of_unknown_length_is_passed_on_with_its_length() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let (half, rest) = BODY.split_at(12);
    let pieces = futures_util::stream::iter([half, rest].map(Ok::<_, std::io::Error>));
    let answer = bench.asks(reqwest::Body::wrap_stream(pieces)).send().await;
    assert_eq!(answer.unwrap().status(), 200);
    let got = &provider.got()[0];
    assert_eq!(got.body, BODY);
    assert_eq!(got.headers["content-length"], BODY.len().to_string());
}

#[tokio::test]
async fn the_provider_gets_the_length_of_the_judged_body_whatever_the_sidecar_says() {
    let provider = Provider::says("ok").await;
    let bench = Bench::at(&provider.url()).await;
    let host = bench.server.base_url().strip_prefix("http://").unwrap();
    let request = format!(
        "POST /model/r1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {PLACEHOLDER}\r\n\
         content-length: 2\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{BODY}\r\n0\r\n\r\n",
        BODY.len()
    );
    let mut sidecar = tokio::net::TcpStream::connect(host).await.unwrap();
    sidecar.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    sidecar.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let got = &provider.got()[0];
    assert_eq!(got.body, BODY);
    assert_eq!(got.headers["content-length"], BODY.len().to_string());
}

#[tokio::test]
async fn an_endpoint_that_takes_no_key_gets_no_header_for_one() {
    let provider = Provider::says("ok").await;
    let bench = Bench::with(&provider.url(), None, &[], Limits::default()).await;
    assert_eq!(bench.asks(BODY).send().await.unwrap().status(), 200);
    assert!(!provider.got()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_proxy_is_used_where_one_is_named() {
    let proxy = Provider::says("through the proxy").await;
    let address = format!("http://{}", proxy.address);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let network = [(name, address.as_str()), ("NO_PROXY", "other.example")];
        let base = "http://llm.example/v1";
        let bench = Bench::with(base, Some(KEY), &network, Limits::default()).await;
        let answer = bench.asks(BODY).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "through the proxy", "{name}");
    }
    let got = proxy.got();
    assert_eq!(got.len(), 3);
    assert_eq!(got[0].uri, "http://llm.example/v1/chat/completions");
}

#[tokio::test]
async fn a_host_that_is_exempt_is_reached_without_the_proxy() {
    let proxy = Provider::says("through the proxy").await;
    let provider = Provider::says("direct").await;
    let address = format!("http://{}", proxy.address);
    let network = [("HTTP_PROXY", address.as_str()), ("NO_PROXY", "127.0.0.1")];
    let bench = Bench::with(&provider.url(), Some(KEY), &network, Limits::default()).await;
    let answer = bench.asks(BODY).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "direct");
    assert!(proxy.got().is_empty());
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_named() {
    let bench = Bench::at("http://127.0.0.1:1/v1").await;
    let (status, message) = refused(bench.asks(BODY)).await;
    assert_eq!(status, 502);
    assert_eq!(
        message,
        "The model gateway cannot reach http://127.0.0.1:1: connection refused (3 tries). Check model_base_url, and that \
         the endpoint runs and can be reached from this machine; behind a proxy, set HTTPS_PROXY."
    );
    assert_eq!(bench.routes[0].failure(), Some(message));
}
