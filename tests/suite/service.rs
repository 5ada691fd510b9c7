//! The lifecycle service as people run it: `serve` with its store, signed webhooks in, reviews, fixes and merges out. Sessions are
//! child processes.

use crate::dice::Dice;
use crate::fixing::CEIL;
use crate::standin::github::{State, Write};
use crate::standin::serving::{self, Serving};
use crate::standin::world::World;
use std::time::{Duration, Instant};

/// Quality finds the lost page, and calls security once it is fixed; the author's agent fixes.
fn world() -> World {
    serving::world(crate::fixing::script(9), CEIL)
}

/// A service with a pull request that was just opened.
fn opened(world: World) -> Serving {
    let serving = Serving::on(world);
    serving.open();
    serving
}

/// Changes requested by quality, fixed by the author's agent, approved by quality and by security, merged; each once.
fn judge(serving: &Serving) {
    let status = serving.asks("status");
    assert_eq!(status["mergeType"], "auto", "{status:#}");
    let outcomes = status["reviewOutcomes"]
        .as_array()
        .expect("outcomes")
        .iter();
    let decided: Vec<(&str, &str)> = outcomes
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            (text("reviewer"), text("decision"))
        })
        .collect();
    let expected = [
        ("quality", "changes_requested"),
        ("quality", "approved"),
        ("security", "approved"),
    ];
    assert_eq!(decided, expected, "{status:#}");
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    let expected = [
        "REQUEST_CHANGES",
        "commit by dev",
        "dismissal",
        "APPROVE",
        "APPROVE",
        "merge by quality-agent",
    ];
    assert_eq!(told, expected, "{writes:#?}\n{}", serving.log());
    let show = |state: &mut State| state.git.must(&["show", "main:src/page.ts"]);
    assert!(serving.world.github.with(show).contains(CEIL));
}

fn lives(world: World) {
    let mut serving = opened(world);
    serving.until("merged");
    judge(&serving);
    serving.finish();
}

/// The same life with a service that dies at times drawn from a seed.
fn lives_with_deaths(seed: u64) {
    let mut dice = Dice::new(seed);
    // The first draws of small seeds are small.
    for _ in 0..8 {
        dice.below(2);
    }
    let mut serving = opened(world().quick());
    for _ in 0..=dice.below(3) {
        let pause = Duration::from_millis(dice.below(2_500));
        let begun = Instant::now();
        while begun.elapsed() < pause {
            serving.deliver();
            std::thread::sleep(Duration::from_millis(20));
        }
        serving.dies();
    }
    serving.until("merged");
    println!("seed {seed}");
    judge(&serving);
    serving.finish();
}

/// The acts that move a life.
fn told_of(write: &Write) -> Option<String> {
    match write {
        Write::Review { json, .. } => json["event"].as_str().map(str::to_owned),
        Write::Commit { by, .. } => Some(format!("commit by {by}")),
        Write::Merge { by, .. } => Some(format!("merge by {by}")),
        Write::Dismissal { .. } => Some("dismissal".to_owned()),
        _ => None,
    }
}

#[test]
fn a_pull_request_lives_from_its_opening_to_its_merge() {
    lives(world().quick());
}

#[test]
fn a_service_that_is_killed_goes_on_with_nothing_lost_and_nothing_doubled() {
    for seed in 1..=2 {
        lives_with_deaths(seed);
    }
}

#[test]
#[ignore = "takes minutes: make soak SERVE=1"]
fn twenty_lives_with_child_processes() {
    for seed in 1..=20 {
        lives_with_deaths(seed);
    }
}

#[test]
fn a_repository_that_is_renamed_keeps_the_lives_of_its_pull_requests() {
    let mut serving = opened(world().quick());
    serving.until("reviewing");
    serving.world.github.rename("octo/store", "dev");
    serving.repository = "octo/store".to_owned();
    serving.until("merged");
    judge(&serving);
    // Whoever takes the old name has no life here.
    serving.world.github.take_name("octo/shop");
    serving.repository = "octo/shop".to_owned();
    assert_eq!(serving.state(), "");
    serving.finish();
}

#[test]
fn the_same_life_with_the_real_opencode() {
    lives(world());
}
