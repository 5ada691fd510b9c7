//! Known bugs and their fixes, from published patches: what is pushed is the known fix, byte for byte. The data is not part of the
//! project; OPENCODE_REVIEWER_EVAL_DATA names the folder that holds it.

use crate::eval::{FOLDER, published};
use crate::standin::github::{Change, GitHub, Identity, events};
use crate::standin::model::{Call, Script};
use crate::standin::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const BUGS: usize = 20;
/// So many in one pull request, within the limits of one fix.
const AT_ONCE: usize = 10;

/// A file of a patch: each hunk with the lines of the fix, and with those of the bug.
struct Patched {
    path: String,
    hunks: Vec<(String, String)>,
}

impl Patched {
    /// The file, built of its hunks.
    fn text(&self, side: impl Fn(&(String, String)) -> &str) -> String {
        let hunks = self.hunks.iter().map(side).enumerate();
        let parts = hunks.map(|(at, text)| format!("// Part {at}.\n{text}"));
        parts.collect::<Vec<_>>().concat()
    }

    fn fixed(&self) -> String {
        self.text(|hunk| &hunk.0)
    }

    fn broken(&self) -> String {
        self.text(|hunk| &hunk.1)
    }
}

struct Bug {
    name: String,
    files: Vec<Patched>,
}

/// The files of a patch from the fixed to the buggy version; below a folder of the bug, because patches share files.
fn parsed(name: &str, patch: &str) -> Vec<Patched> {
    let mut files: Vec<Patched> = Vec::new();
    for line in patch.split_inclusive('\n') {
        if let Some(named) = line.strip_prefix("+++ b/") {
            files.push(Patched {
                path: format!("{name}/{}", named.trim()),
                hunks: Vec::new(),
            });
        } else if let Some(file) = files.last_mut() {
            if line.starts_with("@@ ") {
                file.hunks.push((String::new(), String::new()));
            } else if let Some((fixed, broken)) = file.hunks.last_mut() {
                match line.split_at(1) {
                    (" ", text) => {
                        fixed.push_str(text);
                        broken.push_str(text);
                    }
                    ("-", text) => fixed.push_str(text),
                    ("+", text) => broken.push_str(text),
                    _ => {}
                }
            }
        }
    }
    files
}

/// The first patches whose files have a final newline on both sides, which no edit takes away.
fn bugs(text: &str) -> Vec<Bug> {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let bugs = lines.filter_map(|line| {
        let (name, patch) = (line["bug"].as_str()?, line["patch"].as_str()?);
        (!patch.contains("\\ No newline")).then(|| Bug {
            name: name.to_owned(),
            files: parsed(name, patch),
        })
    });
    bugs.take(BUGS).collect()
}

/// The reverse of the patch, as edits for an issue.
fn edits(issue: &str, bug: &Bug) -> Vec<Call> {
    let mut calls = Vec::new();
    for file in &bug.files {
        for (fixed, broken) in &file.hunks {
            let edit = json!({ "issue": issue, "file": file.path, "old": broken, "new": fixed });
            calls.push(Call::new("fix_edit", edit));
        }
    }
    let result = json!({ "issue": issue, "result": "fixed", "text": "As it was." });
    calls.push(Call::new("submit_fix_result", result));
    calls
}

#[test]
fn the_pushed_files_of_known_bugs_are_the_known_fixes_byte_for_byte() {
    let text = match published("bug-patches.jsonl") {
        Ok(text) => text,
        Err(reason) => {
            println!("skipped: {reason}; {FOLDER} names a folder with bug-patches.jsonl");
            return;
        }
    };
    let bugs = bugs(&text);
    assert_eq!(bugs.len(), BUGS);
    for some in bugs.chunks(AT_ONCE) {
        fixes(some);
    }
}

fn fixes(bugs: &[Bug]) {
    let files = || bugs.iter().flat_map(|bug| &bug.files);
    let base: Vec<Change> = files()
        .map(|file| Change::write(&file.path, file.fixed()))
        .collect();
    let head: Vec<Change> = files()
        .map(|file| Change::write(&file.path, file.broken()))
        .collect();
    let calls: BTreeMap<String, Vec<Call>> = bugs
        .iter()
        .map(|bug| (bug.name.clone(), edits("", bug)))
        .collect();
    let script = Script::new().fix(move |request| {
        let mut all = Vec::new();
        for (issue, words) in request.issues() {
            let bug = calls
                .iter()
                .find(|(name, _)| words.contains(&format!("Bug {name}.")));
            let (_, calls) = bug.expect("an issue of ours");
            all.extend(calls.iter().cloned().map(|mut call| {
                call.arguments["issue"] = json!(issue);
                call
            }));
        }
        all
    });
    let world = World::settled(&base, &head, script.into_behaviour()).quick();
    let (github, pull) = (&world.github, world.pull);
    github.permit("writer", "write");
    let permissions = [
        "contents:write",
        "pull-requests:write",
        "checks:write",
        "issues:write",
    ];
    github.token(GitHub::TOKEN, Identity::github_actions(&permissions));
    github.review(pull, "writer", "CHANGES_REQUESTED", "");
    for bug in bugs {
        let place = (bug.files[0].path.as_str(), 2);
        github.remark(
            pull,
            "writer",
            place,
            &format!("Bug {}. Take it back.", bug.name),
        );
    }
    let asked = github.comment(pull, "writer", "@review-my-code-bot fix");
    let payload = events::comment_event("issue_comment", github, pull, asked.id);
    let ran = world.run(&world.workflow("issue_comment", payload));
    let pushed = github.pull(pull, |pull| pull.head.sha.clone());
    for file in files() {
        let name = format!("{pushed}:{}", file.path);
        let text = github.with(|state| state.git.ask(&["show", &name]));
        assert_eq!(text, Some(file.fixed()), "{}\n{}", file.path, ran.log);
    }
    let told = github.with(|state| state.issue_comments.clone());
    let told = told
        .iter()
        .find(|comment| comment.body.contains("### Fixed"));
    let all = format!("### Fixed {0} of {0} findings", bugs.len());
    assert!(
        told.is_some_and(|told| told.body.contains(&all)),
        "{told:?}\n{}",
        ran.log
    );
}
