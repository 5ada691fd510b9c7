//! Runs of one account at the same time, of which GitHub lets one have a draft: nothing is lost or doubled, and a person's draft stays.

use super::{A_REVIEW, ADD, ALL, FILES, drafts, places, world};
use crate::review::{finding, post};
use crate::standin::github::{Change, Fault, GitHub, Identity, State};
use crate::standin::model::Script;
use crate::standin::world::{Job, Ran, Workflow, World};
use http::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// The token may write no checks, so that no run waits for another.
fn without_checks(world: &World) {
    let may = ["contents:read", "pull-requests:write"];
    let workflow = Identity::github_actions(&may);
    world.github.token(GitHub::TOKEN, workflow);
}

/// A second run, whose model has another name.
fn other(world: &World) -> Workflow {
    let mut workflow = world.opened();
    workflow
        .inputs
        .insert("model".into(), "standin/other".into());
    let number = "4712".to_owned();
    workflow.variables.insert("GITHUB_RUN_ID".into(), number);
    workflow
}

/// Each model has a finding on a picture of its own.
fn a_picture_each() -> World {
    let by = |file: &'static str| {
        let text = "It is not licensed for this use.";
        let found = move |_: &_| vec![post(finding(file, 1, 7, text))];
        Script::new().pass(1, found).into_behaviour()
    };
    let (mut first, mut second) = (by(FILES[0]), by(FILES[1]));
    let changes = FILES.map(|file| Change::write(file, b"\x89PNG\0\0\0\x01binary".to_vec()));
    let world = World::with(&changes, move |request| {
        if request.raw()["model"] == "other" {
            second(request)
        } else {
            first(request)
        }
    });
    without_checks(&world);
    world.quick()
}

/// Runs both at once.
fn at_once(world: &World) -> [Ran; 2] {
    let (first, second) = (world.opened(), other(world));
    let beside = Job::new();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| world.run_beside(&beside, &second));
        [world.run(&first), second.join().expect("the other run")]
    })
}

#[test]
fn two_runs_at_once_say_what_each_has_found_once() {
    // The drafts of both are open for a while, or end at once.
    for late in [400, 0] {
        let world = a_picture_each();
        let slow = Fault::Late(Duration::from_millis(late));
        world.github.on_graphql(ADD, 2, slow);
        for ran in at_once(&world) {
            ran.ended(0, "findings");
        }
        assert_eq!(places(&world), FILES);
        assert_eq!(drafts(&world.github), 0);
        world.github.take_writes();
        world.finish();
    }
}

#[test]
fn a_draft_that_another_run_submits_in_time_is_waited_for() {
    let world = a_picture_each();
    let theirs = world.github.with(|state| {
        let head = state.pulls[&world.pull].head.sha.clone();
        let body =
            "A draft of a review; it is submitted or deleted at once.\n\n<!-- rmcoc:draft -->";
        let draft = state.add_review(world.pull, "github-actions[bot]", body, "PENDING", &head);
        draft.id
    });
    // Between two looks at it.
    let submits = crate::standin::github::Act::new(move |state: &mut State| {
        for one in state.reviews.iter_mut().filter(|one| one.id == theirs) {
            one.state = "COMMENTED".into();
            one.body = "What the other run had to say.".into();
            one.submitted_at = Some("2026-01-01T00:00:00Z".into());
        }
    });
    let comments = format!("{A_REVIEW}{theirs}/comments");
    world
        .github
        .on(Method::GET, &comments, 1, Fault::Meanwhile(submits));
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(places(&world), [FILES[0]], "{}", ran.log);
    let deleted = world
        .github
        .count(&Method::DELETE, &format!("{A_REVIEW}{theirs}"));
    assert_eq!(deleted, 0, "a review of another run is not taken away");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_draft_of_a_killed_run_is_deleted_and_the_next_run_says_it_once() {
    let world = world(7);
    without_checks(&world);
    world.github.on_graphql(ADD, 1, Fault::ApplyThenHang);
    let mut child = world.start(&world.opened());
    let began = Instant::now();
    let struck = |state: &mut State| state.faults.iter().any(|rule| rule.struck > 0);
    while !world.github.with(struck) {
        assert!(began.elapsed().as_secs() < 120, "it never came so far");
        std::thread::sleep(Duration::from_millis(10));
    }
    while drafts(&world.github) == 0 {
        assert!(began.elapsed().as_secs() < 120, "no draft");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(id, Signal::SIGKILL).expect("the signal");
    child.wait().expect("the end");
    world.github.with(State::clear_faults);
    for folder in world.left_over() {
        let _gone = std::fs::remove_dir_all(folder);
    }
    assert_eq!((places(&world).len(), drafts(&world.github)), (0, 1));
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(places(&world), ALL, "{}", ran.log);
    assert_eq!(drafts(&world.github), 0);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_draft_of_the_account_s_person_stays_and_the_findings_are_said_once_it_is_gone() {
    let world = world(7);
    let bot = "github-actions[bot]";
    let draft = world
        .github
        .review(world.pull, bot, "PENDING", "My own thoughts.");
    let own = |state: &mut State| state.review(draft.id).cloned();
    let before = world.github.with(own).map(|one| (one.state, one.body));
    let ran = world.review();
    ran.ended(2, "incomplete");
    assert!(ran.log.contains("one pending review"), "{}", ran.log);
    let after = world.github.with(own).map(|one| (one.state, one.body));
    assert_eq!((after, places(&world).len()), (before, 0));
    world.github.take_writes();
    // The person deletes it.
    world
        .github
        .with(|state| state.reviews.retain(|one| one.id != draft.id));
    let again = world.review();
    super::said_at_once(world, &again);
}
