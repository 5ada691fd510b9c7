//! People overrule an agent that requests changes, and nothing waits for an author who cannot answer.

use super::fixture::*;
use crate::lifecycle::{
    CallReason, Decision, Effect, OrderFact, PersonaDecision, ReviewState, Task, Wait, wait,
};

fn order(play: &mut Play, id: u64, by: &str) {
    play.facts.invitations.push(OrderFact {
        id,
        by: login(by),
        at: "2026-01-02T03:04:05Z".into(),
    });
    play.look();
}

#[test]
fn an_author_who_cannot_answer_is_not_waited_for() {
    for author in [Some("dependabot[bot]"), None] {
        let mut facts = facts(settings(vec![agent("quality", &[])]));
        facts.author = author.map(login);
        facts.last_push_by = facts.author.clone();
        let mut play = Play::with(policy(), facts);
        play.request_changes();
        assert_eq!(play.name(), "needsHuman", "{author:?}");
        let called = play.effects().into_iter().any(|one| {
            matches!(one, Effect::Call { reason: CallReason::NoFixer { asked_by }, .. } if asked_by == "quality")
        });
        assert!(called, "{author:?}");
        play.review("ben", ReviewState::Approved, true);
        play.look();
        assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
        play.approve();
        assert_eq!(play.name(), "approved");
    }
}

#[test]
fn a_pull_request_of_an_app_without_a_fixer_needs_a_person() {
    let mut policy = app();
    policy.fixer = None;
    let mut facts = facts(settings(vec![agent("quality", &[])]));
    facts.author = Some(login("reviewer[bot]"));
    let mut play = Play::with(policy, facts);
    play.request_changes();
    assert_eq!(play.name(), "needsHuman");
    play.command_retry();
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
}

#[test]
fn an_order_to_review_has_the_agent_look_again_at_the_same_head() {
    let mut play = Play::new(two());
    order(&mut play, 901, "ben");
    play.request_changes();
    play.look();
    assert_eq!(play.name(), "fixing", "an order from before is no answer");
    order(&mut play, 902, "quality-bot");
    assert_eq!(play.name(), "fixing", "an agent overrules nobody");
    order(&mut play, 903, "ben");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    play.look();
    play.approve();
    assert_eq!((play.name(), play.agent()), ("reviewing", "security"));
    play.request_changes();
    order(&mut play, 904, "ben");
    assert_eq!(play.agent(), "security", "quality has approved this head");
}

#[test]
fn the_command_retry_has_the_agent_look_again_while_the_author_is_waited_for() {
    let mut play = Play::new(two());
    play.request_changes();
    play.command_retry();
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
}

#[test]
fn an_order_to_review_ends_a_fix_session_and_counts_no_request_of_a_person_away() {
    let mut play = Play::of_agent(two());
    play.request_changes();
    assert_eq!((play.name(), play.agent()), ("fixing", "author"));
    order(&mut play, 901, "ben");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    let mut play = Play::new(settings(vec![human("ada", &[])]));
    play.review("ada", ReviewState::ChangesRequested, true);
    play.look();
    order(&mut play, 901, "ben");
    assert_eq!(play.name(), "fixing");
}

#[test]
fn a_signed_comment_of_an_agent_is_the_decision_that_its_session_told() {
    let mut play = Play::new(settings(vec![agent("quality", &[])]));
    let decision = PersonaDecision {
        agent: "quality".into(),
        decision: Decision::ChangesRequested,
        escalations: Vec::new(),
    };
    // A block in somebody else's review says nothing.
    play.review("security-bot", ReviewState::Commented, true)
        .personas = vec![decision.clone()];
    play.fail(None);
    play.look();
    assert_ne!(play.name(), "fixing");
    play.review("quality-bot", ReviewState::Commented, true)
        .personas = vec![decision];
    play.look();
    assert_eq!(play.name(), "fixing");
    assert!(matches!(
        wait(&play.state, &play.policy),
        Wait::People { .. }
    ));
}

#[test]
fn a_comment_after_a_request_that_its_own_session_dismissed_is_a_decision() {
    let mut play = Play::new(settings(vec![agent("quality", &[])]));
    play.review("quality-bot", ReviewState::Dismissed, true);
    play.review("quality-bot", ReviewState::Commented, true)
        .personas = vec![PersonaDecision {
        agent: "quality".into(),
        decision: Decision::ChangesRequested,
        escalations: Vec::new(),
    }];
    play.request_changes();
    assert_eq!(play.name(), "fixing");
}

#[test]
fn a_dismissal_concerns_the_persona_of_the_review_only() {
    let mut facts = facts(two());
    facts.author = Some(login("ann"));
    let mut play = Play::with(app(), facts);
    let stated = |agent: &str, decision| {
        vec![PersonaDecision {
            agent: agent.into(),
            decision,
            escalations: Vec::new(),
        }]
    };
    play.review("reviewer[bot]", ReviewState::Approved, true)
        .personas = stated("quality", Decision::Approved);
    play.approve();
    play.review("reviewer[bot]", ReviewState::Dismissed, true)
        .personas = stated("security", Decision::ChangesRequested);
    play.request_changes();
    assert_eq!(play.name(), "needsHuman");
    assert_eq!(
        play.reason(),
        "The review of security was dismissed for this head."
    );
}

/// True where the dispatch says that the agent is the last one.
fn is_last(play: &mut Play) -> Option<bool> {
    let effects = play.effects();
    let mut effects = effects.iter().rev();
    effects.find_map(|effect| match effect {
        Effect::Dispatch {
            task: Task::Review { is_last, .. },
            ..
        } => Some(*is_last),
        _ => None,
    })
}

#[test]
fn the_last_agent_is_the_one_whose_approval_alone_is_missing() {
    let three = vec![
        agent("quality", &["security"]),
        agent("author", &[]),
        human("ada", &[]),
    ];
    let mut play = Play::new(settings(three));
    assert_eq!(is_last(&mut play), Some(false));
    play.reviewed(Decision::Approved, &["security"]);
    assert_eq!((is_last(&mut play), play.agent()), (Some(false), "author"));
    play.approve();
    play.review("ada", ReviewState::Approved, true);
    play.look();
    assert_eq!((is_last(&mut play), play.agent()), (Some(true), "security"));
    play.request_changes();
    play.push(2, "ann");
    assert_eq!(play.agent(), "security");
    assert_eq!(is_last(&mut play), Some(false), "others have not seen it");
}
