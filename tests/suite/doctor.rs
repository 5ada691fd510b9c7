//! `doctor`: what a review would need, told before one is paid for. The same is found at the beginning of a run.

use crate::review::{lost_page, post};
use crate::standin::github::{GitHub, Identity};
use crate::standin::model::{Answer, Script};
use crate::standin::world::{Ran, Workflow, World, open_folder};
use reviewer_agent::opencode::find_opencode;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
fn nobody_can_tell_beforehand_if_the_token_may_approve() {
    let world = World::shop(Script::new()).quick();
    let arguments = [&ARGUMENTS[..], &["--no-model"]].concat();
    let silent = world.spawn(&shell(&world), &arguments);
    assert!(!silent.log.contains("approving"), "{}", silent.log);
    let mut workflow = shell(&world);
    workflow
        .inputs
        .insert("review_event".into(), "decide".into());
    let ran = world.spawn(&workflow, &arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let (state, note) = row(&ran, "approving");
    assert_eq!(state, "unknown");
    assert!(note.starts_with("GitHub tells nobody"), "{note}");
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
fn each_row_is_printed_before_the_model_has_answered() {
    let world = World::shop(Script::new());
    let (release, released) = std::sync::mpsc::channel::<()>();
    let on_time = Arc::new(AtomicBool::default());
    let noted = Arc::clone(&on_time);
    world.model.becomes(move |_| {
        // Longer than any row takes; were the rows printed together at the end, nobody would release it.
        let waited = released.recv_timeout(Duration::from_mins(1));
        noted.store(waited.is_ok(), Ordering::Relaxed);
        Answer::text("Ready.")
    });
    let mut awaited = vec![
        "GitHub",
        "pull request",
        "commits",
        "comments",
        "check run",
        "memory",
        "conversations",
        "sandbox",
        "OpenCode",
    ];
    let ran = world.watch(&shell(&world).quick(), &ARGUMENTS, |line| {
        awaited.retain(|about| !line.starts_with(&format!("{about} ")));
        if awaited.is_empty() {
            let _answered = release.send(());
        }
    });
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(on_time.load(Ordering::Relaxed), "{awaited:?} {}", ran.log);
    let last = ran.log.lines().last().unwrap();
    assert!(last.starts_with("model          ok       "), "{last}");
    world.finish();
}

#[test]
fn the_model_is_not_asked_where_github_is_broken_or_nobody_wants_it() {
    let world = World::shop(Script::new());
    let elsewhere = ["doctor", "--repo", "octo/shop", "--pr", "404"];
    let ran = world.spawn(&shell(&world).quick(), &elsewhere);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    let skipped = ("skipped", "not asked, because pull request is broken");
    assert_eq!(row(&ran, "model"), skipped);
    let without = [&ARGUMENTS[..], &["--no-model"]].concat();
    let ran = world.spawn(&shell(&world).quick(), &without);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(row(&ran, "OpenCode").0, "ok");
    let skipped = ("skipped", "not asked, because --no-model was given");
    assert_eq!(row(&ran, "model"), skipped);
    assert_eq!(world.model.requests().len(), 0);
    world.finish();
}

#[test]
fn an_endpoint_that_is_not_there_is_told_after_three_tries() {
    let world = World::shop(Script::new());
    let mut workflow = shell(&world);
    let dead = ("model_base_url".into(), "http://127.0.0.1:1/v1".into());
    workflow.inputs.extend([dead]);
    let ran = world.spawn(&workflow, &ARGUMENTS);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    let (state, note) = row(&ran, "model");
    assert_eq!(state, "broken", "{}", ran.log);
    let told = "The model gateway cannot reach http://127.0.0.1:1: connection refused (3 tries).";
    assert!(note.starts_with(told), "{note}");
    world.finish();
}

/// `npm i -g opencode-ai` below a prefix, with the package as it comes from npm and the program in its platform package.
fn install_globally(prefix: &Path) -> PathBuf {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("node_modules");
    let installed = prefix.join("lib/node_modules/opencode-ai");
    std::fs::create_dir_all(installed.join("bin")).unwrap();
    let script = installed.join("bin/opencode.exe");
    std::fs::copy(modules.join("opencode-ai/bin/opencode.exe"), &script).unwrap();
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    std::os::unix::fs::symlink(&script, prefix.join("bin/opencode")).unwrap();
    let found = find_opencode(None, &[modules.parent().unwrap().to_owned()], "").unwrap();
    let package = found.strip_prefix(&modules).unwrap();
    let program = installed.join("node_modules").join(package);
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let linked = std::fs::hard_link(&found, &program);
    linked
        .or_else(|_| std::fs::copy(&found, &program).map(drop))
        .unwrap();
    program
}

#[test]
fn the_opencode_that_npm_installs_globally_is_found_behind_its_script() {
    let world = World::shop(Script::new());
    let prefix = open_folder();
    let program = install_globally(prefix.path());
    // Outside of the checkout, whose own OpenCode would be found first.
    let reviewer = prefix.path().join("opencode-reviewer");
    let workflow = shell(&world);
    let arguments = [&ARGUMENTS[..], &["--no-model"]].concat();
    let usual = world.command(&workflow, &arguments);
    std::fs::copy(usual.get_program(), &reviewer).unwrap();
    let examined = || {
        let mut command = Command::new(&reviewer);
        command
            .args(usual.get_args())
            .env_clear()
            .stdin(Stdio::null());
        command.envs(
            usual
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.env_remove("OPENCODE_BIN");
        let path = format!("{}:/usr/bin:/bin", prefix.path().join("bin").display());
        let output = command.env("PATH", path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let told = examined();
    assert!(
        told.contains("\nOpenCode       ok       version 1."),
        "{told}"
    );
    std::fs::remove_file(program).unwrap();
    let told = examined();
    let advice = "is a script, and the sandbox executes no interpreter; OpenCode's platform package was not found beside \
                  it. Install it with `npm i -g opencode-ai@1`, or set OPENCODE_BIN";
    assert!(told.contains(advice), "{told}");
    std::fs::remove_file(prefix.path().join("bin/opencode")).unwrap();
    let told = examined();
    let advice =
        "OpenCode was not found; install it with `npm i -g opencode-ai@1`, or set OPENCODE_BIN";
    assert!(told.contains(advice), "{told}");
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
    assert!(note.contains("Check the API key."), "{note}");
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
