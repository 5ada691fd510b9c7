//! The status document and explanations.

use super::fixture::*;
use super::people::cap_reached;
use crate::lifecycle::{Decision, Input, Wait, explain, status, wait};

#[test]
fn the_status_has_the_names_of_the_seed_and_says_whom_it_waits_for() {
    let mut play = Play::new(settings(vec![
        agent("quality", &["security"]),
        human("ada", &[]),
    ]));
    let dispatch = play.dispatch();
    let session = "s-1".into();
    play.give(Input::SessionStarted { dispatch, session });
    let told = serde_json::to_value(status(&play.state, &play.policy)).unwrap();
    for (name, value) in [
        ("state", "reviewing".into()),
        ("prNumber", 7.into()),
        ("repoFullName", "acme/shop".into()),
        ("currentReviewerIndex", 0.into()),
        ("currentSessionId", "s-1".into()),
        ("retryCount", 0.into()),
        ("lastError", serde_json::Value::Null),
        ("mergeType", serde_json::Value::Null),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
    assert_eq!(
        told["reviewers"][1],
        serde_json::json!({ "agent": "ada", "type": "human" })
    );
    assert_eq!(told["waitsFor"]["until"], play.now + 3_600_000);
    play.reviewed(Decision::ChangesRequested, &["security"]);
    let told = serde_json::to_value(status(&play.state, &play.policy)).unwrap();
    let outcome = serde_json::json!({
        "reviewer": "quality",
        "decision": "changes_requested",
        "comment": "words",
        "escalations": ["security"],
        "timestamp": "1970-01-01T00:16:40Z",
        "commit": sha(1).to_string(),
    });
    assert_eq!(told["reviewOutcomes"], serde_json::json!([outcome]));
    assert_eq!(told["reviewers"][2]["escalatedBy"], "quality");
}

#[test]
fn an_explanation_says_why_since_when_for_whom_and_what_would_move_it() {
    let play = cap_reached();
    let told = explain(&play.state, &play.policy);
    assert_eq!((told.state, told.since), ("needsHuman", play.state.since));
    assert_eq!(
        told.why,
        "quality still requests changes after 2 fix sessions."
    );
    let what = "a review of this head, a push, `fix resume` or the command retry";
    assert_eq!(told.waits_for.what, what);
    assert!(told.moved_by.len() > 2, "{:?}", told.moved_by);
    assert!(matches!(
        wait(&play.state, &play.policy),
        Wait::People { .. }
    ));
}
