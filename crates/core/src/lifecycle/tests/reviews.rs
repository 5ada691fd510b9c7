//! Reviews on GitHub as decisions: personas, lost callbacks, rebuilt lives, dismissals; and probes that fail.

use super::fixture::*;
use crate::lifecycle::{Decision, Effect, Input, PersonaDecision, Phase, ReviewState};

#[test]
fn personas_of_an_app_review_its_own_pull_requests_by_their_signed_blocks() {
    let mut facts = facts(two());
    facts.author = Some(login("reviewer[bot]"));
    let mut play = Play::with(app(), facts);
    assert_eq!(play.agent(), "quality");
    // The callback is lost; the block in the review tells.
    for _ in 0..3 {
        play.fail(None);
        play.retry_now();
    }
    let persona = |agent: &str, decision| PersonaDecision {
        agent: agent.into(),
        decision,
        escalations: Vec::new(),
    };
    let review = play.review("reviewer[bot]", ReviewState::Commented, true);
    review.personas = vec![persona("quality", Decision::Approved)];
    review.author_is_bot = true;
    play.fail(None);
    play.command_retry();
    assert_eq!(play.agent(), "security");
    play.reviewed(Decision::ChangesRequested, &[]);
    assert_eq!(
        (play.name(), play.agent()),
        ("fixing", "quality"),
        "the App's fixer"
    );
    // The same block from another account is no decision.
    let review = play.review("mallory[bot]", ReviewState::Commented, true);
    review.personas = vec![persona("security", Decision::Approved)];
    play.look();
    assert_eq!(play.name(), "fixing");
}

#[test]
fn a_review_that_was_posted_before_its_session_broke_is_not_repeated() {
    let mut play = Play::new(settings(vec![agent("quality", &[])]));
    play.review("quality-bot", ReviewState::Approved, true);
    play.fail(None);
    play.effects();
    play.retry_now();
    assert_eq!(play.name(), "approved");
    let is_dispatch = |effect: &Effect| matches!(effect, Effect::Dispatch { .. });
    assert!(!play.effects().iter().any(is_dispatch));
}

#[test]
fn a_life_is_rebuilt_from_the_reviews_on_github() {
    let mut facts = facts(two());
    facts.head = sha(5);
    let mut play = Play::with(policy(), facts.clone());
    play.review("quality-bot", ReviewState::Approved, true);
    play.review("security-bot", ReviewState::ChangesRequested, true);
    facts.reviews.clone_from(&play.facts.reviews);
    let rebuilt = Play::with(policy(), facts);
    let asked_by = "security".to_owned();
    assert_eq!(rebuilt.state.phase, Phase::Fixing { asked_by });
}

#[test]
fn a_dismissed_review_of_an_agent_waits_for_a_person_and_then_for_the_agent() {
    let mut play = Play::new(settings(vec![agent("quality", &[])]));
    play.review("quality-bot", ReviewState::Approved, true);
    play.approve();
    assert_eq!(play.name(), "approved");
    play.facts.reviews[0].state = ReviewState::Dismissed;
    play.look();
    assert_eq!(
        play.reason(),
        "The review of quality was dismissed for this head."
    );
    play.command_retry();
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    play.approve();
    assert_eq!(play.name(), "approved");
}

#[test]
fn a_probe_that_fails_is_repeated_after_a_minute() {
    let mut play = Play::new(two());
    play.give(Input::Woken { cause: "x".into() });
    let seq = play.state.probe.unwrap();
    let error = "502".into();
    play.give(Input::EffectFailed { seq, error });
    assert_eq!(play.state.ask_timer.unwrap().at - play.now, 60_000);
    play.ask_again();
    assert_eq!(play.state.probe, None);
    assert_eq!(play.state.last_error.as_deref(), Some("502"));
}
