//! `fix` and `loop` as people and workflows call them: the fix in one command, in two jobs with a signed file between them, and
//! in turns with reviews; and every wrong thing that can be given to them.

use crate::commands::{clone_of, command, model, printed};
use crate::fixing::{CEIL, script};
use crate::standin::github::{Change, Fault, GitHub, Identity, Rule, State, Write, events};
use crate::standin::world::{Ran, Workflow, World, open_folder};
use http::Method;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const STATE_KEY: &str = "a state key of twenty characters or more";
/// A token that only reads, as the job that fixes has it.
const READS: &str = "ghs_reads_0123456789abcdef0123456789";

fn signed(mut workflow: Workflow) -> Workflow {
    workflow.inputs.insert("state_key".into(), STATE_KEY.into());
    workflow
}

/// The commit of a fix, and its report: path and a word of the body.
const COMMIT: (&str, &str) = ("/graphql", "Review-Finding: ");
const REPORT: (&str, &str) = ("/repos/octo/shop/issues/1/comments", "rmcoc:fix");

/// A reviewed pull request, and the jobs of `examples/fix.yml`.
struct Jobs {
    world: World,
    /// The tokens of the review.
    tokens: u64,
    folder: PathBuf,
    _kept: tempfile::TempDir,
}

impl Jobs {
    fn new() -> Self {
        let world = World::shop(script(7)).quick();
        world.github.permit("writer", "write");
        let rights = ["contents", "pull-requests", "checks", "issues"];
        let with = |access: &str| rights.map(|right| format!("{right}:{access}"));
        let [writes, reads] = ["write", "read"].map(with);
        let token = |rights: &[String]| {
            let rights: Vec<&str> = rights.iter().map(String::as_str).collect();
            Identity::github_actions(&rights)
        };
        let all: Vec<String> = writes.iter().chain(&reads).cloned().collect();
        world.github.token(GitHub::TOKEN, token(&all));
        world.github.token(READS, token(&reads));
        let kept = open_folder();
        let ran = world.run(&signed(world.opened()));
        ran.ended(0, "findings");
        world.github.take_writes();
        Self {
            world,
            tokens: ran.outputs["tokens"].parse().expect("a number"),
            folder: kept.path().to_owned(),
            _kept: kept,
        }
    }

    /// The next request of this kind is answered like this.
    fn strikes(&self, (path, word): (&str, &str), fault: Fault) {
        let rule = Rule {
            method: Method::POST,
            path_prefix: path.into(),
            body_contains: word.into(),
            after: 0,
            times: 1,
            struck: 0,
            fault,
        };
        self.world.github.with(|state| state.faults.push(rule));
    }

    /// The third job, killed once the fault has struck; hours later nobody can be at work any more.
    fn publishes_until_struck(&self, workflow: &Workflow) {
        let mut workflow = workflow.clone();
        workflow.inputs.remove("opencode_api_key");
        let (number, file) = (self.world.pull.to_string(), self.file("fix.json"));
        let arguments = ["fix", "--pr", &number, "--publish", file.to_str().unwrap()];
        let mut command = self.world.command(&workflow, &arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let struck = |state: &mut State| state.faults.iter().any(|rule| rule.struck > 0);
        while !self.world.github.with(struck) {
            let ended = child.try_wait().expect("a process");
            assert!(ended.is_none(), "it ended before the step");
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().expect("the signal");
        child.wait().expect("the end");
        self.world.github.with(State::clear_faults);
        self.world.github.with(|state| state.rest(8));
        for folder in self.world.left_over() {
            let _gone = std::fs::remove_dir_all(folder);
        }
    }

    /// The event of a comment of somebody.
    fn says(&self, login: &str, words: &str) -> Workflow {
        let (github, pull) = (&self.world.github, self.world.pull);
        let comment = github.comment(pull, login, &format!("@review-my-code-bot {words}"));
        let payload = events::comment_event("issue_comment", github, pull, comment.id);
        signed(self.world.workflow("issue_comment", payload))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The first job: a token that only reads, and the model's key.
    fn fixes(&self, workflow: &Workflow) -> Ran {
        let mut workflow = workflow.clone();
        workflow.inputs.insert("github_token".into(), READS.into());
        self.spawn(
            &workflow,
            &["--patch-out", self.file("fix.json").to_str().unwrap()],
        )
    }

    /// The third job: a token that writes, and no key of a model.
    fn publishes(&self, workflow: &Workflow, file: &Path) -> Ran {
        let mut workflow = workflow.clone();
        workflow.inputs.remove("opencode_api_key");
        self.spawn(&workflow, &["--publish", file.to_str().unwrap()])
    }

    fn spawn(&self, workflow: &Workflow, flags: &[&str]) -> Ran {
        let number = self.world.pull.to_string();
        let arguments: Vec<&str> = ["fix", "--pr", &number]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        self.world.spawn(workflow, &arguments)
    }

    fn head(&self) -> String {
        let pull = self.world.pull;
        self.world.github.pull(pull, |pull| pull.head.sha.clone())
    }

    fn shows(&self, commit: &str, path: &str) -> String {
        let name = format!("{commit}:{path}");
        self.world
            .github
            .with(|state| state.git.must(&["show", &name]))
    }

    /// The comments below the description since the last look.
    fn told(&self) -> Vec<String> {
        let writes = self.world.github.take_writes();
        let comments = writes.iter().filter_map(|write| match write {
            Write::IssueComment { json, .. } => json["body"].as_str().map(str::to_owned),
            _ => None,
        });
        comments.collect()
    }
}

#[test]
fn a_fix_in_two_jobs_is_made_by_a_token_that_reads_and_published_without_a_model() {
    let jobs = Jobs::new();
    let before = jobs.head();
    let event = jobs.says("writer", "fix");
    let ran = jobs.fixes(&event);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(jobs.world.github.take_writes().len(), 0, "{}", ran.log);
    assert_eq!(jobs.head(), before);
    let bundle = std::fs::read(jobs.file("fix.json")).expect("a bundle");
    let bundle: Value = serde_json::from_slice(&bundle).expect("JSON");
    crate::documents::assert_is_bundle(&bundle);
    assert_eq!(bundle["head"], before);
    assert_eq!(bundle["outcomes"][0]["outcome"], "fixed");
    let patch = jobs.file("fix.json.patch");
    assert_eq!(ran.outputs["patch_file"], patch.display().to_string());
    let patch = std::fs::read_to_string(patch).expect("a patch");
    assert!(patch.contains(&format!("+  return {CEIL};")), "{patch}");

    let asked = jobs.world.model.requests().len();
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(jobs.world.model.requests().len(), asked, "no model");
    let commit = jobs.head();
    assert!(jobs.shows(&commit, "src/page.ts").contains(CEIL));
    let tree = jobs.world.github.with(|state| {
        let name = format!("{commit}^{{tree}}");
        state.git.must(&["rev-parse", &name])
    });
    assert_eq!(
        Value::from(tree.trim()),
        bundle["tree"],
        "the verified tree"
    );
    let told = jobs.told();
    let begin = "<!-- pr-review-loop-marker -->\n### Fixed 1 of 1 finding in ";
    assert!(told.len() == 1 && told[0].starts_with(begin), "{told:#?}");

    // The fourth job reviews the new head.
    let ran = jobs.world.run(&signed(jobs.world.opened()));
    ran.ended(0, "clean");
    jobs.world.github.take_writes();
    // The same bundle again does nothing, and says that it is done.
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let done = format!("The fix is published already, in {commit:.7}.");
    assert!(ran.log.contains(&done), "{}", ran.log);
    assert_eq!((jobs.head(), jobs.told().len()), (commit, 0));
    jobs.world.finish();
}

#[test]
fn a_bundle_of_a_head_that_somebody_moved_is_not_published() {
    let jobs = Jobs::new();
    let event = jobs.says("writer", "fix");
    assert_eq!(jobs.fixes(&event).code, Some(0));
    let (github, pull) = (&jobs.world.github, jobs.world.pull);
    let file = Change::write("src/more.ts", "export {};\n");
    let pushed = github.commit("search", &[&jobs.head()], &[file]);
    github.push(pull, &pushed);
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(ran.log.contains("and the head is"), "{}", ran.log);
    assert_eq!((jobs.head(), jobs.told().len()), (pushed, 0));
    jobs.world.finish();
}

#[test]
fn a_bundle_whose_report_is_refused_is_published_and_told_when_the_job_runs_again() {
    let jobs = Jobs::new();
    let event = jobs.says("writer", "fix");
    assert_eq!(jobs.fixes(&event).code, Some(0));
    let refused = serde_json::json!({ "message": "Resource not accessible" });
    jobs.strikes(REPORT, Fault::Status(403, refused));
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    // The next job reviews the new head.
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let commit = jobs.head();
    assert!(jobs.shows(&commit, "src/page.ts").contains(CEIL));
    assert_eq!(jobs.told().len(), 0);
    for told in [1, 0] {
        let ran = jobs.publishes(&event, &jobs.file("fix.json"));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        assert_eq!((jobs.head(), jobs.told().len()), (commit.clone(), told));
    }
    jobs.world.finish();
}

#[test]
fn a_publication_that_is_cut_off_at_any_step_is_made_and_told_once() {
    for (step, fault) in [
        (COMMIT, Fault::Hang),
        (COMMIT, Fault::ApplyThenHang),
        (REPORT, Fault::Hang),
        (REPORT, Fault::ApplyThenHang),
    ] {
        println!("at {} {fault:?}", step.1);
        let jobs = Jobs::new();
        let before = jobs.head();
        let event = jobs.says("writer", "fix");
        assert_eq!(jobs.fixes(&event).code, Some(0));
        jobs.strikes(step, fault);
        jobs.publishes_until_struck(&event);
        let ran = jobs.publishes(&event, &jobs.file("fix.json"));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        let writes = jobs.world.github.take_writes();
        let commits = writes
            .iter()
            .filter(|one| matches!(one, Write::Commit { .. }));
        assert_eq!(commits.count(), 1, "{}", ran.log);
        let told = writes
            .iter()
            .filter(|one| matches!(one, Write::IssueComment { .. }));
        assert_eq!(told.count(), 1, "{}", ran.log);
        let commit = jobs.head();
        assert_ne!(commit, before);
        assert!(jobs.shows(&commit, "src/page.ts").contains(CEIL));
        jobs.world.finish();
    }
}

#[test]
fn the_cost_of_a_fix_in_two_jobs_counts_for_the_day() {
    let jobs = Jobs::new();
    let event = jobs.says("writer", "fix");
    let ran = jobs.fixes(&event);
    let tokens: u64 = ran.outputs["tokens"].parse().expect("a number");
    assert!(tokens > 0, "{}", ran.log);
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    // The review and the fix have used up the day.
    let mut next = signed(jobs.world.opened());
    let day = (jobs.tokens + tokens).to_string();
    next.inputs
        .insert("max_per_day".into(), format!("{day} tokens"));
    let asked = jobs.world.model.requests().len();
    let ran = jobs.world.run(&next);
    ran.ended(2, "incomplete");
    assert_eq!(jobs.world.model.requests().len(), asked, "{}", ran.log);
    jobs.world.github.take_writes();
    jobs.world.finish();
}

#[test]
fn a_bundle_whose_answers_are_lost_is_published_and_told_once() {
    let jobs = Jobs::new();
    let event = jobs.says("writer", "fix");
    assert_eq!(jobs.fixes(&event).code, Some(0));
    let (graphql, comments) = ("/graphql", "/repos/octo/shop/issues/1/comments");
    for (path, word) in [(graphql, "createCommitOnBranch"), (comments, "rmcoc:fix")] {
        let rule = Rule {
            method: Method::POST,
            path_prefix: path.into(),
            body_contains: word.into(),
            // GitHub is asked first if the token may commit.
            after: usize::from(path == graphql),
            times: 1,
            struck: 0,
            fault: Fault::ApplyThenStatus(502, Value::Null),
        };
        jobs.world.github.with(|state| state.faults.push(rule));
    }
    let ran = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let struck = |state: &mut State| state.struck.len();
    assert_eq!(jobs.world.github.with(struck), 2, "{}", ran.log);
    let commit = jobs.head();
    let again = jobs.publishes(&event, &jobs.file("fix.json"));
    assert_eq!(again.code, Some(0), "{}", again.log);
    assert_eq!((jobs.head(), jobs.told().len()), (commit, 1));
    jobs.world.finish();
}

#[test]
fn a_bundle_that_is_not_the_signed_one_of_this_pull_request_is_refused_in_a_sentence() {
    let jobs = Jobs::new();
    let before = jobs.head();
    let event = jobs.says("writer", "fix");
    assert_eq!(jobs.fixes(&event).code, Some(0));
    let made = std::fs::read_to_string(jobs.file("fix.json")).expect("a bundle");
    let others = [
        (
            "edited.json",
            made.replace("src/page.ts", "src/cart.ts"),
            "somebody changed it after it was made",
        ),
        (
            "unsigned.json",
            made.replace("\"sig\"", "\"gis\""),
            "not by this repository's state_key",
        ),
        (
            "newer.json",
            made.replace("\"version\": 1", "\"version\": 2"),
            "a bundle of version 2",
        ),
        (
            "other.json",
            made.replace("\"pull_request\": 1", "\"pull_request\": 2"),
            "the bundle of octo/shop#2, and not of octo/shop#1",
        ),
        (
            "patch.json",
            "diff --git a b".to_owned(),
            "it is no bundle of a fix (it is no JSON)",
        ),
    ];
    for (name, text, why) in &others {
        std::fs::write(jobs.file(name), text).expect("a file");
        let ran = jobs.publishes(&event, &jobs.file(name));
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.log);
        assert!(ran.log.contains(why), "{name}: {}", ran.log);
    }
    let ran = jobs.publishes(&event, &jobs.file("none.json"));
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    assert!(
        ran.log.contains("none.json could not be read: "),
        "{}",
        ran.log
    );
    let mut keyless = event.clone();
    keyless.inputs.remove("state_key");
    for ran in [
        jobs.fixes(&keyless),
        jobs.publishes(&keyless, &jobs.file("fix.json")),
    ] {
        assert_eq!(ran.code, Some(2), "{}", ran.log);
        assert!(
            ran.log.contains("signed with state_key, and it is not set"),
            "{}",
            ran.log
        );
    }
    assert_eq!(jobs.head(), before);
    assert_eq!(jobs.told(), Vec::<String>::new());
    jobs.world.finish();
}

#[test]
fn publishing_looks_again_at_who_asked_at_the_labels_and_at_the_findings() {
    let jobs = Jobs::new();
    let before = jobs.head();
    let event = jobs.says("writer", "fix");
    assert_eq!(jobs.fixes(&event).code, Some(0));
    let file = jobs.file("fix.json");
    let pull = jobs.world.pull;
    jobs.world.github.permit("writer", "read");
    let ran = jobs.publishes(&event, &file);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    jobs.world.github.permit("writer", "write");
    jobs.world.github.with(|state| {
        let pull = state.pulls.get_mut(&pull).expect("the pull request");
        pull.labels.push("no-fix".into());
    });
    let ran = jobs.publishes(&event, &file);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(ran.log.contains("the label no-fix"), "{}", ran.log);
    jobs.world.github.with(|state| {
        let pull = state.pulls.get_mut(&pull).expect("the pull request");
        pull.labels.clear();
    });
    // A bundle that was made for another comment.
    let other = jobs.says("writer", "fix");
    let ran = jobs.publishes(&other, &file);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(
        ran.log.contains("another fix was asked for or made"),
        "{}",
        ran.log
    );
    // A comment that asks for something else starts nothing.
    let question = jobs.says("writer", "help");
    let ran = jobs.fixes(&question);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(ran.log.contains("does not ask for a fix"), "{}", ran.log);
    // Nor does a comment on another pull request.
    let elsewhere = ["fix", "--pr", "2", "--patch-out", "x"];
    let ran = jobs.world.spawn(&event, &elsewhere);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert_eq!(jobs.head(), before);
    jobs.told();
    jobs.world.finish();
}

#[test]
fn a_head_without_a_review_is_not_fixed_in_two_jobs() {
    let jobs = Jobs::new();
    let event = jobs.says("writer", "fix");
    // Another model is another review.
    let mut other = event.clone();
    other
        .inputs
        .insert("model".into(), "standin/another".into());
    let ran = jobs.fixes(&other);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    let why = "is not reviewed to the end with these inputs; let it be reviewed first.";
    assert!(ran.log.contains(why), "{}", ran.log);
    assert!(!jobs.file("fix.json").exists());
    jobs.world.finish();
}

fn in_shell(world: &World, arguments: &[&str]) -> Command {
    let [name, url] = model(world);
    let mut all = arguments.to_vec();
    all.extend([name.as_str(), url.as_str()]);
    command(world, &all)
}

#[test]
fn a_fix_from_a_shell_is_one_commit_and_the_next_one_has_nothing_to_fix() {
    let jobs = Jobs::new();
    let before = jobs.head();
    let with_key = format!("state_key={STATE_KEY}");
    let arguments = [
        "fix",
        "--repo",
        "octo/shop",
        "--pr",
        "1",
        "--input",
        &with_key,
    ];
    let dry = printed(in_shell(&jobs.world, &arguments).arg("--dry-run"));
    assert_eq!(dry.code, Some(0), "{}\n{}", dry.out, dry.err);
    assert!(dry.out.contains("Fix 1 review finding"), "{}", dry.out);
    assert_eq!((jobs.head(), jobs.told().len()), (before.clone(), 0));
    let ran = printed(&mut in_shell(&jobs.world, &arguments));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert_ne!(jobs.head(), before);
    assert_eq!(jobs.told().len(), 1);
    let ran = printed(&mut in_shell(&jobs.world, &arguments));
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    jobs.world.github.take_writes();
    jobs.world.finish();
}

#[test]
fn the_two_halves_of_a_fix_are_two_commands() {
    let world = World::shop(script(7)).quick();
    let arguments = ["fix", "--pr", "1", "--patch-out", "a", "--publish", "b"];
    let ran = printed(&mut command(&world, &arguments));
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
    world.finish();
}

#[test]
fn a_loop_that_does_not_fit_names_the_command_that_continues_it() {
    let world = World::shop(script(7)).quick();
    let with_key = format!("state_key={STATE_KEY}");
    let arguments = ["loop", "--repo", "octo/shop", "--pr", "1"];
    let inputs = ["--input", &with_key, "--input", "max_tokens=1"];
    let ran = printed(&mut in_shell(
        &world,
        &[&arguments[..], &inputs[..]].concat(),
    ));
    assert_eq!(ran.code, Some(2), "{}\n{}", ran.out, ran.err);
    let continues = "`opencode-reviewer loop --repo octo/shop --pr 1` goes on.";
    // The terminal wraps lines.
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    assert!(words.join(" ").contains(continues), "{}", ran.out);
    world.github.take_writes();
    world.finish();
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    let status = git.args(arguments).current_dir(folder).status();
    assert!(status.expect("git").success());
}

#[test]
fn loop_takes_the_pull_request_of_the_branch_and_ends_when_it_has_converged() {
    let jobs = Jobs::new();
    let world = &jobs.world;
    let clone = open_folder();
    clone_of(world, clone.path());
    let run = |branch: &str| {
        git(
            clone.path(),
            &["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")],
        );
        let with_key = format!("state_key={STATE_KEY}");
        let mut ran = in_shell(world, &["loop", "--input", &with_key]);
        printed(ran.current_dir(clone.path()))
    };
    let ran = run("nobody/knows");
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(
        ran.err.contains(
            "The branch nobody/knows has no open pull request in octo/shop; open one, or add --pr"
        ),
        "{}",
        ran.err
    );
    let branch = world
        .github
        .pull(world.pull, |pull| pull.head.branch.clone());
    let ran = run(&branch);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let fixed = jobs.shows(&jobs.head(), "src/page.ts");
    assert!(fixed.contains(CEIL), "{fixed}");
    world.github.take_writes();
    let ran = run(&branch);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    world.github.take_writes();
    world
        .github
        .commit("other", &[], &[Change::write("a.txt", "a\n")]);
    let second = world.github.open_pull("dev", &branch, "other");
    let ran = run(&branch);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    let several = format!(
        "has several open pull requests in octo/shop: #{second}, #{}; add --pr with the number of one.",
        world.pull
    );
    assert!(ran.err.contains(&several), "{}", ran.err);
    let outside = open_folder();
    let mut nowhere = in_shell(world, &["loop", "--repo", "octo/shop"]);
    let ran = printed(nowhere.current_dir(outside.path()));
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(
        ran.err.contains("no branch checked out; add --pr"),
        "{}",
        ran.err
    );
    jobs.world.finish();
}
