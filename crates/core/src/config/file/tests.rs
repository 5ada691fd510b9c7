use super::*;
use crate::config::inputs::config;
use crate::config::lifecycle::ReviewerKind;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn problems(text: &str) -> Vec<(u64, String)> {
    let file = RepositoryFile::parse(text);
    let problems = file.problems.into_iter();
    problems.map(|one| (one.line, one.sentence)).collect()
}

fn inputs(given: &[(&str, &str)]) -> RawInputs {
    let mut raw = RawInputs::default();
    let needed = [("model", "openai/gpt-5"), ("github_token", "t")];
    for (name, value) in needed.iter().chain(given) {
        raw.set(name, value);
    }
    raw
}

const WHOLE: &str = "# Our reviewer.
problem_score_threshold: 6
blocking_score_threshold: off
fail_job: true
max_cost_usd: 0.50
human_reviewers: [ada, org/core]
ignore:
  - docs/**
  - '!Cargo.lock'
  - '*.{snap,golden}'
instructions:
  - paths: ['api/**']
    text: |
      Every handler checks the caller's rights.
  - text: Public items are documented.
skip:
  labels: [wip, blocked]
  authors: ['renovate[bot]']
  drafts: false
  max_changed_files: 300
fix:
  verify:
    - [make, lint]
    - [cargo, test, --offline]
  allow: ['tests/**']
  verify_read: /srv/cache
  verify_exec: [/opt/toolchain, /opt/node-22/bin]
  timeout_minutes: 25
lifecycle:
  reviewers:
    - {name: quality, can_escalate: [security, {name: bob, type: human}, ada]}
    - product
    - {name: ada, type: human, can_escalate: security}
  auto_merge: true
  require_human_approval: true
  max_fix_cycles: 3
";

#[test]
fn everything_that_the_file_says_counts() {
    let file = RepositoryFile::parse(WHOLE);
    assert_eq!(file.problems, []);
    let raw = inputs(&[("fail_job", "false")]);
    let config = config(&file.under(&raw)).unwrap();
    assert_eq!(config.policy.threshold.get(), 6);
    assert_eq!(config.policy.blocking, None);
    assert!(!config.fail_job, "the workflow wins");
    assert!((config.max_cost_usd - 0.5).abs() < 1e-9);
    assert_eq!(config.human_reviewers, ["ada", "org/core"]);
    let ignore = file.ignore(&raw).unwrap();
    assert!(ignore.take("docs/a.md") && ignore.take("x.golden"));
    assert_eq!(ignore.decide("Cargo.lock"), Some(false));
    assert!(file.ignore(&inputs(&[("ignore", "x")])).is_none());
    let [api, all] = &file.instructions[..] else {
        panic!("{:?}", file.instructions);
    };
    assert!(api.globs.take("api/users.rs") && !api.globs.take("web/a.ts"));
    assert_eq!(api.text, "Every handler checks the caller's rights.");
    assert!(all.globs.take("anything/at.all"));
    assert_eq!(file.skip.labels, ["wip", "blocked"]);
    assert_eq!(file.skip.authors, [Login::new("renovate[bot]")]);
    assert!(!file.skip.drafts);
    assert_eq!(
        (file.skip.max_files, file.skip.max_lines),
        (Some(300), None)
    );
}

#[test]
fn a_mistake_is_told_on_its_line_and_costs_nothing_else() {
    let text = "problem_score_treshold: 6\nfail_job: maybe\n\nmax_cost_usd: 3\nmodel: openai/gpt-5\nskip:\n  label: x\n  max_changed_files: none\nignore: ['a[']\n";
    let told = problems(text);
    let starts = [
        (
            1,
            "\"problem_score_treshold\" is no setting. Did you mean problem_score_threshold? Expected one of ",
        ),
        (2, "fail_job is \"maybe\"; expected true or false."),
        (5, "model is set in the workflow only"),
        (7, "\"label\" is no setting. Did you mean labels?"),
        (8, "max_changed_files takes a whole number above 0."),
        (9, "ignore has the glob \"a[\", which cannot be read;"),
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for ((line, sentence), (at, start)) in told.iter().zip(starts) {
        assert_eq!(*line, at, "{sentence}");
        assert!(sentence.starts_with(start), "{sentence}");
    }
    let config = config(&RepositoryFile::parse(text).under(&inputs(&[]))).unwrap();
    assert!((config.max_cost_usd - 3.0).abs() < 1e-9);
}

#[test]
fn what_verifies_a_fix_counts_as_it_is_written() {
    let fix = RepositoryFile::parse(WHOLE).fix;
    let commands: Vec<String> = fix.verify.iter().map(|argv| argv.join(" ")).collect();
    assert_eq!(commands, ["make lint", "cargo test --offline"]);
    assert!(fix.allow.take("tests/a.rs") && !fix.allow.take("src/a.rs"));
    assert_eq!(fix.verify_read, [Path::new("/srv/cache")]);
    let exec = ["/opt/toolchain", "/opt/node-22/bin"].map(Path::new);
    assert_eq!(fix.verify_exec, exec);
    assert_eq!(fix.timeout, Duration::from_mins(25));
    let usual = RepositoryFile::parse("fail_job: true\n").fix;
    assert_eq!(usual.timeout, Duration::from_mins(10));
    assert!(usual.verify.is_empty());
}

#[test]
fn all_mistakes_about_fixes_are_told_at_once_and_a_wrong_command_runs_none() {
    let text = "fix:\n  verify:\n    - [make, test]\n    - make lint\n    - []\n  alow: x\n  verify_exec: [/opt/a, opt/b]\n  verify_read: /proc/../etc\n  timeout_minutes: 0\n";
    let told = problems(text);
    let starts = [
        (
            4,
            "A command of verify is a list of texts: the program and its arguments",
        ),
        (
            5,
            "A command of verify is a list of texts: the program and its arguments",
        ),
        (
            6,
            "\"alow\" is no setting. Did you mean allow? Expected one of verify, allow, ",
        ),
        (
            7,
            "verify_exec has \"opt/b\"; expected absolute paths without . and ..,",
        ),
        (
            8,
            "verify_read has \"/proc/../etc\"; expected absolute paths",
        ),
        (9, "timeout_minutes takes a whole number from 1 to 60."),
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for ((line, sentence), (at, start)) in told.iter().zip(starts) {
        assert_eq!(*line, at, "{sentence}");
        assert!(sentence.starts_with(start), "{sentence}");
    }
    let fix = RepositoryFile::parse(text).fix;
    assert!(fix.verify.is_empty(), "{:?}", fix.verify);
    assert_eq!(fix.verify_exec, [Path::new("/opt/a")]);
}

#[test]
fn what_is_no_settings_at_all_is_one_problem() {
    assert_eq!(problems(""), []);
    assert_eq!(problems("# nothing\n"), []);
    for text in ["- a\n- b\n", "words", "a: [", "a: 1\na: 2\n", "\t- x: ]["] {
        assert_eq!(problems(text).len(), 1, "{text:?}: {:?}", problems(text));
    }
    let (line, sentence) = problems("fail_job: true\nignore: [\n").remove(0);
    assert!(sentence.starts_with("The file is no YAML"), "{sentence}");
    assert!(line >= 2, "{line}");
}

#[test]
fn every_input_is_in_the_file_or_in_the_workflow_only() {
    for input in INPUTS {
        let told = problems(&format!("{}: x\n", input.name));
        let only = told
            .iter()
            .any(|(_, sentence)| sentence.contains("in the workflow only"));
        let takes = keys().any(|key| key == input.name);
        assert_ne!(only, takes, "{}: {told:?}", input.name);
    }
}

#[test]
fn the_defaults_of_inputs_may_stand_in_the_file() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    for input in INPUTS.iter().filter(|input| input.in_file.is_some()) {
        let text = format!("{}: {}\n", input.name, input.default);
        assert_eq!(problems(&text), [], "{text}");
        let value: Value = serde_yaml::from_str(&text).unwrap();
        let valid = input.default.is_empty() || schema.is_valid(&value);
        assert!(valid, "{text}");
    }
}

/// Editors and the reader say the same about these.
#[test]
fn schema_and_reader_agree() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let good = [
        WHOLE,
        "{}",
        "sensitivity: high\n",
        "skip: {drafts: true, max_changed_lines: 10}\n",
        "ignore: docs/**\n",
        "max_tokens: 100000\nmax_per_day: off\n",
        "max_per_day: 1000000 tokens\n",
        "max_per_day: $0.50, 1000 tokens\n",
        "max_per_day: [20 USD, 1000000 tokens]\n",
        "max_per_day: false\n",
        "fix: {}\n",
        "fix: {verify: []}\n",
        "fix: {verify: [[make]], verify_exec: /opt/.hidden/..x, verify_read: [/...]}\n",
        "fix: {timeout_minutes: 60}\n",
        "lifecycle: {}\n",
        "lifecycle:\n",
        "lifecycle: {enabled: false, max_fix_cycles: 0}\n",
        "lifecycle: {reviewers: [{name: ada, type: human}]}\n",
    ];
    let bad = [
        "nonsense: 1\n",
        "problem_score_threshold: 11\n",
        "problem_score_threshold: [5]\n",
        "sensitivity: very\n",
        "review_timeout_minutes: 0\n",
        "max_cost_usd: -1\n",
        "max_per_day: 20\n",
        "max_per_day: [20]\n",
        "max_per_day: none\n",
        "max_cost_usd_per_day: 20\n",
        "skip: {label: x}\n",
        "skip: 3\n",
        "instructions: words\n",
        "instructions: [{paths: [a]}]\n",
        "instructions: [{text: a, path: b}]\n",
        "model: openai/gpt-5\n",
        "- a\n",
        "fix: make\n",
        "fix: {verfy: [[make]]}\n",
        "fix: {verify: make test}\n",
        "fix: {verify: [make test]}\n",
        "fix: {verify: [[]]}\n",
        "fix: {verify: [['', test]]}\n",
        "fix: {verify: [[make, [test]]]}\n",
        "fix: {verify_read: [relative]}\n",
        "fix: {verify_read: ['/a/../b']}\n",
        "fix: {verify_exec: '/'}\n",
        "fix: {verify_exec: '/a//b'}\n",
        "fix: {timeout_minutes: 61}\n",
        "fix: {timeout_minutes: [5]}\n",
        "lifecycle: on\n",
        "lifecycle: {reviewer: [quality]}\n",
        "lifecycle: {reviewers: []}\n",
        "lifecycle: {reviewers: quality}\n",
        "lifecycle: {reviewers: ['a b']}\n",
        "lifecycle: {reviewers: [{type: human}]}\n",
        "lifecycle: {reviewers: [{name: ada, type: person}]}\n",
        "lifecycle: {reviewers: [{name: ada, escalate: [b]}]}\n",
        "lifecycle: {reviewers: [{name: quality, can_escalate: [{type: human}]}]}\n",
        "lifecycle: {reviewers: [{name: quality, can_escalate: [{name: ada, type: x}]}]}\n",
        "lifecycle: {reviewers: [{name: quality, can_escalate: [{name: ada, of: x}]}]}\n",
        "lifecycle: {auto_merge: maybe}\n",
        "lifecycle: {max_fix_cycles: 11}\n",
    ];
    for (texts, is_good) in [(&good[..], true), (&bad[..], false)] {
        for text in texts {
            let value: Value = serde_yaml::from_str(text).unwrap_or(json!(0));
            assert_eq!(schema.is_valid(&value), is_good, "schema: {text} {value}");
            assert_eq!(problems(text).is_empty(), is_good, "reader: {text}");
        }
    }
}

#[test]
fn the_service_takes_its_reviewers_from_the_file() {
    let settings = RepositoryFile::parse(WHOLE).lifecycle_settings();
    assert_eq!(settings.error, None);
    let named: Vec<(&str, ReviewerKind, String)> = settings
        .reviewers
        .iter()
        .map(|one| (one.name.as_str(), one.kind, one.can_escalate.join(" ")))
        .collect();
    let expected = [
        (
            "quality",
            ReviewerKind::Agent,
            "security bob ada".to_owned(),
        ),
        ("product", ReviewerKind::Agent, String::new()),
        ("ada", ReviewerKind::Human, "security".to_owned()),
    ];
    assert_eq!(named, expected);
    assert_eq!(settings.reviewers[0].people, ["bob"]);
    let people = ["security", "bob", "ada", "product"].map(|name| settings.is_person(name));
    assert_eq!(people, [false, true, true, false]);
    assert!(settings.enabled && settings.auto_merge && settings.require_human_approval);
    assert_eq!(settings.max_fix_cycles, 3);
}

#[test]
fn without_the_section_one_quality_reviewer_may_escalate_to_security_and_nothing_is_merged() {
    let settings = RepositoryFile::parse("fail_job: true\n").lifecycle_settings();
    assert_eq!(settings, Settings::default());
    let [quality] = &settings.reviewers[..] else {
        panic!("{:?}", settings.reviewers);
    };
    assert_eq!(quality.name, "quality");
    assert_eq!(quality.can_escalate, ["security"]);
    assert!(settings.enabled && !settings.auto_merge && !settings.require_human_approval);
    assert_eq!(settings.max_fix_cycles, 2);
}

#[test]
fn a_mistake_in_the_section_of_the_service_is_one_sentence_in_its_settings() {
    let error = |text: &str| RepositoryFile::parse(text).lifecycle_settings().error;
    let cases = [
        (
            "lifecycle:\n  auto_merge: maybe\n  max_fix_cycles: 99\n",
            ".github/opencode-reviewer.yml in line 2: auto_merge takes true or false.",
        ),
        (
            "lifecycle:\n  reviewers:\n    - quality\n    - Quality\n",
            ".github/opencode-reviewer.yml in line 4: The reviewer Quality stands there twice.",
        ),
        (
            "lifecycle: {automerge: true}\n",
            ".github/opencode-reviewer.yml in line 1: \"automerge\" is no setting. Did you mean auto_merge? Expected one of \
             enabled, reviewers, auto_merge, require_human_approval, max_fix_cycles.",
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(error(text).as_deref(), Some(sentence));
    }
    assert_eq!(error("fail_job: maybe\n"), None, "of another section");
    let unreadable = error("lifecycle: [\n").expect("an error");
    assert!(unreadable.contains("no YAML"), "{unreadable}");
    assert_eq!(
        problems("lifecycle:\n  auto_merge: maybe\n  max_fix_cycles: 99\n").len(),
        2
    );
}
