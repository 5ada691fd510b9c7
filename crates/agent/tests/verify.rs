//! Commands that verify a fix, in their sandbox: toy projects pass and fail as they should, and an intruder gets nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "edge: tests lay out projects, and stop at the first surprise"
)]

use reviewer_agent::opencode::Quota;
use reviewer_agent::verify::{CheckSpec, run};
use reviewer_core::verification::{CommandOutcome, CommandResult, CommandRun, Ending};
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A program of `examples/`, which cargo builds with the tests.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(program.is_file(), "run `cargo build --examples` first");
    program
}

struct Project {
    dir: TempDir,
    spec: CheckSpec,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let folder = dir.path().join("check");
        for (path, text) in files {
            let path = folder.join("tree").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(folder.join("tree")).unwrap();
        let launcher = dir.path().join("confine");
        fs::copy(example("confine"), &launcher).unwrap();
        let spec = CheckSpec {
            launcher,
            commands: Vec::new(),
            folder,
            read: Vec::new(),
            execute: Vec::new(),
            timeout: Duration::from_mins(3),
            require_sandbox: false,
            quota: Quota::BUILD,
            other_than: None,
        };
        Self { dir, spec }
    }

    fn tree(&self) -> PathBuf {
        self.spec.folder.join("tree")
    }

    async fn run(&self, commands: &[&[&str]]) -> CommandRun {
        let owned = |command: &&[&str]| command.iter().map(|&one| one.to_owned()).collect();
        let mut spec = self.spec.clone();
        spec.commands = commands.iter().map(owned).collect();
        let secret = SecretString::from("hunter2-is-no-password");
        run(&spec, &Redactor::new([&secret])).await.unwrap()
    }
}

fn sentences(run: &CommandRun) -> Vec<String> {
    run.results.iter().map(CommandResult::sentence).collect()
}

fn outputs(run: &CommandRun) -> String {
    let outputs = run.results.iter().map(|one| one.output.as_str());
    outputs.collect::<Vec<_>>().join("\n---\n")
}

/// Says why a test has nothing to run, where a tool is missing.
fn has(program: &str) -> bool {
    let found = Path::new("/usr/bin").join(program).is_file();
    if !found {
        println!("skipped: /usr/bin/{program} is not installed");
    }
    found
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[tokio::test]
async fn make_compiles_and_tests_and_a_failing_test_fails() {
    if !(has("make") && has("cc")) {
        return;
    }
    let project = Project::new(&[
        (
            "Makefile",
            "test: a.out\n\t./a.out\nbroken:\n\tfalse\na.out: main.c\n\tcc main.c\n",
        ),
        (
            "main.c",
            "#include <stdio.h>\nint main(void) { puts(\"it works\"); return 0; }\n",
        ),
    ]);
    let ran = project.run(&[&["make", "test"], &["make", "broken"]]).await;
    assert_eq!(
        sentences(&ran),
        [
            "`make test` passed.",
            "`make broken` failed with exit code 2."
        ],
        "{}",
        outputs(&ran)
    );
    assert!(
        ran.results[0].output.contains("it works"),
        "{}",
        outputs(&ran)
    );
    assert_eq!(ran.gaps, <Vec<String>>::new());
}

/// The toolchain, where the user of the commands can read it: rustup puts it below a home that is closed to others.
fn rust(place: &Path) -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().filter(|output| output.status.success())?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).ok()?.trim());
    let toolchain = place.join("toolchain");
    fs::create_dir(&toolchain).unwrap();
    let linked = Command::new("cp")
        .arg("-al")
        .args([sysroot.join("bin"), sysroot.join("lib")])
        .arg(&toolchain)
        .output();
    linked
        .is_ok_and(|output| output.status.success())
        .then_some(toolchain)
}

#[tokio::test]
async fn cargo_builds_and_tests_offline() {
    let manifest = "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let code = "pub fn two() -> u32 { 2 }\n#[test]\nfn good() { assert_eq!(two(), 2); }\n#[test]\nfn bad() { assert_eq!(two(), 3); }\n";
    let build = "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n";
    let lock = "version = 3\n\n[[package]]\nname = \"toy\"\nversion = \"0.1.0\"\n";
    let mut project = Project::new(&[
        ("Cargo.toml", manifest),
        ("Cargo.lock", lock),
        ("build.rs", build),
        ("src/lib.rs", code),
    ]);
    let Some(toolchain) = rust(project.dir.path()) else {
        println!("skipped: there is no rustc, or its files cannot be linked");
        return;
    };
    project.spec.execute.push(toolchain);
    let test = ["cargo", "test", "--offline", "--lib", "--"];
    let (good, bad) = (
        [&test[..], &["good"]].concat(),
        [&test[..], &["bad"]].concat(),
    );
    let ran = project.run(&[&good, &bad]).await;
    assert_eq!(
        sentences(&ran),
        [
            "`cargo test --offline --lib -- good` passed.",
            "`cargo test --offline --lib -- bad` failed with exit code 101."
        ],
        "{}",
        outputs(&ran)
    );
}

#[tokio::test]
async fn npm_runs_scripts_and_a_test_with_a_server_of_its_own_where_there_is_a_network() {
    if !(has("npm") && has("node")) {
        return;
    }
    let package = r#"{"name":"toy","version":"1.0.0","scripts":{"test":"node --test","lint":"exit 3","server":"node server.js"}}"#;
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(1 + 1, 2));\n";
    let server = "const net = require('node:net');\nconst s = net.createServer(c => c.end('hi'));\ns.listen(0, '127.0.0.1', () => net.connect(s.address().port, '127.0.0.1').on('data', d => { console.log(String(d)); s.close(); }));\n";
    let project = Project::new(&[
        ("package.json", package),
        ("a.test.js", test),
        ("server.js", server),
    ]);
    let commands: [&[&str]; 3] = [
        &["npm", "test"],
        &["npm", "run", "lint"],
        &["npm", "run", "server"],
    ];
    let ran = project.run(&commands).await;
    let [test, lint, server] = &sentences(&ran)[..] else {
        panic!("{ran:?}");
    };
    assert_eq!(test, "`npm test` passed.", "{}", outputs(&ran));
    assert_eq!(
        lint,
        "`npm run lint` failed with exit code 3.",
        "{}",
        outputs(&ran)
    );
    let passed = server == "`npm run server` passed.";
    assert_eq!(passed, ran.no_loopback.is_none(), "{}", outputs(&ran));
}

#[tokio::test]
async fn what_cannot_be_run_is_told_in_a_sentence() {
    let mut project = Project::new(&[("data.txt", "x"), ("run.sh", "#!/no/such/shell\n")]);
    let run = project.tree().join("run.sh");
    fs::set_permissions(&run, Permissions::from_mode(0o755)).unwrap();
    let elsewhere = project.dir.path().join("elsewhere");
    fs::copy("/usr/bin/true", &elsewhere).unwrap();
    project.spec.timeout = Duration::from_secs(20);
    let outside = elsewhere.display().to_string();
    let commands: [&[&str]; 7] = [
        &["no-such-program"],
        &["make test"],
        &["./data.txt"],
        &["./missing.sh"],
        &["./run.sh"],
        &[&outside],
        &["true"],
    ];
    let ran = project.run(&commands).await;
    let told = sentences(&ran);
    let parts = [
        "`no-such-program` was not run: no-such-program was not found in /usr/local/sbin:",
        "write the program and each argument as a text of its own, because there is no shell.",
        "data.txt is not executable.",
        "`./missing.sh` was not run: the repository has no file ./missing.sh.",
        "run.sh cannot be executed: No such file or directory (os error 2).",
        "lies outside of what the commands may execute; name its folder in fix.verify_exec.",
        "`true` passed.",
    ];
    for (sentence, part) in told.iter().zip(parts) {
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[tokio::test]
async fn what_kills_itself_never_ends_or_takes_too_much_has_failed_and_nothing_of_it_is_left() {
    let mut project = Project::new(&[]);
    project.spec.timeout = Duration::from_secs(8);
    project.spec.quota.memory = 200 << 20;
    let hungry = [
        "python3",
        "-c",
        "import time; x = bytearray(400 << 20); time.sleep(1000)",
    ];
    let mut commands: Vec<&[&str]> = vec![&["sh", "-c", "kill -KILL $$"]];
    if has("python3") {
        commands.push(&hungry);
    }
    commands.push(&["sh", "-c", "sleep 4711 & echo begun; wait"]);
    commands.push(&["true"]);
    let ran = project.run(&commands).await;
    let outcomes: Vec<&CommandOutcome> = ran.results.iter().map(|one| &one.outcome).collect();
    let failed = |ending| CommandOutcome::Failed(ending);
    assert_eq!(*outcomes[0], failed(Ending::Signal("SIGKILL".into())));
    let [.., late, after] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(**late, failed(Ending::TimedOut(1)));
    let over = "the 1 min that all commands have were over".to_owned();
    assert_eq!(**after, CommandOutcome::NotRun(over));
    if outcomes.len() == 4 {
        let CommandOutcome::Failed(Ending::TookTooMuch(what)) = outcomes[1] else {
            panic!("{outcomes:?}");
        };
        assert!(what.ends_with("more than the 200 MiB it may"), "{what}");
    }
    assert!(outputs(&ran).contains("begun"), "{}", outputs(&ran));
    assert_gone("sleep\u{0}4711");
}

#[tokio::test]
async fn a_run_that_is_cut_off_leaves_no_process_behind() {
    let project = Project::new(&[]);
    let begun = project.tree().join("begun");
    let script: &[&str] = &["sh", "-c", "sleep 4712 & touch begun; wait"];
    tokio::select! {
        ran = project.run(std::slice::from_ref(&script)) => panic!("{ran:?}"),
        () = async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => {}
    }
    assert_gone("sleep\u{0}4712");
}

/// Waits for the end of all processes with these arguments, which were killed and may take a moment to be gone.
fn assert_gone(arguments: &str) {
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !is_running(arguments)
    });
    assert!(gone, "{arguments:?} is still there");
}

fn is_running(arguments: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(arguments))
}

#[tokio::test]
async fn the_output_is_the_last_part_without_secrets_and_hidden_characters() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo \"line $i of many\"; i=$((i+1)); done; printf '\\033[31mred\\033[0m\\n'; \
                  echo hunter2-is-no-password; echo error 1>&2; env | sort; pwd";
    let project = Project::new(&[]);
    let ran = project.run(&[&["sh", "-c", script]]).await;
    let output = &ran.results[0].output;
    assert!(
        (15_000..=16_000).contains(&output.len()),
        "{}",
        output.len()
    );
    assert!(output.starts_with("line "), "{output}");
    let end = output.split("\nred\n").nth(1).expect(output);
    let lines: Vec<&str> = end.lines().collect();
    assert_eq!(lines[..2], ["[redacted: secret of this run]", "error"]);
    let folder = fs::canonicalize(&project.spec.folder).unwrap();
    let folder = folder.display().to_string();
    let expected = [
        "CI=1".to_owned(),
        format!("HOME={folder}/home"),
        "LANG=C.UTF-8".to_owned(),
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        format!("PWD={folder}/tree"),
        format!("TMPDIR={folder}/tmp"),
        format!("{folder}/tree"),
    ];
    let variables: Vec<&str> = lines[2..]
        .iter()
        .copied()
        .filter(|line| !line.starts_with("OLDPWD"))
        .collect();
    assert_eq!(variables, expected);
}

/// Attempts that have to succeed, or the rest would prove nothing.
const ALLOWED: [&str; 8] = [
    "read-tree",
    "read-system",
    "write-tree",
    "write-home",
    "write-temporary",
    "run-built",
    "write-null",
    "unix-pair",
];

/// Entries that are facts and no attempts.
const FACTS: [&str; 7] = [
    "user",
    "environment",
    "files",
    "file-size",
    "core",
    "fork-bomb",
    "children",
];

/// Everything that is tried, apart from what has to work.
fn assert_refused(outcomes: &HashMap<&str, &str>, has_network: bool) {
    let refusals = [
        "EACCES",
        "EPERM",
        "ENOSYS",
        "EXDEV",
        "ENETUNREACH",
        "ECONNREFUSED",
    ];
    for (name, outcome) in outcomes {
        if ALLOWED.contains(name) {
            assert_eq!(*outcome, "done", "{name}");
        } else if *name == "own-loopback" {
            assert_eq!(*outcome == "done", has_network, "{outcome}");
        } else if name.starts_with("become-root") {
            // A namespace of its own does not know the superuser.
            assert!(["EPERM", "EINVAL"].contains(outcome), "{name}: {outcome}");
        } else if !FACTS.contains(name) {
            assert!(refusals.contains(outcome), "{name}: {outcome}");
        }
    }
}

#[tokio::test]
async fn an_intruder_in_place_of_the_tests_gets_nothing() {
    let ran = intrude(&Project::new(&[]), None).await;
    assert_eq!(ran.gaps, <Vec<String>>::new());
}

#[tokio::test]
async fn without_a_network_namespace_there_are_no_sockets_and_the_result_says_so() {
    let mut project = Project::new(&[]);
    let launcher = project.dir.path().join("confine-without-namespaces");
    fs::rename(&project.spec.launcher, &launcher).unwrap();
    project.spec.launcher = launcher;
    let ran = intrude(&project, None).await;
    let why = "no network namespace: EPERM: Operation not permitted";
    assert_eq!(ran.no_loopback.as_deref(), Some(why));
    assert_eq!(ran.gaps, <Vec<String>>::new());
}

#[tokio::test]
async fn an_intruder_in_a_make_file_or_a_script_of_npm_gets_nothing() {
    for command in [["make", "test"], ["npm", "test"]] {
        if has(command[0]) {
            let ran = intrude(&Project::new(&[]), Some(&command)).await;
            assert_eq!(ran.gaps, <Vec<String>>::new());
        } else {
            println!("skipped: there is no {}", command[0]);
        }
    }
}

#[tokio::test]
async fn an_intruder_in_a_test_of_cargo_gets_nothing() {
    let mut project = Project::new(&[]);
    let Some(toolchain) = rust(project.dir.path()) else {
        println!("skipped: there is no rustc, or its files cannot be linked");
        return;
    };
    project.spec.execute.push(toolchain);
    let command = ["cargo", "test", "--quiet", "--offline"];
    let ran = intrude(&project, Some(&command)).await;
    assert_eq!(ran.gaps, <Vec<String>>::new());
}

/// Projects whose tests are this command.
fn write_projects(project: &Project, command: &str) {
    let manifest = "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
         [[test]]\nname = \"toy\"\npath = \"test.rs\"\nharness = false\n";
    let test = format!(
        "fn main() {{\n    let mut words = {command:?}.split(' ');\n    \
         let program = words.next().unwrap();\n    \
         assert!(std::process::Command::new(program).args(words).status().unwrap().success());\n}}\n"
    );
    let package = format!(
        "{{\"name\":\"toy\",\"version\":\"1.0.0\",\"scripts\":{{\"test\":\"{command}\"}}}}\n"
    );
    for (path, text) in [
        ("Makefile", format!("test:\n\t@{command}\n")),
        ("package.json", package),
        ("Cargo.toml", manifest.to_owned()),
        ("test.rs", test),
    ] {
        fs::write(project.tree().join(path), text).unwrap();
    }
}

/// The names of variables are those of every command, and of `make`, `npm` and `cargo`.
fn assert_usual_variables(names: &str) {
    const KNOWN: [&str; 14] = [
        "CI",
        "HOME",
        "LANG",
        "PATH",
        "TMPDIR",
        "PWD",
        "OLDPWD",
        "_",
        "SHLVL",
        "INIT_CWD",
        "NODE",
        "COLOR",
        "EDITOR",
        "LD_LIBRARY_PATH",
    ];
    const PREFIXES: [&str; 5] = ["npm_", "MAKE", "MFLAGS", "CARGO", "SSL_CERT_"];
    let is_usual = |name: &&str| {
        KNOWN.contains(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let others: Vec<&str> = names.split(',').filter(|name| !is_usual(name)).collect();
    assert_eq!(others, Vec::<&str>::new());
}

/// Has the intruder try everything, itself or by this command, and judges what it reports.
async fn intrude(project: &Project, command: Option<&[&str]>) -> CommandRun {
    fs::copy(example("intruder"), project.tree().join("intruder")).unwrap();
    let outside = project.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let secret = outside.join("secret.txt");
    fs::write(&secret, "canary").unwrap();
    let socket = outside.join("docker.sock");
    let _listening = UnixListener::bind(&socket).unwrap();
    for path in [&secret, &socket] {
        fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
    }
    fs::set_permissions(&outside, Permissions::from_mode(0o777)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (secret, socket) = (secret.display().to_string(), socket.display().to_string());
    let attempt = format!("./intruder {secret} {port} {socket}");
    write_projects(project, &attempt);
    let direct = ["./intruder", &secret, &port, &socket];
    let ran = project.run(&[command.unwrap_or(&direct)]).await;
    assert_eq!(
        ran.results[0].outcome,
        CommandOutcome::Passed,
        "{}",
        outputs(&ran)
    );
    let line = ran.results[0].output.lines().last().unwrap_or_default();
    let mut outcomes: HashMap<&str, &str> = line
        .split("; ")
        .map(|one| one.split_once('=').expect(one))
        .collect();
    if command.is_some() {
        // Its parent is the project's own tool, which is behind the same walls and adds variables of its own.
        outcomes.retain(|name, _| !name.ends_with("-parent"));
        assert_usual_variables(outcomes["environment"]);
    }
    assert!(outcomes.len() > 50, "{outcomes:?}");
    assert_refused(&outcomes, ran.no_loopback.is_none());
    assert!(listener.accept().is_err(), "somebody was heard");
    assert_eq!(fs::read_to_string(&secret).unwrap(), "canary");
    if command.is_none() {
        assert_eq!(outcomes["environment"], "CI,HOME,LANG,PATH,TMPDIR");
    }
    assert_eq!((outcomes["files"], outcomes["core"]), ("4096", "0"));
    assert_eq!(outcomes["file-size"], (2_u64 << 30).to_string());
    if is_root() {
        assert_eq!(outcomes["fork-bomb"], "held");
        let children: u32 = outcomes["children"].parse().unwrap();
        assert!((1..512).contains(&children), "{children}");
        let user: u32 = outcomes["user"].parse().unwrap();
        assert!((61_184..=65_519).contains(&user), "{user}");
    }
    assert_gone(&format!("sleep\u{0}9{port}"));
    ran
}
