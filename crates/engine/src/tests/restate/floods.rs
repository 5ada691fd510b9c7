//! More effects at once than a process has room for.

use super::server::{
    Running, Server, Shared, close, deliver, free_port, limits, open, seen, state, until,
};
use super::worlds::Gated;
use crate::Limits;
use crate::tests::toy::{Input, Mouth, Toy, Words, say};
use futures_util::future::join_all;
use std::sync::Arc;

/// Slow effects of as many keys, of which none ends.
async fn flood(engine: &Shared<Toy>, keys: usize) {
    let slow = || {
        Input::Say(Words {
            text: "wait".to_owned(),
            slow: true,
            then: 0,
        })
    };
    let numbers: Vec<usize> = (1..=keys).collect();
    for some in numbers.chunks(32) {
        let sent = some.iter().map(async |n| {
            deliver(engine, &format!("1/{n}"), "a", slow()).await;
        });
        join_all(sent).await;
    }
}

/// Waits until each of the keys has had its answer, once.
async fn all_ended(engine: &Shared<Toy>, keys: usize) {
    until("the end of the flood", async || effects(engine).await == 0).await;
    for n in 1..=keys {
        assert_eq!(state(engine, &format!("1/{n}")).await.total, 1);
    }
}

async fn effects(engine: &Shared<Toy>) -> i64 {
    engine.backlog().await.unwrap().effects
}

#[tokio::test]
async fn a_flood_waits_in_the_server_and_delays_nobody_else() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        slow_at_once: 4,
        ..limits()
    };
    let engine = open(&server.store(free_port()), Toy, limits).await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    // The server runs a thousand calls of each of its two partitions.
    flood(&engine, 2_500).await;
    until("the flood holds no connections", async || {
        server.running_effects().await < 50
    })
    .await;
    deliver(&engine, "2/1", "a", say("fast")).await;
    seen(&engine, "2/1", 2).await;
    // Something that happens to one of the flood alone takes it out.
    deliver(&engine, "1/2500", "b", say("urgent")).await;
    until("it was called", async || world.begun().len() == 6).await;
    world.open();
    seen(&engine, "1/2500", 4).await;
    until("the end of the flood", async || effects(&engine).await == 0).await;
    let begun = world.begun();
    let waited = begun.iter().filter(|text| *text == "wait").count();
    assert_eq!((waited, begun.len()), (2_500, 2_502));
    close(engine, running).await;
}

#[tokio::test]
async fn the_next_process_calls_those_who_wait_in_the_server() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = server.store(free_port());
    // They would ask by themselves only after the story.
    let limits = Limits {
        lease_ms: 600_000,
        ..limits()
    };
    let engine = open(&store, Toy, limits).await;
    let running = Running::start(&engine, &Arc::new(Gated::new()));
    flood(&engine, 100).await;
    until("the flood holds no connections", async || {
        server.running_effects().await < 20
    })
    .await;
    close(engine, running).await;

    let engine = open(&store, Toy, limits).await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    all_ended(&engine, 100).await;
    close(engine, running).await;
}

#[tokio::test]
async fn those_whose_process_is_gone_ask_another_one() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        lease_ms: 2_000,
        ..limits()
    };
    let store = server.store(free_port());
    let (gone, other) = (
        open(&store, Toy, limits).await,
        open(&store, Toy, limits).await,
    );
    let running = [&gone, &other].map(|one| Running::start(one, &Arc::new(Gated::new())));
    flood(&other, 100).await;
    until("the flood holds no connections", async || {
        server.running_effects().await < 30
    })
    .await;
    let [of_gone, of_other] = running;
    close(gone, of_gone).await;
    of_other.stop().await;
    let running = Running::start(&other, &Arc::new(Mouth::default()));
    all_ended(&other, 100).await;
    close(other, running).await;
}
