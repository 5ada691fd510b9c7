//! Quotas in a real store that several processes change at the same time.

use super::*;
use futures_util::future::join_all;
use reviewer_core::lifecycle::PullKey;
use tempfile::TempDir;

const NOON: Millis = 1_767_268_800_000;
const QUOTAS_OF_TWO: Quotas = Quotas {
    per_author: 2,
    per_repository: 3,
};

async fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store");
    let opened = Store::open(file.to_str().expect("a path")).await;
    (folder, opened.expect("a store"))
}

fn id(repository: u64, number: u64, dispatch: u64) -> SessionId {
    let key = PullKey { repository, number };
    SessionId { key, dispatch }
}

/// Facts of a pull request of this author.
fn facts(author: &str) -> Facts {
    let facts = serde_json::json!({
        "repo": "octo/shop", "number": 1, "state": "open", "draft": false, "locked": false,
        "head": "a".repeat(40), "headBranch": "topic", "fromFork": false, "base": "main", "author": author,
        "labels": [], "requested": [], "reviews": [], "lastPushBy": null, "resumes": [],
        "mergeable": "mergeable", "mergeState": "clean", "autoMergeArmed": false, "inMergeQueue": false,
        "settings": reviewer_core::lifecycle::Settings::default(),
    });
    serde_json::from_value(facts).expect("facts")
}

async fn ask(
    store: &Store,
    id: SessionId,
    author: &str,
    beyond: bool,
    now: Millis,
) -> Option<OverQuota> {
    let asked = Asked {
        id: &id,
        facts: &facts(author),
        beyond,
    };
    let taken = take(store, QUOTAS_OF_TWO, &asked, now).await;
    taken.expect("the store answers")
}

#[tokio::test]
async fn a_session_that_one_quota_refuses_counts_against_none() {
    let (_folder, store) = store().await;
    for dispatch in 1..=2 {
        assert_eq!(
            ask(&store, id(1, 7, dispatch), "ann", false, NOON).await,
            None
        );
        // A crash after it has counted, and the same effect again.
        assert_eq!(
            ask(&store, id(1, 7, dispatch), "Ann", false, NOON).await,
            None
        );
    }
    let refused = OverQuota {
        quota: "the quota of ann (2 sessions a day)".into(),
        until: next_day(NOON),
    };
    let again = ask(&store, id(1, 8, 1), "ann", false, NOON).await;
    assert_eq!(again, Some(refused.clone()));
    // The author's quota holds in all repositories.
    assert_eq!(
        ask(&store, id(2, 1, 1), "ann", false, NOON).await,
        Some(refused)
    );
    assert_eq!(ask(&store, id(1, 9, 1), "ben", false, NOON).await, None);
    let full = ask(&store, id(1, 9, 2), "ben", false, NOON).await;
    let full = full.expect("a refusal").quota;
    assert_eq!(full, "the quota of octo/shop (3 sessions a day)");
    // Ben's own quota has a place left: the refused session has not taken it.
    assert_eq!(ask(&store, id(2, 9, 3), "ben", false, NOON).await, None);
    assert_eq!(ask(&store, id(1, 9, 4), "eve", true, NOON).await, None);
}

#[tokio::test]
async fn processes_that_ask_at_the_same_time_begin_no_session_too_many() {
    let (_folder, store) = store().await;
    let asked = (1..=9).map(|dispatch| ask(&store, id(1, 7, dispatch), "ann", false, NOON));
    let begun = join_all(asked).await.into_iter().filter(Option::is_none);
    assert_eq!(begun.count(), 2);
}

#[tokio::test]
async fn the_next_day_has_a_whole_quota_and_earlier_days_are_forgotten() {
    let (_folder, store) = store().await;
    for dispatch in 1..=2 {
        assert_eq!(
            ask(&store, id(1, 7, dispatch), "ann", false, NOON).await,
            None
        );
    }
    assert_eq!(ask(&store, id(1, 7, 3), "ben", false, NOON).await, None);
    forget(&store, NOON).await.expect("the store answers");
    assert!(ask(&store, id(1, 7, 4), "ann", false, NOON).await.is_some());
    let tomorrow = next_day(NOON);
    assert_eq!(ask(&store, id(1, 7, 4), "ann", false, tomorrow).await, None);
    forget(&store, tomorrow).await.expect("the store answers");
    let left = store.cells(QUOTAS).await.expect("the store answers");
    let left: Vec<&str> = left.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(left, ["quota/author/ann", "quota/repository/1"]);
}
