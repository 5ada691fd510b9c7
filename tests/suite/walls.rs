//! The sandbox, from inside and from outside: what an intruder in the sidecar's place can do, and what a run says
//! on a kernel that offers less.

use crate::secrets::processes_below;
use crate::standin::model::Script;
use crate::standin::world::{Ran, Workflow, World, open_folder, through};
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A program of `tests/walls`, which cargo builds with the tests.
pub fn program(name: &str) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
    let program = built.with_file_name("examples").join(name);
    assert!(program.is_file(), "run `cargo build --examples` first");
    program
}

/// A run on a kernel that lacks things; see `tests/walls/lacking.rs`.
fn run_lacking(world: &World, workflow: &Workflow, features: &str) -> Ran {
    world.run_with(workflow, |command| {
        through(&program("lacking"), features, &command)
    })
}

/// What the intruder reports, by the name of what it tried. Everything it might want lies open to every user, so
/// that nothing but the walls keeps it.
fn outcomes(features: &str) -> HashMap<String, String> {
    let world = World::shop(Script::new());
    let anybody =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let workspace = world.workspace();
    let runner = workspace.parent().unwrap().to_owned();
    fs::create_dir(workspace.join(".git")).unwrap();
    for (file, text) in [
        ("workspace/secret.txt", "canary"),
        (
            "workspace/.git/config",
            "[http]\n\textraheader = AUTHORIZATION: basic canary\n",
        ),
        ("temp/token", "canary"),
    ] {
        fs::write(runner.join(file), text).unwrap();
        anybody(&runner.join(file), 0o666);
    }
    for folder in ["workspace", "workspace/.git", "temp"] {
        anybody(&runner.join(folder), 0o777);
    }
    let _socket = UnixListener::bind(runner.join("docker.sock")).unwrap();
    anybody(&runner.join("docker.sock"), 0o666);
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    let programs = open_folder();
    let intruder = programs.path().join(format!("escape-{port}"));
    fs::copy(program("escape"), &intruder).unwrap();

    let mut workflow = world.opened();
    let path = intruder.display().to_string();
    workflow.variables.insert("OPENCODE_BIN".into(), path);
    let ran = run_lacking(&world, &workflow, features);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    assert!(!ran.log.contains("canary"), "{}", ran.log);
    fs::remove_file(runner.join("temp/token")).unwrap();
    world.finish();
    let log = ran.log.replace("%3A", ":").replace("%25", "%");
    let line = log.split("read-libraries=").nth(1).expect(&ran.log);
    let line = format!("read-libraries={}", line.lines().next().unwrap());
    line.split("; ")
        .map(|entry| entry.split_once('=').expect(entry))
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect()
}

/// What has to work, or the rest would prove nothing.
const ALLOWED: [&str; 6] = [
    "read-libraries",
    "read-snapshot",
    "write-home",
    "write-null",
    "tcp-ours",
    "unix-pair",
];

/// What is a fact and no attempt.
const FACTS: [&str; 6] = [
    "user",
    "capabilities",
    "bounding",
    "no-new-privileges",
    "core",
    "environment",
];

#[test]
fn an_intruder_in_the_sidecars_place_gets_nowhere() {
    let outcomes = outcomes("nothing");
    for (name, outcome) in &outcomes {
        if ALLOWED.contains(&name.as_str()) {
            assert_eq!(outcome, "done", "{name}");
        } else if !FACTS.contains(&name.as_str()) {
            assert!(
                ["EACCES", "EPERM", "ENOSYS"].contains(&outcome.as_str()),
                "{name}: {outcome}"
            );
        }
    }
    assert!(outcomes.len() > 60, "{outcomes:?}");
    assert_eq!(outcomes["capabilities"], "Ok(0)");
    assert_eq!(outcomes["no-new-privileges"], "Ok(true)");
    assert_eq!(outcomes["core"], "Ok((0, 0))");
    let variables = "HOME,LANG,OPENCODE_CONFIG_CONTENT,OPENCODE_DISABLE_AUTOUPDATE,OPENCODE_DISABLE_CLAUDE_CODE,\
        OPENCODE_DISABLE_DEFAULT_PLUGINS,OPENCODE_DISABLE_EXTERNAL_SKILLS,OPENCODE_DISABLE_LSP_DOWNLOAD,\
        OPENCODE_DISABLE_MODELS_FETCH,OPENCODE_DISABLE_PROJECT_CONFIG,OPENCODE_PURE,OPENCODE_SERVER_PASSWORD,PATH,TMPDIR,\
        XDG_CACHE_HOME,XDG_CONFIG_HOME,XDG_DATA_HOME,XDG_STATE_HOME";
    assert_eq!(outcomes["environment"], variables);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(outcomes["user"], "65534:65534");
        assert_eq!(outcomes["bounding"], "Ok(0)");
    }
}

#[test]
fn each_wall_stands_without_the_other() {
    let same_user = outcomes("user");
    for name in [
        "read-passwd",
        "read-environ-self",
        "read-environ-parent",
        "read-workspace",
        "write-tmp",
        "tcp-foreign",
    ] {
        assert_eq!(same_user[name], "EACCES", "{name}");
    }
    assert_eq!(same_user["signal-parent"], "EPERM");
    assert_eq!(same_user["capabilities"], "Ok(0)");
    let without_landlock = outcomes("landlock");
    for name in [
        "udp",
        "mptcp",
        "unix",
        "io-uring",
        "ptrace-parent",
        "become-root",
        "unshare-user",
        "mount",
    ] {
        assert_eq!(without_landlock[name], "EPERM", "{name}");
    }
    if nix::unistd::geteuid().is_root() {
        assert_eq!(without_landlock["read-environ-parent"], "EACCES");
        assert_eq!(without_landlock["write-snapshot"], "EACCES");
    }
}

#[test]
fn a_kernel_that_offers_less_is_named_and_the_review_goes_on() {
    for (lacking, sentence) in [
        (
            "landlock",
            "The sandbox lacks Landlock (this kernel does not have it): it can read what its user can read, and connect \
             to any address.",
        ),
        (
            "user",
            "The sandbox lacks another user (EPERM: Operation not permitted): it runs as the superuser.",
        ),
        ("calls", "The sandbox lacks the filter of system calls"),
    ] {
        if lacking == "user" && !nix::unistd::geteuid().is_root() {
            continue;
        }
        let world = World::shop(Script::new()).quick();
        let ran = run_lacking(&world, &world.opened(), lacking);
        ran.ended(0, "clean");
        let warnings = ran.annotations("warning");
        assert!(
            warnings.iter().any(|said| said.starts_with(sentence)),
            "{}",
            ran.log
        );
        assert!(ran.summary.contains(sentence), "{}", ran.summary);
        let report = &ran.report.unwrap()["sandbox"];
        assert_eq!(report["complete"], false);
        assert_eq!(report["missing"].as_array().unwrap().len(), 1);
        world.github.expect_check_run();
        world.finish();
    }
}

#[test]
fn what_is_required_and_not_there_ends_the_run_before_the_model_is_asked() {
    for (lacking, why) in [
        (
            "landlock",
            "The sandbox lacks Landlock (this kernel does not have it)",
        ),
        (
            "user",
            "The sandbox lacks another user (EPERM: Operation not permitted): it runs as the superuser.",
        ),
        ("calls", "The sandbox lacks the filter of system calls"),
    ] {
        if lacking == "user" && !nix::unistd::geteuid().is_root() {
            continue;
        }
        let world = World::shop(Script::new()).quick();
        let mut workflow = world.opened();
        workflow
            .inputs
            .insert("require_sandbox".into(), "true".into());
        let ran = run_lacking(&world, &workflow, lacking);
        assert_eq!(ran.code, Some(2), "{}", ran.log);
        let errors = ran.annotations("error");
        let begins =
            format!("Input require_sandbox is true, and the sandbox is not complete. {why}");
        assert!(
            errors.iter().any(|error| error.starts_with(&begins)),
            "{errors:?}"
        );
        assert!(world.model.requests().is_empty());
        world.finish();
    }
}

#[test]
fn a_whole_review_runs_behind_complete_walls_where_they_are_required() {
    let world = World::shop(Script::new());
    let mut workflow = world.opened();
    workflow
        .inputs
        .insert("require_sandbox".into(), "true".into());
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    assert!(
        ran.log.contains("The sandbox is complete: user "),
        "{}",
        ran.log
    );
    assert_eq!(ran.report.unwrap()["sandbox"]["complete"], true);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_sidecar_that_is_killed_in_a_pass_is_named_as_the_reason() {
    let run = Arc::new(Mutex::new(0));
    let of = Arc::clone(&run);
    let script = Script::new().pass(2, move |_| {
        kill_sidecar(*of.lock().unwrap());
        vec![]
    });
    let world = World::shop(script);
    let ran = world.run_watched(&world.opened(), |id| *run.lock().unwrap() = id);
    ran.ended(2, "incomplete");
    let errors = ran.annotations("error");
    let reason = "Pass 2 of 4 failed: OpenCode ended (signal: 9 (SIGKILL)";
    assert!(
        errors.iter().any(|error| error.starts_with(reason)),
        "{errors:?}"
    );
    world.github.expect_check_run();
    world.finish();
}

fn kill_sidecar(run: u32) {
    use nix::sys::signal::{Signal, kill};
    let mut sidecars = processes_below(run).into_iter();
    let sidecar = sidecars.find(|process| process.name == "opencode");
    let id = i32::try_from(sidecar.expect("the sidecar runs").id).unwrap();
    kill(nix::unistd::Pid::from_raw(id), Signal::SIGKILL).unwrap();
}
