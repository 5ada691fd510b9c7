//! The verification of a fix with real git, the built binary and a project whose tests are a shell script: what breaks, what was
//! broken before, and what a test proves.

use crate::standin::world::open_folder;
use opencode_reviewer::verify::Verifier;
use reviewer_core::config::FixSettings;
use reviewer_core::domain::CommitSha;
use reviewer_core::verification::{CommandResult, Ending, Standing, Verification};
use reviewer_repo::git::{FileEdit, Repository};
use reviewer_system::clock::Clock;
use reviewer_text::redact::Redactor;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The test of the project: every file of `tests/` has to be accepted by the program.
const RUN: &str = "#!/bin/sh\nset -e\nfor t in tests/*.sh; do sh $t; done\n";
const PROGRAM: &str = "add() { echo $(($1 - $2)); }\n";
const FIXED: &str = "add() { echo $(($1 + $2)); }\n";
const OLD_TEST: &str = ". ./program.sh\ntest $(add 2 0) = 2\n";
const NEW_TEST: &str = ". ./program.sh\ntest $(add 2 2) = 4\n";

struct Project {
    work: TempDir,
    own: TempDir,
    scratch: TempDir,
    head: CommitSha,
}

impl Project {
    fn new() -> Self {
        let work = TempDir::new().unwrap();
        for (path, text) in [
            ("run", RUN),
            ("program.sh", PROGRAM),
            ("tests/old.sh", OLD_TEST),
        ] {
            let path = work.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", work.path().join("link")).unwrap();
        git(work.path(), &["init", "--quiet"]);
        git(work.path(), &["add", "--all"]);
        git(work.path(), &["update-index", "--chmod=+x", "run"]);
        git(work.path(), &["commit", "--quiet", "-m", "first"]);
        let head = git(work.path(), &["rev-parse", "HEAD"]).parse().unwrap();
        Self {
            work,
            own: TempDir::new().unwrap(),
            scratch: open_folder(),
            head,
        }
    }

    async fn verify(&self, commands: &[&[&str]], edits: &[FileEdit]) -> Verification {
        let last = Instant::now() + Duration::from_hours(1);
        self.verify_until(last, commands, edits).await
    }

    async fn verify_until(
        &self,
        last: Instant,
        commands: &[&[&str]],
        edits: &[FileEdit],
    ) -> Verification {
        let path = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
        let workspace = Some(self.work.path());
        let repository = Repository::open(self.own.path(), workspace, &path).unwrap();
        let owned = |command: &&[&str]| command.iter().map(|&one| one.to_owned()).collect();
        let settings = FixSettings {
            verify: commands.iter().map(owned).collect(),
            ..FixSettings::default()
        };
        let redactor = Redactor::new([]);
        let verifier = Verifier {
            repository: &repository,
            head: &self.head,
            settings: &settings,
            launcher: Path::new(env!("CARGO_BIN_EXE_opencode-reviewer")),
            scratch: self.scratch.path(),
            redactor: &redactor,
            require_sandbox: false,
            clock: Clock::scaled(1.0),
            last,
            sidecar_user: None,
        };
        let baseline = verifier.baseline().await.unwrap();
        let judged = verifier.verify(&baseline, edits).await.unwrap();
        let published = repository.tree_with(&self.head, edits).await.unwrap();
        assert_eq!(judged.tree, published.as_str());
        let left = fs::read_dir(self.scratch.path()).unwrap().count();
        assert_eq!(left, 0, "folders are left behind");
        judged
    }
}

fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=dev", "-c", "user.email=dev@example.org"])
        .args(args)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn edit(path: &str, content: &str) -> FileEdit {
    FileEdit {
        path: path.to_owned(),
        content: Some(content.as_bytes().to_vec()),
    }
}

#[tokio::test]
async fn a_test_that_fails_without_the_fix_proves_it() {
    let project = Project::new();
    let edits = [edit("program.sh", FIXED), edit("tests/new.sh", NEW_TEST)];
    let verified = project.verify(&[&["./run"]], &edits).await;
    assert!(verified.has_passed(), "{verified:?}");
    assert_eq!(verified.witness.to_string(), "proved by `./run`");
    assert_eq!(verified.fixed.left_out, ["link"]);
}

#[tokio::test]
async fn nothing_is_run_beyond_the_end_of_the_run() {
    let project = Project::new();
    let edits = [edit("program.sh", FIXED)];
    let verified = project
        .verify_until(Instant::now(), &[&["./run"]], &edits)
        .await;
    let standings: Vec<&Standing> = verified.standings.iter().collect();
    let why = "the time of the run was over".to_owned();
    assert_eq!(standings, [&Standing::NotRun(why)], "{verified:?}");
}

#[tokio::test]
async fn a_fix_without_a_test_or_with_one_that_says_nothing_is_not_proved() {
    let project = Project::new();
    let alone = project
        .verify(&[&["./run"]], &[edit("program.sh", FIXED)])
        .await;
    assert!(alone.has_passed(), "{alone:?}");
    let told = alone.witness.to_string();
    assert_eq!(told, "not proved: the fix adds no test");
    let idle = [edit("program.sh", FIXED), edit("tests/new.sh", OLD_TEST)];
    let idle = project.verify(&[&["./run"]], &idle).await;
    assert_eq!(
        idle.witness.to_string(),
        "not proved: the added tests also pass without the rest of the fix"
    );
}

#[tokio::test]
async fn what_failed_before_does_not_count_and_what_breaks_is_told() {
    let project = Project::new();
    let broken = [edit("program.sh", "add() { echo nothing; }\n")];
    let commands: [&[&str]; 3] = [&["false"], &["./run"], &["no-such-lint"]];
    let verified = project.verify(&commands, &broken).await;
    let [before, breaks, missing] = &verified.standings[..] else {
        panic!("{verified:?}");
    };
    assert_eq!(*before, Standing::FailedBefore(Ending::Exit(1)));
    assert_eq!(*breaks, Standing::Broken(Ending::Exit(1)));
    assert!(matches!(missing, Standing::NotRun(_)), "{missing:?}");
    let told: Vec<String> = verified.broken().map(CommandResult::sentence).collect();
    assert_eq!(told, ["`./run` failed with exit code 1."]);
    assert!(!verified.has_passed());
}
