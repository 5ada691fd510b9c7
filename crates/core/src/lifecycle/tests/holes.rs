//! Holes that an attack on the machine found, one test or more for each.

use super::fixture::*;
use crate::lifecycle::{
    Effect, Input, MergeAnswer, Merging, OrderFact, PendingWait, Phase, Progress, PullState,
    ReviewState, Settings, Timer, Wait, wait,
};

/// The service merges what these reviewers have approved.
fn merging(reviewers: Settings) -> Settings {
    Settings {
        auto_merge: true,
        ..reviewers
    }
}

fn merges(play: &mut Play) -> bool {
    let effects = play.effects();
    let mut effects = effects.iter();
    effects.any(|effect| matches!(effect, Effect::Merge { .. }))
}

/// The people whom it waits for, and what they are to do.
fn people(play: &Play) -> (Vec<String>, String) {
    match wait(&play.state, &play.policy) {
        Wait::People { logins, what } => (logins.iter().map(ToString::to_string).collect(), what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_merging_account_never_merges_its_own_pull_request() {
    let reviewers = settings(vec![agent("security", &[]), human("ada", &[])]);
    let mut facts = facts(merging(reviewers));
    facts.author = Some(login("quality-bot"));
    facts.last_push_by = Some(login("quality-bot"));
    let mut play = Play::with(policy(), facts);
    play.approve();
    play.review("ada", ReviewState::Approved, true);
    play.look();
    assert_eq!((play.name(), merges(&mut play)), ("approved", false));
    let (logins, what) = people(&play);
    assert_eq!(logins, ["ada"]);
    assert!(what.starts_with("a person to merge"), "{what}");
    play.facts.author = Some(login("author-bot"));
    play.look();
    assert!(merges(&mut play), "another agent's pull request is merged");
}

/// The probe under way fails; the minutes until the next one.
fn fail_probe(play: &mut Play) -> i64 {
    let seq = play.state.probe.expect("a probe");
    let error = "GitHub is down".into();
    play.give(Input::EffectFailed { seq, error });
    let timer = play.state.ask_timer.expect("a timer");
    (timer.at - play.now) / 60_000
}

/// The wait is over, and the next probe is asked for.
fn probe_again(play: &mut Play) {
    let timer = play.state.ask_timer.expect("a timer");
    play.now = timer.at;
    let (seq, timer) = (timer.seq, Timer::AskAgain);
    play.give(Input::Timer { seq, timer });
}

#[test]
fn a_probe_that_fails_again_and_again_waits_twice_as_long_up_to_six_hours() {
    let mut play = Play::new(two());
    let wake = |play: &mut Play| {
        let cause = "a webhook".into();
        play.give(Input::Woken { cause });
    };
    wake(&mut play);
    let mut waits = Vec::new();
    for _ in 0..11 {
        waits.push(fail_probe(&mut play));
        probe_again(&mut play);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]);
    fail_probe(&mut play);
    wake(&mut play);
    assert_eq!(fail_probe(&mut play), 1, "a wake begins anew");
    probe_again(&mut play);
    assert_eq!(fail_probe(&mut play), 2);
    probe_again(&mut play);
    play.answer(|_, _| false);
    assert_eq!(play.state.probe_failures, 0, "so does a success");
}

/// The timers that were set, with their delays in minutes.
fn timers(play: &mut Play) -> Vec<(Timer, u64)> {
    let effects = play.effects().into_iter();
    let timers = effects.filter_map(|effect| match effect {
        Effect::Wake { after_ms, input } => match *input {
            Input::Timer { timer, .. } => Some((timer, after_ms / 60_000)),
            _ => None,
        },
        _ => None,
    });
    timers.collect()
}

#[test]
fn the_deadline_of_a_session_runs_from_its_start_and_not_while_it_waits_for_a_place() {
    let mut play = Play::new(two());
    let dispatch = play.dispatch();
    let queue = Timer::QueueDeadline { dispatch };
    assert_eq!(timers(&mut play), [(queue.clone(), 24 * 60)]);
    play.now += 5 * 3_600_000;
    for id in ["s-1", "s-1", "s-2"] {
        let session = id.into();
        play.give(Input::SessionStarted { dispatch, session });
    }
    let deadline = Timer::Deadline { dispatch };
    assert_eq!(timers(&mut play), [(deadline.clone(), 61)], "set once");
    let until = play.now + 3_600_000;
    let progress = |play: &Play| play.state.session.as_ref().map(|one| one.progress.clone());
    assert_eq!(progress(&play), Some(Progress::Running { until }));
    play.fire(queue);
    assert_eq!(
        progress(&play),
        Some(Progress::Running { until }),
        "it has started"
    );
    play.fire(deadline);
    assert!(matches!(progress(&play), Some(Progress::Backoff { .. })));
}

#[test]
fn a_session_that_never_starts_is_repeated_after_the_time_for_the_queue() {
    let mut play = Play::new(two());
    let dispatch = play.dispatch();
    play.effects();
    play.fire(Timer::QueueDeadline { dispatch });
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
    play.retry_now();
    assert!(play.dispatch() > dispatch);
    let error = play.state.last_error.as_deref();
    assert_eq!(error, Some("the session did not start in time"));
}

/// Quality and ada have approved head 1, and both reviews are on GitHub.
fn approved_by_both() -> Play {
    let reviewers = settings(vec![agent("quality", &[]), human("ada", &[])]);
    let mut play = Play::new(merging(reviewers));
    play.review("quality-bot", ReviewState::Approved, true);
    play.approve();
    play.review("ada", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.name(), "approved");
    play
}

#[test]
fn approvals_do_not_survive_a_retarget_of_the_base() {
    let mut play = approved_by_both();
    let attempt = play.merge().expect("a merge").0;
    play.merge_answer(attempt, MergeAnswer::Armed);
    play.facts.auto_merge_armed = true;
    play.look();
    play.facts.base = "release".into();
    play.effects();
    play.look_with(|_, _| true);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    assert!(matches!(play.state.merging, Merging::Disarming { .. }));
    let effects = play.effects();
    let is_disarm = |effect: &Effect| matches!(effect, Effect::Disarm { .. });
    assert!(effects.iter().any(is_disarm));
    let Merging::Disarming { attempt, .. } = play.state.merging else {
        panic!("{:?}", play.state.merging);
    };
    play.facts.auto_merge_armed = false;
    play.merge_answer(attempt, MergeAnswer::Disarmed);
    play.approve();
    assert_eq!(play.name(), "reviewing", "ada has approved another change");
    assert_eq!(people(&play).0, ["ada"]);
    assert!(!merges(&mut play));
    play.review("ada", ReviewState::Approved, true);
    play.look();
    assert!(merges(&mut play));
}

#[test]
fn a_retarget_ends_the_session_under_way_and_its_agent_begins_anew() {
    let mut play = Play::new(two());
    play.approve();
    let dispatch = play.dispatch();
    play.facts.base = "release".into();
    play.effects();
    play.look();
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
    assert_eq!(play.agent(), "security");
    assert!(play.dispatch() > dispatch);
    play.approve();
    assert_eq!(play.agent(), "quality", "its approval is of another change");
}

#[test]
fn a_comparison_carries_no_approval_across_bases() {
    let mut play = approved_by_both();
    play.facts.base = "release".into();
    play.facts.head = sha(2);
    play.effects();
    play.look_with(|_, _| true);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    let dispatch = play.dispatch();
    play.facts.head = sha(3);
    play.look_with(|_, _| true);
    assert!(play.dispatch() > dispatch, "nor does a later one");
    let effects = play.effects();
    let compares = |effect: &Effect| matches!(effect, Effect::Compare { .. });
    assert!(!effects.iter().any(compares), "{effects:?}");
}

#[test]
fn a_retarget_while_closed_counts_after_the_pull_request_is_reopened() {
    let mut play = approved_by_both();
    play.facts.state = PullState::Closed;
    play.look();
    play.facts.base = "release".into();
    play.look();
    play.facts.state = PullState::Open;
    play.look_with(|_, _| true);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
    play.approve();
    assert_eq!(people(&play).0, ["ada"]);
}

#[test]
fn a_persons_request_for_changes_survives_a_retarget() {
    let mut play = approved_by_both();
    play.review("ada", ReviewState::ChangesRequested, true);
    play.facts.base = "release".into();
    play.look();
    assert_eq!(play.name(), "fixing");
}

/// A stranger's pull request from a fork.
fn strange() -> Play {
    let mut facts = facts(merging(settings(vec![agent("quality", &[])])));
    facts.from_fork = true;
    facts.author_may_write = false;
    Play::with(policy(), facts)
}

fn waits_for_an_invitation(play: &Play) -> bool {
    let wait = PendingWait::Invitation;
    let is_pending = play.state.phase == Phase::Pending { wait };
    is_pending && play.at_work().is_none() && people(play).0.is_empty()
}

fn order(id: u64, by: &str) -> OrderFact {
    OrderFact {
        id,
        by: login(by),
        at: String::new(),
    }
}

#[test]
fn a_strangers_fork_waits_for_the_invitation_of_a_person_with_write_access() {
    let mut play = strange();
    assert!(waits_for_an_invitation(&play));
    play.review("eve", ReviewState::Approved, false);
    play.review("ann", ReviewState::Approved, true);
    play.review("ben", ReviewState::Commented, true);
    play.facts.invitations.push(order(4, "security-bot"));
    play.look();
    assert!(waits_for_an_invitation(&play), "none of these may invite");
    let mut ordered = strange();
    ordered.facts.invitations.push(order(5, "ben"));
    ordered.look();
    assert_eq!(ordered.agent(), "quality");
    let mut resumed = strange();
    resumed.resume();
    assert_eq!(resumed.agent(), "quality");
    play.review("ben", ReviewState::Approved, true);
    play.look();
    assert_eq!(play.agent(), "quality");
    for (from_fork, author_may_write) in [(true, true), (false, false)] {
        let mut facts = facts(two());
        (facts.from_fork, facts.author_may_write) = (from_fork, author_may_write);
        assert_eq!(Play::with(policy(), facts).agent(), "quality");
    }
}

#[test]
fn an_invitation_is_for_one_head_of_a_strangers_fork() {
    let mut play = strange();
    play.facts.invitations.push(order(5, "ben"));
    play.look();
    let dispatch = play.dispatch();
    play.effects();
    play.push(2, "ann");
    assert!(waits_for_an_invitation(&play));
    assert!(play.effects().contains(&Effect::EndSession { dispatch }));
    play.facts.invitations.push(order(6, "ben"));
    play.look();
    assert_eq!(play.agent(), "quality");
    play.facts.base = "release".into();
    play.look();
    assert!(waits_for_an_invitation(&play), "it is another change");
}

#[test]
fn a_forks_head_is_merged_only_after_an_approval_of_this_head_by_a_person_with_write_access() {
    for author_may_write in [false, true] {
        let mut play = strange();
        play.facts.author_may_write = author_may_write;
        play.facts.invitations.push(order(5, "ben"));
        play.look();
        play.approve();
        assert_eq!((play.name(), merges(&mut play)), ("approved", false));
        assert!(people(&play).1.starts_with("an approval of this head"));
        play.review("eve", ReviewState::Approved, false);
        play.look();
        assert!(!merges(&mut play));
        play.review("ben", ReviewState::Approved, true);
        play.look();
        assert!(merges(&mut play));
        play.facts.head = sha(2);
        play.facts.invitations.push(order(6, "ben"));
        play.look_with(|_, _| true);
        play.facts.invitations.push(order(7, "ben"));
        play.look_with(|_, _| true);
        assert_eq!(play.name(), "approved", "the change is the same");
        assert!(people(&play).1.starts_with("an approval of this head"));
        assert!(!merges(&mut play));
    }
}
