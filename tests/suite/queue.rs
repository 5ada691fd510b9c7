//! The merge queue: a group is green if each of its pull requests was reviewed and nothing blocks it.

use crate::review::{lost_page, post};
use crate::standin::github::state::QueueEntry;
use crate::standin::github::{CheckRun, events};
use crate::standin::model::Script;
use crate::standin::world::{Ran, Workflow, World};
use serde_json::json;

fn asked(world: &World, entry: &QueueEntry) -> Workflow {
    let payload = events::merge_group_event(&world.github, entry);
    let mut workflow = world.workflow("merge_group", payload);
    for input in ["model", "model_base_url"] {
        workflow.inputs.remove(input);
    }
    workflow
}

/// The run for a group, and the check that it left on the group's commit.
fn judged(world: &World, entry: &QueueEntry) -> (Ran, CheckRun) {
    let requests = world.model.requests().len();
    let ran = world.run(&asked(world, entry));
    let check = world.github.expect_check_run();
    assert_eq!(check.head_sha, entry.head_sha, "{}", ran.log);
    assert_eq!(check.name, "OpenCode review");
    assert_eq!(world.model.requests().len(), requests, "no model call");
    (ran, check)
}

/// It fails, and says this of the group.
fn refused(world: &World, entry: &QueueEntry, expected: &str) {
    let (ran, check) = judged(world, entry);
    ran.ended(0, "blocking");
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    let summary = check.summary.unwrap();
    assert!(summary.contains(expected), "{summary}");
}

/// The example pull request and a second one, of another branch.
fn two() -> (World, u64) {
    let world = World::shop(Script::new()).quick();
    let main = world
        .github
        .with(|state| state.git.commit_of("main").unwrap());
    let added = [crate::standin::github::Change::write(
        "src/new.ts",
        "export {};\n",
    )];
    world.github.commit("new", &[&main], &added);
    let second = world.github.open_pull("dev", "new", "main");
    (world, second)
}

fn reviewed(world: &World, pull: u64) {
    let payload = events::event("pull_request", Some("opened"), &world.github, pull);
    let ran = world.run(&world.workflow("pull_request", payload));
    ran.ended(0, "clean");
    world.github.expect_check_run();
}

#[test]
fn a_group_of_reviewed_pull_requests_passes_without_a_model_call() {
    let (world, second) = two();
    reviewed(&world, world.pull);
    reviewed(&world, second);
    let first = world.github.enqueue(world.pull);
    let (ran, check) = judged(&world, &first);
    ran.ended(0, "clean");
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert_eq!(check.title.as_deref(), Some("#1 is reviewed"));
    // A group of both, on top of the branch.
    let both = QueueEntry {
        base_sha: first.base_sha.clone(),
        ..world.github.enqueue(second)
    };
    let (ran, check) = judged(&world, &both);
    ran.ended(0, "clean");
    let title = "All 2 pull requests of the group are reviewed: #1, #2";
    assert_eq!(check.title.as_deref(), Some(title));
    world.finish();
}

#[test]
fn one_pull_request_without_a_review_fails_the_group_and_is_named() {
    let (world, second) = two();
    reviewed(&world, second);
    let first = world.github.enqueue(world.pull);
    refused(&world, &first, "#1 has no finished review of ");
    let both = QueueEntry {
        base_sha: first.base_sha.clone(),
        ..world.github.enqueue(second)
    };
    refused(&world, &both, "#1 has no finished review of ");
    world.finish();
}

#[test]
fn what_blocks_a_pull_request_or_leaves_it_incomplete_fails_the_group() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))])).quick();
    world.review().ended(0, "blocking");
    world.github.expect_review();
    world.github.expect_check_run();
    let entry = world.github.enqueue(world.pull);
    refused(&world, &entry, "The review of #1 concluded blocking");
    // Whoever writes another verdict into the record has no key to sign it with.
    world.github.with(|state| {
        for text in state
            .check_runs
            .iter_mut()
            .filter_map(|run| run.text.as_mut())
        {
            *text = text.replace("\"verdict\":\"blocking\"", "\"verdict\":\"clean\"");
        }
    });
    refused(&world, &entry, "#1 has no finished review of ");
    world.finish();

    let world = World::shop(Script::new()).quick();
    let mut short = world.opened();
    short.inputs.insert("max_tokens".into(), "1".into());
    world.run(&short).ended(2, "incomplete");
    world.github.take_writes();
    let entry = world.github.enqueue(world.pull);
    refused(&world, &entry, "The review of #1 concluded incomplete");
    world.finish();
}

#[test]
fn a_review_against_another_base_is_no_review_for_this_queue() {
    let world = World::shop(Script::new()).quick();
    reviewed(&world, world.pull);
    let main = world
        .github
        .with(|state| state.git.commit_of("main").unwrap());
    world.github.commit("stable", &[&main], &[]);
    world
        .github
        .pull(world.pull, |pull| pull.base.branch = "stable".into());
    let entry = world.github.enqueue(world.pull);
    refused(
        &world,
        &entry,
        "#1 was reviewed against `main`, not `stable`",
    );
    world.finish();
}

#[test]
fn a_queue_that_moved_on_is_read_from_the_groups_branch() {
    let world = World::shop(Script::new()).quick();
    reviewed(&world, world.pull);
    let entry = world.github.enqueue(world.pull);
    world.github.with(|state| state.queue.clear());
    let (ran, check) = judged(&world, &entry);
    ran.ended(0, "clean");
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    let odd = QueueEntry {
        branch: "queue/main/one".into(),
        ..entry
    };
    refused(
        &world,
        &odd,
        "The pull requests of the merge group could not be read",
    );
    world.finish();
}

#[test]
fn without_a_key_no_group_passes_a_dry_run_writes_nothing_and_a_destroyed_group_is_a_skip() {
    let world = World::shop(Script::new()).quick();
    reviewed(&world, world.pull);
    let entry = world.github.enqueue(world.pull);
    let mut workflow = asked(&world, &entry);
    workflow.inputs.remove("opencode_api_key");
    world.run(&workflow).ended(0, "blocking");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(check.summary.unwrap().contains("state_key"));
    let mut dry = asked(&world, &entry);
    dry.inputs.insert("dry_run".into(), "true".into());
    let ran = world.run(&dry);
    ran.ended(0, "clean");
    let told = "Check run: success, \"#1 is reviewed\"";
    assert!(ran.log.contains(told), "{}", ran.log);
    let mut gone = asked(&world, &entry);
    gone.payload["action"] = json!("destroyed");
    world.run(&gone).ended(0, "skipped");
    world.finish();
}
