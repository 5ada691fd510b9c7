//! Files of static analysis: any bytes are results or a reason, and what a result says is short, on one line where it is a name, and
//! leads to no place outside of the repository.

use super::draw::Draw;
use reviewer_core::domain::FileDiff;
use reviewer_core::publish::comment::analysis;
use reviewer_core::static_analysis::{Candidates, MOST_CANDIDATES, ToolResult, read};
use reviewer_text::hidden::is_hidden;
use serde_json::{Value, json};
use std::path::{Component, Path};
use std::sync::LazyLock;

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "src/a.rs", "file:///", "/srv/shop/", "..", "/", "%2e%2e", "%2F", "%00", "\\", "C:\\", "//host/", "?", "#", "http://a.test/", "%SRCROOT%",
    "ROOT", "LOOP", "{0}", "{1}", "{", "}", "js/xss", "error", "note", "fail", "pass", "unchanged", "accepted", "2.1.0", "7.8", "-1", "NaN",
    "1e400", "\n", "\r", "\t", "\u{0}", "\u{202e}", "\u{200b}", "\u{feff}", "`", "@octocat", "<!--", "::error::", "ä", "😀", "\"", ",", ":",
    "[", "]", "null", "runs", "results", "locations", "message", "uri",
];

/// A file with everything that is read.
static FILE: LazyLock<Value> = LazyLock::new(|| {
    let place = |uri: &str, base: &str, start: i64, end: i64| {
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri, "uriBaseId": base, "index": 0 },
            "region": { "startLine": start, "endLine": end },
        }})
    };
    let rule = json!({
        "id": "js/xss",
        "shortDescription": { "text": "Encode what users write." },
        "defaultConfiguration": { "level": "note" },
        "messageStrings": { "default": { "text": "{0} reaches {1}." } },
        "properties": { "security-severity": "7.8" },
    });
    json!({
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": { "name": "CodeQL", "rules": [rule] },
                "extensions": [{ "name": "pack", "rules": [rule] }],
            },
            "invocations": [{ "executionSuccessful": false }],
            "originalUriBaseIds": {
                "ROOT": { "uri": "file:///srv/shop/" },
                "LOOP": { "uri": "a/", "uriBaseId": "LOOP" },
            },
            "artifacts": [{ "location": { "uri": "src/a.rs" } }],
            "results": [
                {
                    "ruleId": "js/xss", "ruleIndex": 0, "kind": "fail", "level": "error", "baselineState": "new",
                    "message": { "id": "default", "arguments": ["Input", "the page"] },
                    "locations": [place("src/a.rs", "ROOT", 11, 12), place("src/b.rs", "LOOP", 1, 1)],
                    "suppressions": [{ "status": "rejected" }],
                    "properties": { "security-severity": 5 },
                },
                {
                    "rule": { "id": "js/xss", "index": 0, "toolComponent": { "index": 0 } },
                    "message": { "text": "It may overflow." },
                    "locations": [place("src/a.rs", "%SRCROOT%", 1, 99)],
                },
            ],
        }],
    })
});

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let file = match draw.byte() % 8 {
        0 => draw.rest().to_vec(),
        1 => {
            let whole = FILE.to_string();
            let end = whole.floor_char_boundary(draw.below(256) * whole.len() / 256);
            whole[..end].into()
        }
        _ => draw.bent(FILE.clone(), PIECES).to_string().into_bytes(),
    };
    let results = match read(&file, &["/srv/shop".to_owned()]) {
        Ok(read) => read.results,
        Err(why) => {
            let sentence = analysis::unread("a.sarif", &why);
            assert!(
                sentence.len() < 500 && !sentence.contains(is_hidden),
                "{sentence:?}"
            );
            return;
        }
    };
    results.iter().for_each(judge);
    let hunk = "@@ -10,2 +10,4 @@\n let a = 1;\n+let b = 2;\n+let c = 3;\n let d = 4;\n";
    let diff = FileDiff {
        path: "src/a.rs".into(),
        hunks: FileDiff::parse_hunks(hunk).expect("a hunk"),
        ..FileDiff::default()
    };
    let candidates = Candidates::new(&results, &[&diff]);
    assert!(candidates.first.len() <= MOST_CANDIDATES);
    assert!(candidates.first.len() + candidates.beyond <= results.len());
    for candidate in candidates.first {
        assert!(candidate.path == "src/a.rs" && [11, 12].contains(&candidate.line));
    }
}

fn judge(result: &ToolResult) {
    for name in [&result.rule.tool, &result.rule.rule] {
        assert!(
            name.chars().count() <= 100 && !name.contains(is_hidden),
            "{name:?}"
        );
    }
    assert!(!result.rule.tool.is_empty());
    assert!(result.message.len() + result.help.len() < 100_000);
    if let Some(severity) = &result.severity {
        let number: f64 = severity.parse().expect("a number");
        assert!((0.0..=10.0).contains(&number), "{severity}");
    }
    for place in &result.places {
        let mut parts = Path::new(&place.path).components();
        let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
        assert!(is_below && !place.path.is_empty(), "{:?}", place.path);
        assert!(1 <= place.start && place.start <= place.end);
    }
}
