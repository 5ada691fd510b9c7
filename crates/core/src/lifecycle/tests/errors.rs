//! The rows of the design's table of errors, one test each, named after them.

use super::fixture::*;
use crate::lifecycle::{
    Effect, Input, MergeType, Phase, Progress, PullState, ReviewState, Timer, status,
};

/// The delay of the timer that was set last.
fn delay(play: &mut Play) -> u64 {
    let effects = play.effects();
    let mut timers = effects.iter().rev().filter_map(|effect| match effect {
        Effect::Wake { after_ms, .. } => Some(*after_ms),
        _ => None,
    });
    timers.next().expect("a timer")
}

#[test]
fn sandbox_timeout_the_session_is_ended_and_repeated_after_1_2_and_4_seconds() {
    let mut play = Play::new(two());
    for (count, expected) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
        let dispatch = play.dispatch();
        play.effects();
        play.fire(Timer::Deadline { dispatch });
        let effects = play.effects.clone();
        assert!(effects.contains(&Effect::EndSession { dispatch }));
        assert_eq!(delay(&mut play), expected);
        assert_eq!(status(&play.state, &play.policy).retry_count, count);
        play.retry_now();
        assert_eq!(play.agent(), "quality");
    }
}

#[test]
fn sandbox_timeout_retry_after_takes_the_place_of_the_delay_up_to_an_hour() {
    let mut play = Play::new(two());
    play.effects();
    play.fail(Some(90_000));
    assert_eq!(delay(&mut play), 90_000);
    play.retry_now();
    play.fail(Some(u64::MAX));
    assert_eq!(delay(&mut play), 3_600_000);
}

#[test]
fn invalid_review_state_commented_never_advances() {
    let mut play = Play::new(settings(vec![human("ada", &[])]));
    play.review("ada", ReviewState::Commented, true);
    play.look();
    assert_eq!(play.name(), "reviewing");
    play.review("ada", ReviewState::Approved, true);
    play.review("ada", ReviewState::Commented, true);
    play.look();
    assert_eq!(
        play.name(),
        "approved",
        "a later comment takes nothing back"
    );
}

#[test]
fn human_pushes_during_review_the_current_reviewer_reviews_again() {
    let mut play = Play::new(two());
    play.approve();
    assert_eq!(play.agent(), "security");
    play.push(2, "ann");
    assert_eq!(
        play.agent(),
        "security",
        "whoever was interrupted looks first"
    );
    play.approve();
    assert_eq!(play.agent(), "quality");
}

#[test]
fn unknown_reviewer_submits_nothing_changes() {
    let mut play = Play::new(two());
    let before = play.dispatch();
    play.review("eve", ReviewState::Approved, true);
    play.review("mallory[bot]", ReviewState::ChangesRequested, true);
    play.look();
    assert_eq!((play.name(), play.dispatch()), ("reviewing", before));
    assert!(play.state.outcomes.is_empty());
}

#[test]
fn force_merge_is_merged_by_force_and_ends_the_session() {
    let mut play = Play::new(two());
    let dispatch = play.dispatch();
    play.facts.state = PullState::Merged {
        by: Some(login("ben")),
        sha: None,
    };
    play.effects();
    play.look();
    let merge_type = MergeType::Forced;
    assert_eq!(play.state.phase, Phase::Merged { merge_type });
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
}

#[test]
fn duplicate_webhooks_are_one_probe_and_nothing_in_a_terminal_state() {
    let mut play = Play::new(two());
    play.effects();
    for _ in 0..5 {
        let cause = "the same delivery".into();
        play.give(Input::Woken { cause });
    }
    assert_eq!(play.effects(), [Effect::Probe]);
    play.answer(|_, _| false);
    assert_eq!(
        play.effects(),
        [Effect::Probe],
        "one more for all that came meanwhile"
    );
    play.facts.state = PullState::Merged {
        by: None,
        sha: None,
    };
    play.look();
    let end = play.state.clone();
    play.look();
    play.command_retry();
    assert_eq!(play.state, end);
}

#[test]
fn max_retries_exceeded_the_state_is_error_and_people_are_told_once() {
    let mut play = Play::new(two());
    for _ in 0..3 {
        play.fail(None);
        let progress = &play.state.session.as_ref().unwrap().progress;
        assert!(matches!(progress, Progress::Backoff { .. }));
        play.retry_now();
    }
    play.effects();
    play.fail(None);
    assert_eq!((play.name(), play.reason().as_str()), ("error", "it broke"));
    let calls = |effects: Vec<Effect>| {
        let is_call = |effect: &&Effect| matches!(effect, Effect::Call { .. });
        effects.iter().filter(is_call).count()
    };
    assert_eq!(calls(play.effects()), 1);
    play.look();
    assert_eq!(calls(play.effects()), 0);
}
