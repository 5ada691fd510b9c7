//! Two reviews in one process at the same time, as a service runs them: each hides its own secrets in its own log, and
//! what the process prints for both hides the secrets of both.

use crate::standin::github::Identity;
use crate::standin::model::{Answer, Script};
use crate::standin::world::World;
use opencode_reviewer::actions::{Actions, LogRedactor};
use opencode_reviewer::commands::{self, Setup};
use reviewer_core::config::environment::Environment;
use reviewer_core::config::inputs::RawInputs;
use reviewer_system::clock::Clock;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex};

/// No scanner knows their shape: only a run to which they were given can hide them.
const SECRETS: [[&str; 3]; 2] = [
    [
        "otter.wades.4711.north",
        "heron.nests.2903.south",
        "beaver.swims.5520.east",
    ],
    [
        "maple.grows.8136.uphill",
        "cedar.leans.7042.inland",
        "birch.sways.6619.ashore",
    ],
];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A world whose model quotes the run's secrets in pass 2, while the other run is under way, too. What the process would
/// print of all secrets then is noted.
fn world(
    secrets: [&'static str; 3],
    both: &Arc<Barrier>,
    process: &LogRedactor,
    told: &Log,
) -> World {
    let (both, process, mut told) = (Arc::clone(both), process.clone(), told.clone());
    let mut script = Script::new().into_behaviour();
    let mut met = false;
    let world = World::with(&[], move |request| {
        if request.pass() != Some(2) {
            return script(request);
        }
        let words = format!("Not now, said {}.", secrets.join(" and "));
        if !std::mem::replace(&mut met, true) {
            both.wait();
            let everything = format!("The process says {}.", SECRETS.concat().join(" and "));
            told.write_all(process.clean(&everything).as_bytes())
                .unwrap();
            both.wait();
        }
        Answer::status(400, json!({ "error": { "message": words } }))
    });
    let permissions = [
        "contents:write",
        "pull-requests:write",
        "issues:write",
        "checks:write",
    ];
    world
        .github
        .token(secrets[0], Identity::github_actions(&permissions));
    world.quick()
}

/// What `main` would make of a command, with a log of our own.
fn setup(command: &Command, log: &Log, process: &LogRedactor) -> Setup {
    let variables = command.get_envs().map(|(name, value)| {
        let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
        (text(name), value.map(text).unwrap_or_default())
    });
    let variables: Vec<(String, String)> = variables.collect();
    let environment = Environment::from_vars(variables.clone());
    let (output, summary) = (environment.output.clone(), environment.step_summary.clone());
    Setup {
        actions: Actions::writing_to(Box::new(log.clone()), false, output, summary).within(process),
        inputs: RawInputs::from_vars(variables).unwrap(),
        clock: Clock::scaled(environment.time_scale).limited(environment.limit_scale),
        roots: Vec::new(),
        launcher: PathBuf::from(command.get_program()),
        persona: None,
        session: None,
        environment,
    }
}

fn command(world: &World, [token, key, state_key]: [&str; 3]) -> Command {
    let mut workflow = world.opened();
    let inputs = [
        ("github_token", token),
        ("opencode_api_key", key),
        ("state_key", state_key),
    ];
    let inputs = inputs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    workflow.inputs.extend(inputs);
    world.command(&workflow, &["action"])
}

fn hides(text: &str, place: &str) {
    for secret in SECRETS.concat() {
        assert!(!text.contains(secret), "{secret} in {place}:\n{text}");
    }
}

#[test]
fn two_reviews_in_one_process_show_neither_their_own_secrets_nor_those_of_the_other() {
    let (process, told) = (LogRedactor::default(), Log::default());
    let both = Arc::new(Barrier::new(2));
    let worlds = SECRETS.map(|secrets| world(secrets, &both, &process, &told));
    let logs = [Log::default(), Log::default()];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let codes = {
        let setup = |run: usize| setup(&command(&worlds[run], SECRETS[run]), &logs[run], &process);
        let (first, second) = (setup(0), setup(1));
        runtime
            .block_on(async { tokio::join!(commands::action(&first), commands::action(&second)) })
    };
    for (world, log) in worlds.into_iter().zip(&logs) {
        let log = log.text();
        assert_eq!(codes, (2, 2), "{log}");
        let quoted = "Pass 2 of 4 failed: Not now, said [redacted";
        assert!(log.contains(quoted), "the model's words are told:\n{log}");
        hides(&log, "a log");
        for entry in std::fs::read_dir(world.workspace()).unwrap() {
            let path = entry.unwrap().path();
            hides(
                &std::fs::read_to_string(&path).unwrap(),
                "a file of the workspace",
            );
        }
        world.github.expect_check_run();
        world.finish();
    }
    let told = told.text();
    assert_eq!(told.matches("The process says").count(), 2, "{told}");
    hides(&told, "what the process prints while both are under way");
    let everything = SECRETS.concat().join(" ");
    assert_eq!(
        process.clean(&everything),
        everything,
        "both runs have left"
    );
}
