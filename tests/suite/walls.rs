//! The sandbox, from inside and from outside: what an intruder in the sidecar's place can do, and what a run says
//! on a kernel that offers less.

use crate::secrets::processes_below;
use crate::standin::model::Script;
use crate::standin::world::{Ran, Workflow, World, open_folder, through};
use reviewer_agent::opencode::sandbox::SandboxSpec;
use reviewer_agent::opencode::sandbox::sockets::{self, HeldPort};
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::Read as _;
use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Listeners that nothing inside the walls may reach: one on a port of its own, and on the port of the reviewer's
/// server at other addresses, which the intruder asks for by a file in its home.
struct Outside {
    heard: Mutex<Vec<String>>,
    ended: AtomicBool,
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Outside {
    /// Runs `within` while everything that is said to the listeners is written down.
    fn watch<T>(
        foreign: &TcpListener,
        temp: &Path,
        within: impl FnOnce() -> T,
    ) -> (T, Vec<String>) {
        let outside = Self {
            heard: Mutex::default(),
            ended: AtomicBool::new(false),
        };
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| outside.listen(foreign));
            scope.spawn(|| outside.listen_elsewhere(temp));
            // Ends the listeners where `within` panics, too.
            let _ended = Ended(&outside.ended);
            within()
        });
        (answer, outside.heard.into_inner().unwrap())
    }

    fn has_ended(&self) -> bool {
        std::thread::sleep(Duration::from_millis(10));
        self.ended.load(Ordering::Relaxed)
    }

    /// Takes every connection, whether something is said or not.
    fn listen(&self, listener: &TcpListener) {
        listener.set_nonblocking(true).unwrap();
        let at = listener.local_addr().unwrap();
        loop {
            // Whatever was said before the end waits in the queue.
            let ended = self.has_ended();
            while let Ok((mut stream, _)) = listener.accept() {
                let (mut said, patience) = ([0; 64], Duration::from_secs(1));
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(patience)).unwrap();
                let read = stream.read(&mut said).unwrap_or(0);
                let said = String::from_utf8_lossy(&said[..read]).into_owned();
                self.heard.lock().unwrap().push(format!("{at}: {said}"));
            }
            if ended {
                break;
            }
        }
    }

    fn listen_elsewhere(&self, temp: &Path) {
        let home = loop {
            let folders = fs::read_dir(temp).unwrap().flatten();
            let mut homes = folders.map(|folder| folder.path().join("home"));
            match homes.find(|home| home.join("port").exists()) {
                Some(home) => break home,
                None if self.has_ended() => return,
                None => {}
            }
        };
        let port: u16 = loop {
            let asked = fs::read_to_string(home.join("port")).unwrap_or_default();
            match asked.parse() {
                Ok(port) => break port,
                Err(_) if self.has_ended() => return,
                Err(_) => {}
            }
        };
        let addresses = [IpAddr::from([127, 0, 0, 2]), "::1".parse().unwrap()];
        let listeners = addresses.map(|address| TcpListener::bind((address, port)).unwrap());
        fs::write(home.join("listening"), "").unwrap();
        std::thread::scope(|scope| {
            for listener in &listeners {
                scope.spawn(|| self.listen(listener));
            }
        });
    }
}

/// Lays everything that an intruder might want around a runner's folder, open to every user.
fn tempt(runner: &Path) -> UnixListener {
    let anybody =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    fs::create_dir_all(runner.join("workspace/.git")).unwrap();
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
    let socket = UnixListener::bind(runner.join("docker.sock")).unwrap();
    anybody(&runner.join("docker.sock"), 0o666);
    socket
}

/// What the intruder reports, by the name of what it tried, and what was heard outside. Everything it might want lies
/// open to every user, so that nothing but the walls keeps it.
fn outcomes(features: &str) -> (HashMap<String, String>, Vec<String>) {
    let world = World::shop(Script::new());
    let runner = world.workspace().parent().unwrap().to_owned();
    let _socket = tempt(&runner);
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    let programs = open_folder();
    let intruder = programs.path().join(format!("escape-{port}"));
    fs::copy(program("escape"), &intruder).unwrap();

    let mut workflow = world.opened();
    let path = intruder.display().to_string();
    workflow.variables.insert("OPENCODE_BIN".into(), path);
    let (ran, heard) = Outside::watch(&foreign, &runner.join("temp"), || {
        run_lacking(&world, &workflow, features)
    });
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    assert!(!ran.log.contains("canary"), "{}", ran.log);
    fs::remove_file(runner.join("temp/token")).unwrap();
    world.finish();
    let log = ran.log.replace("%3A", ":").replace("%25", "%");
    (reported(&log), heard)
}

/// The intruder's line, wherever it stands in a text.
fn reported(text: &str) -> HashMap<String, String> {
    let line = text.split("read-library=").nth(1).expect(text);
    let line = format!("read-library={}", line.lines().next().unwrap());
    line.split("; ")
        .map(|entry| entry.split_once('=').expect(entry))
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect()
}

/// The same intruder behind `opencode-reviewer confine` alone, with a supervisor or without: what it reports, what was
/// heard outside, and the line by which the walls were announced.
fn confined(supervised: bool) -> (HashMap<String, String>, Vec<String>, String) {
    let runner = open_folder();
    let scratch = runner.path().join("temp/reviewer-1");
    let (home, snapshot) = (scratch.join("home"), scratch.join("head"));
    for folder in [&home, &snapshot] {
        fs::create_dir_all(folder).unwrap();
    }
    let _socket = tempt(runner.path());
    fs::write(runner.path().join("event.json"), "{}").unwrap();
    let root = nix::unistd::geteuid().is_root();
    let user = root.then_some(61_999);
    std::os::unix::fs::chown(&home, user, user).unwrap();
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = server.local_addr().unwrap().port();
    let intruder = runner.path().join(format!("escape-{port}"));
    fs::copy(program("escape"), &intruder).unwrap();
    let held = HeldPort::any().unwrap();
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let walls = SandboxSpec {
        read: vec![snapshot],
        execute: std::iter::once(&intruder)
            .cloned()
            .chain(loader.map(PathBuf::from))
            .collect(),
        write: vec![home.clone()],
        listen: held.number(),
        connect: vec![ours],
        supervised,
        user,
        required: false,
        check: None,
    };
    let (channel, theirs) = UnixStream::pair().unwrap();
    sockets::supervise(channel, held, ours).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
    command
        .args(["confine", &serde_json::to_string(&walls).unwrap(), "--"])
        .arg(&intruder)
        .env_clear()
        .env("HOME", &home)
        .env(
            "OPENCODE_CONFIG_CONTENT",
            format!("http://127.0.0.1:{ours}/"),
        )
        .stdin(OwnedFd::from(theirs));
    let temp = runner.path().join("temp");
    let (output, heard) = Outside::watch(&foreign, &temp, || command.output().unwrap());
    drop(command);
    let text = String::from_utf8(output.stdout).unwrap();
    let announced = text.lines().next().unwrap_or_default().to_owned();
    (reported(&text), heard, announced)
}

/// What has to work, or the rest would prove nothing.
const ALLOWED: [&str; 7] = [
    "read-library",
    "read-snapshot",
    "write-home",
    "write-null",
    "tcp-ours",
    "listen",
    "unix-pair",
];

/// What succeeds and leads to the reviewer's own server, whatever address was named.
const DIVERTED: [&str; 4] = ["same-port", "same-port-v6", "tcp-foreign", "tcp-foreign-v6"];

/// What is a fact and no attempt.
const FACTS: [&str; 8] = [
    "listen-address",
    "processes",
    "user",
    "capabilities",
    "bounding",
    "no-new-privileges",
    "core",
    "environment",
];

#[test]
fn an_intruder_in_the_sidecars_place_gets_nowhere() {
    let (outcomes, heard) = outcomes("nothing");
    assert_eq!(heard, <Vec<String>>::new(), "{outcomes:?}");
    assert_refused(&outcomes);
    assert!(
        outcomes["listen-address"].starts_with("127.0.0.1:"),
        "{outcomes:?}"
    );
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
        let (user, group) = outcomes["user"].split_once(':').unwrap();
        assert_eq!(user, group);
        let user: u32 = user.parse().unwrap();
        assert!((61_184..=65_519).contains(&user), "{user}");
        assert_eq!(outcomes["bounding"], "Ok(0)");
        assert_eq!(outcomes["processes"], "Ok(512)");
    }
}

/// Everything that is tried, apart from what has to work.
fn assert_refused(outcomes: &HashMap<String, String>) {
    for (name, outcome) in outcomes {
        let name = name.as_str();
        if ALLOWED.contains(&name) || DIVERTED.contains(&name) {
            assert_eq!(outcome, "done", "{name}");
        } else if !FACTS.contains(&name) {
            let refusals = ["EACCES", "EPERM", "ENOSYS", "EFBIG", "EXDEV"];
            assert!(refusals.contains(&outcome.as_str()), "{name}: {outcome}");
        }
    }
}

#[test]
fn confine_alone_holds_with_a_supervisor_and_names_the_gap_without_one() {
    let (outcomes, heard, announced) = confined(true);
    assert_refused(&outcomes);
    assert_eq!(heard, <Vec<String>>::new(), "{outcomes:?}");
    assert!(announced.contains(r#""gaps":[]"#), "{announced}");
    let (outcomes, heard, announced) = confined(false);
    let gap = r#""gaps":[{"addresses":"nobody supervises them"}]"#;
    assert!(announced.contains(gap), "{announced}");
    // The gap is what it says: the number of our port, and nothing else.
    let ports: Vec<&str> = heard.iter().map(String::as_str).collect();
    assert_eq!(ports.len(), 2, "{ports:?}");
    assert_eq!(outcomes["tcp-foreign"], "EACCES");
    for name in ["fast-open-sendto", "fast-open-sendmsg", "memory-file"] {
        assert_eq!(outcomes[name], "EPERM", "{name}");
    }
}

#[test]
fn each_wall_stands_without_the_other() {
    let (same_user, heard) = outcomes("user");
    for name in [
        "read-passwd",
        "read-environ-self",
        "read-environ-parent",
        "read-workspace",
        "write-tmp",
    ] {
        assert_eq!(same_user[name], "EACCES", "{name}");
    }
    assert_eq!(heard, <Vec<String>>::new(), "{same_user:?}");
    assert_eq!(same_user["signal-parent"], "EPERM");
    assert_eq!(same_user["capabilities"], "Ok(0)");
    let (without_landlock, heard) = outcomes("landlock");
    assert_eq!(heard, <Vec<String>>::new(), "{without_landlock:?}");
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
            "The sandbox lacks Landlock (this kernel does not have it): it can read what its user can read.",
        ),
        (
            "notifications",
            "The sandbox lacks supervised sockets (Invalid argument (os error 22)): it can connect to the reviewer's port \
             number on any host, and listen on a port that the kernel chooses.",
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
        ("notifications", "The sandbox lacks supervised sockets"),
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
