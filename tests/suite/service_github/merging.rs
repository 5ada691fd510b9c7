//! Merges: every refusal of GitHub's, and what was done already.

use super::*;
use crate::standin::github::{Fault, Protection, Write};
use reviewer_github::{MergeDone, MergeMethod, MergeRefusal};
use serde_json::json;

const ANY: &[MergeMethod] = &[MergeMethod::Merge, MergeMethod::Squash];

async fn merge(github: &GitHub, number: u64, head: &CommitSha) -> Result<MergeDone, MergeRefusal> {
    let client = client(github, KEEPER);
    client.merge_pull_request(&key(number), head, ANY).await
}

async fn arm(github: &GitHub, number: u64, head: &CommitSha) -> Result<(), MergeRefusal> {
    let id = node_id(github, number);
    let client = client(github, KEEPER);
    let method = MergeMethod::Squash;
    client
        .enable_auto_merge(&key(number), &id, head, method)
        .await
}

async fn enqueue(github: &GitHub, number: u64, head: &CommitSha) -> Result<(), MergeRefusal> {
    let id = node_id(github, number);
    let client = client(github, KEEPER);
    client.enqueue_pull_request(&key(number), &id, head).await
}

fn node_id(github: &GitHub, number: u64) -> String {
    github.pull(number, |pull| format!("PR_{}", pull.id))
}

fn needs(github: &GitHub, check: &str, reviews: usize) {
    let rules = Protection {
        required_checks: vec![check.to_owned()],
        required_reviews: reviews,
        ..Protection::default()
    };
    github.protect("main", rules);
}

#[tokio::test]
async fn a_merge_is_bound_to_the_head_that_was_approved() {
    let (github, number) = shop();
    let old = head(&github, number);
    let now = push(&github, number, &[Change::write("b.txt", "b2\n")]);
    let refused = merge(&github, number, &old).await.unwrap_err();
    let expected = old.clone();
    assert_eq!(
        refused,
        MergeRefusal::Moved {
            expected,
            now: Some(now.clone())
        }
    );
    assert!(refused.to_string().contains(now.as_str()), "{refused}");
    let done = merge(&github, number, &now).await.unwrap();
    assert!(!done.already);
    let by = github.pull(number, |pull| pull.merged.clone().unwrap());
    assert_eq!(
        done.sha.as_ref().map(CommitSha::as_str),
        Some(by.sha.as_str())
    );
    assert_eq!(by.by, "keeper");
    let again = merge(&github, number, &now).await.unwrap();
    assert_eq!((again.already, again.sha), (true, done.sha));
    // What was merged is another head than the one that is asked for.
    let other = merge(&github, number, &old).await.unwrap_err();
    assert!(matches!(other, MergeRefusal::Moved { .. }), "{other}");
    assert_eq!(github.take_writes().len(), 1);
    github.finish();
}

#[tokio::test]
async fn a_merge_whose_answer_was_lost_is_recognised() {
    for fault in [Fault::ApplyThenDrop, Fault::ApplyThenStatus(502, json!({}))] {
        let (github, number) = shop();
        let head = head(&github, number);
        github.on(
            http::Method::PUT,
            "/repos/octo/shop/pulls/1/merge",
            1,
            fault,
        );
        let done = merge(&github, number, &head).await.unwrap();
        assert!(done.already && done.sha.is_some());
        assert_eq!(github.take_writes().len(), 1);
        github.finish();
    }
}

#[tokio::test]
async fn the_next_method_is_tried_where_one_is_not_allowed() {
    let (github, number) = shop();
    let head = head(&github, number);
    github.with(|state| state.repository.merge_methods.remove("merge"));
    merge(&github, number, &head).await.unwrap();
    let writes = github.take_writes();
    assert!(
        matches!(&writes[..], [Write::Merge { method, .. }] if method == "squash"),
        "{writes:?}"
    );
    let (other, number) = shop();
    other.with(|state| state.repository.merge_methods = ["rebase".to_owned()].into());
    let refused = merge(&other, number, &self::head(&other, number))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, MergeRefusal::Method { message } if message.contains("Squash merges")),
        "{refused}"
    );
    github.finish();
    other.finish();
}

#[tokio::test]
async fn each_refusal_to_merge_is_told_apart() {
    let (github, number) = shop();
    let head = head(&github, number);
    needs(&github, "test", 1);
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(&refused, MergeRefusal::Checks { message } if message.contains("expected")),
        "{refused}"
    );
    github.conclude(number, "test", "failure");
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(&refused, MergeRefusal::Checks { message } if message.contains("failing")),
        "{refused}"
    );
    github.conclude(number, "test", "success");
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(matches!(refused, MergeRefusal::Reviews { .. }), "{refused}");
    github.review(number, "writer", "APPROVED", "");
    github.act(number, "converted_to_draft", "dev");
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(matches!(refused, MergeRefusal::Draft { .. }), "{refused}");
    github.act(number, "ready_for_review", "dev");
    github.with(|state| state.repository.queued_branches.insert("main".into()));
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::NeedsQueue { .. }),
        "{refused}"
    );
    github.with(|state| state.repository.queued_branches.clear());
    github.act(number, "closed", "dev");
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert_eq!(refused, MergeRefusal::Closed);
    github.act(number, "reopened", "dev");
    let main = github.with(|state| state.branch_head("main").unwrap());
    github.commit("main", &[&main], &[Change::write("b.txt", "other\n")]);
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::NotMergeable { .. }),
        "{refused}"
    );
    github.token(KEEPER, Identity::person("keeper", &["pull-requests:write"]));
    let refused = merge(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::NotPermitted { .. }),
        "{refused}"
    );
    github.finish();
}

#[tokio::test]
async fn auto_merge_waits_for_checks_and_merges_by_itself() {
    let (github, number) = shop();
    let head = head(&github, number);
    github.with(|state| state.repository.auto_merge_allowed = true);
    needs(&github, "test", 0);
    arm(&github, number, &head).await.unwrap();
    // Sent twice, it is armed once, whatever GitHub answers.
    arm(&github, number, &head).await.unwrap();
    let armed = probe(&github, number).await.unwrap();
    assert!(armed.auto_merge_armed && armed.auto_merge_allowed);
    assert_eq!(armed.auto_merge_by, Some(login("keeper")));
    github.conclude(number, "test", "success");
    let merged = github.pull(number, |pull| pull.merged.clone());
    assert_eq!(merged.unwrap().by, "keeper");
    // Armed too late, it finds that it is merged.
    arm(&github, number, &head).await.unwrap();
    github.take_writes();
    github.finish();
}

#[tokio::test]
async fn auto_merge_is_refused_where_nothing_is_waited_for() {
    let (github, number) = shop();
    let head = head(&github, number);
    let refused = arm(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::AutoMergeOff { .. }),
        "{refused}"
    );
    github.with(|state| state.repository.auto_merge_allowed = true);
    let refused = arm(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(&refused, MergeRefusal::Ready { message } if message.contains("clean")),
        "{refused}"
    );
    github.conclude(number, "lint", "failure");
    let refused = arm(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(&refused, MergeRefusal::Ready { message } if message.contains("unstable")),
        "{refused}"
    );
    needs(&github, "test", 0);
    let now = push(&github, number, &[Change::write("b.txt", "b2\n")]);
    let refused = arm(&github, number, &head).await.unwrap_err();
    assert_eq!(
        refused,
        MergeRefusal::Moved {
            expected: head,
            now: Some(now.clone())
        }
    );
    github.token(
        KEEPER,
        Identity::person("keeper", &["contents:read", "pull-requests:read"]),
    );
    let refused = arm(&github, number, &now).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::NotPermitted { .. }),
        "{refused}"
    );
    github.finish();
}

#[tokio::test]
async fn an_armed_auto_merge_survives_a_push_until_it_is_taken_back() {
    let (github, number) = shop();
    github.with(|state| state.repository.auto_merge_allowed = true);
    needs(&github, "test", 0);
    arm(&github, number, &head(&github, number)).await.unwrap();
    push(&github, number, &[Change::write("b.txt", "unread\n")]);
    assert!(probe(&github, number).await.unwrap().auto_merge_armed);
    let id = node_id(&github, number);
    let keeper = client(&github, KEEPER);
    keeper.disable_auto_merge(&key(number), &id).await.unwrap();
    // GitHub refuses to disarm what is not armed.
    keeper.disable_auto_merge(&key(number), &id).await.unwrap();
    github.conclude(number, "test", "success");
    assert!(github.pull(number, |pull| pull.merged.is_none()));
    let writes = github.take_writes();
    assert!(
        matches!(
            &writes[..],
            [
                Write::AutoMergeArmed { .. },
                Write::AutoMergeDisarmed { .. }
            ]
        ),
        "{writes:?}"
    );
    github.finish();
}

#[tokio::test]
async fn a_merge_queue_takes_a_head_once() {
    let (github, number) = shop();
    let head = head(&github, number);
    let refused = enqueue(&github, number, &head).await.unwrap_err();
    assert!(
        matches!(refused, MergeRefusal::NeedsQueue { .. }),
        "{refused}"
    );
    github.with(|state| state.repository.queued_branches.insert("main".into()));
    needs(&github, "test", 0);
    let refused = enqueue(&github, number, &head).await.unwrap_err();
    assert!(matches!(refused, MergeRefusal::Checks { .. }), "{refused}");
    github.conclude(number, "test", "success");
    enqueue(&github, number, &head).await.unwrap();
    enqueue(&github, number, &head).await.unwrap();
    let queued = probe(&github, number).await.unwrap();
    assert!(queued.in_merge_queue && queued.merge_queue);
    assert_eq!(github.take_writes().len(), 1);
    github.merge_queued(number);
    enqueue(&github, number, &head).await.unwrap();
    assert!(github.pull(number, |pull| pull.merged.is_some()));
    github.finish();
}

#[tokio::test]
async fn a_queue_refuses_a_head_that_was_replaced() {
    let (github, number) = shop();
    let old = head(&github, number);
    github.with(|state| state.repository.queued_branches.insert("main".into()));
    let now = push(&github, number, &[Change::write("b.txt", "b2\n")]);
    let refused = enqueue(&github, number, &old).await.unwrap_err();
    assert_eq!(
        refused,
        MergeRefusal::Moved {
            expected: old,
            now: Some(now.clone())
        }
    );
    enqueue(&github, number, &now).await.unwrap();
    github.dequeue(number);
    assert!(!probe(&github, number).await.unwrap().in_merge_queue);
    github.take_writes();
    github.finish();
}

#[tokio::test]
async fn a_place_in_the_merge_queue_is_taken_back_too() {
    let (github, number) = shop();
    github.with(|state| state.repository.queued_branches.insert("main".into()));
    let head = head(&github, number);
    enqueue(&github, number, &head).await.unwrap();
    let id = node_id(&github, number);
    let keeper = client(&github, KEEPER);
    keeper.disable_auto_merge(&key(number), &id).await.unwrap();
    assert!(!probe(&github, number).await.unwrap().in_merge_queue);
    keeper.disable_auto_merge(&key(number), &id).await.unwrap();
    let writes = github.take_writes();
    assert!(
        matches!(
            &writes[..],
            [Write::Enqueued { .. }, Write::Dequeued { by, .. }] if by == "keeper"
        ),
        "{writes:?}"
    );
    github.finish();
}

#[tokio::test]
async fn a_place_in_the_merge_queue_that_cannot_be_taken_back_is_no_success() {
    let (github, number) = shop();
    github.with(|state| state.repository.queued_branches.insert("main".into()));
    github.enqueue(number);
    let reads = &["contents:read", "pull-requests:read"];
    github.token(KEEPER, Identity::person("keeper", reads));
    let id = node_id(&github, number);
    let keeper = client(&github, KEEPER);
    let refused = keeper.disable_auto_merge(&key(number), &id).await;
    assert!(
        matches!(refused, Err(MergeRefusal::NotPermitted { .. })),
        "{refused:?}"
    );
    github.finish();
}
