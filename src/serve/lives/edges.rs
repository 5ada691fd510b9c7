//! The edges of the service on the stage: what it misses while it is down, what leaves its scope, and a GitHub that does not answer.

use super::github::{Act, Change, Fault, Rule};
use super::plan::{Mid, Plan, Story};
use super::repository::{DEV, LEAD, SETTINGS};
use super::stage::Stage;
use super::{LOOK_MS, MINUTE_MS};
use crate::serve::backend::{Backend as _, PullAt, Refused};
use crate::serve::front::Front;
use crate::serve::service::Service;
use crate::serve::world::is_running;
use http::Method;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{
    CallReason, Effect, Input, MergeAnswer, MergeType, PendingWait, Phase, Progress, Session,
    State, Task,
};
use reviewer_engine::clock::{Clock, Sleep};
use reviewer_engine::{EffectId, World as _};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

const DISABLED: &str = "lifecycle:\n  enabled: false\n";
const ENABLED: &str = "lifecycle:\n  enabled: true\n";

/// Somebody changes the settings in the base branch, and no webhook tells of it.
fn set_silently(stage: &Stage, settings: &str) {
    stage.github.with(|state| {
        let before = state.git.commit_of("refs/heads/main").expect("the base");
        state.tick();
        let at = state.epoch_seconds();
        let changes = [Change::write(SETTINGS, settings)];
        state
            .git
            .commit("main", &[&before], "Settings", at, &changes);
    });
}

#[tokio::test]
async fn settings_that_are_corrected_while_the_service_is_down_are_seen_at_its_start() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let _hold = stage.clock.hold();
    set_silently(&stage, DISABLED);
    stage.open().await;
    stage.begin();
    stage.rest(MINUTE_MS).await;
    let wait = PendingWait::Disabled;
    assert_eq!(stage.state().await.phase, Phase::Pending { wait });
    stage.stop().await;
    set_silently(&stage, ENABLED);
    stage.open().await;
    stage.rest(MINUTE_MS).await;
    let phase = stage.state().await.phase;
    assert!(matches!(phase, Phase::Reviewing { .. }), "{phase:?}");
    // Behind everything else, because such a push concerns all pull requests.
    let service = stage.service().expect("a service");
    let history = service.engine.history(&stage.key.to_string(), 100).await;
    let history = history.expect("a history");
    let is_of_base = |input: &str| input.contains("push to main");
    assert!(history.iter().any(|entry| is_of_base(&entry.input)));
    stage.stop().await;
}

#[tokio::test]
async fn a_repository_that_another_owner_has_is_not_served_any_more() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(10_000).await;
    let phase = stage.state().await.phase;
    assert!(matches!(phase, Phase::Reviewing { .. }), "{phase:?}");
    stage.github.rename("eve/shop", DEV);
    stage.pump();
    stage.rest(LOOK_MS).await;
    let writes = stage.github.take_writes();
    stage.github.review(stage.key.number, LEAD, "APPROVED", "");
    stage.pump();
    stage.rest(LOOK_MS).await;
    let why = stage.state().await.last_error.unwrap_or_default();
    assert!(why.contains("service.yml does not name"), "{why}");
    let service = stage.service().expect("a service");
    let found = service.find(&"eve/shop".parse().expect("a name")).await;
    assert_eq!(found.ok(), Some(None));
    let after = stage.github.take_writes();
    assert_eq!(after.len(), 0, "{writes:#?} and then {after:#?}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_webhook_with_a_name_that_another_repository_has_now_misleads_nobody() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let service = Service::open(stage.parts()).await.expect("a service");
    let id = stage.key.repository;
    let hear = async |delivery: &str, name: &str| {
        let body = json!({
            "action": "opened",
            "repository": { "id": id, "full_name": name },
            "pull_request": { "number": 1 },
        });
        let body = body.to_string();
        let taken = service.take_webhook(delivery, "pull_request", body.as_bytes());
        taken.await.expect("the store answers");
    };
    hear("one", "octo/shop").await;
    stage.github.rename("octo/store", DEV);
    hear("two", "octo/store").await;
    stage.github.take_name("octo/shop");
    // From before the renaming.
    hear("three", "octo/shop").await;
    let world = &service.world;
    let place = world.accounts.place(stage.key, &service.directory).await;
    let place = place.expect("GitHub answers");
    assert_eq!(place.name.to_string(), "octo/store");
}

/// A clock that is set.
#[derive(Debug, Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep_until(&self, _at_ms: i64) -> Sleep<'_> {
        Box::pin(std::future::pending())
    }
}

/// The number of calls for people that a process posts, if it is frozen for so long between its look at the comments and its own one.
async fn calls(frozen_ms: i64) -> usize {
    let stage = Stage::set(Plan::of(1).undisturbed());
    stage.begin();
    let hands = Arc::new(Hands::default());
    let mut parts = stage.parts();
    parts.clock = Arc::clone(&hands) as _;
    let service = Service::open(parts).await.expect("a service");
    let freeze = Act::new(move |_| {
        hands.0.fetch_add(frozen_ms, Ordering::Relaxed);
    });
    stage.github.with(|state| {
        state.faults.push(Rule {
            method: Method::GET,
            path_prefix: "/repos/octo/shop/issues/1/comments".into(),
            body_contains: String::new(),
            after: 0,
            times: 1,
            struck: 0,
            fault: Fault::Meanwhile(freeze),
        });
    });
    let id = EffectId {
        key: stage.key.to_string(),
        seq: 5,
    };
    let reason = CallReason::Failed;
    let logins = vec![Login::new(DEV)];
    let call = Effect::Call { reason, logins };
    let called = service.world.execute(&id, call).await;
    assert_eq!(called.is_ok(), frozen_ms == 0, "{called:?}");
    assert_eq!(stage.github.struck(), [1]);
    stage.github.with(|state| state.issue_comments.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_wakes_after_its_lease_calls_nobody_a_second_time() {
    assert_eq!(calls(0).await, 1);
    // Somebody else has the effect by now, and may have called.
    assert_eq!(calls(60_000).await, 0);
}

#[tokio::test]
async fn a_merge_that_waited_obeys_the_settings_of_now() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(10_000).await;
    let facts = stage.state().await.facts.expect("facts");
    set_silently(&stage, DISABLED);
    let service = stage.service().expect("a service");
    let id = EffectId {
        key: stage.key.to_string(),
        seq: 99,
    };
    let (attempt, head) = (99, facts.head);
    let merged = service.world.execute(&id, Effect::Merge { attempt, head });
    let merged = merged.await.expect("GitHub answers");
    let answer = MergeAnswer::Moved;
    assert_eq!(merged, Some(Input::Merge { attempt, answer }));
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_github_does_not_tell_about_is_not_called_unknown() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let service = Service::open(stage.parts()).await.expect("a service");
    let front = Front {
        policy: Arc::new(stage.policy()),
        service,
        max_sessions: 2,
        ready: AtomicBool::new(true),
    };
    let at = |name: &str| PullAt {
        repo: name.parse().expect("a name"),
        number: 1,
    };
    stage.github.with(|state| {
        state.faults.push(Rule {
            method: Method::POST,
            path_prefix: "/graphql".into(),
            body_contains: String::new(),
            after: 0,
            times: 1_000,
            struck: 0,
            fault: Fault::Status(502, json!({})),
        });
    });
    let answer = front.state(&at("octo/shop")).await;
    assert!(matches!(answer, Err(Refused::Unavailable(_))), "{answer:?}");
    let elsewhere = front.state(&at("octo/other")).await;
    assert_eq!(elsewhere.err(), Some(Refused::NotFound));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_an_installation_gets_is_looked_at_at_once() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    let service = Service::open(stage.parts()).await.expect("a service");
    let body = json!({ "action": "added", "installation": { "id": 7 } });
    let body = body.to_string();
    let event = "installation_repositories";
    let taken = service.take_webhook("one", event, body.as_bytes()).await;
    taken.expect("the store answers");
    let asked = service.reconciles.notified();
    let asked = tokio::time::timeout(Duration::from_secs(5), asked).await;
    assert!(asked.is_ok());
}

/// An App whose check is required, and a reviewer who is a person.
fn gated() -> Plan {
    let mut plan = Plan::of(1).undisturbed();
    plan.story = Story {
        app: true,
        gate: true,
        author_is_agent: false,
        security: false,
        human: true,
        auto_merge: true,
        require_human_approval: false,
        arms: false,
        check_after_ms: None,
        mergeability_delay: 0,
        draft: false,
        strict: u64::MAX,
        fails: false,
        vanishes: false,
        mid: Vec::new(),
        ..plan.story
    };
    plan
}

#[tokio::test]
async fn an_updated_branch_that_changes_nothing_has_the_required_check_of_the_app_and_is_merged() {
    let stage = Stage::set(gated());
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    stage.rest(LOOK_MS).await;
    let reviewer = LEAD.to_owned();
    assert_eq!(stage.state().await.phase, Phase::Reviewing { reviewer });
    stage.happen(Mid::Update);
    stage.rest(LOOK_MS).await;
    stage.github.review(stage.key.number, LEAD, "APPROVED", "");
    stage.pump();
    stage.rest(LOOK_MS).await;
    let life = stage.state().await;
    let merge_type = MergeType::Auto;
    assert_eq!(life.phase, Phase::Merged { merge_type }, "{life:#?}");
    let runs = stage.github.with(|state| state.check_runs.clone());
    let head = stage.head();
    let mut of_head = runs.iter().filter(|run| run.head_sha == head);
    let title = of_head.next().and_then(|run| run.title.clone());
    assert_eq!(title.as_deref(), Some("Reviewed before"));
    assert!(of_head.next().is_none(), "{runs:#?}");
    stage.stop().await;
}

#[test]
fn a_session_whose_failure_is_known_is_not_started_again() {
    let with = |progress: Progress| State {
        session: Some(Session {
            dispatch: 4,
            task: Task::Review {
                can_escalate: Vec::new(),
                is_last: false,
            },
            agent: "quality".into(),
            head: "a".repeat(40).parse().expect("a commit"),
            id: None,
            failures: 1,
            progress,
        }),
        ..State::default()
    };
    let running = with(Progress::Running { until: 1 });
    assert!(is_running(&running, 4) && !is_running(&running, 3));
    assert!(!is_running(&with(Progress::Backoff { until: 1 }), 4));
    assert!(!is_running(&with(Progress::Due), 4));
}
