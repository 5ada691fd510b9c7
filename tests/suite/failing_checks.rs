//! Checks of others that failed on the head: the model reads them, and a finding at a failing line names the check.

use crate::review::{lost_page, post};
use crate::standin::github::state::CommitStatus;
use crate::standin::model::Script;
use crate::standin::world::World;
use serde_json::json;

/// A pull request whose unit tests fail at the lost page, and whose linter fails on its base, too.
fn world() -> World {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    world.github.with(|state| {
        let pull = &state.pulls[&world.pull];
        let (head, base) = (pull.head.sha.clone(), pull.base.sha.clone());
        for (name, commit, conclusion) in [
            ("unit", &head, "failure"),
            ("unit", &base, "success"),
            ("build", &head, "success"),
        ] {
            state.conclude(name, commit, conclusion);
        }
        for run in &mut state.check_runs {
            if run.name == "unit" && run.head_sha == head {
                run.title = Some("1 of 12 failed".into());
                run.annotations = vec![json!({
                    "path": "src/page.ts", "start_line": 8, "message": "expected 3 pages, found 2",
                })];
            }
        }
        for sha in [head, base] {
            state.statuses.push(CommitStatus {
                sha,
                context: "ci/lint".into(),
                state: "FAILURE".into(),
                description: "unused import".into(),
            });
        }
    });
    world
}

#[test]
fn the_model_reads_which_checks_fail_and_the_finding_that_one_proves_names_it() {
    let world = world();
    let ran = world.review();
    ran.ended(0, "findings");
    let prompt = world.model.requests()[0]["messages"].to_string();
    for told in [
        "## Checks that failed on the head",
        "unit: 1 of 12 failed (passes on the base branch)",
        "src/page.ts:8: expected 3 pages, found 2",
        "ci/lint: unused import (fails on the base branch, too)",
    ] {
        assert!(prompt.contains(told), "{told}: {prompt}");
    }
    assert!(!prompt.contains("build:"), "{prompt}");
    let review = world.github.expect_review();
    let comment = review["comments"][0]["body"].as_str().expect("a comment");
    let proof = "The check `unit` fails here: `expected 3 pages, found 2`";
    assert!(comment.contains(proof), "{comment}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn without_failed_checks_no_prompt_speaks_of_any() {
    let world = World::shop(Script::new());
    world.run(&world.opened().quick()).ended(0, "clean");
    let prompt = world.model.requests()[0]["messages"].to_string();
    assert!(!prompt.contains("Checks that failed"), "{prompt}");
    world.github.expect_check_run();
    world.finish();
}
