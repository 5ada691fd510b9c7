//! Ended pull requests: when they are forgotten, and what a later life knows.

use super::fixture::*;
use crate::lifecycle::{Decision, State};
use crate::lifecycle::{
    ENDS, Effect, Input, MergeType, PersonaDecision, Phase, PullState, ReviewState, may_forget,
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[test]
fn ended_pull_requests_are_forgotten_after_ninety_days_and_others_never() {
    let merge_type = MergeType::Forced;
    assert_eq!(
        ENDS,
        [Phase::Closed.name(), Phase::Merged { merge_type }.name()]
    );
    let now = 1_000 * DAY_MS;
    for phase in ENDS {
        assert!(!may_forget(phase, now - 90 * DAY_MS, now));
        assert!(may_forget(phase, now - 90 * DAY_MS - 1, now));
    }
    for phase in [
        "pending",
        "reviewing",
        "fixing",
        "approved",
        "needsHuman",
        "error",
    ] {
        assert!(!may_forget(phase, 0, now), "{phase}");
    }
}

/// The same pull request in a store that has forgotten it.
fn forgotten(play: &Play) -> Play {
    let mut facts = play.facts.clone();
    facts.state = PullState::Open;
    let mut anew = Play::with(play.policy.clone(), facts);
    anew.state = State::default();
    anew.effects.clear();
    anew.now = play.now + 100 * DAY_MS;
    anew.look();
    anew
}

fn dispatches(play: &Play) -> usize {
    let effects = play.effects.iter();
    effects
        .filter(|one| matches!(one, Effect::Dispatch { .. }))
        .count()
}

#[test]
fn a_reopened_pull_request_that_was_forgotten_repeats_nothing_that_its_reviews_show() {
    let mut play = Play::new(two());
    play.review("quality-bot", ReviewState::Approved, true);
    play.approve();
    play.facts.state = PullState::Closed;
    play.look();
    assert_eq!(play.name(), "closed");
    let anew = forgotten(&play);
    assert_eq!((anew.name(), anew.agent()), ("reviewing", "security"));
    assert_eq!(dispatches(&anew), 1);
    assert!(anew.state.born > play.state.born);
    // A life that the store still has begins anew instead: agents look again.
    play.facts.state = PullState::Open;
    play.look();
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert_eq!(play.state.born, 1_000_000);
}

#[test]
fn a_reopened_pull_request_that_was_forgotten_believes_the_signed_blocks_of_personas() {
    let mut play = Play::with(app(), facts(two()));
    for (agent, decision) in [
        ("quality", Decision::Approved),
        ("security", Decision::ChangesRequested),
    ] {
        play.review("reviewer[bot]", ReviewState::Commented, true)
            .personas = vec![PersonaDecision {
            agent: agent.into(),
            decision,
            escalations: Vec::new(),
        }];
    }
    let anew = forgotten(&play);
    assert_eq!((anew.name(), dispatches(&anew)), ("fixing", 0));
}

#[test]
fn a_comment_on_an_ended_pull_request_that_was_forgotten_ends_it_again() {
    for state in [
        PullState::Closed,
        PullState::Merged {
            by: None,
            sha: None,
        },
    ] {
        let mut facts = facts(two());
        facts.state = state;
        let mut play = Play::with(policy(), facts);
        assert!(ENDS.contains(&play.name()));
        assert_eq!(play.effects(), [Effect::Probe]);
        let cause = "a webhook".into();
        play.give(Input::Woken { cause });
    }
}
