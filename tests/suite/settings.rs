//! The repository's own settings: what `.github/opencode-reviewer.yml` of the base branch changes, and what a mistake in it
//! costs.

use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::standin::github::{Change, Fault};
use crate::standin::model::{Request, Script};
use crate::standin::world::{Ran, World};
use serde_json::json;
use std::sync::{Arc, Mutex};

const PATH: &str = ".github/opencode-reviewer.yml";

fn two() -> Script {
    Script::new().pass(1, |_| vec![post(lost_page(6)), post(layer_bypassed(8))])
}

fn with(settings: &str, more: &[Change], script: Script) -> World {
    let base = [Change::write(PATH, settings)];
    World::settled(&base, more, script.into_behaviour())
}

fn review(world: &World) -> Ran {
    world.run(&world.opened().quick())
}

/// What the model is told first.
fn heard(script: Script) -> (Script, Arc<Mutex<String>>) {
    let first = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&first);
    let script = script.pass(1, move |request: &Request| {
        let mut first = keep.lock().expect("no panic");
        if first.is_empty() {
            *first = request.raw()["messages"].to_string();
        }
        vec![]
    });
    (script, first)
}

#[test]
fn the_base_branch_sets_what_the_workflow_leaves_open() {
    let world = with("problem_score_threshold: 7\n", &[], two());
    let ran = review(&world);
    ran.ended(0, "findings");
    assert_eq!(comments(&world.github.expect_review()).len(), 1);
    world.github.expect_check_run();
    world.finish();

    let world = with("problem_score_threshold: 7\n", &[], two());
    let mut workflow = world.opened().quick();
    let input = ("problem_score_threshold".to_owned(), "6".to_owned());
    workflow.inputs.extend([input]);
    world.run(&workflow);
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_pull_request_does_not_say_how_it_is_judged() {
    let own = [Change::write(
        PATH,
        "problem_score_threshold: 10\nignore: ['**']\n",
    )];
    let world = World::with(&own, two().into_behaviour());
    review(&world);
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_mistake_is_a_warning_on_its_line_and_the_rest_counts() {
    let settings = "fail_jb: true\n\nblocking_score_threshold: 8\nmodel: openai/gpt-5\n";
    let world = with(settings, &[], two());
    let ran = review(&world);
    ran.ended(0, "blocking");
    let expected = [
        format!(
            "::warning file={PATH},line=1,title=OpenCode review::\"fail_jb\" is no setting. Did you mean fail_job?"
        ),
        format!(
            "::warning file={PATH},line=4,title=OpenCode review::model is set in the workflow only"
        ),
    ];
    for start in expected {
        assert!(
            ran.log.lines().any(|line| line.starts_with(&start)),
            "{start}\n{}",
            ran.log
        );
    }
    world.github.take_writes();
    world.finish();
}

/// Settings of the base branch that nobody can read.
const UNREADABLE: [(&str, &str); 3] = [
    ("blocking_score_threshold: [6\n", "The file is no YAML"),
    ("- blocking_score_threshold\n", "The file holds no settings"),
    ("blocking_score_threshold: 6\0\n", "not text"),
];

#[test]
fn a_gate_is_red_while_the_settings_cannot_be_read() {
    for (settings, why) in UNREADABLE {
        let world = with(settings, &[], two());
        let ran = review(&world);
        ran.ended(2, "error");
        let errors = ran.annotations("error");
        assert_eq!(errors.len(), 1, "{}", ran.log);
        let said = errors[0].contains("could not be read") && errors[0].contains(why);
        assert!(said, "{}", errors[0]);
        assert!(world.model.requests().is_empty());
        let check = world.github.expect_check_run();
        assert_eq!(check.conclusion.as_deref(), Some("failure"));
        assert!(check.summary.is_some_and(|text| text.contains(why)));
        world.finish();
    }
}

#[test]
fn a_gate_is_red_where_github_does_not_give_the_settings() {
    let world = with("blocking_score_threshold: 6\n", &[], two());
    let failure = Fault::Status(502, json!({ "message": "Server Error" }));
    world.github.on_graphql("expression: $file", 99, failure);
    let ran = review(&world);
    ran.ended(2, "error");
    assert!(ran.annotations("error")[0].contains("Run again"));
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));

    world.github.struck();
    review(&world).ended(0, "blocking");
    world.github.take_writes();
    world.finish();
}

#[test]
fn settings_that_cannot_be_read_are_a_warning_where_there_is_no_gate() {
    for (settings, why) in UNREADABLE {
        let world = with(settings, &[], two());
        let mut workflow = world.opened().quick();
        let off = ("blocking_score_threshold".to_owned(), "off".to_owned());
        workflow.inputs.extend([off]);
        let ran = world.run(&workflow);
        ran.ended(0, "findings");
        let warnings = ran.annotations("warning");
        assert!(warnings.iter().any(|one| one.contains(why)), "{}", ran.log);
        world.github.take_writes();
        world.finish();
    }
}

#[test]
fn a_draft_stays_a_draft_where_the_settings_cannot_be_read() {
    let world = with(UNREADABLE[0].0, &[], two());
    world.github.pull(world.pull, |pull| pull.draft = true);
    review(&world).ended(0, "skipped");
    world.finish();
}

#[test]
fn what_programs_write_and_what_is_ignored_is_not_shown_and_is_named() {
    let more = [
        Change::write("yarn.lock", "a lock of a thousand lines\n"),
        Change::write("docs/guide.md", "Words about the shop.\n"),
        Change::write("src/api.ts", "export const generated = 2;\n"),
        Change::write("Cargo.lock", "a lock that counts\n"),
    ];
    let base = [
        Change::write(PATH, "ignore: [docs/, '!Cargo.lock']\n"),
        Change::write(".gitattributes", "src/api.ts linguist-generated\n"),
        Change::write("src/api.ts", "export const generated = 1;\n"),
    ];
    let (script, first) = heard(Script::new());
    let world = World::settled(&base, &more, script.into_behaviour());
    let ran = review(&world);
    ran.ended(0, "clean");
    let first = first.lock().expect("no panic").clone();
    for hidden in [
        "thousand lines",
        "Words about",
        "generated = 2",
        "yarn.lock",
    ] {
        assert!(!first.contains(hidden), "{hidden} is shown");
    }
    assert!(first.contains("a lock that counts"));
    assert!(first.contains("3 more changed files"), "{first}");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(
        report["excused"],
        json!([
            { "path": "docs/guide.md", "reason": "ignored file" },
            { "path": "src/api.ts", "reason": "generated file" },
            { "path": "yarn.lock", "reason": "lock file" },
        ])
    );
    assert!(ran.summary.contains("`yarn.lock`"), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_change_of_nothing_but_ignored_files_is_green_without_the_model() {
    let world = with("ignore: ['src/**']\n", &[], Script::new());
    let ran = review(&world);
    ran.ended(0, "clean");
    let title = "Nothing to review: 3 ignored files";
    assert!(ran.log.contains(title), "{}", ran.log);
    assert!(world.model.requests().is_empty());
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn instructions_reach_the_model_where_their_files_change() {
    let settings = "instructions:\n  - paths: [src/ui/**]\n    text: The interface asks services, never the database.\n  - paths: [ios/**]\n    text: Swift only.\n";
    let (script, first) = heard(Script::new());
    let world = with(settings, &[], script);
    review(&world);
    let first = first.lock().expect("no panic").clone();
    assert!(first.contains("The interface asks services, never the database."));
    assert!(
        first.contains("rules of .github/opencode-reviewer.yml for src/ui/**"),
        "{first}"
    );
    assert!(!first.contains("Swift only."));
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn the_repository_leaves_pull_requests_alone_until_somebody_asks() {
    for (settings, reason) in [
        (
            "skip: {authors: [dev]}\n",
            "Pull requests of dev are not reviewed",
        ),
        (
            "skip: {max_changed_files: 2}\n",
            "changes 3 files, more than skip.max_changed_files (2)",
        ),
        (
            "skip: {max_changed_lines: 3}\n",
            "lines, more than skip.max_changed_lines (3)",
        ),
    ] {
        let world = with(settings, &[], Script::new());
        let ran = review(&world);
        assert_eq!(ran.status(), "skipped", "{}", ran.log);
        assert!(ran.log.contains(reason), "{}", ran.log);
        assert!(world.model.requests().is_empty());
        let asked = world.spawn(
            &world.opened().quick(),
            &["review", "--repo", "octo/shop", "--pr", "1"],
        );
        assert_eq!(asked.code, Some(0), "{}", asked.log);
        assert!(!world.model.requests().is_empty());
        world.github.take_writes();
        world.finish();
    }
}

#[test]
fn a_draft_is_reviewed_where_the_repository_wants_it() {
    let world = with("skip: {drafts: false}\n", &[], two());
    world.github.pull(world.pull, |pull| pull.draft = true);
    let ran = review(&world);
    ran.ended(0, "findings");
    world.github.take_writes();
    world.finish();
}
