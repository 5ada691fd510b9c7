//! P8 to P10, and events of P4: what starts a run, and what a run is given. Whatever is wrong is said in one line, and
//! nobody is asked.

use super::{attacked, stays_clean};
use crate::attacks::Ground;
use crate::standin::github::events;
use serde_json::{Value, json};

#[test]
fn p4_half_a_character_in_the_event_is_one_clear_line() {
    let mut ground = Ground::around(&[], &[]);
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("event.json");
    let payload = ground
        .workflow
        .payload
        .to_string()
        .replace("Search orders", "\\ud800 Search");
    std::fs::write(&path, payload).unwrap();
    ground
        .workflow
        .variables
        .insert("GITHUB_EVENT_PATH".into(), path.display().to_string());
    let aftermath = ground.run();
    assert_eq!(
        aftermath.status(),
        (Some(2), "error"),
        "{}",
        aftermath.ran.log
    );
    assert!(
        aftermath.ran.annotations("error")[0].contains("is not JSON"),
        "{}",
        aftermath.ran.log
    );
}

/// Somebody who may write says this below the description, and nothing is asked of the model.
#[track_caller]
fn is_no_call(body: &str) {
    let mut ground = Ground::around(&[], &[]);
    let (github, pull) = (&ground.world.github, ground.world.pull);
    github.permit("writer", "write");
    let id = github.comment(pull, "writer", body).id;
    ground.workflow.event = "issue_comment".into();
    ground.workflow.payload = events::comment_event("issue_comment", github, pull, id);
    let aftermath = ground.run();
    assert_eq!(
        aftermath.status(),
        (Some(0), "skipped"),
        "{}",
        aftermath.ran.log
    );
    assert_eq!(aftermath.world.model.requests(), Vec::<Value>::new());
    assert_eq!(aftermath.writes, []);
}

macro_rules! no_calls {
    ($($name:ident: $body:expr;)*) => { $(#[test] fn $name() { is_no_call($body); })* };
}

no_calls! {
    p8_a_mention_in_code_is_no_call: "Try `@review-my-code-bot review`.";
    p8_a_mention_in_a_block_of_code_is_no_call: "~~~\n@review-my-code-bot review\n~~~";
    p8_a_mention_in_a_quote_is_no_call: "> @review-my-code-bot review\n\nNo.";
    p8_a_mention_in_a_link_is_no_call: "[docs](https://x.test/@review-my-code-bot)";
    p8_a_mail_address_is_no_call: "Write to me@review-my-code-bot please.";
    p8_another_s_name_is_no_call: "@review-my-code-bot2 review";
    p8_a_hidden_mention_is_no_call: "Fine.<!-- @review-my-code-bot review -->";
}

/// The run ends at once, for this reason, and nobody is asked.
#[track_caller]
fn ends_at_once(change: impl FnOnce(&mut Ground), status: &str, reason: &str) {
    let mut ground = Ground::around(&[], &[]);
    change(&mut ground);
    let aftermath = ground.run();
    let code = if status == "skipped" { 0 } else { 2 };
    assert_eq!(
        aftermath.status(),
        (Some(code), status),
        "{}",
        aftermath.ran.log
    );
    let level = if status == "skipped" {
        "notice"
    } else {
        "error"
    };
    let told = aftermath.ran.annotations(level).join("\n");
    assert!(told.contains(reason), "{told}");
    assert!(told.len() < 2_000, "{} characters", told.len());
    assert_eq!(aftermath.world.model.requests(), Vec::<Value>::new());
    assert_eq!(aftermath.writes, []);
}

macro_rules! ends {
    ($($name:ident: $status:literal, $reason:literal, $change:expr;)*) => {
        $(#[test] fn $name() { ends_at_once($change, $status, $reason); })*
    };
}

fn pull(key: &'static str, value: Value) -> impl FnOnce(&mut Ground) {
    move |ground| ground.workflow.payload["pull_request"][key] = value
}

fn event(name: &'static str) -> impl FnOnce(&mut Ground) {
    move |ground| ground.workflow.event = name.into()
}

fn input(name: &'static str, value: &str) -> impl FnOnce(&mut Ground) {
    let value = value.to_owned();
    move |ground| {
        ground.workflow.inputs.insert(name.into(), value);
    }
}

ends! {
    p9_a_closed_pull_request_is_not_reviewed: "skipped", "is closed", pull("state", json!("closed"));
    p9_a_merged_pull_request_is_not_reviewed: "skipped", "is merged already", pull("merged", json!(true));
    p9_a_locked_pull_request_is_not_reviewed: "skipped", "is locked", pull("locked", json!(true));
    p9_a_draft_is_not_reviewed: "skipped", "is a draft", |ground| {
        ground.workflow.payload["pull_request"]["draft"] = json!(true);
        let pull = ground.world.pull;
        ground.world.github.pull(pull, |pull| pull.draft = true);
    };
    p9_a_pull_request_that_became_a_draft_since_is_not_reviewed: "skipped", "is a draft", |ground| {
        let pull = ground.world.pull;
        ground.world.github.pull(pull, |pull| pull.draft = true);
    };
    p9_a_pull_request_that_was_closed_since_is_not_reviewed: "skipped", "is closed", |ground| {
        let pull = ground.world.pull;
        ground.world.github.pull(pull, |pull| pull.state = "closed".into());
    };
    p9_an_event_of_another_kind_is_not_ours: "skipped", "The event push", event("push");
    p9_an_event_with_a_hostile_name_is_not_ours: "skipped", "does not concern a pull request", event("x\n::error::canary-command");
    p9_an_event_without_its_pull_request_is_an_error: "error", "pull_request", |ground| {
        ground.workflow.payload.as_object_mut().unwrap().retain(|key, _| key == "action" || key == "repository");
    };
    p9_an_event_of_wrong_types_is_an_error: "error", "pull_request", pull("number", json!("one"));
    p10_a_threshold_of_zero_is_named: "error", "problem_score_threshold is \"0\"", input("problem_score_threshold", "0");
    p10_a_threshold_of_eleven_is_named: "error", "blocking_score_threshold is \"11\"", input("blocking_score_threshold", "11");
    p10_half_a_threshold_is_named: "error", "problem_score_threshold is \"5.5\"", input("problem_score_threshold", "5.5");
    p10_no_number_is_no_threshold: "error", "score_elevation_threshold is \"NaN\"", input("score_elevation_threshold", "NaN");
    p10_a_model_of_two_lines_is_named_and_escaped: "error", "model is \"a/b\\n::error::canary-command\"", input("model", "a/b\n::error::canary-command");
    // Longer than this, the kernel takes no variable.
    p10_an_endless_input_is_named_and_cut: "error", "mention is \"xxx", input("mention", &"x".repeat(100_000));
    p10_a_wrong_secret_is_named_and_not_shown: "error", "opencode_api_key has a value that cannot be used", input("opencode_api_key", "sk-standin 0123456789abcdef0123456789abcdef");
}

#[test]
fn p10_blanks_around_a_threshold_are_no_mistake() {
    let mut ground = Ground::around(&[], &[]);
    input("problem_score_threshold", " 5 ")(&mut ground);
    stays_clean(&attacked(ground));
}
