use super::server::{Running, Server, close, deliver, limits, open, seen, state};
use crate::Limits;
use crate::tests::restate::server::free_port;
use crate::tests::toy::{Input, Mouth, Toy, say};
use std::sync::Arc;

#[tokio::test]
async fn a_delivery_that_comes_again_changes_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let first = deliver(&engine, "1/7", "guid", Input::Add(5)).await;
    deliver(&engine, "1/7", "other", Input::Add(1)).await;
    let again = deliver(&engine, "1/7", "guid", Input::Add(5)).await;
    assert!(!first.duplicate && again.duplicate);
    assert_eq!((first.state.total, again.state.total), (5, 6));
    let elsewhere = deliver(&engine, "1/8", "guid", Input::Add(5)).await;
    assert!(!elsewhere.duplicate);
    assert_eq!(engine.counts().commits, 3);
    assert!(engine.status("1/9").await.unwrap().is_none());
}

#[tokio::test]
async fn nobody_outside_can_take_the_place_of_an_outcome() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    deliver(&engine, "1/7", "1/7/1", Input::Add(0)).await;
    deliver(&engine, "1/7", "effect:1/7/1", Input::Add(0)).await;
    deliver(&engine, "1/7", "strange \u{e9}\n%41/..", say("hello")).await;
    seen(&engine, "1/7", 4).await;
    assert_eq!(state(&engine, "1/7").await.total, 1);
    let delivery = serde_json::json!({ "id": "effect:1/7/9", "input": { "Add": 9 } });
    let deliver = server.post("opencode-reviewer.pull/1%2F7/deliver", &delivery);
    assert_eq!(deliver.await, 200);
    for private in ["pull/1%2F7/answer", "effects/1%2F7/execute"] {
        let path = format!("opencode-reviewer.{private}");
        assert_eq!(server.post(&path, &delivery).await, 400, "{private}");
    }
    assert_eq!(state(&engine, "1/7").await.total, 10);
    close(engine, running).await;
}

#[tokio::test]
async fn a_key_has_one_writer_at_a_time_and_steps_in_order() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
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
    for n in 0..10 {
        deliver(&engine, "1/2", &format!("d{n}"), Input::Add(n)).await;
    }
    let expected: Vec<String> = (0..10).map(|n| format!("add {n}")).collect();
    assert_eq!(state(&engine, "1/2").await.seen, expected);
}

#[tokio::test]
async fn a_state_can_be_computed_again_from_its_history() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    deliver(&engine, "1/7", "a", say("hello")).await;
    seen(&engine, "1/7", 2).await;
    let later = Input::Later {
        after_ms: 300,
        add: 4,
    };
    deliver(&engine, "1/7", "b", later).await;
    seen(&engine, "1/7", 4).await;
    let history = engine.history("1/7", 100).await.unwrap();
    let deliveries: Vec<&str> = history.iter().map(|entry| &*entry.delivery).collect();
    assert_eq!(
        deliveries,
        ["event:a", "effect:1/7/1", "event:b", "effect:1/7/2"]
    );
    assert_eq!(history[1].log, ["said hello"]);
    assert!(history[3].at - history[2].at >= 300, "{history:?}");
    let replayed = engine.replay("1/7").await.unwrap().unwrap();
    assert_eq!(replayed, state(&engine, "1/7").await);
    assert_eq!(engine.history("1/7", 1).await.unwrap()[0].n, 4);
    assert!(engine.replay("1/8").await.unwrap().is_none());
    close(engine, running).await;
}

#[tokio::test]
async fn a_history_has_a_bound() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        history: 3,
        ..limits()
    };
    let engine = open(&server.store(free_port()), Toy, limits).await;
    for n in 0..5 {
        deliver(&engine, "1/7", &format!("d{n}"), Input::Add(1)).await;
    }
    let history = engine.history("1/7", 100).await.unwrap();
    let numbers: Vec<i64> = history.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [3, 4, 5]);
    assert!(engine.replay("1/7").await.unwrap().is_none());
}

#[tokio::test]
async fn a_history_of_large_inputs_is_told_by_its_last_ones() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        history_bytes: 10_000,
        ..limits()
    };
    let engine = open(&server.store(free_port()), Toy, limits).await;
    for n in 0..9 {
        deliver(&engine, "1/7", &format!("d{n}"), say(&"x".repeat(4_000))).await;
    }
    let history = engine.history("1/7", 100).await.unwrap();
    let numbers: Vec<i64> = history.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [7, 8, 9]);
    // A replay needs all of them.
    assert!(engine.replay("1/7").await.unwrap().is_some());
}

#[tokio::test]
async fn a_long_history_is_read_in_pages() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    for n in 0..230 {
        deliver(&engine, "1/7", &format!("d{n}"), Input::Add(n)).await;
    }
    let numbers = async |most: u32| {
        let history = engine.history("1/7", most).await.unwrap();
        history.iter().map(|entry| entry.n).collect::<Vec<_>>()
    };
    assert_eq!(numbers(u32::MAX).await, (1..=230).collect::<Vec<_>>());
    assert_eq!(numbers(150).await, (81..=230).collect::<Vec<_>>());
    assert!(numbers(0).await.is_empty());
    let replayed = engine.replay("1/7").await.unwrap();
    assert_eq!(replayed, Some(state(&engine, "1/7").await));
}

#[tokio::test]
async fn a_process_without_an_endpoint_sends_to_another_one() {
    let Some(server) = Server::start() else {
        return;
    };
    let worker = server.open().await;
    let running = Running::start(&worker, &Arc::new(Mouth::default()));
    let front = open(&server.store_without_endpoint(), Toy, limits()).await;
    assert!(!deliver(&front, "1/7", "a", say("hello")).await.duplicate);
    assert!(deliver(&worker, "1/7", "a", say("hello")).await.duplicate);
    seen(&front, "1/7", 2).await;
    assert_eq!(state(&front, "1/7").await, state(&worker, "1/7").await);
    close(worker, running).await;
}
