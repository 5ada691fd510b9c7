//! Every trap at once, reviewed by the real OpenCode for a model that tries to step into each of them, while the
//! kernel tells of every program that is executed.

use super::curious::{FINDINGS, Seen, curious};
use super::executed;
use super::traps::{Ground, INSTRUCTION, OUTSIDE, REFUSED};
use crate::standin::github::Change;
use crate::standin::model::Script;
use crate::standin::world::{Ran, World, through};
use crate::walls::program;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

#[test]
fn a_pull_request_of_traps_is_reviewed_and_catches_nobody() {
    review_of_traps("nothing");
}

#[test]
fn the_snapshot_holds_the_traps_where_the_kernel_has_no_landlock() {
    review_of_traps("landlock");
}

/// On a kernel that lacks this.
fn review_of_traps(lacking: &str) {
    let world = World::shop(Script::new());
    let ground = Arc::new(Ground::around(&world));
    let changes = ground.changes();
    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    world.github.commit("search", &[&before], &changes);
    let head = world
        .github
        .with(|state| state.git.plant("search", &REFUSED));
    world.github.push(world.pull, &head);
    ground.check_out(&world);
    let names = changes.iter().map(Change::path_text).collect();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let script = curious(&ground, names, &seen);
    world.model.becomes(script.into_behaviour());
    let mut workflow = world.opened();
    let secret = format!("{OUTSIDE} of the environment");
    workflow.variables.insert("TRAPPED".into(), secret);
    let record = tempfile::NamedTempFile::new().unwrap();
    let ran = world.run_with(&workflow, |command| {
        let confined = through(&program("lacking"), lacking, &command);
        let mut observed = through(&program("observing"), record.path(), &confined);
        // Where the runner starts the container's program.
        observed.current_dir(&ground.workspace);
        observed
    });
    nothing_was_caught(&ground, &seen.lock().unwrap());
    let searches = executed::nothing_else(&fs::read_to_string(record.path()).unwrap());
    assert!(searches > 8, "{searches}");
    nothing_was_told(&world, &ran);
    the_findings_are_where_they_belong(&world, &ran);
    fs::remove_file(ground.credentials()).unwrap();
    world.finish();
}

fn nothing_was_caught(ground: &Ground, seen: &Seen) {
    let marks = fs::read_dir(ground.markers.path()).unwrap().flatten();
    let marks: Vec<PathBuf> = marks.map(|entry| entry.path()).collect();
    assert_eq!(marks, Vec::<PathBuf>::new(), "something was executed");
    assert_eq!(seen.marks, Vec::<PathBuf>::new(), "a trap was executed");
    assert_eq!(seen.odd, Vec::<PathBuf>::new(), "neither file nor folder");
    assert!(seen.shown.len() > 200, "{}", seen.shown.len());
}

fn nothing_was_told(world: &World, ran: &Ran) {
    // The last request is the whole conversation.
    let requests = world.model.requests();
    for request in &requests {
        let text = request.to_string();
        for secret in [OUTSIDE, "OPENCODE_SERVER_PASSWORD=", "root:x:0:0"] {
            assert!(!text.contains(secret), "{secret} was told to the model");
        }
        assert!(!request["tools"].to_string().contains(INSTRUCTION));
        for message in request["messages"].as_array().unwrap() {
            let told = instructions(message);
            assert!(!told.contains(INSTRUCTION), "as an instruction: {told}");
        }
    }
    let last = requests.last().unwrap().to_string();
    assert!(last.contains(INSTRUCTION), "the files can be read as data");
    assert!(last.contains("[symbolic link to /proc/self/environ; not followed]"));
    assert!(last.contains("API_KEY=***"));
    for text in [&ran.log, &ran.summary] {
        assert!(!text.contains(OUTSIDE), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{200c}']), "{text}");
    }
    assert!(!ran.report.as_ref().unwrap().to_string().contains(OUTSIDE));
}

/// What a message says that is neither marked as foreign nor the result of a tool.
fn instructions(message: &Value) -> String {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        parts => {
            let parts = parts.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect()
        }
    };
    match message["role"].as_str() {
        Some("tool") => between(&text, "<system-reminder>", "</system-reminder>").1,
        Some("user") => between(&text, "<untrusted-", "</untrusted-").0,
        _ => text,
    }
}

/// The text outside of these marks, and the text inside.
fn between(text: &str, start: &str, end: &str) -> (String, String) {
    let (mut outside, mut inside) = (String::new(), String::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        outside.push_str(before);
        let (marked, after) = after.split_once(end).unwrap_or((after, ""));
        inside.push_str(marked);
        rest = after;
    }
    outside.push_str(rest);
    (outside, inside)
}

fn the_findings_are_where_they_belong(world: &World, ran: &Ran) {
    // What has a name that is refused is not in the copy; its diff was shown all the same.
    ran.ended(0, "findings");
    let comments = world.github.comments();
    let mut places: Vec<(&str, Option<u64>)> = comments
        .iter()
        .map(|comment| (comment.path.as_str(), comment.line))
        .collect();
    // Parallel calls are recorded as they happen to arrive.
    places.sort_unstable();
    let mut expected = FINDINGS.map(|(_, line, _, path)| (path, Some(line)));
    expected.sort_unstable();
    assert_eq!(places, expected);
    for write in world.github.take_writes() {
        let write = format!("{write:?}");
        assert!(
            !write.contains(OUTSIDE) && !write.contains(INSTRUCTION),
            "{write}"
        );
    }
}
