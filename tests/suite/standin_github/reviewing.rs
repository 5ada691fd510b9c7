//! A reviewer posts; GitHub accepts or refuses.

use http::Method;
use serde_json::{Value, json};

use super::{Answer, REPOSITORY, get, post, pulls, review, small_pull, try_call};
use crate::standin::github::{Fault, GitHub, Identity, Write};

fn refusal(answer: &Answer) -> &str {
    assert_eq!(answer.status, 422, "{answer:?}");
    answer.json["errors"][0].as_str().unwrap()
}

#[test]
fn a_review_becomes_threads_at_the_lines_it_names() {
    let (github, _, head) = small_pull();
    let comments = json!([
        { "path": "src/a.ts", "line": 5, "side": "RIGHT", "body": "changed line" },
        { "path": "src/a.ts", "line": 15, "side": "LEFT", "body": "removed line" },
        { "path": "src/a.ts", "line": 6, "start_line": 4, "start_side": "RIGHT", "body": "a range" },
    ]);
    let mut sent = review(&comments);
    sent["commit_id"] = json!(head);
    let answer = post(&github, &pulls("1/reviews"), &sent);
    assert_eq!(
        (answer.status, &answer.json["state"]),
        (200, &json!("COMMENTED"))
    );

    assert_eq!(github.expect_review(), sent);
    assert_eq!(github.threads().len(), 3);
    let listed = get(
        &github,
        &pulls(&format!("1/reviews/{}/comments", answer.json["id"])),
    )
    .json;
    let places: Vec<Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["line"], one["side"]]))
        .collect();
    assert_eq!(
        places,
        [
            json!([5, "RIGHT"]),
            json!([15, "LEFT"]),
            json!([6, "RIGHT"])
        ]
    );
    assert!(
        listed[0]["diff_hunk"]
            .as_str()
            .unwrap()
            .ends_with("-line 5\n+changed")
    );
    github.finish();
}

#[test]
fn one_bad_anchor_refuses_the_whole_review() {
    let (github, _, _) = small_pull();
    let good = json!({ "path": "src/a.ts", "line": 5, "body": "fine" });
    let cases = [
        (
            json!({ "path": "src/a.ts", "line": 10, "body": "x" }),
            "line must be part of the diff",
        ),
        (
            json!({ "path": "src/a.ts", "line": 5, "side": "LEFT", "start_line": 5, "start_side": "LEFT", "body": "x" }),
            "must precede",
        ),
        (
            json!({ "path": "src/a.ts", "line": 4, "side": "LEFT", "body": "context" }),
            "line must be part of the diff",
        ),
        (
            json!({ "path": "src/a.ts", "line": 16, "start_line": 5, "start_side": "RIGHT", "body": "x" }),
            "same hunk",
        ),
        (
            json!({ "path": "b.txt", "line": 1, "body": "not changed" }),
            "path is invalid",
        ),
        (
            json!({ "path": "src/a.ts", "body": "no line" }),
            "diff hunk can't be blank",
        ),
        (
            json!({ "path": "src/a.ts", "line": 5, "body": "x".repeat(65_537) }),
            "Body is too long",
        ),
    ];
    for (bad, words) in cases {
        let answer = post(&github, &pulls("1/reviews"), &review(&json!([good, bad])));
        assert!(refusal(&answer).contains(words), "{bad}: {answer:?}");
    }
    assert!(github.comments().is_empty());
    github.finish();
}

#[test]
fn a_review_needs_words_and_a_commit_of_the_pull_request() {
    let (github, _, _) = small_pull();
    let silent = post(&github, &pulls("1/reviews"), &json!({ "event": "COMMENT" }));
    assert_eq!(refusal(&silent), "Body can't be blank");
    let base = github.pull(1, |pull| pull.base.sha.clone());
    let stale = post(
        &github,
        &pulls("1/reviews"),
        &json!({ "event": "COMMENT", "body": "x", "commit_id": base }),
    );
    assert!(refusal(&stale).contains("end_commit_oid is not part of the pull request"));
    let approval = post(&github, &pulls("1/reviews"), &json!({ "event": "APPROVE" }));
    assert!(refusal(&approval).contains("not permitted to approve"));
    github.finish();
}

#[test]
fn a_key_that_github_does_not_know_is_refused_and_remembered() {
    let (github, _, _) = small_pull();
    let comments = json!([{ "path": "src/a.ts", "line": 5, "body": "x", "subject_type": "line" }]);
    assert_eq!(
        post(&github, &pulls("1/reviews"), &review(&comments)).status,
        422
    );
    let violations = github.take_violations();
    assert!(
        violations[0].contains("comments.subject_type"),
        "{violations:?}"
    );
    let wrong_type = json!([{ "path": "src/a.ts", "line": "5", "body": "x" }]);
    assert_eq!(
        post(&github, &pulls("1/reviews"), &review(&wrong_type)).status,
        422
    );
    assert!(github.take_violations()[0].contains("integer"));
    github.finish();
}

#[test]
fn a_file_comment_and_a_single_comment_stand_alone() {
    let (github, _, head) = small_pull();
    let file = json!({ "path": "src/a.ts", "commit_id": head, "subject_type": "file", "body": "whole file" });
    let answer = post(&github, &pulls("1/comments"), &file);
    assert_eq!((answer.status, &answer.json["line"]), (201, &Value::Null));
    assert_eq!(github.expect_comment(), file);
    let outside = json!({ "path": "src/a.ts", "commit_id": head, "line": 10, "body": "x" });
    let answer = post(&github, &pulls("1/comments"), &outside);
    assert_eq!(answer.status, 422);
    assert!(
        answer.json["errors"][0]["message"]
            .as_str()
            .unwrap()
            .ends_with("must be part of the diff")
    );
    github.finish();
}

/// Adds a comment on a file as a whole to a draft by GraphQL.
fn on_file(github: &GitHub, token: &str, review: &Value, path: &str) -> Value {
    let query = "mutation($review: ID!, $path: String!) {
        addPullRequestReviewThread(input: { pullRequestReviewId: $review, path: $path, body: \"b\", subjectType: FILE }) {
            thread { subjectType line comments(first: 1) { nodes { state } } }
        }
    }";
    let body = json!({ "query": query, "variables": { "review": review, "path": path } });
    let answer = try_call(github, token, Method::POST, "/graphql", Some(&body)).unwrap();
    answer.json
}

#[test]
fn a_draft_takes_comments_on_files_for_its_author_until_it_is_submitted() {
    let (github, _, _) = small_pull();
    let person = Identity::person("writer", &["pull-requests:write"]);
    github.token("person", person);
    let line = json!([{ "path": "src/a.ts", "line": 5, "side": "RIGHT", "body": "one" }]);
    let draft = post(
        &github,
        &pulls("1/reviews"),
        &json!({ "body": "x", "comments": line }),
    );
    assert_eq!(draft.json["state"], "PENDING");
    let (id, node) = (&draft.json["id"], &draft.json["node_id"]);
    // A second draft, a review or a comment beside it is refused.
    for (path, body) in [
        ("1/reviews", json!({ "body": "y" })),
        ("1/reviews", review(&json!([]))),
    ] {
        let second = post(&github, &pulls(path), &body);
        assert!(refusal(&second).contains("one pending review"));
    }
    let beside = json!({ "path": "src/a.ts", "subject_type": "file", "body": "x", "commit_id": github.pull(1, |pull| pull.head.sha.clone()) });
    assert_eq!(post(&github, &pulls("1/comments"), &beside).status, 422);

    let made = on_file(&github, GitHub::TOKEN, node, "src/a.ts");
    let thread = &made["data"]["addPullRequestReviewThread"]["thread"];
    let expected = json!({ "subjectType": "FILE", "line": null, "comments": { "nodes": [{ "state": "PENDING" }] } });
    assert_eq!(*thread, expected);
    let outside = on_file(&github, GitHub::TOKEN, node, "b.txt");
    assert_eq!(outside["errors"][0]["type"], "UNPROCESSABLE", "{outside}");
    let foreign = on_file(&github, "person", node, "src/a.ts");
    assert_eq!(foreign["errors"][0]["type"], "NOT_FOUND", "{foreign}");

    // Nobody else sees any of it.
    let listed = |token: &str, path: &str| {
        let answer = try_call(&github, token, Method::GET, &pulls(path), None).unwrap();
        answer.json.as_array().map(Vec::len)
    };
    let of_draft = format!("1/reviews/{id}/comments");
    assert_eq!(listed(GitHub::TOKEN, "1/reviews"), Some(1));
    assert_eq!(listed(GitHub::TOKEN, &of_draft), Some(2));
    assert_eq!(listed("person", "1/reviews"), Some(0));
    assert_eq!(listed("person", &of_draft), None);
    assert_eq!(listed(GitHub::TOKEN, "1/comments"), Some(0));
    assert!(github.comments().is_empty() && github.threads().is_empty());

    let submit = json!({ "event": "COMMENT", "body": "The review." });
    let path = pulls(&format!("1/reviews/{id}/events"));
    let theirs = try_call(&github, "person", Method::POST, &path, Some(&submit)).unwrap();
    assert_eq!(theirs.status, 404);
    let submitted = post(&github, &path, &submit);
    assert_eq!(submitted.json["body"], "The review.");
    let said = github.expect_review();
    assert_eq!(
        said["comments"][1],
        json!({ "path": "src/a.ts", "subject_type": "file", "body": "b" })
    );
    assert_eq!(listed("person", "1/comments"), Some(2));
    assert_eq!(
        post(&github, &path, &submit).status,
        422,
        "submitted already"
    );
    let path = pulls(&format!("1/reviews/{id}"));
    let deleted = try_call(&github, GitHub::TOKEN, Method::DELETE, &path, None).unwrap();
    assert_eq!(deleted.status, 422, "submitted already");

    // Beside a draft no reply is taken either.
    let next = post(&github, &pulls("1/reviews"), &json!({ "body": "y" }));
    let root = github.remark(1, "dev", ("src/a.ts", 5), "Why?");
    let replies = pulls(&format!("1/comments/{root}/replies"));
    let reply = post(&github, &replies, &json!({ "body": "So." }));
    assert!(refusal(&reply).contains("one pending review"));
    let path = pulls(&format!("1/reviews/{}", next.json["id"]));
    let deleted = try_call(&github, GitHub::TOKEN, Method::DELETE, &path, None).unwrap();
    assert_eq!(deleted.status, 200);
    let late = on_file(&github, GitHub::TOKEN, node, "src/a.ts");
    assert_eq!(late["errors"][0]["type"], "UNPROCESSABLE", "{late}");
    github.finish();
}

#[test]
fn tokens_decide_who_may_write() {
    let (github, _, head) = small_pull();
    github.token(
        "reader",
        Identity::github_actions(&["pull-requests:read", "contents:read"]),
    );
    let say = |token: &str| {
        let body = json!({ "body": "hello" });
        let path = format!("{REPOSITORY}/issues/1/comments");
        try_call(&github, token, Method::POST, &path, Some(&body)).unwrap()
    };
    assert_eq!(say("unknown").json["message"], "Bad credentials");
    let refused = say("reader");
    assert_eq!(
        (refused.status, &refused.json["message"]),
        (403, &json!("Resource not accessible by integration"))
    );
    assert_eq!(say(GitHub::TOKEN).status, 201);
    assert_eq!(github.expect_issue_comment(), "hello");

    github.token("person", Identity::person("writer", &["checks:write"]));
    let check = json!({ "name": "check", "head_sha": head });
    let path = format!("{REPOSITORY}/check-runs");
    let answer = try_call(&github, "person", Method::POST, &path, Some(&check)).unwrap();
    assert_eq!(
        (answer.status, &answer.json["message"]),
        (403, &json!("You must authenticate via a GitHub App."))
    );
    github.finish();
}

#[test]
fn a_check_run_is_opened_and_concluded() {
    let (github, _, head) = small_pull();
    let path = format!("{REPOSITORY}/check-runs");
    let opened = post(
        &github,
        &path,
        &json!({ "name": "OpenCode review", "head_sha": head, "status": "in_progress" }),
    );
    assert_eq!(opened.status, 201);
    let output = json!({ "title": "Nothing to report", "summary": "All passes finished.", "text": "record" });
    let conclude = json!({ "conclusion": "success", "output": output });
    let one = format!("{path}/{}", opened.json["id"]);
    let concluded = try_call(&github, GitHub::TOKEN, Method::PATCH, &one, Some(&conclude)).unwrap();
    assert_eq!(
        (concluded.status, &concluded.json["status"]),
        (200, &json!("completed"))
    );
    let run = github.expect_check_run();
    assert_eq!(
        (run.conclusion.as_deref(), run.title.as_deref()),
        (Some("success"), Some("Nothing to report"))
    );

    let list = format!(
        "{REPOSITORY}/commits/{head}/check-runs?check_name=OpenCode%20review&filter=latest&per_page=1"
    );
    assert_eq!(
        get(&github, &list).json["check_runs"][0]["output"]["text"],
        "record"
    );
    assert_eq!(
        post(
            &github,
            &path,
            &json!({ "name": "x", "head_sha": "0".repeat(40) })
        )
        .status,
        422
    );
    github.finish();
}

#[test]
fn faults_happen_before_or_after_the_write() {
    let (github, _, _) = small_pull();
    let path = format!("{REPOSITORY}/issues/1/comments");
    let say = |text: &str| {
        let body = json!({ "body": text });
        try_call(&github, GitHub::TOKEN, Method::POST, &path, Some(&body))
            .map(|answer| answer.status)
    };
    github.on(
        Method::POST,
        &path,
        1,
        Fault::Status(502, json!({ "message": "Server Error" })),
    );
    assert_eq!(say("lost"), Some(502));
    github.on(Method::POST, &path, 1, Fault::Drop);
    assert_eq!(say("dropped"), None);
    assert!(github.take_writes().is_empty());
    github.on(Method::POST, &path, 1, Fault::ApplyThenDrop);
    assert_eq!(say("kept"), None);
    github.on(
        Method::POST,
        &path,
        1,
        Fault::ApplyThenStatus(502, json!({})),
    );
    assert_eq!(say("kept too"), Some(502));
    let kept: Vec<Write> = github.take_writes();
    assert!(
        matches!(
            kept.as_slice(),
            [Write::IssueComment { .. }, Write::IssueComment { .. }]
        ),
        "{kept:?}"
    );
    assert_eq!(github.count(&Method::POST, &path), 4);
    assert_eq!(say("as usual"), Some(201));
    github.expect_issue_comment();
    github.finish();
}

#[test]
#[should_panic(expected = "writes that the test did not expect")]
fn an_unexpected_write_fails_the_test() {
    let (github, _, _) = small_pull();
    post(
        &github,
        &format!("{REPOSITORY}/issues/1/comments"),
        &json!({ "body": "hello" }),
    );
    github.finish();
}

#[test]
#[should_panic(expected = "requests that GitHub does not know")]
fn an_unknown_route_fails_the_test() {
    let (github, _, _) = small_pull();
    assert_eq!(get(&github, "/users/dev").status, 404);
    github.finish();
}

/// The token of somebody, who may review.
fn reviewing_as(github: &GitHub, login: &str) -> String {
    let token = format!("token-of-{login}");
    github.token(&token, Identity::person(login, &["pull-requests:write"]));
    token
}

fn sent(github: &GitHub, token: &str, method: Method, path: &str, body: &Value) -> Answer {
    try_call(github, token, method, &pulls(path), Some(body)).expect("an answer")
}

#[test]
fn nobody_judges_their_own_pull_request_and_actions_approve_only_where_the_repository_lets_them() {
    let (github, _, _) = small_pull();
    let dev = reviewing_as(&github, "dev");
    for (event, words) in [
        ("APPROVE", "Can not approve your own pull request"),
        (
            "REQUEST_CHANGES",
            "Can not request changes on your own pull request",
        ),
    ] {
        let body = json!({ "event": event, "body": "x" });
        let answer = sent(&github, &dev, Method::POST, "1/reviews", &body);
        assert_eq!(refusal(&answer), words);
    }
    let approval = json!({ "event": "APPROVE" });
    let refused = post(&github, &pulls("1/reviews"), &approval);
    assert!(refusal(&refused).contains("not permitted to approve"));
    github.with(|state| state.repository.actions_may_approve = true);
    let approved = post(&github, &pulls("1/reviews"), &approval);
    assert_eq!(approved.json["state"], "APPROVED");
    github.expect_review();
    github.finish();
}

#[test]
fn a_judgement_is_dismissed_once_with_a_message_and_not_past_a_protection() {
    let (github, _, _) = small_pull();
    let said = review(&json!([]));
    let remark = post(&github, &pulls("1/reviews"), &said).json["id"].clone();
    let mut blocks = said.clone();
    blocks["event"] = json!("REQUEST_CHANGES");
    let request = post(&github, &pulls("1/reviews"), &blocks).json["id"].clone();
    github.take_writes();
    let message = json!({ "message": "Nothing blocks any more." });
    let dismiss = |id: &Value, body: &Value| {
        let path = format!("1/reviews/{id}/dismissals");
        sent(&github, GitHub::TOKEN, Method::PUT, &path, body)
    };
    let nothing = dismiss(&remark, &message);
    assert_eq!(
        refusal(&nothing),
        "Can not dismiss a commented pull request review"
    );
    assert_eq!(dismiss(&json!(1), &message).status, 404);
    assert_eq!(
        refusal(&dismiss(&request, &json!({ "message": " " }))),
        "Message can't be blank"
    );
    github.with(|state| state.repository.restricts_dismissals = true);
    assert_eq!(dismiss(&request, &message).status, 403);
    github.with(|state| state.repository.restricts_dismissals = false);
    assert_eq!(dismiss(&request, &message).json["state"], "DISMISSED");
    let (id, words) = github.expect_dismissal();
    assert_eq!(
        (json!(id), words.as_str()),
        (request.clone(), "Nothing blocks any more.")
    );
    assert_eq!(
        refusal(&dismiss(&request, &message)),
        "Can not dismiss a dismissed pull request review"
    );
    github.finish();
}
