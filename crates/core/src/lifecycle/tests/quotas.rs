//! Quotas: what a day counts, and a life whose session a quota keeps from beginning.

use super::fixture::*;
use crate::lifecycle::{
    Effect, Input, OrderFact, Progress, Quota, Quotas, ReviewState, Taken, Timer, Used, Wait,
    explain, next_day, wait,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Noon of a day.
const NOON: i64 = 1_767_268_800_000;

/// The quota of ann.
fn quota(most: u32) -> Quota {
    let quotas = Quotas {
        per_author: most,
        per_repository: 0,
    };
    quotas.of(&facts(two()), 7).remove(0)
}

#[test]
fn a_session_counts_against_its_author_and_its_repository_unless_there_is_no_quota() {
    let told = |quotas: Quotas| -> Vec<(String, String)> {
        let mut facts = facts(two());
        facts.author = Some(login("Ann"));
        let quotas = quotas.of(&facts, 7).into_iter();
        quotas.map(|one| (one.to_string(), one.key)).collect()
    };
    let both = [
        ("the quota of Ann (300 sessions a day)", "author/ann"),
        (
            "the quota of acme/shop (1000 sessions a day)",
            "repository/7",
        ),
    ];
    let both = both.map(|(words, key)| (words.to_owned(), key.to_owned()));
    assert_eq!(told(Quotas::default()), both);
    let only = Quotas {
        per_author: 0,
        ..Quotas::default()
    };
    assert_eq!(told(only), both[1..]);
}

#[test]
fn a_day_ends_at_midnight_utc() {
    assert_eq!(next_day(NOON), NOON + DAY_MS / 2);
    assert_eq!(next_day(next_day(NOON) - 1), next_day(NOON));
    assert_eq!(next_day(next_day(NOON)), next_day(NOON) + DAY_MS);
    let (mut used, one) = (Used::default(), quota(1));
    assert_eq!(used.take("a", &one, false, NOON), Taken::Now);
    assert_eq!(used.take("b", &one, false, NOON), Taken::Refused);
    assert!(!used.is_over(next_day(NOON) - 1) && used.is_over(next_day(NOON)));
    assert_eq!(used.take("b", &one, false, next_day(NOON)), Taken::Now);
    // A process whose clock is behind counts on the new day, too.
    assert_eq!(used.take("c", &one, false, NOON), Taken::Refused);
}

#[test]
fn what_somebody_asks_for_counts_and_is_not_refused() {
    let mut used = Used::default();
    assert_eq!(used.take("a", &quota(1), true, 0), Taken::Now);
    assert_eq!(used.take("b", &quota(1), true, 0), Taken::Now);
    assert_eq!(used.take("c", &quota(2), false, 0), Taken::Refused);
    assert!(used.give_back("a") && !used.give_back("a"));
    assert_eq!(used.take("c", &quota(2), false, 0), Taken::Now);
}

proptest! {
    /// Whatever is asked for how often, a day never has more sessions than its quota and what was asked for beyond it.
    #[test]
    fn no_day_has_more_sessions_than_its_quota(
        asked in prop::collection::vec((0..6_u8, 0..3_i64, prop::bool::weighted(0.2)), 0..40),
        most in 1..4_u32,
    ) {
        let (mut used, mut begun) = (Used::default(), BTreeSet::new());
        let (mut today, mut further) = (0, 0);
        for (session, later, beyond) in asked {
            if later > 1 {
                (today, further) = (today + 1, 0);
                begun.clear();
            }
            let is_new = !begun.contains(&session);
            match used.take(&session.to_string(), &quota(most), beyond, today * DAY_MS) {
                Taken::Now => {
                    prop_assert!(is_new);
                    begun.insert(session);
                    further += usize::from(beyond);
                }
                Taken::Before => prop_assert!(!is_new),
                Taken::Refused => prop_assert!(is_new && !beyond && begun.len() >= most as usize),
            }
            prop_assert!(begun.len() <= most as usize + further);
        }
    }
}

/// The quota of the day keeps the session at work from beginning.
fn refuse(play: &mut Play) -> u64 {
    let dispatch = play.dispatch();
    play.effects();
    play.give(Input::OverQuota {
        dispatch,
        quota: quota(300).to_string(),
        until: play.now + DAY_MS,
    });
    dispatch
}

/// True if the session that was dispatched last begins beyond the quota; `None`: none was dispatched.
fn dispatched(play: &mut Play) -> Option<bool> {
    let effects = play.effects();
    let mut beyond = effects.iter().filter_map(|effect| match effect {
        Effect::Dispatch { beyond_quota, .. } => Some(*beyond_quota),
        _ => None,
    });
    beyond.next_back()
}

fn order(play: &mut Play, id: u64, by: &str) {
    play.facts.invitations.push(OrderFact {
        id,
        by: login(by),
        at: "2026-01-02T03:04:05Z".into(),
    });
    play.look();
}

#[test]
fn what_is_over_the_quota_waits_for_the_next_day_and_says_so() {
    let mut play = Play::new(two());
    let dispatch = refuse(&mut play);
    let (until, name) = (play.now + DAY_MS, "the quota of ann (300 sessions a day)");
    assert_eq!(play.name(), "reviewing");
    assert!(matches!(
        wait(&play.state, &play.policy),
        Wait::Until { what, at } if at == until && what.starts_with(name)
    ));
    let explained = explain(&play.state, &play.policy);
    assert_eq!(
        explained.why,
        format!("It is the turn of quality, and {name} is used up.")
    );
    assert_eq!(explained.waits_for.until, Some(until));
    let timer = Effect::Wake {
        after_ms: DAY_MS.unsigned_abs(),
        input: Box::new(Input::Timer {
            seq: play.state.seq,
            timer: Timer::NextDay { dispatch },
        }),
    };
    assert_eq!(play.effects(), [timer]);
    // Whatever happens on this day wakes it, and nothing begins.
    play.look();
    assert_eq!(dispatched(&mut play), None);
    play.fire(Timer::QueueDeadline { dispatch });
    assert!(matches!(
        play.state.session.as_ref().map(|one| &one.progress),
        Some(Progress::Quota { .. })
    ));
    play.fire(Timer::NextDay { dispatch });
    play.answer(|_, _| false);
    assert_eq!(dispatched(&mut play), Some(false));
    play.approve();
    play.approve();
    assert_eq!(play.name(), "approved");
    assert_eq!(play.state.last_error, None);
}

#[test]
fn the_next_day_can_be_full_again_and_a_push_is_asked_for_at_once() {
    let mut play = Play::new(two());
    for _ in 0..5 {
        let dispatch = refuse(&mut play);
        play.fire(Timer::NextDay { dispatch });
        play.answer(|_, _| false);
        assert_eq!(dispatched(&mut play), Some(false));
    }
    refuse(&mut play);
    play.push(2, "ann");
    assert_eq!(dispatched(&mut play), Some(false));
    assert_eq!(play.name(), "reviewing");
}

#[test]
fn the_command_retry_gets_through_for_every_session_of_the_head() {
    let mut play = Play::new(two());
    refuse(&mut play);
    play.command_retry();
    assert_eq!(dispatched(&mut play), Some(true));
    play.approve();
    assert_eq!(play.agent(), "security");
    assert_eq!(dispatched(&mut play), Some(true));
    play.push(2, "ann");
    assert_eq!(dispatched(&mut play), Some(false), "another head");
}

#[test]
fn an_order_to_review_by_somebody_with_write_access_gets_through() {
    let mut play = Play::new(two());
    refuse(&mut play);
    order(&mut play, 901, "security-bot");
    assert_eq!(dispatched(&mut play), None, "an agent is no person");
    order(&mut play, 902, "ben");
    assert_eq!(dispatched(&mut play), Some(true));
    play.push(2, "ann");
    assert_eq!(dispatched(&mut play), Some(false), "another head");
    refuse(&mut play);
    play.look();
    assert_eq!(dispatched(&mut play), None);
}

#[test]
fn a_stranger_s_head_that_somebody_has_asked_to_review_does_not_wait_for_a_quota() {
    let mut facts = facts(two());
    (facts.from_fork, facts.author_may_write) = (true, false);
    let mut play = Play::with(policy(), facts);
    assert_eq!(play.name(), "pending");
    order(&mut play, 901, "ben");
    assert_eq!(dispatched(&mut play), Some(true));
}

#[test]
fn a_fix_that_waited_for_its_quota_is_one_cycle() {
    let mut play = Play::of_agent(settings(vec![agent("quality", &[])]));
    play.request_changes();
    assert_eq!((play.name(), play.agent()), ("fixing", "author"));
    for _ in 0..2 {
        let dispatch = refuse(&mut play);
        play.fire(Timer::NextDay { dispatch });
        play.answer(|_, _| false);
    }
    assert_eq!(play.state.cycles, 1);
    play.fail(None);
    let dispatch = play.dispatch();
    play.fire(Timer::Retry { dispatch });
    play.answer(|_, _| false);
    refuse(&mut play);
    play.command_retry();
    assert_eq!((play.state.cycles, dispatched(&mut play)), (1, Some(true)));
    play.fixed(2);
    assert_eq!((play.name(), play.agent()), ("reviewing", "quality"));
}

#[test]
fn a_refusal_that_comes_late_changes_nothing() {
    let mut play = Play::new(two());
    let dispatch = play.dispatch();
    play.give(Input::SessionStarted {
        dispatch,
        session: "s".into(),
    });
    let began = play.state.clone();
    refuse(&mut play);
    assert_eq!(play.state, began);
    play.review("ann", ReviewState::Commented, true);
    play.push(2, "ann");
    let began = play.state.clone();
    play.give(Input::OverQuota {
        dispatch,
        quota: "a quota".into(),
        until: NOON,
    });
    assert_eq!(play.state, began);
}
