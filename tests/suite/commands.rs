//! The commands about a pull request, as a person types them in a shell: what goes to which stream, and how the pull request
//! is named.

use crate::review::{layer_bypassed, lost_page, post};
use crate::standin::github::GitHub;
use crate::standin::model::Script;
use crate::standin::shop;
use crate::standin::world::{KEY, World, open_folder, outside_runner};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

pub struct Printed {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The command in a person's shell: no runner, no workspace, and the two secrets as variables.
pub fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = outside_runner(&world.command(&world.opened().quick(), arguments), world);
    command
        .env("GITHUB_TOKEN", GitHub::TOKEN)
        .env("OPENCODE_API_KEY", KEY)
        .current_dir(world.temporary())
        .stdin(Stdio::null());
    command
}

pub fn printed(command: &mut Command) -> Printed {
    let output = command.output().expect("the binary");
    Printed {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

fn two() -> Script {
    Script::new().pass(1, |_| vec![post(lost_page(5)), post(layer_bypassed(8))])
}

/// The flags that reach the model of this world.
pub fn model(world: &World) -> [String; 2] {
    let url = format!("--base-url={}", world.model.url());
    ["--model=standin/scripted".to_owned(), url]
}

/// A clone without files, whose remote is the repository of this world.
pub fn clone_of(world: &World, folder: &Path) {
    let address = world.github.environment();
    let server = address.iter().find(|(name, _)| name == "GITHUB_SERVER_URL");
    let origin = format!("{}/octo/shop.git", server.expect("a server").1);
    for arguments in [
        &["init", "--quiet"][..],
        &["remote", "add", "origin", &origin],
    ] {
        let mut git = Command::new("git");
        let status = git.args(arguments).current_dir(folder).status();
        assert!(status.expect("git").success());
    }
}

#[test]
fn a_review_in_a_shell_prints_what_local_prints_and_finds_its_repository() {
    let world = World::shop(two());
    let clone = open_folder();
    clone_of(&world, clone.path());
    let [name, url] = model(&world);
    let mut review = command(&world, &["review", "--pr", "#1", &name, &url]);
    let ran = printed(review.current_dir(clone.path()));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let beginning = "2 findings, none of them blocking.\n\nsrc/ui/cart.ts:";
    assert!(ran.out.starts_with(beginning), "{}", ran.out);
    let line = shop::line_of("src/page.ts", "Math.floor");
    let code = format!("{line} |   return Math.floor(count / size);\n");
    assert!(ran.out.contains(&code), "{}", ran.out);
    assert!(ran.out.contains("\nPosted: http"), "{}", ran.out);
    assert!(
        !ran.out.contains("| --- |") && !ran.out.contains("review_status"),
        "{}",
        ran.out
    );
    let told: Vec<&str> = ran.err.lines().collect();
    assert!(
        told[0].starts_with("Reviewing 3 files of octo/shop#1 (+"),
        "{told:?}"
    );
    assert_eq!(told.len(), 5, "and one line a pass: {told:?}");
    assert!(!format!("{}{}", ran.out, ran.err).contains(KEY));
    assert_eq!(
        crate::review::comments(&world.github.expect_review()).len(),
        2
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn state_is_sorted_by_score_and_tells_what_could_not_be_checked() {
    let world = World::shop(two()).quick();
    world.review();
    world.github.take_writes();
    let server = world.github.environment()[0].1.clone();
    let address = format!("{server}/octo/shop/pull/1");
    let arguments = ["state", "--explain", "--pr", &address];
    let ran = printed(&mut command(&world, &arguments));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let files: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|line| line.split("  ").find(|cell| cell.starts_with("src/")))
        .collect();
    assert!(files[0].starts_with("src/ui/cart.ts:"), "{}", ran.out);
    assert!(files[1].starts_with("src/page.ts:"), "{}", ran.out);
    assert_eq!(
        ran.out.matches("; signed by the reviewer").count(),
        2,
        "{}",
        ran.out
    );
    let ran = printed(command(&world, &arguments).env_remove("OPENCODE_API_KEY"));
    let unchecked = "; signature not checked: no key\n";
    assert_eq!(ran.out.matches(unchecked).count(), 2, "{}", ran.out);
    assert!(!ran.out.contains("not signed"), "{}", ran.out);
    world.finish();
}

#[test]
fn a_program_that_reads_the_answer_never_sees_a_message() {
    let world = World::shop(two()).quick();
    world.review();
    world.github.take_writes();
    let arguments = ["state", "--json", "--repo", "octo/shop", "--pr", "1"];
    for runner in ["", "true"] {
        let mut right = command(&world, &arguments);
        let ran = printed(right.env("GITHUB_ACTIONS", runner));
        let threads: Value = serde_json::from_str(&ran.out).expect("JSON and nothing else");
        assert_eq!(threads.as_array().map(Vec::len), Some(2));
        let mut wrong = command(&world, &arguments);
        wrong.env("GITHUB_ACTIONS", runner);
        let ran = printed(wrong.env("GITHUB_TOKEN", "ghs_wrong_0123456789"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(ran.err.contains("did not accept the token"), "{}", ran.err);
    }
    for name in ["review", "doctor"] {
        let mut missing = command(
            &world,
            &[name, "--repo=octo/shop", "--pr=1", "--model=anthropic/x"],
        );
        missing
            .env_remove("GITHUB_TOKEN")
            .env_remove("OPENCODE_API_KEY");
        let ran = printed(&mut missing);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        for advice in [
            "`export GITHUB_TOKEN=$(gh auth token)`",
            "`export ANTHROPIC_API_KEY=…`",
        ] {
            assert!(ran.err.contains(advice), "{}", ran.err);
        }
        assert!(!ran.err.contains("${{"), "{}", ran.err);
    }
    world.finish();
}

#[test]
fn a_pull_request_that_cannot_be_found_by_its_name_is_a_sentence() {
    let world = World::with(&[], |_| panic!("no model request was expected")).quick();
    let told = |arguments: &[&str]| {
        let ran = printed(&mut command(&world, arguments));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        ran.err
    };
    let nowhere = told(&["state", "--pr", "1"]);
    assert!(
        nowhere.contains("has no git remote origin; add --repo owner/name"),
        "{nowhere}"
    );
    let other = told(&["state", "--pr", "https://ghe.example/octo/shop/pull/1"]);
    assert!(
        other.contains("octo/shop is on ghe.example, and the token is for http"),
        "{other}"
    );
    let both = told(&["state", "--pr", "octo/shop#1", "--repo", "octo/other"]);
    assert!(both.contains("leave --repo out"), "{both}");
    let odd = told(&["state", "--pr", "twelve"]);
    assert!(
        odd.contains("expected a number, such as 12 or #12, or the address"),
        "{odd}"
    );
    assert_eq!(
        world.github.requests(),
        [],
        "no token left for another server"
    );
    world.finish();
}

#[test]
fn a_mistyped_input_of_a_workflow_is_refused_with_the_nearest_name() {
    let world = World::with(&[], |_| panic!("no model request was expected")).quick();
    let mut workflow = world.opened();
    workflow.inputs.insert("fail_job".into(), "maybe".into());
    let typed = [
        ("INPUT_MODELL", "x/y"),
        ("INPUT_MAX-TOKENS", "5"),
        ("INPUT_ARGS", "action"),
    ];
    let typed = typed.map(|(name, value)| (name.to_owned(), value.to_owned()));
    workflow.variables.extend(typed);
    let ran = world.run(&workflow);
    ran.ended(2, "error");
    let told = ran.annotations("error");
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(
        told[0],
        "Input max-tokens is not known; did you mean max_tokens?"
    );
    assert_eq!(told[1], "Input modell is not known; did you mean model?");
    assert!(told[2].starts_with("Input fail_job is"), "{told:?}");
    world.finish();
}

#[test]
fn the_inputs_are_listed_and_every_help_has_the_exit_codes() {
    let world = World::with(&[], |_| panic!("no model request was expected")).quick();
    let ran = printed(&mut command(&world, &["inputs"]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(
        ran.out
            .contains("\nmodel  required\n    The model that reviews"),
        "{}",
        ran.out
    );
    let wide = ran.out.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let ran = printed(&mut command(&world, &["inputs", "--color=always"]));
    assert!(ran.out.contains("\u{1b}[1mmodel\u{1b}[0m"), "{:?}", ran.out);
    for name in ["action", "review", "local", "doctor", "state", "inputs"] {
        let ran = printed(&mut command(&world, &[name, "--help"]));
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains("\nExit codes:\n  0  "), "{}", ran.out);
    }
    world.finish();
}
