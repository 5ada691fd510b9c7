use super::*;

fn run(outcomes: &[(&str, CommandOutcome)]) -> CommandRun {
    let results = outcomes.iter().map(|(line, outcome)| CommandResult {
        command: line.split(' ').map(str::to_owned).collect(),
        outcome: outcome.clone(),
        output: String::new(),
    });
    CommandRun {
        results: results.collect(),
        ..CommandRun::default()
    }
}

const FAILED: CommandOutcome = CommandOutcome::Failed(Ending::Exit(1));
const PASSED: CommandOutcome = CommandOutcome::Passed;

#[test]
fn what_fails_on_the_head_does_not_count_against_the_fix() {
    let baseline = run(&[("lint", FAILED), ("build", PASSED), ("test all", PASSED)]);
    let fixed = run(&[("lint", FAILED), ("build", PASSED), ("test all", FAILED)]);
    let verified = Verification::new("t".into(), baseline.clone(), fixed, None);
    let expected = [
        Standing::FailedBefore(Ending::Exit(1)),
        Standing::Passed,
        Standing::Broken(Ending::Exit(1)),
    ];
    assert_eq!(verified.standings, expected);
    let broken: Vec<String> = verified.broken().map(CommandResult::sentence).collect();
    assert_eq!(broken, ["`test all` failed with exit code 1."]);
    assert!(!verified.has_passed());
    let fixed = run(&[("lint", FAILED), ("build", PASSED), ("test all", PASSED)]);
    let verified = Verification::new("t".into(), baseline.clone(), fixed, None);
    assert!(verified.has_passed());
    let all_failed = run(&[("lint", FAILED)]);
    let verified = Verification::new("t".into(), all_failed.clone(), all_failed, None);
    assert!(!verified.has_passed(), "nothing has shown anything");
}

#[test]
fn a_command_that_was_not_run_has_not_passed() {
    let missing = CommandOutcome::NotRun("`make` was not found".into());
    let fixed = run(&[("make", missing), ("test", PASSED)]);
    let verified = Verification::new("t".into(), fixed.clone(), fixed, None);
    assert!(!verified.has_passed());
    assert_eq!(verified.broken().count(), 0);
    let sentence = verified.fixed.results[0].sentence();
    assert_eq!(sentence, "`make` was not run: `make` was not found.");
}

#[test]
fn a_test_proves_a_fix_only_if_it_fails_without_it() {
    let passed = run(&[("lint", PASSED), ("test", PASSED)]);
    let told = |without: Option<&CommandRun>| witness(&passed, &passed, without).to_string();
    let failing = run(&[("lint", PASSED), ("test", FAILED)]);
    assert_eq!(told(Some(&failing)), "proved by `test`");
    assert_eq!(
        told(Some(&passed)),
        "not proved: the added tests also pass without the rest of the fix"
    );
    assert_eq!(told(None), "not proved: the fix adds no test");
    let late = CommandOutcome::Failed(Ending::TimedOut(10));
    let late = run(&[("lint", PASSED), ("test", late)]);
    assert!(
        told(Some(&late)).starts_with("not proved"),
        "a time is no proof"
    );
    let before = run(&[("test", FAILED)]);
    let unclear = witness(&before, &passed, Some(&failing)).to_string();
    assert_eq!(
        unclear,
        "not proved: no command passes both on the head and on the fix"
    );
}

#[test]
fn every_ending_is_a_sentence() {
    for (ending, sentence) in [
        (Ending::Exit(3), "`x` failed with exit code 3."),
        (
            Ending::Signal("SIGSEGV".into()),
            "`x` was ended by SIGSEGV.",
        ),
        (
            Ending::TimedOut(10),
            "`x` did not end within the 10 min that all commands have.",
        ),
        (
            Ending::TookTooMuch("it held 5 MiB of memory".into()),
            "`x` was ended, because it held 5 MiB of memory.",
        ),
    ] {
        let failed = run(&[("x", CommandOutcome::Failed(ending))]);
        assert_eq!(failed.results[0].sentence(), sentence);
    }
}

#[test]
fn tests_are_told_by_their_paths() {
    for path in [
        "tests/a.rs",
        "crates/x/tests/fixtures/y",
        "src/a_test.go",
        "src/foo.spec.ts",
        "web/__tests__/x.js",
        "test_foo.py",
        "a/FooTest.java",
        "src/parser/tests.rs",
        "test.mjs",
        "a-test.js",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in [
        "src/latest.rs",
        "contest/a.py",
        "src/attest.go",
        "testament.md",
        "src/inspect.ts",
        "fastest/x.c",
    ] {
        assert!(!is_test_path(path), "{path}");
    }
}
