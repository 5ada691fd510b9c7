//! The comment that the documents show. Separate, because the code makes it: what people read there is what is posted.

use super::statuses::{keys, posted, pr};
use reviewer_core::domain::{
    Anchor, Assessment, Category, Finding, PassNumber, Score, Side, Support,
};
use reviewer_core::state::block;
use reviewer_core::state::signature::{self, Signed};

/// The comment of a finding in `src/page.ts`.
pub(super) fn shown() -> String {
    let score = Score::new(7).expect("a score");
    posted(&Finding {
        id: "83187e5a8178f320".parse().expect("an id"),
        file: "src/page.ts".into(),
        anchor: Anchor::Line {
            side: Side::Right,
            start: None,
            line: 8,
        },
        anchor_hash: "689c49197975c92d".into(),
        body: "`pages` now rounds down: with 11 items in pages of 5 it answers 2, and item 11 is on no page. \
               Round up, as before: `Math.ceil(count / size)`."
            .into(),
        assessment: Assessment {
            finding: "pages() rounds down and drops the last, incomplete page.".into(),
            assessment: "Level 7, logic risk: every list that does not fill its last page is cut, silently.".into(),
            score,
        },
        category: Some(Category::Logic),
        pass: PassNumber::FIRST,
        reviewer: "reviewer-1".into(),
        support: Support::default(),
    })
}

#[test]
fn the_comment_that_the_protocol_shows_is_read_back_with_its_signature() {
    let comment = shown();
    let parsed = block::parse(&comment);
    let (visible, hidden) = (
        parsed.visible.expect("a block"),
        parsed.hidden.expect("a record"),
    );
    assert_eq!(visible.assessment().expect("an assessment").score.get(), 7);
    let content = Signed {
        pr: &pr(),
        root: None,
        visible: &serde_json::to_value(&visible).expect("JSON"),
        hidden: &serde_json::to_value(&hidden).expect("JSON"),
    };
    let verdict = keys().verify(&content, hidden.kid.as_deref(), hidden.sig.as_deref());
    assert_eq!(verdict, signature::SignatureCheck::Ours);
}
