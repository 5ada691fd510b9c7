//! The codec of blocks: whatever stands in a comment is read without a panic, what we write is read back, and what
//! only looks like a block is none.

use super::draw::Draw;
use reviewer_core::domain::{Assessment, Score};
use reviewer_core::state::block::{
    Block, Conversation, Hidden, Kind, Listed, parse, render_hidden, render_visible,
};

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "```rmcoc\n", "```", "````", "~~~", "~~~rmcoc\n", "rmcoc", "\n", "\r\n", "\r", "\n\n", "    ", "\t", "> ", "- ", "1. ",
    "<!-- rmcoc:1 ", "<!--", " -->", "-->", "<pre>", "</pre>", "<b>", "<script>", "<?", "<![CDATA[", "{", "}", "[", "]",
    "\"", "\\", ":", ",", "null", "1e999", "7.5", "\"finding\"", "\"assessment\"", "\"score\"", "\"status\"", "\"kind\"",
    "\"seq\"", "\"id\"", "\"answers\"", "\"record\"", "{\"finding\":\"f\",\"assessment\":\"a\",\"score\":5}",
    "{\"kind\":\"resolve\",\"id\":\"f1\",\"seq\":4294967295}", "{\"kind\":\"manifest\",\"findings\":[{\"id\":\"a\",\"score\":9}]}",
    "```rmcoc\n{\"finding\":\"x\",\"score\":1}\n```\n", "<!-- rmcoc:1 {\"kind\":\"keep\"} -->\n", "ä", "\u{2028}", "\u{feff}",
    "---\n", "***\n", "===\n", "[x]: y\n", "&#96;", "`", "``", "|", "| --- |\n",
];

const KINDS: [Kind; 7] = [
    Kind::Finding,
    Kind::Keep,
    Kind::Answer,
    Kind::Resolve,
    Kind::Escalate,
    Kind::Reopen,
    Kind::Manifest,
];

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let hostile = draw.text(PIECES);
    let found = parse(&hostile);
    if let Some(assessment) = found.visible.and_then(|visible| visible.assessment()) {
        reads_back(&assessment, &hidden(&mut draw));
    }
    let assessment = Assessment {
        finding: draw.text(PIECES),
        assessment: hostile.clone(),
        score: Score::new(u64::from(draw.byte() % 10) + 1).expect("1 to 10"),
    };
    let real = reads_back(&assessment, &hidden(&mut draw));
    only_the_canonical_block_counts(&real, &hostile);
}

/// What we write is what we read, also after an editor of other line ends. Returns the comment.
fn reads_back(assessment: &Assessment, hidden: &Hidden) -> String {
    let (visible, invisible) = (render_visible(assessment), render_hidden(hidden));
    assert_eq!(invisible.lines().count(), 1, "{invisible:?}");
    let comment = format!("Words.\n\n---\n\n{visible}\n{invisible}");
    for body in [comment.clone(), comment.replace('\n', "\r\n")] {
        let block = parse(&body);
        let read = block.visible.and_then(|visible| visible.assessment());
        assert_eq!(read.as_ref(), Some(assessment), "{body:?}");
        assert_eq!(block.hidden.as_ref(), Some(hidden), "{body:?}");
    }
    comment
}

/// In a quote, in a list, in a longer fence and indented, blocks are text; below them, and above, ours stays ours.
fn only_the_canonical_block_counts(real: &str, hostile: &str) {
    let lines: Vec<&str> = hostile.split(['\n', '\r']).collect();
    let each = |first: &str, next: &str| {
        let marked = lines.iter().enumerate();
        let marked = marked.map(|(n, line)| format!("{}{line}", if n == 0 { first } else { next }));
        marked.collect::<Vec<String>>().join("\n")
    };
    let longest = hostile.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let ours = parse(real);
    for decoy in [
        each("> ", "> "),
        each("- x\n  ", "  "),
        each("    ", "    "),
        format!("{fence}\n{}\n{fence}", lines.join("\n")),
    ] {
        assert_eq!(parse(&decoy), Block::default(), "{decoy:?}");
        let body = format!("{real}\n\n{decoy}\n");
        assert_eq!(parse(&body), ours, "{body:?}");
        let body = format!("{decoy}\n\n{real}");
        assert_eq!(parse(&body), ours, "{body:?}");
    }
    let other = "```rmcoc\n{\"finding\":\"other\"}\n```\n<!-- rmcoc:1 {\"kind\":\"keep\"} -->";
    assert_eq!(parse(&format!("{other}\n\n{real}")), ours);
    assert_eq!(parse(&format!("{real}\n\n{other}")), parse(other));
}

fn hidden(draw: &mut Draw<'_>) -> Hidden {
    let mut text = || (draw.flag()).then(|| draw.text(PIECES));
    let mut hidden = Hidden {
        id: text(),
        category: text(),
        head: text(),
        fixed: text(),
        ..Hidden::new(Kind::Keep)
    };
    hidden.kind = draw.pick(&KINDS);
    hidden.seq = u32::from(draw.byte()) << 24;
    hidden.answers = (draw.flag()).then_some(u64::MAX);
    hidden.pass = Some(draw.byte());
    hidden.conversation = draw.pick(&[
        None,
        Some(Conversation::Resolved),
        Some(Conversation::LeftOpen),
    ]);
    for _ in 0..draw.below(3) {
        hidden.findings.push(Listed {
            id: draw.text(PIECES),
            score: draw.byte(),
        });
    }
    hidden.record = (draw.byte() % 4 == 1).then(|| serde_json::json!([draw.text(PIECES)]));
    hidden
}
