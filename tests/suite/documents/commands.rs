//! The commands that the documents show, held against the program's own help. Separate, because here the program runs.

use super::pages::pages;
use super::{quoted, rows, section, text};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The help of a subcommand, if the program has it.
pub(super) fn help(subcommand: &str) -> Option<String> {
    let run = Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"))
        .args([subcommand, "--help"])
        .output()
        .expect("the program");
    let help = String::from_utf8(run.stdout).expect("text");
    run.status.success().then_some(help)
}

/// A flag of a command line without its value, such as `--input` of `--input name=value`.
fn flags(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let words = words.map(|word| word.split('=').next().unwrap_or(word));
    words.filter(|word| word.starts_with('-'))
}

/// Whether a help lists a flag, and not only a longer one that begins like it.
pub(super) fn lists(help: &str, flag: &str) -> bool {
    help.split(|c: char| c.is_whitespace() || ",[]=<>".contains(c))
        .any(|word| word == flag)
}

#[test]
fn the_program_takes_the_commands_and_flags_that_the_documents_show() {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for page in pages() {
        let page = text(&page);
        let indented = page.lines().filter_map(|line| line.strip_prefix("    "));
        for line in indented.chain(quoted(&page)) {
            let Some(line) = line.strip_prefix("opencode-reviewer ") else {
                continue;
            };
            // The name of the process in a drawing is followed by more space than one.
            let Some(subcommand) = line.split(' ').next().filter(|word| !word.is_empty()) else {
                continue;
            };
            let flags = flags(line).map(str::to_owned);
            shown
                .entry(subcommand.to_owned())
                .or_default()
                .extend(flags);
        }
    }
    let usage = text("docs/usage.md");
    let table = rows(section(&usage, "On your machine"));
    let of_local = table.iter().flat_map(|row| quoted(row[0])).flat_map(flags);
    let of_local = of_local.map(str::to_owned);
    shown
        .entry("local".to_owned())
        .or_default()
        .extend(of_local);
    assert!(shown.len() > 4, "{shown:?}");
    let mut unknown = BTreeSet::new();
    for (subcommand, flags) in shown {
        let Some(help) = help(&subcommand) else {
            unknown.insert(subcommand);
            continue;
        };
        let missing = flags.iter().filter(|flag| !lists(&help, flag));
        unknown.extend(missing.map(|flag| format!("{subcommand} {flag}")));
    }
    assert_eq!(unknown, BTreeSet::new());
}
