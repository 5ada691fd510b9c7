//! People: reviewers who are waited for, `needsHuman` and the ways out of it, drafts, personas, the author.

use super::fixture::*;
use crate::lifecycle::{
    CallReason, Decision, Effect, Input, Reminder, ReviewState, SessionResult, Settings, Timer,
    status,
};

pub(super) fn cap_reached() -> Play {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    for head in 2..4 {
        play.request_changes();
        play.fixed(head);
    }
    play.request_changes();
    assert_eq!(play.name(), "needsHuman");
    play.effects();
    play
}

#[test]
fn a_human_reviewer_is_requested_once_for_each_head_and_waited_for() {
    let mut play = Play::new(settings(vec![human("ada", &[])]));
    let requests = |effects: Vec<Effect>| {
        let logins = vec![login("ada")];
        let request = Effect::RequestReviewers { logins };
        effects.into_iter().filter(|one| *one == request).count()
    };
    assert_eq!(requests(play.effects()), 1);
    play.look();
    assert_eq!(requests(play.effects()), 0);
    assert_eq!(status(&play.state, &play.policy).waits_for.people, ["ada"]);
    play.push(2, "ann");
    assert_eq!(requests(play.effects()), 1);
    play.review("ada", ReviewState::ChangesRequested, true);
    play.look();
    assert_eq!(play.name(), "fixing");
    assert_eq!(status(&play.state, &play.policy).waits_for.people, ["ann"]);
    play.review("ada", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.name(), "approved");
}

#[test]
fn a_request_that_github_refuses_becomes_a_comment() {
    let mut play = Play::new(settings(vec![human("ada", &[])]));
    let seq = play.state.request.expect("a request");
    play.effects();
    let error = "not a collaborator".into();
    play.give(Input::EffectFailed { seq, error });
    let logins = vec![login("ada")];
    let reason = CallReason::NotRequested;
    assert_eq!(play.effects(), [Effect::Call { reason, logins }]);
}

#[test]
fn people_are_reminded_once() {
    let mut play = Play::new(settings(vec![human("ada", &[])]));
    let Reminder::Set { seq } = play.state.reminder else {
        panic!("{:?}", play.state.reminder);
    };
    play.effects();
    for _ in 0..2 {
        let timer = Timer::Reminder;
        play.give(Input::Timer { seq, timer });
        play.answer(|_, _| false);
    }
    let calls = play.effects();
    let calls = calls
        .iter()
        .filter(|one| matches!(one, Effect::Call { .. }));
    assert_eq!(calls.count(), 1);
}

#[test]
fn the_author_is_skipped_where_others_review() {
    let mut play = Play::of_agent(settings(vec![agent("author", &[]), agent("quality", &[])]));
    assert_eq!(play.agent(), "quality");
    play.approve();
    assert_eq!(play.name(), "approved");
}

#[test]
fn without_another_reviewer_than_the_author_a_person_has_to_approve() {
    let mut play = Play::of_agent(settings(vec![agent("author", &[])]));
    assert_eq!((play.name(), play.at_work()), ("needsHuman", None));
    play.review("eve", ReviewState::Approved, false);
    play.review("quality-bot", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.name(), "needsHuman");
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.name(), "approved");
}

#[test]
fn an_escalation_to_a_person_needs_that_person_or_one_who_may_write() {
    let one = || Play::new(settings(vec![calling("quality", &["ada"])]));
    for (by, may_write, state) in [
        ("ada", false, "approved"),
        ("ben", true, "approved"),
        ("eve", false, "needsHuman"),
    ] {
        let mut play = one();
        play.effects();
        play.reviewed(Decision::Approved, &["ada"]);
        assert_eq!(play.reason(), "quality asks for a review by ada.");
        assert_eq!(status(&play.state, &play.policy).waits_for.people, ["ada"]);
        let logins = vec![login("ada")];
        assert!(
            play.effects()
                .contains(&Effect::RequestReviewers { logins })
        );
        play.review(by, ReviewState::Approved, may_write);
        play.look();
        assert_eq!(play.name(), state, "{by}");
    }
}

#[test]
fn needs_human_is_left_by_a_review_of_this_head_which_counts_cycles_anew() {
    let mut play = cap_reached();
    play.review("ben", ReviewState::Commented, true);
    play.review("eve", ReviewState::Approved, false);
    play.review("ben", ReviewState::Approved, true).commit = Some(sha(1));
    play.look();
    assert_eq!(play.name(), "needsHuman");
    play.review("ben", ReviewState::ChangesRequested, true);
    play.look();
    assert_eq!((play.name(), play.agent()), ("fixing", "author"));
    assert_eq!(play.state.cycles, 1);
}

#[test]
fn needs_human_is_left_by_a_persons_push_which_counts_cycles_anew() {
    let mut play = cap_reached();
    play.push(9, "ben");
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert_eq!(play.state.cycles, 0);
    let mut play = cap_reached();
    play.push(9, "author-bot");
    assert_eq!(
        (play.name(), play.state.cycles),
        ("reviewing", 2),
        "no person's push"
    );
    play.request_changes();
    assert_eq!(play.name(), "needsHuman");
}

#[test]
fn needs_human_is_left_by_fix_resume_for_as_many_cycles_and_by_retry_for_one() {
    let cycles = |mut play: Play| {
        let mut count = 0;
        while play.name() == "fixing" {
            count += 1;
            play.fixed(10 + count);
            play.request_changes();
        }
        assert_eq!(play.name(), "needsHuman");
        count
    };
    let mut resumed = cap_reached();
    resumed.resume();
    assert_eq!(cycles(resumed), 2);
    let mut retried = cap_reached();
    retried.command_retry();
    assert_eq!(cycles(retried), 1);
}

#[test]
fn a_fix_session_without_a_fix_calls_people() {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    play.request_changes();
    let why = "it cannot be done".into();
    play.end(SessionResult::NothingFixed { why });
    assert_eq!(
        play.reason(),
        "The fix session has changed nothing: it cannot be done"
    );
    play.look();
    assert_eq!(play.name(), "needsHuman");
    play.resume();
    assert_eq!((play.name(), play.agent()), ("fixing", "author"));
}

#[test]
fn a_push_of_the_fix_that_is_seen_before_its_callback_does_not_end_the_session() {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    play.request_changes();
    let fix = play.dispatch();
    play.push(2, "author-bot");
    assert_eq!((play.name(), play.dispatch()), ("fixing", fix));
    play.fixed(2);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert_eq!(play.state.cycles, 1);
}

#[test]
fn a_persons_push_ends_the_fix_session() {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    play.request_changes();
    let dispatch = play.dispatch();
    play.effects();
    play.push(2, "ben");
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
    assert_eq!((play.name(), play.state.cycles), ("reviewing", 0));
}

#[test]
fn a_pushed_fix_that_github_never_shows_is_an_error() {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    play.request_changes();
    let commit = sha(2);
    play.end(SessionResult::Fixed { commit });
    for _ in 0..3 {
        assert_eq!(play.name(), "fixing");
        play.ask_again();
    }
    assert_eq!(play.name(), "error");
}

#[test]
fn drafts_stay_pending_and_end_the_session() {
    let mut facts = facts(two());
    facts.draft = true;
    let mut play = Play::with(policy(), facts);
    assert_eq!((play.name(), play.at_work()), ("pending", None));
    assert_eq!(status(&play.state, &play.policy).waits_for.people, ["ann"]);
    play.facts.draft = false;
    play.look();
    let dispatch = play.dispatch();
    play.facts.draft = true;
    play.effects();
    play.look();
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
    assert_eq!(play.name(), "pending");
}

#[test]
fn wrong_settings_are_an_error_until_they_are_corrected() {
    let mut play = Play::new(two());
    play.facts.settings.error = Some("line 3 is wrong.".into());
    play.look();
    assert_eq!(
        (play.name(), play.reason().as_str()),
        ("error", "line 3 is wrong.")
    );
    play.facts.settings = settings(vec![agent("nobody", &[])]);
    play.look();
    assert_eq!(
        play.reason(),
        "The reviewer nobody is no agent of this service; expected one of quality, security, author."
    );
    play.facts.settings = settings(vec![human("Quality-Bot", &[])]);
    play.look();
    assert!(
        play.reason().contains("is an account of this service"),
        "{}",
        play.reason()
    );
    play.facts.settings = two();
    play.look();
    assert_eq!(play.agent(), "quality");
}

#[test]
fn a_repository_that_does_not_enable_the_service_is_left_alone() {
    let off = Settings {
        enabled: false,
        ..two()
    };
    let mut play = Play::new(off);
    assert_eq!(play.name(), "pending");
    play.facts.settings.enabled = true;
    play.look();
    assert_eq!(play.name(), "reviewing");
}
