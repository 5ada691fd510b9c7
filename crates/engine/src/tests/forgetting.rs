//! Keys that are removed: with everything that is theirs, and only if nothing waits for them.

use super::toy::{Input, Place, ToyEngine, deliver, limits, say, settle, state};
use crate::clock::Clock as _;
use crate::{EffectError, Limits};
use std::sync::Arc;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Deliveries are recognised for a day, and nothing is purged meanwhile.
fn short() -> Limits {
    Limits {
        inbox_ms: DAY.unsigned_abs(),
        purge_every_ms: u64::MAX,
        ..limits()
    }
}

/// The number of rows of a key in all tables.
async fn rows(engine: &ToyEngine, key: &str) -> i64 {
    let question = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM pull WHERE key = $1) + (SELECT COUNT(*) FROM history WHERE key = $1)
              + (SELECT COUNT(*) FROM inbox WHERE key = $1) + (SELECT COUNT(*) FROM task WHERE key = $1) AS found",
    );
    let mut session = engine.store.session().await.unwrap();
    let row = session.optional(question.bind(key)).await.unwrap();
    sqlx::Row::try_get(&row.unwrap(), "found").unwrap()
}

#[tokio::test]
async fn a_key_that_is_forgotten_leaves_nothing_and_begins_anew() {
    let place = Place::new();
    for id in ["a", "b"] {
        deliver(&place.open_with(short()).await, "1/7", id, say(id)).await;
    }
    let engine = place.open_with(short()).await;
    deliver(&engine, "1/8", "c", Input::Add(5)).await;
    let mouth = place.mouth();
    settle(engine, &mouth, &place.clock).await;
    let engine = place.open_with(short()).await;
    assert!(
        !engine.forget("1/7", 4).await.unwrap(),
        "not still for long"
    );
    place.clock.advance(DAY + 1);
    assert!(!engine.forget("1/7", 3).await.unwrap(), "another version");
    assert!(!engine.forget("1/9", 0).await.unwrap(), "no such key");
    assert!(engine.forget("1/7", 4).await.unwrap());
    assert!(!engine.forget("1/7", 4).await.unwrap(), "gone already");
    assert_eq!(rows(&engine, "1/7").await, 0);
    assert!(engine.status("1/7").await.unwrap().is_none());
    assert_eq!(state(&engine, "1/8").await.total, 5);
    // Numbers of effects begin anew, and their outcomes count.
    deliver(&engine, "1/7", "a", say("anew")).await;
    settle(engine, &mouth, &place.clock).await;
    assert_eq!(mouth.texts(), ["a", "b", "anew"]);
    let engine = place.open_with(short()).await;
    assert_eq!(state(&engine, "1/7").await.total, 1);
    let replayed = engine.replay("1/7").await.unwrap().unwrap();
    assert_eq!(replayed, state(&engine, "1/7").await);
}

#[tokio::test]
async fn a_key_is_kept_while_an_effect_or_a_timer_of_it_waits() {
    let place = Place::new();
    let engine = place.open_with(short()).await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let later = Input::Later {
        after_ms: 9 * DAY.unsigned_abs(),
        add: 1,
    };
    deliver(&engine, "1/8", "b", later).await;
    place.clock.advance(2 * DAY);
    for key in ["1/7", "1/8"] {
        assert!(!engine.forget(key, 1).await.unwrap(), "{key}");
    }
    // An effect that fails waits, too.
    let mouth = place.mouth();
    let failure = EffectError {
        retry_after_ms: Some(5 * DAY.unsigned_abs()),
        ..EffectError::temporary("busy")
    };
    let errors = std::iter::once(("hello".to_owned(), vec![failure]));
    *mouth.errors.lock().unwrap() = errors.collect();
    let running = super::toy::Running::start(&engine, &mouth);
    let hold = place.clock.hold();
    let soon = place.clock.now_ms() + 3 * DAY;
    place.clock.sleep_until(soon).await;
    assert_eq!(mouth.texts(), ["hello"]);
    for key in ["1/7", "1/8"] {
        assert!(!engine.forget(key, 1).await.unwrap(), "{key}");
    }
    drop((engine, hold));
    place.clock.settled().await;
    running.stop().await;
    let engine = place.open_with(short()).await;
    place.clock.advance(2 * DAY);
    for key in ["1/7", "1/8"] {
        assert!(engine.forget(key, 2).await.unwrap(), "{key}");
    }
    assert_eq!(Arc::strong_count(&engine), 1);
}
