//! The table of transitions against `step`: each row happens. (That no other transition happens is checked at every step of every test.)

use super::checked::transition;
use super::fixture::*;
use crate::lifecycle::{
    FROM_OPEN, MergeAnswer, Phase, PullState, ReviewState, SessionResult, Settings, State,
    TRANSITIONS, mermaid,
};
use std::collections::BTreeSet;

/// A life in the state with this name.
fn life_in(name: &str) -> Play {
    let quality = || settings(vec![agent("quality", &[])]);
    let mut play = match name {
        "pending" => {
            let mut facts = facts(quality());
            facts.draft = true;
            Play::with(policy(), facts)
        }
        "needsHuman" => Play::new(settings(vec![human("ann", &[])])),
        _ => Play::new(quality()),
    };
    match name {
        "fixing" => play.request_changes(),
        "approved" => play.approve(),
        "error" => {
            play.facts.settings.error = Some("wrong".into());
            play.look();
        }
        "closed" => {
            play.facts.state = PullState::Closed;
            play.look();
        }
        _ => {}
    }
    assert_eq!(play.name(), name);
    play
}

/// Facts that lead to the state with this name.
fn lead_to(play: &mut Play, name: &str) {
    play.facts.draft = false;
    play.facts.state = PullState::Open;
    let ada = || settings(vec![human("ada", &[])]);
    play.facts.settings = match name {
        "reviewing" | "merged" | "closed" => settings(vec![agent("security", &[])]),
        "needsHuman" => settings(vec![human("ann", &[])]),
        "pending" => Settings {
            enabled: false,
            ..ada()
        },
        "error" => Settings {
            error: Some("wrong".into()),
            ..ada()
        },
        _ => ada(),
    };
    let merged = PullState::Merged {
        by: None,
        sha: None,
    };
    match name {
        "fixing" => drop(play.review("ada", ReviewState::ChangesRequested, true)),
        "approved" => drop(play.review("ada", ReviewState::Approved, true)),
        "merged" => play.facts.state = merged,
        "closed" => play.facts.state = PullState::Closed,
        "reviewing" if play.name() == "needsHuman" => play.facts.head = sha(2),
        _ => {}
    }
}

fn seen(play: &mut Play, act: impl FnOnce(&mut Play)) -> Option<(&'static str, &'static str)> {
    let before: State = play.state.clone();
    act(play);
    transition(&before, &play.state)
}

#[test]
fn every_row_of_the_table_happens() {
    let open = [
        "pending",
        "reviewing",
        "fixing",
        "approved",
        "needsHuman",
        "error",
    ];
    let mut happened = BTreeSet::new();
    for from in open {
        for to in open.into_iter().chain(["merged", "closed"]) {
            let mut play = life_in(from);
            lead_to(&mut play, to);
            happened.extend(seen(&mut play, Play::look));
        }
    }
    let mut reopened = life_in("closed");
    reopened.facts.state = PullState::Open;
    reopened.facts.draft = true;
    reopened.look();
    assert_eq!((reopened.name(), reopened.state.generation), ("pending", 2));
    happened.insert(("closed", "pending"));
    for row in TRANSITIONS {
        assert!(happened.contains(&(row.from, row.to)), "{row:?}");
    }
    for (to, by) in FROM_OPEN {
        for from in open.into_iter().filter(|from| from != to) {
            assert!(happened.contains(&(from, *to)), "{from} -> {to}: {by}");
        }
    }
}

#[test]
fn the_usual_causes_of_the_table_are_true() {
    let mut broken = life_in("reviewing");
    for _ in 0..3 {
        broken.fail(None);
        broken.retry_now();
    }
    let failed = seen(&mut broken, |play| play.fail(None));
    assert_eq!(failed, Some(("reviewing", "error")));

    let mut fixing = Play::of_agent(settings(vec![agent("quality", &[])]));
    fixing.request_changes();
    let why = "nothing".to_owned();
    let ended = seen(&mut fixing, |play| {
        play.end(SessionResult::NothingFixed { why });
    });
    assert_eq!(ended, Some(("fixing", "needsHuman")));
    assert_eq!(
        seen(&mut fixing, Play::resume),
        Some(("needsHuman", "fixing"))
    );

    let mut merging = settings(vec![agent("quality", &[])]);
    merging.auto_merge = true;
    let mut approved = Play::new(merging);
    approved.policy.merge_refusals = 1;
    approved.approve();
    let attempt = approved.merge().expect("a merge").0;
    let why = "no".to_owned();
    let refusal = MergeAnswer::Refused { why };
    let refused = seen(&mut approved, |play| play.merge_answer(attempt, refusal));
    assert_eq!(refused, Some(("approved", "needsHuman")));
}

#[test]
fn the_page_of_the_service_shows_the_table() {
    let page = include_str!("../../../../../docs/service.md");
    let (_, rest) = page
        .split_once("<!-- states:begin, written by make docs -->\n")
        .expect("a mark");
    let (shown, _) = rest.split_once("<!-- states:end -->").expect("an end");
    assert_eq!(shown, mermaid(), "run `make docs`");
}

#[test]
fn every_state_of_the_machine_is_in_the_diagram() {
    let diagram = mermaid();
    let merge_type = crate::lifecycle::MergeType::Auto;
    for phase in [
        Phase::Approved,
        Phase::Closed,
        Phase::Merged { merge_type },
        State::default().phase,
    ] {
        assert!(diagram.contains(phase.name()), "{}", phase.name());
    }
}
