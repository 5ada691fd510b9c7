//! The tools: whatever the model sends as arguments, it gets an answer or a refusal in words, a refusal changes
//! nothing, and what is recorded can be published.

use super::draw::Draw;
use reviewer_agent::tools::{Answer, REVIEW_TOOLS};
use reviewer_core::domain::{
    Anchor, Assessment, Awaiting, CommentId, CommitSha, FileDiff, Login, PassNumber, Reply,
    Resolution, Score, Side, Standing, Status, Thread, Trust,
};
use reviewer_core::review::desk::{Desk, Effect, SharedDesk, Subject};
use reviewer_core::review::policy::Weights;
use reviewer_core::state::rebuild::Remark;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "src/a.rs", "./src/a.rs", "/snapshot/src/a.rs", "AGENTS.md.pr-data", "logo.png", "src/zzz.rs", "/", "..", "new-1", "new-2", "new-",
    "41", "42", "43", "44", "45", "18446744073709551616", "-1", "let b = 2;", "let c = 3;", "let old = 2;", "+", "-", " 11 + ", "(11)- ",
    "\n", "\r\n", "\n\n", "```\n", "```suggestion\n", "security", "logic", "style", "Because.", "The page counter overflows on the last page.",
    "The page counter", " overflows", " on the last page", "Name is too generic here.", "The cache is never cleared.", " twice", "\t",
    "\u{0}", "\u{202e}", "ä", "字", "😀", "body", "file", "line", "assessment", "score", "finding", "reason", "thread_id", "abcdef1", "7", "10", "0",
];

/// The arguments that each tool asks for, by its name.
static ARGUMENTS: LazyLock<HashMap<&str, Value>> = LazyLock::new(|| {
    HashMap::from([
        ("get_run_state", json!({})),
        (
            "post_review_comment",
            json!({
                "file": "src/a.rs", "line": 11, "body": "It overflows.", "category": "logic", "quote": "let b = 2;",
                "assessment": {"finding": "The page counter overflows.", "assessment": "Level 7.", "score": 7},
                "distinct_from": {"thread_id": 41, "reason": "Another one."}, "combines": ["new-1", 2],
            }),
        ),
        (
            "reply_to_thread",
            json!({"thread_id": "41", "body": "It holds.", "is_concession": false, "is_answer": true}),
        ),
        (
            "resolve_thread",
            json!({"thread_id": 42, "reason": "Fixed.", "fixed_by": {"file": "src/a.rs", "commit": "abcdef1", "quote": "let b = 2;"}}),
        ),
        (
            "fix_check",
            json!({"thread_id": "42", "is_fixed": true, "reason": "It is capped."}),
        ),
        (
            "conversation",
            json!({
                "conversation_id": 45, "priority": "P2", "title": "Cap the counter.", "description": "It overflows.",
                "suggestion": "Cap it.",
            }),
        ),
        (
            "pass_results",
            json!({
                "pass_number": 1, "summary": "Nothing to report.", "has_blocking_issues": false,
                "texts": [{"thread_id": "new-1", "body": "It overflows. Cap it."}],
            }),
        ),
    ])
});

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let shared = SharedDesk::default();
    let desk = desk(&mut draw);
    let mut before = recorded(&desk);
    shared.open(desk);
    for _ in 0..=draw.below(8) {
        shared.with(|desk| stage(&mut draw, desk));
        let tool = &REVIEW_TOOLS[draw.below(REVIEW_TOOLS.len())];
        let template = ARGUMENTS[tool.name].clone();
        let Value::Object(given) = varied(&mut draw, template) else {
            continue;
        };
        let shown = Value::Object(given.clone()).to_string();
        let answer = now((tool.call)(shared.clone(), given));
        let after = shared.with(|desk| recorded(desk)).expect("a desk");
        let text = answer.as_deref().unwrap_or_else(String::as_str);
        assert!(!text.trim().is_empty(), "{} {shown}", tool.name);
        assert!(
            text.len() <= 20_000 + 8 * shown.len(),
            "{} {shown}",
            tool.name
        );
        if answer.is_err() || tool.name == "get_run_state" {
            assert_eq!(after, before, "{} {shown}", tool.name);
        }
        before = after;
        if tool.name == "get_run_state" && answer.is_ok() {
            let state: Value = serde_json::from_str(text).expect("JSON");
            assert!(state["threads"].is_array(), "{state}");
        }
        shared.with(|desk| publishable(desk));
    }
}

/// What a future that is ready holds: these tools wait for nothing.
fn now(mut answer: impl Future<Output = Answer> + Unpin) -> Answer {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(&mut answer).poll(&mut context) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a tool of the desk waits"),
    }
}

/// Valid arguments, then a few of them changed.
fn varied(draw: &mut Draw<'_>, mut template: Value) -> Value {
    for field in ["body", "quote", "reason", "summary"] {
        if template.get(field).is_some() && draw.flag() {
            template[field] = json!(draw.text(PIECES));
        }
    }
    if template.get("texts").is_some() {
        template["pass_number"] = json!(draw.byte() % 4 + 1);
        if draw.flag() {
            template["texts"] = json!([{ "thread_id": "new-1", "body": draw.text(PIECES) }]);
        }
    }
    if template.get("thread_id").is_some() {
        template["thread_id"] = json!(draw.pick(&["41", "42", "43", "44", "new-1", "new-2"]));
    }
    if template.get("assessment").is_some() {
        template["assessment"]["score"] = json!(draw.byte() % 10 + 1);
        if draw.flag() {
            template["assessment"]["finding"] = json!(draw.text(PIECES));
        }
        for field in ["quote", "distinct_from", "combines"] {
            if draw.flag() {
                template[field] = Value::Null;
            }
        }
    }
    draw.bent(template, PIECES)
}

fn stage(draw: &mut Draw<'_>, desk: &mut Desk) {
    match draw.byte() % 16 {
        0 => desk.ledger.begin_turn_zero(),
        1 => desk.ledger.finish_turn_zero(),
        2 => desk.ledger.close(),
        number @ 3..=6 => {
            let pass = PassNumber::new(u64::from(number) - 2);
            desk.ledger.begin(pass.expect("1 to 4"));
        }
        7 => drop(desk.begin_fix_check()),
        8 => desk.begin_conversations([CommentId(45)]),
        _ => {}
    }
}

/// All that a refusal must leave alone.
fn recorded(desk: &Desk) -> String {
    let (entries, replies) = (desk.entries(), desk.replies());
    let (finished, weighed) = (desk.ledger.finished(), desk.weighed());
    format!("{entries:?} {replies:?} {finished:?} {weighed:?}")
}

/// Every finding hangs in the diff and has words; nothing is said twice in a thread, and nothing in one that is closed. A
/// finding that blocks is closed by a fix alone.
fn publishable(desk: &Desk) {
    for entry in desk.entries() {
        let finding = &entry.finding;
        assert!(!finding.body.trim().is_empty(), "{finding:?}");
        let diffs = &desk.subject().diffs;
        let diff = diffs.iter().find(|diff| diff.path == finding.file);
        let diff = diff.expect("a changed file");
        if let Anchor::Line { side, start, line } = finding.anchor {
            assert!(diff.is_commentable(side, line), "{finding:?}");
            assert!(start.is_none_or(|start| diff.is_commentable(side, start)));
        }
    }
    let threads: HashSet<CommentId> = desk.replies().iter().map(|reply| reply.thread.id).collect();
    assert_eq!(threads.len(), desk.replies().len());
    for reply in desk.replies() {
        let closed = reply.thread.status == Status::Resolved;
        assert_eq!(closed, reply.effect == Effect::Reopen, "{reply:?}");
        assert!(!reply.body.trim().is_empty(), "{reply:?}");
        if desk.weights().blocks(reply.thread.assessment.score) && reply.effect.closes() {
            assert!(matches!(reply.effect, Effect::Fixed { .. }), "{reply:?}");
        }
    }
    let (findings, replies) = desk.publishable();
    for entry in findings {
        assert!(desk.ledger.is_finished(entry.finding.pass));
    }
    assert!(replies.iter().all(|reply| desk.ledger.is_over(reply.stage)));
    for weighed in desk.weighed() {
        assert_eq!(
            weighed.root,
            CommentId(45),
            "a conversation that was asked about"
        );
        assert!(!weighed.title.is_empty(), "{weighed:?}");
    }
}

fn score(number: u64) -> Score {
    Score::new(number).expect("1 to 10")
}

fn sha(digit: &str) -> CommitSha {
    digit.repeat(40).parse().expect("a commit")
}

/// Head lines 10 to 13 are in the diff; base line 11 was removed.
fn diff(name: &str, patch: &str) -> FileDiff {
    FileDiff {
        path: name.into(),
        binary: patch.is_empty(),
        hunks: FileDiff::parse_hunks(patch).expect("a patch"),
        ..FileDiff::default()
    }
}

fn thread(id: u64, status: Status, finding: &str) -> Thread {
    let answered = matches!(status, Status::Pending | Status::Disputed);
    let reply = Reply {
        id: CommentId(900),
        author: Some(Login::new("dev")),
        standing: Standing::Author,
        body: "It cannot overflow.".into(),
        created_at: String::new(),
    };
    Thread {
        id: CommentId(id),
        finding_id: None,
        file: "src/a.rs".into(),
        line: Some(11),
        original_line: Some(11),
        original_start: None,
        side: Side::Right,
        outdated: false,
        status,
        awaiting: if answered {
            Awaiting::Us
        } else {
            Awaiting::Developer
        },
        assessment: Assessment {
            finding: finding.into(),
            assessment: "Level 7.".into(),
            score: score(if id == 42 { 9 } else { 7 }),
        },
        category: None,
        head: Some(sha("a")),
        anchor_hash: None,
        reviewers: Vec::new(),
        trust: Trust::Signed,
        resolution: (status == Status::Resolved).then_some(Resolution::Fixed),
        decider: None,
        because: String::new(),
        seq: 0,
        replies: if answered { vec![reply] } else { vec![] },
        seems_fixed: None,
        answered: 0,
        node_id: None,
        viewer_can_resolve: false,
        viewer_can_unresolve: false,
        url: String::new(),
        comment: None,
    }
}

fn desk(draw: &mut Draw<'_>) -> Desk {
    let hunk = "@@ -10,3 +10,4 @@ fn page()\n let a = 1;\n-let old = 2;\n+let b = 2;\n+let c = 3;\n let d = 4;\n";
    let options = draw.byte();
    let flag = |bit: u8| options & (1 << bit) != 0;
    let remark = Remark {
        author: Login::new("dev"),
        file: "src/a.rs".into(),
        line: Some(12),
        body: "The cache is never cleared.".into(),
        own: None,
    };
    let subject = Subject {
        head: sha("b"),
        base: sha("c"),
        diffs: vec![
            diff("src/a.rs", hunk),
            diff("AGENTS.md", hunk),
            diff("logo.png", ""),
        ],
        threads: vec![
            thread(
                41,
                Status::Pending,
                "The page counter overflows on the last page.",
            ),
            thread(42, Status::Disputed, "Name is too generic here."),
            thread(43, Status::Resolved, "The loop never ends for empty input."),
            thread(44, Status::Escalated, "The token is written to the log."),
        ],
        root: "/snapshot".into(),
        shown_paths: HashMap::from([("AGENTS.md.pr-data".into(), "AGENTS.md".into())]),
        changed_since: if flag(0) {
            HashMap::from([(sha("a"), vec![diff("src/a.rs", hunk)])])
        } else {
            HashMap::new()
        },
        removed_lines: HashMap::new(),
        decided: Vec::new(),
        human_reviewers: if flag(1) {
            vec!["maintainer".into()]
        } else {
            vec![]
        },
        others: vec![remark],
    };
    let weights = Weights {
        threshold: score(5),
        elevation: 2,
        blocking: flag(2).then(|| score(9)),
        sensitive: flag(3).then(|| "the README speaks of payments".into()),
    };
    let mut desk = Desk::new(subject, weights, "reviewer-1", "run".into());
    desk.ledger.begin(PassNumber::FIRST);
    desk
}
