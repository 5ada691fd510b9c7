use super::toy::{Input, Place, Running, close, deliver, settle, state};
use crate::Backlog;
use crate::clock::Clock;

fn later(after_ms: u64, add: i64) -> Input {
    Input::Later { after_ms, add }
}

#[tokio::test]
async fn timers_fire_at_their_time_and_in_their_order() {
    let place = Place::new();
    let engine = place.open().await;
    let start = place.clock.now_ms();
    deliver(&engine, "1/7", "a", later(86_400_000, 1)).await;
    deliver(&engine, "1/7", "b", later(5_000, 2)).await;
    deliver(&engine, "1/8", "c", later(5_001, 3)).await;
    settle(engine, &place.mouth(), &place.clock).await;
    assert_eq!(place.clock.now_ms(), start + 86_400_000);
    let engine = place.open().await;
    let history = engine.history("1/7", 9).await.unwrap();
    let fired: Vec<(i64, &str)> = history[2..]
        .iter()
        .map(|entry| (entry.at - start, &*entry.log[0]))
        .collect();
    assert_eq!(fired, [(5_000, "add 2"), (86_400_000, "add 1")]);
    assert_eq!(engine.history("1/8", 9).await.unwrap()[1].at, start + 5_001);
}

#[tokio::test]
async fn timers_outlive_a_restart_and_fire_once() {
    let place = Place::new();
    let engine = place.open().await;
    for n in 0_u64..100 {
        deliver(&engine, "1/7", &format!("d{n}"), later(1_000 + n, 1)).await;
    }
    assert_eq!(
        engine.backlog().await.unwrap(),
        Backlog {
            effects: 0,
            timers: 100,
            oldest_ms: 0
        }
    );
    close(engine).await;
    // Nobody runs while half of them become due.
    place.clock.advance(1_050);
    let engine = place.open().await;
    let running = Running::start(&engine, &place.mouth());
    drop(engine);
    tokio::task::yield_now().await;
    running.kill().await;
    settle(place.open().await, &place.mouth(), &place.clock).await;
    let engine = place.open().await;
    assert_eq!(state(&engine, "1/7").await.total, 100);
    assert_eq!(engine.backlog().await.unwrap(), Backlog::default());
}
