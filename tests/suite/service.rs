//! The lifecycle service as people run it: `serve` with its store, signed webhooks in, reviews, fixes and merges out. Sessions are
//! child processes.

use crate::fixing::CEIL;
use crate::standin::github::{State, Write};
use crate::standin::serving::{self, Serving};
use crate::standin::world::World;

/// Quality finds the lost page, and calls security once it is fixed; the author's agent fixes.
fn world() -> World {
    serving::world(crate::fixing::script(9), CEIL)
}

/// Opened, changes requested by quality, fixed by the author's agent, approved by quality and by security, merged.
fn lives(world: World) {
    let mut serving = Serving::on(world);
    serving.open();
    if let Err(state) = serving.reach("merged", |_| true) {
        panic!("{state}: {:#}\n{}", serving.asks("history"), serving.log());
    }
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
    assert_eq!(
        decided,
        [
            ("quality", "changes_requested"),
            ("quality", "approved"),
            ("security", "approved")
        ],
        "{status:#}"
    );
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    assert_eq!(
        told,
        [
            "REQUEST_CHANGES",
            "commit by dev",
            "dismissal",
            "APPROVE",
            "APPROVE",
            "merge by quality-agent"
        ],
        "{writes:#?}"
    );
    let show = |state: &mut State| state.git.must(&["show", "main:src/page.ts"]);
    assert!(serving.world.github.with(show).contains(CEIL));
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
fn the_same_life_with_the_real_opencode() {
    lives(world());
}
