//! Processes and servers that die in the middle.
#![expect(
    clippy::disallowed_methods,
    reason = "starts itself as a process that dies"
)]

use super::server::{Running, Server, close, deliver, free_port, limits, open, seen, state, until};
use super::worlds::{Diary, Gated, lines};
use crate::Limits;
use crate::tests::toy::{Input, Mouth, Sum, Toy, say};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const STORE: &str = "ENGINE_TEST_STORE";
const DIARY: &str = "ENGINE_TEST_DIARY";

/// The process that dies; not a test by itself.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn a_worker_that_dies() {
    let (Ok(store), Ok(file)) = (std::env::var(STORE), std::env::var(DIARY)) else {
        return;
    };
    let engine = open(&store, Toy, limits()).await;
    let world = Diary {
        file: PathBuf::from(file),
        hangs: true,
    };
    engine.run(Arc::new(world), std::future::pending()).await;
}

fn worker(store: &str, diary: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::restate::crashes::a_worker_that_dies"])
        .arg("--ignored")
        .env(STORE, store)
        .env(DIARY, diary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn the_effects_of_a_killed_worker_go_on_in_the_next_one() {
    let Some(server) = Server::start() else {
        return;
    };
    let (folder, store) = (tempfile::tempdir().unwrap(), server.store(free_port()));
    let diary = folder.path().join("diary");
    let front = open(&server.store_without_endpoint(), Toy, limits()).await;
    let child = worker(&store, &diary);
    deliver(&front, "1/7", "a", say("fatal")).await;
    deliver(&front, "1/7", "b", say("hello")).await;
    let begun = || lines(&diary).contains(&"begin 1/7/1".to_owned());
    until("the effect has begun", async || begun()).await;
    kill(child);

    let engine = open(&store, Toy, limits()).await;
    let world = Arc::new(Diary {
        file: diary.clone(),
        hangs: false,
    });
    let running = Running::start(&engine, &world);
    seen(&front, "1/7", 4).await;
    let done = [
        "begin 1/7/1",
        "begin 1/7/1",
        "end 1/7/1",
        "begin 1/7/2",
        "end 1/7/2",
    ];
    assert_eq!(lines(&diary), done);
    let seen = state(&front, "1/7").await.seen;
    assert_eq!(seen, ["say fatal", "say hello", "said fatal", "said hello"]);
    close(engine, running).await;
}

#[tokio::test]
async fn an_effect_that_kills_its_worker_is_given_up() {
    let Some(server) = Server::start() else {
        return;
    };
    let (folder, store) = (tempfile::tempdir().unwrap(), server.store(free_port()));
    let diary = folder.path().join("diary");
    let front = open(&server.store_without_endpoint(), Toy, limits()).await;
    let mut child = worker(&store, &diary);
    deliver(&front, "1/7", "a", say("fatal")).await;
    for deaths in 1..=5 {
        let begun = || lines(&diary).len() == deaths;
        until("the effect has begun", async || begun()).await;
        kill(child);
        child = worker(&store, &diary);
    }
    seen(&front, "1/7", 2).await;
    kill(child);
    let engine = open(&store, Toy, limits()).await;
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen[1], "failed: the attempt ended without an answer");
}

#[tokio::test]
async fn a_worker_takes_over_from_one_that_is_killed_beside_it() {
    let Some(server) = Server::start() else {
        return;
    };
    let (folder, store) = (tempfile::tempdir().unwrap(), server.store(free_port()));
    let diary = folder.path().join("diary");
    let front = open(&server.store_without_endpoint(), Toy, limits()).await;
    let child = worker(&store, &diary);
    deliver(&front, "1/1", "a", say("fatal")).await;
    until("the effect has begun", async || !lines(&diary).is_empty()).await;

    let engine = open(&store, Toy, limits()).await;
    let world = Arc::new(Diary {
        file: diary.clone(),
        hangs: false,
    });
    let running = Running::start(&engine, &world);
    for n in 2..10 {
        deliver(&front, &format!("1/{n}"), "a", say("hello")).await;
    }
    kill(child);
    for n in 1..10 {
        let key = format!("1/{n}");
        seen(&front, &key, 2).await;
        assert_eq!(state(&front, &key).await.total, 1);
    }
    close(engine, running).await;
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_is_killed() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    deliver(&engine, "1/7", "a", say("wait")).await;
    let later = |add| Input::Later { after_ms: 500, add };
    for n in 0..20 {
        deliver(&engine, "1/8", &format!("t{n}"), later(1)).await;
    }
    until("the effect has begun", async || world.has_begun("wait")).await;
    server.kill();
    let meanwhile = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move { deliver(&engine, "1/9", "b", say("hello")).await })
    };
    server.restart();
    world.open();
    assert!(!meanwhile.await.unwrap().duplicate);
    seen(&engine, "1/7", 2).await;
    seen(&engine, "1/8", 40).await;
    seen(&engine, "1/9", 2).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say wait", "said wait"]);
    assert_eq!(state(&engine, "1/8").await.total, 20);
    assert!(deliver(&engine, "1/7", "a", say("wait")).await.duplicate);
    close(engine, running).await;
}

#[tokio::test]
async fn deliveries_under_kills_of_the_server_are_stepped_once() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        history: 10,
        ..limits()
    };
    let engine = open(&server.store(free_port()), Toy, limits).await;
    let mouth = Arc::new(Mouth::default());
    let running = Running::start(&engine, &mouth);
    let load = (0..8).map(|n| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            for round in 0..30 {
                let key = format!("1/{n}");
                deliver(&engine, &key, &format!("d{round}"), say("x")).await;
            }
        })
    });
    let load: Vec<_> = load.collect();
    for half in [40, 120] {
        until("progress", async || engine.counts().commits >= half).await;
        server.kill();
        server.restart();
    }
    for one in load {
        one.await.unwrap();
    }
    for n in 0..8 {
        let key = format!("1/{n}");
        seen(&engine, &key, 60).await;
        let Sum { next, total, seen } = state(&engine, &key).await;
        assert_eq!((next, total, seen.len()), (30, 30, 60));
    }
    close(engine, running).await;
}
