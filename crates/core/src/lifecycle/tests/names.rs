//! Names of agents and logins of people: nobody counts as a person because an account has an agent's name.

use super::fixture::*;
use crate::lifecycle::{Decision, Effect, Policy, ReviewState, Settings, Task, status};

/// Quality escalates to the agent security, both approve, and a person has to approve, too.
fn approved_by_agents() -> Play {
    let mut settings = settings(vec![agent("quality", &["security"])]);
    settings.require_human_approval = true;
    settings.auto_merge = true;
    let mut play = Play::new(settings);
    play.reviewed(Decision::Approved, &["security"]);
    assert_eq!(play.agent(), "security");
    play.approve();
    assert_eq!(play.name(), "approved");
    play.effects();
    play
}

#[test]
fn an_account_with_the_name_of_an_agent_is_a_stranger() {
    let mut play = approved_by_agents();
    play.review("security", ReviewState::Approved, false);
    play.look();
    assert_eq!(play.merge(), None, "a stranger's approval is no person's");
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert!(play.merge().is_some());
}

#[test]
fn an_account_with_the_name_of_an_agent_objects_to_no_merge_and_ends_no_wait() {
    let mut play = approved_by_agents();
    play.review("ben", ReviewState::Approved, true);
    play.review("security", ReviewState::ChangesRequested, false);
    play.look();
    assert!(play.merge().is_some());
    let mut play = super::people::cap_reached();
    let security = "security".to_owned();
    let by = "quality".to_owned();
    let escalation = crate::lifecycle::Escalation { to: security, by };
    play.state.escalated.push(escalation);
    play.review("security", ReviewState::Approved, false);
    play.look();
    assert_eq!(play.name(), "needsHuman");
}

/// A service without the agent security.
fn small() -> Policy {
    let mut policy = policy();
    policy.agents.retain(|agent| agent.name != "security");
    policy
}

#[test]
fn the_default_offers_no_agent_that_the_service_does_not_have() {
    let mut play = Play::with(small(), facts(Settings::default()));
    let tasks = play
        .effects()
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Dispatch { task, .. } => Some(task),
            _ => None,
        });
    let task = Task::Review {
        can_escalate: Vec::new(),
        is_last: true,
    };
    assert_eq!(tasks.collect::<Vec<_>>(), [task]);
    play.reviewed(Decision::Approved, &["security"]);
    assert_eq!(play.name(), "approved");
    let effects = play.effects();
    let asks = |one: &Effect| matches!(one, Effect::RequestReviewers { .. } | Effect::Call { .. });
    assert!(!effects.iter().any(asks), "{effects:?}");
}

#[test]
fn an_escalation_to_an_agent_that_the_service_lost_is_up_to_people_with_write_access() {
    let mut play = Play::new(settings(vec![agent("quality", &["security"])]));
    play.reviewed(Decision::Approved, &["security"]);
    play.policy = small();
    play.facts.settings = Settings::default();
    play.look();
    assert_eq!(play.name(), "needsHuman");
    let asked = status(&play.state, &play.policy).waits_for.people;
    assert!(asked.is_empty(), "{asked:?}");
    play.review("security", ReviewState::Approved, false);
    play.look();
    assert_eq!(play.name(), "needsHuman");
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.name(), "approved");
}

#[test]
fn a_name_to_escalate_to_is_an_agent_or_a_person_who_is_called_one() {
    let error = |reviewers| {
        let play = Play::new(settings(reviewers));
        (play.name() == "error").then(|| play.reason())
    };
    let unknown = error(vec![agent("quality", &["legal"])]).unwrap_or_default();
    assert_eq!(
        unknown,
        "quality may escalate to legal, which is no agent of this service; a person needs type: human."
    );
    for own in ["security", "quality-bot"] {
        let wrong = error(vec![calling("quality", &[own])]).unwrap_or_default();
        assert!(wrong.contains("expected type: agent"), "{wrong}");
    }
    assert_eq!(error(vec![calling("quality", &["ada"])]), None);
    let both = vec![agent("quality", &["ada"]), human("ada", &["security"])];
    assert_eq!(error(both), None);
}
