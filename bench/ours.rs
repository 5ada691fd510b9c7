//! Our side: the built binary as the runner starts it, between the two stand-ins.

use super::course::{Course, Size};
use super::measure::Measured;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::io::{Read as _, Seek as _};
use std::process::Command;

/// One run of the action for an event.
pub fn run(course: &Course, event: &Value) -> Result<Measured> {
    Ok(run_as(course, event, |command| command)?.0)
}

/// The first review of the smallest pull request, as another command, made from the usual one. Gives the report besides.
pub fn small_as(other: impl FnOnce(Command) -> Command) -> Result<(Measured, Value)> {
    let course = Course::open(Size::Small);
    run_as(&course, &course.opened(), other)
}

/// One run of the action for an event, with as many reviewers.
pub fn with_reviewers(course: &Course, event: &Value, reviewers: usize) -> Result<Measured> {
    let (measured, _) = run_as(course, event, |mut command| {
        command.env("INPUT_REVIEWERS", reviewers.to_string());
        command
    })?;
    Ok(measured)
}

fn run_as(
    course: &Course,
    event: &Value,
    other: impl FnOnce(Command) -> Command,
) -> Result<(Measured, Value)> {
    let world = &course.world;
    let mut workflow = world.workflow("pull_request", event.clone());
    // Waits as in production: whatever we pause for counts.
    workflow
        .variables
        .insert("OPENCODE_REVIEWER_TIME_SCALE".into(), "1".into());
    // With the usual 200,000 tokens the large pull request is reviewed in part only, and a part is no comparison.
    workflow
        .inputs
        .insert("model_context".into(), "1000000".into());
    let mut log = tempfile::tempfile()?;
    let mut command = other(world.command(&workflow, &["action"]));
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let (measured, status) = course.run(command)?;
    let mut said = String::new();
    log.rewind()?;
    log.read_to_string(&mut said)?;
    ensure!(status.success(), "the review failed:\n{said}");
    let report = std::fs::read(world.workspace().join("opencode-review.json"));
    let report = serde_json::from_slice(&report.context("the report")?)?;
    Ok((measured, report))
}
