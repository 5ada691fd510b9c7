//! Reads a SARIF 2.1.0 file of a static analysis tool: what it reports, as plain values. Total: any bytes are results, or a reason why
//! they cannot be read.

use super::places::Places;
use super::wire::{Component, Finding, Head, Invocation, Log, Message, Rule, Run};
use super::{Level, Place, ToolResult, Unread};
use crate::domain::ToolRule;
use serde_json::error::Category;

/// The results of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResults {
    pub results: Vec<ToolResult>,
    /// The number of results that the tool itself sets aside: suppressed, unchanged since its baseline, or no failure.
    pub set_aside: usize,
    /// The number of results that are beyond what is read.
    pub beyond: usize,
    /// The tools that say that they did not finish.
    pub unfinished: Vec<String>,
}

/// The results in a file. `roots`: the whole paths of the repository's root, as tools may have seen it.
pub fn read(bytes: &[u8], roots: &[String]) -> Result<ToolResults, Unread> {
    // Tools of some platforms begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let head: Head = serde_json::from_slice(bytes).map_err(|error| unread(&error))?;
    match head.version.and_then(|version| version.0) {
        Some(version) if version == "2.1.0" => {}
        Some(version) => return Err(Unread::OtherVersion(short_version(&version))),
        None => return Err(Unread::OtherSchema { line: None }),
    }
    if head.runs.is_none() {
        return Err(Unread::WithoutRuns);
    }
    let log: Log = serde_json::from_slice(bytes).map_err(|error| unread(&error))?;
    let mut all = ToolResults {
        beyond: log.runs.more,
        ..ToolResults::default()
    };
    for run in log.runs.kept {
        read_run(run, roots, &mut all);
    }
    Ok(all)
}

fn unread(error: &serde_json::Error) -> Unread {
    match error.classify() {
        Category::Data => Unread::OtherSchema {
            line: Some(error.line()),
        },
        Category::Syntax | Category::Eof | Category::Io => Unread::NotJson { line: error.line() },
    }
}

/// A version as it may be shown.
fn short_version(version: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    version.chars().filter(is_plain).take(20).collect()
}

fn read_run(run: Run, roots: &[String], all: &mut ToolResults) {
    let name = run.tool.driver.name.as_deref().unwrap_or_default();
    let tool = ToolRule::new(name, "").tool;
    let invocations = run.invocations.map(|all| all.kept).unwrap_or_default();
    let failed = |one: &Invocation| one.execution_successful == Some(false);
    if invocations.iter().any(failed) && !all.unfinished.contains(&tool) {
        all.unfinished.push(tool);
    }
    let artifacts = run.artifacts.map(|all| all.kept).unwrap_or_default();
    let places = Places {
        bases: run.original_uri_base_ids.as_ref(),
        artifacts: &artifacts,
        roots,
    };
    let extensions = run.tool.extensions.map(|all| all.kept).unwrap_or_default();
    let rules = Rules {
        driver: &run.tool.driver,
        extensions: &extensions,
    };
    let Some(results) = run.results else {
        return;
    };
    all.beyond += results.more;
    for finding in results.kept {
        if is_set_aside(&finding) {
            all.set_aside += 1;
        } else {
            all.results.push(rules.result(&finding, &places));
        }
    }
}

/// True for a result that is no failure, that somebody has suppressed, or that the tool's baseline has, too.
fn is_set_aside(finding: &Finding) -> bool {
    let kind = finding.kind.as_deref();
    let state = finding.baseline_state.as_deref();
    let suppressions = finding.suppressions.as_ref();
    let mut suppressions = suppressions.into_iter().flat_map(|all| &all.kept);
    kind.is_some_and(|kind| kind != "fail")
        || matches!(state, Some("unchanged" | "absent"))
        || suppressions.any(|one| matches!(one.status.as_deref(), None | Some("accepted")))
}

/// The rules of a tool and of its extensions.
struct Rules<'a> {
    driver: &'a Component,
    extensions: &'a [Component],
}

impl Rules<'_> {
    fn result(&self, finding: &Finding, places: &Places<'_>) -> ToolResult {
        let rule = self.rule(finding);
        let reference = finding.rule.as_ref().and_then(|one| one.id.as_deref());
        let named = finding.rule_id.as_deref().or(reference);
        let id = named.or(rule.and_then(|rule| rule.id.as_deref()));
        let name = self.driver.name.as_deref().unwrap_or_default();
        let configured = rule.and_then(|rule| rule.default_configuration.as_ref());
        let configured = configured.and_then(|one| one.level.as_deref());
        let properties = [
            finding.properties.as_ref(),
            rule.and_then(|rule| rule.properties.as_ref()),
        ];
        let mut severities = properties.into_iter().flatten();
        let severity = severities.find_map(|one| one.security_severity.as_ref()?.0.as_deref());
        let help = rule.and_then(|rule| rule.short_description.as_ref()?.text.as_deref());
        let locations = finding.locations.as_ref();
        let locations = locations.into_iter().flat_map(|all| &all.kept);
        let on_lines = locations.filter_map(|location| {
            let place = location.physical_location.as_ref()?;
            let region = place.region.as_ref()?;
            let start = line(region.start_line)?;
            Some(Place {
                path: places.path(place.artifact_location.as_ref()?)?,
                start,
                end: line(region.end_line).unwrap_or(start).max(start),
            })
        });
        ToolResult {
            rule: ToolRule::new(name, id.unwrap_or_default()),
            level: Level::parse(finding.level.as_deref().or(configured)),
            severity: severity.and_then(severity_of),
            message: words(finding.message.as_ref(), rule),
            help: cut(help.unwrap_or_default(), LONGEST_TEXT).to_owned(),
            places: on_lines.collect(),
        }
    }

    /// The rule of a result, by its index or by its id.
    fn rule(&self, finding: &Finding) -> Option<&Rule> {
        let reference = finding.rule.as_deref();
        let component = reference.and_then(|one| one.tool_component.as_ref()?.index);
        let component = match component {
            Some(index) => self.extensions.get(usize::try_from(index).ok()?)?,
            None => self.driver,
        };
        let rules = component.rules.as_ref().map(|all| all.kept.as_slice());
        let rules = rules.unwrap_or_default();
        let index = finding.rule_index.or(reference.and_then(|one| one.index));
        let index = index.and_then(|index| usize::try_from(index).ok());
        let at = index.and_then(|index| rules.get(index));
        let id = finding
            .rule_id
            .as_deref()
            .or(reference.and_then(|one| one.id.as_deref()));
        at.or_else(|| {
            rules
                .iter()
                .find(|rule| id.is_some() && rule.id.as_deref() == id)
        })
    }
}

fn line(number: Option<i64>) -> Option<u32> {
    let number = u32::try_from(number?).ok()?;
    (number > 0).then_some(number)
}

/// A severity from 0 to 10, with one decimal.
fn severity_of(given: &str) -> Option<String> {
    let number: f64 = given.trim().parse().ok()?;
    (0.0..=10.0)
        .contains(&number)
        .then(|| format!("{number:.1}"))
}

/// The words of a message: its own, or those of its rule, with the arguments in their places.
fn words(message: Option<&Message>, rule: Option<&Rule>) -> String {
    let Some(message) = message else {
        return String::new();
    };
    let of_rule = || {
        let strings = rule?.message_strings.as_ref()?;
        strings.0.get(message.id.as_deref()?)?.text.as_deref()
    };
    let text = message.text.as_deref().or_else(of_rule);
    let mut text = cut(text.unwrap_or_default(), LONGEST_TEXT).to_owned();
    let arguments = message.arguments.iter().flat_map(|all| &all.kept);
    for (index, argument) in arguments.enumerate() {
        let argument = cut(argument, LONGEST_ARGUMENT);
        text = text.replacen(&format!("{{{index}}}"), argument, MOST_ARGUMENTS);
        text.truncate(text.floor_char_boundary(LONGEST_TEXT.min(text.len())));
    }
    text
}

/// The most of a message that is kept; less of it is shown.
const LONGEST_TEXT: usize = 4_000;
const LONGEST_ARGUMENT: usize = 500;
const MOST_ARGUMENTS: usize = 10;

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
