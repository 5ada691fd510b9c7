//! The same with the real OpenCode.

use super::{complete, incomplete, once, reviews, signal};
use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::standin::model::panel::panel;
use crate::standin::model::{Answer, Script};
use crate::standin::world::World;
use nix::sys::signal::Signal;

/// Killed in two passes, as often as a run may replace it.
fn killed_in(passes: [u8; 2]) {
    let world = World::shop(Script::new());
    let mut script = Script::new().pass(1, |_| vec![post(lost_page(7))]);
    for pass in passes {
        let at = world.temporary();
        let kill = once(move || signal(&at, Signal::SIGKILL));
        script = script.pass(pass, kill).pass(pass, |request| {
            let prompt = request.last_user();
            assert!(prompt.starts_with("OpenCode was restarted"), "{prompt}");
            let first = request.messages()[1].to_string();
            assert!(first.contains("# The pull request"), "{first}");
            Vec::new()
        });
    }
    let script = script.pass(4, |_| vec![post(layer_bypassed(7))]);
    world.model.becomes(script.into_behaviour());
    let ran = world.review();
    complete(&ran, "findings");
    for pass in passes {
        let told =
            format!("in pass {pass} of 4. It was started again, and went on in the same session.");
        assert!(ran.log.contains(&told), "{told}\n{}", ran.log);
    }
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_killed_in_the_first_passes_it_goes_on_in_the_same_session() {
    killed_in([1, 2]);
}

#[test]
fn o3_killed_in_the_last_passes_it_goes_on_in_the_same_session() {
    killed_in([3, 4]);
}

#[test]
fn o3_killed_under_a_panel_every_reviewer_goes_on() {
    let world = World::shop(Script::new());
    let at = world.temporary();
    let kill = once(move || signal(&at, Signal::SIGKILL));
    let scripts = vec![
        Script::new().pass(1, |_| vec![post(lost_page(7))]),
        Script::new().pass(2, kill),
        Script::new().pass(3, |_| vec![post(layer_bypassed(8))]),
    ];
    world.model.becomes(panel(scripts));
    let mut workflow = world.opened();
    let reviewers = ("reviewers".to_owned(), "3".to_owned());
    workflow.inputs.extend([reviewers]);
    let ran = world.run(&workflow);
    complete(&ran, "findings");
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    assert!(
        ran.summary.contains("It was started again"),
        "{}",
        ran.summary
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_one_that_is_stopped_is_replaced() {
    let world = World::shop(Script::new());
    let at = world.temporary();
    let stop = once(move || signal(&at, Signal::SIGSTOP));
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, stop);
    world.model.becomes(script.into_behaviour());
    let ran = world.review();
    complete(&ran, "findings");
    assert!(
        ran.log.contains("OpenCode did not answer any more"),
        "{}",
        ran.log
    );
    assert_eq!(reviews(&world), 1);
    world.finish();
}

#[test]
fn o4_a_model_that_falls_silent_twice_is_not_waited_for_again() {
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let world = World::with(&[], move |request| match request.pass() {
        Some(2) => Answer::Stall,
        _ => script(request),
    });
    let mut workflow = world.opened();
    let longest = ("review_timeout_minutes".into(), "360".into());
    workflow.inputs.extend([longest]);
    // Three seconds of silence in place of ten minutes.
    let scale = ("OPENCODE_REVIEWER_LIMIT_SCALE".into(), "0.005".into());
    workflow.variables.extend([scale]);
    let ran = world.run(&workflow);
    incomplete(
        &ran,
        "The review was stopped in pass 2 of 4: the model said nothing for 3 s, twice.",
    );
    assert!(
        ran.log
            .contains("pass 2 of 4: OpenCode asks the model again (attempt 1)"),
        "{}",
        ran.log
    );
    assert_eq!(reviews(&world), 1);
    world.finish();
}
