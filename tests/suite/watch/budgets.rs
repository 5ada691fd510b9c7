//! Budgets: reaching one ends the passes, what finished passes found is published, and the review is incomplete.

use super::{incomplete, quick};
use crate::review::{comments, lost_page, post};
use crate::standin::model::{Answer, Call, Script};
use crate::standin::world::{Workflow, World};
use serde_json::json;

/// Pass 1 has a finding and is finished; the budget ends the review in pass 2.
fn ends_partially(world: World, workflow: &Workflow, reason: &str) {
    let ran = world.run(workflow);
    incomplete(&ran, reason);
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    let body = review["body"].as_str().unwrap();
    assert!(body.contains("was not completed"), "{body}");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(ran.summary.contains(reason), "{}", ran.summary);
    world.finish();
}

#[test]
fn tokens_have_an_end() {
    let world = World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(7))])
            .pass(2, |_| {
                let long = "x".repeat(400_000);
                vec![Call::new("read", json!({ "filePath": long }))]
            })
            .never_submits(2),
    );
    let mut workflow = quick(&world);
    workflow.inputs.insert("max_tokens".into(), "60000".into());
    let reason = "The review was stopped in pass 2 of 4: max_tokens of 60000 was reached.";
    ends_partially(world, &workflow, reason);
}

#[test]
fn tokens_that_the_endpoint_does_not_count_have_an_end_too() {
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| {
            let long = "x".repeat(400_000);
            vec![Call::new("read", json!({ "filePath": long }))]
        })
        .never_submits(2)
        .into_behaviour();
    let world = World::with(&[], move |request| match script(request) {
        Answer::Say { calls, text: _ } => Answer::Uncounted(calls),
        other => other,
    });
    let mut workflow = quick(&world);
    workflow.inputs.insert("max_tokens".into(), "60000".into());
    let reason = "max_tokens of 60000 was reached (estimated by the size of requests and answers, as the endpoint counts no tokens).";
    ends_partially(world, &workflow, reason);
}

#[test]
fn requests_have_an_end() {
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| {
            vec![Call::new("sidecar_flood", json!({ "times": 2_100 }))]
        })
        .never_submits(2);
    let world = World::shop(script);
    let workflow = quick(&world);
    let reason = "The review was stopped in pass 2 of 4: 2000 requests to the model were made, the most that a run may make.";
    ends_partially(world, &workflow, reason);
}
