//! The model's text on its way to people: nothing in it does anything, cleaning twice is cleaning once, and below it
//! our block is still ours, also in the comments that are made of it.

use super::active::active;
use super::draw::Draw;
use reviewer_core::domain::{
    Anchor, Assessment, Awaiting, CommentId, Finding, PassNumber, PrKey, Score, Side, Status,
    Support, Thread, Trust,
};
use reviewer_core::publish::comment::Voice;
use reviewer_core::review::desk::{Effect, StagedReply};
use reviewer_core::review::ledger::Stage;
use reviewer_core::state::block::{self, Block, Conversation};
use reviewer_core::state::signature::Keys;
use reviewer_text::sanitize::clean;

/// What makes trouble in Markdown, and next to each other even more.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "```", "~~~", "````", "`", "``", "\n```rmcoc\n", "\n~~~suggestion\n", "\n```mermaid\n", "~~~ GeoJSON ", "&#109;ermaid", "math", "\\href", "$`",
    "rmcoc", "suggestion", "<!--", "-->", "<pre>", "</pre>",
    "<script", "<b>", "</b>", "<?", "<!X", "<![CDATA[", "<a href=\"x", "<details>", "<img src=x>", ">", "> ", "- ", "1. ", "* ",
    "# ", "\n", "\n\n", "\r", "    ", "\n    ", "\t", "\\", "**", "_", "~~", "|", "\n| --- |\n", ":---", "===\n", "---\n", "@octocat",
    "@org/team", "＠octocat", "&#64;", "&commat;", "&lt;", "&#96;", "&", ";", "#1", "GH-2", "octo/shop#3", "＃4",
    "b0d63d1e3554f51be51c63421a254d61288447e6", "octo/shop@b0d63d1", "[", "]", "(", ")", "](", "![", "![x]", "][", "]:",
    "](https://evil.example)", "](https://docs.rs/x)", "[x]: https://evil.example\n", "[x]", "[^1]", "[^1]: ", "[y]: <//evil>\n",
    "<https://evil.example>", "https://evil.example/_a_", "https://docs.rs/x", "https://docs.rs", "www.evil.example",
    "dev@evil.example", "mailto:a@b.c", "javascript:", "://", "/merge", "\n/lgtm", "bors r+", "@dependabot merge",
    "diff --git a b\n", "+", "a", "ä", "\u{200b}", "\u{202e}", "\u{2028}", "\u{7}", "\u{fe0f}", "!", "\"", "'", "<", "$", "^",
];

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let choice = draw.byte();
    let text = draw.text(PIECES);
    let cleaned = clean(&text);
    let found = active(&cleaned);
    assert!(found.is_empty(), "{found:?}: {text:?} became {cleaned:?}");
    assert_eq!(clean(&cleaned), cleaned, "{text:?}");
    assert_eq!(block::parse(&cleaned), Block::default(), "{text:?}");
    let seen = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    assert!(cleaned.chars().all(seen), "{text:?} became {cleaned:?}");
    // A reference of three letters may become an address of two hundred.
    assert!(cleaned.len() <= 100 * text.len() + 100, "{text:?}");
    said(&cleaned, &text, choice);
}

/// The comments that are made of a text: a finding and a reply.
fn said(cleaned: &str, text: &str, choice: u8) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let sha = "b0d63d1e3554f51be51c63421a254d61288447e6";
    let pr = PrKey {
        repo: "octo/shop".parse().expect("a repository"),
        number: 1,
    };
    let voice = Voice {
        rounds: false,
        pr: &pr,
        keys: &Keys::default(),
        head: &sha.parse().expect("a commit"),
        run: "1.1",
        fork: false,
        mention: "@bot",
        blocking: None,
        page: "",
    };
    let finding = Finding {
        id: "f1".parse().expect("an id"),
        file: "src/a.rs".into(),
        anchor: Anchor::Line {
            side: Side::Right,
            start: None,
            line: 8,
        },
        anchor_hash: "689c49197975c92d".into(),
        body: text.into(),
        assessment: assessment(),
        category: None,
        pass: PassNumber::FIRST,
        reviewer: "reviewer-1".into(),
        support: Support::default(),
    };
    let is_finding = choice.is_multiple_of(2);
    let comment = if is_finding {
        voice.finding(&finding)
    } else {
        let reply = StagedReply {
            thread: thread(),
            effect: effect(choice),
            body: text.into(),
            stage: Stage::TurnZero,
        };
        voice.reply(&reply, Conversation::LeftOpen)
    };
    let block = block::parse(&comment);
    let visible = block.visible.and_then(|visible| visible.assessment());
    let expected = is_finding.then(assessment);
    assert_eq!(visible, expected, "{cleaned:?} in {comment:?}");
    let hidden = block.hidden.and_then(|hidden| hidden.id);
    assert_eq!(hidden.as_deref(), Some("f1"), "{cleaned:?} in {comment:?}");
    let mut found = active(&comment);
    found.retain(|found| {
        let tag = found.strip_prefix("tag ").unwrap_or_default().trim();
        !(tag.starts_with("<!-- rmcoc:1 {") || (is_finding && FOLDS.contains(&tag)))
    });
    assert!(found.is_empty(), "{found:?} in {comment:?}");
}

/// How a finding's folded parts begin and end.
const FOLDS: [&str; 3] = [
    "<details><summary><sub>Not right? Reply here, and it is judged again. · Why 7/10</sub></summary>",
    "<details><summary><sub>Prompt for a coding agent</sub></summary>",
    "</details>",
];

fn assessment() -> Assessment {
    Assessment {
        finding: "The last page is lost.".into(),
        assessment: "Level 7.".into(),
        score: Score::new(7).expect("a score"),
    }
}

/// Every effect, but for calls of people, which are meant.
fn effect(choice: u8) -> Effect {
    match choice / 2 % 6 {
        0 => Effect::Keep,
        1 => Effect::Concede,
        2 => Effect::Fixed {
            file: "a`@octocat`\n```.rs".into(),
            commit: None,
        },
        3 => Effect::DevelopersWord,
        4 => Effect::Reopen,
        _ => Effect::Escalate { people: Vec::new() },
    }
}

fn thread() -> Thread {
    Thread {
        id: CommentId(7),
        finding_id: "f1".parse().ok(),
        file: "src/a.rs".into(),
        line: Some(8),
        original_line: Some(8),
        original_start: None,
        side: Side::Right,
        outdated: false,
        status: Status::Pending,
        awaiting: Awaiting::Us,
        assessment: assessment(),
        category: None,
        head: None,
        anchor_hash: None,
        reviewers: Vec::new(),
        trust: Trust::Signed,
        resolution: None,
        decider: None,
        because: String::new(),
        seq: 0,
        replies: Vec::new(),
        seems_fixed: None,
        answered: 0,
        node_id: None,
        viewer_can_resolve: false,
        viewer_can_unresolve: false,
        url: String::new(),
        comment: None,
    }
}
