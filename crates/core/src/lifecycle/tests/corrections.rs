//! The corrections of the design, one test each, named after them.

use super::fixture::*;
use crate::lifecycle::{
    Decision, Effect, Input, Phase, PullState, ReviewState, SessionResult, Task, status,
};

#[test]
fn correction_1_the_last_reviewer_looks_too() {
    let mut play = Play::new(two());
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    play.approve();
    assert_eq!((play.name(), play.agent()), ("reviewing", "security"));
    assert_eq!(status(&play.state, &play.policy).current_reviewer_index, 1);
    play.approve();
    assert_eq!(play.name(), "approved");
    assert!(play.log.contains(&"checkingApproval".to_owned()));
}

#[test]
fn correction_2_approvals_are_bound_to_the_head() {
    let mut play = Play::new(two());
    play.approve();
    play.approve();
    assert_eq!(play.name(), "approved");
    play.push(2, "ann");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    play.approve();
    assert_eq!(play.agent(), "security");
}

#[test]
fn correction_2_an_approval_carries_over_only_to_an_identical_change() {
    let mut play = Play::new(two());
    play.approve();
    play.approve();
    play.facts.head = sha(2);
    play.effects();
    play.look_with(|from, to| *from == sha(1) && *to == sha(2));
    assert_eq!(play.name(), "approved");
    let effects = play.effects();
    let (from, to) = (sha(1), sha(2));
    assert!(
        effects.contains(&Effect::Compare { from, to }),
        "{effects:?}"
    );
    assert!(play.at_work().is_none());
    // The next head differs from the one that was approved.
    play.push(3, "ann");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
}

#[test]
fn correction_2_an_approval_of_an_app_carries_its_check_over_once() {
    for (policy, expected) in [(app(), 1), (policy(), 0)] {
        let mut play = Play::with(policy, facts(two()));
        play.approve();
        play.approve();
        play.effects();
        play.facts.head = sha(2);
        for _ in 0..3 {
            play.look_with(|from, to| *from == sha(1) && *to == sha(2));
        }
        assert_eq!(play.name(), "approved");
        let (from, head) = (sha(1), sha(2));
        let carried = Effect::CarryCheck { from, head };
        let effects = play.effects();
        let count = effects.iter().filter(|one| **one == carried).count();
        assert_eq!(count, expected, "{effects:?}");
    }
    // The session of a head puts its own check there.
    let mut play = Play::with(app(), facts(two()));
    play.approve();
    play.push(2, "ann");
    play.effects();
    play.approve();
    play.approve();
    assert_eq!(play.name(), "approved");
    let carries = |one: &Effect| matches!(one, Effect::CarryCheck { .. });
    assert!(!play.effects().iter().any(carries));
}

#[test]
fn correction_2_while_a_comparison_is_open_nobody_is_dispatched() {
    let mut play = Play::new(two());
    play.approve();
    play.approve();
    play.facts.head = sha(2);
    play.give(Input::Woken {
        cause: "push".into(),
    });
    let probe = play.state.probe.unwrap();
    let facts = Box::new(play.facts.clone());
    play.give(Input::Probed { probe, facts });
    assert_eq!((play.name(), play.at_work()), ("pending", None));
    let seq = play.state.compared[0].seq;
    let error = "git is gone".into();
    play.give(Input::EffectFailed { seq, error });
    assert_eq!(play.agent(), "quality", "what is unknown is not identical");
}

#[test]
fn correction_2_after_a_fix_the_reviewer_who_asked_looks_first() {
    let mut play = Play::of_agent(two());
    play.approve();
    assert_eq!(play.agent(), "security");
    play.request_changes();
    assert_eq!((play.name(), play.agent()), ("fixing", "author"));
    let session = play.state.session.clone().unwrap();
    let asked_by = "security".to_owned();
    assert_eq!(session.task, Task::Fix { asked_by });
    play.fixed(2);
    assert_eq!((play.name(), play.agent()), ("reviewing", "security"));
    play.approve();
    assert_eq!(play.agent(), "quality", "the others look at what is new");
    play.approve();
    assert_eq!(play.name(), "approved");
}

#[test]
fn correction_3_a_push_while_reviewing_ends_the_session_and_reviews_the_new_head() {
    let mut play = Play::new(two());
    let old = play.dispatch();
    play.effects();
    play.push(2, "ann");
    let effects = play.effects();
    assert!(effects.contains(&Effect::EndSession { dispatch: old }));
    assert_eq!(play.agent(), "quality");
    assert_eq!(play.state.session.as_ref().unwrap().head, sha(2));
    assert_ne!(play.dispatch(), old);
}

#[test]
fn correction_4_an_escalation_in_an_approval_counts() {
    let one = settings(vec![agent("quality", &["security"])]);
    let mut play = Play::new(one);
    play.reviewed(Decision::Approved, &["security", "author", "nobody"]);
    assert_eq!((play.name(), play.agent()), ("reviewing", "security"));
    play.approve();
    assert_eq!(play.name(), "approved", "nobody else was added");
}

#[test]
fn correction_4_an_escalation_is_added_once() {
    let one = settings(vec![agent("quality", &["security"])]);
    let mut play = Play::new(one);
    play.reviewed(Decision::ChangesRequested, &["security"]);
    play.push(2, "ann");
    play.reviewed(Decision::Approved, &["security", "security"]);
    assert_eq!(play.state.escalated.len(), 1);
    assert_eq!(play.agent(), "security");
}

#[test]
fn correction_4_the_tag_of_a_configured_person_counts_and_of_others_does_not() {
    let both = settings(vec![
        human("ada", &["security"]),
        calling("quality", &["ben"]),
    ]);
    let mut play = Play::new(both);
    assert_eq!((play.name(), play.at_work()), ("reviewing", None));
    let tag = || vec!["security".to_owned()];
    play.review("eve", ReviewState::Approved, true).escalations = tag();
    play.look();
    assert!(play.state.escalated.is_empty());
    play.review("ada", ReviewState::Approved, false).escalations = tag();
    play.look();
    assert_eq!(play.agent(), "quality");
    play.approve();
    assert_eq!(play.agent(), "security");
}

#[test]
fn correction_5_retries_count_for_each_session_and_fix_cycles_are_bounded() {
    let mut play = Play::of_agent(two());
    for _ in 0..2 {
        for _ in 0..3 {
            play.fail(None);
            play.retry_now();
        }
        assert_eq!(
            play.name(),
            "reviewing",
            "the reviewers do not share retries"
        );
        play.approve();
    }
    assert_eq!(play.name(), "approved");

    let mut play = Play::of_agent(two());
    for head in 2..4 {
        play.request_changes();
        assert_eq!((play.name(), play.agent()), ("fixing", "author"));
        play.fixed(head);
    }
    play.request_changes();
    assert_eq!((play.name(), play.at_work()), ("needsHuman", None));
    let reason = "quality still requests changes after 2 fix sessions.";
    assert_eq!(play.reason(), reason);
}

#[test]
fn correction_6_reopening_begins_a_new_life() {
    let mut play = Play::new(two());
    play.approve();
    let old = play.dispatch();
    play.facts.state = PullState::Closed;
    play.effects();
    play.look();
    assert_eq!((play.name(), play.at_work()), ("closed", None));
    assert!(
        play.effects()
            .contains(&Effect::EndSession { dispatch: old })
    );
    play.look();
    assert_eq!((play.name(), play.state.generation), ("closed", 1));
    play.facts.state = PullState::Open;
    play.look();
    assert_eq!((play.agent(), play.state.generation), ("quality", 2));
    // A late answer of the former life changes nothing.
    play.give(Input::SessionFailed {
        dispatch: old,
        error: "late".into(),
        retry_after_ms: None,
    });
    assert_eq!(play.state.session.as_ref().unwrap().failures, 0);
}

#[test]
fn correction_6_error_is_left_by_a_new_head_or_by_retry() {
    let broken = || {
        let mut play = Play::new(two());
        for _ in 0..3 {
            play.fail(None);
            play.retry_now();
        }
        play.fail(None);
        assert_eq!(play.name(), "error");
        play.look();
        assert_eq!(play.name(), "error", "a webhook alone does not end it");
        play
    };
    let mut play = broken();
    play.push(2, "ann");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    let mut play = broken();
    play.command_retry();
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert_eq!(play.state.session.as_ref().unwrap().failures, 0);
}

#[test]
fn correction_7_an_event_decides_nothing_and_the_state_names_agents_only() {
    let mut play = Play::new(two());
    let before = play.state.clone();
    play.effects();
    let cause = "REVIEW_COMPLETE of quality: approved".into();
    play.give(Input::Woken { cause });
    assert_eq!(play.effects(), [Effect::Probe]);
    assert_eq!(play.state.phase, before.phase);
    play.answer(|_, _| false);
    assert_eq!(play.agent(), "quality", "the facts do not show an approval");

    let stored = serde_json::to_string(&play.state).unwrap();
    for word in ["token", "pat\"", "secret", "key"] {
        assert!(!stored.contains(word), "{word} in {stored}");
    }
    let read: crate::lifecycle::State = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, play.state, "the store gives back what it took");
}

#[test]
fn correction_8_a_fix_is_followed_by_a_review_and_stale_answers_are_ignored() {
    let mut play = Play::of_agent(two());
    let first = play.dispatch();
    play.request_changes();
    let fix = play.dispatch();
    play.fixed(2);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    let now = play.dispatch();
    for old in [first, fix] {
        play.give(Input::SessionFailed {
            dispatch: old,
            error: "late".into(),
            retry_after_ms: None,
        });
        let result = SessionResult::Reviewed {
            decision: Decision::Approved,
            comment: "of the old head".into(),
            escalations: Vec::new(),
        };
        play.give(Input::SessionEnded {
            dispatch: old,
            result,
        });
    }
    assert_eq!(play.dispatch(), now);
    assert_eq!(play.state.session.as_ref().unwrap().failures, 0);
    assert_eq!(play.state.outcomes.len(), 1);
    // A review of the old head on GitHub does not approve the new one.
    let review = play.review("quality-bot", ReviewState::Approved, true);
    review.commit = Some(sha(1));
    play.look();
    assert_eq!(
        play.state.phase,
        Phase::Reviewing {
            reviewer: "quality".into()
        }
    );
}

#[test]
fn correction_8_a_retry_dispatches_the_session_again() {
    let mut play = Play::new(two());
    let first = play.dispatch();
    play.fail(None);
    play.retry_now();
    assert_eq!(play.agent(), "quality");
    assert_ne!(play.dispatch(), first);
}

#[test]
fn correction_2_a_late_review_of_an_older_head_takes_no_carried_approval_back() {
    let mut play = Play::new(two());
    play.push(2, "ann");
    play.approve();
    play.facts.head = sha(3);
    play.look_with(|from, to| *from == sha(2) && *to == sha(3));
    let security = play.dispatch();
    assert_eq!(play.agent(), "security");
    // The session of the first head had posted its review before it was ended.
    let late = play.review("quality-bot", ReviewState::Approved, true);
    late.commit = Some(sha(1));
    play.look();
    assert_eq!(play.dispatch(), security);
    play.approve();
    assert_eq!(play.name(), "approved");
}
