//! The service is killed before and after each effect of a life in turn. Each time the end is the same, and GitHub holds the
//! same writes.

use super::judge::End;
use super::plan::{Crash, Network, Plan, Story};
use super::{Life, life};
use reviewer_core::lifecycle::Quotas;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A seed whose reviewers request changes, escalate and approve.
const SEED: u64 = 2;

fn plan(app: bool, max_fix_cycles: u32, acts: u64, crashes: Vec<Crash>) -> Plan {
    Plan {
        seed: SEED,
        story: Story {
            app,
            gate: app,
            author_is_agent: true,
            security: false,
            human: true,
            escalates_to_person: false,
            auto_merge: true,
            require_human_approval: false,
            max_fix_cycles,
            arms: true,
            check_after_ms: Some(90 * 60_000),
            mergeability_delay: 2,
            draft: false,
            strict: 2,
            fails: false,
            vanishes: false,
            mid: Vec::new(),
            acts,
        },
        network: Network::default(),
        crashes,
        troubles: Vec::new(),
        quotas: Quotas::default(),
    }
}

#[test]
fn killed_at_any_effect_a_full_life_ends_as_undisturbed_with_the_same_writes() {
    kill_everywhere((false, 2, 9), |end| {
        let has = |words: &str| end.reviews.iter().any(|one| one.starts_with(words));
        end.phase == "merged: Auto"
            && end.heads > 1
            && end.escalated == ["security"]
            && end.writes.iter().any(|one| one.starts_with("armed"))
            && has("quality changes_requested")
            && has("security approved")
            && has("lead approved")
    });
}

#[test]
fn killed_at_any_effect_a_life_that_calls_people_calls_them_once() {
    kill_everywhere((false, 0, 2), |end| !end.calls.is_empty());
}

#[test]
fn killed_at_any_effect_a_life_of_an_app_ends_as_undisturbed_with_the_same_writes() {
    kill_everywhere((true, 2, 9), |end| {
        let has = |words: &str| end.reviews.iter().any(|one| one.contains(words));
        end.phase == "merged: Auto"
            && end.heads > 1
            && end.writes.iter().any(|one| one.starts_with("armed"))
            && has("quality changes_requested")
            && has("security approved")
    });
}

/// Kills the service at every effect of the life in turn, once it is known to have all its parts.
fn kill_everywhere((app, max_fix_cycles, acts): (bool, u32, u64), is_whole: impl Fn(&End) -> bool) {
    let live = |crashes: Vec<Crash>| -> Life { life(plan(app, max_fix_cycles, acts, crashes)) };
    let calm = live(Vec::new());
    let told = format!("{}\n{:#?}", calm.story, calm.end);
    assert!(
        calm.end.complaints.is_empty() && is_whole(&calm.end),
        "{told}"
    );
    let (next, failed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let boundaries = calm.effects * 2;
    let work = || {
        loop {
            let boundary = next.fetch_add(1, Ordering::Relaxed);
            if boundary >= boundaries {
                return;
            }
            let crash = Crash {
                at: boundary / 2 + 1,
                after: boundary % 2 == 1,
                orphans: boundary.is_multiple_of(3),
                down_ms: 10,
            };
            let words = format!("{crash:?}");
            let killed = live(vec![crash]);
            if killed.end != calm.end || killed.deaths != 1 {
                let report = format!("{words}\n{}\n{:#?}", killed.story, killed.end);
                failed.lock().expect("nobody panics here").push(report);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let failed = failed.into_inner().expect("nobody panics here");
    let count = failed.len();
    let first = failed.first();
    assert!(
        first.is_none(),
        "{count} of {boundaries}: {first:?}\n--- undisturbed\n{told}"
    );
    println!("{boundaries} boundaries");
}
