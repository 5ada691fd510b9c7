//! What a person can ask of `local`, and how a mistake is answered.

use super::{Machine, git, printed, three};
use crate::standin::model::{Answer, Request, Script};
use crate::standin::world::{KEY, open_folder};
use serde_json::{Value, json};

#[test]
fn a_mistyped_input_is_refused_with_the_nearest_name() {
    let machine = Machine::scripted(three(7));
    let ran = machine.run(&["--input=modell=x/y", "--input=colour=red", "--threshold=11"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    let told: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        told[..2],
        [
            "error: Input colour is not known; action.yml and `opencode-reviewer inputs` list the inputs.",
            "error: Input modell is not known; did you mean model?",
        ]
    );
    assert!(
        told[2].starts_with("error: Input problem_score_threshold is \"11\""),
        "{told:?}"
    );
    assert_eq!(told.len(), 3, "{told:?}");
    // A variable of another program is no mistake.
    let ran = printed(
        machine
            .command(&["--base=search"])
            .env("INPUT_RC", "~/.inputrc"),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    machine.finish();
}

#[test]
fn a_missing_key_is_asked_for_as_a_shell_gives_it() {
    let machine = Machine::scripted(three(7));
    let mut command = machine.command(&["--model=anthropic/claude-sonnet-4-5", "--base-url="]);
    let ran = printed(command.env_remove("OPENCODE_API_KEY"));
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            Some(2),
            "error: The provider anthropic needs a key, and none is set; run `export ANTHROPIC_API_KEY=…` with your key.\n"
        )
    );
    machine.finish();
}

#[test]
fn flags_stand_for_inputs_and_the_result_may_go_to_a_file() {
    let machine = Machine::scripted(three(7));
    let elsewhere = open_folder();
    let file = elsewhere.path().join("result.md");
    let (path, output) = (machine.path().display(), file.display());
    let arguments = [
        format!("--path={path}"),
        format!("--output={output}"),
        "--threshold=8".to_owned(),
        "--blocking-threshold=8".to_owned(),
        "--format=markdown".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = printed(machine.command(&arguments).current_dir(elsewhere.path()));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    let told = format!("The result is in {output}.\n");
    assert!(ran.err.ends_with(&told), "{}", ran.err);
    let page = std::fs::read_to_string(&file).expect("the result");
    let headline = "## OpenCode review of the working tree: 1 finding open, 1 of them blocking\n";
    assert!(page.starts_with(headline), "{page}");

    let asked = machine.world.model.requests().len();
    let nowhere = format!("--output={}/missing/result.md", elsewhere.path().display());
    let ran = machine.run(&[&nowhere]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("is in a directory that does not exist"),
        "{}",
        ran.err
    );
    assert_eq!(
        machine.world.model.requests().len(),
        asked,
        "nothing was paid"
    );
    machine.finish();
}

#[test]
fn who_asks_for_quiet_gets_the_result_alone_and_who_asks_for_more_gets_the_sandbox() {
    let machine = Machine::scripted(three(7));
    let quiet = machine.run(&["-q", "--color=always"]);
    assert!(quiet.out.contains("3 findings, none of them blocking."));
    assert!(quiet.out.starts_with("\u{1b}["), "{:?}", quiet.out);
    let said = quiet
        .err
        .lines()
        .filter(|line| !line.starts_with("warning: "));
    assert_eq!(said.count(), 0, "{}", quiet.err);
    let more = machine.run(&["-v"]);
    assert!(more.err.to_lowercase().contains("sandbox"), "{}", more.err);
    machine.finish();
}

#[test]
fn what_the_model_will_not_see_is_told_before_it_is_asked() {
    let machine = Machine::scripted(Script::new());
    let line = format!("export const value = \"{}\";\n", "x".repeat(170_000));
    for file in ["src/large.ts", "src/larger.ts"] {
        machine.write(file, &line);
    }
    let ran = machine.run(&[]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let told: Vec<&str> = ran.err.lines().collect();
    assert!(told[0].starts_with("Reviewing 5 files"), "{told:?}");
    assert_eq!(
        told[1],
        "2 of 5 changed files (2 do not fit the model's context) will not be shown to the model; -v lists them"
    );
    assert!(told[2].starts_with("1/4 diff"), "{told:?}");
    assert_eq!(ran.out.matches("src/larger.ts").count(), 1, "{}", ran.out);
    let ran = machine.run(&["-v"]);
    let listed = "\n  src/large.ts (a line of it is too long)\n";
    assert!(ran.err.contains(listed), "{}", ran.err);
    machine.finish();
}

#[test]
fn a_change_that_nobody_reviews_is_known_before_opencode_starts() {
    let machine = Machine::scripted(three(7));
    let mut command = machine.command(&["--input=ignore=src/**"]);
    let ran = printed(command.env("OPENCODE_BIN", "/nowhere/opencode"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert_eq!(ran.out, "Nothing to review: 3 ignored files.\n");
    assert!(!ran.out.contains(KEY));
    machine.finish();
}

#[test]
fn a_change_that_cannot_be_read_is_no_clean_review() {
    let machine = Machine::scripted(three(7));
    machine.write("big.rs", &"let a = 1;\n".repeat(1_700_000));
    let ran = machine.run(&["--input=ignore=src/**", "--format=json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(report["verdict"], "incomplete");
    assert!(
        report["left_out"][0].to_string().contains("big.rs"),
        "{report:#}"
    );
    machine.finish();
}

#[test]
fn what_was_found_before_the_credit_ended_is_printed() {
    let mut script = three(7).into_behaviour();
    let mut requests = 0;
    let machine = Machine::with(move |request| {
        requests += usize::from(request.pass() == Some(1));
        if requests > 1 {
            return Answer::status(402, json!({"error": {"message": "Insufficient Balance"}}));
        }
        script(request)
    });
    let ran = machine.run(&[]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no credit or quota left"), "{}", ran.err);
    assert!(ran.out.contains("src/page.ts:"), "{}", ran.out);
    machine.finish();
}

#[test]
fn a_link_in_the_place_of_the_result_is_replaced() {
    let machine = Machine::scripted(three(7));
    let elsewhere = open_folder();
    let (victim, link) = (
        elsewhere.path().join("victim"),
        elsewhere.path().join("link"),
    );
    std::fs::write(&victim, "untouched").expect("a file");
    std::os::unix::fs::symlink(&victim, &link).expect("a link");
    let ran = machine.run(&[
        "--input=ignore=src/**",
        &format!("--output={}", link.display()),
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |path| std::fs::read_to_string(path).expect("a file");
    assert_eq!(read(&victim), "untouched");
    assert_eq!(read(&link), "Nothing to review: 3 ignored files.\n");
    machine.finish();
}

#[test]
fn a_folder_that_is_no_repository_to_compare_is_named() {
    let machine = Machine::scripted(three(7));
    let ran = machine.run(&["--path=/nowhere"]);
    let sentence = "error: --path /nowhere is no directory; name a directory of the repository.\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), sentence));
    let empty = open_folder();
    git(empty.path(), &["init", "--quiet"]);
    let ran = machine.run(&[&format!("--path={}", empty.path().display())]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("has no commit yet"), "{}", ran.err);
    machine.finish();
}

#[test]
fn where_the_model_cannot_be_used_the_other_one_finishes_and_the_result_says_so() {
    let mut script = three(7).into_behaviour();
    let busy = json!({ "error": { "message": "Insufficient Balance", "code": "payment" } });
    let machine = Machine::with(move |request: &Request| {
        let is_own = request.raw()["model"] == "scripted";
        if is_own && request.pass() == Some(2) {
            Answer::status(402, busy.clone())
        } else {
            script(request)
        }
    });
    let fallback = "--input=fallback_model=standin/other";
    let ran = machine.run(&[fallback, "--format=json"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let line = "standin/scripted has no credit or quota left; standin/other goes on";
    assert!(ran.err.contains(line), "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("a report");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(4));
    let entry = &report["fallbacks"][0];
    assert_eq!(entry["fallback"], "standin/other");
    assert_eq!(entry["since"], "pass 2 of 4");
    assert_eq!(report["model"], "standin/scripted, standin/other");
    // On the terminal, too.
    let ran = machine.run(&[fallback]);
    let told = "standin/other went on in its place, from pass 2 of 4 on.";
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    let shown = words.join(" ");
    assert!(shown.contains(told), "{shown}");
    machine.finish();
}
