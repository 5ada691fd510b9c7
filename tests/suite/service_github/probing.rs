//! One query reads what the service decides by.

use super::*;
use reviewer_github::{FileAt, MergeMethod, MergeState, Mergeable, ProbedState, ReviewState};

#[tokio::test]
async fn one_request_reads_everything_that_decides() {
    let (github, number) = shop();
    github.pull(number, |pull| {
        pull.labels.push("urgent".into());
        pull.requested_reviewers.push("lead".into());
        pull.requested_teams.push("owners".into());
    });
    github.review(
        number,
        "writer",
        "APPROVED",
        "Fine. <!-- escalate: security -->",
    );
    github.review(number, "passer-by", "CHANGES_REQUESTED", "No.");
    github.comment(number, "lead", "@review-my-code-bot fix resume");
    github.forget_requests();
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(github.requests().len(), 1);
    assert_eq!(probe.repository, github.with(|state| state.repository.id));
    assert_eq!(probe.repo.to_string(), "octo/shop");
    assert_eq!((probe.number, &probe.state), (number, &ProbedState::Open));
    assert!(!probe.draft && !probe.locked && !probe.from_fork);
    assert_eq!(
        (probe.head_branch.as_str(), probe.base.as_str()),
        ("feature", "main")
    );
    assert_eq!(probe.head, head(&github, number));
    assert_eq!(probe.author, Some(login("dev")));
    assert_eq!(probe.labels, ["urgent"]);
    assert_eq!(probe.requested, [login("lead")]);
    let reviews: Vec<_> = probe
        .reviews
        .iter()
        .map(|one| (one.author.clone().unwrap(), one.state, one.may_write))
        .collect();
    assert_eq!(
        reviews,
        [
            (login("writer"), ReviewState::Approved, true),
            (login("passer-by"), ReviewState::ChangesRequested, false),
        ]
    );
    assert_eq!(probe.reviews[0].commit, Some(probe.head.clone()));
    assert_eq!(probe.reviews[0].body, "Fine. <!-- escalate: security -->");
    assert_eq!(probe.comments.len(), 1);
    assert_eq!(probe.comments[0].author, Some(login("lead")));
    assert_eq!(probe.comments[0].body, "@review-my-code-bot fix resume");
    assert_eq!(probe.last_push_by(), Some(&login("dev")));
    assert_eq!(
        (probe.mergeable, probe.merge_state),
        (Mergeable::Mergeable, MergeState::Clean)
    );
    assert!(!probe.auto_merge_armed && !probe.in_merge_queue && !probe.merge_queue);
    assert_eq!(
        probe.methods,
        [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase]
    );
    assert_eq!(
        probe.settings,
        FileAt::Text("lifecycle:\n  enabled: true\n".to_owned())
    );
    github.finish();
}

#[tokio::test]
async fn mergeability_is_unknown_right_after_a_push() {
    let (github, number) = shop();
    github.with(|state| state.mergeability_delay = 2);
    push(&github, number, &[Change::write("b.txt", "b2\n")]);
    for _ in 0..2 {
        let probe = probe(&github, number).await.unwrap();
        assert_eq!(
            (probe.mergeable, probe.merge_state),
            (Mergeable::Unknown, MergeState::Unknown)
        );
    }
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(
        (probe.mergeable, probe.merge_state),
        (Mergeable::Mergeable, MergeState::Clean)
    );
    github.finish();
}

#[tokio::test]
async fn a_pull_request_with_conflicts_says_so() {
    let (github, number) = shop();
    let main = github.with(|state| state.branch_head("main").unwrap());
    github.commit("main", &[&main], &[Change::write("b.txt", "other\n")]);
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(
        (probe.mergeable, probe.merge_state),
        (Mergeable::Conflicting, MergeState::Dirty)
    );
    github.finish();
}

#[tokio::test]
async fn the_end_of_a_pull_request_names_who_merged() {
    let (github, number) = shop();
    let sha = github.merge(number, "lead");
    let merged = probe(&github, number).await.unwrap().state;
    let (by, sha) = (Some(login("lead")), Some(sha.parse().unwrap()));
    assert_eq!(merged, ProbedState::Merged { by, sha });
    let (github, number) = shop();
    github.act(number, "closed", "dev");
    assert_eq!(
        probe(&github, number).await.unwrap().state,
        ProbedState::Closed
    );
    github.act(number, "reopened", "dev");
    github.act(number, "converted_to_draft", "dev");
    let reopened = probe(&github, number).await.unwrap();
    assert_eq!(
        (reopened.state, reopened.merge_state),
        (ProbedState::Open, MergeState::Draft)
    );
}

#[tokio::test]
async fn the_commit_of_a_review_is_read_by_rest_where_graphql_has_none() {
    let (github, number) = shop();
    github.with(|state| state.hides_review_commits = true);
    github.review(number, "writer", "APPROVED", "Fine.");
    let before = head(&github, number);
    push(&github, number, &[Change::write("b.txt", "b2\n")]);
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(probe.reviews[0].commit, Some(before));
    assert_eq!(
        github.count(&http::Method::GET, "/repos/octo/shop/pulls/1/reviews"),
        1
    );
    github.finish();
}

#[tokio::test]
async fn reviews_beyond_a_hundred_are_read_to_the_end() {
    let (github, number) = shop();
    for _ in 0..120 {
        github.review(number, "passer-by", "COMMENTED", "Hm.");
    }
    github.review(number, "writer", "APPROVED", "Fine.");
    let probe = probe(&github, number).await.unwrap();
    assert_eq!(probe.reviews.len(), 121);
    assert_eq!(probe.reviews[120].state, ReviewState::Approved);
    github.finish();
}

#[tokio::test]
async fn a_repository_without_settings_and_a_base_that_is_gone_have_none() {
    let (github, number) = shop();
    let id = github.with(|state| state.repository.id);
    let client = client(&github, KEEPER);
    let other = client.probe(id, &key(number), "none.yml").await.unwrap();
    assert_eq!(other.settings, FileAt::Missing);
    github.delete_branch("main");
    let gone = client.probe(id, &key(number), SETTINGS).await.unwrap();
    assert_eq!(gone.settings, FileAt::Missing);
    github.finish();
}

#[tokio::test]
async fn a_renamed_repository_is_followed_and_a_reused_name_is_not() {
    let (github, number) = shop();
    github.rename("octo/store", "octo");
    let renamed = probe(&github, number).await.unwrap();
    assert_eq!(renamed.repo.to_string(), "octo/store");
    github.take_name("octo/shop");
    let still = probe(&github, number).await.unwrap();
    assert_eq!(
        (still.repo.to_string().as_str(), still.number),
        ("octo/store", number)
    );
    github.delete_repository();
    let gone = probe(&github, number).await.unwrap_err();
    assert!(gone.to_string().contains("404"), "{gone}");
    github.finish();
}

#[tokio::test]
async fn a_deleted_repository_is_not_confused_with_one_of_its_name() {
    let (github, number) = shop();
    let id = github.with(|state| state.repository.id);
    github.delete_repository();
    let other = github.take_name("octo/shop");
    assert_ne!(other, id);
    let client = client(&github, KEEPER);
    let error = client.probe(id, &key(number), SETTINGS).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    let listed = client.open_pulls(&key(number).repo).await.unwrap();
    assert_eq!((listed.repository, listed.pulls.len()), (other, 0));
    github.finish();
}

#[tokio::test]
async fn open_pull_requests_are_listed_with_their_heads() {
    let (github, number) = shop();
    let base = github.with(|state| state.branch_head("main").unwrap());
    for index in 0..110 {
        let branch = format!("topic{index}");
        github.with(|state| {
            state
                .git
                .write(&["update-ref", &format!("refs/heads/{branch}"), &base]);
        });
        github.open_pull("dev", &branch, "main");
    }
    github.act(2, "closed", "dev");
    let client = client(&github, KEEPER);
    let listed = client.open_pulls(&key(number).repo).await.unwrap();
    assert_eq!(listed.pulls.len(), 110);
    assert_eq!(listed.pulls[0].head, head(&github, number));
    let before = listed.pulls[0].updated_at.clone();
    github.comment(number, "lead", "Nice.");
    let listed = client.open_pulls(&key(number).repo).await.unwrap();
    assert_ne!(listed.pulls[0].updated_at, before);
    github.finish();
}
