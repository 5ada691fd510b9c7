use super::server::Server;
use super::{open, shared};
use crate::clock::{Clock, Sleep, SystemClock};
use crate::engine::Engine;
use crate::tests::toy::{
    Input, Mouth, Running, Toy, ToyEngine, Words, deliver, limits, say, state,
};
use crate::{Backlog, EffectError, EffectId, Limits, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Waits until a condition holds. Nothing here takes minutes.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..6_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited for {what}");
}

async fn settled(engine: &ToyEngine) {
    let done = async || engine.backlog().await.unwrap() == Backlog::default();
    until("the end of all effects", done).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make engine-test installs the server"]
async fn a_delivery_waits_for_a_server_that_is_started_again() {
    let server = Server::start().await.unwrap();
    let engine = open(&server.empty().await, limits()).await;
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    server.down();
    let delivering = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.deliver("1/7", "b", &Input::Add(1)).await }
    });
    server.up().await;
    let answer = delivering.await.unwrap().unwrap();
    assert_eq!(answer.state.total, 2);
    // A connection of the pool that the crash has closed is not noticed by the caller.
    assert_eq!(state(&engine, "1/7").await.total, 2);
}

/// Counts executions that were begun, and those that were ended from outside. The first one never ends by itself.
#[derive(Debug, Default)]
struct Endless {
    begun: AtomicU32,
    dropped: Arc<AtomicU32>,
}

struct Watch(Arc<AtomicU32>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl World<Toy> for Endless {
    async fn execute(&self, _: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        if self.begun.fetch_add(1, Ordering::SeqCst) == 0 {
            let _watch = Watch(Arc::clone(&self.dropped));
            std::future::pending::<()>().await;
        }
        Ok(Some(Input::Said(words.text)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make engine-test installs the server"]
async fn a_worker_that_cannot_renew_its_lease_stops_when_it_has_passed() {
    let server = Server::start().await.unwrap();
    let short = Limits {
        lease_ms: 900,
        longest_sleep_ms: 50,
        ..limits()
    };
    let engine = open(&server.empty().await, short).await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let world = Arc::new(Endless::default());
    let running = Running::start(&engine, &world);
    until("the effect", async || {
        world.begun.load(Ordering::SeqCst) > 0
    })
    .await;
    server.down();
    until("its end", async || world.dropped.load(Ordering::SeqCst) > 0).await;
    assert_eq!(world.begun.load(Ordering::SeqCst), 1);
    server.up().await;
    settled(&engine).await;
    running.stop_with(&engine).await;
    assert_eq!(world.begun.load(Ordering::SeqCst), 2);
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen, ["say hello", "said hello"]);
}

/// A machine whose clock is wrong.
#[derive(Debug)]
struct Wrong(SystemClock, i64);

impl Clock for Wrong {
    fn now_ms(&self) -> i64 {
        self.0.now_ms() + self.1
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        self.0.sleep_until(at_ms.saturating_sub(self.1))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make engine-test installs the server"]
async fn the_servers_clock_counts_however_wrong_the_machines_are() {
    const HOURS: i64 = 5 * 60 * 60 * 1_000;
    let server = shared().await;
    for wrong in [-HOURS, HOURS] {
        let clock = Arc::new(Wrong(SystemClock::default(), wrong));
        let store = server.empty().await;
        let opened = Engine::open(&store, Toy, limits(), clock).await;
        let engine = Arc::new(opened.unwrap());
        let later = Input::Later {
            after_ms: 300,
            add: 4,
        };
        deliver(&engine, "1/7", "a", later).await;
        deliver(&engine, "1/7", "b", say("hello")).await;
        let running = Running::start(&engine, &Arc::new(Mouth::default()));
        let before = engine.counts().statements;
        let seen = async || state(&engine, "1/7").await.seen.len() == 4;
        until("the timer and the effect", seen).await;
        running.stop_with(&engine).await;
        let asked = engine.counts().statements - before;
        assert!(asked < 400, "the loop did not sleep: {asked} statements");
        let history = engine.history("1/7", 9).await.unwrap();
        let (first, last) = (history[0].at, history[3].at);
        assert!(last - first >= 300, "{history:?}");
        let now = SystemClock::default().now_ms();
        assert!(
            (now - first).abs() < HOURS / 2,
            "{first} is not the server's time"
        );
    }
}
