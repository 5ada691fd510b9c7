//! People are asked for their review, and whoever cannot be asked is named.

use super::*;
use crate::standin::github::Write;
use reviewer_core::domain::ReviewEvent;
use reviewer_github::{NewReview, ReviewRequest};

#[tokio::test]
async fn everybody_is_told_apart() {
    let (github, number) = shop();
    let head = head(&github, number);
    github.pull(number, |pull| pull.requested_reviewers.push("lead".into()));
    github.review(number, "writer", "APPROVED", "");
    github.permit("second", "read");
    let logins = ["lead", "dev", "second", "writer", "stranger", "keeper"].map(login);
    let client = client(&github, KEEPER);
    let outcomes = client
        .request_reviewers(&key(number), &head, &logins)
        .await
        .unwrap();
    let said: Vec<(&str, &ReviewRequest)> = outcomes
        .iter()
        .map(|(login, one)| (login.as_str(), one))
        .collect();
    assert_eq!(
        said,
        [
            ("lead", &ReviewRequest::AlreadyRequested),
            ("dev", &ReviewRequest::Author),
            ("second", &ReviewRequest::Requested),
            ("writer", &ReviewRequest::AlreadyReviewed),
            ("stranger", &ReviewRequest::NoAccess),
            ("keeper", &ReviewRequest::Requested),
        ]
    );
    let requested = github.pull(number, |pull| pull.requested_reviewers.clone());
    assert_eq!(requested, ["lead", "second", "keeper"]);
    // Asked again, nobody is asked again.
    github.take_writes();
    let again = client
        .request_reviewers(&key(number), &head, &logins[..3])
        .await
        .unwrap();
    assert_eq!(again[2].1, ReviewRequest::AlreadyRequested);
    github.finish();
}

#[tokio::test]
async fn a_request_ends_with_the_review_and_a_new_head_needs_a_new_one() {
    let (github, number) = shop();
    let first = head(&github, number);
    let keeper = client(&github, KEEPER);
    let lead = [login("lead")];
    keeper
        .request_reviewers(&key(number), &first, &lead)
        .await
        .unwrap();
    assert_eq!(probe(&github, number).await.unwrap().requested, lead);
    github.review(number, "lead", "APPROVED", "");
    assert!(probe(&github, number).await.unwrap().requested.is_empty());
    let done = keeper
        .request_reviewers(&key(number), &first, &lead)
        .await
        .unwrap();
    assert_eq!(done[0].1, ReviewRequest::AlreadyReviewed);
    let second = push(&github, number, &[Change::write("b.txt", "b2\n")]);
    let anew = keeper
        .request_reviewers(&key(number), &second, &lead)
        .await
        .unwrap();
    assert_eq!(anew[0].1, ReviewRequest::Requested);
    let writes = github.take_writes();
    let requests = writes
        .iter()
        .filter(|one| matches!(one, Write::ReviewRequest { .. }));
    assert_eq!(requests.count(), 2);
    github.finish();
}

#[tokio::test]
async fn a_token_that_may_not_ask_is_an_error() {
    let (github, number) = shop();
    github.token(KEEPER, Identity::person("keeper", &["pull-requests:read"]));
    let (head, lead) = (head(&github, number), [login("lead")]);
    let client = client(&github, KEEPER);
    let error = client
        .request_reviewers(&key(number), &head, &lead)
        .await
        .unwrap_err();
    assert!(error.is_permission(), "{error}");
    github.finish();
}

#[tokio::test]
async fn accounts_review_for_themselves_and_never_their_own_work() {
    let (github, number) = shop();
    let head = head(&github, number);
    github.token("ghp_quality", Identity::person("writer", RIGHTS));
    github.token("ghp_author", Identity::person("dev", RIGHTS));
    let review = |event| NewReview {
        commit_id: head.clone(),
        body: "Read. <!-- rmcoc:1 -->".to_owned(),
        event: Some(event),
        comments: Vec::new(),
    };
    let (quality, author) = (
        client(&github, "ghp_quality"),
        client(&github, "ghp_author"),
    );
    quality
        .create_review(&key(number), &review(ReviewEvent::Approve))
        .await
        .unwrap();
    for event in [ReviewEvent::Approve, ReviewEvent::RequestChanges] {
        let refused = author
            .create_review(&key(number), &review(event))
            .await
            .unwrap_err();
        assert!(refused.refuses_judgement(), "{refused}");
    }
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(probe.reviews.len(), 1);
    assert_eq!(probe.reviews[0].author, Some(login("writer")));
    assert_eq!(probe.reviews[0].commit, Some(head));
    github.expect_review();
    github.finish();
}
