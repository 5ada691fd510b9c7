//! Our side: the built binary as the runner starts it, between the two stand-ins.

use super::measure::{self, Measured, Times};
use super::script;
use super::standin::world::World;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::io::{Read as _, Seek as _};
use std::process::Command;
use std::time::Instant;

pub fn run() -> Result<Measured> {
    Ok(run_as(|command| command)?.0)
}

/// As another command, made from the usual one. Gives the report besides.
pub fn run_as(other: impl FnOnce(Command) -> Command) -> Result<(Measured, Value)> {
    let times = Times::default();
    let world = World::with(&[], times.noting(script::reviewer().into_behaviour()));
    let mut workflow = world.opened();
    // Waits as in production: whatever we pause for counts.
    workflow
        .variables
        .insert("OPENCODE_REVIEWER_TIME_SCALE".into(), "1".into());
    let mut log = tempfile::tempfile()?;
    let mut command = other(world.command(&workflow, &["action"]));
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let begun = Instant::now();
    let child = command.spawn().context("starting the reviewer")?;
    let ended = measure::wait(child)?;
    let mut said = String::new();
    log.rewind()?;
    log.read_to_string(&mut said)?;
    ensure!(ended.status.success(), "the review failed:\n{said}");
    let (first_request, last_request) = times.since(begun)?;
    let report = std::fs::read(world.workspace().join("opencode-review.json"));
    let measured = Measured {
        wall: ended.at - begun,
        cpu: ended.cpu,
        first_request,
        last_request,
        requests: world.model.requests(),
        github_requests: world.github.requests().len(),
        staged: world.github.with(|state| state.comments.len()),
    };
    Ok((
        measured,
        serde_json::from_slice(&report.context("the report")?)?,
    ))
}
