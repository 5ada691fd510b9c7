//! Requests of the service that GitHub answers oddly: a name that another repository has, fields that are
//! missing, refusals in words of every kind.

use super::super::*;
use super::{BASE, HEAD, Server, key, ok, refused};
use axum::http::Method;
use axum::response::Response;
use reviewer_core::domain::{CommitSha, Login};
use serde_json::{Value, json};

const OWN: u64 = 42;

fn sha() -> CommitSha {
    HEAD.parse().unwrap()
}

/// The answer to a probe by a repository of this id and name, with what is left out of the fields of the pull request.
fn probed(id: u64, name: &str) -> Value {
    json!({"data": {"repository": {
        "databaseId": id, "nameWithOwner": name,
        "pullRequest": {
            "id": "PR_1", "number": 7, "state": "OPEN", "headRefOid": HEAD, "headRefName": "fix", "baseRefName": "main",
        },
    }}})
}

fn not_found() -> Response {
    ok(&json!({"data": {"repository": null}, "errors": [
        {"type": "NOT_FOUND", "message": "Could not resolve to a Repository with the name 'acme/shop'."}]}))
}

fn named(name: &str) -> Response {
    ok(&json!({"id": OWN, "full_name": name}))
}

#[tokio::test]
async fn a_pull_request_of_the_same_number_in_another_repository_is_not_believed() {
    let server = Server::answering(|_, asked| match asked.at.as_str() {
        "/api/v3/repositories/42" => named("acme/store"),
        _ if asked.body["variables"]["name"] == "store" => ok(&probed(OWN, "acme/store")),
        _ => ok(&probed(99, "acme/shop")),
    })
    .await;
    let probe = server.client().probe(OWN, &key(), "s.yml").await.unwrap();
    assert_eq!(
        (probe.repository, probe.repo.to_string().as_str()),
        (OWN, "acme/store")
    );
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_repository_that_is_not_found_by_name_is_looked_up_by_its_id_once() {
    for answers in ["same name", "gone", "another id again"] {
        let server = Server::answering(move |_, asked| match (asked.at.as_str(), answers) {
            ("/api/v3/repositories/42", "same name") => named("acme/shop"),
            ("/api/v3/repositories/42", "gone") => refused(404, &json!({"message": "Not Found"})),
            ("/api/v3/repositories/42", _) => named("acme/store"),
            (_, "another id again") => ok(&probed(99, "acme/store")),
            _ => not_found(),
        })
        .await;
        let error = server
            .client()
            .probe(OWN, &key(), "s.yml")
            .await
            .unwrap_err();
        assert!(error.is_not_found(), "{answers}: {error}");
        assert!(server.count() <= 3, "{answers}");
    }
}

#[tokio::test]
async fn fields_that_are_missing_make_the_careful_answer() {
    let server = Server::answering(|_, _| ok(&probed(OWN, "acme/shop"))).await;
    let probe = server.client().probe(OWN, &key(), "s.yml").await.unwrap();
    assert!(probe.from_fork);
    assert_eq!(
        (probe.mergeable, probe.merge_state),
        (Mergeable::Unknown, MergeState::Unknown)
    );
    assert_eq!((probe.author, probe.head_author.as_ref()), (None, None));
    assert!(probe.reviews.is_empty() && probe.methods.is_empty() && !probe.auto_merge_allowed);
    assert_eq!(probe.settings, FileAt::Missing);
}

#[tokio::test]
async fn people_are_told_from_bots_drafts_from_reviews_and_githubs_commits_from_peoples() {
    let server = Server::answering(|_, _| {
        let mut answer = probed(OWN, "acme/shop");
        let pull = &mut answer["data"]["repository"]["pullRequest"];
        let user = |login: &str| json!({"user": {"__typename": "User", "login": login}});
        pull["commits"] = json!({"nodes": [{"commit": {
            "oid": HEAD, "author": user("dev"), "committer": user("web-flow")}}]});
        pull["reviewRequests"] = json!({"nodes": [
            {"requestedReviewer": {"__typename": "User", "login": "lead"}},
            {"requestedReviewer": {"__typename": "Bot", "login": "helper"}},
            {"requestedReviewer": {"__typename": "Team"}}, {"requestedReviewer": null}, null]});
        let review = |id: &str, state: &str| json!({"fullDatabaseId": id, "state": state, "commit": {"oid": HEAD},
            "author": {"__typename": "Bot", "login": "reviewer"}, "authorCanPushToRepository": true,
            "viewerDidAuthor": true, "editor": {"__typename": "User", "login": "lead"}});
        pull["reviews"] = json!({"pageInfo": {"hasNextPage": false, "endCursor": null},
            "nodes": [review("1", "PENDING"), review("2", "DISMISSED"), review("3", "COMMENTED"), null]});
        pull["baseRef"] = json!({"target": {"file": {"object": {"text": null, "isTruncated": false}}}});
        ok(&answer)
    })
    .await;
    let probe = server.client().probe(OWN, &key(), "s.yml").await.unwrap();
    assert_eq!(probe.last_push_by(), Some(&Login::new("dev")));
    assert_eq!(
        probe.requested,
        [Login::new("lead"), Login::new("helper[bot]")]
    );
    let states: Vec<ReviewState> = probe.reviews.iter().map(|one| one.state).collect();
    assert_eq!(states, [ReviewState::Dismissed, ReviewState::Commented]);
    let review = &probe.reviews[0];
    assert_eq!(review.author, Some(Login::new("reviewer[bot]")));
    assert!(review.own && review.edited && review.edited_by == Some(Login::new("lead")));
    assert_eq!(probe.settings, FileAt::Unreadable);
}

#[tokio::test]
async fn a_page_of_reviews_that_names_itself_is_an_error() {
    let server = Server::answering(|turn, _| {
        let page = json!({"pageInfo": {"hasNextPage": true, "endCursor": "x"}, "nodes": []});
        let mut answer = probed(OWN, "acme/shop");
        answer["data"]["repository"]["pullRequest"]["reviews"] = page;
        assert!(turn < 5, "it goes round in circles");
        ok(&answer)
    })
    .await;
    let error = server
        .client()
        .probe(OWN, &key(), "s.yml")
        .await
        .unwrap_err();
    assert!(matches!(error, ApiError::Paging { .. }), "{error}");
}

/// A server that refuses to merge with this status and message, while the pull request stays open at its head.
async fn merge_refused(status: u16, message: &'static str) -> MergeRefusal {
    let server = Server::answering(move |_, asked| match asked.method {
        Method::PUT => refused(status, &json!({"message": message})),
        _ => ok(&json!({"data": {"repository": {"pullRequest": {"state": "OPEN", "headRefOid": HEAD}}}})),
    })
    .await;
    let merged = server
        .client()
        .merge_pull_request(&key(), &sha(), &[MergeMethod::Merge])
        .await;
    merged.unwrap_err()
}

/// Status, GitHub's words, and the kind of refusal.
const REFUSALS: &[(u16, &str, &str)] = &[
    (405, "Pull Request is not mergeable", "NotMergeable"),
    (
        405,
        "Base branch was modified. Review and try the merge again.",
        "BaseMoved",
    ),
    (405, "Required status check \"test\" is expected.", "Checks"),
    (
        405,
        "Repository rule violations found\n\n2 of 3 required status checks are expected.\n\n",
        "Checks",
    ),
    (
        405,
        "At least 1 approving review is required by reviewers with write access.",
        "Reviews",
    ),
    (
        405,
        "Repository rule violations found\n\nChanges must be made through the merge queue\n\n",
        "NeedsQueue",
    ),
    (
        405,
        "Merge commits are not allowed on this repository.",
        "Method",
    ),
    (
        405,
        "Rebase merges are not allowed on this repository.",
        "Method",
    ),
    (405, "Pull Request is still a draft", "Draft"),
    (
        405,
        "You're not authorized to push to this branch.",
        "NotPermitted",
    ),
    (405, "Something that nobody has heard of", "Refused"),
    (
        403,
        "Resource not accessible by integration",
        "NotPermitted",
    ),
    (404, "Not Found", "Api"),
    (401, "Bad credentials", "Api"),
];

#[tokio::test]
async fn githubs_words_for_a_refused_merge_are_known() {
    let kind = |refusal: &MergeRefusal| {
        format!("{refusal:?}")
            .split([' ', '('])
            .next()
            .unwrap()
            .to_owned()
    };
    for (status, message, expected) in REFUSALS {
        let refusal = merge_refused(*status, message).await;
        assert_eq!(kind(&refusal), *expected, "{message}");
        let said = refusal.to_string();
        assert!(
            said.ends_with('.') && !said.contains('\n') && !said.contains("\\n"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_refusal_that_cannot_be_looked_into_stays_one() {
    let server = Server::answering(|_, asked| match asked.method {
        Method::PUT => refused(409, &json!({"message": "Head branch was modified."})),
        _ => refused(401, &json!({})),
    })
    .await;
    let refusal = server
        .client()
        .merge_pull_request(&key(), &sha(), &[MergeMethod::Merge])
        .await;
    let moved = MergeRefusal::Moved {
        expected: sha(),
        now: None,
    };
    assert_eq!(refusal, Err(moved));
}

#[tokio::test]
async fn a_merge_is_sent_with_its_head_and_its_method() {
    let server = Server::answering(|_, _| ok(&json!({"sha": BASE, "merged": true}))).await;
    let client = server.client();
    let done = client
        .merge_pull_request(&key(), &sha(), &[MergeMethod::Rebase])
        .await
        .unwrap();
    assert_eq!(done.sha, Some(BASE.parse().unwrap()));
    let asked = server.asked();
    assert_eq!(
        (&asked[0].method, asked[0].at.as_str()),
        (&Method::PUT, "/api/v3/repos/acme/shop/pulls/7/merge")
    );
    assert_eq!(
        asked[0].body,
        json!({"sha": HEAD, "merge_method": "rebase"})
    );
    let none = client
        .merge_pull_request(&key(), &sha(), &[])
        .await
        .unwrap_err();
    assert!(matches!(none, MergeRefusal::Method { .. }), "{none}");
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_dry_run_neither_merges_nor_arms_nor_asks() {
    let server = Server::answering(|_, asked| match asked.at.as_str() {
        "/api/v3/repos/acme/shop/pulls/7" => {
            ok(&json!({"number": 7, "head": {"sha": HEAD}, "base": {"sha": BASE}}))
        }
        at if at.ends_with("requested_reviewers") => ok(&json!({"users": [], "teams": []})),
        _ => ok(&json!([])),
    })
    .await;
    let dry_run = DryRun::default();
    let client = server.client().with_dry_run(&dry_run);
    client
        .merge_pull_request(&key(), &sha(), &[MergeMethod::Merge])
        .await
        .unwrap();
    client
        .enable_auto_merge(&key(), "PR_1", &sha(), MergeMethod::Merge)
        .await
        .unwrap();
    client.disable_auto_merge(&key(), "PR_1").await.unwrap();
    client
        .enqueue_pull_request(&key(), "PR_1", &sha())
        .await
        .unwrap();
    client
        .request_reviewers(&key(), &sha(), &[Login::new("lead")])
        .await
        .unwrap();
    assert_eq!(dry_run.unsent().len(), 5);
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.method == Method::GET)
    );
}

#[tokio::test]
async fn a_file_without_an_object_or_a_comparison_without_files_is_another_change() {
    let file = |sha: Value| json!({"filename": "a", "status": "modified", "sha": sha, "additions": 1, "deletions": 0});
    for files in [json!(null), json!([file(json!(null))])] {
        let server = Server::answering(move |_, _| ok(&json!({"files": files}))).await;
        let (client, other) = (server.client(), BASE.parse().unwrap());
        let same = client
            .is_same_change(&key().repo, "main", &sha(), &other)
            .await;
        assert_eq!(same, Ok(false));
    }
}

#[tokio::test]
async fn another_token_has_its_own_memory_of_answers() {
    let server = Server::answering(|_, asked| {
        let fresh = asked.header("if-none-match").is_empty();
        assert!(fresh, "an answer to one account is nothing to another");
        let body = json!({"id": OWN, "full_name": "acme/shop"}).to_string();
        axum::response::IntoResponse::into_response(([("etag", "\"1\"")], body))
    })
    .await;
    let first = server.client();
    let second = first
        .with_token(&secrecy::SecretString::from("ghp_second"))
        .unwrap();
    first.repository_name(OWN).await.unwrap();
    second.repository_name(OWN).await.unwrap();
    let tokens: Vec<String> = server
        .asked()
        .iter()
        .map(|one| one.header("authorization").to_owned())
        .collect();
    assert_eq!(tokens, ["Bearer ghs_secret", "Bearer ghp_second"]);
    let wrong = first
        .with_token(&secrecy::SecretString::from("a\nb"))
        .map(drop);
    assert_eq!(wrong, Err(SetupError::Token));
}
