//! Deliveries per second. `cargo test --release -p reviewer-engine --lib speed -- --ignored --nocapture` prints them.
#![expect(clippy::disallowed_methods, reason = "measures the system's time")]

use super::toy::{Input, Place, deliver, limits, state};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const KEYS: u64 = 256;
const CALLERS: u64 = 64;
const DELIVERIES: u64 = 8_192;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn deliveries_per_second_on_256_keys_with_64_callers() {
    let place = Place::new();
    let engine = place.open_in_real_time(limits()).await;
    let next = Arc::new(AtomicU64::new(0));
    let (before, start) = (engine.counts(), Instant::now());
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (engine, next) = (Arc::clone(&engine), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= DELIVERIES {
                        return times;
                    }
                    let (key, id) = (format!("1/{}", n % KEYS), format!("d{n}"));
                    let begun = Instant::now();
                    deliver(&engine, &key, &id, Input::Add(1)).await;
                    times.push(begun.elapsed());
                }
            })
        })
        .collect();
    let mut times: Vec<Duration> = Vec::new();
    for caller in callers {
        times.extend(caller.await.unwrap());
    }
    let took = start.elapsed();
    times.sort();
    let after = engine.counts();
    let rate = f64::from(u32::try_from(DELIVERIES).unwrap()) / took.as_secs_f64();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100].as_millis();
    println!(
        "{rate:.0} deliveries a second, p50 {} ms, p99 {} ms, {} statements and {} commits for {DELIVERIES}",
        percentile(50),
        percentile(99),
        after.statements - before.statements,
        after.commits - before.commits,
    );
    assert_eq!(after.commits - before.commits, DELIVERIES);
    assert_eq!(state(&engine, "1/0").await.total, 32);
}
