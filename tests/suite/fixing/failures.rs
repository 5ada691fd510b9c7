//! Fixes that something kept from being made or told: what people read then, and that nothing of it is lost.

use super::*;
use crate::standin::github::{Fault, Rule};
use crate::standin::model::Answer;
use http::Method;

const COMMENTS: &str = "/repos/octo/shop/issues/1/comments";

/// A number of requests of this kind get this answer instead of GitHub's.
fn strikes(story: &Story, (method, path, word): (Method, &str, &str), times: usize, fault: Fault) {
    let rule = Rule {
        method,
        path_prefix: path.into(),
        body_contains: word.into(),
        after: 0,
        times,
        struck: 0,
        fault,
    };
    story.world.github.with(|state| state.faults.push(rule));
}

fn refusal() -> Fault {
    Fault::Status(403, json!({ "message": "Resource not accessible" }))
}

#[test]
fn a_fix_whose_model_fails_is_told_with_the_cause_and_made_when_asked_again() {
    let story = reviewed(Story::new(one_finding()));
    let refuses = json!({ "error": { "message": "Incorrect API key provided" } });
    let model = &story.world.model;
    model.becomes(move |_| Answer::status(401, refuses.clone()));
    let asked = story.says("writer", "fix");
    let ran = story.run(asked.clone());
    assert_eq!(steps(&ran), ["fix_created", "fix_failed"], "{}", ran.log);
    let seen = story.seen();
    seen.only_says("### Nothing was fixed of 1 finding");
    let told = &seen.told[0];
    assert!(told.contains("Not fixed: "), "{told}");
    assert!(told.contains("key"), "the cause: {told}");
    assert!(!told.contains("said nothing"), "{told}");
    // The same event spends nothing more; a further request is another try.
    story.run(asked);
    story.seen().is_silent();
    model.becomes(fixer(reviewer(Vec::new())).into_behaviour());
    story.asks("writer", "fix").ended(0, "clean");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    story.finish();
}

#[test]
fn an_issue_that_the_fixer_leaves_out_is_tried_again_and_one_that_it_rejects_is_not() {
    let story = reviewed(Story::new(reviewer(vec![vec![
        LOST_PAGE.raised(7),
        EMPTY_CART.raised(7),
    ]])));
    let silent = Script::new().fix(|request| {
        let issues = request.issues().into_iter();
        let mut carts = issues.filter(|(_, words)| words.contains(EMPTY_CART.words));
        let (cart, _) = carts.next().expect("the cart");
        let result = json!({ "issue": cart, "result": "rejected", "text": "It is never empty." });
        vec![Call::new("submit_fix_result", result)]
    });
    story.world.model.becomes(silent.into_behaviour());
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("### Nothing was fixed of 2 findings");
    story
        .world
        .model
        .becomes(fixer(reviewer(Vec::new())).into_behaviour());
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(story.file(LOST_PAGE.file).contains(LOST_PAGE.new));
    assert!(story.file(EMPTY_CART.file).contains(EMPTY_CART.old));
    let told = &seen.told[0];
    assert!(told.contains("it was rejected before"), "{told}");
    story.finish();
}

#[test]
fn a_fix_whose_report_is_refused_counts_and_its_head_is_reviewed() {
    let story = reviewed(Story::new(one_finding()));
    strikes(&story, (Method::POST, COMMENTS, "rmcoc:fix"), 1, refusal());
    let ran = story.asks("writer", "fix");
    ran.ended(0, "clean");
    let warning = "The report of the fix could not be posted; the next run posts it: ";
    assert!(ran.log.contains(warning), "{}", ran.log);
    assert_eq!(steps(&ran), ["fix_created", "fix_completed", "re_review"]);
    assert!(story.file(LOST_PAGE.file).contains(LOST_PAGE.new));
    let head = story.head();
    let reviewed = story.world.github.with(|state| {
        let mut runs = state.check_runs.iter();
        let success = Some("success".to_owned());
        runs.any(|run| run.head_sha == head && run.conclusion == success)
    });
    assert!(reviewed, "{}", ran.log);
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (1, 1), "{seen:#?}");
    let told = &seen.headlines()[0];
    assert!(told.starts_with("### Fixed 1 finding in "), "{told}");
    story.finish();
}

#[test]
fn a_request_whose_fix_a_push_outran_is_served_by_the_same_event_again() {
    let story = Story::new(Script::new());
    outrun(&story);
    let story = reviewed(story);
    let asked = story.says("writer", "fix");
    story.run(asked.clone());
    story.seen().only_says("### Nothing was fixed of 1 finding");
    story
        .world
        .model
        .becomes(fixer(reviewer(Vec::new())).into_behaviour());
    story.run(asked.clone()).ended(0, "clean");
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (1, 1), "{seen:#?}");
    story.run(asked);
    story.seen().is_silent();
    story.finish();
}

/// A fixer while whose work somebody pushes.
fn outrun(story: &Story) {
    let (handle, pull) = (story.world.github.handle(), story.world.pull);
    let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |_| {
        handle.with(|state| {
            let before = state.pulls[&pull].head.sha.clone();
            state.tick();
            let at = state.epoch_seconds();
            let file = Change::write("src/more.ts", "export {};\n");
            let new = state.git.commit("search", &[&before], "More", at, &[file]);
            state.push(pull, &new);
        });
        Vec::new()
    });
    story.world.model.becomes(fixer(script).into_behaviour());
}

#[test]
fn a_fix_that_a_push_outran_uses_no_cycle() {
    let story = Story::new(Script::new())
        .with("fix", "auto")
        .with("max_fix_cycles", "1");
    outrun(&story);
    let before = story.head();
    story.review();
    let seen = story.seen();
    assert_eq!(seen.commits, 0, "{seen:#?}");
    story
        .world
        .model
        .becomes(fixer(reviewer(Vec::new())).into_behaviour());
    let payload = events::synchronize_event(&story.world.github, story.world.pull, &before);
    let ran = story.run(story.world.workflow("pull_request", payload));
    ran.ended(0, "clean");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert_eq!(ran.outputs["human_review_required"], "false");
    story.finish();
}

#[test]
fn a_request_whose_last_look_fails_is_served_by_the_same_event_again() {
    let story = Story::new(Script::new());
    let handle = story.world.github.handle();
    let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |_| {
        handle.with(|state| {
            state.faults.push(Rule {
                method: Method::GET,
                path_prefix: COMMENTS.into(),
                body_contains: String::new(),
                after: 0,
                times: 1,
                struck: 0,
                fault: refusal(),
            });
        });
        Vec::new()
    });
    story.world.model.becomes(fixer(script).into_behaviour());
    let story = reviewed(story);
    let asked = story.says("writer", "fix");
    let ran = story.run(asked.clone());
    let seen = story.seen();
    assert_eq!(seen.commits, 0, "{seen:#?}\n{}", ran.log);
    story
        .world
        .model
        .becomes(fixer(reviewer(Vec::new())).into_behaviour());
    story.run(asked).ended(0, "clean");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    story.finish();
}

#[test]
fn the_report_file_holds_the_task_and_the_result_of_a_fix() {
    let story = reviewed(Story::new(one_finding()));
    let ran = story.asks("writer", "fix");
    let report = ran.report.as_ref().expect("a report");
    let details = |at: usize| &report["events"][at]["details"];
    let payload = &details(0)["payload"];
    assert_eq!(payload["prNumber"], 1, "{report:#}");
    let issue = &payload["issuesToFix"][0];
    assert_eq!(issue["title"], LOST_PAGE.words, "{report:#}");
    let result = &details(1)["result"];
    assert_eq!(result["agent"], "pr-fix", "{report:#}");
    let fixed = &result["fixedIssues"][0];
    assert_eq!(fixed["findingId"], issue["id"], "{report:#}");
    assert_eq!(fixed["commitSha"], story.head(), "{report:#}");
    story.finish();
}
