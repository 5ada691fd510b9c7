//! Sessions that speak for others.

use super::plan::Plan;
use super::repository::REPOSITORY;
use super::stage::Stage;
use crate::serve::backend::{Backend as _, PullAt, ReportRefused};
use crate::serve::front::Front;
use crate::serve::sessions::SessionId;
use reviewer_engine::tokens::TokenHash;
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
        let hash = TokenHash::new(&token(&format!("{number}/{dispatch}")));
        let mut tokens = service.world.tokens.lock().expect("no panic");
        tokens.insert(SessionId { key, dispatch }, hash);
    }
    let front = Front {
        policy: Arc::new(Stage::policy()),
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
