//! The service is killed before and after each effect of one full life in turn: changes requested, a fix, an escalation,
//! approvals, and the merge. Each time the end is the same, and GitHub holds the same writes.

use super::judge::End;
use super::plan::{Crash, Network, Plan, Story};
use super::{Life, life};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A seed whose reviewers play the full life.
const SEED: u64 = 2;

fn plan(crashes: Vec<Crash>) -> Plan {
    Plan {
        seed: SEED,
        story: Story {
            author_is_agent: true,
            security: false,
            human: true,
            escalates_to_person: false,
            auto_merge: true,
            require_human_approval: false,
            max_fix_cycles: 2,
            arms: true,
            check_after_ms: Some(90 * 60_000),
            mergeability_delay: 2,
            draft: false,
            strict: 2,
            fails: false,
            vanishes: false,
            mid: Vec::new(),
            acts: 9,
        },
        network: Network::default(),
        crashes,
        troubles: Vec::new(),
    }
}

/// The end without what a crash may change: nothing but the sessions' numbers, which it does not hold.
fn end_of(crashes: Vec<Crash>) -> Life {
    life(plan(crashes))
}

#[test]
fn killed_at_any_effect_a_life_ends_as_undisturbed_with_the_same_writes() {
    let undisturbed = end_of(Vec::new());
    assert!(
        is_full(&undisturbed.end),
        "{}\n{:#?}",
        undisturbed.story,
        undisturbed.end
    );
    let (next, failed) = (AtomicU64::new(2), Mutex::new(Vec::new()));
    let last = undisturbed.effects * 2 + 1;
    let work = || {
        loop {
            let boundary = next.fetch_add(1, Ordering::Relaxed);
            if boundary > last {
                return;
            }
            let crash = Crash {
                at: boundary / 2,
                after: boundary % 2 == 1,
                orphans: boundary % 3 == 0,
                down_ms: 10,
            };
            let words = format!("{crash:?}");
            let killed = end_of(vec![crash]);
            if killed.end != undisturbed.end || !killed.story.contains("the service dies") {
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
    assert!(
        failed.is_empty(),
        "{} of {} boundaries:\n{}\n--- undisturbed\n{}\n{:#?}",
        failed.len(),
        last - 1,
        failed[0],
        undisturbed.story,
        undisturbed.end
    );
    println!("{} boundaries", last - 1);
}

/// True if the life has all its parts, and nothing is wrong with it.
fn is_full(end: &End) -> bool {
    let has = |words: &str| end.reviews.iter().any(|one| one.starts_with(words));
    end.complaints.is_empty()
        && end.phase == "merged: Auto"
        && end.heads > 1
        && end.escalated == ["security"]
        && has("octo-quality CHANGES_REQUESTED")
        && has("octo-security APPROVED")
        && has("lead APPROVED")
}
