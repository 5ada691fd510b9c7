//! The gate: what blocks a merge, who opens it again, and what it costs to ask twice.

use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::standin::github::{GitHub, Identity, events};
use crate::standin::model::Script;
use crate::standin::world::World;
use http::Method;

fn blocking_world() -> World {
    with_opencode().quick()
}

/// The same with the real OpenCode.
fn with_opencode() -> World {
    World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(9))])
            .pass(2, |_| vec![post(layer_bypassed(6))]),
    )
}

#[test]
fn a_person_resolves_the_conversation_and_the_gate_opens_without_a_model_call() {
    let world = with_opencode();
    world.github.permit("writer", "write");
    let ran = world.review();
    ran.ended(0, "blocking");
    assert_eq!(ran.outputs["blocking_issues"], "1");
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert_eq!(check.verdict(), Some("1 blocking finding open"));
    let asked = world.model.requests().len();

    // The same head again: still blocked, and nothing is said twice.
    let again = world.review();
    again.ended(0, "blocking");
    assert_eq!(
        world.github.expect_check_run().conclusion.as_deref(),
        Some("failure")
    );

    let root = world.github.comments()[0].id;
    world.github.resolve_thread(root, "writer");
    let opened = world.review();
    opened.ended(0, "findings");
    assert_eq!(opened.outputs["issues_found"], "0");
    assert_eq!(opened.outputs["open_issues"], "1");
    assert_eq!(
        world.github.expect_check_run().conclusion.as_deref(),
        Some("success")
    );
    assert_eq!(
        world.model.requests().len(),
        asked,
        "no further model request"
    );
    world.finish();
}

#[test]
fn the_author_without_write_access_cannot_open_the_gate() {
    let world = blocking_world();
    world.review();
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    world.github.permit("dev", "read");
    world.github.resolve_thread(root, "dev");
    let again = world.review();
    again.ended(0, "blocking");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_push_is_a_new_head_and_is_reviewed_without_repeating_what_stands() {
    let world = blocking_world();
    world.review();
    world.github.take_writes();
    let asked = world.model.requests().len();
    let before = world
        .github
        .with(|state| state.pulls[&world.pull].head.sha.clone());
    let head = world.github.commit(
        "search",
        &[&before],
        &[crate::standin::github::Change::write(
            "src/new.ts",
            "export {};\n",
        )],
    );
    world.github.push(world.pull, &head);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&world.workflow("pull_request", payload));
    ran.ended(0, "blocking");
    assert!(world.model.requests().len() > asked);
    assert_eq!(world.github.expect_check_run().head_sha, head);
    world.finish();
}

#[test]
fn without_a_check_the_job_is_the_gate_and_the_manifest_the_memory() {
    let world = blocking_world();
    let permissions = ["contents:read", "pull-requests:write"];
    world
        .github
        .token(GitHub::TOKEN, Identity::github_actions(&permissions));
    let ran = world.review();
    ran.ended(1, "blocking");
    assert!(
        ran.annotations("warning")[0].contains("`checks: write`"),
        "{}",
        ran.log
    );
    world.github.expect_review();
    let asked = world.model.requests().len();
    let again = world.review();
    again.ended(1, "blocking");
    assert_eq!(
        world.model.requests().len(),
        asked,
        "the manifest remembers the review"
    );
    world.finish();
}

#[test]
fn fail_job_turns_a_blocking_finding_into_a_red_job() {
    let world = blocking_world();
    let mut workflow = world.opened();
    workflow.inputs.insert("fail_job".into(), "true".into());
    assert_eq!(world.run(&workflow).code, Some(1));
    world.github.take_writes();
    world.finish();
}

#[test]
fn other_settings_are_another_review() {
    let world = World::shop(Script::new()).quick();
    world.review();
    let asked = world.model.requests().len();
    let mut workflow = world.opened();
    workflow
        .inputs
        .insert("problem_score_threshold".into(), "3".into());
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    assert!(world.model.requests().len() > asked);
    world.github.take_writes();
    world.finish();
}

#[test]
fn the_threads_are_shown_as_they_are_rebuilt() {
    let world = blocking_world();
    world.review();
    world.github.take_writes();
    let requests = world
        .github
        .count(&Method::POST, "/repos/octo/shop/pulls/1");
    let mut workflow = world.opened();
    workflow.inputs.remove("model");
    workflow
        .variables
        .insert("GITHUB_ACTIONS".into(), String::new());
    let arguments = ["state", "--repo", "octo/shop", "--pr", "1"];
    let table = world.spawn(&workflow, &arguments);
    assert_eq!(table.code, Some(0), "{}", table.log);
    assert!(
        table
            .log
            .contains("PENDING    developer      9  src/page.ts:8  The last page is lost."),
        "{}",
        table.log
    );
    let json = world.spawn(&workflow, &[&arguments[..], &["--json"]].concat());
    let threads: serde_json::Value = serde_json::from_str(&json.log).expect("JSON");
    assert_eq!(threads.as_array().unwrap().len(), 2);
    assert_eq!(threads[0]["status"], "PENDING");
    assert_eq!(threads[0]["assessment"]["score"], 9);
    assert_eq!(
        world
            .github
            .count(&Method::POST, "/repos/octo/shop/pulls/1"),
        requests,
        "it only reads"
    );
    world.finish();
}

#[test]
fn the_threads_are_explained_by_what_decided_them() {
    let world = blocking_world();
    world.github.permit("writer", "write");
    world.review();
    world.github.take_writes();
    let roots = world.github.comments();
    world.github.resolve_thread(roots[1].id, "writer");
    let mut workflow = world.opened();
    workflow.inputs.remove("model");
    workflow
        .variables
        .insert("GITHUB_ACTIONS".into(), String::new());
    let arguments = ["state", "--repo", "octo/shop", "--pr", "1", "--explain"];
    let explained = world.spawn(&workflow, &arguments);
    assert_eq!(explained.code, Some(0), "{}", explained.log);
    let lines: Vec<&str> = explained.log.lines().collect();
    let row = |root: u64| {
        let of_thread = |line: &&str| line.starts_with(&root.to_string());
        lines.iter().position(of_thread).expect("a row")
    };
    let below = |root: u64| lines[row(root) + 1].trim();
    assert_eq!(
        below(roots[0].id),
        "no reply of the reviewer has decided it; signed by the reviewer"
    );
    assert_eq!(
        below(roots[1].id),
        "writer resolved the conversation; signed by the reviewer"
    );
    assert!(
        lines[row(roots[1].id)].contains("RESOLVED"),
        "{}",
        explained.log
    );

    // With another key the same comments are nobody's word.
    workflow.inputs.insert(
        "state_key".into(),
        "another key of twenty characters".into(),
    );
    let stranger = world.spawn(&workflow, &arguments);
    assert!(
        stranger
            .log
            .contains("no reply of the reviewer has decided it; not signed"),
        "{}",
        stranger.log
    );
    let both = world.spawn(&workflow, &[&arguments[..], &["--json"]].concat());
    assert_eq!(both.code, Some(2), "one form at a time: {}", both.log);
    world.finish();
}

#[test]
fn a_gate_without_a_key_to_sign_with_says_what_to_set() {
    let remedy = "set state_key to a secret of at least 20 random characters";
    for (inputs, warns) in [
        (vec![], true),
        (vec![("state_key", "0123456789abcdefghij")], false),
        (vec![("blocking_score_threshold", "off")], false),
    ] {
        let world = blocking_world();
        let mut workflow = world.opened();
        let weak = [("opencode_api_key", "sk-short")];
        let given = weak.into_iter().chain(inputs);
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        workflow.inputs.extend(given);
        let ran = world.run(&workflow);
        let warnings = ran.annotations("warning");
        let warned = warnings.iter().any(|one| one.contains(remedy));
        assert_eq!(warned, warns, "{}", ran.log);
        assert_eq!(ran.summary.contains(remedy), warns, "{}", ran.summary);
        world.github.expect_review();
        let check = world.github.expect_check_run();
        let page = check.summary.unwrap_or_default();
        assert_eq!(page.contains(remedy), warns, "{page}");
        world.finish();
    }
}
