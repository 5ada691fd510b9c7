//! Tests of the line that a report is, and of whom it is believed.

use super::super::issue::fixture::issue;
use super::*;
use proptest::prelude::*;
use secrecy::SecretString;

fn keys(secret: &str) -> Keys {
    Keys::derive(&[SecretString::from(secret)], None, "acme/shop")
}

fn pr(number: u64) -> PrKey {
    PrKey {
        repo: "acme/shop".parse().unwrap(),
        number,
    }
}

fn order(at: &str, comment: u64) -> Order {
    Order {
        at: at.into(),
        comment,
        by: "ann".into(),
    }
}

#[test]
fn only_our_own_report_for_this_pull_request_is_believed() {
    let mut report = full_report();
    report.branch = "a-->b".into();
    let body = format!(
        "<!-- pr-review-loop-marker -->\nWords.\n\n{}\n",
        render(&report, &pr(1), &keys("k"))
    );
    assert_eq!(read(&body, &pr(1), &keys("k")), Some(report.clone()));
    assert_eq!(
        read(&body.replace('\n', "\r\n"), &pr(1), &keys("k")),
        Some(report.clone())
    );
    assert_eq!(read(&body, &pr(2), &keys("k")), None);
    assert_eq!(read(&body, &pr(1), &keys("other")), None);
    let changed = body.replace("\"cycle\":1", "\"cycle\":9");
    assert_ne!(changed, body);
    assert_eq!(read(&changed, &pr(1), &keys("k")), None);
    let unsigned = render(&report, &pr(1), &Keys::default());
    assert_eq!(read(&unsigned, &pr(1), &Keys::default()), None);
    for odd in [
        "",
        "<!-- rmcoc:fix -->",
        "<!-- rmcoc:fix {} -->",
        "<!-- rmcoc:fix [1] -->",
    ] {
        assert_eq!(read(odd, &pr(1), &keys("k")), None);
    }
}

#[test]
fn other_signed_data_is_no_report_and_a_report_is_no_record() {
    let record = crate::state::record::Record::default();
    let record = crate::state::record::render(&record, &pr(1), &keys("k"));
    let as_report = record
        .replace("rmcoc:record", "rmcoc:fix")
        .replace("{\"record\":", "{\"fix\":");
    assert_ne!(as_report, record);
    assert_eq!(read(&as_report, &pr(1), &keys("k")), None);
    let report = render(&full_report(), &pr(1), &keys("k"));
    let as_record = report
        .replace("rmcoc:fix", "rmcoc:record")
        .replace("{\"fix\":", "{\"record\":");
    assert_eq!(
        crate::state::record::read(&as_record, &pr(1), &keys("k")),
        None
    );
}

/// A report that says everything that a report can say.
fn full_report() -> FixReport {
    FixReport {
        at: "2026-01-01T00:00:00Z".into(),
        cycle: 1,
        max: 2,
        branch: "topic".into(),
        head: "a".into(),
        commit: Some("b".into()),
        delivery: Some(Delivery::PullRequest),
        command: Some(7),
        known: vec!["x".into()],
        outcomes: vec![KeptIssue::new(
            &issue("x", "a.rs"),
            KeptOutcome::Fixed,
            Vec::new(),
        )],
        reverted_commits: vec!["c".into()],
        reverted_findings: vec!["y".into()],
        stops: vec![order("t", 1)],
        resumes: vec![order("u", 2)],
        human_review_required: true,
        escalation_reason: Some("max".into()),
        escalated_at: Some("v".into()),
        ..FixReport::default()
    }
}

#[test]
fn the_block_of_a_report_is_frozen() {
    let json = serde_json::to_string(&full_report()).unwrap();
    let expected = concat!(
        r#"{"kind":"fix","at":"2026-01-01T00:00:00Z","cycle":1,"max":2,"branch":"topic","head":"a","commit":"b","#,
        r#""delivery":"pull_request","command":7,"known":["x"],"outcomes":[{"id":"x","outcome":"fixed","file":"a.rs","#,
        r#""line":2,"finding":"The last page is lost.","assessment":"It happens on every call."}],"#,
        r#""reverted_commits":["c"],"reverted_findings":["y"],"stops":[{"at":"t","comment":1,"by":"ann"}],"#,
        r#""resumes":[{"at":"u","comment":2,"by":"ann"}],"human_review_required":true,"escalation_reason":"max","#,
        r#""escalated_at":"v"}"#,
    );
    assert_eq!(json, expected);
    assert_eq!(
        serde_json::from_str::<FixReport>(expected).unwrap(),
        full_report()
    );
    let least = serde_json::from_str::<FixReport>(r#"{"kind":"fix","at":"t"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&least).unwrap(),
        r#"{"kind":"fix","at":"t"}"#
    );
}

proptest! {
    #[test]
    fn no_text_makes_reading_fail(text in any::<String>()) {
        let _ = read(&format!("<!-- rmcoc:fix {text} -->"), &pr(1), &keys("k"));
        let _ = read(&text, &pr(1), &keys("k"));
    }
}

#[test]
fn only_a_commit_with_the_findings_of_a_report_is_its_commit() {
    let kept = |id: &str, outcome| {
        let issue = crate::fix::issue::fixture::issue(id, "src/page.ts");
        KeptIssue::new(&issue, outcome, Vec::new())
    };
    let report = FixReport {
        outcomes: vec![
            kept("a1", KeptOutcome::Fixed),
            kept("b2", KeptOutcome::Fixed),
            kept("c3", KeptOutcome::Rejected),
        ],
        ..FixReport::default()
    };
    let message = "Fix 2 review findings\n\n- x\n\nReview-Finding: a1\nReview-Finding: b2";
    assert!(report.is_of(message));
    for other in [
        "Fix it",
        "Mine\n\nReview-Finding: a1",
        "Mine\n\nReview-Finding: a1\nReview-Finding: b2\nReview-Finding: c3",
        "Mine: Review-Finding: a1 Review-Finding: b2",
    ] {
        assert!(!report.is_of(other), "{other}");
    }
    assert!(!FixReport::default().is_of("Fix it"));
}
