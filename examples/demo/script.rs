//! The scripted reviewer: explores with `glob`, `grep` and `read`, finds its line numbers in what they answer, and
//! corrects itself from a refusal. Separate from the demo, because the benchmark measures the same review.

use super::findings::{
    EMPTY_LIST, Finding, INJECTION, LAYER, OWNERSHIP, PAGE_COUNT, POOR_NAME, SUMMARIES, WITHDRAWAL,
};
use super::standin::model::{Call, Request, Script};
use regex::Regex;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

pub fn reviewer() -> Script {
    let mut script = consolidation(security(structure(diffs(Script::new()))));
    for (pass, summary, blocking) in SUMMARIES {
        let results = json!({
            "pass_number": pass,
            "summary": summary,
            "has_blocking_issues": blocking,
        });
        script = script.results(pass, results);
    }
    script
}

/// Pass 1: every diff of the shop's own files, line by line.
fn diffs(script: Script) -> Script {
    script
        .pass(1, |_| {
            let pattern = "**/src/{*,ui/*}.diff";
            vec![Call::new("glob", json!({ "pattern": pattern }))]
        })
        .pass(1, |request| {
            let found = paths(request, ".diff");
            found.iter().map(|path| read(path)).collect()
        })
        .pass(1, |request| {
            [PAGE_COUNT, POOR_NAME, EMPTY_LIST]
                .iter()
                .filter_map(|finding| Some(post(finding.at(shown(request, finding)?.head))))
                .collect()
        })
}

/// Pass 2: who uses what changed. The first try takes the number that `read` gives to the line of the diff file for
/// the line's own, as models do; the refusal says which lines there are.
fn structure(script: Script) -> Script {
    script
        .pass(2, |_| {
            let names = "orderOf|searchOrders|lastPage|pages|total";
            vec![
                Call::new("grep", json!({ "pattern": format!("({names})\\(") })),
                Call::new("glob", json!({ "pattern": "src/**/*.ts" })),
            ]
        })
        .pass(2, |request| {
            let found = paths(request, "/src/ui/cart.ts");
            found.iter().take(1).map(|path| read(path)).collect()
        })
        .pass(2, |request| {
            let line = shown(request, &LAYER).map(|line| line.in_diff_file);
            line.map(|line| post(LAYER.at(line))).into_iter().collect()
        })
        .pass(2, |request| {
            let refusal = request.last_result().unwrap_or_default();
            let ranges = commentable(&refusal);
            let line = shown(request, &LAYER).map(|line| line.head);
            line.filter(|line| ranges.iter().any(|range| range.contains(line)))
                .map(|line| post(LAYER.at(line)))
                .into_iter()
                .collect()
        })
}

/// Pass 3: what outside input reaches, and who may see what. One finding is about lines that are gone.
fn security(script: Script) -> Script {
    script
        .pass(3, |_| {
            vec![
                Call::new("grep", json!({ "pattern": "query\\(", "include": "*.ts" })),
                Call::new("grep", json!({ "pattern": "userId", "include": "*.diff" })),
            ]
        })
        .pass(3, |request| {
            let found = paths(request, "/src/db.ts");
            found.iter().take(1).map(|path| read(path)).collect()
        })
        .pass(3, |request| {
            let injection = shown(request, &INJECTION).map(|line| post(INJECTION.at(line.head)));
            injection
                .into_iter()
                .chain(about_removed(request))
                .collect()
        })
}

fn about_removed(request: &Request) -> Option<Call> {
    let gone = removed(request, &OWNERSHIP);
    let (line, _) = gone.first()?;
    let quote: Vec<&str> = gone.iter().map(|(_, text)| text.as_str()).collect();
    let mut arguments = OWNERSHIP.at(*line);
    arguments["quote"] = json!(quote.join("\n"));
    Some(post(arguments))
}

/// Pass 4: every finding again, and one does not hold.
fn consolidation(script: Script) -> Script {
    script
        .pass(4, |_| vec![Call::new("github_get_run_state", json!({}))])
        .pass(4, |request| {
            let found = paths(request, "/src/page.ts");
            found.iter().take(1).map(|path| read(path)).collect()
        })
        .texts(|request| {
            let stand = [PAGE_COUNT, POOR_NAME, LAYER, INJECTION, OWNERSHIP];
            let text = |finding: &Finding| {
                let id = recorded(request, finding)?;
                Some(json!({ "thread_id": id, "body": finding.body }))
            };
            stand.iter().filter_map(text).collect()
        })
        .pass(4, |request| {
            let withdraw = |id: String| {
                let arguments = json!({ "thread_id": id, "reason": WITHDRAWAL });
                Call::new("github_resolve_thread", arguments)
            };
            recorded(request, &EMPTY_LIST)
                .map(withdraw)
                .into_iter()
                .collect()
        })
}

fn read(path: &str) -> Call {
    Call::new("read", json!({ "filePath": path }))
}

fn post(arguments: Value) -> Call {
    Call::new("github_post_review_comment", arguments)
}

/// A line of a diff as `read` shows it.
struct Shown {
    /// The line of the diff file.
    in_diff_file: u32,
    /// The line of the changed file, which the diff names.
    head: u32,
}

/// Everything that tools have answered so far.
fn answers(request: &Request) -> Vec<&str> {
    let tool = |message: &&Value| message["role"] == "tool";
    let messages = request.messages().iter().filter(tool);
    messages
        .filter_map(|message| message["content"].as_str())
        .collect()
}

/// The files that tools have named, by the end of their path.
fn paths(request: &Request, end: &str) -> Vec<String> {
    let mut found: Vec<String> = answers(request)
        .iter()
        .flat_map(|answer| answer.lines())
        .map(|line| line.trim().trim_end_matches(':'))
        .filter(|line| line.starts_with('/') && line.ends_with(end))
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The lines of a file's diff, each with its number in the diff file.
fn diff_lines<'a>(request: &'a Request, file: &str) -> Vec<(u32, &'a str)> {
    let headline = format!("# {file}: ");
    let Some(answer) = answers(request)
        .into_iter()
        .find(|answer| answer.contains(&headline))
    else {
        return Vec::new();
    };
    let numbered = |line: &'a str| {
        let (number, text) = line.split_once(": ")?;
        Some((number.trim().parse().ok()?, text))
    };
    answer.lines().filter_map(numbered).collect()
}

/// Where the code of a finding stands.
fn shown(request: &Request, finding: &Finding) -> Option<Shown> {
    let present = Regex::new(r"^ *(\d+) [ +] ").ok()?;
    diff_lines(request, finding.file)
        .into_iter()
        .filter(|(_, text)| text.contains(finding.code))
        .find_map(|(in_diff_file, text)| {
            let head = present.captures(text)?[1].parse().ok()?;
            Some(Shown { in_diff_file, head })
        })
}

/// The removed lines from the code of a finding on, with their numbers in the old file, up to the end of its block.
fn removed(request: &Request, finding: &Finding) -> Vec<(u32, String)> {
    let Ok(gone) = Regex::new(r"^\( *(\d+)\)- (.*)$") else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let all = diff_lines(request, finding.file).into_iter();
    for (_, text) in all.skip_while(|(_, text)| !text.contains(finding.code)) {
        let Some(parts) = gone.captures(text) else {
            break;
        };
        lines.extend(
            parts[1]
                .parse()
                .ok()
                .map(|line| (line, parts[2].to_owned())),
        );
        if parts[2].trim() == "}" {
            break;
        }
    }
    lines
}

/// The ranges that a refusal offers: "commentable: 1-4, 15-22".
fn commentable(refusal: &str) -> Vec<RangeInclusive<u32>> {
    let Ok(range) = Regex::new(r"(\d+)(?:-(\d+))?") else {
        return Vec::new();
    };
    let offered = refusal
        .split_once("commentable: ")
        .map_or("", |(_, end)| end);
    range
        .captures_iter(offered)
        .filter_map(|found| {
            let first: u32 = found[1].parse().ok()?;
            let last = found
                .get(2)
                .map_or(Some(first), |last| last.as_str().parse().ok())?;
            Some(first..=last)
        })
        .collect()
}

/// The id under which a finding was recorded, as the run's state tells it.
fn recorded(request: &Request, finding: &Finding) -> Option<String> {
    let states = answers(request);
    let state = states
        .iter()
        .rev()
        .find(|answer| answer.contains("\"recorded\""))?;
    let state: Value = serde_json::from_str(state).ok()?;
    let recorded = state["metadata"]["recorded"].as_array()?;
    let one = recorded
        .iter()
        .find(|one| one["finding"] == finding.claim)?;
    one["id"].as_str().map(str::to_owned)
}
