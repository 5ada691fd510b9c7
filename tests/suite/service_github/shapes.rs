//! The stand-in's answers to these calls are GitHub's, by its own description.

use super::*;
use crate::standin::github::response_errors;
use crate::standin::github::webhooks::{HookConfig, RepositoryHook, Webhooks};
use serde_json::{Value, json};

/// Whoever signs as the app.
const SIGNED: &str = "signed";

async fn answered(
    github: &GitHub,
    token: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let url = format!("{}/api/v3{path}", github.url());
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let request = reqwest::Client::new().request(method, url);
    let mut request = request.bearer_auth(token).header("user-agent", "test");
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn is_githubs(method: &str, template: &str, (status, answer): &(u16, Value)) {
    let errors = response_errors(method, template, *status, answer);
    assert_eq!(errors, Vec::<String>::new(), "{method} {template}");
}

#[tokio::test]
async fn merges_and_requests_for_reviews_are_answered_as_github_does() {
    let (github, number) = shop();
    let repository = "/repos/{owner}/{repo}/pulls/{pull_number}";
    let path = format!("/repos/octo/shop/pulls/{number}");
    let body = json!({"reviewers": ["lead"]});
    let asked = answered(
        &github,
        KEEPER,
        "POST",
        &format!("{path}/requested_reviewers"),
        Some(body),
    )
    .await;
    is_githubs("post", &format!("{repository}/requested_reviewers"), &asked);
    let merged = answered(
        &github,
        KEEPER,
        "PUT",
        &format!("{path}/merge"),
        Some(json!({})),
    )
    .await;
    is_githubs("put", &format!("{repository}/merge"), &merged);
    let shown = answered(&github, KEEPER, "GET", &path, None).await;
    is_githubs("get", repository, &shown);
    assert_eq!(
        (&shown.1["merged"], &shown.1["state"]),
        (&json!(true), &json!("closed"))
    );
    github.take_writes();
    github.finish();
}

#[tokio::test]
async fn the_webhooks_of_a_repository_are_shown_as_github_does_to_its_administrators_only() {
    let (github, _) = shop();
    let right = RepositoryHook {
        config: HookConfig::right("https://reviewer.example/webhook"),
        active: true,
        events: vec!["push".into()],
        answered: Some(202),
    };
    let of = |answered| RepositoryHook {
        answered,
        ..right.clone()
    };
    let hooks = vec![of(None), of(Some(0)), of(Some(202)), of(Some(502))];
    github.with(|state| state.repository.hooks = hooks);
    let path = "/repos/octo/shop/hooks?per_page=100";
    let (status, refusal) = answered(&github, KEEPER, "GET", path, None).await;
    assert_eq!(status, 403, "{refusal}");
    let rights = ["repository-hooks:read", "metadata:read"];
    github.token(KEEPER, Identity::person("keeper", &rights));
    let (status, _) = answered(&github, KEEPER, "GET", path, None).await;
    assert_eq!(status, 404, "keeper may only write");
    github.permit("keeper", "admin");
    let listed = answered(&github, KEEPER, "GET", path, None).await;
    is_githubs("get", "/repos/{owner}/{repo}/hooks", &listed);
    assert_eq!(listed.1.as_array().map(Vec::len), Some(4));
    github.finish();
}

#[tokio::test]
async fn an_app_is_answered_as_github_does() {
    let (github, number) = shop();
    github.register_app("reviewer", &["contents:read"]);
    let mut app = Identity::app("reviewer", &[]);
    app.typename = "App".into();
    github.token(SIGNED, app);
    let hooks = Webhooks::new(&github, "http://127.0.0.1:9/nobody", "secret");
    github.comment(number, "lead", "Hello.");
    hooks.send_all().await;
    for (template, path) in [
        ("/app", "/app"),
        ("/app/installations", "/app/installations"),
        (
            "/repos/{owner}/{repo}/installation",
            "/repos/octo/shop/installation",
        ),
        ("/app/hook/config", "/app/hook/config"),
        ("/app/hook/deliveries", "/app/hook/deliveries?per_page=100"),
    ] {
        let answer = answered(&github, SIGNED, "GET", path, None).await;
        is_githubs("get", template, &answer);
    }
    let path = "/app/installations/77/access_tokens";
    let minted = answered(&github, SIGNED, "POST", path, Some(json!({}))).await;
    is_githubs(
        "post",
        "/app/installations/{installation_id}/access_tokens",
        &minted,
    );
    let token = minted.1["token"].as_str().unwrap();
    let listed = answered(&github, token, "GET", "/installation/repositories", None).await;
    is_githubs("get", "/installation/repositories", &listed);
    let (status, _) = answered(&github, token, "GET", "/app", None).await;
    assert_eq!(status, 401);
    let (status, _) = answered(&github, SIGNED, "GET", "/repos/octo/shop/pulls/1", None).await;
    assert_eq!(status, 403);
    github.finish();
}
