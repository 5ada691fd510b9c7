//! Parts of documents that follow from the code: the inputs of `action.yml`, tables and the comment in the documents, the
//! published schemas.
//! `make docs` writes them; these tests fail where it was forgotten.

use super::{comment, cost, root, text, yaml};
use reviewer_core::config::Shape;
use reviewer_core::config::inputs::{INPUTS, Input};
use reviewer_core::fix::Bundle;
use reviewer_core::report::Report;
use serde_json::Value;
use std::fmt::Write;

/// Fails where a file differs from what the code makes of it. `UPDATE_DOCS=1` writes the file first.
fn is_current(path: &str, made: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(path), made).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let there = text(path);
    let differs = there.lines().zip(made.lines()).find(|(a, b)| a != b);
    assert!(
        there == made,
        "{path} is not up to date; run `make docs`. First difference: {differs:#?}"
    );
}

/// A document with another text between two marks.
fn with_part(document: &str, begin: &str, part: &str, end: &str) -> String {
    let (before, rest) = document
        .split_once(begin)
        .unwrap_or_else(|| panic!("no {begin:?}"));
    let (_, after) = rest
        .split_once(end)
        .unwrap_or_else(|| panic!("no {end:?} below {begin:?}"));
    format!("{before}{begin}{part}{end}{after}")
}

/// A Markdown document with another text in one of its generated parts.
fn with_named_part(document: &str, name: &str, part: &str) -> String {
    let begin = format!("<!-- {name}:begin, written by make docs -->\n");
    let end = format!("<!-- {name}:end -->\n");
    with_part(document, &begin, part, &end)
}

#[test]
fn action_yml_declares_the_inputs_of_the_table() {
    let mut inputs = String::new();
    for input in INPUTS {
        let (name, required) = (input.name, input.is_required());
        // A string of JSON is one of YAML.
        let help = Value::from(input.help);
        write!(
            inputs,
            "  {name}:\n    description: {help}\n    required: {required}\n"
        )
        .expect("text");
        if !input.default.is_empty() {
            let default = Value::from(input.default);
            writeln!(inputs, "    default: {default}").expect("text");
        }
    }
    let action = with_part(&text("action.yml"), "\ninputs:\n", &inputs, "\noutputs:\n");
    is_current("action.yml", &action);
}

#[test]
fn the_configuration_page_has_the_tables_of_inputs_settings_and_outputs() {
    let page = text("docs/configuration.md");
    let page = with_named_part(&page, "inputs", &inputs());
    let page = with_named_part(&page, "settings", &settings());
    let page = with_named_part(&page, "workflow-inputs", &workflow_inputs());
    let page = with_named_part(&page, "outputs", &outputs());
    is_current("docs/configuration.md", &page);
}

#[test]
fn the_readme_prices_the_tokens_of_the_benchmark() {
    let readme = with_named_part(&text("README.md"), "cost", &cost::table());
    is_current("README.md", &readme);
}

#[test]
fn the_protocol_shows_a_comment_as_it_is_posted() {
    let shown = format!("````markdown\n{}\n````\n", comment::shown());
    let page = with_named_part(&text("docs/protocol.md"), "comment", &shown);
    is_current("docs/protocol.md", &page);
}

#[test]
fn the_page_of_the_service_shows_the_states_of_its_table() {
    let states = reviewer_core::lifecycle::mermaid();
    let page = with_named_part(&text("docs/service.md"), "states", &states);
    is_current("docs/service.md", &page);
}

fn inputs() -> String {
    let rows = INPUTS.iter().map(|input| {
        let default = match (input.is_required(), input.default) {
            (true, _) => "required".to_owned(),
            (false, "") => "none".to_owned(),
            (false, default) => format!("`{default}`"),
        };
        format!("| `{}` | {default} | {} |\n", input.name, input.help)
    });
    format!(
        "| input | default | meaning |\n| --- | --- | --- |\n{}",
        rows.collect::<String>()
    )
}

/// Keys of the settings file: the inputs that it takes, then those that are no inputs.
fn settings() -> String {
    let is_single = |input: &&Input| input.in_file.is_some_and(|shape| !shape.is_list());
    let singles = names(INPUTS.iter().filter(is_single)).join(", ");
    let mut table =
        format!("| key | value |\n| --- | --- |\n| {singles} | as the input of the same name |\n");
    for input in INPUTS {
        let words = match input.in_file {
            Some(Shape::Texts) => "the same as a list",
            Some(Shape::Globs) => {
                "a list of globs: files that are not reviewed. `!glob` takes back what is left out by default. \
                 The input of this name takes the same globs, by comma or newline"
            }
            _ => continue,
        };
        writeln!(table, "| `{}` | {words} |", input.name).expect("text");
    }
    table.push_str(
        "| `instructions` | a list of `paths` (globs) and `text`: what the reviewer is told about these files |\n\
         | `skip` | pull requests that are not reviewed: `labels`, `authors`, `drafts`, `max_changed_files`, \
         `max_changed_lines` |\n\
         | `fix` | how a fix is verified, and what it may touch: `verify` (a list of commands, each a list of texts; no shell), `allow` \
         (globs), `verify_read` and `verify_exec` (absolute paths of caches and toolchains), `timeout_minutes` (1 to 60; 10 unless given) |\n\
         | `lifecycle` | the service: `enabled`, `reviewers` (agents by name, people with `type: human`, each with \
         `can_escalate`, a list of the same form), `auto_merge`, `require_human_approval`, `max_fix_cycles` (0 to 10; 2 unless given); a mistake here stops the \
         service for the repository until it is corrected |\n",
    );
    table
}

/// The inputs that the settings file does not take, as lines of a paragraph.
fn workflow_inputs() -> String {
    let names = names(INPUTS.iter().filter(|input| input.in_file.is_none()));
    let mut lines = vec![String::new()];
    for (at, name) in names.iter().enumerate() {
        let mark = if at + 1 == names.len() { "." } else { "," };
        let line = lines.last_mut().expect("a line");
        if line.len() + name.len() > 110 {
            lines.push(format!("{name}{mark}"));
        } else {
            let space = if line.is_empty() { "" } else { " " };
            write!(line, "{space}{name}{mark}").expect("text");
        }
    }
    lines.join("\n") + "\n"
}

fn names<'a>(inputs: impl Iterator<Item = &'a Input>) -> Vec<String> {
    inputs.map(|input| format!("`{}`", input.name)).collect()
}

/// The outputs, in the order of `action.yml`.
fn outputs() -> String {
    let (action, source) = (yaml("action.yml"), text("action.yml"));
    let outputs = action["outputs"].as_object().expect("outputs");
    let mut outputs: Vec<(&String, &Value)> = outputs.iter().collect();
    outputs.sort_by_key(|(name, _)| source.find(&format!("\n  {name}:\n")));
    let rows = outputs.iter().map(|(name, output)| {
        let description = output["description"].as_str().expect("a description");
        format!("| `{name}` | {description} |\n")
    });
    format!(
        "| output | meaning |\n| --- | --- |\n{}",
        rows.collect::<String>()
    )
}

/// A schema in the repository, as text.
fn published(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("JSON") + "\n"
}

#[test]
fn the_published_schema_of_the_settings_is_the_readers() {
    let schema = reviewer_core::config::file::schema();
    is_current("schema/opencode-reviewer.schema.json", &published(&schema));
}

#[test]
fn the_published_schema_of_a_fixs_bundle_is_that_of_its_code() {
    let schema = serde_json::to_value(Bundle::schema()).expect("JSON");
    is_current("schema/fix-bundle.schema.json", &published(&schema));
}

#[test]
fn the_published_schema_of_the_report_is_that_of_its_code() {
    let schema = serde_json::to_value(Report::schema()).expect("JSON");
    is_current("schema/report.schema.json", &published(&schema));
}
