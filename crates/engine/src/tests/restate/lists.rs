use super::server::{Running, Server, close, deliver, seen, until};
use super::worlds::Gated;
use crate::tests::toy::{Input, say};
use crate::{Backlog, Filter};
use std::sync::Arc;

#[tokio::test]
async fn keys_are_listed_by_phase_and_page() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    assert!(engine.list(&Filter::default()).await.unwrap().is_empty());
    assert!(engine.phases().await.unwrap().is_empty());
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
    let nobody = Filter {
        after: "it's".to_owned(),
        phase: Some("' OR 1 = 1".to_owned()),
        most: 0,
    };
    assert!(keys(nobody).await.is_empty());
    let phases = engine.phases().await.unwrap();
    assert_eq!(phases, [("owing".to_owned(), 1), ("solvent".to_owned(), 2)]);
    let status = engine.status("1/2").await.unwrap().unwrap();
    let listed = engine.list(&Filter::default()).await.unwrap();
    assert_eq!((listed[1].version, listed[1].changed), (1, status.changed));
}

#[tokio::test]
async fn the_backlog_counts_effects_and_timers() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    assert_eq!(engine.backlog().await.unwrap(), Backlog::default());
    deliver(&engine, "1/7", "a", say("wait")).await;
    deliver(&engine, "1/7", "b", say("hello")).await;
    let later = Input::Later {
        after_ms: 86_400_000,
        add: 1,
    };
    deliver(&engine, "1/7", "c", later).await;
    until("an age", async || {
        let backlog = engine.backlog().await.unwrap();
        (backlog.effects, backlog.timers) == (2, 1) && backlog.oldest_ms > 0
    })
    .await;
    world.open();
    seen(&engine, "1/7", 5).await;
    until("no effect is left", async || {
        engine.backlog().await.unwrap()
            == Backlog {
                timers: 1,
                ..Backlog::default()
            }
    })
    .await;
    close(engine, running).await;
}
