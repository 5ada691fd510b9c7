//! Ended pull requests on the stage: forgotten after ninety days, and reopened later.

use super::limits::plan;
use super::repository::DEV;
use super::stage::Stage;
use super::{LOOK_MS, MINUTE_MS};
use crate::serve::claims::ENDED;
use reviewer_core::lifecycle::{Phase, State};
use reviewer_engine::clock::{Clock as _, Hold};
use std::sync::Arc;

const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// A life that ends once quality has approved, while security looks.
async fn closed() -> (Arc<Stage>, Hold) {
    let mut plan = plan();
    plan.story.author_is_agent = false;
    plan.story.human = false;
    plan.story.security = true;
    plan.story.strict = u64::MAX;
    let stage = Stage::set(plan);
    let hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    while reviews(&stage) == 0 {
        stage.rest(MINUTE_MS).await;
    }
    stage.rest(2_000).await;
    stage.github.act(stage.key.number, "closed", DEV);
    stage.pump();
    stage.rest(LOOK_MS).await;
    let life = stage.state().await;
    assert_eq!(
        (life.phase, reviews(&stage)),
        (Phase::Closed, 1),
        "{}",
        stage.story()
    );
    (stage, hold)
}

fn reviews(stage: &Stage) -> usize {
    stage.github.with(|github| github.reviews.len())
}

/// The names of the sessions that people may ask for.
async fn sessions(stage: &Stage) -> usize {
    let service = stage.service().expect("a service");
    let cells = service.engine.store().cells(ENDED).await;
    cells.expect("the store answers").len()
}

async fn forget(stage: &Stage) -> usize {
    let service = stage.service().expect("a service");
    service.forget().await.expect("the store answers")
}

async fn is_known(stage: &Stage) -> bool {
    let service = stage.service().expect("a service");
    let life = service.state(stage.key).await;
    life.expect("the store answers").is_some()
}

#[tokio::test]
async fn a_closed_pull_request_is_forgotten_after_ninety_days_with_everything_that_is_its_own() {
    let (stage, _hold) = closed().await;
    assert_eq!(sessions(&stage).await, 1);
    stage.rest(89 * DAY_MS).await;
    assert_eq!(forget(&stage).await, 0);
    stage.rest(2 * DAY_MS).await;
    assert_eq!(forget(&stage).await, 1);
    assert_eq!(forget(&stage).await, 0);
    assert!(!is_known(&stage).await);
    assert_eq!(sessions(&stage).await, 0);
    let service = stage.service().expect("a service");
    let history = service.engine.history(&stage.key.to_string(), 10).await;
    assert_eq!(history.expect("the store answers"), []);
    // Reconciliation finds nothing to wake.
    stage.reconcile().await;
    stage.rest(LOOK_MS).await;
    assert!(!is_known(&stage).await);
    stage.stop().await;
}

#[tokio::test]
async fn a_pull_request_that_is_reopened_after_that_repeats_no_review() {
    let (stage, _hold) = closed().await;
    let before = stage.state().await;
    stage.rest(100 * DAY_MS).await;
    assert_eq!(forget(&stage).await, 1);
    // Sessions of the script know by their number that they have acted, so the new life counts on beyond those of the old one.
    let service = stage.service().expect("a service");
    for number in 0..before.seq {
        let delivery = format!("a late comment {number}");
        let woken = service.wake(stage.key, &delivery, "webhook issue_comment");
        woken.await.expect("the store takes a wake");
        stage.rest(1_000).await;
    }
    let late = stage.state().await;
    assert_eq!((late.phase, late.outcomes.len()), (Phase::Closed, 0));
    stage.github.act(stage.key.number, "reopened", DEV);
    stage.pump();
    stage.rest(LOOK_MS).await;
    stage.rest(LOOK_MS).await;
    let life: State = stage.state().await;
    assert_eq!(reviews(&stage), 2, "{}", stage.story());
    let reviewers: Vec<&str> = life
        .outcomes
        .iter()
        .map(|one| one.reviewer.as_str())
        .collect();
    assert_eq!(reviewers, ["quality", "security"], "{}", stage.story());
    assert_eq!((before.generation, life.generation), (1, 1));
    // A call with the number of an earlier one is another comment.
    let world = &stage.service().expect("a service").world;
    let id = format!("{}/9", stage.key);
    assert_ne!(world.mark(&id, before.born), world.mark(&id, life.born));
    stage.stop().await;
}

#[tokio::test]
async fn an_open_pull_request_is_never_forgotten() {
    let stage = Stage::set(plan());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(400 * DAY_MS).await;
    assert_eq!(forget(&stage).await, 0);
    assert!(is_known(&stage).await);
    stage.stop().await;
}
