//! The documents, held against the code: a table, a workflow, a message or a path that is no longer true fails here.
//! Separate from the scenarios, because nothing runs; what is read is what a user or a contributor reads.

mod commands;
mod comment;
mod cost;
mod generated;
mod pages;
mod repository;
mod service;
mod statuses;
mod workflows;

use reviewer_core::domain::Verdict;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands below a heading of the second level, up to the next one.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = format!("\n## {heading}\n");
    let (_, below) = document
        .split_once(&start)
        .unwrap_or_else(|| panic!("no section {heading:?}"));
    below.split("\n## ").next().unwrap_or_default()
}

/// The rows of a section's tables, without their headers.
fn rows(section: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = section.lines().collect();
    let is_rule = |line: &str| line.starts_with("| ---");
    let is_row = |index: usize| {
        let header = lines.get(index + 1).is_some_and(|next| is_rule(next));
        lines[index].starts_with("| ") && !is_rule(lines[index]) && !header
    };
    (0..lines.len())
        .filter(|index| is_row(*index))
        .map(|index| {
            let inner = lines[index].trim_matches('|');
            inner.split(" | ").map(str::trim).collect()
        })
        .collect()
}

/// Every file below a folder, relative to the repository.
fn files_below(folder: &str) -> Vec<String> {
    let mut open = vec![PathBuf::from(folder)];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(root().join(&path)).expect("a folder") {
            let entry = entry.expect("an entry");
            let below = path.join(entry.file_name());
            if entry.path().is_dir() {
                open.push(below);
            } else {
                files.push(below.to_str().expect("plain names").to_owned());
            }
        }
    }
    files.sort();
    files
}

/// Every source file of the product.
fn sources() -> Vec<String> {
    let of_crates = files_below("crates").into_iter();
    let of_crates = of_crates.filter(|path| path.contains("/src/"));
    files_below("src").into_iter().chain(of_crates).collect()
}

/// The shape of a bundle, whoever made it.
pub fn assert_is_bundle(bundle: &Value) {
    assert_follows(bundle, "schema/fix-bundle.schema.json");
}

/// What a report must be, whoever made it.
pub fn assert_is_report(report: &Value) {
    assert_follows(report, "schema/report.schema.json");
}

fn assert_follows(report: &Value, schema: &str) {
    let schema: Value = serde_json::from_str(&text(schema)).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems = validator.iter_errors(report);
    let problems: Vec<String> = problems.map(|problem| problem.to_string()).collect();
    assert_eq!(problems, [""; 0], "{report:#}");
}

/// `module::test` is a function of that module's file, `module::*` a module with tests.
#[test]
fn the_tests_that_the_security_page_names_are_there() {
    let page = text("SECURITY.md");
    let promises = section(&page, "What is promised, and the tests that hold it");
    let named: Vec<&str> = quoted(promises)
        .filter(|name| name.contains("::") && !name.starts_with("::"))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        let (module, test) = name.rsplit_once("::").expect("a module and a test");
        let module = format!("tests/suite/{}", module.replace("::", "/"));
        let is_of_it = |file: &String| {
            file.starts_with(&format!("{module}/")) || *file == format!("{module}.rs")
        };
        let wanted = match test {
            "*" => "test]".to_owned(),
            test => format!("fn {test}()"),
        };
        let files = files_below("tests/suite");
        let mut files = files.iter().filter(|file| is_of_it(file));
        assert!(
            files.any(|file| text(file).contains(&wanted)),
            "no such test: {name}"
        );
    }
}

#[test]
fn the_tables_of_verdicts_tell_the_check_and_the_exit_code() {
    let verdicts = [
        Verdict::Clean,
        Verdict::Findings,
        Verdict::Blocking,
        Verdict::Incomplete,
        Verdict::Skipped,
        Verdict::Error,
    ];
    let (readme, protocol) = (text("README.md"), text("docs/protocol.md"));
    for table in [
        section(&readme, "How it works"),
        section(&protocol, "Verdicts"),
    ] {
        let rows = rows(table);
        let named: Vec<&str> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(named, verdicts.map(|verdict| verdict.to_string()));
        for (row, verdict) in rows.iter().zip(verdicts) {
            // A skip ends before a check run is opened.
            let check = match verdict {
                Verdict::Skipped => "none",
                _ => verdict.conclusion().as_str(),
            };
            assert!(row[2].starts_with(check), "{row:?}");
            let codes = [(false, true), (true, true), (false, false)];
            let codes = codes.map(|(fail_job, written)| verdict.exit_code(fail_job, written));
            let told: BTreeSet<String> = row[3]
                .split(|c: char| !c.is_ascii_digit())
                .filter(|number| !number.is_empty())
                .map(str::to_owned)
                .collect();
            assert_eq!(told, codes.iter().map(u8::to_string).collect(), "{row:?}");
        }
    }
}

/// The pieces between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_messages_that_troubleshooting_explains_are_messages_of_the_program() {
    let mut source = String::new();
    for path in sources() {
        // A string that goes on in the next line is one sentence.
        for line in text(&path).lines() {
            source.push_str(line.trim().trim_end_matches('\\'));
        }
    }
    let page = text("docs/troubleshooting.md");
    let rows = rows(section(&page, "Messages"));
    assert!(rows.len() > 40, "{rows:?}");
    for row in rows {
        for piece in row[0].trim_matches('`').split('…') {
            assert!(source.contains(piece.trim()), "{piece:?} of {}", row[0]);
        }
    }
}
