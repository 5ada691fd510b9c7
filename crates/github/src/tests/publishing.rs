//! Commits, branches, pull requests and labels: each made once, and each refusal told apart.

use super::super::*;
use super::{BASE, HEAD, Server, key, ok, refused};
use axum::http::Method;
use axum::response::Response;
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

const MADE: &str = "1111111111111111111111111111111111111111";
const TRAILER: &str = "Review-Finding: f1";

fn commit() -> NewCommit {
    NewCommit {
        repo: key().repo,
        branch: "fix/cart".to_owned(),
        expected_head: HEAD.parse().unwrap(),
        headline: "Fix 1 review finding".to_owned(),
        body: format!("https://x/review\n\n{TRAILER}"),
        additions: vec![FileAddition {
            path: "src/a.rs".to_owned(),
            contents: b"fn a() {}\n".to_vec(),
        }],
        deletions: vec!["src/b.rs".to_owned()],
    }
}

fn oid(sha: &str) -> Value {
    json!({ "oid": sha })
}

fn answered() -> Response {
    ok(&json!({"data": {"createCommitOnBranch": {"commit": {"oid": MADE, "tree": oid(BASE)}}}}))
}

fn refusal(kind: &str, message: &str) -> Response {
    ok(&json!({"data": {"createCommitOnBranch": null}, "errors": [
        {"type": kind, "path": ["createCommitOnBranch"], "message": message}]}))
}

/// The branch with these commits, newest first: id, parent, message.
fn branch(commits: &[(&str, &str, &str)]) -> Response {
    let nodes = commits.iter().map(|(sha, parent, message)| {
        json!({"oid": sha, "message": message, "tree": oid(BASE), "parents": {"nodes": [oid(parent)]}})
    });
    let history = json!({ "nodes": nodes.collect::<Vec<_>>() });
    ok(&json!({"data": {"repository": {"ref": {"target": {"history": history}}}}}))
}

fn no_branch() -> Response {
    ok(&json!({"data": {"repository": {"ref": null}}}))
}

fn is_mutation(asked: &super::Asked) -> bool {
    asked.body["query"]
        .as_str()
        .unwrap()
        .starts_with("mutation")
}

/// The number of times that the commit was sent.
fn sent(server: &Server) -> usize {
    server.asked().iter().filter(|one| is_mutation(one)).count()
}

fn ours() -> String {
    format!("Fix 1 review finding\n\nhttps://x/review\n\n{TRAILER}\nSigned-off-by: bot")
}

#[tokio::test]
async fn a_commit_is_sent_in_githubs_words() {
    let server = Server::answering(|_, _| answered()).await;
    let made = server.client().create_commit_on_branch(&commit()).await;
    let (sha, tree) = (MADE.parse().unwrap(), BASE.to_owned());
    let already = false;
    assert_eq!(made, Ok(Committed { sha, tree, already }));
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].at, "/api/graphql");
    assert_eq!(
        asked[0].body["variables"]["input"],
        json!({
            "branch": {"repositoryNameWithOwner": "acme/shop", "branchName": "fix/cart"},
            "expectedHeadOid": HEAD,
            "message": {"headline": "Fix 1 review finding", "body": format!("https://x/review\n\n{TRAILER}")},
            "fileChanges": {
                "additions": [{"path": "src/a.rs", "contents": "Zm4gYSgpIHt9Cg=="}],
                "deletions": [{"path": "src/b.rs"}],
            },
        })
    );
}

#[tokio::test]
async fn the_push_token_makes_the_commit_and_nothing_else() {
    let server = Server::answering(|turn, asked| match turn {
        0 => refused(502, &json!({})),
        _ if is_mutation(asked) => answered(),
        _ => branch(&[(HEAD, BASE, "before")]),
    })
    .await;
    let token = SecretString::from("github_pat_push");
    let client = server.client().with_push_token(&token).unwrap();
    client.create_commit_on_branch(&commit()).await.unwrap();
    let used: Vec<(bool, String)> = server
        .asked()
        .iter()
        .map(|one| (is_mutation(one), one.header("authorization").to_owned()))
        .collect();
    assert_eq!(used.iter().filter(|(mutation, _)| *mutation).count(), 2);
    for (mutation, header) in used {
        let token = if mutation {
            "github_pat_push"
        } else {
            "ghs_secret"
        };
        assert_eq!(header, format!("Bearer {token}"));
    }
    let wrong = SecretString::from("a\nb");
    let error = server.client().with_push_token(&wrong).map(drop);
    assert_eq!(error, Err(SetupError::PushToken));
    let unknown = Server::answering(|_, _| refused(401, &json!({"message": "Bad credentials"})));
    let client = unknown.await.client().with_push_token(&token).unwrap();
    let error = client.create_commit_on_branch(&commit()).await;
    assert_eq!(error, Err(CommitError::PushToken));
}

#[tokio::test]
async fn an_unclear_answer_is_settled_by_the_branch() {
    for accident in ["502", "timeout"] {
        let happened = Server::answering(move |_, asked| match (is_mutation(asked), accident) {
            (true, "502") => refused(502, &json!({})),
            (true, _) => refusal(
                "",
                "Something went wrong while executing your query. Sorry.",
            ),
            // Somebody has pushed since.
            (false, _) => branch(&[
                (BASE, MADE, "More"),
                (MADE, HEAD, &ours()),
                (HEAD, BASE, ""),
            ]),
        })
        .await;
        let made = happened.client().create_commit_on_branch(&commit()).await;
        let made = made.unwrap();
        assert_eq!(
            (made.sha.as_str(), made.already),
            (MADE, true),
            "{accident}"
        );
        assert_eq!((made.tree.as_str(), sent(&happened)), (BASE, 1));
    }
    let lost = Server::answering(|turn, asked| match (turn, is_mutation(asked)) {
        (0, _) => refused(502, &json!({})),
        (_, true) => answered(),
        _ => branch(&[(HEAD, BASE, "before")]),
    })
    .await;
    let made = lost.client().create_commit_on_branch(&commit()).await;
    assert!(!made.unwrap().already);
    assert_eq!(sent(&lost), 2);
}

#[tokio::test]
async fn a_commit_of_an_earlier_run_is_found_and_another_one_is_not_taken_for_it() {
    let stale = "Expected branch to point to \"x\" but it did not.  Pull and try again.";
    let headless = format!("Another headline\n\n{TRAILER}");
    for (message, parent, found) in [
        (ours(), HEAD, true),
        (ours(), BASE, false),
        (headless, HEAD, false),
        (
            "Fix 1 review finding\n\nReview-Finding: f2".to_owned(),
            HEAD,
            false,
        ),
    ] {
        let shown = message.clone();
        let server = Server::answering(move |_, asked| {
            if is_mutation(asked) {
                refusal("STALE_DATA", stale)
            } else {
                branch(&[(MADE, parent, &shown)])
            }
        })
        .await;
        let outcome = server.client().create_commit_on_branch(&commit()).await;
        if found {
            assert!(outcome.unwrap().already);
        } else {
            let error = outcome.expect_err(&message);
            let head = Some(MADE.parse().unwrap());
            assert!(
                matches!(&error, CommitError::StaleHead { head: now, .. } if *now == head),
                "{error}"
            );
            assert!(error.to_string().contains(MADE), "{error}");
        }
        assert_eq!(sent(&server), 1, "a refusal is not repeated");
    }
}

/// The name of a refusal in GitHub's words.
async fn judged(kind: &'static str, message: &'static str, commit: NewCommit) -> CommitError {
    let server = Server::answering(move |_, asked| {
        if is_mutation(asked) {
            refusal(kind, message)
        } else {
            branch(&[(HEAD, BASE, "before")])
        }
    })
    .await;
    let error = server.client().create_commit_on_branch(&commit).await;
    error.expect_err(message)
}

#[tokio::test]
async fn each_refusal_of_a_commit_is_told_apart() {
    let integration = "Resource not accessible by integration";
    let error = judged("FORBIDDEN", integration, commit()).await;
    assert!(matches!(error, CommitError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("contents: write"), "{error}");

    let rules =
        "Repository rule violations found\n\n3 of 3 required status checks are expected.\n\n";
    let error = judged("FORBIDDEN", rules, commit()).await;
    assert_eq!(
        error.to_string(),
        "The branch fix/cart is protected against pushes of this token (Repository rule violations found 3 of 3 required status checks are expected)."
    );
    let classic = "Changes must be made through a pull request.";
    let error = judged("BRANCH_PROTECTION_RULE_VIOLATION", classic, commit()).await;
    assert!(matches!(error, CommitError::Protected { .. }), "{error}");

    let queued = "A pull request for this branch has been added to a merge queue. Branches that are queued for merging cannot be updated.";
    let error = judged("BRANCH_PROTECTION_RULE_VIOLATION", queued, commit()).await;
    assert!(matches!(error, CommitError::Queued { .. }), "{error}");

    let workflow = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission";
    let error = judged("FORBIDDEN", workflow, commit()).await;
    assert!(
        matches!(error, CommitError::WorkflowFiles { .. }),
        "{error}"
    );
    let mut silent = commit();
    silent.deletions = vec![".github/workflows/ci.yml".to_owned()];
    let error = judged("FORBIDDEN", integration, silent).await;
    assert!(
        matches!(error, CommitError::WorkflowFiles { .. }),
        "{error}"
    );

    let missing = "A path was requested for deletion which does not exist as of commit oid `x`";
    for kind in ["NOT_FOUND", "UNPROCESSABLE"] {
        let error = judged(kind, missing, commit()).await;
        assert!(matches!(&error, CommitError::Refused { message, .. } if message == missing));
    }
    let nothing = "Could not resolve to a node.";
    let error = judged("NOT_FOUND", nothing, commit()).await;
    assert!(matches!(error, CommitError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn a_branch_that_is_gone_is_named_however_github_refuses() {
    for (kind, message) in [
        ("NOT_FOUND", "Could not resolve to a Ref."),
        (
            "STALE_DATA",
            "Expected branch to point to \"x\" but it did not.",
        ),
    ] {
        let server = Server::answering(move |_, asked| {
            if is_mutation(asked) {
                refusal(kind, message)
            } else {
                no_branch()
            }
        })
        .await;
        let error = server.client().create_commit_on_branch(&commit()).await;
        assert!(
            matches!(error, Err(CommitError::BranchGone { .. })),
            "{error:?}"
        );
    }
    let blind = Server::answering(|_, asked| {
        if is_mutation(asked) {
            refusal("STALE_DATA", "moved")
        } else {
            refused(500, &json!({}))
        }
    })
    .await;
    let error = blind.client().create_commit_on_branch(&commit()).await;
    assert!(
        matches!(error, Err(CommitError::StaleHead { head: None, .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_right_to_commit_is_asked_for_by_a_commit_on_no_head() {
    for (kind, message, may) in [
        (
            "STALE_DATA",
            "Expected branch to point to \"0\" but it did not.",
            Some(true),
        ),
        (
            "FORBIDDEN",
            "Resource not accessible by integration",
            Some(false),
        ),
        ("NOT_FOUND", "Could not resolve to a Ref.", None),
    ] {
        let server = Server::answering(move |_, _| refusal(kind, message)).await;
        let client = server.client();
        let asked = client.may_commit(&key().repo, "fix/cart").await;
        assert_eq!(asked.ok(), may, "{kind}");
        let sent = &server.asked()[0].body["variables"]["input"];
        assert_eq!(sent["expectedHeadOid"], "0".repeat(40));
        assert_eq!(server.count(), 1);
        let dry = client.with_dry_run(&DryRun::default());
        assert_eq!(dry.may_commit(&key().repo, "fix/cart").await, Ok(true));
        assert_eq!(server.count(), 1, "a dry run asks nothing");
    }
}

#[tokio::test]
async fn a_commit_with_a_secret_of_the_run_is_not_sent() {
    let secret = "sk-0123456789abcdef0123456789abcdef";
    let redactor = Arc::new(Redactor::new(&[SecretString::from(secret)]));
    let server = Server::answering(|_, _| answered()).await;
    let client = server.client().guarded(&redactor);
    let mut shown = [commit(), commit(), commit()];
    shown[0].additions[0].contents = format!("key = {secret}\n").into_bytes();
    shown[1].body.push_str(secret);
    shown[2].deletions.push(secret.to_owned());
    for commit in shown {
        let error = client.create_commit_on_branch(&commit).await;
        assert_eq!(error, Err(CommitError::Secret));
    }
    assert_eq!(server.count(), 0);
    client.create_commit_on_branch(&commit()).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_commits_branches_opens_and_labels_nothing() {
    let server = Server::answering(|_, _| refused(500, &json!({}))).await;
    let kept = DryRun::default();
    let client = server.client().with_dry_run(&kept);
    let made = client.create_commit_on_branch(&commit()).await.unwrap();
    assert_eq!(made.sha.as_str(), "0".repeat(40));
    let head = HEAD.parse().unwrap();
    let at = client.create_branch(&key().repo, "fix", &head).await;
    assert_eq!(at.unwrap(), head);
    let opened = client.create_pull_request(&key().repo, &pull()).await;
    assert_eq!(opened.unwrap().number, 0);
    client
        .add_label(&key(), "human-review-required")
        .await
        .unwrap();
    client.remove_label(&key(), "no-fix").await.unwrap();
    let names: Vec<&str> = kept.unsent().iter().map(|one| one.name).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_branch_that_is_there_is_told_with_its_commit() {
    let head = HEAD.parse().unwrap();
    let there = Server::answering(|_, asked| match asked.at.as_str() {
        "/api/graphql" => branch(&[(MADE, HEAD, &ours())]),
        _ => refused(422, &json!({"message": "Reference already exists"})),
    })
    .await;
    let at = there
        .client()
        .create_branch(&key().repo, "fix", &head)
        .await;
    assert_eq!(at.unwrap().as_str(), MADE);
    let asked = &there.asked()[0];
    assert_eq!(asked.at, "/api/v3/repos/acme/shop/git/refs");
    assert_eq!(asked.body, json!({"ref": "refs/heads/fix", "sha": HEAD}));
    assert_eq!(
        there.asked()[1].body["variables"]["branch"],
        "refs/heads/fix"
    );

    let wrong = Server::answering(|_, asked| match asked.at.as_str() {
        "/api/graphql" => no_branch(),
        _ => refused(422, &json!({"message": "Object does not exist"})),
    })
    .await;
    let error = wrong
        .client()
        .create_branch(&key().repo, "fix", &head)
        .await;
    assert!(
        error
            .expect_err("422")
            .to_string()
            .contains("Object does not exist")
    );
}

fn pull() -> NewPull {
    NewPull {
        head: "fix/7".to_owned(),
        base: "cart".to_owned(),
        title: "Fix 1 review finding".to_owned(),
        body: "One.\n\n<!-- rmcoc:fix 1 -->".to_owned(),
    }
}

fn listed(number: u64, head: &str, state: &str, body: &str) -> Value {
    json!({"number": number, "html_url": format!("https://x/{number}"), "state": state, "body": body,
        "head": {"ref": head, "repo": {"id": 1, "full_name": "acme/shop"}}})
}

#[tokio::test]
async fn a_pull_request_is_opened_once() {
    let exists = json!({"message": "Validation Failed", "errors": [
        {"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for acme:fix/7."}]});
    for (status, list, found) in [
        (
            502,
            json!([listed(8, "fix/7", "closed", &pull().body)]),
            Some(8),
        ),
        (502, json!([listed(8, "fix/7", "closed", "other")]), None),
        (
            422,
            json!([
                listed(8, "main", "open", &pull().body),
                listed(9, "fix/7", "open", "other")
            ]),
            Some(9),
        ),
        (422, json!([]), None),
    ] {
        let exists = exists.clone();
        let server = Server::answering(move |_, asked| match asked.method {
            Method::GET => ok(&list),
            _ => refused(status, &exists),
        })
        .await;
        let opened = server
            .client()
            .create_pull_request(&key().repo, &pull())
            .await;
        assert_eq!(opened.ok().map(|pull| pull.number), found, "{status}");
        let look = &server.asked()[1].at;
        let state = if status == 502 { "all" } else { "open" };
        assert_eq!(
            *look,
            format!(
                "/api/v3/repos/acme/shop/pulls?head=acme%3Afix%2F7&base=cart&state={state}&per_page=100"
            )
        );
        let sendings = super::posted(&server);
        assert_eq!(
            sendings,
            if status == 502 && found.is_none() {
                3
            } else {
                1
            }
        );
    }
    let server = Server::answering(|_, _| refused(201, &listed(8, "fix/7", "open", ""))).await;
    let opened = server
        .client()
        .create_pull_request(&key().repo, &pull())
        .await;
    assert_eq!(opened.unwrap().html_url, "https://x/8");
    assert_eq!(
        server.asked()[0].body,
        json!({"title": "Fix 1 review finding", "head": "fix/7", "base": "cart", "body": pull().body})
    );
}

#[tokio::test]
async fn labels_are_set_and_taken_away_however_often_it_is_asked() {
    let server = Server::answering(|turn, asked| match (turn, &asked.method) {
        (0, _) => refused(502, &json!({})),
        (_, &Method::POST) => ok(&json!([{"name": "human-review-required"}])),
        _ => refused(404, &json!({"message": "Label does not exist"})),
    })
    .await;
    let client = server.client();
    client
        .add_label(&key(), "human-review-required")
        .await
        .unwrap();
    client.remove_label(&key(), "no fix/now").await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[1].body, json!({"labels": ["human-review-required"]}));
    assert_eq!(
        (asked[2].method.as_str(), asked[2].at.as_str()),
        (
            "DELETE",
            "/api/v3/repos/acme/shop/issues/7/labels/no%20fix%2Fnow"
        )
    );
    let weak = Server::answering(|_, _| {
        refused(
            403,
            &json!({"message": "Resource not accessible by integration"}),
        )
    })
    .await;
    let error = weak.client().add_label(&key(), "x").await.expect_err("403");
    assert!(error.is_permission());
}

#[tokio::test]
async fn the_state_before_a_push_is_read() {
    let server = Server::answering(|turn, _| match turn {
        0 => ok(&json!({"data": {"repository": {"pullRequest": {"isInMergeQueue": true}}}})),
        1 => ok(&json!({"protected": true, "protection": {"required_status_checks": {"contexts": ["test"]}}})),
        2 => ok(&json!([{"type": "pull_request", "parameters": {}}])),
        3 => ok(&json!({"protected": false})),
        _ => refused(404, &json!({"message": "Not Found"})),
    })
    .await;
    let (client, repo) = (server.client(), key().repo);
    assert!(client.is_queued(&key()).await.unwrap());
    let rules = client.branch_rules(&repo, "release/1").await.unwrap();
    assert!(rules.needs_pull_request && rules.refuses_pushes());
    assert_eq!(rules.required_checks, ["test"]);
    assert_eq!(
        server.asked()[2].at,
        "/api/v3/repos/acme/shop/rules/branches/release%2F1?per_page=100"
    );
    let old = client.branch_rules(&repo, "release/1").await.unwrap();
    assert_eq!(old, BranchRules::default());
}

#[tokio::test]
async fn commits_are_read_with_their_parents_and_authors() {
    let server = Server::answering(|_, _| {
        ok(&json!([
            {"sha": HEAD, "commit": {"message": "One"}, "author": {"login": "dev"}, "parents": [{"sha": BASE}]},
            {"sha": MADE, "commit": {"message": "Two"}, "author": null, "parents": null},
        ]))
    })
    .await;
    let commits = server.client().commits(&key()).await.unwrap();
    assert_eq!(commits[0].parents, [BASE.parse().unwrap()]);
    assert_eq!((&commits[1].author, commits[1].parents.len()), (&None, 0));
}
