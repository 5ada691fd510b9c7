//! `make image-test`: the built image, started as GitHub's runner starts it, reviews the example pull request of the demo
//! between the stand-ins, with the OpenCode that is inside it; then it is stopped in the middle of another review.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "edge: a program for a terminal, with the stand-ins of the tests inside"
)]

mod container;
#[allow(dead_code, reason = "the demo prints more of them")]
#[path = "../../examples/demo/findings.rs"]
mod findings;
mod runc;
#[path = "../../examples/demo/script.rs"]
mod script;
#[allow(
    unused_imports,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]
#[path = "../standin/mod.rs"]
mod standin;

use container::{Container, Image};
use findings::{INJECTION, LAYER, PAGE_COUNT};
use standin::github::Write;
use standin::model::Answer;
use standin::shop;
use standin::world::{Ran, Workflow, World};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// What GitHub asks of an image, and what we promise of ours.
#[test]
#[ignore = "needs the image: make image-test"]
fn the_image_keeps_the_rules_of_github() {
    let config = Image::from_environment().config;
    let text = |name: &str| config[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("User"), "", "GitHub wants no USER");
    assert!(
        ["", "/"].contains(&text("WorkingDir").as_str()),
        "GitHub wants no WORKDIR"
    );
    let entry = config["Entrypoint"][0].as_str().expect("an ENTRYPOINT");
    assert!(entry.starts_with('/'), "an absolute ENTRYPOINT: {entry}");
    for label in ["title", "description", "licenses", "version", "source"] {
        let name = format!("org.opencontainers.image.{label}");
        assert!(config["Labels"][&name].is_string(), "{name}");
    }
    println!("image: the entry is {entry}, no USER, no WORKDIR, labels in place");
}

#[test]
#[ignore = "needs the image: make image-test"]
fn the_image_reviews_within_a_complete_sandbox() {
    let image = Image::from_environment();
    let mut reviewer = script::reviewer().into_behaviour();
    let (sender, asked) = channel();
    let world = World::with(&[], move |request| {
        let _nobody_waits_any_more = sender.send(Instant::now());
        reviewer(request)
    });
    let (mut begun, mut running) = (Instant::now(), None);
    let ran = world.run_with(&workflow(&world), |command| {
        let (container, start) = Container::of(&image, &command);
        running = Some(container);
        begun = Instant::now();
        start
    });
    drop(running);
    let took = begun.elapsed();
    assert_eq!(
        (ran.code, ran.status()),
        (Some(0), "blocking"),
        "{}",
        ran.log
    );
    judge_comments(&world);
    judge_sandbox(&ran);
    assert!(ran.summary.contains("OpenCode"), "{}", ran.summary);
    image.has_nothing_left();
    world.github.take_writes();
    world.finish();
    let first = asked.recv().expect("a request") - begun;
    println!(
        "review: {} ms from the start to the first model request, {} ms in all",
        first.as_millis(),
        took.as_millis()
    );
}

fn judge_comments(world: &World) {
    let comments = world.github.with(|state| state.comments.clone());
    for finding in [PAGE_COUNT, LAYER, INJECTION] {
        let line = u64::from(shop::line_of(finding.file, finding.code));
        assert!(
            comments.iter().any(|comment| comment.path == finding.file
                && comment.line == Some(line)
                && comment.side == "RIGHT"),
            "no comment stands at {}:{line}",
            finding.file
        );
    }
    println!("review: {} findings at their lines", comments.len());
}

/// It was required, so there is no review without it; and it is said.
fn judge_sandbox(ran: &Ran) {
    let report = ran.report.as_ref().expect("a report in the workspace");
    assert_eq!(report["sandbox"]["complete"], true, "{report}");
    let said = ran
        .log
        .lines()
        .find(|line| line.contains("The sandbox is complete"));
    println!("review: {}", said.expect("a line about the sandbox").trim());
}

#[test]
#[ignore = "needs the image: make image-test"]
fn the_image_ends_by_itself_when_it_is_stopped_and_posts_nothing() {
    let image = Image::from_environment();
    let (sender, asked): (Sender<()>, Receiver<()>) = channel();
    let world = World::with(&[], move |_| {
        let _nobody_waits_any_more = sender.send(());
        Answer::Stall
    });
    let (told, stopped) = channel();
    let ran = world.run_with(&workflow(&world), |command| {
        let (container, start) = Container::of(&image, &command);
        std::thread::spawn(move || {
            asked.recv().expect("a request");
            let _gone = told.send(Instant::now());
            container.stop();
        });
        start
    });
    let took = stopped.recv().expect("it was stopped").elapsed();
    assert_eq!(ran.code, Some(143), "{}", ran.log);
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("cancelled"));
    assert_eq!(world.github.take_writes(), Vec::<Write>::new());
    image.has_nothing_left();
    world.finish();
    println!(
        "stop: code 143, nothing posted, the check is cancelled, {} ms after SIGTERM",
        took.as_millis()
    );
}

/// As a careful user writes it, at the pace of the real clock.
fn workflow(world: &World) -> Workflow {
    let mut workflow = world.opened();
    let required = ("require_sandbox".to_owned(), "true".to_owned());
    workflow.inputs.extend([required]);
    let scale = ("OPENCODE_REVIEWER_TIME_SCALE".to_owned(), "1".to_owned());
    workflow.variables.extend([scale]);
    workflow
}
