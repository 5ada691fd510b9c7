//! The client against a small server that answers as GitHub does, and badly as GitHub does: what was asked,
//! how often, and what came of it.

mod lists;
mod publishing;
mod rates;
mod service;
mod shapes;

use super::*;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use reviewer_core::domain::{CommentId, Login, PrKey, ReviewEvent, Side};
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

const HEAD: &str = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
const BASE: &str = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e";

#[derive(Debug, Clone)]
struct Asked {
    method: Method,
    /// Path and query.
    at: String,
    headers: HeaderMap,
    body: Value,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// The n-th request, counted from 0, and its answer.
type Script = Arc<dyn Fn(usize, &Asked) -> Response + Send + Sync>;

#[derive(Clone)]
struct Server {
    script: Script,
    asked: Arc<Mutex<Vec<Asked>>>,
    address: String,
}

impl Server {
    async fn answering(script: impl Fn(usize, &Asked) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            script: Arc::new(script),
            asked: Arc::default(),
            address: format!("http://{}", listener.local_addr().unwrap()),
        };
        let router = axum::Router::new()
            .fallback(answer)
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    /// As on GitHub Enterprise Server, where the two addresses have paths of their own.
    fn client(&self) -> GitHub {
        let (api, graphql) = (
            format!("{}/api/v3", self.address),
            format!("{}/api/graphql", self.address),
        );
        GitHub::new(
            &api,
            &graphql,
            &SecretString::from("ghs_secret"),
            Clock::scaled(0.001),
            &[],
        )
        .unwrap()
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.asked().len()
    }
}

async fn answer(
    State(server): State<Server>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let asked = Asked {
        method,
        at: uri.to_string(),
        headers,
        body,
    };
    let turn = {
        let mut all = server.asked.lock().unwrap();
        all.push(asked.clone());
        all.len() - 1
    };
    (server.script)(turn, &asked)
}

fn ok(body: &Value) -> Response {
    (StatusCode::OK, body.to_string()).into_response()
}

fn refused(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

fn key() -> PrKey {
    PrKey {
        repo: "acme/shop".parse().unwrap(),
        number: 7,
    }
}

fn file(number: usize) -> Value {
    json!({"sha": null, "filename": format!("src/{number}.rs"), "status": "modified", "additions": 1, "deletions": 0})
}

fn review() -> NewReview {
    NewReview {
        commit_id: HEAD.parse().unwrap(),
        body: "Two findings.".to_owned(),
        event: Some(ReviewEvent::Comment),
        comments: vec![
            NewReviewComment {
                path: "src/a.rs".to_owned(),
                body: "one".to_owned(),
                line: 12,
                side: Side::Right,
                start_line: Some(10),
                start_side: None,
            },
            NewReviewComment {
                path: "src/a.rs".to_owned(),
                body: "two".to_owned(),
                line: 3,
                side: Side::Left,
                start_line: Some(3),
                start_side: None,
            },
        ],
    }
}

#[tokio::test]
async fn three_pages_are_read_to_the_end_and_each_file_once() {
    let server = Server::answering(|turn, asked| {
        let host = asked.header("host");
        let next = |page: usize| {
            let link = format!("<http://{host}/api/v3/repositories/1/pulls/7/files?per_page=100&page={page}>; rel=\"next\"");
            ([("link", link)], Value::Array((0..100).map(|n| file((page - 2) * 99 + n)).collect()).to_string())
        };
        match turn {
            0 => next(2).into_response(),
            1 => next(3).into_response(),
            _ => ok(&json!([file(198), file(199)])),
        }
    })
    .await;
    let files = server.client().files(&key()).await.unwrap();
    assert_eq!(files.len(), 200);
    assert_eq!(
        (files[0].path.as_str(), files[199].path.as_str()),
        ("src/0.rs", "src/199.rs")
    );
    let at: Vec<String> = server.asked().into_iter().map(|asked| asked.at).collect();
    assert_eq!(
        at,
        [
            "/api/v3/repos/acme/shop/pulls/7/files?per_page=100",
            "/api/v3/repositories/1/pulls/7/files?per_page=100&page=2",
            "/api/v3/repositories/1/pulls/7/files?per_page=100&page=3",
        ]
    );
}

#[tokio::test]
async fn pages_that_go_round_in_circles_are_an_error() {
    let server = Server::answering(|turn, _| {
        let link = format!("<http://x/api/v3/list?page={}>; rel=\"next\"", turn % 2);
        ([("link", link)], "[]").into_response()
    })
    .await;
    let error = server.client().files(&key()).await.expect_err("a loop");
    assert!(matches!(error, ApiError::Paging { .. }), "{error}");
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_failing_page_fails_the_list() {
    let server = Server::answering(|turn, _| match turn {
        0 => (
            [("link", "<http://x/api/v3/list?page=2>; rel=\"next\"")],
            "[]",
        )
            .into_response(),
        _ => refused(500, &json!({})),
    })
    .await;
    assert!(server.client().review_comments(&key()).await.is_err());
}

#[tokio::test]
async fn a_read_is_repeated_after_a_bad_gateway_but_not_for_ever() {
    let server = Server::answering(|turn, _| match turn {
        0 => (StatusCode::BAD_GATEWAY, "<html>").into_response(),
        _ => ok(&json!([])),
    })
    .await;
    assert!(server.client().commits(&key()).await.is_ok());
    assert_eq!(server.count(), 2);

    let down = Server::answering(|_, _| refused(503, &json!({}))).await;
    let error = down.client().commits(&key()).await.expect_err("it is down");
    assert_eq!(
        error.to_string(),
        "GitHub answered 503 to the request to list the commits."
    );
    assert_eq!(down.count(), 3);
}

/// The number of writes.
fn posted(server: &Server) -> usize {
    let asked = server.asked();
    asked
        .iter()
        .filter(|one| one.method == Method::POST)
        .count()
}

#[tokio::test]
async fn a_review_answered_by_a_bad_gateway_is_looked_for_before_it_is_sent_again() {
    let there =
        json!({"id": 80, "html_url": "https://x/80", "user": null, "body": "Two findings."});
    let happened = Server::answering(move |_, asked| match asked.method {
        Method::GET => ok(&json!([there])),
        _ => refused(502, &json!({})),
    })
    .await;
    let found = happened.client().create_review(&key(), &review()).await;
    assert_eq!((found.unwrap().id, posted(&happened)), (80, 1));

    let blind = Server::answering(|_, _| refused(502, &json!({}))).await;
    let error = blind.client().create_review(&key(), &review()).await;
    assert!(error.expect_err("502").may_have_happened());
    assert_eq!(
        posted(&blind),
        1,
        "whoever cannot look does not write again"
    );

    let lost = Server::answering(|_, asked| match asked.method {
        Method::GET => ok(&json!([])),
        _ => refused(502, &json!({})),
    })
    .await;
    lost.client()
        .create_review(&key(), &review())
        .await
        .expect_err("it never arrives");
    assert_eq!(posted(&lost), 3, "sent again, and not for ever");
}

#[tokio::test]
async fn a_dismissal_is_looked_for_before_it_is_sent_again() {
    let puts = |server: &Server| {
        let asked = server.asked().into_iter();
        asked.filter(|one| one.method == Method::PUT).count()
    };
    for status in [502, 422] {
        let there = json!({"id": 80, "user": null, "body": "", "state": "DISMISSED"});
        let happened = Server::answering(move |_, asked| match asked.method {
            Method::GET => ok(&json!([there])),
            _ => refused(
                status,
                &json!({"message": "Can not dismiss a dismissed pull request review"}),
            ),
        })
        .await;
        let client = happened.client();
        client.dismiss_review(&key(), 80, "Over.").await.unwrap();
        assert_eq!(puts(&happened), 1);
        assert_eq!(happened.asked()[0].body, json!({"message": "Over."}));
    }
    let protected = Server::answering(|_, _| refused(403, &json!({"message": "Protected"}))).await;
    let refusal = protected.client().dismiss_review(&key(), 80, "Over.").await;
    assert!(refusal.expect_err("403").is_refusal());
    assert_eq!(protected.count(), 1);
}

#[tokio::test]
async fn what_done_twice_is_done_once_is_simply_repeated() {
    let server = Server::answering(|turn, _| match turn {
        0 | 1 => refused(502, &json!({})),
        _ => ok(&json!({"data": {"resolveReviewThread": {"thread": {"id": "PRRT_1"}}}})),
    })
    .await;
    server.client().resolve("PRRT_1").await.unwrap();
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_review_is_sent_in_githubs_words() {
    let server = Server::answering(|_, _| {
        ok(&json!({"id": 80, "html_url": "https://x/80", "user": null, "body": null}))
    })
    .await;
    let posted = server
        .client()
        .create_review(&key(), &review())
        .await
        .unwrap();
    assert_eq!((posted.id, posted.html_url.as_str()), (80, "https://x/80"));
    let asked = &server.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.at.as_str()),
        ("POST", "/api/v3/repos/acme/shop/pulls/7/reviews")
    );
    assert_eq!(
        asked.body,
        json!({
            "commit_id": HEAD, "body": "Two findings.", "event": "COMMENT",
            "comments": [
                {"path": "src/a.rs", "body": "one", "line": 12, "side": "RIGHT", "start_line": 10, "start_side": "RIGHT"},
                {"path": "src/a.rs", "body": "two", "line": 3, "side": "LEFT"},
            ],
        })
    );
    assert_eq!(asked.header("authorization"), "Bearer ghs_secret");
    assert_eq!(asked.header("x-github-api-version"), "2022-11-28");
    assert_eq!(
        asked.header("user-agent"),
        concat!("opencode-reviewer/", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(asked.header("accept"), "application/vnd.github+json");
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_and_neither_often_nor_for_long() {
    let limited = |seconds: &'static str| {
        let body = json!({"message": "You have exceeded a secondary rate limit."}).to_string();
        (StatusCode::FORBIDDEN, [("retry-after", seconds)], body).into_response()
    };
    let server = Server::answering(move |turn, _| {
        if turn == 0 {
            limited("100")
        } else {
            ok(&json!([]))
        }
    })
    .await;
    let before = Clock::scaled(1.0).instant();
    assert!(server.client().reviews(&key()).await.is_ok());
    // A hundred seconds at a thousandth: the wait was real, and went through the clock.
    assert!(before.elapsed() >= Duration::from_millis(100));
    assert_eq!(server.count(), 2);

    let strict = Server::answering(move |_, _| limited("100")).await;
    let error = strict
        .client()
        .reviews(&key())
        .await
        .expect_err("still limited");
    assert!(matches!(error, ApiError::RateLimited { .. }), "{error}");
    assert_eq!(strict.count(), 3);

    let long = Server::answering(move |_, _| limited("3600")).await;
    let error = long.client().reviews(&key()).await.expect_err("too long");
    assert!(error.to_string().contains("3600 seconds"), "{error}");
    assert_eq!(long.count(), 1);

    // A limit says that nothing was done, so a write waits like everything else.
    let write = Server::answering(move |turn, _| match turn {
        0 => limited("1"),
        _ => ok(&json!({"id": 5, "user": null, "body": "x", "path": "a"})),
    })
    .await;
    let reply = write.client().reply(&key(), CommentId(1), "x").await;
    assert_eq!((reply.unwrap().id, write.count()), (CommentId(5), 2));

    let endless = Server::answering(move |_, _| limited("110")).await;
    let client = endless.client();
    for _ in 0..9 {
        client.reviews(&key()).await.expect_err("limited");
    }
    // Five waits use the patience of a run up; after that nothing is repeated.
    assert_eq!(endless.count(), 14);
}

/// Longer than the client waits, so that its error tells how long GitHub asked for.
#[tokio::test]
async fn a_rate_limit_of_graphql_is_known_by_each_of_its_names_and_lasts_as_long_as_its_headers_say()
 {
    let now = Clock::scaled(1.0).now().duration_since(UNIX_EPOCH);
    let reset = (now.unwrap().as_secs() + 3000).to_string();
    let after = ("retry-after", "3600");
    let primary = "API rate limit already exceeded for user ID 1.";
    let secondary = "You have exceeded a secondary rate limit.";
    for (error, headers, seconds) in [
        (
            json!({"type": "RATE_LIMITED", "message": primary}),
            vec![after],
            3600..=3600,
        ),
        (
            json!({"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": primary}),
            vec![
                ("x-ratelimit-remaining", "12"),
                ("x-ratelimit-reset", reset.as_str()),
            ],
            2900..=3000,
        ),
        (
            json!({"extensions": {"code": "graphql_rate_limit"}, "message": "no"}),
            vec![("x-ratelimit-reset", reset.as_str()), after],
            3600..=3600,
        ),
        (json!({"message": secondary}), vec![after], 3600..=3600),
        (
            json!({"type": "RATE_LIMITED", "message": secondary}),
            vec![
                ("x-ratelimit-remaining", "12"),
                ("x-ratelimit-reset", reset.as_str()),
            ],
            60..=60,
        ),
    ] {
        let owned: Vec<(&'static str, String)> = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        let body = json!({"errors": [error]});
        let server = Server::answering(move |_, _| {
            let mut answer = ok(&body);
            for (name, value) in &owned {
                answer.headers_mut().insert(*name, value.parse().unwrap());
            }
            answer
        })
        .await;
        let refused = server.client().viewer().await.expect_err("limited");
        let ApiError::RateLimited { wait, .. } = refused else {
            panic!("{error} is a rate limit, not: {refused}");
        };
        assert!(
            seconds.contains(&wait.as_secs()),
            "{error} {headers:?}: {wait:?}"
        );
    }
}

#[tokio::test]
async fn many_writes_keep_their_distance() {
    let server = Server::answering(|_, _| ok(&json!({"id": 1}))).await;
    let (api, graphql) = (
        format!("{}/api/v3", server.address),
        format!("{}/api/graphql", server.address),
    );
    let client = GitHub::new(
        &api,
        &graphql,
        &SecretString::from("t"),
        Clock::scaled(0.2),
        &[],
    )
    .unwrap();
    let before = Clock::scaled(1.0).instant();
    let repo = key().repo;
    let react = |id| client.react(&repo, ReactTo::IssueComment(CommentId(id)), Reaction::Eyes);
    let reacted = futures_util::future::join_all((1..=12).map(react)).await;
    assert!(reacted.iter().all(Result::is_ok));
    // Ten go out at once, and two a second after each other, at a fifth.
    assert!(before.elapsed() >= Duration::from_millis(400));
    assert_eq!(server.asked()[0].body, json!({"content": "eyes"}));
}

#[tokio::test]
async fn a_wrong_token_a_missing_permission_and_a_missing_pull_request_each_say_so() {
    let server = Server::answering(|turn, _| match turn {
        0 => refused(401, &json!({"message": "Bad credentials"})),
        1 => refused(
            403,
            &json!({"message": "Resource not accessible by integration"}),
        ),
        _ => refused(404, &json!({"message": "Not Found"})),
    })
    .await;
    let client = server.client();
    let said = |error: ApiError| error.to_string();
    let wrong = client.pull_request(&key()).await.expect_err("401");
    assert!(matches!(wrong, ApiError::Unauthorized { .. }));
    assert!(said(wrong).contains("github_token"));
    let forbidden = client
        .reply(&key(), CommentId(1), "x")
        .await
        .expect_err("403");
    assert!(forbidden.is_permission());
    let missing = client.pull_request(&key()).await.expect_err("404");
    assert!(said(missing).contains("there is no such pull request"));
    let gone = client
        .merge_base(&key().repo, &BASE.parse().unwrap(), &HEAD.parse().unwrap())
        .await;
    assert!(said(gone.expect_err("404")).contains("force push"));
    let stranger = client
        .permission(&key().repo, &Login::new("x[bot]"))
        .await
        .unwrap();
    assert_eq!(stranger, Permission::None);
    let at = server.asked().into_iter().map(|asked| asked.at).next_back();
    assert_eq!(
        at.as_deref(),
        Some("/api/v3/repos/acme/shop/collaborators/x%5Bbot%5D/permission")
    );
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_as_such() {
    let client = GitHub::new(
        "http://127.0.0.1:1",
        "http://127.0.0.1:1/graphql",
        &SecretString::from("t"),
        Clock::scaled(0.0),
        &[],
    );
    let error = client.unwrap().viewer().await.expect_err("nobody listens");
    assert!(matches!(error, ApiError::Network { .. }));
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn github_is_reached_through_the_proxy_that_the_run_names() {
    let proxy =
        Server::answering(|_, _| ok(&json!({"data": {"viewer": {"login": "octocat"}}}))).await;
    let client = GitHub::new(
        "http://api.ghe.example",
        "http://api.ghe.example/graphql",
        &SecretString::from("t"),
        Clock::scaled(0.0),
        &[("HTTP_PROXY".into(), proxy.address.clone())],
    );
    assert_eq!(
        client.unwrap().viewer().await.unwrap(),
        Login::new("octocat")
    );
    assert_eq!(proxy.asked()[0].at, "http://api.ghe.example/graphql");
}

#[test]
fn addresses_and_tokens_that_cannot_be_used_are_named() {
    let with = |api: &str, token: &str| {
        let token = SecretString::from(token);
        GitHub::new(
            api,
            "https://api.github.com/graphql",
            &token,
            Clock::scaled(0.0),
            &[],
        )
        .map(drop)
    };
    for wrong in ["", "github.com", "ftp://x", "https://user:hunter2@x"] {
        let said = with(wrong, "t").expect_err(wrong).to_string();
        assert!(
            said.contains("GITHUB_API_URL") && !said.contains("hunter2"),
            "{said}"
        );
    }
    for wrong in ["", "a\nb", "ключ"] {
        assert_eq!(
            with("https://api.github.com", wrong),
            Err(SetupError::Token)
        );
    }
    assert!(
        SetupError::Token
            .to_string()
            .contains("${{ github.token }}")
    );
}
