//! A reviewer of a panel that does not finish: what the others make of it, and who may accept the gap.

use super::{body_with, with_reviewers};
use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::spending::{head, skipped};
use crate::standin::github::{Change, events};
use crate::standin::model::panel::{of_behaviours, panel, reviewer};
use crate::standin::model::{Answer, Request, Script};
use crate::standin::world::{Ran, World};
use crate::unseen::concluded;
use serde_json::{Value, json};

/// An event of the pull request, for a panel of three.
fn happens(world: &World, event: &str, payload: Value) -> Ran {
    let mut workflow = world.workflow(event, payload);
    workflow.inputs.insert("reviewers".into(), "3".into());
    world.run(&workflow)
}

fn accepts(world: &World, login: &str) -> Ran {
    let comment = world
        .github
        .comment(world.pull, login, "@review-my-code-bot accept");
    let payload = events::comment_event("issue_comment", &world.github, world.pull, comment.id);
    happens(world, "issue_comment", payload)
}

#[test]
fn the_gap_of_a_reviewer_is_accepted_by_name_until_the_next_push() {
    let security = Script::new().never_submits(3);
    let scripts = vec![Script::new(), Script::new(), security];
    let world = World::with(&[], panel(scripts));
    world.github.permit("writer", "write");
    with_reviewers(&world, "3").ended(2, "incomplete");
    let asked = world.model.requests().len();
    // The author has no write access here.
    let ran = accepts(&world, "dev");
    assert!(skipped(&ran).contains("no write access"), "{}", ran.log);
    assert_eq!(concluded(&world).0, "failure");
    let ran = accepts(&world, "writer");
    ran.ended(0, "clean");
    let accepted = "Accepted by writer: reviewer security did not finish";
    let (conclusion, title) = concluded(&world);
    assert_eq!(conclusion, "success", "{title}");
    assert!(title.starts_with(accepted), "{title}");
    assert!(ran.summary.contains(accepted), "{}", ran.summary);
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["consensus"]["conclusion"], Value::Null);
    let none = "**Consensus: none**, because reviewer security did not finish.";
    assert!(ran.summary.contains(none), "{}", ran.summary);
    // Any later event on this head finds it accepted.
    with_reviewers(&world, "3").ended(0, "clean");
    assert!(concluded(&world).1.starts_with(accepted));
    let asked_since = world.model.requests().len() - asked;
    assert_eq!(asked_since, 0, "nothing more was asked of the model");
    // The next push voids it.
    let before = head(&world);
    let more = [Change::write("src/more.ts", "export {};\n")];
    let new = world.github.commit("search", &[&before], &more);
    world.github.push(world.pull, &new);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    happens(&world, "pull_request", payload).ended(2, "incomplete");
    let (conclusion, title) = concluded(&world);
    assert_eq!(conclusion, "failure", "{title}");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_reviewer_that_loops_is_stopped_and_named_and_the_others_finish() {
    let general = Script::new().pass(1, |_| vec![post(lost_page(7))]);
    let quality = Script::new().pass(1, |_| vec![post(layer_bypassed(8))]);
    let mut honest = quality.into_behaviour();
    // In the second pass it asks for the same thing again and again, whatever it is told.
    let loops = move |request: &Request| match request.pass() {
        Some(1) => honest(request),
        _ => Answer::call("grep", json!({ "pattern": "pages" })),
    };
    let behaviours = of_behaviours(vec![
        Box::new(general.into_behaviour()),
        Box::new(loops),
        Box::new(Script::new().into_behaviour()),
    ]);
    let world = World::with(&[], behaviours);
    let ran = with_reviewers(&world, "3");
    ran.ended(2, "incomplete");
    let why = "The reviewer quality did not finish. Pass 2 of 4 was never submitted by the model: it was stopped, because it \
               called grep with the same arguments 3 times in a row.";
    assert!(ran.summary.contains(why), "{}", ran.summary);
    let report = ran.report.as_ref().expect("a report");
    let reviewers = report["reviewers"].as_array().expect("reviewers");
    let finished: Vec<&Value> = reviewers.iter().map(|one| &one["finished"]).collect();
    assert_eq!(finished, [true, false, true]);
    // The others come to their last pass.
    let requests = world.model.requests().into_iter().map(Request::new);
    let last: Vec<usize> = requests
        .filter(|request| request.pass() == Some(4))
        .map(|request| reviewer(&request))
        .collect();
    assert!(last.contains(&1) && last.contains(&3), "{last:?}");
    assert!(!last.contains(&2), "{last:?}");
    let said = comments(&world.github.expect_review());
    body_with(&said, "The last page is lost.");
    body_with(&said, "past the service layer");
    world.github.expect_check_run();
    world.finish();
}
