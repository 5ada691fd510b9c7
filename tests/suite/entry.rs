//! The door: which events are ours, and what a person who configured something wrong is told.

use crate::standin::github::{Fault, GitHub, Identity, Write, events};
use crate::standin::model::{Answer, Script};
use crate::standin::world::{Ran, Workflow, World};
use http::Method;
use serde_json::json;

/// A world whose model must not be asked.
fn quiet_world() -> World {
    World::with(&[], |_| panic!("no model request was expected")).quick()
}

fn skipped(world: &World, workflow: &Workflow) -> String {
    let ran = world.run(workflow);
    ran.ended(0, "skipped");
    let notices = ran.annotations("notice");
    assert_eq!(notices.len(), 1, "{}", ran.log);
    notices[0].to_owned()
}

#[test]
fn what_is_not_ours_is_a_skip_that_says_why() {
    let world = quiet_world();
    let push = world
        .github
        .with(|state| state.pulls[&world.pull].head.sha.clone());
    let payload = events::push_event(&world.github, "dev", "search", &push, &push);
    let reason = skipped(&world, &world.workflow("push", payload));
    assert!(reason.contains("push"), "{reason}");

    let closed = events::event("pull_request", Some("closed"), &world.github, world.pull);
    skipped(&world, &world.workflow("pull_request", closed));

    let comment = world.github.comment(
        world.pull,
        "writer",
        "Looks good. `@review-my-code-bot` in code is no call.",
    );
    let payload = events::comment_event("issue_comment", &world.github, world.pull, comment.id);
    let reason = skipped(&world, &world.workflow("issue_comment", payload));
    assert!(reason.contains("@review-my-code-bot"), "{reason}");

    // A skip is decided before inputs are judged.
    let mut broken = world.workflow("push", json!({}));
    broken.inputs.clear();
    skipped(&world, &broken);
    world.finish();
}

#[test]
fn a_draft_waits_until_a_mention_asks() {
    let world = World::shop(Script::new()).quick();
    world.github.pull(world.pull, |pull| pull.draft = true);
    let reason = skipped(&world, &world.opened());
    assert!(reason.contains("draft"), "{reason}");
    let dispatch = events::dispatch_event(&world.github, "writer", &json!({ "pull_request": "1" }));
    skipped(&world, &world.workflow("workflow_dispatch", dispatch));
    let comment = world
        .github
        .comment(world.pull, "stranger", "@review-my-code-bot review");
    let payload = events::comment_event("issue_comment", &world.github, world.pull, comment.id);
    let reason = skipped(&world, &world.workflow("issue_comment", payload));
    assert!(
        reason.contains("stranger") && reason.contains("write access"),
        "{reason}"
    );
    assert_eq!(world.model.requests().len(), 0);

    world.github.permit("writer", "write");
    let comment = world
        .github
        .comment(world.pull, "writer", "@review-my-code-bot review");
    let payload = events::comment_event("issue_comment", &world.github, world.pull, comment.id);
    let ran = world.run(&world.workflow("issue_comment", payload));
    ran.ended(0, "clean");
    world.github.expect_check_run();
    let reactions = world
        .github
        .take_writes()
        .into_iter()
        .map(|write| match write {
            Write::Reaction { comment, json } => (comment, json["content"].clone()),
            other => panic!("unexpected: {other:?}"),
        });
    let expected = ["eyes", "rocket"].map(|content| (comment.id, json!(content)));
    assert_eq!(reactions.collect::<Vec<_>>(), expected);
    world.finish();
}

#[test]
fn a_dispatch_and_a_shell_review_the_same() {
    let world = World::shop(Script::new()).quick();
    let dispatch =
        events::dispatch_event(&world.github, "writer", &json!({ "pull_request": "#1" }));
    let ran = world.run(&world.workflow("workflow_dispatch", dispatch));
    ran.ended(0, "clean");
    world.github.expect_check_run();

    let mut shell = world.opened();
    shell.inputs.clear();
    shell.variables.extend([
        ("GITHUB_TOKEN".to_owned(), GitHub::TOKEN.to_owned()),
        (
            "OPENCODE_API_KEY".to_owned(),
            crate::standin::world::KEY.to_owned(),
        ),
    ]);
    let url = format!("model_base_url={}", world.model.url());
    let arguments = [
        "review",
        "--repo",
        "octo/shop",
        "--pr",
        "1",
        "--input",
        "model=standin/scripted",
        "--input",
        &url,
    ];
    let ran = world.spawn(&shell, &arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_label_and_a_fork_without_secrets_are_skips() {
    let world = quiet_world();
    world
        .github
        .pull(world.pull, |pull| pull.labels.push("skip-review".into()));
    let reason = skipped(&world, &world.opened());
    assert!(reason.contains("skip-review"), "{reason}");
    let mut fork = world.opened();
    fork.payload["pull_request"]["head"]["repo"]["id"] = json!(999);
    for secret in ["opencode_api_key", "model_base_url"] {
        fork.inputs.remove(secret);
    }
    let reason = skipped(&world, &fork);
    assert!(reason.contains("fork"), "{reason}");
    world.finish();
}

/// Nothing is posted, no model is asked, and the lines say what is wrong.
fn refused(world: &World, workflow: &Workflow) -> Vec<String> {
    let ran = world.run(workflow);
    errors(&ran)
}

fn errors(ran: &Ran) -> Vec<String> {
    ran.ended(2, "error");
    ran.annotations("error")
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[test]
fn several_wrong_inputs_are_told_together() {
    let world = quiet_world();
    let mut workflow = world.opened();
    workflow.inputs.remove("model_base_url");
    workflow.inputs.remove("opencode_api_key");
    for (name, value) in [
        ("model", "antropic/claude"),
        ("problem_score_threshold", "11"),
        ("blocking_score_threshold", "high"),
        ("score_elevation_threshold", "0"),
    ] {
        workflow.inputs.insert(name.into(), value.into());
    }
    let lines = refused(&world, &workflow);
    let has = |words: &[&str]| {
        lines
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    assert!(
        has(&["problem_score_threshold", "11", "1 to 10"]),
        "{lines:?}"
    );
    assert!(
        has(&["blocking_score_threshold", "high", "off"]),
        "{lines:?}"
    );
    assert!(has(&["score_elevation_threshold"]), "{lines:?}");
    assert!(
        has(&["antropic", "Did you mean anthropic?", "model_base_url"]),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 4, "{lines:?}");

    workflow
        .inputs
        .insert("model".into(), "anthropic/claude-sonnet-4-5".into());
    for name in [
        "problem_score_threshold",
        "blocking_score_threshold",
        "score_elevation_threshold",
    ] {
        workflow.inputs.remove(name);
    }
    let lines = refused(&world, &workflow);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("opencode_api_key is not set") && lines[0].contains("anthropic"),
        "{lines:?}"
    );
    world.finish();
}

#[test]
fn an_event_that_cannot_be_read_is_one_clear_line() {
    let world = quiet_world();
    let mut missing = world.opened();
    missing
        .variables
        .insert("GITHUB_EVENT_PATH".into(), "/nowhere/event.json".into());
    assert!(refused(&world, &missing)[0].contains("/nowhere/event.json"));
    let broken = world.workspace().join("broken.json");
    std::fs::write(&broken, "{").expect("a file");
    missing
        .variables
        .insert("GITHUB_EVENT_PATH".into(), broken.display().to_string());
    assert!(refused(&world, &missing)[0].contains("is not JSON"));
    std::fs::remove_file(&broken).expect("the file");
    world.finish();
}

#[test]
fn a_pull_request_or_a_token_that_does_not_work_is_one_clear_line() {
    let world = quiet_world();
    let payload =
        events::dispatch_event(&world.github, "writer", &json!({ "pull_request": "4711" }));
    let lines = refused(&world, &world.workflow("workflow_dispatch", payload));
    assert_eq!(
        lines,
        [
            "The pull request octo/shop#4711 was not found; check its number, and that github_token may read octo/shop."
        ]
    );

    let mut wrong = world.opened();
    wrong
        .inputs
        .insert("github_token".into(), "ghs_wrong".into());
    let lines = refused(&world, &wrong);
    assert!(
        lines[0].contains("did not accept the token") && lines[0].contains("github_token"),
        "{lines:?}"
    );

    world.github.token(
        GitHub::TOKEN,
        Identity::github_actions(&["contents:read", "pull-requests:read", "checks:write"]),
    );
    let lines = refused(&world, &world.opened());
    assert_eq!(
        lines,
        [
            "Input github_token may not comment on the pull request; add `pull-requests: write` to the job's permissions."
        ]
    );
    world.finish();
}

#[test]
fn opencode_that_is_missing_or_a_script_is_one_clear_line() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = quiet_world();
    let mut workflow = world.opened();
    workflow
        .variables
        .insert("OPENCODE_BIN".into(), "/nowhere/opencode".into());
    let lines = refused(&world, &workflow);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("/nowhere/opencode") && lines[0].contains("OPENCODE_BIN"),
        "{lines:?}"
    );

    let folder = tempfile::TempDir::new().expect("a folder");
    let script = folder.path().join("opencode");
    std::fs::write(&script, "#!/usr/bin/env node\n").expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("executable");
    workflow
        .variables
        .insert("OPENCODE_BIN".into(), script.display().to_string());
    let lines = refused(&world, &workflow);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("is a script") && lines[0].contains("set OPENCODE_BIN to"),
        "{lines:?}"
    );
    world.finish();
}

#[test]
fn a_model_endpoint_that_answers_401_posts_nothing() {
    let world = World::with(&[], |_| {
        Answer::status(401, json!({ "error": { "message": "invalid key" } }))
    });
    let lines = refused(&world, &world.opened());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("401") && lines[0].contains("the API key"),
        "{lines:?}"
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    world.finish();
}

#[test]
fn a_cancelled_run_posts_nothing_and_leaves_nothing() {
    use nix::sys::signal::{Signal, kill};
    let world = World::with(&[], |_| Answer::Stall).quick();
    let mut child = world
        .command(&world.opened(), &["action"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    let waited = std::time::Instant::now();
    while world.model.requests().is_empty() {
        assert!(waited.elapsed().as_secs() < 60, "the model was never asked");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(id, Signal::SIGTERM).expect("the signal");
    assert_eq!(child.wait().expect("the end").code(), Some(143));
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("cancelled"));
    world.finish();
}

#[test]
fn a_review_that_could_not_be_posted_is_incomplete_and_posted_by_the_next_run() {
    let world = World::shop(Script::new().pass(1, |_| {
        vec![crate::review::post(crate::review::lost_page(7))]
    }))
    .quick();
    world.github.on(
        Method::POST,
        "/repos/octo/shop/pulls/1/reviews",
        3,
        Fault::Status(502, json!({})),
    );
    let ran = world.review();
    ran.ended(2, "incomplete");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["findings"][0]["fate"], "unpublished");
    assert_eq!(
        world.github.expect_check_run().conclusion.as_deref(),
        Some("failure")
    );
    let asked = world.model.requests().len();
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(world.model.requests().len(), asked, "nothing is paid twice");
    assert_eq!(
        crate::review::comments(&world.github.expect_review()).len(),
        1
    );
    world.github.take_writes();
    world.finish();
}
