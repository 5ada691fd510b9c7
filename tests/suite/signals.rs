//! A run that the runner ends, in each of its phases: it ends at once, leaves no process and no half-done thing, says
//! what it had found, and the next run completes the work.

use crate::review::{layer_bypassed, lost_page, post};
use crate::secrets::processes_below;
use crate::standin::github::{Fault, State, Write};
use crate::standin::model::{Answer, Script};
use crate::standin::world::World;
use http::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::time::{Duration, Instant};

fn two() -> Script {
    Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| vec![post(layer_bypassed(7))])
}

/// Starts a run, ends it as soon as `reached` says so, and looks at what it leaves. Returns its report.
fn ended(world: &World, signal: Signal, reached: impl Fn(&World) -> bool) -> Option<Value> {
    let mut child = world.start(&world.opened().quick());
    let started = Instant::now();
    while !reached(world) {
        assert!(started.elapsed().as_secs() < 60, "it never came so far");
        std::thread::sleep(Duration::from_millis(10));
    }
    let below = processes_below(child.id());
    let id = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(id, signal).expect("the signal");
    let code = child.wait().expect("the end").code();
    assert_eq!(code, Some(128 + signal as i32));
    for process in below.iter().skip(1) {
        let gone = || !std::path::Path::new(&format!("/proc/{}", process.id)).exists();
        let ending = Instant::now();
        while !gone() && ending.elapsed().as_secs() < 10 {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(gone(), "{} is still there", process.name);
    }
    assert_eq!(world.left_over(), Vec::<std::path::PathBuf>::new());
    let report = std::fs::read(world.workspace().join("opencode-review.json")).ok()?;
    serde_json::from_slice(&report).ok()
}

/// The run after it says everything, once; and no check is left in progress.
fn the_next_run_completes(world: World) {
    world.github.with(State::clear_faults);
    world.model.becomes(two().into_behaviour());
    let ran = world.run(&world.opened().quick());
    ran.ended(0, "findings");
    let mut files: Vec<String> = world
        .github
        .comments()
        .into_iter()
        .map(|one| one.path)
        .collect();
    files.sort();
    assert_eq!(files, ["src/page.ts", "src/ui/cart.ts"]);
    let open = world.github.with(|state| {
        let unfinished = |run: &&crate::standin::github::CheckRun| run.conclusion.is_none();
        state.check_runs.iter().filter(unfinished).count()
    });
    assert_eq!(open, 0, "a check run is still in progress");
    world.github.take_writes();
    world.finish();
}

fn asked(world: &World, method: &Method, path: &str) -> bool {
    world.github.count(method, path) > 0
}

const FILES: &str = "/repos/octo/shop/pulls/1/files";
const REVIEWS: &str = "/repos/octo/shop/pulls/1/reviews";
const CHECKS: &str = "/repos/octo/shop/check-runs/";

#[test]
fn g11_a_run_that_is_ended_while_it_reads_leaves_nothing() {
    let world = World::shop(two());
    world.github.on(Method::GET, FILES, 1, Fault::Hang);
    let report = ended(&world, Signal::SIGTERM, |world| {
        asked(world, &Method::GET, FILES)
    });
    assert_eq!(report, None);
    assert_eq!(world.github.take_writes(), Vec::<Write>::new());
    the_next_run_completes(world);
}

#[test]
fn g11_a_run_that_is_ended_while_the_sidecar_starts_leaves_no_process() {
    let world = World::shop(two());
    world.github.on(Method::GET, FILES, 1, Fault::Hang);
    ended(&world, Signal::SIGINT, |world| {
        asked(world, &Method::GET, "/repos/octo/shop/pulls/1")
    });
    assert_eq!(world.github.take_writes(), Vec::<Write>::new());
    the_next_run_completes(world);
}

/// Ended in this pass, by a model that never answers there.
fn ended_in_pass(pass: u8) {
    let mut script = two().into_behaviour();
    let world = World::with(&[], move |request| {
        if request.pass() == Some(pass) {
            return Answer::Stall;
        }
        script(request)
    });
    let in_pass = move |world: &World| {
        let requests = world.model.requests();
        let last = requests.last().map(ToString::to_string).unwrap_or_default();
        last.contains(&format!("Pass {pass} of 4"))
    };
    let report = ended(&world, Signal::SIGTERM, in_pass);
    let findings = report.map_or(0, |report| {
        report["findings"].as_array().map_or(0, Vec::len)
    });
    assert_eq!(
        findings,
        usize::from(pass - 1).min(2),
        "what was found is in the report"
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("cancelled"));
    assert_eq!(
        world.github.take_writes(),
        Vec::<Write>::new(),
        "nothing was posted"
    );
    the_next_run_completes(world);
}

#[test]
fn g11_a_run_that_is_ended_in_pass_1_posts_nothing() {
    ended_in_pass(1);
}

#[test]
fn g11_a_run_that_is_ended_in_pass_2_posts_nothing() {
    ended_in_pass(2);
}

#[test]
fn g11_a_run_that_is_ended_in_pass_3_posts_nothing() {
    ended_in_pass(3);
}

#[test]
fn g11_a_run_that_is_ended_in_pass_4_posts_nothing() {
    ended_in_pass(4);
}

#[test]
fn g11_a_run_that_is_ended_before_its_review_arrives_is_completed_by_the_next() {
    let world = World::shop(two());
    world.github.on(Method::POST, REVIEWS, 1, Fault::Hang);
    ended(&world, Signal::SIGTERM, |world| {
        asked(world, &Method::POST, REVIEWS)
    });
    world.github.take_writes();
    the_next_run_completes(world);
}

#[test]
fn g11_a_run_that_is_ended_after_its_review_arrived_is_not_repeated_by_the_next() {
    let world = World::shop(two());
    world
        .github
        .on(Method::POST, REVIEWS, 1, Fault::ApplyThenHang);
    ended(&world, Signal::SIGTERM, |world| {
        asked(world, &Method::POST, REVIEWS)
    });
    world.github.take_writes();
    the_next_run_completes(world);
}

#[test]
fn g11_a_run_that_is_ended_while_it_concludes_is_not_green_and_is_completed() {
    let world = World::shop(two());
    world.github.on(Method::PATCH, CHECKS, 1, Fault::Hang);
    ended(&world, Signal::SIGTERM, |world| {
        asked(world, &Method::PATCH, CHECKS)
    });
    world.github.take_writes();
    the_next_run_completes(world);
}
