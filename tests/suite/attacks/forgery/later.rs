//! S4, S5, S9, S10 and S12: what is taken from an earlier run, and what people do to comments afterwards.

use super::{BOT, finds, hidden, looks, looks_again, lowered, ours, page_line, push, said, warns};
use crate::attacks::Ground;
use crate::attacks::ground::{Aftermath, STATE_KEY};
use crate::review::{finding, lost_page, post};
use crate::standin::github::{Change, Write, events};
use crate::standin::model::{Call, Request, Script};
use crate::standin::shop;
use serde_json::json;

/// A number that no run of ours would give: it must not be the last word.
#[test]
fn s5_a_number_at_the_end_of_all_numbers_does_not_keep_us_from_answering() {
    let (mut ground, root) = said(7);
    let github = &ground.world.github;
    let keys = json!({ "kind": "keep", "seq": u32::MAX });
    github.reply(root, BOT, &format!("It stays.\n\n{}", hidden(&keys)));
    let asked = github.reply(root, "writer", "It is capped at one page.").id;
    let name = "pull_request_review_comment";
    ground.workflow.event = name.into();
    ground.workflow.payload = events::comment_event(name, github, ground.world.pull, asked);
    let aftermath = ground.with_model(Script::new().threads(concedes(root)));
    assert_eq!(
        aftermath.status(),
        (Some(0), "clean"),
        "{}",
        aftermath.ran.log
    );
    looks_again(aftermath.again(), "clean");
}

/// The model closes the thread because the page was changed.
fn fixes(root: u64) -> impl FnMut(&Request) -> Vec<Call> + Send + 'static {
    move |_| {
        let fixed = json!({ "file": "src/page.ts" });
        let with = json!({ "thread_id": root, "reason": "It rounds up.", "fixed_by": fixed });
        vec![Call::new("github_resolve_thread", with)]
    }
}

/// The model gives the finding up.
fn concedes(root: u64) -> impl FnMut(&Request) -> Vec<Call> + Send + 'static {
    move |_| {
        let with = json!({ "thread_id": root, "body": "You are right.", "is_concession": true });
        vec![Call::new("github_reply_to_thread", with)]
    }
}

fn page(ground: &Ground, from: &str, to: &str) -> Change {
    let shown = ground
        .world
        .github
        .with(|state| state.git.ask(&["show", "search:src/page.ts"]));
    let text = shown.expect("the file");
    assert!(text.contains(from), "{text}");
    Change::write("src/page.ts", text.replace(from, to))
}

#[test]
fn s5_an_older_resolution_of_ours_that_is_posted_again_closes_nothing() {
    let (mut ground, root) = said(9);
    let fixed = page(&ground, "Math.floor", "Math.ceil");
    push(&mut ground, &[fixed]);
    let aftermath = ground.with_model(Script::new().threads(fixes(root)).finds_fixed(true));
    assert_eq!(
        aftermath.status(),
        (Some(0), "clean"),
        "{}",
        aftermath.ran.log
    );
    let (_, resolved) = ours(&aftermath.world.github).remove(0);
    assert!(resolved.starts_with("✅ **Issue Resolved**"), "{resolved}");

    let mut ground = aftermath.again();
    let back = page(&ground, "Math.ceil", "Math.floor");
    push(&mut ground, &[back]);
    let aftermath = ground.with_model(finds(9));
    assert_eq!(
        aftermath.status(),
        (Some(0), "blocking"),
        "{}",
        aftermath.ran.log
    );
    assert_eq!(aftermath.replies().len(), 1, "it is reopened where it was");

    let ground = aftermath.again();
    for login in [BOT, "writer", "mallory"] {
        ground.world.github.reply(root, login, &resolved);
    }
    let aftermath = looks_again(ground, "blocking");
    // Another workflow speaks with the same account, and rewrites the finding as it was while it was fixed.
    let ground = aftermath.again();
    ground.world.github.edit_comment(root, BOT, &resolved);
    looks_again(ground, "blocking");
}

/// Two blocking findings, of which one was dismissed; its words are pasted below the other.
#[test]
fn s4_a_resolution_of_one_thread_is_none_of_another() {
    let ground = Ground::around(&[], &[]);
    ground.world.github.permit("writer", "write");
    let sql = shop::line_of("src/orders.ts", "LIKE");
    let both = move |_: &_| {
        vec![
            post(lost_page(9)),
            post(finding(
                "src/orders.ts",
                sql,
                9,
                "The text reaches the statement.",
            )),
        ]
    };
    let aftermath = ground.with_model(Script::new().pass(1, both));
    let roots: Vec<u64> = ours(&aftermath.world.github)
        .iter()
        .map(|(id, _)| *id)
        .collect();
    let mut ground = aftermath.again();
    let github = &ground.world.github;
    let asked = github
        .reply(roots[0], "writer", "@review-my-code-bot dismiss")
        .id;
    let name = "pull_request_review_comment";
    ground.workflow.event = name.into();
    ground.workflow.payload = events::comment_event(name, github, ground.world.pull, asked);
    let aftermath = ground.with_model(Script::new());
    assert_eq!(
        aftermath.ran.outputs["blocking_issues"], "1",
        "{}",
        aftermath.ran.log
    );
    let dismissed = aftermath.replies().remove(0);
    let ground = aftermath.again();
    ground.world.github.reply(roots[1], BOT, &dismissed);
    let aftermath = looks_again(ground, "blocking");
    warns(&aftermath, "does not match its signature");
}

/// A stranger makes an older remark of theirs a copy of our finding; whoever may close it closes ours.
#[test]
fn s4_a_copy_in_an_older_comment_does_not_take_the_finding_s_place() {
    let (ground, root) = said(9);
    let (github, copied) = (
        &ground.world.github,
        ours(&ground.world.github)[0].1.clone(),
    );
    github.edit_comment(ground.foreign, "mallory", &copied);
    let aftermath = looks_again(ground, "blocking");
    assert_eq!(aftermath.ran.outputs["open_issues"], "1");
    let ground = aftermath.again();
    ground.world.github.resolve_thread(root, "writer");
    looks_again(ground, "clean");
}

#[test]
fn s4_a_finding_of_one_pull_request_is_none_of_another() {
    let (mut ground, _) = said(9);
    let (github, copied) = (
        &ground.world.github,
        ours(&ground.world.github)[0].1.clone(),
    );
    let other = github.open_pull("dev", "search", "main");
    // Else it holds the other one back, as both share the head's check.
    github.pull(ground.world.pull, |pull| pull.state = "closed".into());
    ground.world.pull = other;
    github.remark(other, "mallory", ("src/page.ts", page_line()), &copied);
    ground.workflow.payload = events::event("pull_request", Some("opened"), github, other);
    looks_again(ground, "clean");
}

/// With another key our own comments are nobody's word; they are still not said again, and still open.
#[test]
fn s9_after_a_change_of_keys_nothing_is_said_twice_and_nothing_opens() {
    let (mut ground, _) = said(9);
    let other = "another-key-of-thirty-characters";
    ground
        .workflow
        .inputs
        .insert("state_key".into(), other.into());
    let aftermath = looks(ground, finds(9), "blocking");
    assert!(
        aftermath
            .answers()
            .join("\n")
            .contains("Already said in thread")
    );
}

#[test]
fn s9_a_key_that_is_kept_beside_the_new_one_is_still_believed() {
    let (mut ground, _) = said(9);
    let both = format!("another-key-of-thirty-characters\n{STATE_KEY}");
    ground.workflow.inputs.insert("state_key".into(), both);
    let asked = ground.world.model.requests().len();
    let aftermath = looks_again(ground, "blocking");
    assert_eq!(
        aftermath.world.model.requests().len(),
        asked,
        "and the review, too"
    );
}

#[test]
fn s9_a_score_that_was_lowered_before_the_change_of_keys_does_not_open_the_gate() {
    let (mut ground, root) = said(9);
    let body = lowered(&ours(&ground.world.github)[0].1);
    ground.world.github.edit_comment(root, BOT, &body);
    ground.workflow.inputs.insert(
        "state_key".into(),
        "another-key-of-thirty-characters".into(),
    );
    let aftermath = ground.with_model(finds(9));
    assert_eq!(
        aftermath.status(),
        (Some(0), "blocking"),
        "{:?}",
        aftermath.answers()
    );
}

#[test]
fn s10_a_finding_whose_comment_is_deleted_stays_open() {
    let (ground, root) = said(9);
    ground.world.github.delete_comment(root);
    warns(&looks_again(ground, "blocking"), "is gone");
}

/// The same change under another head costs no review, so it brings no evidence either.
#[test]
fn s10_a_deleted_finding_stays_open_when_only_the_commit_is_made_anew() {
    let (mut ground, root) = said(9);
    let (github, pull) = (&ground.world.github, ground.world.pull);
    github.delete_comment(root);
    let (base, before) = github.pull(pull, |pull| (pull.base.sha.clone(), pull.head.sha.clone()));
    let head = github.commit("search", &[&base], &shop::changes());
    assert_ne!(head, before);
    github.push(pull, &head);
    ground.workflow.payload = events::synchronize_event(github, pull, &before);
    let aftermath = looks_again(ground, "blocking");
    looks_again(aftermath.again(), "blocking");
}

/// The review of the next head did not say it again, because it was there.
#[test]
fn s10_a_finding_of_an_earlier_head_that_is_deleted_after_the_review_of_this_one_stays_open() {
    let (mut ground, root) = said(9);
    push(
        &mut ground,
        &[Change::write("src/new.ts", "export const fresh = 1;\n")],
    );
    let aftermath = looks(ground, finds(9), "blocking");
    let ground = aftermath.again();
    ground.world.github.delete_comment(root);
    looks_again(ground, "blocking");
}

#[test]
fn s3_a_score_that_is_lowered_together_with_the_manifest_stays_what_it_was() {
    let (ground, root) = said(9);
    let body = lowered(&ours(&ground.world.github)[0].1);
    ground.world.github.edit_comment(root, BOT, &body);
    without_manifests(&ground);
    looks_again(ground, "blocking");
}

fn without_manifests(ground: &Ground) {
    ground.world.github.with(|state| {
        let reviews = state.reviews.iter_mut();
        for review in reviews.filter(|review| review.user == BOT) {
            review.body = "Nothing to report.".into();
        }
    });
}

/// The author needs no rights for this: fix it, have the thread closed, and take the fix back.
#[test]
fn s10_a_fix_that_is_taken_back_closes_the_gate_again() {
    let (mut ground, root) = said(9);
    let first = ground
        .world
        .github
        .pull(ground.world.pull, |pull| pull.head.sha.clone());
    let fixed = page(&ground, "Math.floor", "Math.ceil");
    push(&mut ground, &[fixed]);
    let aftermath = ground.with_model(Script::new().threads(fixes(root)).finds_fixed(true));
    assert_eq!(
        aftermath.status(),
        (Some(0), "clean"),
        "{}",
        aftermath.ran.log
    );
    // The very commit that was reviewed first.
    let mut ground = aftermath.again();
    let (github, pull) = (&ground.world.github, ground.world.pull);
    let before = github.pull(pull, |pull| pull.head.sha.clone());
    github.push(pull, &first);
    ground.workflow.payload = events::synchronize_event(github, pull, &before);
    let aftermath = ground.with_model(finds(9));
    assert_eq!(
        aftermath.status(),
        (Some(0), "blocking"),
        "{}",
        aftermath.ran.log
    );
    looks_again(aftermath.again(), "blocking");
}

#[test]
fn s10_a_finding_that_is_deleted_with_its_manifest_stays_open() {
    let (ground, root) = said(9);
    ground.world.github.delete_comment(root);
    without_manifests(&ground);
    looks_again(ground, "blocking");
}

#[test]
fn s10_a_hidden_comment_is_a_comment() {
    let (ground, root) = said(9);
    ground.world.github.with(|state| {
        state
            .comments
            .iter_mut()
            .filter(|comment| comment.id == root)
            .for_each(|comment| comment.minimized = true);
    });
    looks_again(ground, "blocking");
}

#[test]
fn s10_a_writer_who_closes_the_conversation_decides_and_who_reopens_it_does_too() {
    let (ground, root) = said(9);
    ground.world.github.resolve_thread(root, "writer");
    let aftermath = looks_again(ground, "clean");
    let ground = aftermath.again();
    ground.world.github.unresolve_thread(root);
    looks_again(ground, "blocking");
}

#[test]
fn s10_nobody_else_closes_a_blocking_conversation() {
    let (ground, root) = said(9);
    let mut aftermath: Option<Aftermath> = None;
    let mut ground = Some(ground);
    for login in ["dev", "mallory", "dependabot[bot]", BOT] {
        let next = ground
            .take()
            .or_else(|| aftermath.take().map(Aftermath::again))
            .unwrap();
        next.world.github.resolve_thread(root, login);
        aftermath = Some(looks_again(next, "blocking"));
    }
}

#[test]
fn s12_our_thread_is_found_behind_two_hundred_others() {
    let ground = Ground::around(&[], &[]);
    let (github, pull) = (&ground.world.github, ground.world.pull);
    github.permit("writer", "write");
    for n in 0..200 {
        github.remark(
            pull,
            "octocat",
            ("src/page.ts", page_line()),
            &format!("Remark {n}."),
        );
    }
    let aftermath = ground.with_model(finds(9));
    let resolved = |write: &Write| matches!(write, Write::Resolve { .. });
    assert_eq!(
        aftermath.status(),
        (Some(0), "blocking"),
        "{}",
        aftermath.ran.log
    );
    assert!(!aftermath.writes.iter().any(resolved));
    let root = ours(&aftermath.world.github)[0].0;
    let aftermath = looks_again(aftermath.again(), "blocking");
    aftermath.world.github.resolve_thread(root, "writer");
    looks_again(aftermath.again(), "clean");
}
