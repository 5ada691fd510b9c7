use super::toy::{Input, Place, close, deliver, limits, say, settle, state};
use crate::{Filter, Limits};
use std::sync::Arc;

#[tokio::test]
async fn a_delivery_that_comes_again_changes_nothing() {
    let place = Place::new();
    let engine = place.open().await;
    let first = deliver(&engine, "1/7", "guid", Input::Add(5)).await;
    let again = deliver(&engine, "1/7", "guid", Input::Add(5)).await;
    assert!(!first.duplicate && again.duplicate);
    assert_eq!(again.state.total, 5);
    close(engine).await;
    let engine = place.open().await;
    let after_restart = deliver(&engine, "1/7", "guid", Input::Add(5)).await;
    assert!(after_restart.duplicate);
    assert_eq!(state(&engine, "1/7").await.total, 5);
}

#[tokio::test]
async fn a_delivery_is_one_commit() {
    let place = Place::new();
    let engine = place.open().await;
    let before = engine.counts();
    deliver(&engine, "1/7", "a", say("hello")).await;
    let after = engine.counts();
    assert_eq!(after.commits - before.commits, 1);
    // BEGIN, inbox, lock, state, history, task, COMMIT.
    assert_eq!(after.statements - before.statements, 7);
    deliver(&engine, "1/7", "a", say("hello")).await;
    assert_eq!(engine.counts().commits, after.commits);
}

#[tokio::test]
async fn nobody_outside_can_take_the_place_of_an_outcome() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "1/7/1", Input::Add(0)).await;
    deliver(&engine, "1/7", "effect:1/7/1", Input::Add(0)).await;
    deliver(&engine, "1/7", "b", say("hello")).await;
    settle(engine, &place.mouth(), &place.clock).await;
    let engine = place.open().await;
    assert_eq!(state(&engine, "1/7").await.total, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_has_one_writer_at_a_time() {
    let place = Place::new();
    let engine = place.open().await;
    let callers = (0..64).map(|n| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            let key = format!("1/{}", n % 2);
            deliver(&engine, &key, &format!("d{n}"), Input::Add(1)).await;
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    for key in ["1/0", "1/1"] {
        let status = engine.status(key).await.unwrap().unwrap();
        assert_eq!((status.state.total, status.version), (32, 32));
    }
}

#[tokio::test]
async fn inputs_of_a_key_are_stepped_in_the_order_of_their_delivery() {
    let place = Place::new();
    let engine = place.open().await;
    for n in 0..20 {
        deliver(&engine, "1/7", &format!("d{n}"), Input::Add(n)).await;
    }
    let expected: Vec<String> = (0..20).map(|n| format!("add {n}")).collect();
    assert_eq!(state(&engine, "1/7").await.seen, expected);
}

#[tokio::test]
async fn a_state_can_be_computed_again_from_its_history() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let later = Input::Later {
        after_ms: 60_000,
        add: 4,
    };
    deliver(&engine, "1/7", "b", later).await;
    settle(engine, &place.mouth(), &place.clock).await;
    let engine = place.open().await;
    let history = engine.history("1/7", 100).await.unwrap();
    let deliveries: Vec<&str> = history.iter().map(|entry| &*entry.delivery).collect();
    assert_eq!(
        deliveries,
        ["event:a", "event:b", "effect:1/7/1", "effect:1/7/2"]
    );
    assert_eq!(history[2].log, ["said hello"]);
    assert_eq!(history[3].at - history[1].at, 60_000);
    let replayed = engine.replay("1/7").await.unwrap().unwrap();
    assert_eq!(replayed, state(&engine, "1/7").await);
    assert_eq!(engine.history("1/7", 1).await.unwrap()[0].n, 4);
    assert!(engine.replay("1/8").await.unwrap().is_none());
}

#[tokio::test]
async fn old_deliveries_and_the_oldest_inputs_are_purged() {
    let place = Place::new();
    let limits = Limits {
        history: 3,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    deliver(&engine, "1/7", "old", Input::Add(1)).await;
    place.clock.advance(2 * 24 * 60 * 60 * 1_000);
    for n in 0..4 {
        deliver(&engine, "1/7", &format!("new{n}"), Input::Add(1)).await;
    }
    deliver(&engine, "1/8", "other", Input::Add(1)).await;
    assert_eq!(engine.purge().await.unwrap(), 2, "two inputs of five");
    assert!(
        deliver(&engine, "1/7", "old", Input::Add(1))
            .await
            .duplicate
    );
    place.clock.advance(24 * 60 * 60 * 1_000 + 1);
    assert_eq!(engine.purge().await.unwrap(), 1, "one delivery");
    assert!(
        !deliver(&engine, "1/7", "old", Input::Add(1))
            .await
            .duplicate
    );
    assert!(
        deliver(&engine, "1/7", "new0", Input::Add(1))
            .await
            .duplicate
    );
    assert_eq!(engine.history("1/8", 9).await.unwrap().len(), 1);
    assert!(engine.replay("1/7").await.unwrap().is_none());
}

#[tokio::test]
async fn keys_are_listed_by_phase_and_page() {
    let place = Place::new();
    let engine = place.open().await;
    for (n, amount) in [(1, 5), (2, -5), (3, 5)] {
        let (key, id) = (format!("1/{n}"), format!("d{n}"));
        deliver(&engine, &key, &id, Input::Add(amount)).await;
    }
    let keys = async |filter: Filter| {
        let listed = engine.list(&filter).await.unwrap();
        listed.into_iter().map(|one| one.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(Filter::default()).await, ["1/1", "1/2", "1/3"]);
    let owing = Filter {
        phase: Some("owing".to_owned()),
        ..Filter::default()
    };
    assert_eq!(keys(owing).await, ["1/2"]);
    let page = Filter {
        after: "1/1".to_owned(),
        most: 1,
        ..Filter::default()
    };
    assert_eq!(keys(page).await, ["1/2"]);
    let phases = engine.phases().await.unwrap();
    assert_eq!(phases, [("owing".to_owned(), 1), ("solvent".to_owned(), 2)]);
}

#[tokio::test]
async fn a_history_of_large_inputs_is_told_by_its_last_ones() {
    let place = Place::new();
    let limits = Limits {
        history_bytes: 10_000,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    for n in 0..9 {
        deliver(&engine, "1/7", &format!("d{n}"), say(&"x".repeat(4_000))).await;
    }
    let told = async |most: u32| {
        let history = engine.history("1/7", most).await.unwrap();
        history.iter().map(|entry| entry.n).collect::<Vec<_>>()
    };
    assert_eq!(told(100).await, [7, 8, 9]);
    assert_eq!(told(2).await, [8, 9]);
    deliver(&engine, "1/7", "last", say(&"x".repeat(20_000))).await;
    assert_eq!(told(100).await, [10]);
    // A replay needs all of them.
    let replayed = engine.replay("1/7").await.unwrap();
    assert_eq!(replayed, Some(state(&engine, "1/7").await));
}
