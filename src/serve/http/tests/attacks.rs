use super::fake::{OPERATE, READ, Server, answer, signature, told};
use crate::serve::http::webhook::LARGEST;
use reqwest::Method;
use reviewer_core::config::service::HttpLimits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn an_unsigned_webhook_is_refused() {
    let server = Server::start().await;
    let request = server.request(Method::POST, "/webhook");
    let request = request.header("X-GitHub-Delivery", "one").body("{}");
    let (status, told) = answer(request).await;
    assert_eq!(status, 401, "{told}");
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn a_wrongly_signed_webhook_is_refused_before_it_is_parsed() {
    let server = Server::start().await;
    let right = signature(b"{}");
    let wrong = [
        signature(b"{ }"),
        right.to_uppercase(),
        right[..right.len() - 2].to_owned(),
        right.replace("sha256=", "sha1="),
        String::new(),
        "sha256=".to_owned(),
        "sha256=zz".to_owned(),
    ];
    for signature in wrong {
        // Without any other header that is needed: the signature is judged first.
        let request = server.request(Method::POST, "/webhook");
        let request = request.header("X-Hub-Signature-256", &signature).body("{}");
        let (status, told) = answer(request).await;
        assert_eq!(status, 401, "{signature}: {told}");
    }
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn a_webhook_needs_its_delivery_id_its_event_and_json() {
    let server = Server::start().await;
    let signed = || {
        let request = server.request(Method::POST, "/webhook").body("{}");
        request.header("X-Hub-Signature-256", signature(b"{}"))
    };
    assert_eq!(answer(signed()).await.0, 400);
    let delivered = || signed().header("X-GitHub-Delivery", "one");
    assert_eq!(answer(delivered()).await.0, 400);
    let odd = signed().header("X-GitHub-Delivery", "a/b");
    assert_eq!(answer(odd.header("X-GitHub-Event", "push")).await.0, 400);
    let form = delivered().header("X-GitHub-Event", "push");
    let form = form.header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(answer(form).await.0, 415);
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn a_replayed_webhook_changes_nothing() {
    let server = Server::start().await;
    let first = answer(server.webhook("one", "{}")).await;
    assert_eq!(first, (202, json!({ "duplicate": false, "woken": 1 })));
    let second = answer(server.webhook("one", "{}")).await;
    assert_eq!(second, (202, json!({ "duplicate": true, "woken": 0 })));
}

#[tokio::test]
async fn a_webhook_of_25_mib_is_taken_and_a_larger_one_is_not() {
    let server = Server::start().await;
    let (status, told) = answer(server.webhook("largest", vec![b' '; LARGEST])).await;
    assert_eq!(status, 202, "{told}");
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: {}\r\n\r\n",
        LARGEST + 1
    );
    assert_status(&server, head.as_bytes(), "413").await;
    assert_eq!(server.fake.asked().len(), 1);
}

#[tokio::test]
async fn an_oversized_body_is_refused_although_it_does_not_tell_its_length() {
    let server = Server::start().await;
    let head = "POST /pr/octo/shop/7/event HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-that-operates\r\nTransfer-Encoding: chunked\r\n\r\n";
    // More than the server takes, and less than it would have to read to find the end.
    let size = 1024 * 1024 + 1;
    let mut request = format!("{head}{size:x}\r\n").into_bytes();
    request.resize(request.len() + size, b' ');
    assert_status(&server, &request, "413").await;
    assert_eq!(server.fake.asked(), [""; 0]);
}

/// Sends bytes, and expects an answer with this status before the end of the request.
async fn assert_status(server: &Server, request: &[u8], status: &str) {
    let mut stream = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    stream.write_all(request).await.expect("a request");
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.expect("an answer");
    let expected = format!("HTTP/1.1 {status}");
    assert_eq!(String::from_utf8_lossy(&start), expected);
}

#[tokio::test]
async fn a_read_token_does_not_operate() {
    let server = Server::start().await;
    for path in ["event", "retry"] {
        for pull in ["/pr/octo/shop/7", "/pr/octo/other/1"] {
            let path = format!("{pull}/{path}");
            let (status, told) = told(server.post(&path, READ, r#"{"type":"RETRY"}"#).await).await;
            assert_eq!(status, 403, "{path}: {told}");
        }
    }
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn an_unknown_token_learns_nothing_about_what_exists() {
    let server = Server::start().await;
    let mut answers = Vec::new();
    for path in ["status", "history", "explain"] {
        for pull in [
            "/pr/octo/shop/7",
            "/pr/octo/shop/8",
            "/pr/octo/none/1",
            "/pr/octo/shop/x",
        ] {
            let path = format!("{pull}/{path}");
            answers.push(told(server.get(&path, "unknown").await).await);
            answers.push(answer(server.request(Method::GET, &path)).await);
        }
    }
    for path in ["/metrics", "/pr"] {
        answers.push(told(server.get(path, "unknown").await).await);
    }
    assert!(answers.iter().all(|one| one.0 == 401), "{answers:?}");
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn pull_requests_that_are_unknown_and_addresses_that_cannot_exist_are_answered_alike() {
    let server = Server::start().await;
    let mut answers = Vec::new();
    for pull in [
        "octo/shop/8",
        "octo/none/1",
        "octo/shop/x",
        "octo/shop/+7",
        "octo/shop/0",
        "octo/sh%2Fop/7",
    ] {
        let path = format!("/pr/{pull}/status");
        answers.push(told(server.get(&path, READ).await).await);
    }
    assert!(answers.iter().all(|one| one.0 == 404), "{answers:?}");
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn a_token_in_another_place_or_form_is_no_token() {
    let server = Server::start().await;
    let path = "/pr/octo/shop/7/status";
    let with = |value: String| {
        let request = server.request(Method::GET, path);
        answer(request.header("Authorization", value))
    };
    assert_eq!(with(format!("bearer {READ}")).await.0, 200);
    for value in [
        READ.to_owned(),
        format!("Basic {READ}"),
        "Bearer ".to_owned(),
        format!("Bearer {}", "a".repeat(10_000)),
    ] {
        assert_eq!(with(value).await.0, 401);
    }
    let in_query = format!("{path}?token={READ}&access_token={READ}");
    let (status, _) = answer(server.request(Method::GET, &in_query)).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn a_token_has_a_rate_and_others_do_not_pay_for_it() {
    let limits = HttpLimits {
        requests_per_minute: 3,
        ..HttpLimits::default()
    };
    let server = Server::with(limits, 1.0).await;
    for _ in 0..3 {
        assert_eq!(server.get("/pr", READ).await.status(), 200);
    }
    let refused = server.get("/pr", READ).await;
    assert_eq!(refused.status(), 429);
    let wait = refused.headers()["retry-after"].to_str().expect("a text");
    assert!(
        (1..=21).contains(&wait.parse::<u64>().expect("seconds")),
        "{wait}"
    );
    assert_eq!(server.get("/pr", OPERATE).await.status(), 200);
}

#[tokio::test]
async fn an_address_has_a_rate_and_webhooks_do_not_pay_for_it() {
    let limits = HttpLimits {
        requests_per_minute_per_address: 4,
        ..HttpLimits::default()
    };
    let server = Server::with(limits, 1.0).await;
    assert_eq!(server.get("/pr", "guess-1").await.status(), 401);
    assert_eq!(server.get("/pr", "guess-2").await.status(), 401);
    assert_eq!(server.get("/nothing", "").await.status(), 404);
    assert_eq!(server.get("/healthz", "").await.status(), 200);
    assert_eq!(server.get("/pr", READ).await.status(), 429);
    assert_eq!(server.fake.asked(), [""; 0]);
    assert_eq!(answer(server.webhook("one", "{}")).await.0, 202);
}

#[tokio::test]
async fn a_client_that_sends_its_headers_slowly_is_cut_off() {
    let server = Server::with(HttpLimits::default(), 0.01).await;
    for start in ["", "GET /healthz HTTP/1.1\r\nHost: x\r\n"] {
        let mut stream = TcpStream::connect(server.address)
            .await
            .expect("a connection");
        stream.write_all(start.as_bytes()).await.expect("a start");
        // Ends only because the server closes the connection.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.expect("an end");
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{start:?}");
    }
}

#[tokio::test]
async fn a_client_that_sends_its_body_slowly_is_cut_off() {
    let server = Server::with(HttpLimits::default(), 0.01).await;
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {}\r\nContent-Length: 100\r\n\r\n{{",
        signature(b"{}")
    );
    let mut stream = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("a start");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.expect("an end");
    assert!(rest.starts_with("HTTP/1.1 408"), "{rest}");
    assert_eq!(server.fake.asked(), [""; 0]);
}
