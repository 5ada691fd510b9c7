use super::toy::{
    Input, Place, Running, Toy, ToyEngine, Words, close, deliver, limits, say, settle, state,
};
use crate::clock::Clock;
use crate::limits::after;
use crate::machine::Lane;
use crate::queue::{self, Lease, Task};
use crate::{EffectError, EffectId, Limits, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

async fn lease(engine: &ToyEngine) -> Option<Task> {
    let now = engine.clock.now_ms();
    let lease = Lease {
        statement: &engine.lease_statement,
        owner: &engine.owner,
        now,
        until: after(now, engine.limits.lease_ms),
    };
    let mut session = engine.store.session().await.unwrap();
    let mut taken = lease.take(&mut session, Lane::Fast, 9).await.unwrap();
    assert!(taken.len() <= 1);
    taken.pop()
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_can_neither_keep_nor_end_the_task() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    deliver(&engine, "1/7", "b", say("next")).await;
    let first = lease(&engine).await.unwrap();
    assert!(lease(&engine).await.is_none(), "leased, and the next waits");
    place.clock.advance(60_001);
    let second = lease(&engine).await.unwrap();
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.id, second.id);
    let mut session = engine.store.session().await.unwrap();
    assert!(
        !queue::heartbeat(&mut session, &first, i64::MAX)
            .await
            .unwrap()
    );
    assert!(
        !queue::postpone(&mut session, &first, 0, "late")
            .await
            .unwrap()
    );
    assert!(!queue::remove(&mut session, &first).await.unwrap());
    assert!(queue::heartbeat(&mut session, &second, 1).await.unwrap());
    assert!(queue::remove(&mut session, &second).await.unwrap());
}

/// Another worker gets the only task, until `due`, without the knowledge of the first one.
async fn steal(engine: &ToyEngine, due: i64) {
    let mut session = engine.store.session().await.unwrap();
    let query = sqlx::query("UPDATE task SET attempt = attempt + 1, due = $1");
    assert_eq!(session.execute(query.bind(due)).await.unwrap(), 1);
}

/// A world that waits until it is told to go on, in its first attempt only.
#[derive(Debug, Default)]
struct Stuck {
    begun: Notify,
    go_on: Notify,
    attempts: AtomicU32,
    answered: AtomicU32,
}

impl World<Toy> for Stuck {
    async fn execute(&self, _: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        if self.attempts.fetch_add(1, Ordering::SeqCst) == 0 {
            self.begun.notify_one();
            self.go_on.notified().await;
        }
        self.answered.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Input::Said(words.text)))
    }
}

#[tokio::test]
async fn the_outcome_of_a_lost_lease_is_not_delivered() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let stuck = Arc::new(Stuck::default());
    let running = Running::start(&engine, &stuck);
    stuck.begun.notified().await;
    steal(&engine, i64::MAX).await;
    stuck.go_on.notify_one();
    while stuck.answered.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    running.stop_with(&engine).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say hello"]);
    assert_eq!(engine.backlog().await.unwrap().effects, 1);
}

#[tokio::test]
async fn a_heartbeat_that_finds_the_lease_lost_ends_the_work() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let stuck = Arc::new(Stuck::default());
    let running = Running::start(&engine, &stuck);
    stuck.begun.notified().await;
    steal(&engine, 0).await;
    place.clock.advance(20_000);
    place.clock.settled().await;
    running.stop_with(&engine).await;
    assert_eq!(stuck.attempts.load(Ordering::SeqCst), 2);
    assert_eq!(stuck.answered.load(Ordering::SeqCst), 1);
    assert_eq!(
        state(&engine, "1/7").await.seen,
        ["say hello", "said hello"]
    );
}

#[tokio::test]
async fn a_restart_takes_back_the_leases_of_the_dead_process_at_once() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    assert!(lease(&engine).await.is_some());
    close(engine).await;
    let start = place.clock.now_ms();
    let mouth = place.mouth();
    settle(place.open().await, &mouth, &place.clock).await;
    assert_eq!(mouth.times(), [start]);
}

#[tokio::test]
async fn a_restart_does_not_shorten_a_backoff() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let task = lease(&engine).await.unwrap();
    let due = place.clock.now_ms() + 9_000;
    let mut session = engine.store.session().await.unwrap();
    let given_back = queue::postpone(&mut session, &task, due, "busy").await;
    assert!(given_back.unwrap());
    drop(session);
    close(engine).await;
    let mouth = place.mouth();
    settle(place.open().await, &mouth, &place.clock).await;
    assert_eq!(mouth.times(), [due]);
}

#[tokio::test]
async fn a_shutdown_starts_nothing_and_lets_running_effects_finish() {
    let place = Place::new();
    let limits = Limits {
        at_once: 1,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    deliver(&engine, "1/8", "b", say("later")).await;
    let stuck = Arc::new(Stuck::default());
    let running = Running::start(&engine, &stuck);
    stuck.begun.notified().await;
    let ended = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { running.stop_with(&engine).await }
    });
    tokio::task::yield_now().await;
    stuck.go_on.notify_one();
    ended.await.unwrap();
    assert_eq!(
        state(&engine, "1/7").await.seen,
        ["say hello", "said hello"]
    );
    assert_eq!(state(&engine, "1/8").await.seen, ["say later"]);
    let answer = deliver(&engine, "1/8", "c", Input::Add(1)).await;
    assert_eq!(answer.state.total, 1, "deliveries are still taken");
}
