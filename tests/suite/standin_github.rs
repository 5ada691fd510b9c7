//! The GitHub stand-in is trusted by every other test, so it is tested first: it answers in GitHub's shapes, refuses
//! what GitHub refuses, and lets nothing pass in silence.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "test code: a failure here is a failure of the test"
)]

mod answers;
mod discussion;
mod publishing;
mod pushing;
mod reading;
mod reviewing;

use http::Method;
use serde_json::{Value, json};

use crate::standin::github::{Change, GitHub};

const REPOSITORY: &str = "/repos/octo/shop";

/// Twenty numbered lines; the pull request changes line 5, removes line 15 and adds a line after 20.
fn numbered(changes: &[(usize, Option<&str>)]) -> String {
    (1..=20)
        .filter_map(
            |number| match changes.iter().find(|(one, _)| *one == number) {
                Some((_, line)) => line.map(str::to_owned),
                None => Some(format!("line {number}")),
            },
        )
        .fold(String::new(), |text, line| text + &line + "\n")
}

/// A pull request by `dev` that changes `src/a.ts` in two hunks, and where `writer` may write.
fn small_pull() -> (GitHub, u64, String) {
    let github = GitHub::start("octo/shop");
    github.permit("writer", "write");
    let base = github.commit(
        "main",
        &[],
        &[
            Change::write("src/a.ts", numbered(&[])),
            Change::write("b.txt", "b\n"),
        ],
    );
    let after = numbered(&[(5, Some("changed")), (15, None)]);
    let head = github.commit("feature", &[&base], &[Change::write("src/a.ts", after)]);
    let pull = github.open_pull("dev", "feature", "main");
    (github, pull, head)
}

#[derive(Debug)]
struct Answer {
    status: u16,
    link: String,
    json: Value,
}

/// One request with the workflow's token; `None` where the connection was dropped.
fn try_call(
    github: &GitHub,
    token: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Option<Answer> {
    let prefix = if path == "/graphql" {
        "/api"
    } else {
        "/api/v3"
    };
    let url = if path.starts_with("http") {
        path.to_owned()
    } else {
        format!("{}{prefix}{path}", github.url())
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder()
            .no_proxy()
            .user_agent("suite")
            .build()
            .unwrap();
        let mut request = client.request(method, url).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.ok()?;
        let link = response
            .headers()
            .get("link")
            .map(|link| link.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let bytes = response.bytes().await.unwrap();
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        Some(Answer {
            status,
            link: link.unwrap_or_default(),
            json,
        })
    })
}

fn get(github: &GitHub, path: &str) -> Answer {
    try_call(github, GitHub::TOKEN, Method::GET, path, None).expect("an answer")
}

fn post(github: &GitHub, path: &str, body: &Value) -> Answer {
    try_call(github, GitHub::TOKEN, Method::POST, path, Some(body)).expect("an answer")
}

fn graphql(github: &GitHub, query: &str, variables: &Value) -> Value {
    post(
        github,
        "/graphql",
        &json!({ "query": query, "variables": variables }),
    )
    .json
}

fn pulls(tail: &str) -> String {
    format!("{REPOSITORY}/pulls/{tail}")
}

/// A review with these comments.
fn review(comments: &Value) -> Value {
    json!({ "event": "COMMENT", "body": "Two remarks.", "comments": comments })
}

/// One finding on the changed line; returns its comment id.
fn posted_finding(github: &GitHub) -> u64 {
    let comments = json!([{ "path": "src/a.ts", "line": 5, "side": "RIGHT", "body": "Why?" }]);
    let answer = post(github, &pulls("1/reviews"), &review(&comments));
    assert_eq!(answer.status, 200, "{answer:?}");
    github.expect_review();
    github.comments().last().unwrap().id
}
