use super::server::{Running, Server, close, deliver, seen, until};
use super::worlds::Gated;
use crate::tests::toy::{Input, say};
use crate::{Backlog, CellChange, Filter, Recent};
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

#[tokio::test]
async fn the_server_remembers_deliveries_and_no_questions() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    deliver(&engine, "1/7", "a", Input::Add(5)).await;
    for _ in 0..10 {
        engine.status("1/7").await.unwrap();
        engine.history("1/7", 5).await.unwrap();
    }
    assert_eq!(server.known_calls("deliver").await, 1);
    until("questions are forgotten", async || {
        server.known_calls("status").await + server.known_calls("history").await == 0
    })
    .await;
}

#[tokio::test]
async fn the_newest_keys_and_their_states_are_told_as_by_a_file() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    for (n, amount) in [(1, 5), (2, -5), (3, 5)] {
        let (key, id) = (format!("1/{n}"), format!("d{n}"));
        deliver(&engine, &key, &id, Input::Add(amount)).await;
    }
    deliver(&engine, "1/1", "again", Input::Add(1)).await;
    let keys = async |phase: Option<&str>, before: Option<(i64, String)>| {
        let phase = phase.map(str::to_owned);
        let wanted = Recent {
            phase,
            before,
            most: 2,
        };
        let listed = engine.recent(&wanted).await.unwrap();
        let end = listed.last().map(|one| (one.changed, one.key.clone()));
        let keys: Vec<String> = listed.into_iter().map(|one| one.key).collect();
        (keys, end)
    };
    let (first, end) = keys(None, None).await;
    assert_eq!(first[0], "1/1");
    let (second, _) = keys(None, end).await;
    assert_eq!(second.len(), 1);
    assert_eq!(keys(Some("owing"), None).await.0, ["1/2"]);
    assert!(
        keys(Some("' OR 1 = 1"), Some((5, "it's".to_owned())))
            .await
            .0
            .is_empty()
    );
    let wanted = ["1/1", "1/9", "it's"].map(str::to_owned);
    let states = engine.states(&wanted).await.unwrap();
    assert_eq!(
        (states.len(), states[0].1.state.total, states[0].1.version),
        (1, 6, 2)
    );
    let store = engine.store();
    assert!(
        store
            .change_cell("spent/1/1", CellChange::Add("x"))
            .await
            .unwrap()
    );
    let names = ["spent/1/1", "spent/1/9"].map(str::to_owned);
    assert_eq!(store.cells_named(&names).await.unwrap().len(), 1);
    world.open();
    close(engine, running).await;
}

#[tokio::test]
async fn what_waits_for_a_key_is_told_as_by_a_file() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    deliver(&engine, "1/7", "a", say("wait")).await;
    let later = Input::Later {
        after_ms: 86_400_000,
        add: 1,
    };
    deliver(&engine, "1/7", "b", later).await;
    let waiting = engine.waiting("1/7", 10).await.unwrap();
    let told: Vec<(u64, bool)> = waiting.iter().map(|one| (one.seq, one.is_timer)).collect();
    assert_eq!(told, [(1, false), (2, true)]);
    assert_eq!(waiting[1].due, Some(waiting[1].created + 86_400_000));
    world.open();
    close(engine, running).await;
}
