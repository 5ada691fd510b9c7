//! Runs that are cut off at every step of a fix, and two at once: one commit, one report of each kind.

use super::*;
use crate::standin::github::{Fault, Rule, State};
use crate::standin::model::Answer;
use crate::standin::world::Job;
use http::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Child;
use std::time::{Duration, Instant};

const COMMENTS: &str = "/repos/octo/shop/issues/1/comments";
const LABELS: &str = "/repos/octo/shop/issues/1/labels";

/// A request of the fix at which the run ends.
struct Step {
    method: Method,
    path: &'static str,
    word: &'static str,
    /// So many of this kind are carried out first.
    after: usize,
}

/// The commit itself: the question if the token may commit names no finding.
const COMMIT: Step = Step {
    method: Method::POST,
    path: "/graphql",
    word: "Review-Finding: ",
    after: 0,
};

const fn comment(after: usize) -> Step {
    Step {
        method: Method::POST,
        path: COMMENTS,
        word: "",
        after,
    }
}

/// A word about the check run, which is opened and then changed.
const fn check(method: Method, after: usize) -> Step {
    Step {
        method,
        path: "/repos/octo/shop/check-runs",
        word: "",
        after,
    }
}

impl Step {
    fn hangs(&self, story: &Story, fault: Fault) {
        let rule = Rule {
            method: self.method.clone(),
            path_prefix: self.path.into(),
            body_contains: self.word.into(),
            after: self.after,
            times: 1,
            struck: 0,
            fault,
        };
        story.world.github.with(|state| state.faults.push(rule));
    }
}

/// Runs until the fault has struck, and ends the run there.
fn cut_off(story: &Story, workflow: &Workflow, signal: Signal) {
    let mut child = story.world.start(workflow);
    let started = Instant::now();
    let struck = |state: &mut State| state.faults.iter().any(|rule| rule.struck > 0);
    while !story.world.github.with(struck) {
        assert!(started.elapsed().as_secs() < 120, "it never came so far");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The request is carried out, where it is.
    std::thread::sleep(Duration::from_millis(300));
    end(story, &mut child, signal);
}

/// Ends a run, and takes away what it cannot take away itself.
fn end(story: &Story, child: &mut Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(id, signal).expect("the signal");
    child.wait().expect("the end");
    story.world.github.with(State::clear_faults);
    if signal == Signal::SIGKILL {
        // Its check is left in progress, until nobody can be at work any more.
        story.world.github.with(|state| state.rest(8));
        for folder in story.world.left_over() {
            let _gone = std::fs::remove_dir_all(folder);
        }
    }
}

/// Everything that both runs posted, once.
fn told_once(story: &Story) {
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{seen:#?}");
    let fixed = seen.told.iter().filter(|body| body.contains("### Fixed 1"));
    assert_eq!(fixed.count(), 1, "{:#?}", seen.told);
    let mut lines = seen.headlines();
    lines.sort_unstable();
    let all = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), all, "{:#?}", seen.told);
    assert!(story.file("src/page.ts").contains(LOST_PAGE.new));
}

#[test]
fn a_fix_that_is_cut_off_at_any_step_is_made_and_told_once() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for (step, fault) in [
            (COMMIT, Fault::Hang),
            (COMMIT, Fault::ApplyThenHang),
            (comment(0), Fault::Hang),
            (comment(0), Fault::ApplyThenHang),
        ] {
            println!("{signal} at {} {} {fault:?}", step.path, step.word);
            let story = Story::new(one_finding());
            story.review();
            story.seen();
            let asked = story.says("writer", "fix");
            step.hangs(&story, fault);
            cut_off(&story, &asked, signal);
            story.run(asked.clone()).ended(0, "clean");
            told_once(&story);
            story.run(asked);
            story.seen().is_silent();
            story.finish();
        }
    }
}

#[test]
fn a_fix_that_is_cut_off_at_its_check_run_is_made_and_told_once() {
    let steps = [
        check(Method::POST, 0),
        check(Method::PATCH, 0),
        check(Method::PATCH, 1),
        check(Method::PATCH, 2),
    ];
    for step in steps {
        for fault in [Fault::Hang, Fault::ApplyThenHang] {
            println!("at {} {} {fault:?}", step.method, step.after);
            let story = reviewed(Story::new(one_finding()));
            let asked = story.says("writer", "fix");
            step.hangs(&story, fault);
            cut_off(&story, &asked, Signal::SIGKILL);
            story.run(asked.clone()).ended(0, "clean");
            told_once(&story);
            story.run(asked);
            story.seen().is_silent();
            story.finish();
        }
    }
}

#[test]
fn a_fix_whose_session_is_cut_off_is_made_and_told_once() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let story = reviewed(Story::new(one_finding()));
        let (began, begins) = std::sync::mpsc::channel();
        // The fixer never answers.
        story.world.model.becomes(move |_| {
            let _gone = began.send(());
            Answer::Stall
        });
        let asked = story.says("writer", "fix");
        let mut child = story.world.start(&asked);
        begins.recv().expect("the fixer is asked");
        end(&story, &mut child, signal);
        let able = fixer(reviewer(Vec::new()));
        story.world.model.becomes(able.into_behaviour());
        story.run(asked.clone()).ended(0, "clean");
        told_once(&story);
        story.run(asked);
        story.seen().is_silent();
        story.finish();
    }
}

#[test]
fn a_pull_request_with_a_fix_that_is_cut_off_is_opened_and_told_once() {
    let opening = || Step {
        method: Method::POST,
        path: "/repos/octo/shop/pulls",
        word: "",
        after: 0,
    };
    let branch = || Step {
        method: Method::POST,
        path: "/repos/octo/shop/git/refs",
        word: "",
        after: 0,
    };
    for (step, fault) in [
        (branch(), Fault::Hang),
        (branch(), Fault::ApplyThenHang),
        (COMMIT, Fault::Hang),
        (COMMIT, Fault::ApplyThenHang),
        (opening(), Fault::Hang),
        (opening(), Fault::ApplyThenHang),
        (comment(0), Fault::Hang),
    ] {
        println!("at {} {} {fault:?}", step.path, step.word);
        let story = Story::new(one_finding()).with("fix_delivery", "pull_request");
        let github = &story.world.github;
        github.with(|state| state.repository.actions_may_approve = true);
        story.review();
        story.seen();
        let asked = story.prepared(story.says("writer", "fix"));
        step.hangs(&story, fault);
        cut_off(&story, &asked, Signal::SIGKILL);
        story.run(asked.clone()).ended(0, "findings");
        let seen = story.seen();
        let made = (seen.commits, seen.pulls, seen.told.len());
        assert_eq!(made, (1, 1, 1), "{seen:#?}");
        let waits = "The fix waits in a pull request onto this branch: http";
        assert!(seen.told[0].contains(waits), "{}", seen.told[0]);
        story.run(asked);
        story.seen().is_silent();
        story.finish();
    }
}

#[test]
fn rounds_that_are_cut_off_at_any_step_are_told_once() {
    for (step, fault) in [
        (comment(0), Fault::Hang),
        (comment(0), Fault::ApplyThenHang),
        (COMMIT, Fault::ApplyThenHang),
        (comment(1), Fault::Hang),
        (comment(2), Fault::Hang),
        (comment(2), Fault::ApplyThenHang),
    ] {
        println!("at {} {} {fault:?}", step.path, step.word);
        let story = Story::new(one_finding()).with("fix", "auto");
        step.hangs(&story, fault);
        cut_off(
            &story,
            &story.prepared(story.world.opened()),
            Signal::SIGKILL,
        );
        story.review().ended(0, "clean");
        told_once(&story);
        story.finish();
    }
}

#[test]
fn a_call_for_people_that_is_cut_off_is_made_once() {
    let label = || Step {
        method: Method::POST,
        path: LABELS,
        word: "",
        after: 0,
    };
    for (step, fault) in [
        (label(), Fault::Hang),
        (label(), Fault::ApplyThenHang),
        (comment(3), Fault::Hang),
        (comment(3), Fault::ApplyThenHang),
    ] {
        println!("at {} {fault:?}", step.path);
        let reviews = vec![vec![LOST_PAGE.raised(7)], vec![EMPTY_CART.raised(7)]];
        let story = Story::new(fixer(reviewer(reviews)))
            .with("fix", "auto")
            .with("max_fix_cycles", "1");
        step.hangs(&story, fault);
        cut_off(
            &story,
            &story.prepared(story.world.opened()),
            Signal::SIGKILL,
        );
        let ran = story.review();
        assert_eq!(ran.outputs["human_review_required"], "true", "{}", ran.log);
        let labels = story
            .world
            .github
            .pull(story.world.pull, |pull| pull.labels.clone());
        assert_eq!(labels, ["human-review-required"]);
        let seen = story.seen();
        let calls = seen
            .told
            .iter()
            .filter(|body| body.contains("exceeded max fix cycles"));
        assert_eq!(calls.count(), 1, "{:#?}", seen.told);
        story.review();
        story.seen().is_silent();
        story.finish();
    }
}

/// Two runs of these events, at once.
fn at_once(story: &Story, first: Workflow, second: Workflow) {
    let (first, mut second) = (story.prepared(first), story.prepared(second));
    let number = "4712".to_owned();
    second.variables.insert("GITHUB_RUN_ID".into(), number);
    let beside = Job::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| story.world.run_beside(&beside, &second));
        story.world.run(&first);
        other.join().expect("the other run");
    });
}

#[test]
fn two_runs_at_once_tell_the_fix_of_a_killed_one_once() {
    let story = Story::new(one_finding());
    story.review();
    story.seen();
    let asked = story.says("writer", "fix");
    COMMIT.hangs(&story, Fault::ApplyThenHang);
    cut_off(&story, &asked, Signal::SIGKILL);
    at_once(&story, story.world.opened(), story.world.opened());
    told_once(&story);
    story.finish();
}

#[test]
fn two_runs_at_once_tell_a_revert_once() {
    let story = Story::new(one_finding());
    story.review();
    story.asks("writer", "fix");
    let fix = story.head();
    story.seen();
    let message = format!("No\n\nThis reverts commit {fix}.");
    let push = story.pushes(&fix, &message, &[LOST_PAGE.unfixed()]);
    at_once(&story, push.clone(), push);
    let seen = story.seen();
    let told = seen.told.iter().filter(|one| one.contains("was reverted."));
    assert_eq!(told.count(), 1, "{:#?}", seen.told);
    story.finish();
}

#[test]
fn the_run_that_a_push_starts_leaves_the_report_to_the_run_that_pushed() {
    let story = Story::new(one_finding()).with_app();
    story.review();
    story.seen();
    let asked = story.prepared(story.says("writer", "fix"));
    comment(0).hangs(&story, Fault::Hang);
    let mut pushing = story.world.start(&asked);
    let began = Instant::now();
    let struck = |state: &mut State| state.faults.iter().any(|rule| rule.struck > 0);
    while !story.world.github.with(struck) {
        assert!(began.elapsed().as_secs() < 120, "it never came so far");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(story.seen().commits, 1);
    let beside = Job::new();
    let mut started = story.prepared(story.started());
    let number = "4712".to_owned();
    started.variables.insert("GITHUB_RUN_ID".into(), number);
    let ran = story.world.run_beside(&beside, &started);
    let told = story.seen().told;
    assert!(told.is_empty(), "{told:#?}\n{}", ran.log);
    // It is ended before it can report, and the next run does.
    let id = Pid::from_raw(i32::try_from(pushing.id()).expect("a process id"));
    kill(id, Signal::SIGTERM).expect("the signal");
    pushing.wait().expect("the end");
    story.world.github.with(State::clear_faults);
    for reports in [1, 0] {
        story.review();
        let told = story.seen().told;
        let fixed = told.iter().filter(|body| body.contains("### Fixed 1"));
        assert_eq!(fixed.count(), reports, "{told:#?}");
    }
    story.finish();
}

#[test]
fn what_cannot_be_told_fails_no_review() {
    let story = Story::new(one_finding());
    story.review();
    story.seen();
    let asked = story.says("writer", "fix");
    COMMIT.hangs(&story, Fault::ApplyThenHang);
    cut_off(&story, &asked, Signal::SIGKILL);
    let locked =
        serde_json::json!({ "message": "Unable to create comment because issue is locked." });
    let rule = |state: &mut State| {
        state.faults.push(Rule {
            method: Method::POST,
            path_prefix: COMMENTS.into(),
            body_contains: String::new(),
            after: 0,
            times: usize::MAX,
            struck: 0,
            fault: Fault::Status(403, locked),
        });
    };
    story.world.github.with(rule);
    let ran = story.review();
    ran.ended(0, "clean");
    notes(&ran, "A fix or a revert of earlier is not told yet: ");
    story.world.github.with(State::clear_faults);
    story.review();
    told_once(&story);
    story.finish();
}

#[test]
fn two_runs_at_once_make_one_commit_and_one_report() {
    let story = Story::new(one_finding()).with("fix", "auto");
    at_once(&story, story.world.opened(), story.world.opened());
    told_once(&story);
    story.finish();
}

#[test]
fn two_runs_for_one_request_at_once_make_one_commit_and_one_report() {
    let story = Story::new(one_finding());
    story.review();
    story.seen();
    let asked = story.says("writer", "fix");
    at_once(&story, asked.clone(), asked);
    told_once(&story);
    story.finish();
}

#[test]
fn two_requests_at_once_make_one_commit_and_one_report() {
    let story = Story::new(one_finding());
    story.world.github.permit("maintainer", "write");
    story.review();
    story.seen();
    let asked = [story.says("writer", "fix"), story.says("maintainer", "fix")];
    let [first, second] = asked;
    at_once(&story, first, second);
    told_once(&story);
    story.finish();
}

#[test]
fn a_fix_that_is_stopped_while_the_fixer_works_is_not_pushed() {
    let story = Story::new(Script::new());
    let (began, begins) = std::sync::mpsc::channel();
    let (stopped, stops) = std::sync::mpsc::channel();
    let script = reviewer(vec![vec![LOST_PAGE.raised(7)]]).fix(move |_| {
        began.send(()).expect("the story goes on");
        stops.recv().expect("the story goes on");
        Vec::new()
    });
    story.world.model.becomes(fixer(script).into_behaviour());
    story.review();
    story.seen();
    let asked = story.says("writer", "fix");
    let stop = story.says("writer", "fix stop");
    let beside = Job::new();
    let world = &story.world;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            begins.recv().expect("the fixer works");
            world.run_beside(&beside, &stop);
            stopped.send(()).expect("the fixer waits");
        });
        let ran = story.run(asked);
        assert_eq!(steps(&ran), ["fix_created", "fix_failed"], "{}", ran.log);
    });
    let seen = story.seen();
    assert_eq!(seen.commits, 0, "{seen:#?}");
    let why = "Nothing was fixed: somebody stopped it while the fixer worked.";
    assert_eq!(seen.told.len(), 2, "{seen:#?}");
    assert!(seen.told[1].contains(why), "{}", seen.told[1]);
    story.finish();
}
