//! Lives of pull requests in the service, in process: a real store, a virtual clock, sessions by a script, the stand-in of GitHub
//! and its webhooks; disturbed by what a seed draws, and judged at their ends.
//!
//! Forty seeds run with the other tests. A thousand: `cargo test --lib serve::lives -- --ignored a_thousand`, from `SOAK_FIRST`
//! on and as many as `SOAK_SEEDS`; one with its story: `SOAK_SEED=123 cargo test --lib serve::lives::one_seed -- --ignored --nocapture`.
#![expect(
    clippy::disallowed_methods,
    reason = "test code: a failure here is a failure of the test"
)]

mod attacks;
mod boundaries;
mod corrections;
#[path = "../../tests/suite/dice.rs"]
#[allow(dead_code, reason = "lives use a part of the dice")]
mod dice;
mod edges;
mod forgetting;
#[path = "../../tests/standin/github/mod.rs"]
#[allow(dead_code, unused_imports, reason = "lives use a part of the stand-in")]
mod github;
mod judge;
mod limits;
mod network;
mod orders;
mod people;
mod personas;
mod plan;
mod repository;
mod said;
mod script;
mod stage;
mod watched;

use judge::End;
use plan::Plan;
use reviewer_core::lifecycle::{Wait, wait};
use reviewer_engine::clock::Clock as _;
use stage::Stage;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// People look this often.
const LOOK_MS: i64 = 20 * 60_000;
const MINUTE_MS: i64 = 60_000;
/// They give up after so many looks.
const MOST_LOOKS: usize = 200;

struct Life {
    end: End,
    story: String,
    effects: u64,
    deaths: u64,
    struck: usize,
}

/// The outcome of a seed.
struct Outcome {
    complaints: Vec<String>,
    story: String,
    app: bool,
    compared: bool,
    effects: u64,
    deaths: u64,
    struck: usize,
    lost: usize,
    phase: String,
}

fn life(plan: Plan) -> Life {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stage = Stage::set(plan);
        let end = lead(&stage).await;
        let (story, effects) = (stage.story(), stage.effects());
        let (deaths, struck) = (*stage.epoch.borrow(), stage.memory().struck);
        stage.stop().await;
        Life {
            end,
            story,
            effects,
            deaths,
            struck,
        }
    })
}

async fn lead(stage: &Arc<Stage>) -> End {
    let _hold = stage.clock.hold();
    stage.open().await;
    stage.begin();
    for _ in 0..MOST_LOOKS {
        stage.rest(LOOK_MS).await;
        stage.reconcile().await;
        stage.rest(MINUTE_MS).await;
        if stage.look().await.is_break() {
            break;
        }
    }
    stage.tell("from now on nothing goes wrong");
    stage.calm();
    settle(stage).await;
    let before = stage.state().await.phase;
    if let Some(service) = stage.service() {
        let woken = service.wake(stage.key, "the last look", "the last look");
        woken.await.expect("the store takes a wake");
    }
    settle(stage).await;
    let after = stage.state().await.phase;
    let mut end = stage.judge().await;
    if before.name() != after.name() {
        let missed = format!("{before:?} had missed something: {after:?}");
        end.complaints.push(missed);
    }
    end
}

/// Lets everything come to rest: no effect, no session, and nothing that a timer will do.
async fn settle(stage: &Arc<Stage>) {
    for _ in 0..20 {
        stage.rest(LOOK_MS).await;
        stage.reconcile().await;
        stage.rest(LOOK_MS).await;
        let waits = wait(&stage.state().await, &stage.policy());
        if matches!(waits, Wait::Ended | Wait::People { .. }) {
            return;
        }
    }
}

/// Runs the life of a seed, and the undisturbed one where both have one end. Returns what is wrong, with the story.
fn run(seed: u64) -> Outcome {
    let plan = Plan::of(seed);
    let (words, calm) = (format!("{plan:#?}"), plan.undisturbed());
    let (app, compares) = (plan.story.app, plan.has_one_end());
    let disturbed = life(plan);
    let mut complaints = disturbed.end.complaints.clone();
    let mut story = format!(
        "seed {seed}: {words}\n{}\n{:#?}",
        disturbed.story, disturbed.end
    );
    if compares {
        let calm = life(calm);
        complaints.extend(calm.end.complaints.clone());
        if facts_of(&calm.end) != facts_of(&disturbed.end) {
            complaints.push("another end than undisturbed".into());
        }
        story = format!("{story}\n--- undisturbed\n{}\n{:#?}", calm.story, calm.end);
    }
    let phase = disturbed.end.phase.split([':', ' ']).next();
    Outcome {
        complaints,
        story,
        app,
        compared: compares,
        effects: disturbed.effects,
        deaths: disturbed.deaths,
        struck: disturbed.struck,
        lost: disturbed.story.matches(" lost: ").count(),
        phase: phase.unwrap_or_default().to_owned(),
    }
}

fn facts_of(end: &End) -> End {
    End {
        complaints: Vec::new(),
        // Armed or merged at once: that depends on the time of a check.
        writes: Vec::new(),
        ..end.clone()
    }
}

fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[ignore = "for the seed in SOAK_SEED"]
fn one_seed() {
    let seed = given("SOAK_SEED").expect("SOAK_SEED");
    let outcome = run(seed);
    println!("{}\n{:#?}", outcome.story, outcome.complaints);
    assert!(outcome.complaints.is_empty());
}

/// Figures of many seeds.
#[derive(Debug, Default)]
struct Tally {
    /// Lives with a GitHub App.
    apps: u64,
    compared: u64,
    effects: u64,
    deaths: u64,
    struck: usize,
    lost: usize,
    ends: BTreeMap<String, u64>,
}

/// Runs seeds two at a time, goes on after a failure, and tells of all at the end.
fn soak(first: u64, count: u64) {
    let next = AtomicU64::new(0);
    let failed: Mutex<Vec<String>> = Mutex::default();
    let tally: Mutex<Tally> = Mutex::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let seed = first + number;
            let outcome = catch_unwind(|| run(seed));
            let complaints = match outcome {
                Ok(outcome) => {
                    let mut tally = tally.lock().expect("nobody panics here");
                    tally.apps += u64::from(outcome.app);
                    tally.compared += u64::from(outcome.compared);
                    tally.effects += outcome.effects;
                    tally.deaths += outcome.deaths;
                    tally.struck += outcome.struck;
                    tally.lost += outcome.lost;
                    *tally.ends.entry(outcome.phase).or_default() += 1;
                    outcome.complaints
                }
                Err(_) => vec!["it panicked".to_owned()],
            };
            if !complaints.is_empty() {
                let words = format!("seed {seed}: {}", complaints.join("; "));
                println!("{words}");
                failed.lock().expect("nobody panics here").push(words);
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().expect("panics are caught");
    });
    println!("{count} seeds from {first}: {:?}", tally.into_inner());
    let failed = failed.into_inner().expect("nobody panics here");
    assert!(
        failed.is_empty(),
        "{} of {count} seeds:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn forty_seeded_lives_break_no_invariant_and_end_as_undisturbed() {
    soak(1, 40);
}

#[test]
#[ignore = "takes minutes: SOAK_FIRST, SOAK_SEEDS"]
fn a_thousand_seeds() {
    soak(
        given("SOAK_FIRST").unwrap_or(1),
        given("SOAK_SEEDS").unwrap_or(1000),
    );
}
