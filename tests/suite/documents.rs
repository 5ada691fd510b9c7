//! The documents, held against the code: a table, a workflow, a message or a path that is no longer true fails here.
//! Separate from the scenarios, because nothing runs; what is read is what a user or a contributor reads.

mod generated;
mod repository;
mod statuses;
mod workflows;

use crate::standin::world::KEY;
use reviewer_core::domain::PrKey;
use reviewer_core::domain::Verdict;
use reviewer_core::state::block;
use reviewer_core::state::signature::{self, Keys, Signed};
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

/// What a report must be, whoever made it.
pub fn assert_is_report(report: &Value) {
    let schema: Value = serde_json::from_str(&text("schema/report.schema.json")).expect("JSON");
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
    let (readme, architecture) = (text("README.md"), text("ARCHITECTURE.md"));
    for table in [
        section(&readme, "How it works"),
        section(&architecture, "Verdicts"),
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

#[test]
fn the_comment_that_the_documents_show_is_one_that_was_posted() {
    let pr = PrKey {
        repo: "octo/shop".parse().expect("a repository"),
        number: 1,
    };
    let keys = Keys::derive(&[], Some(&KEY.into()), "octo/shop");
    for document in ["README.md", "ARCHITECTURE.md"] {
        let document = text(document);
        let shown = document.split("````").nth(1).expect("a comment");
        let comment = shown.strip_prefix("markdown\n").expect("Markdown");
        let parsed = block::parse(comment);
        let visible = parsed.visible.expect("a visible block");
        let hidden = parsed.hidden.expect("a hidden block");
        let score = visible.assessment().expect("an assessment").score;
        let (words, fold) = comment.split_once("\n\n---\n\n").expect("a rule");
        let headline = format!(" Logic · {score}/10");
        assert!(
            words
                .lines()
                .next()
                .is_some_and(|line| line.ends_with(&headline)),
            "{words}"
        );
        let why = format!("Not right? Reply here, and it is judged again. · Why {score}/10");
        let opening = format!("<details><summary><sub>{why}</sub></summary>\n\n```rmcoc\n");
        assert!(fold.starts_with(&opening), "{fold}");
        let content = Signed {
            pr: &pr,
            root: None,
            visible: &serde_json::to_value(&visible).expect("JSON"),
            hidden: &serde_json::to_value(&hidden).expect("JSON"),
        };
        let verdict = keys.verify(&content, hidden.kid.as_deref(), hidden.sig.as_deref());
        assert_eq!(verdict, signature::Verdict::Ours);
    }
}

/// The pieces between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_messages_that_the_readme_explains_are_messages_of_ours() {
    let mut source = String::new();
    for path in sources() {
        // A string that goes on in the next line is one sentence.
        for line in text(&path).lines() {
            source.push_str(line.trim().trim_end_matches('\\'));
        }
    }
    let readme = text("README.md");
    let rows = rows(section(&readme, "When something goes wrong"));
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        for piece in row[0].trim_matches('`').split('…') {
            assert!(source.contains(piece.trim()), "{piece:?} of {}", row[0]);
        }
    }
}
