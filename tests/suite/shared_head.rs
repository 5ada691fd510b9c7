//! One head under several pull requests, bases and checks: what is reviewed is a diff, and the check says of which.

use crate::review::{lost_page, post};
use crate::standin::github::{Change, Fault, events};
use crate::standin::model::Script;
use crate::standin::world::{Ran, World};
use serde_json::json;

/// Two pull requests of one head: the first has a blocking finding, the second is the last commit alone.
fn two_of_one_head() -> (World, u64) {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))])).quick();
    let first = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    world.github.commit("part", &[&first], &[]);
    let part = world
        .github
        .with(|state| state.git.commit_of("part").unwrap());
    let added = [Change::write("src/new.ts", "export {};\n")];
    let head = world.github.commit("search", &[&part], &added);
    world.github.push(world.pull, &head);
    let second = world.github.open_pull("dev", "search", "part");
    (world, second)
}

fn run(world: &World, action: &str, pull: u64) -> Ran {
    let payload = events::event("pull_request", Some(action), &world.github, pull);
    world.run(&world.workflow("pull_request", payload))
}

#[test]
fn a_job_that_borrows_the_checks_name_stops_no_review() {
    let world = World::shop(Script::new()).quick();
    let head = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    world.github.with(|state| state.hold(&head));
    let ran = world.review();
    ran.ended(0, "clean");
    let warned = ran.annotations("warning");
    let told = "Another check called \"OpenCode review\" is on this head and is not the reviewer's";
    assert!(warned.iter().any(|one| one.contains(told)), "{}", ran.log);
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert!(check.summary.unwrap().contains("(github-actions)"));
    world.finish();
}

#[test]
fn the_check_says_which_diff_it_is_about_and_another_base_is_another_diff() {
    let world = World::shop(Script::new()).quick();
    let ran = world.review();
    ran.ended(0, "clean");
    let check = world.github.expect_check_run();
    let title = |world: &World, base: &str| {
        let sha = world
            .github
            .with(|state| state.git.commit_of(base).unwrap());
        format!("Nothing to report · {base}@{}", &sha[..7])
    };
    assert_eq!(check.title, Some(title(&world, "main")));
    let main = world
        .github
        .with(|state| state.git.commit_of("main").unwrap());
    let external = format!("opencode-reviewer:4711.1:1:main:{main}");
    assert_eq!(check.external_id, Some(external));

    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    world.github.commit("part", &[&before], &[]);
    let part = world
        .github
        .with(|state| state.git.commit_of("part").unwrap());
    let added = [Change::write("src/new.ts", "export {};\n")];
    let head = world.github.commit("search", &[&part], &added);
    world.github.push(world.pull, &head);
    run(&world, "synchronize", world.pull).ended(0, "clean");
    world.github.take_writes();
    let asked = world.model.requests().len();
    world.github.pull(world.pull, |pull| {
        pull.base.branch = "part".into();
        pull.base.sha = part;
    });
    let payload = events::retargeted_event(&world.github, world.pull, "main");
    let ran = world.run(&world.workflow("pull_request", payload));
    ran.ended(0, "clean");
    assert!(
        world.model.requests().len() > asked,
        "another diff is reviewed"
    );
    assert_eq!(
        world.github.expect_check_run().title,
        Some(title(&world, "part"))
    );
    world.finish();
}

#[test]
fn a_second_pull_request_of_a_head_does_not_turn_the_first_ones_check_green() {
    let (world, second) = two_of_one_head();
    world.github.permit("writer", "write");
    run(&world, "opened", world.pull).ended(0, "blocking");
    world.github.expect_review();
    world.github.expect_check_run();
    world.model.becomes(Script::new().into_behaviour());
    let ran = run(&world, "opened", second);
    ran.ended(0, "blocking");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    let title = check.title.unwrap();
    assert!(title.starts_with("Held back by #1 · part@"), "{title}");
    let summary = check.summary.unwrap();
    assert!(summary.contains("#1"), "{summary}");

    // The first is settled: both are green.
    let root = world.github.comments()[0].id;
    world.github.resolve_thread(root, "writer");
    run(&world, "opened", world.pull).ended(0, "clean");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    run(&world, "opened", second).ended(0, "clean");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    world.finish();
}

#[test]
fn a_pull_request_of_the_same_head_without_a_record_is_named_only() {
    let (world, second) = two_of_one_head();
    world.model.becomes(Script::new().into_behaviour());
    run(&world, "opened", second).ended(0, "clean");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    let summary = check.summary.unwrap();
    assert!(
        summary.contains("#1") && summary.contains("main"),
        "{summary}"
    );
    world.finish();
}

#[test]
fn a_pull_request_that_fails_later_turns_the_others_red() {
    let (world, second) = two_of_one_head();
    world.model.becomes(Script::new().into_behaviour());
    run(&world, "opened", second).ended(0, "clean");
    world.github.expect_check_run();
    let script = Script::new().pass(1, |_| vec![post(lost_page(9))]);
    world.model.becomes(script.into_behaviour());
    run(&world, "opened", world.pull).ended(0, "blocking");
    world.github.expect_review();
    let newest = world.github.with(|state| state.check_runs.last().cloned());
    let newest = newest.unwrap();
    assert_eq!(newest.conclusion.as_deref(), Some("failure"));
    assert!(newest.title.unwrap().starts_with("Held back by #1 · part@"));
    world.github.take_writes();
    world.finish();
}

#[test]
fn closing_one_pull_request_of_a_head_computes_the_others_anew() {
    let (world, second) = two_of_one_head();
    run(&world, "opened", world.pull).ended(0, "blocking");
    world.model.becomes(Script::new().into_behaviour());
    run(&world, "opened", second).ended(0, "blocking");
    world.github.take_writes();
    let asked = world.model.requests().len();
    world
        .github
        .pull(world.pull, |pull| pull.state = "closed".into());
    let ran = run(&world, "closed", world.pull);
    ran.ended(0, "skipped");
    assert!(ran.annotations("notice")[0].contains("#2"), "{}", ran.log);
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    let title = check.title.unwrap();
    assert!(title.starts_with("Nothing to report · part@"), "{title}");
    assert_eq!(world.model.requests().len(), asked);

    // The record is there as before.
    run(&world, "opened", second).ended(0, "clean");
    assert_eq!(world.model.requests().len(), asked);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_head_whose_other_pull_requests_cannot_be_looked_up_is_not_green() {
    let (world, second) = two_of_one_head();
    run(&world, "opened", world.pull).ended(0, "blocking");
    world.github.take_writes();
    world.model.becomes(Script::new().into_behaviour());
    let broken = Fault::Status(502, json!({ "message": "Bad Gateway" }));
    world.github.on_graphql("associatedPullRequests", 9, broken);
    let ran = run(&world, "opened", second);
    ran.ended(2, "incomplete");
    assert!(ran.log.contains("run this job again"), "{}", ran.log);
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    world.finish();
}

#[test]
fn a_blocked_pull_request_that_is_made_a_draft_still_holds_its_head() {
    let (world, second) = two_of_one_head();
    run(&world, "opened", world.pull).ended(0, "blocking");
    world.github.pull(world.pull, |pull| pull.draft = true);
    world.github.take_writes();
    world.model.becomes(Script::new().into_behaviour());
    run(&world, "opened", second).ended(0, "blocking");
    let title = world.github.expect_check_run().title.unwrap();
    assert!(title.starts_with("Held back by #1 · part@"), "{title}");
    world.finish();
}
