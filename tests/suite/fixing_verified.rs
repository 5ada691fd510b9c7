//! Fixes that the project's own checks judge: what breaks goes back to the fixer, what failed before does not count, and the tree
//! that was verified is the tree that is pushed.

use crate::standin::github::state::HeadRepository;
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::world::{Ran, Workflow, World, open_folder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SETTINGS: &str = ".github/opencode-reviewer.yml";
const FLOOR: &str = "Math.floor(count / size)";
const CEIL: &str = "Math.ceil(count / size)";
/// The checks of the project: the page must not say WRONG, and every script of tests/ has to be content.
const MAKE: &str = "test:\n\t! grep -q WRONG src/page.ts\n\tset -e; for t in tests/*.sh; do sh $$t; done\nlint:\n\tfalse\nforever:\n\tsleep 600\n";

struct Story {
    world: World,
    before: String,
}

/// An edit of the page for the one issue, and the word about it.
fn edit(issue: &str, old: &str, new: &str) -> Vec<Call> {
    let edit = json!({ "issue": issue, "file": "src/page.ts", "old": old, "new": new });
    let result = json!({ "issue": issue, "result": "fixed", "text": "It rounds up." });
    vec![
        Call::new("fix_edit", edit),
        Call::new("submit_fix_result", result),
    ]
}

fn test_file(issue: &str, text: &str) -> Call {
    let create = json!({ "issue": issue, "file": "tests/pages.sh", "content": text });
    Call::new("fix_create", create)
}

impl Story {
    /// A project whose base names these commands, and whose head brings this along.
    fn new(verify: &str, more: &[Change], script: Script) -> Self {
        let settings = format!("fix:\n  verify: {verify}\n  allow: tests/\n");
        let base = [
            Change::write(SETTINGS, settings),
            Change::write("Makefile", MAKE),
            Change::write("tests/old.sh", "true\n"),
        ];
        let world = World::settled(&base, more, script.into_behaviour()).quick();
        let (github, pull) = (&world.github, world.pull);
        github.permit("writer", "write");
        let permissions = [
            "contents:write",
            "pull-requests:write",
            "checks:write",
            "issues:write",
        ];
        github.token(GitHub::TOKEN, Identity::github_actions(&permissions));
        github.review(pull, "writer", "CHANGES_REQUESTED", "");
        github.remark(pull, "writer", ("src/page.ts", 8), "The last page is lost.");
        let before = github.pull(pull, |pull| pull.head.sha.clone());
        Self { world, before }
    }

    /// The writer asks, with so much of the usual limits of time.
    fn asks(&self, scale: &str) -> Ran {
        self.world.run(&self.asked(scale))
    }

    fn asked(&self, scale: &str) -> Workflow {
        let (github, pull) = (&self.world.github, self.world.pull);
        let asked = github.comment(pull, "writer", "@review-my-code-bot fix");
        let payload = events::comment_event("issue_comment", github, pull, asked.id);
        Self::within(self.world.workflow("issue_comment", payload), scale)
    }

    /// With so much of the usual limits of time.
    fn within(mut workflow: Workflow, scale: &str) -> Workflow {
        let variables = &mut workflow.variables;
        variables.insert("OPENCODE_REVIEWER_LIMIT_SCALE".into(), scale.into());
        workflow
    }

    fn head(&self) -> String {
        let pull = self.world.pull;
        self.world.github.pull(pull, |pull| pull.head.sha.clone())
    }

    fn page(&self) -> String {
        let name = format!("{}:src/page.ts", self.head());
        self.world
            .github
            .with(|state| state.git.must(&["show", &name]))
    }

    /// The report of the fix.
    fn told(&self) -> String {
        let writes = self.world.github.take_writes();
        let comments = writes.iter().filter_map(|write| match write {
            Write::IssueComment { json, .. } => json["body"].as_str(),
            _ => None,
        });
        let told: Vec<&str> = comments.filter(|body| body.contains("(cycle ")).collect();
        assert_eq!(told.len(), 1, "{told:#?}");
        told[0].to_owned()
    }
}

fn has_make() -> bool {
    let made = std::process::Command::new("make").arg("--version").output();
    let has = made.is_ok_and(|output| output.status.success());
    if !has {
        println!("skipped: there is no make");
    }
    has
}

#[test]
fn what_a_fix_breaks_goes_back_to_the_fixer_and_the_corrected_tree_is_pushed() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| {
        let issue = request.issues()[0].0.clone();
        // The second session begins with what the checks printed.
        if request.last_user().contains("grep -q WRONG") {
            edit(&issue, " /* WRONG */", "")
        } else {
            edit(&issue, FLOOR, &format!("{CEIL} /* WRONG */"))
        }
    });
    let story = Story::new("[[make, test], [make, lint]]", &[], script);
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Fixed 1 of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(told.contains("- `make test` passed"), "{told}");
    assert!(
        told.contains("- `make lint` failed with exit code 2, and failed before the fix"),
        "{told}"
    );
    assert!(told.contains("not proved"), "{told}");
    assert!(
        story.page().contains(CEIL) && !story.page().contains("WRONG"),
        "{}",
        story.page()
    );
    let requests = story.world.model.requests();
    let asked = requests
        .iter()
        .map(Value::to_string)
        .filter(|it| it.contains("grep -q WRONG"))
        .count();
    assert!(asked > 0, "the fixer saw what failed");
}

#[test]
fn a_fix_that_stays_broken_is_not_pushed() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| {
        let issue = request.issues()[0].0.clone();
        if request.last_user().contains("grep -q WRONG") {
            edit(&issue, "WRONG", "WRONG, and stays so")
        } else {
            edit(&issue, FLOOR, &format!("{CEIL} /* WRONG */"))
        }
    });
    let story = Story::new("[[make, test]]", &[], script);
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Nothing was fixed of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(
        told.contains("the project's checks fail because of it"),
        "{told}"
    );
    assert!(
        told.contains("- `make test` failed with exit code 2, because of the fix"),
        "{told}"
    );
    assert_eq!(story.head(), story.before);
    // It was not the fixer's judgement, so it is tried again.
    let able = Script::new().fix(|request| edit(&request.issues()[0].0, FLOOR, CEIL));
    story.world.model.becomes(able.into_behaviour());
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Fixed 1 of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(story.page().contains(CEIL));
}

#[test]
fn a_test_of_the_fix_that_fails_without_it_proves_it() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| {
        let issue = request.issues()[0].0.clone();
        let mut calls = vec![test_file(&issue, "grep -q Math.ceil src/page.ts\n")];
        calls.extend(edit(&issue, FLOOR, CEIL));
        calls
    });
    let story = Story::new("[[make, test]]", &[], script);
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("- The fix is proved by"),
        "{told}\n{}",
        ran.log
    );
    assert!(story.page().contains(CEIL));
}

#[test]
fn what_has_no_result_is_neither_verified_nor_pushed_and_the_rest_is() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| {
        let mut calls = Vec::new();
        for (issue, words) in request.issues() {
            if words.contains("The last page is lost.") {
                calls.extend(edit(&issue, FLOOR, CEIL));
            } else {
                // Edited, and never submitted.
                calls.extend(
                    edit(&issue, "const d =", "const WRONG =")
                        .into_iter()
                        .take(1),
                );
            }
        }
        calls
    });
    let story = Story::new("[[make, test]]", &[], script);
    let (github, pull) = (&story.world.github, story.world.pull);
    github.remark(pull, "writer", ("src/page.ts", 12), "Name it.");
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Fixed 1 of 2 findings"),
        "{told}\n{}",
        ran.log
    );
    assert!(told.contains("- `make test` passed"), "{told}");
    assert!(
        story.page().contains(CEIL) && !story.page().contains("WRONG"),
        "{}",
        story.page()
    );
}

#[test]
fn commands_that_do_not_exist_or_never_end_are_told_in_a_sentence() {
    if !has_make() {
        return;
    }
    for (verify, scale, sentence) in [
        (
            "[[no-such-program, test]]",
            "1",
            "- `no-such-program test` not run: ",
        ),
        (
            "[[make, forever]]",
            "0.02",
            "- `make forever` did not end within the 1 min that all commands have, and failed before the fix",
        ),
    ] {
        let script = Script::new().fix(|request| {
            let issue = request.issues()[0].0.clone();
            edit(&issue, FLOOR, CEIL)
        });
        let story = Story::new(verify, &[], script);
        let ran = story.asks(scale);
        let told = story.told();
        assert!(told.contains(sentence), "{told}\n{}", ran.log);
        // What could not be run, or failed before, does not count against the fix.
        assert!(told.contains("### Fixed 1 of 1 finding"), "{told}");
        assert!(story.page().contains(CEIL), "{}", story.page());
    }
}

#[test]
fn what_the_checks_write_is_not_pushed_and_the_verified_tree_is() {
    if !has_make() {
        return;
    }
    // The checks rewrite the file of the fix, another one, and add a third.
    let make = "test:\n\tgrep -q Math.ceil src/page.ts\n\techo evil >> src/page.ts\n\techo evil > src/orders.ts\n\techo evil > src/new.ts\n";
    let script = Script::new().fix(|request| edit(&request.issues()[0].0.clone(), FLOOR, CEIL));
    let story = Story::new("[[make, test]]", &[Change::write("Makefile", make)], script);
    let before = story.page();
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Fixed 1 of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(told.contains("- `make test` passed"), "{told}");
    assert_eq!(story.page(), before.replace(FLOOR, CEIL));
    let (first, head) = (story.before.clone(), story.head());
    let names = story
        .world
        .github
        .with(|state| state.git.must(&["diff", "--name-only", &first, &head]));
    assert_eq!(names, "src/page.ts");
}

/// The processes that run this command now.
fn processes(command: &[u8]) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").expect("the processes");
    let running = all.filter_map(|one| {
        let one = one.ok()?;
        let line = std::fs::read(one.path().join("cmdline")).ok()?;
        let number = one.file_name().to_str()?.parse().ok()?;
        (line == command).then_some(Pid::from_raw(number))
    });
    running.collect()
}

/// Waits until as many processes as this run the command, and fails after two minutes.
fn wait_for(number: usize, command: &[u8]) {
    let started = Instant::now();
    while processes(command).len() != number {
        assert!(started.elapsed().as_secs() < 120, "{number} never ran");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_fix_that_is_killed_while_its_checks_run_leaves_nothing_and_is_made_once() {
    if !has_make() {
        return;
    }
    // A number that no other test sleeps for.
    let (make, sleeper) = (
        "test:\n\ttest -e tests/pages.sh || sleep 619\n",
        b"sleep\x00619\0",
    );
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let slow = Script::new().fix(|request| edit(&request.issues()[0].0.clone(), FLOOR, CEIL));
        let story = Story::new("[[make, test]]", &[Change::write("Makefile", make)], slow);
        let asked = story.asked("1");
        let mut child = story.world.start(&asked);
        wait_for(1, sleeper);
        let id = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
        kill(id, signal).expect("the signal");
        child.wait().expect("the end");
        assert_eq!(story.head(), story.before, "nothing is pushed");
        if signal == Signal::SIGKILL {
            // As the runner does, which ends what a job leaves.
            for process in processes(sleeper) {
                kill(process, Signal::SIGKILL).expect("the signal");
            }
            story.world.github.with(|state| state.rest(8));
            for folder in story.world.left_over() {
                let _gone = std::fs::remove_dir_all(folder);
            }
        }
        wait_for(0, sleeper);
        let quick = Script::new().fix(|request| {
            let issue = request.issues()[0].0.clone();
            let mut calls = vec![test_file(&issue, "grep -q Math.ceil src/page.ts\n")];
            calls.extend(edit(&issue, FLOOR, CEIL));
            calls
        });
        story.world.model.becomes(quick.into_behaviour());
        // The checks sleep on the unchanged head, too, until their time is over.
        let again = Story::within(asked.clone(), "0.02");
        story.world.run(&again);
        let told = story.told();
        assert!(told.contains("### Fixed 1 of 1 finding"), "{told}");
        assert!(story.page().contains(CEIL));
        let head = story.head();
        story.world.run(&again);
        assert_eq!(story.head(), head, "the same request is served once");
        let said = story.world.github.take_writes();
        let said = said
            .iter()
            .any(|write| matches!(write, Write::IssueComment { .. }));
        assert!(!said, "and told once");
    }
}

#[test]
fn a_fix_that_is_handed_over_is_verified_before() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| edit(&request.issues()[0].0.clone(), FLOOR, CEIL));
    let story = Story::new("[[make, test]]", &[], script);
    let key = |mut workflow: Workflow| {
        let key = "a state key of twenty characters or more";
        workflow.inputs.insert("state_key".into(), key.into());
        workflow
    };
    story.world.run(&key(story.world.opened()));
    story.world.github.take_writes();
    let (github, pull) = (&story.world.github, story.world.pull);
    let asked = github.comment(pull, "writer", "@review-my-code-bot fix");
    let payload = events::comment_event("issue_comment", github, pull, asked.id);
    let asked = key(story.world.workflow("issue_comment", payload));
    let folder = open_folder();
    let file = folder.path().join("fix.json");
    let shown = file.to_str().expect("a path");
    let ran = story
        .world
        .spawn(&asked, &["fix", "--pr", "1", "--patch-out", shown]);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let bundle = std::fs::read(&file).expect("a bundle");
    let bundle: Value = serde_json::from_slice(&bundle).expect("JSON");
    assert_eq!(bundle["checks"][0], "`make test` passed", "{bundle:#}");
    assert_eq!(story.head(), story.before, "nothing is pushed");
}

#[test]
fn a_fix_for_a_fork_runs_nothing() {
    if !has_make() {
        return;
    }
    let script = Script::new().fix(|request| edit(&request.issues()[0].0.clone(), FLOOR, CEIL));
    let story = Story::new("[[make, forever]]", &[], script);
    story.world.github.pull(story.world.pull, |pull| {
        pull.author = "stranger".into();
        pull.head.repository = Some(HeadRepository {
            full_name: "stranger/shop".into(),
            id: 777,
            fork: true,
        });
    });
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### A patch for 1 of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(
        !told.contains("Verification") && !told.contains("forever"),
        "{told}"
    );
    assert_eq!(story.head(), story.before);
}

#[test]
fn the_settings_of_the_head_name_no_command() {
    let head = [Change::write(
        SETTINGS,
        "fix:\n  verify: [[touch, ran-it]]\n  allow: '**'\n",
    )];
    let script = Script::new().fix(|request| {
        let issue = request.issues()[0].0.clone();
        let create = json!({ "issue": issue, "file": "lib/new.ts", "content": "export {};\n" });
        let mut calls = vec![Call::new("fix_create", create)];
        calls.extend(edit(&issue, FLOOR, CEIL));
        calls
    });
    let story = Story::new("[]", &head, script);
    let ran = story.asks("1");
    let told = story.told();
    assert!(
        told.contains("### Fixed 1 of 1 finding"),
        "{told}\n{}",
        ran.log
    );
    assert!(
        !told.contains("touch") && !told.contains("Verification"),
        "{told}"
    );
    let (before, head) = (story.before.clone(), story.head());
    let names = story
        .world
        .github
        .with(|state| state.git.must(&["diff", "--name-only", &before, &head]));
    assert_eq!(names, "src/page.ts");
}
