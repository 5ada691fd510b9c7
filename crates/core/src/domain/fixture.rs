//! An example to take from, for unit tests.

use super::{
    Anchor, Assessment, Awaiting, CommentId, Finding, PassNumber, Score, Side, Status, Thread,
    Trust,
};

/// A finding of the reviewer that nobody has replied to yet.
pub(crate) fn thread() -> Thread {
    Thread {
        id: CommentId(55),
        finding_id: None,
        file: "src/page.ts".into(),
        line: Some(2),
        original_line: Some(2),
        original_start: None,
        side: Side::Right,
        outdated: false,
        status: Status::Pending,
        awaiting: Awaiting::Developer,
        assessment: Assessment {
            finding: "The last page is lost.".into(),
            assessment: "Level 7: it happens on every call.".into(),
            score: Score::new(7).unwrap(),
        },
        category: None,
        head: None,
        reviewers: Vec::new(),
        anchor_hash: None,
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

/// A finding about a file, before it is posted.
pub fn finding() -> Finding {
    Finding {
        id: "0123456789abcdef".parse().unwrap(),
        file: "src/page.ts".into(),
        anchor: Anchor::File,
        anchor_hash: "689c49197975c92d".into(),
        body: "The last page is lost.".into(),
        assessment: thread().assessment,
        category: None,
        pass: PassNumber::FIRST,
        reviewer: "reviewer-1".into(),
        support: super::Support::default(),
    }
}
