//! The commands for whoever begins: the workflow of a repository, the settings that count, completions, the version. Separate from
//! the reviews, because nothing is reviewed and no model is asked.

use crate::standin::world::open_folder;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

struct Printed {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the program in a folder, with these variables and no others.
fn run(directory: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Printed {
    let ran = Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"))
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a PATH"))
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the program");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let printed = Printed {
        code: ran.status.code(),
        out: text(ran.stdout),
        err: text(ran.stderr),
    };
    assert!(!printed.err.contains("panicked"), "{}", printed.err);
    printed
}

fn git(directory: &Path, arguments: &[&str]) -> Output {
    let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.test"];
    let ran = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    ran
}

fn repository() -> TempDir {
    let folder = open_folder();
    git(folder.path(), &["init", "--quiet", "-b", "main"]);
    folder
}

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    std::fs::read_to_string(examples.join(name)).expect("an example")
}

fn written(repository: &TempDir, path: &str) -> Option<String> {
    std::fs::read_to_string(repository.path().join(path)).ok()
}

const WORKFLOW: &str = ".github/workflows/review.yml";
const SETTINGS: &str = ".github/opencode-reviewer.yml";

#[test]
fn init_writes_each_workflow_as_the_examples_have_it() {
    for (kind, name, path) in [
        ("basic", "basic.yml", WORKFLOW),
        ("mentions", "mention-only.yml", WORKFLOW),
        ("gate", "merge-gate.yml", WORKFLOW),
        ("forks", "forks.yml", WORKFLOW),
        ("fix", "fix.yml", ".github/workflows/fix.yml"),
    ] {
        let repository = repository();
        // From somewhere in it.
        let below = repository.path().join("src/ui");
        std::fs::create_dir_all(&below).expect("a folder");
        let ran = run(&below, &["init", "--kind", kind], &[]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        assert_eq!(written(&repository, path), Some(example(name)), "{kind}");
        assert!(
            ran.out.starts_with(&format!("Wrote {path}.\n")),
            "{}",
            ran.out
        );
        assert!(
            ran.out.contains("     gh secret set ANTHROPIC_API_KEY\n"),
            "{}",
            ran.out
        );
        let again = run(&below, &["init", "--kind", kind], &[]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        let same = format!("{path} is there already, and the same.\n");
        assert!(again.out.starts_with(&same), "{}", again.out);
    }
}

#[test]
fn init_changes_nothing_that_is_there_and_shows_the_difference() {
    let repository = repository();
    let ran = run(repository.path(), &["init"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mine = example("basic.yml").replace("timeout-minutes: 60", "timeout-minutes: 30");
    std::fs::write(repository.path().join(WORKFLOW), &mine).expect("a file");
    let ran = run(repository.path(), &["init", "--settings"], &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.out
            .contains("\n-    timeout-minutes: 30\n+    timeout-minutes: 60\n"),
        "{}",
        ran.out
    );
    assert_eq!(
        ran.err,
        format!(
            "error: {WORKFLOW} is there already and differs, as the diff shows; nothing was written. Change it by hand, or move it \
             away and run this command again.\n"
        )
    );
    assert_eq!(written(&repository, WORKFLOW), Some(mine));
    assert_eq!(written(&repository, SETTINGS), None, "all or nothing");
}

#[test]
fn init_writes_settings_of_which_none_counts_yet() {
    let repository = repository();
    let model = ["init", "--settings", "--model", "openai/gpt-5"];
    let ran = run(repository.path(), &model, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("gh secret set OPENAI_API_KEY\n"),
        "{}",
        ran.out
    );
    let workflow = written(&repository, WORKFLOW).expect("a workflow");
    assert!(workflow.contains("model: openai/gpt-5\n"), "{workflow}");
    let settings = [
        "config",
        "--json",
        "--file",
        SETTINGS,
        "--model=openai/gpt-5",
    ];
    let ran = run(
        repository.path(),
        &settings,
        &[("OPENAI_API_KEY", "sk-0123456789")],
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let config: Value = serde_json::from_str(&ran.out).expect("JSON");
    let all = config["settings"].as_array().expect("settings");
    assert!(all.iter().all(|one| one["origin"] != "file"), "{config:#}");
}

#[test]
fn init_says_in_a_sentence_what_keeps_it_from_writing() {
    let repository = repository();
    let outside = open_folder();
    let pin = "--pin=v1.0.0";
    for (folder, arguments, told) in [
        (
            outside.path(),
            &["init"][..],
            " is in no git working tree; run this command in the repository that is to be reviewed.\n",
        ),
        (
            repository.path(),
            &["init", "--path=/none"],
            "--path /none is no directory; name a directory of the repository.",
        ),
        (
            repository.path(),
            &["init", "--provider=openai"],
            "--provider openai needs a model; add --model openai/NAME.",
        ),
        (
            repository.path(),
            &["init", "--model=opus"],
            "Input model is \"opus\"",
        ),
        (
            repository.path(),
            &["init", "--model=amazon-bedrock/x"],
            "cannot be used directly",
        ),
        (
            repository.path(),
            &["init", pin],
            "--pin is \"v1.0.0\"; expected the commit of a release: 40 hexadecimal digits.",
        ),
    ] {
        let ran = run(folder, arguments, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(told),
            "{}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let above = repository.path().join(".github");
    assert!(!above.exists());
    std::fs::write(above, "no folder\n").expect("a file");
    let ran = run(repository.path(), &["init"], &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    let told = format!(
        "error: {WORKFLOW} cannot be read: Not a directory (os error 20); move away what is there and run this command again.\n"
    );
    assert_eq!(ran.err, told);
}

#[test]
fn init_writes_through_no_link_that_the_repository_brings() {
    let (repository, elsewhere) = (repository(), open_folder());
    let link = repository.path().join(".github");
    std::os::unix::fs::symlink(elsewhere.path(), link).expect("a link");
    let ran = run(repository.path(), &["init"], &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(
        ran.err.contains(".github is a symbolic link"),
        "{}",
        ran.err
    );
    let there = std::fs::read_dir(elsewhere.path()).expect("a folder");
    assert_eq!(there.count(), 0);
}

fn setting<'a>(config: &'a Value, name: &str) -> &'a Value {
    let all = config["settings"].as_array().expect("settings");
    let found = all.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {config:#}"))
}

#[test]
fn config_tells_where_each_setting_comes_from() {
    let repository = repository();
    let folder = repository.path();
    std::fs::create_dir(folder.join(".github")).expect("a folder");
    let file = "problem_score_threshold: 7\nmax_cost_usd: 2\nskip:\n  labels: [wip]\n";
    std::fs::write(folder.join(SETTINGS), file).expect("a file");
    git(folder, &["add", "--all"]);
    git(
        folder,
        &["commit", "--quiet", "-m", "Settle how changes are reviewed"],
    );
    git(folder, &["switch", "--quiet", "-c", "mine"]);
    // A branch does not say how it is judged.
    std::fs::write(folder.join(SETTINGS), "problem_score_threshold: 1\n").expect("a file");
    git(folder, &["commit", "--quiet", "--all", "-m", "Say more"]);
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef"),
        ("INPUT_SENSITIVITY", "high"),
        ("INPUT_MAX_COST_USD", "3"),
    ];
    let model = "--model=anthropic/claude-sonnet-4-5";
    let ran = run(folder, &["config", "--json", model], &variables);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(!ran.out.contains("sk-ant"), "{}", ran.out);
    let config: Value = serde_json::from_str(&ran.out).expect("JSON");
    for (name, value, origin) in [
        ("model", "anthropic/claude-sonnet-4-5", "flag"),
        ("problem_score_threshold", "7", "file"),
        ("max_cost_usd", "3", "environment"),
        ("sensitivity", "high", "environment"),
        ("skip_label", "skip-review", "default"),
    ] {
        let one = setting(&config, name);
        assert_eq!(
            (&one["value"], &one["origin"]),
            (&value.into(), &origin.into()),
            "{name}"
        );
    }
    assert_eq!(setting(&config, "skip.labels")["value"][0], "wip");
    let key = setting(&config, "opencode_api_key");
    assert_eq!(
        (&key["set"], &key["variable"]),
        (&true.into(), &"ANTHROPIC_API_KEY".into())
    );
    let from = config["file"]["from"].as_str().expect("a commit");
    assert!(from.starts_with("main@"), "{from}");

    let ran = run(folder, &["config", model], &variables);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "problem_score_threshold  7  .github/opencode-reviewer.yml",
        "sensitivity  high  variable INPUT_SENSITIVITY",
        "opencode_api_key  set, not shown  variable ANTHROPIC_API_KEY",
    ] {
        assert!(
            ran.out.lines().any(|one| one == line),
            "{line}: {}",
            ran.out
        );
    }
}

#[test]
fn config_tells_every_mistake_and_ends_with_2() {
    let repository = repository();
    let folder = repository.path();
    std::fs::create_dir(folder.join(".github")).expect("a folder");
    let file = "problem_score_threshold: 70\nfail_jb: true\n";
    std::fs::write(folder.join(SETTINGS), file).expect("a file");
    let arguments = [
        "config",
        "--file",
        SETTINGS,
        "--input=colour=red",
        "--threshold=11",
    ];
    let ran = run(folder, &arguments, &[]);
    assert_eq!(ran.code, Some(2));
    for told in [
        "error: Input colour is not known; action.yml and `opencode-reviewer inputs` list the inputs.\n",
        "error: Input model is missing; add --model provider/name",
        "error: Input problem_score_threshold is \"11\"",
        "error: .github/opencode-reviewer.yml:1: problem_score_threshold is \"70\"",
        "error: .github/opencode-reviewer.yml:2: \"fail_jb\" is no setting. Did you mean fail_job?",
    ] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert_eq!(ran.err.lines().count(), 5, "{}", ran.err);
    assert!(
        ran.out.contains("fail_job  false  default\n"),
        "{}",
        ran.out
    );
    let missing = run(folder, &["config", "--file=none.yml", "--model=a/b"], &[]);
    assert_eq!(missing.code, Some(2));
    let told = "error: --file none.yml cannot be read: No such file or directory";
    assert!(missing.err.contains(told), "{}", missing.err);
    let nowhere = run(folder, &["config", "--path=/none", "--model=a/b"], &[]);
    assert_eq!(nowhere.code, Some(2));
    let told = "error: --path /none is no directory; name a directory of the repository.\n";
    assert!(nowhere.err.contains(told), "{}", nowhere.err);
    let address = "--base-url=https://user:hunter2@llm.example/v1";
    let secret = run(folder, &["config", address, "--model=a/b"], &[]);
    assert_eq!(secret.code, Some(2));
    assert!(!format!("{}{}", secret.out, secret.err).contains("hunter2"));
}

#[test]
fn completions_complete_commands_and_flags_and_nothing_hidden() {
    let folder = open_folder();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(folder.path(), &["completions", shell], &[]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{shell}");
        assert!(ran.out.contains("blocking-threshold"), "{shell}");
        assert!(!ran.out.contains("confine"), "{shell}");
    }
    let script = run(folder.path(), &["completions", "bash"], &[]).out;
    let completed = |words: &[&str]| -> Vec<String> {
        let at = words.len() - 1;
        let line = format!(
            "{script}\nfunction=$(complete -p opencode-reviewer)\nfunction=${{function##*-F }}\nCOMP_WORDS=({}); COMP_CWORD={at}\n\
             ${{function%% *}} opencode-reviewer '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words.join(" "),
            words[at],
            words[at - 1]
        );
        let ran = Command::new("bash")
            .args(["-c", &line])
            .output()
            .expect("bash");
        assert!(ran.status.success(), "{ran:?}");
        let out = String::from_utf8(ran.stdout).expect("text");
        out.lines().map(str::to_owned).collect()
    };
    assert_eq!(completed(&["opencode-reviewer", "loc"]), ["local"]);
    assert_eq!(
        completed(&["opencode-reviewer", "local", "--form"]),
        ["--format"]
    );
    let formats = completed(&["opencode-reviewer", "local", "--format", "h"]);
    assert_eq!(formats, ["html"]);
    let session = completed(&["opencode-reviewer", "review", "--se"]);
    assert_eq!(session, [""], "hidden");
}

#[test]
fn the_version_names_what_the_program_is_made_of() {
    let folder = open_folder();
    let short = run(folder.path(), &["-V"], &[]).out;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(short, format!("opencode-reviewer {version}\n"));
    let long = run(folder.path(), &["--version"], &[]).out;
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("opencode-reviewer {version}"));
    let starts = ["commit: ", "OpenCode: ", "sandbox: Landlock ABI "];
    assert_eq!(lines.len(), 1 + starts.len());
    for (line, start) in lines[1..].iter().zip(starts) {
        assert!(line.starts_with(start), "{long}");
    }
}

/// What the build script says in a folder, as a build of this profile asks it.
fn recorded(script: &Path, folder: &Path, variables: &[(&str, &str)]) -> Option<String> {
    let ran = Command::new(script)
        .current_dir(folder)
        .env_clear()
        .env("CARGO_MANIFEST_DIR", folder)
        .envs(variables.iter().copied())
        .output()
        .expect("the build script");
    assert!(ran.status.success(), "{ran:?}");
    let out = String::from_utf8(ran.stdout).expect("text");
    let mut lines = out.lines();
    let found =
        lines.find_map(|line| line.strip_prefix("cargo:rustc-env=OPENCODE_REVIEWER_COMMIT="));
    found.map(str::to_owned)
}

#[test]
fn a_release_records_its_commit_with_git_without_it_and_from_a_package() {
    let scratch = open_folder();
    let script = scratch.path().join("script");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
    let built = Command::new("rustc")
        .args(["--edition=2024", "-o"])
        .args([&script, &source])
        .status()
        .expect("rustc");
    assert!(built.success());
    let release = [("PROFILE", "release")];
    let repository = repository();
    let folder = repository.path();
    assert_eq!(recorded(&script, folder, &release), None, "no commit yet");
    git(
        folder,
        &["commit", "--quiet", "--allow-empty", "-m", "Begin"],
    );
    let head = git(folder, &["rev-parse", "HEAD"]).stdout;
    let head = String::from_utf8(head).expect("text").trim().to_owned();
    let there = Some(head.clone());
    assert_eq!(recorded(&script, folder, &release), there);
    assert_eq!(recorded(&script, folder, &[("PROFILE", "debug")]), None);
    git(folder, &["pack-refs", "--all"]);
    assert_eq!(recorded(&script, folder, &release), there, "packed");
    let linked = scratch.path().join("linked");
    let path = linked.to_str().expect("a plain path");
    git(folder, &["worktree", "add", "--quiet", "-b", "other", path]);
    assert_eq!(recorded(&script, &linked, &release), there, "a linked tree");
    git(folder, &["switch", "--quiet", "--detach"]);
    assert_eq!(recorded(&script, folder, &release), there, "no branch");
    // Within another project's repository, and nowhere.
    let inner = folder.join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    assert_eq!(recorded(&script, &inner, &release), None);
    let given = "0123456789abcdef0123456789abcdef01234567";
    let told = format!("{{\n  \"git\": {{\n    \"sha1\": \"{given}\"\n  }}\n}}\n");
    std::fs::write(inner.join(".cargo_vcs_info.json"), told).expect("a file");
    assert_eq!(recorded(&script, &inner, &release).as_deref(), Some(given));
    let variable = ("OPENCODE_REVIEWER_COMMIT", head.as_str());
    assert_eq!(recorded(&script, &inner, &[variable]), there);
    let wrong = ("OPENCODE_REVIEWER_COMMIT", "x\ncargo:warning=y");
    assert_eq!(recorded(&script, &inner, &[wrong]), None);
}
