//! L: words that want to be commands of the runner. That no log holds a command which we did not mean is asserted in the
//! world itself, for every run; here every mouth tries, and the runner's other files with them.

use super::ground::{says, submits};
use super::{Channel, Ground, step};
use crate::review::lost_page;
use crate::standin::github::Change;
use crate::standin::model::Answer;
use crate::standin::runner::CANARY;
use serde_json::json;

/// Said in a finding, in a summary, as a name that is refused, and by the sidecar itself, with the run failing after it
/// so that its last words are quoted.
fn spoken(line: &str) {
    let mut named = lost_page(7);
    named["file"] = json!(line);
    let steps = [
        says(&format!("The page is lost. {line}")),
        step("github_post_review_comment", named),
        step("sidecar_print", json!({ "line": line })),
        submits(1, line),
    ];
    let ground = Ground::with(Channel::Comment, &steps);
    ground.world.github.pull(ground.world.pull, |pull| {
        line.clone_into(&mut pull.title);
        pull.body = Some(line.to_owned());
    });
    let aftermath = ground.attacked([].into());
    assert!(aftermath.comment().contains("The page is lost"));
    let outputs = &aftermath.ran.outputs;
    assert_eq!(outputs["review_status"], "findings");
    assert!(
        outputs.keys().all(|name| !name.contains(CANARY)),
        "{outputs:?}"
    );
    // It is replaced twice, and not again.
    let ends = [
        step("sidecar_print", json!({ "line": line })),
        step("sidecar_exit", json!({})),
        step("sidecar_exit", json!({})),
        step("sidecar_print", json!({ "line": line })),
        step("sidecar_exit", json!({})),
    ];
    let aftermath = Ground::with(Channel::Body, &ends).attacked([].into());
    assert_eq!(aftermath.ran.code, Some(2), "{}", aftermath.ran.log);
}

macro_rules! lines {
    ($($name:ident: $text:expr;)*) => { $(#[test] fn $name() { spoken(&$text); })* };
}

lines! {
    l1_a_mask_is_not_set: format!("::add-mask::{CANARY}");
    l1_blanks_before_a_command_do_not_help: format!(" \t::error title=OpenCode review::{CANARY}");
    l1_a_command_of_the_old_form_is_not_obeyed: format!("x ##[add-matcher]{CANARY}");
    l1_a_line_break_of_any_kind_begins_no_command: format!("x\r::warning::{CANARY}\u{2028}::error::{CANARY}\u{85}::error::{CANARY}\n::error::{CANARY}");
    l1_an_escaped_line_break_begins_no_command: format!("%0A::error::{CANARY}%0D::error::{CANARY}");
    l2_commands_cannot_be_stopped_by_a_text: format!("::stop-commands::{CANARY}\n::{CANARY}::");
    l3_a_name_and_a_delimiter_are_no_output: format!("review_status<<EOF\n{CANARY}\nEOF\n{CANARY}<<x\n1\nx");
    l4_sequences_of_the_terminal_are_gone: format!("\u{1b}[2J\u{1b}]8;;https://evil.example\u{7}{CANARY}\u{8}\u{1b}]0;x\u{7}");
}

#[test]
fn l1_a_name_of_a_file_is_no_command() {
    let name = format!("src/x\n::error::{CANARY}\n##[group]{CANARY}.ts");
    let changes = [
        Change::write(&name, "export {};\n"),
        // Too large to be shown, and therefore named in the log.
        Change::write(
            &format!("src/\u{1b}[2J::error::{CANARY}"),
            "x\n".repeat(600_000),
        ),
    ];
    let ground = Ground::around(&[(Channel::Body, &[says("The page is lost.")])], &changes);
    let aftermath = ground.attacked([].into());
    assert_eq!(aftermath.status(), (Some(2), "incomplete"));
    assert!(!aftermath.ran.log.contains('\u{1b}'));
}

#[test]
fn l5_a_summary_stays_below_what_the_runner_takes() {
    let steps: Vec<_> = (0..180)
        .map(|number| {
            let text = format!("Number {number}: {}", "a word and ".repeat(1_500));
            let mut finding = lost_page(7);
            finding["body"] = json!(text);
            finding["assessment"]["finding"] = json!(format!("{number} {}", "z ".repeat(1_900)));
            finding["distinct_from"] = json!({ "thread_id": "new-1", "reason": "Another one." });
            step("github_post_review_comment", finding)
        })
        .chain([submits(1, &"<script>x</script> ".repeat(20_000))])
        .collect();
    let aftermath = Ground::with(Channel::File, &steps).attacked([].into());
    let summary = &aftermath.ran.summary;
    assert!(summary.len() < 1 << 20, "{}", summary.len());
    assert!(!summary.contains("<script>"));
}

#[test]
fn l6_a_sidecar_that_floods_its_output_fills_nothing() {
    let flood = json!({ "line": format!("::error::{CANARY}").repeat(500), "times": 2_000 });
    let steps = [
        step("sidecar_exit", json!({})),
        step("sidecar_exit", json!({})),
        step("sidecar_print", flood),
        step("sidecar_exit", json!({})),
    ];
    let aftermath = Ground::with(Channel::Body, &steps).attacked([].into());
    assert_eq!(aftermath.ran.code, Some(2));
    assert!(
        aftermath.ran.log.len() < 200_000,
        "{}",
        aftermath.ran.log.len()
    );
}

#[test]
fn l1_an_error_of_the_model_is_quoted_and_not_obeyed() {
    let ground = Ground::with(Channel::Body, &[]);
    let message = format!("no\n::error::{CANARY}\n##[error]{CANARY}\u{1b}[2J");
    ground
        .world
        .model
        .becomes(move |_| Answer::status(400, json!({ "error": { "message": message } })));
    let aftermath = ground.run();
    assert_eq!(aftermath.ran.code, Some(2));
    assert!(!aftermath.ran.log.contains('\u{1b}'));
}
