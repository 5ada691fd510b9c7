//! A sidecar that dies, hangs, loses its events or its memory, a model that goes astray, and budgets: a review is
//! complete or says why not, and says everything once.

mod astray;
mod budgets;
mod lost;
mod real;
mod refused;

use crate::standin::model::{Call, Request};
use crate::standin::world::{Ran, Workflow, World};
use crate::walls::program;
use http::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The usual workflow with the quick sidecar.
fn quick(world: &World) -> Workflow {
    let mut workflow = world.opened();
    let sidecar = program("sidecar").display().to_string();
    workflow.variables.insert("OPENCODE_BIN".into(), sidecar);
    workflow
}

/// Sends a signal to the sidecar of a run whose temporary folder is below this one.
pub fn signal(temporary: &Path, signal: Signal) {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(at) = std::fs::read_link(entry.path().join("cwd")) else {
            continue;
        };
        let id = entry.file_name().to_string_lossy().parse::<i32>();
        if let Ok(id) = id
            && at.starts_with(temporary)
            && at.ends_with("home")
        {
            // It may just have ended.
            let _gone = kill(Pid::from_raw(id), signal);
        }
    }
}

/// A step that does something once, and nothing when it comes up again.
fn once(mut act: impl FnMut() + Send + 'static) -> impl FnMut(&Request) -> Vec<Call> + Send {
    let done = AtomicBool::new(false);
    move |_| {
        if !done.swap(true, Ordering::Relaxed) {
            act();
            return vec![Call::new("read", json!({ "filePath": "README.md" }))];
        }
        Vec::new()
    }
}

/// The run ended so, and its summary gives the reason.
fn incomplete(ran: &Ran, reason: &str) {
    ran.ended(2, "incomplete");
    let first = ran.annotations("error")[0];
    assert!(first.contains(reason), "{reason}: {first}\n{}", ran.log);
    let report = ran.report.as_ref().unwrap();
    assert!(report["reasons"].to_string().contains(reason), "{report}");
}

fn complete(ran: &Ran, status: &str) {
    assert_eq!((ran.code, ran.status()), (Some(0), status), "{}", ran.log);
}

/// How many reviews were posted; each is expected.
fn reviews(world: &World) -> usize {
    let posted = world
        .github
        .count(&Method::POST, "/repos/octo/shop/pulls/1/reviews");
    if posted > 0 {
        world.github.expect_review();
    }
    world.github.expect_check_run();
    posted
}
