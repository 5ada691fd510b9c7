//! Tests that GitHub's answers, with all that they may leave out, become what the rest of the program reads.

use super::super::*;
use super::{BASE, HEAD, Server, key, ok, refused};
use axum::response::{IntoResponse, Response};
use reviewer_core::domain::{CommentId, Conclusion, Login, Side};
use reviewer_core::event::Association;
use serde_json::{Value, json};

#[tokio::test]
async fn graphql_goes_to_its_own_address_and_its_errors_are_errors() {
    let server = Server::answering(|turn, _| match turn {
        0 => ok(&json!({"data": {"viewer": {"login": "github-actions[bot]"}}})),
        _ => ok(&json!({"data": {"resolveReviewThread": null}, "errors": [
            {"type": "FORBIDDEN", "path": ["resolveReviewThread"], "message": "Resource not accessible by integration"}]})),
    })
    .await;
    let client = server.client();
    assert_eq!(
        client.viewer().await.unwrap(),
        Login::new("github-actions[bot]")
    );
    let error = client.resolve("PRRT_1").await.expect_err("forbidden");
    assert!(error.is_permission(), "{error}");
    let asked = server.asked();
    assert_eq!(
        (asked[0].at.as_str(), asked[1].at.as_str()),
        ("/api/graphql", "/api/graphql")
    );
    assert_eq!(asked[1].body["variables"], json!({"id": "PRRT_1"}));
    assert_eq!(asked[1].header("authorization"), "Bearer ghs_secret");
}

fn thread(id: &str, comments: &Value, next: Option<&str>) -> Value {
    json!({"id": id, "isResolved": true, "isOutdated": false, "viewerCanResolve": false,
        "viewerCanUnresolve": true,
        "resolvedBy": {"__typename": "User", "login": "writer"},
        "comments": {"pageInfo": {"hasNextPage": next.is_some(), "endCursor": next}, "nodes": comments}})
}

fn threads_page(nodes: &Value, next: Option<&str>) -> Response {
    ok(
        &json!({"data": {"viewer": {"login": "github-actions[bot]"}, "repository": {"pullRequest": {"reviewThreads": {
        "pageInfo": {"hasNextPage": next.is_some(), "endCursor": next}, "nodes": nodes}}}}}),
    )
}

#[tokio::test]
async fn threads_are_read_to_the_last_page_and_the_last_comment() {
    let comment =
        |id: u64| json!({"fullDatabaseId": id.to_string(), "lastEditedAt": null, "editor": null});
    let server = Server::answering(move |turn, _| match turn {
        0 => threads_page(&json!([thread("PRRT_1", &json!([comment(10)]), Some("c1")), null]), Some("t1")),
        1 => ok(&json!({"data": {"node": {"comments": {"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": [
            {"fullDatabaseId": "9007199254740993", "lastEditedAt": "2026-01-01T00:00:00Z",
             "editor": {"__typename": "Bot", "login": "github-actions"}}, null]}}}})),
        _ => threads_page(&json!([thread("PRRT_1", &json!([]), None), thread("PRRT_2", &json!([comment(20)]), None)]), None),
    })
    .await;
    let (viewer, threads) = server.client().review_threads(&key()).await.unwrap();
    assert_eq!(viewer, Login::new("github-actions[bot]"));
    assert_eq!(threads.len(), 2);
    assert_eq!(threads[0].root_comment, Some(CommentId(10)));
    assert_eq!(
        threads[0].comments,
        [CommentId(10), CommentId(9_007_199_254_740_993)]
    );
    let editor = Some(Login::new("github-actions[bot]"));
    assert_eq!(
        threads[0].edited,
        [Edit {
            comment: CommentId(9_007_199_254_740_993),
            editor
        }]
    );
    assert_eq!(threads[0].resolved_by, Some(Login::new("writer")));
    assert_eq!(threads[1].node_id, "PRRT_2");
    let cursors: Vec<Value> = server
        .asked()
        .iter()
        .map(|asked| asked.body["variables"]["after"].clone())
        .collect();
    assert_eq!(cursors, [Value::Null, json!("c1"), json!("t1")]);
}

#[tokio::test]
async fn a_pull_request_of_a_deleted_fork_and_a_deleted_account_is_read() {
    let server = Server::answering(|_, _| {
        ok(&json!({
            "number": 7, "title": "Fix", "body": null, "state": "open", "locked": false, "draft": true, "merged": false,
            "user": null, "labels": [{"id": 1, "name": "skip-review"}], "html_url": "https://x/7", "changed_files": 2,
            "head": {"sha": HEAD, "ref": "fix", "repo": null, "user": null},
            "base": {"sha": BASE, "ref": "main", "repo": {"id": 1, "full_name": "acme/shop"}},
        }))
    })
    .await;
    let pull = server.client().pull_request(&key()).await.unwrap();
    assert!(pull.from_fork && pull.draft && pull.state == PullState::Open);
    assert_eq!(
        (pull.author, pull.body.as_str(), pull.head_repo),
        (None, "", None)
    );
    assert_eq!(pull.labels, ["skip-review"]);
    assert_eq!(
        (pull.head_sha.as_str(), pull.base_sha.as_str()),
        (HEAD, BASE)
    );
}

#[tokio::test]
async fn outdated_and_orphaned_comments_are_read() {
    let server = Server::answering(|_, asked| {
        if asked.at.contains("/issues/") {
            return ok(&json!([{"id": 5, "user": null, "body": null, "author_association": "NONE"}]));
        }
        ok(&json!([
            {"id": 1, "user": {"login": "dev", "id": 3}, "author_association": "MEMBER", "body": "x", "path": "a.rs",
             "line": null, "original_line": 4, "start_line": null, "side": "LEFT", "position": null,
             "commit_id": HEAD, "original_commit_id": BASE, "subject_type": "line", "pull_request_review_id": null},
            {"id": 2, "in_reply_to_id": 1, "user": null, "body": null, "path": "a.rs", "subject_type": "file"},
        ]))
    })
    .await;
    let comments = server.client().review_comments(&key()).await.unwrap();
    assert_eq!(
        (
            comments[0].line,
            comments[0].original_line,
            comments[0].side
        ),
        (None, Some(4), Side::Left)
    );
    assert_eq!(comments[0].association, Association::Member);
    assert_eq!(comments[1].association, Association::Other);
    assert_eq!(
        (comments[1].in_reply_to, &comments[1].author),
        (Some(CommentId(1)), &None)
    );
    assert!(comments[1].on_file && comments[1].body.is_empty());
    let issue = server.client().issue_comments(&key()).await.unwrap();
    assert_eq!((issue[0].id, issue[0].body.as_str()), (CommentId(5), ""));
}

#[tokio::test]
async fn a_check_run_is_opened_concluded_and_found_again() {
    let server = Server::answering(|turn, _| match turn {
        0 => refused(201, &json!({"id": 4})),
        1 => ok(&json!({"id": 4})),
        _ => ok(&json!({"total_count": 1, "check_runs": [{"id": 4, "status": "completed", "conclusion": "success",
            "external_id": "run-1", "output": {"text": "record"}, "app": {"slug": "github-actions"}}]})),
    })
    .await;
    let (client, repo) = (server.client(), key().repo);
    let output = |text: Option<&str>| CheckOutput {
        title: "Reviewing".to_owned(),
        summary: "s".repeat(70_000),
        text: text.map(str::to_owned),
    };
    let check = NewCheckRun {
        name: "OpenCode review".to_owned(),
        head_sha: HEAD.parse().unwrap(),
        external_id: "run-1".to_owned(),
        details_url: None,
        output: output(None),
        conclusion: None,
    };
    let id = client.create_check_run(&repo, &check).await.unwrap();
    client
        .conclude(&repo, id, Conclusion::Success, &output(Some("record")))
        .await
        .unwrap();
    let runs = client
        .check_runs(&repo, &check.head_sha, &check.name)
        .await
        .unwrap();
    assert_eq!(
        (
            runs[0].id,
            runs[0].text.as_deref(),
            runs[0].app_slug.as_deref()
        ),
        (4, Some("record"), Some("github-actions"))
    );
    let asked = server.asked();
    assert_eq!(asked[0].body["status"], "in_progress");
    assert_eq!(
        asked[0].body["output"]["summary"].as_str().map(str::len),
        Some(65_535)
    );
    assert_eq!(
        (asked[1].method.as_str(), asked[1].at.as_str()),
        ("PATCH", "/api/v3/repos/acme/shop/check-runs/4")
    );
    assert_eq!(asked[1].body["conclusion"], "success");
    let route = format!(
        "/api/v3/repos/acme/shop/commits/{HEAD}/check-runs?check_name=OpenCode%20review&filter=all&per_page=100"
    );
    assert_eq!(asked[2].at, route);
}

#[tokio::test]
async fn an_answer_that_is_not_githubs_is_an_error_and_not_an_empty_list() {
    for body in ["", "{}", "[{\"id\":\"x\"}]", "[{\"id\":1}"] {
        let server = Server::answering(move |_, _| body.into_response()).await;
        let error = server
            .client()
            .issue_comments(&key())
            .await
            .expect_err(body);
        assert!(matches!(error, ApiError::Decode { .. }), "{error}");
    }
}
