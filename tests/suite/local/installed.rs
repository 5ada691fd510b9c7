//! `local` from the npm packages: made of the program, packed, installed into an empty folder without scripts, and run there with the
//! OpenCode that npm brought along. Separate, because here the files are tried that people get.

use super::{Machine, printed, three};
use crate::standin::model::Answer;
use crate::standin::world::open_folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const NAME: &str = "opencode-reviewer";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// npm's name of this machine's architecture, and cargo's of the platform.
fn platform() -> (&'static str, String) {
    let arch = std::env::consts::ARCH;
    let npm = if arch == "aarch64" { "arm64" } else { "x64" };
    (npm, format!("{arch}-unknown-linux-gnu"))
}

fn succeeded(command: &mut Command) -> String {
    let ran = command.output().expect("it starts");
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    String::from_utf8(ran.stdout).expect("text")
}

/// Makes the packages of these programs.
fn made(out: &Path, programs: &[(&str, &Path)]) {
    let programs = programs
        .iter()
        .map(|(target, program)| format!("{target}={}", program.display()));
    let mut command = Command::new("node");
    command
        .arg(root().join("packages/make.mjs"))
        .arg("--out")
        .arg(out)
        .args(programs)
        .env_remove("GITHUB_REPOSITORY");
    succeeded(&mut command);
}

fn manifest(out: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(out.join("npm").join(name).join("package.json"));
    serde_json::from_str(&text.expect("a manifest")).expect("JSON")
}

/// npm without the network and without a cache of this machine.
fn npm(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env("npm_config_cache", folder.join(".cache"))
        .env("npm_config_offline", "true")
        .env("npm_config_update_notifier", "false");
    command
}

/// An empty folder into which the packages of this very program are installed.
struct Installed(TempDir);

/// Where OpenCode and ripgrep come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Checkout,
    Registry,
}

impl Installed {
    /// From tarballs, as npm's registry would hand them out.
    fn from(source: Source) -> Self {
        let folder = open_folder();
        let (cpu, target) = platform();
        let program = folder.path().join("program");
        let mut strip = Command::new("strip");
        strip
            .arg("-o")
            .arg(&program)
            .arg(env!("CARGO_BIN_EXE_opencode-reviewer"));
        succeeded(&mut strip);
        let out = folder.path().join("dist");
        made(&out, &[(&target, &program)]);
        let of_platform = format!("{NAME}-linux-{cpu}");
        let mut dependencies = json!({});
        for name in [NAME, &of_platform] {
            let package = out.join("npm").join(name);
            let package = package.to_str().expect("a plain path");
            let packed = succeeded(&mut npm(&out, "npm", &["pack", "--json", package]));
            let packed: Value = serde_json::from_str(&packed).expect("JSON");
            let file = packed[0]["filename"].as_str().expect("a file");
            dependencies[name] = json!(format!("file:{}", out.join(file).display()));
        }
        if source == Source::Checkout {
            for name in packages_of_checkout() {
                let package = root().join("node_modules").join(&name);
                dependencies[name] = json!(format!("file:{}", package.display()));
            }
        }
        let manifest = json!({ "private": true, "dependencies": dependencies });
        std::fs::write(folder.path().join("package.json"), manifest.to_string()).expect("a file");
        let flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut install = npm(folder.path(), "npm", &flags);
        if source == Source::Registry {
            install.env_remove("npm_config_offline");
        }
        succeeded(&mut install);
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command of a person's shell, by another program.
    fn instead(&self, program: Command, usual: &Command) -> Command {
        let mut command = program;
        command
            .args(usual.get_args())
            .env_clear()
            .envs(
                usual
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("npm_config_cache", self.path().join(".cache"))
            .env("npm_config_update_notifier", "false")
            .stdin(Stdio::null());
        command
    }
}

/// OpenCode and ripgrep with what they need on this machine.
fn packages_of_checkout() -> Vec<String> {
    let modules = root().join("node_modules");
    let names = |folder: PathBuf| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("make test installs them");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names
            .map(|name| name.to_str().expect("a name").to_owned())
            .collect()
    };
    let scoped = names(modules.join("@vscode")).into_iter();
    let scoped = scoped.map(|name| format!("@vscode/{name}"));
    let plain = names(modules).into_iter();
    let plain = plain.filter(|name| !name.starts_with(['.', '@']));
    plain.chain(scoped).collect()
}

/// A review by `npx` in the folder, with the OpenCode that npm brought along.
fn npx_reviews(installed: &Installed) {
    let machine = Machine::scripted(three(9));
    let tree = machine.path().to_str().expect("a plain path").to_owned();
    let usual = machine.command(&["--format=json", "--path", &tree]);
    let mut npx = Command::new("npx");
    npx.args(["--offline", "--no", NAME])
        .current_dir(installed.path());
    let mut npx = installed.instead(npx, &usual);
    let ran = printed(npx.env_remove("OPENCODE_BIN"));
    assert_eq!(ran.code, Some(1), "blocking: {}\n{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON and nothing else");
    assert_eq!(report["verdict"], "blocking");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(4));
    assert!(!ran.err.contains("ripgrep"), "{}", ran.err);
    machine.finish();
}

#[test]
#[ignore = "asks npm's registry: make packages-test"]
fn from_the_registry_npm_brings_opencode_along() {
    npx_reviews(&Installed::from(Source::Registry));
}

#[test]
fn npx_reviews_a_working_tree_and_ends_with_whoever_ends_it() {
    let installed = Installed::from(Source::Checkout);
    npx_reviews(&installed);
    let mut script = three(7).into_behaviour();
    let machine = Machine::with(move |request| {
        if request.pass() == Some(2) {
            return Answer::Stall;
        }
        script(request)
    });
    let usual = machine.command(&[]);
    let command = Command::new(installed.path().join("node_modules/.bin").join(NAME));
    let mut command = installed.instead(command, &usual);
    command.current_dir(machine.path());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("the command");
    let in_pass_2 = || {
        let requests = machine.world.model.requests();
        requests
            .iter()
            .any(|request| request.to_string().contains("Pass 2 of 4"))
    };
    while !in_pass_2() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = i32::try_from(child.id()).expect("an id");
    kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it runs");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(143), "{ended:?}");
    let out = String::from_utf8(ended.stdout).expect("text");
    assert!(
        out.contains("The last page is lost."),
        "what was found is printed: {out}"
    );
    machine.finish();
}

#[test]
fn the_packages_hold_what_they_need_and_nothing_that_runs_at_installation() {
    let folder = open_folder();
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\n").expect("a file");
    let out = folder.path().join("dist");
    let targets = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
    made(&out, &targets.map(|target| (target, program.as_path())));
    let version = env!("CARGO_PKG_VERSION");
    let main = manifest(&out, NAME);
    let pins = std::fs::read_to_string(root().join("package.json")).expect("a file");
    let pins: Value = serde_json::from_str(&pins).expect("JSON");
    assert_eq!(
        main["dependencies"], pins["dependencies"],
        "OpenCode at the pin"
    );
    assert_eq!(
        main["optionalDependencies"],
        json!({ "opencode-reviewer-linux-x64": version, "opencode-reviewer-linux-arm64": version })
    );
    for (cpu, name) in [
        ("", NAME),
        ("x64", "opencode-reviewer-linux-x64"),
        ("arm64", "opencode-reviewer-linux-arm64"),
    ] {
        let manifest = manifest(&out, name);
        assert_eq!(manifest["version"], version, "{name}");
        assert_eq!(manifest["scripts"], Value::Null, "{name}");
        if !cpu.is_empty() {
            assert_eq!(
                (&manifest["os"], &manifest["cpu"]),
                (&json!(["linux"]), &json!([cpu]))
            );
        }
        let package = out.join("npm").join(name);
        let package = package.to_str().expect("a plain path");
        let packed = succeeded(&mut npm(
            &out,
            "npm",
            &["pack", "--dry-run", "--json", package],
        ));
        let packed: Value = serde_json::from_str(&packed).expect("JSON");
        let files = packed[0]["files"].as_array().expect("files").iter();
        let mut files: Vec<&str> = files.filter_map(|file| file["path"].as_str()).collect();
        files.sort_unstable();
        let program = if cpu.is_empty() {
            "bin/opencode-reviewer.mjs"
        } else {
            "bin/opencode-reviewer"
        };
        assert_eq!(
            files,
            ["LICENSE", "README.md", program, "package.json"],
            "{name}"
        );
    }
    tarballs_are_as_the_manifest_says(&out, &targets, version);
}

/// By the template of `Cargo.toml`, as cargo-binstall fills it in.
fn tarballs_are_as_the_manifest_says(out: &Path, targets: &[&str], version: &str) {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a file");
    let (_, binstall) = manifest
        .split_once("[package.metadata.binstall]\n")
        .expect("a section");
    let key = |name: &str| {
        let line = binstall
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = \"")));
        line.and_then(|line| line.strip_suffix('"'))
            .expect("a text")
            .to_owned()
    };
    assert_eq!(key("pkg-fmt"), "tgz");
    let sums = std::fs::read_to_string(out.join("SHA256SUMS")).expect("a file");
    assert_eq!(sums.lines().count(), targets.len());
    for target in targets {
        let filled = |template: &str| {
            let filled = template.replace("{ name }", NAME).replace("{ bin }", NAME);
            let filled = filled
                .replace("{ version }", version)
                .replace("{ target }", target);
            filled
                .replace("{ archive-suffix }", ".tar.gz")
                .replace("{ binary-ext }", "")
        };
        let url = filled(&key("pkg-url"));
        let behind = format!("{{ repo }}/releases/download/v{version}/");
        let file = url.strip_prefix(&behind).expect("an address of a release");
        let bytes = std::fs::read(out.join(file)).expect("the tarball");
        let sum = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
        assert!(sums.contains(&format!("{sum}  {file}\n")), "{sums}");
        let mut tar = Command::new("tar");
        tar.args(["--list", "--file"]).arg(out.join(file));
        let listed = succeeded(&mut tar);
        let inside = filled(&key("bin-dir"));
        assert!(
            listed.lines().any(|line| line == inside),
            "{inside}: {listed}"
        );
        let folder = format!("{NAME}-{version}-{target}");
        assert!(listed.contains(&format!("{folder}/LICENSE\n")), "{listed}");
    }
}

#[test]
fn the_command_says_in_a_sentence_why_it_cannot_begin() {
    let folder = open_folder();
    let launcher = folder.path().join("launcher.mjs");
    std::fs::copy(root().join("packages/npm/launcher.mjs"), &launcher).expect("a copy");
    let told = |fake: &str| {
        let before = folder.path().join("fake.cjs");
        std::fs::write(&before, fake).expect("a file");
        let ran = Command::new("node")
            .arg("--require")
            .args([&before, &launcher])
            .output()
            .expect("node");
        assert_eq!(
            (ran.status.code(), ran.stdout.as_slice()),
            (Some(2), &b""[..])
        );
        String::from_utf8(ran.stderr).expect("text")
    };
    let other = told("Object.defineProperty(process, 'platform', { value: 'darwin' });");
    assert!(
        other.starts_with("error: opencode-reviewer needs Linux on x64 or arm64, because its sandbox is the Linux kernel's; this is darwin"),
        "{other}"
    );
    let musl = told("process.report.getReport = () => ({ header: {} });");
    assert!(
        musl.starts_with("error: opencode-reviewer needs glibc"),
        "{musl}"
    );
    let missing = told("");
    let (cpu, _) = platform();
    assert!(
        missing.starts_with(&format!(
            "error: the package opencode-reviewer-linux-{cpu} is missing;"
        )),
        "{missing}"
    );
    for told in [other, musl, missing] {
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn packages_are_refused_where_the_call_is_wrong() {
    for arguments in [
        &[][..],
        &["--out", "x"],
        &["--out", "x", "x86_64-apple-darwin=y"],
    ] {
        let ran = Command::new("node")
            .arg(root().join("packages/make.mjs"))
            .args(arguments)
            .output()
            .expect("node");
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let told = String::from_utf8(ran.stderr).expect("text");
        assert!(
            told.starts_with("error: ") && told.contains("--out FOLDER TARGET=PROGRAM"),
            "{told}"
        );
    }
}
