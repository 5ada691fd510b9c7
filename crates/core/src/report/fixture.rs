//! A report and its findings, for the tests of everything that shows a report.

use super::document::{
    LedgerReport, LeftOutReport, PassReport, Report, RunReport, SuspicionReport,
};
use super::findings::{FindingReport, ThreadReport};
use crate::domain::Score;

pub(crate) fn finding(score: u8, fate: &'static str, reason: Option<&str>) -> FindingReport {
    FindingReport {
        id: format!("f{score}"),
        file: "src/page.ts".into(),
        line: Some(8),
        place: "src/page.ts:8".into(),
        score,
        category: None,
        pass: 1,
        finding: format!("Finding of {score}."),
        assessment: String::new(),
        body: String::new(),
        fate,
        reason: reason.map(str::to_owned),
        url: (fate == "published").then(|| format!("https://example.test/{score}")),
        raised_by: Vec::new(),
        verified_by: Vec::new(),
        contested: false,
        arguments: Vec::new(),
        also_at: Vec::new(),
        found_by: Vec::new(),
    }
}

/// A report with something of everything.
#[expect(clippy::too_many_lines, reason = "one value")]
pub(crate) fn sample() -> Report {
    let pass = |number, finished| PassReport {
        reviewer: None,
        section: None,
        number,
        title: "Atomic diff review".into(),
        finished,
        summary: "Two findings.".into(),
        tool_calls: 3,
        tokens: 18_070,
        cost_usd: 0.0312,
        seconds: 125,
    };
    Report {
        events: Vec::new(),
        static_analysis: None,
        version: 1,
        pull_request: Some("octo/shop#1".into()),
        pull_request_url: Some("https://example.test/octo/shop/pull/1".into()),
        head: "b0d63d1e3554f51be51c63421a254d61288447e6".into(),
        merge_base: String::new(),
        verdict: "blocking".into(),
        reasons: vec!["Pass 2 of 4 was never submitted by the model.".into()],
        open_issues: 3,
        blocking_issues: 1,
        sandbox: None,
        model: "anthropic/claude".into(),
        fallbacks: Vec::new(),
        tokens: 36_140,
        tokens_estimated: false,
        cost_usd: 0.0624,
        ledger: LedgerReport {
            runs: vec![
                RunReport {
                    day: "2026-11-15".into(),
                    tokens: 52_000,
                    cost_usd: 0.11,
                },
                RunReport {
                    day: "2026-11-16".into(),
                    tokens: 36_140,
                    cost_usd: 0.0624,
                },
            ],
            tokens: 141_000,
            cost_usd: 0.3124,
        },
        sensitivity: "high".into(),
        sensitivity_evidence: vec!["\"payments\" in README.md".into()],
        passes: vec![pass(1, true), pass(2, false)],
        sections: vec![],
        findings: vec![
            finding(7, "published", None),
            finding(9, "published", None),
            finding(6, "unpublished", None),
            finding(2, "suppressed", Some("score 2 is below the threshold of 5")),
            finding(8, "withdrawn", Some("A guard handles it.")),
        ],
        threads: vec![ThreadReport {
            id: "55".into(),
            file: "src/a|b.ts".into(),
            line: None,
            status: "DISPUTED".into(),
            score: 6,
            finding: "An older one.".into(),
            url: "https://example.test/55".into(),
            finding_id: Some("f55".into()),
            assessment: "Level 6.".into(),
            category: Some("logic".into()),
            since: Some("a1b2c3d".into()),
        }],
        reviewed_since: None,
        excused: vec![],
        left_out: vec![],
        left_out_unchanged: vec![
            LeftOutReport {
                reason: "too large".into(),
                count: 1_200,
                first: (0..20).map(|n| format!("data/{n}.bin")).collect(),
            },
            LeftOutReport {
                reason: "may hold secrets".into(),
                count: 1,
                first: vec!["a`b\n/.env".into()],
            },
        ],
        masked: vec![".env".into()],
        suspicions: vec![SuspicionReport {
            kind: "html_comments",
            count: 2,
            places: vec!["description".into()],
            words: "HTML comments: 2 (description, <b>.md)".into(),
        }],
        warnings: vec!["Comments are not signed.".into()],
        notes: vec![],
        review_url: None,
        decision: None,
        comment: None,
        escalations: Vec::new(),
        memory: None,
        consensus: None,
        reviewers: Vec::new(),
        green: Some("fix the 🔴 finding and push.".into()),
        blocking_from: Score::new(9),
        files: 3,
        cost_known: true,
    }
}
