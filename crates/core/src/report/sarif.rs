//! The open findings as SARIF 2.1.0, for code scanning and for editors. Pure.

use super::document::Report;
use super::findings::{FindingReport, RuleReport, ThreadReport};
use super::uri;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Of a finding without a category.
const UNSORTED: &str = "finding";

/// The findings that are open after the run, as SARIF: its own that were said, and the threads of earlier ones.
#[must_use]
pub fn log(report: &Report) -> Value {
    let said = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.fate, "published" | "reported"));
    let open: Vec<Open<'_>> = said
        .map(Open::from)
        .chain(report.threads.iter().map(Open::from))
        .collect();
    let rules: BTreeSet<&str> = open.iter().map(|one| one.rule).collect();
    let described = |id: &&str| {
        let words = match *id {
            UNSORTED => "A finding of the review".to_owned(),
            category => format!("A finding about {category}"),
        };
        json!({ "id": id, "shortDescription": { "text": words } })
    };
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "opencode-reviewer",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(described).collect::<Vec<_>>(),
            }},
            "invocations": [{ "executionSuccessful": is_whole(report) }],
            "columnKind": "utf16CodeUnits",
            "results": open.iter().map(Open::result).collect::<Vec<_>>(),
        }],
    })
}

/// Returns true if everything was looked at, so that a finding that is not here is gone.
fn is_whole(report: &Report) -> bool {
    matches!(report.verdict.as_str(), "clean" | "findings" | "blocking")
}

/// A finding that is open.
struct Open<'a> {
    id: &'a str,
    rule: &'a str,
    score: u8,
    file: &'a str,
    line: Option<u32>,
    finding: &'a str,
    /// The text for people, with the remedy; empty for a thread of an earlier run.
    body: &'a str,
    assessment: &'a str,
    url: &'a str,
    /// The rules of other tools that reported it, too.
    found_by: &'a [RuleReport],
}

impl<'a> From<&'a FindingReport> for Open<'a> {
    fn from(finding: &'a FindingReport) -> Self {
        Self {
            id: &finding.id,
            rule: finding.category.as_deref().unwrap_or(UNSORTED),
            score: finding.score,
            file: &finding.file,
            line: finding.line,
            finding: &finding.finding,
            body: &finding.body,
            assessment: &finding.assessment,
            url: finding.url.as_deref().unwrap_or_default(),
            found_by: &finding.found_by,
        }
    }
}

impl<'a> From<&'a ThreadReport> for Open<'a> {
    fn from(thread: &'a ThreadReport) -> Self {
        Self {
            id: thread.finding_id.as_deref().unwrap_or(&thread.id),
            rule: thread.category.as_deref().unwrap_or(UNSORTED),
            score: thread.score,
            file: &thread.file,
            line: thread.line,
            finding: &thread.finding,
            body: "",
            assessment: &thread.assessment,
            url: &thread.url,
            found_by: &[],
        }
    }
}

impl Open<'_> {
    fn result(&self) -> Value {
        let mut location = json!({
            "artifactLocation": { "uri": uri::relative(self.file), "uriBaseId": "%SRCROOT%" },
        });
        if let Some(line) = self.line {
            location["region"] = json!({ "startLine": line.max(1) });
        }
        let mut result = json!({
            "ruleId": self.rule,
            "level": level(self.score),
            "message": { "text": words(&[self.finding, self.body, self.assessment]) },
            "locations": [{ "physicalLocation": location }],
            "partialFingerprints": { "rmcoc/v1": self.id },
            "properties": { "score": self.score },
        });
        if !self.found_by.is_empty() {
            result["properties"]["foundBy"] = json!(self.found_by);
        }
        if self.url.starts_with("https://") {
            result["hostedViewerUri"] = json!(self.url);
        }
        result
    }
}

fn level(score: u8) -> &'static str {
    match score {
        9.. => "error",
        5..=8 => "warning",
        _ => "note",
    }
}

/// The texts as paragraphs, each once. Brackets would be a link.
fn words(texts: &[&str]) -> String {
    let mut paragraphs: Vec<&str> = Vec::new();
    for text in texts.iter().map(|text| text.trim()) {
        // Most texts begin with the finding's sentence.
        paragraphs.retain(|before| !text.starts_with(before));
        if !text.is_empty() {
            paragraphs.push(text);
        }
    }
    let text = paragraphs.join("\n\n");
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '[' | ']') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::sample;

    fn valid(log: &Value) {
        let schema = include_str!("../../../../tests/schema/sarif.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<String> = validator.iter_errors(log).map(|e| e.to_string()).collect();
        assert_eq!(problems, [""; 0], "{log:#}");
    }

    #[test]
    fn what_is_open_is_listed_as_the_standard_wants_it() {
        let mut report = sample();
        report.findings[0].finding = "See [this](https://evil.example).".into();
        report.findings[0].file = "a b/ä#1.ts".into();
        let log = log(&report);
        valid(&log);
        let results = log["runs"][0]["results"].as_array().unwrap();
        let told = |at: usize| {
            let result = &results[at];
            let place = &result["locations"][0]["physicalLocation"];
            (
                result["ruleId"].as_str().unwrap(),
                result["level"].as_str().unwrap(),
                result["partialFingerprints"]["rmcoc/v1"].as_str().unwrap(),
                place["artifactLocation"]["uri"].as_str().unwrap(),
                place["region"]["startLine"].as_u64(),
            )
        };
        assert_eq!(results.len(), 3, "two that were said, one that was open");
        assert_eq!(
            told(0),
            ("finding", "warning", "f7", "a%20b/%C3%A4%231.ts", Some(8))
        );
        assert_eq!(told(1), ("finding", "error", "f9", "src/page.ts", Some(8)));
        assert_eq!(told(2), ("logic", "warning", "f55", "src/a%7Cb.ts", None));
        let text = results[0]["message"]["text"].as_str().unwrap();
        assert_eq!(text, "See \\[this\\](https://evil.example).");
    }

    #[test]
    fn a_result_has_the_explanation_and_the_remedy() {
        let mut report = sample();
        report.findings[0].finding = "The last page is lost.".into();
        report.findings[0].body = "The last page is lost. Nobody sees it. Round up.".into();
        report.findings[0].assessment = "Not 8, because data stays.".into();
        let log = log(&report);
        valid(&log);
        let text = log["runs"][0]["results"][0]["message"]["text"].as_str();
        assert_eq!(
            text,
            Some("The last page is lost. Nobody sees it. Round up.\n\nNot 8, because data stays.")
        );
    }

    #[test]
    fn a_result_that_another_tool_found_names_its_rule() {
        let mut report = sample();
        report.findings[0].found_by = vec![RuleReport {
            tool: "semgrep".into(),
            rule: "js.xss".into(),
        }];
        let log = log(&report);
        valid(&log);
        let results = &log["runs"][0]["results"];
        let expected = json!([{ "tool": "semgrep", "rule": "js.xss" }]);
        assert_eq!(results[0]["properties"]["foundBy"], expected);
        assert!(results[1]["properties"].get("foundBy").is_none());
    }

    #[test]
    fn a_review_of_nothing_is_a_valid_run_without_results() {
        let report = Report {
            verdict: "clean".into(),
            ..Report::default()
        };
        let log = log(&report);
        valid(&log);
        assert_eq!(log["runs"][0]["results"], json!([]));
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], true);
    }

    #[test]
    fn a_review_that_is_not_whole_says_so() {
        let mut report = sample();
        report.verdict = "incomplete".into();
        report.findings.clear();
        report.threads.clear();
        let log = log(&report);
        valid(&log);
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
    }
}
