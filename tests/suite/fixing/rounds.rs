//! Rounds: reviews and fixes in turns, in one run or over several, and every way in which they end.

use super::*;
use crate::standin::github::{Act, Change, Fault, Protection, Rule};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Two defects, the second of which is seen only after the first is fixed.
fn two_rounds() -> Script {
    let reviews = vec![vec![LOST_PAGE.raised(7)], vec![EMPTY_CART.raised(7)]];
    fixer(reviewer(reviews))
}

/// Every review has something new to say.
pub fn never_content() -> Script {
    let reviews = DEFECTS.iter().map(|one| vec![one.raised(7)]).collect();
    fixer(reviewer(reviews))
}

fn stays_marked(seen: &Seen) {
    for review in &seen.reviews {
        let body = review["body"].as_str().unwrap_or_default();
        assert!(body.contains(MARKER), "{body}");
        for comment in crate::review::comments(review) {
            assert!(
                comment["body"]
                    .as_str()
                    .unwrap_or_default()
                    .contains(MARKER)
            );
        }
    }
    let words = seen.told.iter().chain(&seen.replies);
    for body in words {
        assert_eq!(body.matches(MARKER).count(), 1, "{body}");
    }
}

#[test]
fn rounds_in_one_run_end_when_the_consensus_approves() {
    let story = Story::real(two_rounds()).with("fix", "auto");
    let rules = Protection {
        required_checks: vec!["build".into()],
        ..Protection::default()
    };
    story.world.github.protect("main", rules);
    let ran = story.review();
    ran.ended(0, "clean");
    assert_eq!(consensus(&ran), "approve");
    let waiting = "starts no workflow; set push_token to the token of an app to start them. Required checks that will wait: \
                   `build`.";
    assert!(ran.log.contains(waiting), "{}", ran.log);
    let cycle = ["fix_created", "fix_completed", "re_review"];
    assert_eq!(steps(&ran), [cycle, cycle].concat());
    assert_eq!(ran.outputs["human_review_required"], "false");
    assert!(story.file("src/page.ts").contains(LOST_PAGE.new));
    assert!(story.file("src/ui/cart.ts").contains(EMPTY_CART.new));
    let seen = story.seen();
    assert_eq!(seen.commits, 2);
    assert_eq!(seen.labels.len(), 0, "{seen:#?}");
    let lines = seen.headlines();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert_eq!(lines[0], "### Review 1 of at most 3: request_changes");
    assert!(
        lines[1].starts_with("### Fixed 1 of 1 finding in "),
        "{lines:#?}"
    );
    assert_eq!(lines[2], "### Review 2 of at most 3: request_changes");
    assert!(lines[3].ends_with(" (cycle 2 of 2)"), "{lines:#?}");
    assert_eq!(lines[4], "### Review 3 of at most 3: approve");
    assert!(seen.told[0].contains(LOST_PAGE.words), "{}", seen.told[0]);
    assert!(
        seen.told[0].contains("A fix of 1 finding follows"),
        "{}",
        seen.told[0]
    );
    assert!(seen.told[1].contains(waiting), "{}", seen.told[1]);
    assert_eq!(seen.reviews.len(), 2);
    let head = story.head();
    let concluded = story.world.github.with(|state| {
        let runs = state.check_runs.iter();
        let of_head = runs.filter(|run| run.head_sha == head);
        let ends: Vec<_> = of_head.map(|run| run.conclusion.clone()).collect();
        ends
    });
    assert_eq!(concluded, [Some("success".to_owned())]);
    assert!(
        !seen.replies.is_empty(),
        "the fixes are confirmed in the threads"
    );
    stays_marked(&seen);
    story.finish();
}

#[test]
fn a_push_that_starts_no_workflow_is_announced_before_it() {
    let story = reviewed(Story::new(one_finding()));
    let rules = Protection {
        required_checks: vec!["build".into()],
        ..Protection::default()
    };
    story.world.github.protect("main", rules);
    let said = Arc::new((Mutex::new(false), Condvar::new()));
    let before = Arc::new(AtomicBool::new(false));
    let (announced, noted) = (Arc::clone(&said), Arc::clone(&before));
    // The commit waits for the line, and without it for as long as somebody reads.
    let look = Act::new(move |_| {
        let (said, changed) = &*announced;
        let said = said.lock().expect("a lock");
        let patience = Duration::from_secs(20);
        let waited = changed.wait_timeout_while(said, patience, |said| !*said);
        let (said, _) = waited.expect("a lock");
        noted.store(*said, Ordering::Relaxed);
    });
    let rule = Rule {
        method: http::Method::POST,
        path_prefix: "/graphql".into(),
        body_contains: "Review-Finding: ".into(),
        after: 0,
        times: 1,
        struck: 0,
        fault: Fault::Meanwhile(look),
    };
    story.world.github.with(|state| state.faults.push(rule));
    let asked = story.prepared(story.says("writer", "fix"));
    let ran = story.world.watch(&asked, &["action"], |line| {
        if line.contains("Required checks that will wait: `build`.") {
            *said.0.lock().expect("a lock") = true;
            said.1.notify_all();
        }
    });
    ran.ended(0, "clean");
    assert_eq!(story.seen().commits, 1);
    assert!(before.load(Ordering::Relaxed), "{}", ran.log);
    story.finish();
}

#[test]
fn rounds_over_several_runs_end_when_the_consensus_approves() {
    let story = Story::real(two_rounds()).with("fix", "auto").with_app();
    let first = story.review();
    first.ended(0, "findings");
    assert_eq!(steps(&first), ["fix_created", "fix_completed"]);
    let second = story.run(story.started());
    second.ended(0, "findings");
    let third = story.run(story.started());
    third.ended(0, "clean");
    assert_eq!(consensus(&third), "approve");
    assert!(
        story.world.github.take_happenings().is_empty(),
        "it is over"
    );
    let seen = story.seen();
    assert_eq!(seen.commits, 2);
    let lines = seen.headlines();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines[4].ends_with("3 of at most 3: approve"), "{lines:#?}");
    stays_marked(&seen);
    story.finish();
}

#[test]
fn a_first_review_that_approves_says_nothing_about_rounds() {
    let story = Story::new(reviewer(Vec::new())).with("fix", "auto");
    let ran = story.review();
    ran.ended(0, "clean");
    assert_eq!(steps(&ran), [""; 0]);
    story.seen().is_silent();
    story.finish();
}

#[test]
fn at_the_cap_people_are_called_once() {
    let story = Story::real(never_content()).with("fix", "auto");
    story.world.github.pull(story.world.pull, |pull| {
        pull.requested_reviewers.push("maintainer".into());
    });
    let ran = story.review();
    ran.ended(0, "findings");
    assert_eq!(ran.outputs["human_review_required"], "true");
    assert_eq!(
        steps(&ran).last().map(String::as_str),
        Some("human_escalation")
    );
    let seen = story.seen();
    assert_eq!(seen.commits, 2);
    assert_eq!(seen.labels.len(), 1, "{seen:#?}");
    assert!(seen.labels[0].to_string().contains("human-review-required"));
    let sentence = "PR #1 exceeded max fix cycles (2) — requires human review";
    let calls = seen.told.iter().filter(|body| body.contains("@maintainer"));
    let calls: Vec<&String> = calls.collect();
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert!(calls[0].contains(sentence), "{}", calls[0]);
    // The same event once more, and a further push: nothing is said again.
    let again = story.review();
    again.ended(0, "findings");
    assert_eq!(again.outputs["human_review_required"], "true");
    story.seen().is_silent();
    let push = story.pushes(
        &story.head(),
        "More",
        &[Change::write("src/more.ts", "export {};\n")],
    );
    story.run(push);
    let seen = story.seen();
    assert_eq!(
        (seen.told.len(), seen.labels.len(), seen.commits),
        (0, 0, 0),
        "{seen:#?}"
    );
    story.finish();
}

#[test]
fn after_the_cap_a_fix_grants_one_cycle_and_a_resume_as_many_again() {
    let story = Story::new(never_content())
        .with("fix", "auto")
        .with("max_fix_cycles", "1");
    let ran = story.review();
    let told = format!("{:#?}", ran.report);
    assert_eq!(ran.outputs["human_review_required"], "true", "{told}");
    assert_eq!(story.seen().commits, 1);
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(
        (seen.commits, seen.labels.len()),
        (1, 0),
        "{:#?}",
        seen.told
    );
    assert!(
        !seen.told.iter().any(|body| body.contains("exceeded")),
        "{:#?}",
        seen.told
    );
    let ran = story.asks("writer", "fix resume");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{}\n{:#?}", ran.log, seen.told);
    assert!(
        seen.headlines()[0].starts_with("Fixing goes on, as `writer` asked."),
        "{:#?}",
        seen.told
    );
    story.finish();
}

#[test]
fn a_finding_that_comes_back_in_other_words_is_stuck_and_people_are_called() {
    let again = finding("src/page.ts", 8, 7, "The last page gets lost.");
    let (first, second) = (vec![LOST_PAGE.raised(7)], vec![EMPTY_CART.raised(7)]);
    let script = fixer(reviewer(vec![first, second, vec![post(again)]]));
    let story = Story::real(script)
        .with("fix", "auto")
        .with("max_fix_cycles", "3");
    let ran = story.review();
    ran.ended(0, "findings");
    assert_eq!(ran.outputs["human_review_required"], "true");
    let seen = story.seen();
    assert_eq!(
        (seen.commits, seen.labels.len()),
        (2, 1),
        "{:#?}",
        seen.told
    );
    let call = seen.told.last().expect("a call");
    assert!(call.contains("Manual intervention required"), "{call}");
    assert!(
        call.contains("**Stuck**") && call.contains("The last page gets lost."),
        "{call}"
    );
    // A writer who asks is told, and nothing is tried again.
    let asked = story.asks("writer", "fix");
    asked.ended(0, "findings");
    let seen = story.seen();
    seen.only_says("there is nothing left that may be fixed");
    let told = &seen.told[0];
    assert!(
        told.contains(
            "The last page gets lost.: it was fixed before, and a review raised it again"
        ),
        "{told}"
    );
    story.finish();
}

#[test]
fn a_round_that_does_not_fit_the_money_of_the_run_ends_with_the_command_that_continues_it() {
    let story = Story::new(never_content())
        .with("fix", "auto")
        .with("max_tokens", "1");
    let ran = story.review();
    notes(&ran, "`@review-my-code-bot fix` goes on.");
    assert_eq!(steps(&ran), ["fix_failed"]);
    assert_eq!(story.seen().commits, 0);
    story.finish();
}

#[test]
fn the_limits_of_a_run_hold_for_all_its_rounds_together() {
    // Enough for the first review and its fix, and not for the second review.
    let story = Story::new(two_rounds())
        .with("fix", "auto")
        .with("max_tokens", "40000");
    let ran = story.review();
    ran.ended(2, "incomplete");
    let steps = steps(&ran);
    assert_eq!(
        steps,
        ["fix_created", "fix_completed", "re_review", "fix_failed"]
    );
    notes(&ran, "`@review-my-code-bot fix` goes on.");
    assert_eq!(story.seen().commits, 1);
    story.finish();
}

#[test]
fn the_limits_of_a_day_count_each_round_of_a_run_once() {
    // Enough for three reviews and two fixes; then for the first of each only.
    for (day, code, verdict, commits) in [
        ("160000 tokens", 0, "clean", 2),
        ("60000 tokens", 2, "incomplete", 1),
    ] {
        let story = Story::new(two_rounds())
            .with("fix", "auto")
            .with("max_per_day", day);
        story.review().ended(code, verdict);
        assert_eq!(story.seen().commits, commits, "{day}");
        story.finish();
    }
}

#[test]
fn a_copy_of_the_call_for_people_by_somebody_else_is_no_call() {
    let story = Story::new(never_content())
        .with("fix", "auto")
        .with("max_fix_cycles", "1");
    story.review();
    let seen = story.seen();
    let calls = |told: &[String]| -> Vec<String> {
        let calls = told
            .iter()
            .filter(|body| body.contains("exceeded max fix cycles"));
        calls.cloned().collect()
    };
    let first = calls(&seen.told);
    assert_eq!(first.len(), 1, "{:#?}", seen.told);
    let resume = story.says("writer", "fix resume");
    let (github, pull) = (&story.world.github, story.world.pull);
    github.comment(pull, "stranger", &first[0]);
    story.run(resume);
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert_eq!(calls(&seen.told).len(), 1, "{:#?}", seen.told);
    story.finish();
}

#[test]
fn a_fix_that_nothing_tells_of_any_more_begins_no_rounds() {
    let story = Story::new(never_content()).with("fix", "auto").with_app();
    story.review();
    assert_eq!(story.seen().commits, 1);
    let push = story.started();
    // Somebody removed the comments, and the records are lost.
    story.world.github.with(|state| {
        state.issue_comments.clear();
        state.check_runs.clear();
    });
    let ran = story.run(push);
    notes(
        &ran,
        "the head is a commit of the reviewer that no report tells of",
    );
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (0, 0), "{seen:#?}");
    story.finish();
}

#[test]
fn checks_that_fail_on_a_fix_are_named_by_the_next_run() {
    for mode in ["auto", "on_request"] {
        let story = Story::new(one_finding()).with("fix", mode).with_app();
        story.review();
        if mode == "on_request" {
            story.asks("writer", "fix");
        }
        let head = story.head();
        assert_eq!(story.seen().commits, 1);
        story.world.github.with(|state| {
            state.conclude("build", &head, "failure");
            state.conclude("lint", &head, "success");
        });
        let happenings = story.world.github.take_happenings();
        let mut pushes = happenings
            .iter()
            .filter(|one| one.starts && one.action == Some("synchronize"));
        let push = pushes.next().expect("the push starts a workflow");
        let payload = events::happened_event(&story.world.github, push);
        let ran = story.run(story.world.workflow("pull_request", payload));
        let sentence = format!("Checks failed on the fix {}: `build`.", &head[..7]);
        notes(&ran, &sentence);
        let told = story.seen().told;
        let rounds = told.iter().filter(|body| body.contains(&sentence));
        assert_eq!(rounds.count(), usize::from(mode == "auto"), "{told:#?}");
        story.finish();
    }
}
