//! `doctor`: what a review would need, told before one is paid for. The same is found at the beginning of a run.

use crate::review::{lost_page, post};
use crate::standin::github::{GitHub, Identity};
use crate::standin::model::{Answer, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::json;

const ALL: [&str; 3] = ["contents:write", "pull-requests:write", "checks:write"];
const ARGUMENTS: [&str; 5] = ["doctor", "--repo", "octo/shop", "--pr", "1"];

fn shell(world: &World) -> Workflow {
    let mut workflow = world.opened();
    let variables = &mut workflow.variables;
    variables.insert("GITHUB_ACTIONS".into(), String::new());
    workflow
}

/// In a private repository, where reading takes a permission, too.
fn with_permissions(world: &World, permissions: &[&str]) {
    world.github.with(|state| state.repository.private = true);
    let identity = Identity::github_actions(permissions);
    world.github.token(GitHub::TOKEN, identity);
}

/// What the table says about one thing: its state and the note.
fn row<'a>(ran: &'a Ran, about: &str) -> (&'a str, &'a str) {
    let mut rows = ran.log.lines().filter_map(|line| {
        let rest = line.strip_prefix(about)?.strip_prefix(' ')?.trim_start();
        rest.split_once(' ')
    });
    let (state, note) = rows
        .next()
        .unwrap_or_else(|| panic!("no row about {about} in\n{}", ran.log));
    (state, note.trim_start())
}

#[test]
fn everything_is_tried_and_nothing_is_written() {
    let world = World::shop(Script::new());
    let ran = world.spawn(&shell(&world), &ARGUMENTS);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(
        row(&ran, "GitHub"),
        ("ok", "reached as github-actions[bot]")
    );
    for about in [
        "pull request",
        "commits",
        "comments",
        "check run",
        "memory",
        "sandbox",
        "OpenCode",
    ] {
        assert_eq!(row(&ran, about).0, "ok", "{}", ran.log);
    }
    assert_eq!(row(&ran, "conversations").0, "unknown", "none is open yet");
    let (state, note) = row(&ran, "model");
    assert_eq!(state, "ok", "{}", ran.log);
    assert!(note.contains("answered ("), "{note}");
    assert!(!ran.log.contains("permissions:"), "{}", ran.log);
    assert_eq!(world.model.requests().len(), 1, "one word is asked for");
    assert!(world.github.take_writes().is_empty());
    world.finish();
}

#[test]
fn each_permission_that_is_taken_away_is_named_as_the_line_to_write() {
    for (lacking, about, line, code) in [
        ("contents", "commits", "contents: read", 2),
        ("pull-requests:write", "comments", "pull-requests: write", 2),
        ("checks", "check run", "checks: write", 0),
    ] {
        let world = World::shop(Script::new());
        let kept = ALL.iter().filter(|one| !one.starts_with(lacking));
        let mut kept: Vec<&str> = kept.copied().collect();
        if lacking == "pull-requests:write" {
            kept.push("pull-requests:read");
        }
        with_permissions(&world, &kept);
        let ran = world.spawn(&shell(&world).quick(), &ARGUMENTS);
        assert_eq!(ran.code, Some(code), "{lacking}: {}", ran.log);
        let expected = if code == 0 { "lacking" } else { "broken" };
        assert_eq!(row(&ran, about).0, expected, "{}", ran.log);
        let block = format!("permissions:\n  {line}\n");
        assert!(ran.log.contains(&block), "{lacking}: {}", ran.log);
        world.finish();
    }
}

#[test]
fn a_run_that_may_not_do_its_work_names_the_line_before_a_token_is_spent() {
    for (kept, line) in [
        (
            vec!["contents:read", "checks:write"],
            "`pull-requests: write`",
        ),
        (
            vec!["contents:read", "checks:write", "pull-requests:read"],
            "`pull-requests: write`",
        ),
        (
            vec!["checks:write", "pull-requests:write"],
            "`contents: read`",
        ),
    ] {
        let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))]));
        with_permissions(&world, &kept);
        let ran = world.run(&world.opened().quick());
        ran.ended(2, "error");
        let errors = ran.annotations("error").join("\n");
        assert!(errors.contains(line), "{line}: {}", ran.log);
        assert!(world.model.requests().is_empty(), "no token was spent");
        world.finish();
    }
}

#[test]
fn what_a_run_goes_on_without_is_told_once() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    with_permissions(&world, &["contents:read", "pull-requests:write"]);
    let first = world.run(&world.opened().quick());
    let warnings = first.annotations("warning");
    let told = warnings
        .iter()
        .filter(|warning| warning.contains("permissions:%0A  checks: write"));
    assert_eq!(told.count(), 1, "{}", first.log);
    assert!(!first.log.contains("contents: write"), "{}", first.log);
    world.github.expect_review();
    let second = world.run(&world.opened().quick());
    let told = "permissions:%0A  checks: write%0A  contents: write";
    assert!(second.log.contains(told), "{}", second.log);
    assert_eq!(second.log.matches("conversations stay open").count(), 1);
    let ran = world.spawn(&shell(&world).quick(), &ARGUMENTS);
    assert_eq!(ran.code, Some(0), "a review goes on: {}", ran.log);
    assert_eq!(row(&ran, "conversations").0, "lacking", "{}", ran.log);
    world.finish();
}

#[test]
fn a_key_that_the_provider_refuses_is_found_without_a_review() {
    let world = World::shop(Script::new());
    let refusal = json!({ "error": { "message": "Incorrect API key provided" } });
    world
        .model
        .becomes(move |_| Answer::status(401, refusal.clone()));
    let ran = world.spawn(&shell(&world), &ARGUMENTS);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    let (state, note) = row(&ran, "model");
    assert_eq!(state, "broken", "{}", ran.log);
    assert!(note.contains("Check opencode_api_key."), "{note}");
    assert!(world.github.take_writes().is_empty());
    world.finish();
}

#[test]
fn wrong_inputs_and_a_pull_request_that_is_not_there_are_told_as_in_a_run() {
    let world = World::shop(Script::new());
    let mut workflow = shell(&world);
    let variables = &mut workflow.variables;
    variables.insert("INPUT_MODEL".into(), "no-provider".into());
    let ran = world.spawn(&workflow, &ARGUMENTS);
    assert_eq!(ran.code, Some(2));
    assert!(ran.log.contains("error: Input model"), "{}", ran.log);
    let elsewhere = ["doctor", "--repo", "octo/shop", "--pr", "404"];
    let ran = world.spawn(&shell(&world).quick(), &elsewhere);
    assert_eq!(ran.code, Some(2));
    let (state, note) = row(&ran, "pull request");
    assert_eq!(state, "broken");
    assert!(note.contains("was not found"), "{note}");
    world.finish();
}
