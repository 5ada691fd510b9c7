//! Merging: what holds an approved head, what GitHub answers, what is taken back.

use super::fixture::*;
use crate::lifecycle::{
    Effect, Input, MergeAnswer, MergeState, MergeType, Mergeable, Merging, Phase, PullState,
    ReviewState, Settings,
};

fn merging() -> Settings {
    Settings {
        auto_merge: true,
        ..settings(vec![agent("quality", &[])])
    }
}

/// Approved, with the number of the merge that was asked for.
fn approved() -> (Play, u64) {
    let mut play = Play::new(merging());
    play.approve();
    let (attempt, head) = play.merge().expect("a merge");
    assert_eq!((play.name(), head), ("approved", sha(1)));
    (play, attempt)
}

#[test]
fn a_merge_by_the_service_is_auto() {
    let (mut play, attempt) = approved();
    play.merge_answer(attempt, MergeAnswer::Merged);
    let merge_type = MergeType::Auto;
    assert_eq!(play.state.phase, Phase::Merged { merge_type });
}

#[test]
fn a_merge_by_a_person_is_approved_after_all_approvals() {
    let mut play = Play::new(settings(vec![agent("quality", &[])]));
    play.approve();
    assert_eq!(play.merge(), None, "auto_merge is off");
    let by = Some(login("ben"));
    play.facts.state = PullState::Merged { by, sha: None };
    play.look();
    let merge_type = MergeType::Approved;
    assert_eq!(play.state.phase, Phase::Merged { merge_type });
}

#[test]
fn a_merge_that_github_did_for_the_armed_service_is_auto() {
    let (mut play, attempt) = approved();
    play.merge_answer(attempt, MergeAnswer::Armed);
    play.facts.auto_merge_armed = true;
    play.look();
    assert_eq!(play.name(), "approved");
    let by = Some(login("quality-bot"));
    play.facts.state = PullState::Merged { by, sha: None };
    play.look();
    let merge_type = MergeType::Auto;
    assert_eq!(play.state.phase, Phase::Merged { merge_type });
}

#[test]
fn unknown_mergeability_is_asked_again_three_times_after_three_seconds() {
    let mut play = Play::new(merging());
    play.facts.mergeable = Mergeable::Unknown;
    play.approve();
    for _ in 0..3 {
        let timer = play.state.ask_timer.expect("a timer");
        assert_eq!(timer.at - play.now, 3_000);
        assert!(matches!(play.state.merging, Merging::Unsettled { .. }));
        play.ask_again();
    }
    assert!(matches!(play.state.merging, Merging::Refused { .. }));
    assert_eq!(play.merge(), None, "nothing is merged blindly");
    play.facts.mergeable = Mergeable::Mergeable;
    play.ask_again();
    assert!(play.merge().is_some());
}

#[test]
fn a_refused_merge_is_tried_again_later_or_when_githubs_state_changes() {
    let (mut play, attempt) = approved();
    play.facts.merge_state = MergeState::Blocked;
    play.look();
    let why = "checks are missing".to_owned();
    play.merge_answer(attempt, MergeAnswer::Refused { why });
    play.look();
    assert_eq!(play.merge(), None, "a webhook alone is no reason");
    play.ask_again();
    let (again, _) = play.merge().expect("a merge");
    let why = "checks are missing".to_owned();
    play.merge_answer(again, MergeAnswer::Refused { why });
    play.facts.merge_state = MergeState::Clean;
    play.look();
    assert!(play.merge().is_some(), "the checks are there");
}

#[test]
fn a_merge_that_is_refused_too_often_needs_a_human_and_retry_tries_again() {
    let (mut play, mut attempt) = approved();
    play.policy.merge_refusals = 2;
    let refusal = || MergeAnswer::Refused { why: "no".into() };
    play.merge_answer(attempt, refusal());
    play.ask_again();
    attempt = play.merge().expect("a merge").0;
    play.merge_answer(attempt, refusal());
    assert_eq!(play.name(), "needsHuman");
    assert_eq!(play.reason(), "The merge does not succeed: no");
    play.look();
    assert_eq!(play.merge(), None);
    play.command_retry();
    assert_eq!(play.name(), "approved");
    assert!(play.merge().is_some());
}

#[test]
fn an_armed_merge_is_taken_back_by_a_push_and_by_a_draft() {
    for draft in [false, true] {
        let (mut play, attempt) = approved();
        play.merge_answer(attempt, MergeAnswer::Armed);
        play.facts.auto_merge_armed = true;
        if draft {
            play.facts.draft = true;
        } else {
            play.facts.head = sha(2);
        }
        play.look();
        let effects = play.effects();
        let disarm = effects.iter().find_map(|effect| match effect {
            Effect::Disarm { attempt } => Some(*attempt),
            _ => None,
        });
        assert!(disarm.is_some(), "{effects:?}");
        assert_ne!(play.name(), "approved");
        play.merge_answer(disarm.unwrap(), MergeAnswer::Disarmed);
        assert_eq!(play.state.merging, Merging::Idle);
    }
}

#[test]
fn a_merge_that_is_armed_after_a_push_is_taken_back() {
    let (mut play, attempt) = approved();
    play.push(2, "ann");
    play.effects();
    play.merge_answer(attempt, MergeAnswer::Armed);
    let is_disarm = |effect: &Effect| matches!(effect, Effect::Disarm { .. });
    assert!(play.effects().iter().any(is_disarm));
}

#[test]
fn a_disarming_that_fails_is_repeated_while_github_shows_an_armed_merge() {
    let (mut play, attempt) = approved();
    play.merge_answer(attempt, MergeAnswer::Armed);
    play.facts.auto_merge_armed = true;
    play.push(2, "ann");
    let Merging::Disarming { attempt, .. } = play.state.merging else {
        panic!("{:?}", play.state.merging);
    };
    let error = "502".to_owned();
    play.give(Input::EffectFailed {
        seq: attempt,
        error,
    });
    play.ask_again();
    let Merging::Disarming {
        attempt: again,
        failed: false,
    } = play.state.merging
    else {
        panic!("{:?}", play.state.merging);
    };
    assert_ne!(again, attempt);
}

#[test]
fn an_armed_merge_that_somebody_took_back_is_not_armed_again() {
    let (mut play, attempt) = approved();
    play.merge_answer(attempt, MergeAnswer::Armed);
    play.look();
    assert_eq!(play.name(), "needsHuman");
    assert!(play.merge().is_none());
}

#[test]
fn a_head_that_moved_is_read_again_and_not_merged() {
    let (mut play, attempt) = approved();
    play.facts.head = sha(2);
    play.merge_answer(attempt, MergeAnswer::Moved);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert!(play.merge().is_none());
}

#[test]
fn conflicts_wait_for_the_author_and_an_objection_for_whoever_objects() {
    let mut play = Play::new(merging());
    play.facts.mergeable = Mergeable::Conflicting;
    play.approve();
    assert_eq!(play.merge(), None);
    let told = crate::lifecycle::status(&play.state, &play.policy).waits_for;
    assert_eq!(told.people, ["ann"]);

    play.facts.mergeable = Mergeable::Mergeable;
    play.review("ben", ReviewState::ChangesRequested, true);
    play.look();
    assert_eq!((play.name(), play.merge()), ("approved", None));
    let told = crate::lifecycle::status(&play.state, &play.policy).waits_for;
    assert_eq!(told.people, ["ben"]);
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert!(play.merge().is_some());
}

#[test]
fn require_human_approval_waits_for_a_persons_approval_of_this_head() {
    let asked = Settings {
        require_human_approval: true,
        ..merging()
    };
    let mut play = Play::new(asked);
    play.review("ben", ReviewState::Approved, true).commit = Some(sha(9));
    play.review("security-bot", ReviewState::Approved, true);
    play.review("eve", ReviewState::Approved, false);
    play.review("ann", ReviewState::Approved, true);
    play.approve();
    assert_eq!((play.name(), play.merge()), ("approved", None));
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert!(play.merge().is_some());
}

#[test]
fn a_merge_by_githubs_queue_is_the_services_where_it_queued_it() {
    for (queued, merge_type) in [(true, MergeType::Auto), (false, MergeType::Approved)] {
        let mut reviewers = settings(vec![agent("quality", &[])]);
        reviewers.auto_merge = queued;
        let mut play = Play::new(reviewers);
        play.approve();
        if let Some((attempt, _)) = play.merge() {
            play.facts.in_merge_queue = true;
            play.merge_answer(attempt, MergeAnswer::Queued);
        }
        play.facts.state = PullState::Merged {
            by: Some(login("github-merge-queue[bot]")),
            sha: None,
        };
        play.look();
        assert_eq!(play.state.phase, Phase::Merged { merge_type });
    }
}
