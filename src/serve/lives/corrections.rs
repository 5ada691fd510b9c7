//! The corrections of the design that only the service as a whole shows. The others are tests of the lifecycle.

use super::plan::{Crash, Plan};
use super::repository::{AGENTS, KEEPER, token};
use super::stage::{STATE_KEY, Stage};
use super::{LOOK_MS, MINUTE_MS};
use crate::serve::service::Service;
use reviewer_core::lifecycle::{Phase, status};
use reviewer_engine::clock::Clock as _;
use std::fs;
use std::future::pending;
use std::sync::Arc;

#[tokio::test]
async fn correction_7_effects_that_wait_are_not_lost_on_restart() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let hold = stage.clock.hold();
    stage.begin();
    let open = async || {
        let service = Service::open(stage.parts()).await;
        service.expect("a service")
    };
    let service = open().await;
    let woken = service.wake(stage.key, "one", "webhook pull_request").await;
    woken.expect("the store takes a wake");
    // It dies before anything is executed.
    drop(service);
    let service = open().await;
    let backlog = service.engine.backlog().await;
    assert_eq!(backlog.expect("the store answers").effects, 1);
    let world = Arc::clone(&service.world);
    let turns = tokio::spawn(service.engine.run(world, pending()));
    drop(hold);
    loop {
        let known = service.state(stage.key).await.expect("the store answers");
        if known.is_some_and(|state| matches!(state.phase, Phase::Reviewing { .. })) {
            break;
        }
        tokio::task::yield_now().await;
    }
    turns.abort();
}

/// A life with accounts or with an App, in which a session runs and the service dies.
fn plan(app: bool) -> Plan {
    let mut plan = Plan::of(1).undisturbed();
    plan.story.app = app;
    plan.story.author_is_agent = true;
    plan.story.draft = false;
    plan.crashes = vec![Crash {
        at: 3,
        after: true,
        orphans: false,
        down_ms: 10,
    }];
    plan
}

#[tokio::test]
async fn correction_7_no_token_is_in_the_store_in_a_status_or_in_a_history() {
    for app in [false, true] {
        let stage = Stage::set(plan(app));
        let hold = stage.clock.hold();
        stage.open().await;
        stage.begin();
        for _ in 0..10 {
            stage.rest(LOOK_MS).await;
            let _goes_on = stage.look().await;
            stage.rest(MINUTE_MS).await;
        }
        let life = stage.state().await;
        assert!(!life.outcomes.is_empty(), "{life:#?}");
        let mut secrets = stage.memory().secrets.clone();
        assert!(secrets.len() >= 4, "{secrets:?}");
        let accounts = AGENTS.map(|(_, login)| login).into_iter().chain([KEEPER]);
        secrets.extend(accounts.map(token));
        secrets.push(STATE_KEY.into());
        drop(hold);
        stage.stop().await;
        let told = serde_json::to_string(&status(&life, &stage.policy()));
        let mut told = told.expect("JSON");
        for file in fs::read_dir(stage.folder.path()).expect("a folder") {
            let path = file.expect("an entry").path();
            if path.is_file() {
                told += &String::from_utf8_lossy(&fs::read(path).expect("a file"));
            }
        }
        assert!(told.contains("webhook pull_request"), "it has the history");
        for secret in secrets {
            assert!(!told.contains(&secret), "{secret} with App: {app}");
        }
    }
}
