//! Two processes on one store, with leases of a moment.

use super::*;
use tempfile::TempDir;

const LEASE: Duration = Duration::from_millis(200);

async fn store(folder: &TempDir) -> Store {
    let file = folder.path().join("store");
    let opened = Store::open(file.to_str().expect("a path")).await;
    opened.expect("a store")
}

fn workers() -> Workers {
    Workers::brief(LEASE)
}

#[tokio::test]
async fn a_store_is_in_use_while_a_process_says_so_and_not_for_longer_than_a_lease() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder).await;
    assert!(!is_in_use_within(&store, LEASE).await.expect("an answer"));
    let mut one = workers();
    one.beat(&store).await.expect("a name");
    let beating = async {
        loop {
            pause(LEASE / 20).await;
            one.beat(&store).await.expect("a name");
        }
    };
    let used = tokio::select! {
        used = is_in_use_within(&store, LEASE * 100) => used,
        () = beating => unreachable!("it goes on"),
    };
    assert!(used.expect("an answer"));
    // It was killed.
    assert!(!is_in_use_within(&store, LEASE).await.expect("an answer"));
    assert!(store.cells(WORKERS).await.expect("cells").is_empty());
}

async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test]
async fn a_process_that_says_so_is_there_and_one_that_is_silent_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder).await;
    let (mut one, mut other) = (workers(), workers());
    let (first, second) = (one.beat(&store).await, other.beat(&store).await);
    let (first, second) = (first.expect("a name"), second.expect("a name"));
    for _ in 0..12 {
        pause(LEASE / 4).await;
        assert_eq!(one.beat(&store).await.expect("a name"), first);
        one.alive(&store).await.expect("an answer");
    }
    let alive = one.alive(&store).await.expect("an answer");
    assert!(alive.contains(&first) && !alive.contains(&second));
    // The one that was silent hears of it, and goes on under another name.
    let anew = other.beat(&store).await.expect("a name");
    assert_ne!(anew, second);
    let alive = one.alive(&store).await.expect("an answer");
    assert!(alive.contains(&anew));
}

#[tokio::test]
async fn a_process_that_was_slow_to_look_takes_nobody_for_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder).await;
    let (mut one, mut other) = (workers(), workers());
    let second = other.beat(&store).await.expect("a name");
    one.beat(&store).await.expect("a name");
    one.alive(&store).await.expect("an answer");
    pause(LEASE * 2).await;
    // It was there meanwhile, and its cell says so.
    assert_eq!(other.beat(&store).await.expect("a name"), second);
    let alive = one.alive(&store).await.expect("an answer");
    assert!(alive.contains(&second));
}

#[tokio::test]
async fn a_process_that_leaves_is_gone_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder).await;
    let (mut one, mut other) = (workers(), workers());
    one.beat(&store).await.expect("a name");
    let second = other.beat(&store).await.expect("a name");
    other.leave(&store).await.expect("an answer");
    let alive = one.alive(&store).await.expect("an answer");
    assert!(!alive.contains(&second));
}

#[tokio::test]
async fn a_beat_whose_answer_was_lost_costs_a_process_neither_its_name_nor_its_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder).await;
    let mut one = workers();
    let name = one.beat(&store).await.expect("a name");
    // The store made the change, and nobody heard of it.
    let text = "";
    let lost = CellChange::Replace { seen: 1, text };
    let made = store.change_cell(&cell(&name), lost).await;
    assert!(made.expect("an answer"));
    for _ in 0..3 {
        pause(LEASE / 10).await;
        assert_eq!(one.beat(&store).await.expect("a name"), name);
    }
    let found = store.cell(&cell(&name)).await.expect("an answer");
    assert!(found.expect("its cell").version > 2, "the others see it");
}
