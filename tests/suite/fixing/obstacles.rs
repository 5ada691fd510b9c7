//! What stands against a fix: one clear sentence each, and nothing is pushed.

use super::*;
use crate::standin::github::{Fault, Protection};

#[test]
fn a_token_that_may_not_push_is_told_to_whoever_asks() {
    let story = reviewed(Story::new(one_finding()));
    let permissions = [
        "contents:read",
        "pull-requests:write",
        "checks:write",
        "issues:write",
    ];
    let workflow = Identity::github_actions(&permissions);
    story.world.github.token(GitHub::TOKEN, workflow);
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("Give the job `contents: write`, or set input fix_delivery to patch.");
    story.finish();
}

#[test]
fn a_protected_branch_takes_no_fix() {
    for ruleset in [true, false] {
        let story = reviewed(Story::new(one_finding()));
        let rules = Protection {
            ruleset,
            needs_pull_request: true,
            ..Protection::default()
        };
        story.world.github.protect("search", rules);
        story.asks("writer", "fix");
        story
            .seen()
            .only_says("Set fix_delivery to pull_request or patch.");
        // Whoever may only read sees the rules of rulesets, and then no model is asked.
        assert_eq!(answered(&story, "Fix the issues below"), !ruleset);
        story.finish();
    }
}

#[test]
fn a_branch_that_is_gone_takes_no_fix() {
    let story = reviewed(Story::new(one_finding()));
    story.world.github.delete_branch("search");
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("Nothing was fixed: the branch of the pull request is gone.");
    story.finish();
}

#[test]
fn closed_and_locked_pull_requests_are_not_fixed() {
    let story = reviewed(Story::new(one_finding()));
    let pull = story.world.pull;
    story.world.github.pull(pull, |pull| pull.locked = true);
    let ran = story.asks("writer", "fix");
    assert!(ran.log.contains("locked"), "{}", ran.log);
    story.seen().is_silent();
    story.world.github.pull(pull, |pull| {
        pull.locked = false;
        pull.state = "closed".into();
    });
    let ran = story.asks("writer", "fix");
    ran.ended(0, "skipped");
    assert!(
        ran.log
            .contains("The pull request is closed; it is reviewed"),
        "{}",
        ran.log
    );
    story.seen().is_silent();
    story.finish();
}

#[test]
fn a_push_while_the_fixer_works_keeps_the_fix_away() {
    let story = Story::new(Script::new());
    let (handle, pull) = (story.world.github.handle(), story.world.pull);
    let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |_| {
        handle.with(|state| {
            let before = state.pulls[&pull].head.sha.clone();
            state.tick();
            let (at, file) = (
                state.epoch_seconds(),
                Change::write("src/more.ts", "export {};\n"),
            );
            let new = state.git.commit("search", &[&before], "More", at, &[file]);
            state.push(pull, &new);
        });
        Vec::new()
    });
    story.world.model.becomes(fixer(script).into_behaviour());
    let story = reviewed(story);
    let ran = story.asks("writer", "fix");
    println!("{}", ran.log);
    let seen = story.seen();
    seen.only_says("### Nothing was fixed of 1 finding");
    assert!(seen.told[0].contains("moved"), "{}", seen.told[0]);
    assert!(story.file("src/page.ts").contains(LOST_PAGE.old));
    assert_eq!(steps(&ran), ["fix_created", "fix_failed"]);
    // It was not the fixer who failed: the new head can be fixed.
    story
        .world
        .model
        .becomes(fixer(reviewer(Vec::new())).into_behaviour());
    story.asks("writer", "fix");
    assert_eq!(story.seen().commits, 1);
    story.finish();
}

/// A fixer that makes these calls for the only issue, and then whatever `after` does.
fn calls(made: impl Fn(&str) -> Vec<Call> + Send + 'static) -> Script {
    let reject = |issue: &str| {
        let result = json!({ "issue": issue, "result": "rejected", "text": "It cannot be done." });
        vec![Call::new("submit_fix_result", result)]
    };
    reviewer(vec![vec![LOST_PAGE.raised(7)]])
        .fix(move |request| made(&request.issues()[0].0))
        .fix(move |request| reject(&request.issues()[0].0))
}

/// The answer of the tools to the fixer's first call.
fn answered(story: &Story, words: &str) -> bool {
    let requests = story.world.model.requests();
    requests
        .iter()
        .any(|request| request.to_string().contains(words))
}

#[test]
fn a_file_that_is_missing_or_too_large_is_not_edited() {
    let big = format!("// {}\nexport const a = 1;\n", "x".repeat(1 << 20));
    for (file, why) in [
        ("src/gone.ts", "src/gone.ts"),
        ("src/big.ts", "larger than 1 MiB"),
    ] {
        let script = calls(move |issue| {
            let edit = json!({ "issue": issue, "file": file, "old": "a = 1", "new": "a = 2", "quote": LOST_PAGE.old });
            vec![Call::new("fix_edit", edit)]
        });
        let base = [Change::write("src/big.ts", big.clone())];
        let world = World::settled(&base, &[], script.into_behaviour());
        let story = reviewed(Story::on(world.quick()));
        story.asks("writer", "fix");
        let seen = story.seen();
        seen.only_says("### Nothing was fixed of 1 finding");
        assert!(
            seen.told[0].contains("Rejected: It cannot be done."),
            "{}",
            seen.told[0]
        );
        assert!(answered(&story, why), "{file}");
        story.finish();
    }
}

#[test]
fn a_fixer_that_edits_nothing_fixes_nothing() {
    for claims in [true, false] {
        let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |request| {
            let issue = &request.issues()[0].0;
            let result = json!({ "issue": issue, "result": "fixed", "text": "Done." });
            let claim = claims.then(|| Call::new("submit_fix_result", result));
            claim.into_iter().collect()
        });
        let story = reviewed(Story::new(script));
        let asked = story.says("writer", "fix");
        let ran = story.run(asked.clone());
        assert_eq!(steps(&ran), ["fix_created", "fix_failed"], "{}", ran.log);
        story.seen().only_says("### Nothing was fixed of 1 finding");
        notes(&ran, "the fixer left issues without a result");
        story.run(asked);
        story.seen().is_silent();
        story.finish();
    }
}

#[test]
fn a_fix_begins_only_if_everything_could_be_read_in_time() {
    let story = reviewed(Story::new(one_finding()));
    let mut asked = story.says("writer", "fix");
    // So that 30 seconds are over soon, while GitHub hangs.
    asked
        .variables
        .insert("OPENCODE_REVIEWER_LIMIT_SCALE".into(), "0.05".into());
    // The first reading is the review's.
    let rule = |state: &mut crate::standin::github::State| {
        state.faults.push(crate::standin::github::Rule {
            method: http::Method::GET,
            path_prefix: "/repos/octo/shop/issues/1/comments".into(),
            body_contains: String::new(),
            after: 1,
            times: 1,
            struck: 0,
            fault: Fault::Hang,
        });
    };
    story.world.github.with(rule);
    story.run(asked);
    story
        .seen()
        .only_says("not all comments could be read within 30 seconds; ask again.");
    story.finish();
}

#[test]
fn a_label_that_is_set_while_the_fixer_works_keeps_the_fix_away() {
    let story = Story::new(Script::new());
    let (handle, pull) = (story.world.github.handle(), story.world.pull);
    let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |_| {
        handle.with(|state| {
            let pull = state.pulls.get_mut(&pull).expect("the pull request");
            pull.labels.push("no-fix".into());
        });
        Vec::new()
    });
    story.world.model.becomes(fixer(script).into_behaviour());
    let story = reviewed(story);
    let ran = story.asks("writer", "fix");
    story
        .seen()
        .only_says("Nothing was fixed: the pull request carries the label no-fix.");
    assert_eq!(steps(&ran), ["fix_created", "fix_failed"]);
    story.finish();
}

#[test]
fn a_repository_that_takes_long_to_read_keeps_no_fix_away() {
    let story = reviewed(Story::new(one_finding()));
    let mut asked = story.says("writer", "fix");
    // The comments have three seconds now. Every comparison of commits takes longer.
    let folder = crate::standin::world::open_folder();
    let slow = "#!/bin/sh\nPATH=${PATH#*:}\ncase \" $* \" in *\" diff\"*) sleep 4;; esac\nexec git \"$@\"\n";
    let file = folder.path().join("git");
    std::fs::write(&file, slow).expect("a program");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&file, mode).expect("a program");
    let usual = std::env::var("PATH").expect("a search path");
    let path = format!("{}:{usual}", folder.path().display());
    asked.variables.insert("PATH".into(), path);
    let scale = "OPENCODE_REVIEWER_LIMIT_SCALE";
    asked.variables.insert(scale.into(), "0.1".into());
    story.run(asked);
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{seen:#?}");
    story.finish();
}

#[test]
fn a_fix_whose_outcome_cannot_be_written_down_is_not_pushed() {
    let story = reviewed(Story::new(one_finding()));
    let rule = |state: &mut crate::standin::github::State| {
        state.faults.push(crate::standin::github::Rule {
            method: http::Method::PATCH,
            path_prefix: "/repos/octo/shop/check-runs/".into(),
            body_contains: "Review in progress".into(),
            after: 0,
            times: usize::MAX,
            struck: 0,
            fault: Fault::Status(502, Value::Null),
        });
    };
    story.world.github.with(rule);
    let asked = story.says("writer", "fix");
    let ran = story.run(asked);
    assert_eq!(steps(&ran), ["fix_created", "fix_failed"], "{}", ran.log);
    let why = "A fix is pushed only after its outcome is in the check run; ask again.";
    story.seen().only_says(why);
    story
        .world
        .github
        .with(crate::standin::github::State::clear_faults);
    story.asks("writer", "fix");
    assert_eq!(story.seen().commits, 1);
    story.finish();
}

#[test]
fn a_queued_pull_request_is_not_taken_out_of_the_queue_by_a_fix() {
    let story = reviewed(Story::new(one_finding()));
    let pull = story.world.pull;
    story.world.github.with(|state| state.enqueue(pull));
    story.asks("writer", "fix");
    let why =
        "Nothing was fixed: the pull request is in a merge queue, and a commit would take it out.";
    story.seen().only_says(why);
    story.finish();
}

#[test]
fn a_merged_pull_request_is_not_fixed() {
    let story = reviewed(Story::new(one_finding()));
    story.world.github.merge(story.world.pull, "writer");
    let ran = story.asks("writer", "fix");
    ran.ended(0, "skipped");
    assert!(
        ran.log.contains("The pull request is merged already."),
        "{}",
        ran.log
    );
    story.seen().is_silent();
    story.finish();
}
