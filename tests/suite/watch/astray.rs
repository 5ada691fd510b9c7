//! A model that goes astray: it repeats itself, never ends, says nothing, declines, is cut off, is busy. Each ends in a
//! sentence that a person understands, after a bounded number of tries.

use super::{complete, incomplete, quick, reviews};
use crate::review::{comments, lost_page, post};
use crate::standin::model::{Answer, Call, Request, Script};
use crate::standin::world::World;
use serde_json::json;

/// Pass 1 is honest and has a finding; what happens in pass 2 is told.
fn in_pass_two(mut astray: impl FnMut(&Request) -> Answer + Send + 'static) -> World {
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    World::with(&[], move |request| match request.pass() {
        Some(2) => astray(request),
        _ => script(request),
    })
}

/// It stays in pass 2, what pass 1 found is said, and the model was asked no more than so many times.
fn ends_in_pass_two(world: World, reason: &str, requests: usize) {
    let ran = world.run(&quick(&world));
    incomplete(&ran, reason);
    let asked = world.model.requests().len();
    assert!(asked <= requests, "{asked} requests\n{}", ran.log);
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    let body = review["body"].as_str().unwrap();
    assert!(body.contains("was not completed"), "{body}");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    world.finish();
}

#[test]
fn o7_the_same_call_three_times_in_a_row_ends_the_turn() {
    let world = in_pass_two(|_| Answer::call("read", json!({ "filePath": "README.md" })));
    let reason = "Pass 2 of 4 was never submitted by the model: it was stopped, because it called read with the same \
                  arguments 3 times in a row.";
    // Three turns; OpenCode is faster than the word that stops it.
    ends_in_pass_two(world, reason, 60);
}

#[test]
fn o7_a_model_that_heeds_the_reproach_finishes_the_pass() {
    let world = in_pass_two(|request| {
        if request.last_user().contains("You were stopped") {
            if request.step() > 0 {
                return Answer::text("Done.");
            }
            let results =
                json!({ "pass_number": 2, "summary": "Fine.", "has_blocking_issues": false });
            return Answer::call("submit_pass_results", results);
        }
        Answer::call("read", json!({ "filePath": "README.md" }))
    });
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    assert_eq!(reviews(&world), 1);
    world.finish();
}

/// It submits once and takes the answer for the end of the pass, whatever the answer is.
#[test]
fn a_wrong_claim_about_blocking_issues_is_corrected_and_the_review_is_complete() {
    let wrong = json!({ "pass_number": 3, "summary": "Fine.", "has_blocking_issues": true });
    let world = World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(7))])
            .results(3, wrong),
    );
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    let note = "Pass 3 of 4 was submitted with the claim that there are blocking issues, but no recorded finding is \
                scored 9 or 10. The claim was corrected; the recorded findings count.";
    assert!(ran.summary.contains(note), "{}", ran.summary);
    let told = world.model.requests().pop().unwrap().to_string();
    let answer = "Pass 3 of 4 is recorded, with has_blocking_issues corrected to false";
    assert!(told.contains(answer), "{told}");
    assert_eq!(reviews(&world), 1);
    world.finish();
}

#[test]
fn x4_a_thousand_calls_end_the_turn() {
    let mut number = 0;
    let world = in_pass_two(move |_| {
        let calls = (0..200).map(|_| {
            number += 1;
            Call::new("read", json!({ "filePath": format!("src/{number}.ts") }))
        });
        Answer::calls(calls.collect())
    });
    let reason = "Pass 2 of 4 was never submitted by the model: it was stopped, because it made 100 tool calls.";
    ends_in_pass_two(world, reason, 60);
}

#[test]
fn o4_an_empty_answer_is_told_as_such() {
    let world = in_pass_two(|_| Answer::text(""));
    let reason = "Pass 2 of 4 was never submitted by the model: its last answer was empty.";
    ends_in_pass_two(world, reason, 6);
}

#[test]
fn o4_an_answer_that_is_cut_off_is_told_as_such() {
    let world = in_pass_two(|_| Answer::Ends {
        text: "And so".into(),
        why: "length",
    });
    let reason = "was never submitted by the model: its last answer was cut off by the model's limit of output tokens.";
    ends_in_pass_two(world, reason, 6);
}

#[test]
fn o4_a_refusal_is_told_as_such() {
    let world = in_pass_two(|_| Answer::Ends {
        text: String::new(),
        why: "content_filter",
    });
    let reason =
        "was never submitted by the model: it, or its provider's filter, declined to answer.";
    ends_in_pass_two(world, reason, 6);
}

#[test]
fn o4_an_endpoint_that_is_busy_or_broken_is_told_as_such() {
    let cases = [
        (
            429,
            "the model's rate limit was reached, and OpenCode's repeats did not help: Not now (HTTP 429)",
        ),
        (
            500,
            "the model's endpoint failed, and OpenCode's repeats did not help: Not now (HTTP 500)",
        ),
        (
            529,
            "the model is overloaded, and OpenCode's repeats did not help: Not now (HTTP 529)",
        ),
    ];
    for (status, reason) in cases {
        let message = json!({ "error": { "message": "Not now" } });
        let world = in_pass_two(move |_| Answer::status(status, message.clone()));
        ends_in_pass_two(world, &format!("Pass 2 of 4 failed: {reason}"), 4);
    }
}

#[test]
fn a_pass_may_not_take_the_time_of_the_others_and_is_told_so_once() {
    let world = in_pass_two(|request| {
        if !request.last_user().contains("The time for this is up") {
            return Answer::Stall;
        }
        if request.step() > 0 {
            return Answer::text("Done.");
        }
        let results = json!({ "pass_number": 2, "summary": "Half.", "has_blocking_issues": false });
        Answer::call("submit_pass_results", results)
    });
    let mut workflow = quick(&world);
    shortened(&mut workflow, "0.2");
    let ran = world.run(&workflow);
    complete(&ran, "findings");
    assert_eq!(reviews(&world), 1);
    world.finish();
}

#[test]
fn x4_an_answer_that_never_ends_runs_out_of_time() {
    let world = in_pass_two(|_| Answer::Endless);
    let mut workflow = quick(&world);
    shortened(&mut workflow, "0.1");
    let ran = world.run(&workflow);
    incomplete(&ran, "The time ran out in pass 2 of 4");
    assert_eq!(reviews(&world), 1);
    world.finish();
}

/// A minute at most, and a part of it.
fn shortened(workflow: &mut crate::standin::world::Workflow, scale: &str) {
    let minutes = ("review_timeout_minutes".into(), "1".into());
    workflow.inputs.extend([minutes]);
    let scale = ("OPENCODE_REVIEWER_LIMIT_SCALE".into(), scale.into());
    workflow.variables.extend([scale]);
}
