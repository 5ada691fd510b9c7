//! The hook for pre-commit: what it runs, tried as git runs it before a push.

use super::{Machine, git, three};
use crate::standin::model::Script;
use crate::standin::world::open_folder;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The one hook of the file, as pre-commit reads it.
fn hook() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    let hooks = std::fs::read_to_string(file).expect("a file");
    let hooks: Value = serde_yaml::from_str(&hooks).expect("YAML");
    let hooks = hooks.as_array().expect("a list").clone();
    assert_eq!(hooks.len(), 1);
    hooks[0].clone()
}

#[test]
fn the_hook_asks_once_before_a_push_whatever_files_changed() {
    let hook = hook();
    assert_eq!(hook["stages"], json!(["pre-push"]));
    assert_eq!(hook["language"], "system");
    let always = ["always_run", "pass_filenames", "verbose"].map(|key| hook[key].clone());
    assert_eq!(always, [json!(true), json!(false), json!(true)]);
}

/// Pushes the branch with the hook in place. Returns whether the push was let through, and what was told.
fn pushed(machine: &Machine) -> (bool, String) {
    let hook = hook();
    let entry = hook["entry"].as_str().expect("a program");
    let arguments = hook["args"].as_array().expect("arguments").iter();
    let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
    let usual = machine.command(&[]);
    let flags: Vec<&str> = usual.get_args().filter_map(|one| one.to_str()).collect();
    assert_eq!(flags.first(), Some(&arguments[0]), "the same command");
    let line = format!(
        "#!/bin/sh\nexec {entry} {} {}\n",
        arguments.join(" "),
        flags[1..].join(" ")
    );
    let path = machine.path().join(".git/hooks/pre-push");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, line).expect("a file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
    let program = Path::new(usual.get_program()).parent().expect("a folder");
    let search = usual.get_envs().find(|(name, _)| *name == "PATH");
    let search = search
        .and_then(|(_, value)| value?.to_str())
        .expect("a PATH");
    let remote = open_folder();
    git(remote.path(), &["init", "--quiet", "--bare"]);
    let ran = std::process::Command::new("git")
        .args(["push", "--quiet"])
        .arg(remote.path())
        .arg("search")
        .current_dir(machine.path())
        .env_clear()
        .envs(
            usual
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", format!("{}:{search}", program.display()))
        .output()
        .expect("git");
    let listed = git(remote.path(), &["branch", "--list", "search"]);
    assert_eq!(ran.status.success(), !listed.is_empty(), "{ran:?}");
    let told = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(told).expect("text"))
}

#[test]
fn a_push_is_stopped_by_a_finding_that_blocks_and_by_no_other() {
    let machine = Machine::scripted(three(9));
    let (went, told) = pushed(&machine);
    assert!(!went && told.contains("1 of them blocking."), "{told}");
    machine.finish();
    let machine = Machine::scripted(three(7));
    let (went, told) = pushed(&machine);
    assert!(
        went && told.contains("3 findings, none of them blocking."),
        "{told}"
    );
    machine.finish();
    let machine = Machine::scripted(Script::new().never_submits(2));
    let (went, told) = pushed(&machine);
    assert!(!went && told.contains("The review is incomplete"), "{told}");
    machine.finish();
}
