//! The door: any event of any name, with any payload, starts a run, is skipped or is refused with a sentence; and
//! what must never start a run does not.

use super::draw::Draw;
use reviewer_core::event::{
    CommentPlace, EventKind, Trigger, TriggerRules, command, mentions, parse, webhook,
};
use reviewer_core::state::block;
use serde_json::{Value, json};
use std::sync::LazyLock;

const MENTION: &str = "@review-my-code-bot";

const NAMES: [&str; 13] = [
    "pull_request",
    "pull_request_target",
    "pull_request_review",
    "issue_comment",
    "pull_request_review_comment",
    "workflow_dispatch",
    "push",
    "merge_group",
    "check_suite",
    "status",
    "repository",
    "installation",
    "pull_request_review_thread",
];

#[rustfmt::skip]
const PIECES: &[&str] = &[
    MENTION, "@review-my-code-bot review", "@Review-My-Code-BOT", "@review\\-my\\-code\\-bot", "@", "review full", "help", "opened",
    "reopened", "synchronize", "ready_for_review", "submitted", "created", "edited", "open", "closed", "Bot", "User", "[bot]",
    "dependabot[bot]", "acme/shop", "acme", "/", "OWNER", "MEMBER", "7", "#7", "#", "0", "https://github.com/acme/shop/pull/7",
    "18446744073709551616", "`", "```\n", "~~~", "> ", "- ", "<code>", "</code>", "<!--", "-->", "<b>", "<div\n", "\n", "\r\n", "\n\n",
    "    ", "[", "](x)", "![", "**", "_", "|", "| --- |\n", "<!-- rmcoc:1 {\"kind\":\"keep\"} -->\n", "&#64;", "\\", "ä", "请", "\u{200b}",
    "\u{1b}[2J", "\u{0}", "::error::", "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "{", "}", "\"", ":", ",", "null", "\"action\":",
    "\"comment\":", "\"pull_request\":", "\"repository\":", "\"full_name\":", "\"number\":", "\"body\":", "\"user\":", "\"inputs\":",
];

/// A payload that has everything any of the events asks for.
static PAYLOAD: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "action": "created",
        "number": 7,
        "before": "ec26c3e57ca3a959ca5aad62de7213c562f8c821",
        "pull_request": {
            "number": 7, "state": "open", "draft": false, "locked": false, "merged": false, "merged_at": null,
            "user": {"login": "dev", "type": "User"},
            "head": {"repo": {"id": 1, "full_name": "acme/shop"}},
            "base": {"repo": {"id": 1, "full_name": "acme/shop"}},
        },
        "issue": {"number": 7, "state": "open", "locked": false, "pull_request": {"merged_at": null}},
        "comment": {"id": 99, "in_reply_to_id": 3, "body": MENTION, "user": {"login": "dev", "type": "User"}, "author_association": "MEMBER"},
        "review": {"user": {"login": "dev", "type": "User"}, "body": "Fine."},
        "repository": {"id": 1, "full_name": "acme/shop"},
        "sender": {"login": "dev", "type": "User"},
        "inputs": {"pull_request": "7"},
        "changes": {"base": {"ref": {"from": "main"}}},
        "ref": "refs/heads/main",
        "sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821",
        "state": "success",
        "check_suite": {"head_sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821"},
        "installation": {"id": 3},
        "merge_group": {
            "head_sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-1",
            "base_sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "base_ref": "refs/heads/main",
        },
    })
});

const ACTIONS: [&str; 13] = [
    "created",
    "opened",
    "reopened",
    "synchronize",
    "ready_for_review",
    "submitted",
    "labeled",
    "edited",
    "closed",
    "checks_requested",
    "completed",
    "renamed",
    "resolved",
];

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let any_name;
    let name = match draw.byte() {
        255 => {
            any_name = draw.text(PIECES);
            any_name.as_str()
        }
        number => NAMES[usize::from(number) % NAMES.len()],
    };
    let rules = TriggerRules {
        mention: draw.pick(&[MENTION, MENTION, "@", ""]),
        has_model_key: !draw.flag(),
    };
    let payload = match draw.byte() {
        255 => serde_json::from_slice(draw.rest()).ok(),
        254 => serde_json::from_str(&draw.text(PIECES)).ok(),
        253 => Some(draw.value(PIECES)),
        _ => {
            let mut payload = PAYLOAD.clone();
            payload["action"] = json!(draw.pick(&ACTIONS));
            payload["comment"]["body"] = json!(draw.text(PIECES));
            Some(draw.bent(payload, PIECES))
        }
    };
    let Some(payload) = payload else {
        delivered(name, draw.rest());
        return;
    };
    delivered(name, payload.to_string().as_bytes());
    match parse(name, &payload, &rules) {
        Ok(Trigger::Run(event) | Trigger::WithoutKey(event, _)) => {
            assert!(event.number > 0, "{payload}");
            assert_eq!(event.repo.to_string().split('/').count(), 2, "{payload}");
            runs(name, &payload, &rules, &event.kind);
        }
        Ok(Trigger::Closed(pr)) => assert!(pr.number > 0, "{payload}"),
        Ok(Trigger::Merge(group)) => assert_eq!(name, "merge_group", "{group:?}"),
        Ok(Trigger::Skip(reason)) => is_sentence(&reason.to_string()),
        Err(error) => is_sentence(&error.to_string()),
    }
}

/// A delivery wakes something that has a name and a number, or says in one line why it does not.
fn delivered(name: &str, body: &[u8]) {
    match webhook::read(name, body).wakes {
        webhook::Wakes::Nothing(reason) => {
            let reason = reason.to_string();
            assert!(reason.len() < 2_000, "{reason:?}");
            assert!(!reason.contains(char::is_control), "{reason:?}");
        }
        webhook::Wakes::Pull { number, .. } => assert!(number > 0),
        webhook::Wakes::Base { .. }
        | webhook::Wakes::Head { .. }
        | webhook::Wakes::Renamed { .. }
        | webhook::Wakes::Installation { .. } => {}
    }
}

/// What a person reads in the log: one line, no longer than a few, and nothing that a terminal obeys.
fn is_sentence(text: &str) {
    assert!(text.len() > 20 && text.ends_with('.'), "{text:?}");
    assert!(text.len() < 2_000, "{text:?}");
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A run was asked for by the right event, on an open pull request, and by a person.
fn runs(name: &str, payload: &Value, rules: &TriggerRules<'_>, kind: &EventKind) {
    let comment = &payload["comment"];
    let body = comment["body"].as_str().unwrap_or_default();
    let pull = &payload["pull_request"];
    let expected: &[&str] = match kind {
        EventKind::Opened | EventKind::Retargeted | EventKind::Pushed | EventKind::Ready => {
            &NAMES[..2]
        }
        EventKind::ReviewSubmitted => &NAMES[2..3],
        EventKind::Mention { .. } | EventKind::ThreadReply { .. } => &NAMES[3..5],
        EventKind::Dispatch => &NAMES[5..6],
        EventKind::Manual => &[],
    };
    assert!(expected.contains(&name), "{name}: {kind:?}");
    if name == "workflow_dispatch" {
        return;
    }
    let subject = if name == "issue_comment" {
        &payload["issue"]
    } else {
        pull
    };
    assert_ne!(subject["state"], "closed", "{payload}");
    assert_ne!(subject["locked"], true, "{payload}");
    if !kind.accepts_draft() && name != "issue_comment" {
        assert_ne!(pull["draft"], true, "{payload}");
    }
    if name.ends_with("_comment") {
        for person in [&comment["user"], &payload["sender"]] {
            assert_ne!(person["type"], "Bot", "{payload}");
            let login = person["login"].as_str().unwrap_or_default();
            assert!(!login.ends_with("[bot]"), "{payload}");
        }
        assert_eq!(block::parse(body).hidden, None, "{payload}");
    }
    if let EventKind::Mention { on, body: said, .. } = kind {
        let place = if name == "issue_comment" {
            CommentPlace::IssueComment
        } else {
            CommentPlace::ReviewComment
        };
        assert_eq!((*on, said.as_str()), (place, body));
        assert!(mentions(said, rules.mention), "{said:?}");
        // Whatever is asked for, it is read without a panic.
        let _ = command(said, rules.mention);
    }
}
