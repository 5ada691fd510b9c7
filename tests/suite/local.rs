//! `local`: somebody reviews the working tree on their own machine. GitHub is never asked, their repository stays as it
//! is, and standard output has the result alone.

mod analysis;
mod asked;
mod hook;
mod installed;
mod seen;

use crate::html_property::{self, Node};
use crate::review::{finding, layer_bypassed, lost_page, post};
use crate::secrets::processes_below;
use crate::standin::github::GitHub;
use crate::standin::model::{Answer, Request, Script};
use crate::standin::shop;
use crate::standin::world::{KEY, World, open_folder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A person's repository: the example, with its change partly committed, partly not, and one file that git does not know.
struct Machine {
    world: World,
    repository: TempDir,
}

struct Printed {
    code: Option<i32>,
    out: String,
    err: String,
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new("git")
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|role| {
                ["NAME", "EMAIL"].map(|part| (format!("GIT_{role}_{part}"), "dev"))
            }))
            .output()
            .expect("git");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

impl Machine {
    fn with(model: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        let world = World::with(&[], model);
        let repository = open_folder();
        let machine = Self { world, repository };
        git(machine.path(), &["init", "--quiet", "-b", "main"]);
        for file in ["README.md", "AGENTS.md", "src/page.ts", "src/ui/cart.ts"] {
            machine.write(file, shop::base_of(file));
        }
        machine.write(".gitignore", "*.log\n");
        machine.commit("Begin the shop");
        git(machine.path(), &["switch", "--quiet", "-c", "search"]);
        machine.write("src/page.ts", shop::head_of("src/page.ts"));
        machine.commit("Count the pages");
        machine.write("src/ui/cart.ts", shop::head_of("src/ui/cart.ts"));
        machine.write(
            "src/new.ts",
            "export const token = 1;\nexport const x = token;\n",
        );
        machine.write("noise.log", "nobody reviews this\n");
        machine
    }

    fn scripted(script: Script) -> Self {
        Self::with(script.into_behaviour())
    }

    fn path(&self) -> &Path {
        self.repository.path()
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    fn commit(&self, message: &str) {
        git(self.path(), &["add", "--all"]);
        git(self.path(), &["commit", "--quiet", "-m", message]);
    }

    /// The command in the person's shell. A token lies around there, and is of no use to it.
    fn command(&self, arguments: &[&str]) -> Command {
        let usual = self.world.command(&self.world.opened().quick(), &[]);
        let kept = [
            "PATH",
            "HOME",
            "TMPDIR",
            "OPENCODE_BIN",
            "OPENCODE_REVIEWER_TIME_SCALE",
        ];
        let variables = usual
            .get_envs()
            .filter(|(name, value)| value.is_some() && kept.iter().any(|kept| name == kept));
        let mut command = Command::new(usual.get_program());
        command
            .arg("local")
            .arg("--input=model=standin/scripted")
            .arg(format!("--input=model_base_url={}", self.world.model.url()))
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value?))))
            .envs(self.world.github.environment())
            .env("GITHUB_TOKEN", GitHub::TOKEN)
            .env("OPENCODE_API_KEY", KEY)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Printed {
        printed(&mut self.command(arguments))
    }

    /// Everything that git keeps, to the byte, and what it says about the tree.
    fn state(&self) -> (Vec<(PathBuf, Vec<u8>)>, String) {
        let mut open = vec![self.path().join(".git")];
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a folder");
                open.extend(entries.map(|entry| entry.expect("an entry").path()));
            } else {
                let content = std::fs::read(&path).expect("a file");
                files.push((path, content));
            }
        }
        files.sort();
        let status = ["--no-optional-locks", "status", "--porcelain", "--ignored"];
        (files, git(self.path(), &status))
    }

    /// Nothing is left, and GitHub has heard nothing.
    fn finish(self) {
        assert_eq!(self.world.github.requests(), []);
        self.world.finish();
    }
}

fn printed(command: &mut Command) -> Printed {
    let output = command.output().expect("the binary");
    let printed = Printed {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    };
    let all = format!("{}{}", printed.out, printed.err);
    assert!(!all.contains(KEY) && !all.contains("panicked"), "{all}");
    printed
}

/// The committed page, the uncommitted cart, the untracked file.
fn three(page: u64) -> Script {
    Script::new()
        .pass(1, move |_| {
            let new = finding("src/new.ts", 2, 5, "The name says nothing.");
            vec![post(lost_page(page)), post(layer_bypassed(8)), post(new)]
        })
        .pass(2, |_| {
            let nit = finding("src/new.ts", 1, 2, "A nit that nobody needs.");
            vec![post(nit)]
        })
}

#[test]
fn the_base_branchs_settings_count_here_too() {
    let machine = Machine::scripted(three(7));
    git(machine.path(), &["stash", "--quiet", "--include-untracked"]);
    git(machine.path(), &["switch", "--quiet", "main"]);
    let settings = "problem_score_threshold: 6\nfail_jb: true\n";
    machine.write(".github/opencode-reviewer.yml", settings);
    machine.commit("Settle how we review");
    git(machine.path(), &["switch", "--quiet", "search"]);
    git(machine.path(), &["rebase", "--quiet", "main"]);
    git(machine.path(), &["stash", "pop", "--quiet"]);
    let ran = machine.run(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ".github/opencode-reviewer.yml:2: \"fail_jb\" is no setting. Did you mean fail_job?";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(ran.out.contains("src/page.ts:8"), "{}", ran.out);
    assert!(!ran.out.contains("The name says nothing."), "{}", ran.out);
    machine.finish();
}

#[test]
fn committed_uncommitted_and_untracked_changes_are_reviewed_and_nothing_is_touched() {
    let machine = Machine::scripted(three(7));
    let before = machine.state();
    let ran = machine.run(&[]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert_eq!(machine.state(), before);
    let mut lines = ran.out.lines();
    assert_eq!(lines.next(), Some("3 findings, none of them blocking."));
    let cart = shop::line_of("src/ui/cart.ts", "await db()");
    let page = shop::line_of("src/page.ts", "Math.floor");
    let places: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| line.ends_with("/10"))
        .collect();
    assert_eq!(
        places,
        [
            format!("src/ui/cart.ts:{cart}  Logic · 8/10"),
            format!("src/page.ts:{page}  Logic · 7/10"),
            "src/new.ts:2  Logic · 5/10".to_owned(),
        ]
    );
    let code = "  The name says nothing.\n\n  Somebody is hurt by it. Do it otherwise.\n\n    \
                1 | export const token = 1;\n  > 2 | export const x = token;\n";
    assert!(ran.out.contains(code), "{}", ran.out);
    assert!(!ran.out.contains("nobody needs"), "{}", ran.out);
    assert!(ran.out.contains("not shown: 1\n"), "{}", ran.out);
    assert!(
        !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
        "plain where nobody looks"
    );
    let told: Vec<&str> = ran.err.lines().collect();
    let base = git(machine.path(), &["rev-parse", "main"]);
    let first = format!("against main@{} with standin/scripted", &base[..7]);
    assert!(
        told[0].starts_with("Reviewing 3 files (+") && told[0].ends_with(&first),
        "{told:?}"
    );
    let passes = [
        "1/4 diff",
        "2/4 structure",
        "3/4 security",
        "4/4 consolidation",
    ];
    assert_eq!(told.len(), 1 + passes.len(), "one line a pass: {told:?}");
    for (line, pass) in told.iter().skip(1).zip(passes) {
        assert!(line.starts_with(&format!("{pass} · 0:")), "{line}");
        assert!(line.ends_with(" · cost unknown"), "{line}");
    }
    // What the model was told: the branch, its commits, and no file that is ignored.
    let asked = machine.world.model.requests()[0].to_string();
    for told in ["search", "Count the pages", "src/new.ts", "Into main."] {
        assert!(asked.contains(told), "{told}");
    }
    assert!(!asked.contains("noise.log"));
    machine.finish();
}

#[test]
fn the_real_opencode_reviews_a_working_tree() {
    let machine = Machine::scripted(three(9));
    let mut command = machine.command(&["--format", "json"]);
    match std::env::var_os("OPENCODE_BIN") {
        Some(given) => command.env("OPENCODE_BIN", given),
        None => command.env_remove("OPENCODE_BIN"),
    };
    let ran = printed(&mut command);
    assert_eq!(ran.code, Some(1), "blocking: {}\n{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON and nothing else");
    assert_eq!(report["verdict"], "blocking");
    assert_eq!(report["passes"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(4));
    machine.finish();
}

#[test]
fn each_format_is_what_it_is_elsewhere() {
    let machine = Machine::scripted(three(7));
    let json = machine.run(&["--format=json"]);
    let report: Value = serde_json::from_str(&json.out).expect("JSON");
    crate::documents::assert_is_report(&report);
    assert_eq!(report["pull_request"], Value::Null);
    let fates: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["fate"].as_str())
        .collect();
    assert_eq!(fates, ["reported", "reported", "reported", "suppressed"]);
    let sarif = machine.run(&["--format=sarif"]);
    let sarif: Value = serde_json::from_str(&sarif.out).expect("SARIF");
    assert_eq!(
        sarif["runs"][0]["results"].as_array().map(Vec::len),
        Some(3)
    );
    let markdown = machine.run(&["--format", "markdown"]).out;
    assert!(
        markdown.starts_with("## OpenCode review of the working tree: 3 findings open\n"),
        "{markdown}"
    );
    assert!(!markdown.contains("published"), "{markdown}");
    let explained = "The name says nothing. Somebody is hurt by it. Do it otherwise.";
    let told = "**The name says nothing.**\n\nSomebody is hurt by it. Do it otherwise.\n";
    let why = "Level 5. The name says nothing.";
    assert!(
        markdown.contains(told) && markdown.contains(why),
        "{markdown}"
    );
    let html = machine.run(&["--format", "html"]).out;
    let page = html_property::hold(&html, None);
    let articles: Vec<String> = page.named("article").iter().map(Node::text).collect();
    assert_eq!(articles.len(), 3, "{articles:?}");
    assert!(
        articles[2].starts_with(" The name says nothing."),
        "{articles:?}"
    );
    assert!(
        articles[2].contains("2+export const x = token;")
            && articles[2].contains("Do it otherwise."),
        "{articles:?}"
    );
    assert!(page.text().contains("1 remark not posted"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let texts = results.iter().map(|result| &result["message"]["text"]);
    let text = format!("{explained}\n\n{why}");
    assert!(texts.into_iter().any(|one| *one == text), "{sarif:#}");
    machine.finish();
}

#[test]
fn the_exit_code_tells_what_the_review_came_to() {
    let clean = Machine::scripted(Script::new());
    let ran = clean.run(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("Nothing to report.\n"), "{}", ran.out);
    clean.finish();

    let incomplete = Machine::scripted(three(7).never_submits(3));
    let ran = incomplete.run(&[]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let beginning = "The review is incomplete; 3 findings so far.\nPass 3 of 4 was never submitted";
    assert!(ran.out.starts_with(beginning), "{}", ran.out);
    incomplete.finish();

    let refused = Machine::with(|_| Answer::status(401, serde_json::json!({"error": "no"})));
    let ran = refused.run(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert!(ran.err.contains("Check the API key."), "{}", ran.err);
    refused.finish();
}

#[test]
fn a_tree_without_changes_costs_nothing() {
    let machine = Machine::scripted(three(7));
    git(machine.path(), &["stash", "--quiet", "--include-untracked"]);
    let why = "Nothing has changed since search; there is nothing to review.";
    let ran = machine.run(&["--base", "search"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(ran.out, format!("{why}\n"));
    let ran = machine.run(&["--base", "search", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    crate::documents::assert_is_report(&report);
    assert_eq!(
        (&report["verdict"], &report["reasons"][0]),
        (&"clean".into(), &why.into())
    );
    let ran = machine.run(&["--base", "search", "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&ran.out).expect("SARIF");
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));
    let ran = machine.run(&["--base", "search", "--format", "markdown"]);
    let page = format!("## OpenCode review of the working tree: nothing to report\n\n- {why}\n");
    assert!(ran.out.starts_with(&page), "{}", ran.out);
    let ran = machine.run(&["--base", "search", "--format", "html"]);
    let page = html_property::hold(&ran.out, None).text();
    assert!(page.contains(why), "{page}");
    assert!(machine.world.model.requests().is_empty());
    machine.finish();
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let machine = Machine::scripted(three(7));
    let told = |arguments: &[&str]| {
        let ran = machine.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        ran.err
    };
    assert_eq!(
        told(&["--base", "mian"]),
        "error: --base mian names no commit of this repository; expected a branch, a tag or a commit, for example \
         main, origin/main or HEAD~3.\n"
    );
    assert_eq!(
        told(&["--input=model=scripted", "--input=max_cost_usd=much"])
            .lines()
            .count(),
        2,
        "every wrong input at once, and no word about a token"
    );
    git(
        machine.path(),
        &["branch", "--quiet", "-m", "main", "trunk"],
    );
    assert_eq!(
        told(&[]),
        "error: There is neither a branch main nor a branch master, and the default branch of origin is not known; \
         name a branch, a tag or a commit with --base.\n"
    );
    let outside = open_folder();
    let ran = printed(machine.command(&[]).current_dir(outside.path()));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(
        ran.err.ends_with(
            "is in no git working tree; run this command in the repository that is to be reviewed.\n"
        ),
        "{}",
        ran.err
    );
    assert!(machine.world.model.requests().is_empty());
    machine.finish();
}

#[test]
fn interrupted_it_ends_at_once_and_prints_what_it_had_found() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let mut script = three(7).into_behaviour();
        let machine = Machine::with(move |request| {
            if request.pass() == Some(3) {
                return Answer::Stall;
            }
            script(request)
        });
        let before = machine.state();
        let mut command = machine.command(&[]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.expect("the binary");
        let started = Instant::now();
        let in_pass_3 = || {
            let requests = machine.world.model.requests();
            requests
                .last()
                .is_some_and(|last| last.to_string().contains("Pass 3 of 4"))
        };
        while !in_pass_3() {
            assert!(started.elapsed().as_secs() < 60, "it never came so far");
            std::thread::sleep(Duration::from_millis(10));
        }
        let below = processes_below(child.id());
        assert!(below.len() > 1, "there is a sidecar");
        let id = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
        kill(id, signal).expect("the signal");
        let output = child.wait_with_output().expect("the end");
        let out = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.status.code(), Some(code), "{out}");
        let beginning =
            "The review is incomplete; 3 findings so far.\nThe review was interrupted.\n";
        assert!(out.starts_with(beginning), "{out}");
        for process in below.iter().skip(1) {
            let gone = || !Path::new(&format!("/proc/{}", process.id)).exists();
            let ending = Instant::now();
            while !gone() && ending.elapsed().as_secs() < 10 {
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(gone(), "{} is still there", process.name);
        }
        assert_eq!(machine.state(), before);
        machine.finish();
    }
}
