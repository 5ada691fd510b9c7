//! Tests of the reader: what tools write, and what is no SARIF.

use super::*;
use serde_json::{Value, json};

fn log(run: &Value) -> Vec<u8> {
    json!({ "version": "2.1.0", "runs": [run] })
        .to_string()
        .into_bytes()
}

fn result(more: Value) -> Value {
    let mut result = json!({
        "ruleId": "js/xss",
        "message": { "text": "User input reaches the page." },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": "src/page.ts" },
            "region": { "startLine": 8, "endLine": 9 },
        }}],
    });
    if let (Value::Object(result), Value::Object(more)) = (&mut result, more) {
        result.extend(more);
    }
    result
}

fn of(results: &Value) -> ToolResults {
    let run = json!({ "tool": { "driver": { "name": "CodeQL" } }, "results": results });
    read(&log(&run), &[]).unwrap()
}

#[test]
fn a_result_has_its_rule_its_place_and_its_words() {
    let found = of(&json!([result(json!({ "level": "error" }))]));
    let expected = ToolResult {
        rule: ToolRule::new("CodeQL", "js/xss"),
        level: Level::Error,
        severity: None,
        message: "User input reaches the page.".into(),
        help: String::new(),
        places: vec![Place {
            path: "src/page.ts".into(),
            start: 8,
            end: 9,
        }],
    };
    assert_eq!(found.results, [expected]);
}

#[test]
fn a_rule_completes_its_results_by_index_by_id_and_in_an_extension() {
    let rule = |id: &str| {
        json!({
            "id": id,
            "shortDescription": { "text": format!("About {id}.") },
            "defaultConfiguration": { "level": "note" },
            "messageStrings": { "default": { "text": "{0} reaches {1}." } },
            "properties": { "security-severity": "7.8", "tags": ["security"] },
        })
    };
    let run = json!({
        "tool": {
            "driver": { "name": "CodeQL", "rules": [rule("a"), rule("b")] },
            "extensions": [{ "name": "pack", "rules": [rule("c")] }],
        },
        "results": [
            { "ruleIndex": 1, "message": { "id": "default", "arguments": ["Input", "the page"] } },
            { "ruleId": "a", "level": "warning", "properties": { "security-severity": 3 } },
            { "rule": { "id": "c", "index": 0, "toolComponent": { "index": 0 } } },
            { "ruleIndex": -1, "ruleId": "unknown" },
        ],
    });
    let found = read(&log(&run), &[]).unwrap().results;
    let told: Vec<(&str, &str, &str, &str)> = found
        .iter()
        .map(|one| {
            let severity = one.severity.as_deref().unwrap_or_default();
            (
                one.rule.rule.as_str(),
                one.level.as_str(),
                severity,
                one.help.as_str(),
            )
        })
        .collect();
    let expected = [
        ("b", "note", "7.8", "About b."),
        ("a", "warning", "3.0", "About a."),
        ("c", "note", "7.8", "About c."),
        ("unknown", "warning", "", ""),
    ];
    assert_eq!(told, expected);
    assert_eq!(found[0].message, "Input reaches the page.");
}

#[test]
fn what_the_tool_itself_sets_aside_is_left_out() {
    let aside = [
        json!({ "suppressions": [{ "kind": "inSource" }] }),
        json!({ "suppressions": [{ "kind": "external", "status": "accepted" }] }),
        json!({ "baselineState": "unchanged" }),
        json!({ "baselineState": "absent" }),
        json!({ "kind": "pass" }),
        json!({ "kind": "informational" }),
    ];
    let counts = [
        json!({ "suppressions": [] }),
        json!({ "suppressions": [{ "kind": "external", "status": "rejected" }] }),
        json!({ "baselineState": "new" }),
        json!({ "kind": "fail" }),
    ];
    let results: Vec<Value> = aside.iter().chain(&counts).cloned().map(result).collect();
    let found = of(&json!(results));
    assert_eq!((found.set_aside, found.results.len()), (6, 4));
}

#[test]
fn a_tool_that_found_nothing_or_did_not_finish_is_no_fault_of_the_file() {
    assert_eq!(of(&json!([])), ToolResults::default());
    let run = json!({
        "tool": { "driver": { "name": "semgrep" } },
        "results": null,
        "invocations": [{ "executionSuccessful": false }],
    });
    assert_eq!(read(&log(&run), &[]).unwrap().unfinished, ["semgrep"]);
    let empty = br#"{"version": "2.1.0", "runs": []}"#;
    assert_eq!(read(empty, &[]), Ok(ToolResults::default()));
    let marked = [&b"\xef\xbb\xbf"[..], empty].concat();
    assert_eq!(read(&marked, &[]), Ok(ToolResults::default()));
}

#[test]
fn what_is_beyond_the_limit_is_counted_and_not_kept() {
    let results: Vec<Value> = (0..5_003).map(|_| json!({})).collect();
    let found = of(&json!(results));
    assert_eq!((found.results.len(), found.beyond), (5_000, 3));
}

#[test]
fn another_format_is_told_apart_by_what_it_is() {
    let no_sarif = |line| Err(Unread::OtherSchema { line });
    for (text, expected) in [
        ("", Err(Unread::NotJson { line: 1 })),
        ("<sarif/>", Err(Unread::NotJson { line: 1 })),
        (
            "{\"version\": \"2.1.0\",\n\"runs\": [",
            Err(Unread::NotJson { line: 2 }),
        ),
        ("[]", no_sarif(Some(1))),
        ("{\"issues\": []}", no_sarif(None)),
        (
            "{\"version\": {\"major\": 2}, \"runs\": []}",
            no_sarif(None),
        ),
        (
            "{\"version\": \"2.0.0\", \"runs\": {}}",
            Err(Unread::OtherVersion("2.0.0".into())),
        ),
        ("{\"version\": 3}", Err(Unread::OtherVersion("3".into()))),
        ("{\"version\": \"2.1.0\"}", Err(Unread::WithoutRuns)),
        ("{\"version\": \"2.1.0\", \"runs\": 7}", no_sarif(Some(1))),
        (
            "{\"version\": \"2.1.0\", \"runs\": [{}]}",
            no_sarif(Some(1)),
        ),
    ] {
        assert_eq!(read(text.as_bytes(), &[]), expected, "{text}");
    }
    let shown = read(br#"{"version": "2 <b>::error::\n"}"#, &[]);
    assert_eq!(shown, Err(Unread::OtherVersion("2berror".into())));
}

#[test]
fn names_of_others_are_short_and_on_one_line() {
    let rule = ToolRule::new(" a\u{202e}b\n::error:: c ", &"x".repeat(300));
    assert_eq!(rule.tool, "ab ::error:: c");
    assert_eq!(rule.rule.len(), 100);
    assert_eq!(ToolRule::new("\n", "").tool, "an unnamed tool");
}

#[test]
fn a_message_with_many_arguments_stays_short() {
    let long = "x".repeat(100_000);
    let text = "{0}{1}{2}{3}{4}{5}{6}{7}{8}{9}".repeat(100);
    let arguments = vec![long; 10];
    let found = of(&json!([{ "message": { "text": text, "arguments": arguments } }]));
    // All results of a file are in memory at once.
    assert!(found.results[0].message.len() <= 4_000);
}
