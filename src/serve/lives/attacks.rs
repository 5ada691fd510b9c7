//! Sessions that speak for others.

use super::plan::Plan;
use super::repository::REPOSITORY;
use super::stage::Stage;
use crate::serve::backend::{Backend as _, PullAt, ReportRefused};
use crate::serve::front::Front;
use crate::serve::sessions::SessionId;
use reviewer_engine::clock::Clock as _;
use secrecy::SecretString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_session_speaks_for_that_session_only() {
    let stage = Stage::set(Plan::of(1).undisturbed());
    stage.open().await;
    let service = stage.service().expect("a service");
    let token = |name: &str| SecretString::from(format!("token of {name}"));
    for (number, dispatch) in [(1, 7), (1, 8), (2, 7)] {
        let mut key = stage.key;
        key.number = number;
        let secret = token(&format!("{number}/{dispatch}"));
        let claims = &service.world.claims;
        claims.pretend(&SessionId { key, dispatch }, &secret).await;
    }
    let front = Front {
        policy: Arc::new(stage.policy()),
        service,
        max_sessions: 2,
        ready: AtomicBool::new(true),
    };
    let at = PullAt {
        repo: REPOSITORY.parse().expect("a name"),
        number: 1,
    };
    let message = br#"{"dispatch":7,"event":"started","session":"s"}"#;
    for other in ["1/8", "2/7", "", "1/7 "] {
        let answer = front.report(&at, &token(other), message).await;
        assert_eq!(answer, Err(ReportRefused::Unauthorized), "{other}");
    }
    assert_eq!(front.report(&at, &token("1/7"), message).await, Ok(()));
    let broken = front.report(&at, &token("1/7"), b"{}").await;
    assert!(
        matches!(broken, Err(ReportRefused::Invalid(_))),
        "{broken:?}"
    );
    let elsewhere = PullAt {
        repo: "octo/other".parse().expect("a name"),
        number: 1,
    };
    let answer = front.report(&elsewhere, &token("1/7"), message).await;
    assert_eq!(answer, Err(ReportRefused::Unauthorized));
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_does_not_exist_is_asked_for_ever_more_rarely() {
    const MINUTE_MS: i64 = 60_000;
    let stage = Stage::set(Plan::of(1).undisturbed());
    let _hold = stage.clock.hold();
    stage.open().await;
    let service = stage.service().expect("a service");
    let mut key = stage.key;
    key.number = 99_999;
    let woken = service.wake(key, "an event", "an event of the API").await;
    woken.expect("the store takes a wake");
    for _ in 0..6 * 24 {
        stage.rest(10 * MINUTE_MS).await;
        stage.reconcile().await;
    }
    let history = service.engine.history(&key.to_string(), 1_000).await;
    let history = history.expect("the store answers").into_iter();
    let failed = history.filter(|entry| entry.input.contains("effectFailed"));
    let failed = failed.count();
    assert!((6..=14).contains(&failed), "{failed} probes in a day");
    stage.stop().await;
}
