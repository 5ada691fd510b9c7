//! Limits on the stage: GitHub's last requests of an hour, and the sessions of a day.

use super::plan::Plan;
use super::repository::LEAD;
use super::stage::Stage;
use super::{LOOK_MS, MINUTE_MS};
use crate::serve::machine::FLOOD;
use reviewer_core::lifecycle::{Phase, Progress, PullKey, Quotas, next_day};
use reviewer_engine::clock::Clock as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A life in which no session fails.
pub(super) fn plan() -> Plan {
    let mut plan = Plan::of(1).undisturbed();
    plan.story.fails = false;
    plan
}

/// GitHub takes so many more requests until its next hour.
fn leave(stage: &Stage, left: u64) {
    stage.github.with(|github| {
        github.rate.left = left;
        github.rate.reset += 1;
    });
}

async fn wake(stage: &Arc<Stage>, key: PullKey, cause: &str) {
    let service = stage.service().expect("a service");
    let delivery = format!("{cause} of {}", stage.clock.now_ms());
    let woken = service.wake(key, &delivery, cause);
    woken.await.expect("the store takes a wake");
}

/// The number of times that GitHub was asked for the pull request.
async fn probes(stage: &Stage) -> usize {
    let service = stage.service().expect("a service");
    let history = service.engine.history(&stage.key.to_string(), 1_000).await;
    let history = history.expect("the store answers");
    let is_probe = |input: &str| input.contains("\"probed\"");
    history.iter().filter(|one| is_probe(&one.input)).count()
}

#[tokio::test]
async fn while_few_requests_are_left_floods_wait_and_events_go_on() {
    let stage = Stage::set(plan());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(10_000).await;
    let phase = stage.state().await.phase;
    assert!(matches!(phase, Phase::Reviewing { .. }), "{phase:?}");
    leave(&stage, 100);
    wake(&stage, stage.key, "webhook issue_comment").await;
    stage.rest(1_000).await;
    let before = probes(&stage).await;
    let flood = format!("{FLOOD}main");
    wake(&stage, stage.key, &flood).await;
    stage.rest(20_000).await;
    assert_eq!(probes(&stage).await, before, "the flood waits");
    let service = stage.service().expect("a service");
    let waits = &service.world.accounts.rates().await[0];
    assert_eq!(waits.left, 100);
    assert!(waits.wait.is_some());
    // Nothing is asked of GitHub by a reconciliation meanwhile.
    let asked = stage.github.requests().len();
    stage.reconcile().await;
    assert_eq!(stage.github.requests().len(), asked);
    wake(&stage, stage.key, "webhook pull_request").await;
    stage.rest(1_000).await;
    assert!(probes(&stage).await > before, "an event does not wait");
    let after = probes(&stage).await;
    wake(&stage, stage.key, &flood).await;
    stage.rest(1_000).await;
    assert_eq!(probes(&stage).await, after);
    // The session that is at work ends, and its life goes on.
    stage.rest(LOOK_MS).await;
    assert!(
        probes(&stage).await > after,
        "a session's end does not wait"
    );
    let life = stage.state().await;
    assert!(!matches!(life.phase, Phase::Error { .. }), "{life:?}");
    stage.stop().await;
}

#[tokio::test]
async fn what_waited_for_github_s_next_hour_is_done_in_it() {
    let stage = Stage::set(plan());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(10_000).await;
    leave(&stage, 100);
    wake(&stage, stage.key, "webhook issue_comment").await;
    stage.rest(1_000).await;
    wake(&stage, stage.key, &format!("{FLOOD}main")).await;
    stage.rest(1_000).await;
    let before = probes(&stage).await;
    leave(&stage, 900);
    let mut other = stage.key;
    other.number = 2;
    // Whatever GitHub is asked next tells that the hour is another one.
    wake(&stage, other, "webhook pull_request").await;
    stage.rest(70 * MINUTE_MS).await;
    assert!(probes(&stage).await > before);
    let backlog = stage.service().expect("a service").engine.backlog().await;
    assert_eq!(backlog.expect("the store answers").effects, 0);
    stage.stop().await;
}

const HOUR_MS: i64 = 60 * MINUTE_MS;

/// A life whose author has one session a day.
fn scarce() -> Plan {
    let mut plan = plan();
    plan.story.author_is_agent = false;
    plan.story.human = false;
    plan.story.security = true;
    plan.story.strict = u64::MAX;
    plan.quotas = Quotas {
        per_author: 1,
        per_repository: 0,
    };
    plan
}

/// The end of the wait for a quota.
async fn waits_until(stage: &Stage) -> Option<i64> {
    match stage.state().await.session?.progress {
        Progress::Quota { until, .. } => Some(until),
        _ => None,
    }
}

#[tokio::test]
async fn the_second_session_of_an_author_waits_for_the_next_day_also_over_a_restart() {
    let stage = Stage::set(scarce());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(2 * HOUR_MS).await;
    let life = stage.state().await;
    let reviewed: Vec<&str> = life
        .outcomes
        .iter()
        .map(|one| one.reviewer.as_str())
        .collect();
    assert_eq!(reviewed, ["quality"], "{}", stage.story());
    let midnight = next_day(stage.clock.now_ms());
    assert_eq!(waits_until(&stage).await, Some(midnight));
    stage.stop().await;
    stage.open().await;
    stage.rest(midnight - stage.clock.now_ms() - HOUR_MS).await;
    assert_eq!(waits_until(&stage).await, Some(midnight));
    stage.rest(3 * HOUR_MS).await;
    let life = stage.state().await;
    let reviewed: Vec<&str> = life
        .outcomes
        .iter()
        .map(|one| one.reviewer.as_str())
        .collect();
    assert_eq!(reviewed, ["quality", "security"], "{}", stage.story());
    assert_eq!(life.last_error, None);
    let counters = &stage.service().expect("a service").counters;
    assert_eq!(
        counters.over_quota.load(Ordering::Relaxed),
        0,
        "of the process before"
    );
    stage.stop().await;
}

#[tokio::test]
async fn an_operator_s_retry_gets_through_a_quota() {
    let stage = Stage::set(scarce());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(2 * HOUR_MS).await;
    assert!(waits_until(&stage).await.is_some());
    let service = stage.service().expect("a service");
    assert_eq!(service.counters.over_quota.load(Ordering::Relaxed), 1);
    let retried = service.command_retry(stage.key, "one", "an operator").await;
    retried.expect("the store takes a command");
    stage.rest(2 * HOUR_MS).await;
    let life = stage.state().await;
    assert_eq!(life.outcomes.len(), 2, "{}", stage.story());
    stage.stop().await;
}

#[tokio::test]
async fn a_writer_s_order_to_review_gets_through_a_quota() {
    let stage = Stage::set(scarce());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(2 * HOUR_MS).await;
    assert!(waits_until(&stage).await.is_some());
    let order = "@opencode-reviewer review";
    stage.github.comment(stage.key.number, LEAD, order);
    stage.pump();
    stage.rest(2 * HOUR_MS).await;
    let life = stage.state().await;
    assert_eq!(life.outcomes.len(), 2, "{}", stage.story());
    stage.stop().await;
}
