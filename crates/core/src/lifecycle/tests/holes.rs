//! Holes that an attack on the machine found, one test or more for each.

use super::fixture::*;
use crate::lifecycle::{Effect, ReviewState, Settings, Wait, wait};

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
