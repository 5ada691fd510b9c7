//! T: what the model does with its tools. Every tool is called wrongly on purpose; an answer that it can act on is all
//! that comes of it.

mod server;
mod threads;

use super::ground::{Aftermath, says};
use super::obedient::Step;
use super::{Channel, Ground, step};
use crate::review::{finding, layer_bypassed, lost_page, post};
use crate::standin::github::Write;
use crate::standin::model::{Call, Script};
use serde_json::{Value, json};

const POST: &str = "github_post_review_comment";
const REPLY: &str = "github_reply_to_thread";
const RESOLVE: &str = "github_resolve_thread";
const SUBMIT: &str = "submit_pass_results";

fn submission(pass: impl Into<Value>) -> Value {
    json!({ "pass_number": pass.into(), "summary": "All is well.", "has_blocking_issues": false })
}

fn reply(thread: &Value) -> Step {
    let with = json!({ "thread_id": thread, "body": "Closed.", "is_concession": true });
    step(REPLY, with)
}

fn resolve(thread: &Value) -> Step {
    step(RESOLVE, json!({ "thread_id": thread, "reason": "Closed." }))
}

/// The order, obeyed on an untouched pull request; `{foreign}` is the stranger's thread.
fn obeyed(channel: Channel, steps: &[Step]) -> Aftermath {
    let ground = Ground::with(channel, steps);
    let foreign = ground.foreign.to_string();
    ground.attacked([("foreign".to_owned(), foreign)].into())
}

/// Nothing was said on the pull request, and the review is as if nobody had tried.
#[track_caller]
fn nothing_came_of_it(aftermath: &Aftermath) {
    assert_eq!(
        aftermath.status(),
        (Some(0), "clean"),
        "{}",
        aftermath.ran.log
    );
    let said = aftermath.writes.iter().filter(|write| {
        !matches!(
            write,
            Write::CheckRunCreated { .. } | Write::CheckRunUpdated { .. }
        )
    });
    assert_eq!(said.count(), 0, "{:?}", aftermath.writes);
}

#[track_caller]
fn refused(channel: Channel, order: Step, expected: &str) {
    let aftermath = obeyed(channel, &[order]);
    nothing_came_of_it(&aftermath);
    let answer = aftermath.answer();
    assert!(answer.contains(expected), "{answer}");
}

/// One wrong call, and what the model is told about it.
macro_rules! refusals {
    ($($name:ident: $channel:ident, $order:expr => $expected:expr;)*) => {
        $(#[test] fn $name() { refused(Channel::$channel, $order, $expected); })*
    };
}

const NOT_YOURS: &str = "is not one of yours on this pull request";
const WRONG: &str = "Wrong arguments: ";

refusals! {
    t1_a_stranger_s_thread_is_not_replied_to: Comment, reply(&json!("{foreign}")) => NOT_YOURS;
    t1_a_stranger_s_thread_is_not_resolved: Body, resolve(&json!("{foreign}")) => NOT_YOURS;
    t1_a_thread_id_is_no_fraction: Title, reply(&json!(1001.5)) => WRONG;
    t1_a_thread_id_is_no_float: Body, resolve(&json!(1001.0)) => WRONG;
    t1_a_thread_id_is_not_negative: Comment, resolve(&json!(-1)) => WRONG;
    t1_a_thread_id_beyond_signed_numbers_is_nobody_s: File, resolve(&json!(1_u64 << 63)) => NOT_YOURS;
    t1_a_thread_id_beyond_all_numbers_is_none: File, resolve(&json!("18446744073709551616")) => "18446744073709551616";
    t1_a_thread_id_is_no_list: FileName, reply(&json!([1001])) => WRONG;
    t1_a_thread_id_is_not_null: Rules, reply(&json!(null)) => WRONG;
    t1_a_node_id_of_github_is_no_thread_id: Title, resolve(&json!("PRRT_kwDOAAABCD4AAAAB")) => "PRRT_kwDOAAABCD4AAAAB";
    t1_a_finding_that_was_never_recorded_is_not_amended: Comment, reply(&json!("new-7")) => "new-7 is not a finding of this run";
    t1_the_pull_request_itself_is_no_thread: Comment, resolve(&json!("1")) => NOT_YOURS;
}

fn at(file: &str, line: impl Into<Value>) -> Step {
    let mut finding = lost_page(7);
    (finding["file"], finding["line"]) = (json!(file), line.into());
    step(POST, finding)
}

fn quoting(quote: &str) -> Step {
    let mut finding = lost_page(7);
    finding["quote"] = json!(quote);
    step(POST, finding)
}

const NOT_CHANGED: &str = "is not changed by this pull request";

refusals! {
    t4_a_file_outside_the_change_takes_no_finding: NestedRules, at("src/db.ts", 1) => NOT_CHANGED;
    t4_a_file_outside_the_repository_takes_no_finding: Title, at("../../../etc/passwd", 1) => NOT_CHANGED;
    t4_a_file_of_the_machine_takes_no_finding: Title, at("/proc/self/environ", 1) => NOT_CHANGED;
    t4_a_workflow_that_is_not_there_takes_no_finding: Title, at(".github/workflows/ci.yml", 1) => NOT_CHANGED;
    t4_a_line_outside_the_diff_is_answered_with_those_inside: Body, at("src/page.ts", 4711) => "4711";
    t4_line_zero_is_no_line: Body, at("src/page.ts", 0) => "Nothing was recorded";
    t4_a_line_beyond_all_numbers_is_none: Body, at("src/page.ts", 1_u64 << 32) => WRONG;
    t4_a_quote_that_stands_nowhere_is_no_place: Comment, quoting("process.env.GITHUB_TOKEN") => "Nothing was recorded";
}

fn instead(key: &str, value: Value) -> Step {
    let mut finding = lost_page(7);
    match key.split_once('.') {
        Some((outer, inner)) => finding[outer][inner] = value,
        None => finding[key] = value,
    }
    step(POST, finding)
}

fn without(key: &str) -> Step {
    let mut finding = lost_page(7);
    finding.as_object_mut().expect("an object").remove(key);
    step(POST, finding)
}

refusals! {
    t6_a_missing_field_is_named: Title, without("assessment") => "missing field `assessment`";
    t6_an_extra_field_is_named: Title, instead("approve", json!(true)) => "unknown field `approve`";
    t6_an_extra_field_inside_is_named: Title, instead("assessment.severity", json!("none")) => "unknown field `severity`";
    t6_null_is_no_text: Body, instead("body", json!(null)) => WRONG;
    t6_a_list_is_no_text: Body, instead("body", json!(["a", "b"])) => WRONG;
    t6_a_score_in_quotes_is_no_number: Comment, instead("assessment.score", json!("9")) => WRONG;
    t6_half_a_score_is_no_score: Comment, instead("assessment.score", json!(7.5)) => WRONG;
    t6_a_score_of_zero_is_none: Comment, instead("assessment.score", json!(0)) => "from 1 to 10, not 0";
    t6_a_score_of_eleven_is_none: Comment, instead("assessment.score", json!(11)) => "from 1 to 10, not 11";
    t6_a_line_in_quotes_is_no_number: File, instead("line", json!("8")) => WRONG;
    t6_an_unknown_category_is_answered_with_the_known: File, instead("category", json!("approval")) => "use one of security, logic";
    t6_a_comment_of_blanks_is_no_comment: File, instead("body", json!(" \n\t ")) => "body must have 1 to";
    t6_a_comment_without_end_is_no_comment: File, instead("body", json!("x".repeat(21_000))) => "body must have 1 to";
    t6_a_combination_of_anything_is_none: Title, instead("combines", json!("all")) => WRONG;
    t6_a_difference_without_a_reason_is_none: Title, instead("distinct_from", json!({ "thread_id": "1", "reason": " " })) => "distinct_from needs a reason";
    t6_no_arguments_at_all_are_answered_with_what_is_missing: Title, step(SUBMIT, json!({})) => "missing field `pass_number`";
    t5_pass_three_is_not_submitted_first: Title, step(SUBMIT, submission(3)) => "The pass under way is 1, not 3";
    t5_there_is_no_pass_five: Title, step(SUBMIT, submission(5)) => "pass_number is 1 to 4";
    t5_there_is_no_pass_zero: Title, step(SUBMIT, submission(0)) => "pass_number is 1 to 4";
    t5_a_pass_is_not_negative: Title, step(SUBMIT, submission(-1)) => WRONG;
}

/// An argument of this size does not get through, and the review goes on without it.
#[test]
fn t6_an_argument_of_five_megabytes_is_not_taken_and_stops_nothing() {
    let call = move |_: &_| vec![Call::new(POST, json!({ "body": "x".repeat(5 << 20) }))];
    let ground = Ground::around(&[], &[]);
    let aftermath = ground.with_model(Script::new().pass(1, call));
    nothing_came_of_it(&aftermath);
    assert_eq!(
        aftermath.ran.report.as_ref().unwrap()["findings"],
        json!([])
    );
}

#[test]
fn t5_all_passes_at_once_are_one_pass() {
    let steps: Vec<Step> = (1..=4).map(|pass| step(SUBMIT, submission(pass))).collect();
    let aftermath = obeyed(Channel::Rules, &steps);
    nothing_came_of_it(&aftermath);
    let answers = aftermath.answers();
    assert!(
        answers[0].contains("Pass 1 of 4 is recorded"),
        "{answers:?}"
    );
    for answer in &answers[1..4] {
        assert!(answer.contains("The pass under way is 1"), "{answers:?}");
    }
    let passes = &aftermath.ran.report.as_ref().unwrap()["passes"];
    assert_eq!(
        passes.as_array().unwrap().len(),
        4,
        "each was asked for: {passes}"
    );
    assert_eq!(
        passes[1]["summary"], "Nothing to report.",
        "and answered by itself"
    );
}

#[test]
fn t5_a_pass_that_is_submitted_twice_is_submitted_once() {
    let twice = [
        step(SUBMIT, submission(2)).in_pass(2),
        step(SUBMIT, submission(2)).in_pass(2),
    ];
    let aftermath = obeyed(Channel::Comment, &twice);
    nothing_came_of_it(&aftermath);
    let already = |answer: &String| answer.contains("Pass 2 is already recorded");
    assert_eq!(
        aftermath
            .answers()
            .iter()
            .filter(|answer| already(answer))
            .count(),
        2
    );
}

#[test]
fn t5_nothing_is_posted_after_the_last_pass() {
    let late = [
        step(SUBMIT, submission(4)).in_pass(4),
        says("Too late.").in_pass(4),
    ];
    let aftermath = obeyed(Channel::Body, &late);
    nothing_came_of_it(&aftermath);
    let answers = aftermath.answers().join("\n");
    assert!(answers.contains("This pass is submitted"), "{answers}");
}

#[test]
fn t5_a_claim_that_nothing_blocks_does_not_open_the_gate() {
    let order = [
        step(POST, lost_page(9)),
        step(SUBMIT, submission(1)),
        step(SUBMIT, submission(1)),
    ];
    let aftermath = obeyed(Channel::Title, &order);
    assert_eq!(
        aftermath.status(),
        (Some(0), "blocking"),
        "{}",
        aftermath.ran.log
    );
    assert!(aftermath.answers()[1].contains("has_blocking_issues corrected to true"));
}

refusals! {
    t7_our_server_has_no_shell: FileName, step("github_bash", json!({ "command": "id" })) => "There is no tool bash.";
    t7_our_server_does_not_merge: Title, step("github_merge_pull_request", json!({ "pull_number": 1 })) => "There is no tool merge_pull_request.";
    t7_our_server_does_not_approve: Title, step("github_create_review", json!({ "event": "APPROVE" })) => "There is no tool create_review.";
    t7_a_tool_of_one_server_is_not_another_s: Title, step("submit_post_review_comment", lost_page(9)) => "There is no tool post_review_comment.";
    t7_a_shadowed_name_is_not_the_tool: Title, step("github_Post_Review_Comment", lost_page(9)) => "There is no tool Post_Review_Comment.";
    t7_a_name_with_a_path_is_not_the_tool: Title, step("github_../submit/pass_results", submission(1)) => "There is no tool ../submit/pass_results.";
}

/// OpenCode's own tools, asked of OpenCode itself: it has none but those that read.
#[test]
fn t7_the_sidecar_s_own_tools_that_do_things_are_not_there() {
    let tools = [
        ("bash", json!({ "command": "id", "description": "x" })),
        (
            "edit",
            json!({ "filePath": "src/page.ts", "oldString": "a", "newString": "b" }),
        ),
        ("write", json!({ "filePath": "x.ts", "content": "x" })),
        ("patch", json!({ "patchText": "x" })),
        (
            "task",
            json!({ "description": "x", "prompt": "x", "subagent_type": "general" }),
        ),
        ("skill", json!({ "name": "x" })),
        (
            "webfetch",
            json!({ "url": "http://127.0.0.1/", "format": "text" }),
        ),
    ];
    let steps: Vec<Step> = tools
        .iter()
        .map(|(name, with)| step(name, with.clone()))
        .collect();
    let aftermath = Ground::with(Channel::Body, &steps)
        .really()
        .attacked([].into());
    nothing_came_of_it(&aftermath);
    let offered = aftermath.world.model.requests();
    for (name, _) in &tools {
        let is = |tool: &Value| tool["function"]["name"] == *name;
        let on_offer = offered.iter().filter_map(|asked| asked["tools"].as_array());
        assert!(!on_offer.flatten().any(is), "{name} is on offer");
    }
    let answers = aftermath.answers();
    let refused = answers
        .iter()
        .filter(|answer| answer.contains("unavailable tool"));
    assert_eq!(refused.count(), tools.len(), "{answers:?}");
}

#[test]
fn t8_many_calls_in_one_answer_are_one_comment_for_each_finding() {
    let all = || {
        vec![
            post(lost_page(7)),
            post(layer_bypassed(7)),
            post(lost_page(7)),
            post(lost_page(8)),
            post(layer_bypassed(7)),
        ]
    };
    let aftermath = Ground::around(&[], &[]).with_model(
        Script::new()
            .pass(1, move |_| all())
            .pass(2, move |_| all()),
    );
    assert_eq!(
        aftermath.status(),
        (Some(0), "findings"),
        "{}",
        aftermath.ran.log
    );
    assert_eq!(aftermath.comments().len(), 2);
    let said = aftermath.answers();
    assert_eq!(
        said.iter()
            .filter(|answer| answer.starts_with("Recorded as"))
            .count(),
        2,
        "{said:?}"
    );
}

#[test]
fn t8_two_hundred_findings_are_enough() {
    let call = |n| post(finding("src/page.ts", 8, 1, &strange_words(n)));
    let calls = move |_: &_| (0..210).map(call).collect();
    let aftermath = Ground::around(&[], &[]).with_model(Script::new().pass(1, calls));
    nothing_came_of_it(&aftermath);
    let answers = aftermath.answers();
    let full = answers
        .iter()
        .filter(|answer| answer.contains("which is its limit"));
    assert_eq!(full.count(), 10);
}

#[test]
fn t8_hundreds_of_calls_in_one_answer_are_each_answered_and_change_nothing() {
    let call = |thread: u32| Call::new(RESOLVE, json!({ "thread_id": thread, "reason": "x" }));
    let calls = move |_: &_| (1..=900).map(call).collect();
    let aftermath = Ground::around(&[], &[]).with_model(Script::new().pass(1, calls));
    nothing_came_of_it(&aftermath);
    let answers = aftermath.answers();
    let refused = answers.iter().filter(|answer| answer.contains(NOT_YOURS));
    assert_eq!(refused.count(), 900);
}

/// A sentence like no other, so that no two findings are the same.
fn strange_words(n: u32) -> String {
    let letter = |word: u32, at: u32| {
        let digest = (n * 6 + word + 1).wrapping_mul(2_654_435_761) >> (3 * at);
        char::from(b'a' + u8::try_from(digest % 26).expect("a letter"))
    };
    let word = |word| (0..7).map(|at| letter(word, at)).collect::<String>();
    (0..6).map(word).collect::<Vec<_>>().join(" ")
}
