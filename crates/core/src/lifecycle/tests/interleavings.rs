//! Random interleavings in a world with large budgets: pushes, drafts, closes, people, failures, crashes, repeated inputs.

use super::fixture::{agent, human, policy, settings, two};
use super::world::{Action, Budget, World};
use crate::lifecycle::{PullState, Settings};
use proptest::prelude::*;

fn large() -> Budget {
    Budget {
        pushes: 4,
        updates: 2,
        objections: 4,
        failures: 6,
        repeats: 6,
        crashes: 4,
        closes: 4,
        drafts: 4,
        people: 4,
        quotas: 4,
    }
}

fn worlds() -> impl Strategy<Value = World> {
    let reviewers = prop_oneof![
        Just(two()),
        Just(settings(vec![agent("quality", &[]), human("ada", &[])])),
        Just(settings(vec![human("ada", &[]), agent("security", &[])])),
    ];
    let author = prop_oneof![Just("ann"), Just("author-bot")];
    (reviewers, author, any::<[bool; 4]>()).prop_map(|(settings, author, flags)| {
        let [auto_merge, require_human_approval, arms, starts] = flags;
        let settings = Settings {
            auto_merge,
            require_human_approval,
            ..settings
        };
        World {
            starts,
            ..World::new(settings, author, arms, large())
        }
    })
}

/// Acts by these dice, until nothing is left to do.
fn play(world: &mut World, dice: &[prop::sample::Index]) {
    let policy = policy();
    for die in dice {
        let actions = world.actions();
        if actions.is_empty() {
            return;
        }
        world.act(*die.get(&actions), &policy);
        assert_eq!(world.broken, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_invariant_breaks_and_a_fair_world_comes_to_rest(
        mut world in worlds(),
        dice in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
    ) {
        play(&mut world, &dice);
        let settled = world.settle(&policy());
        prop_assert!(settled.is_ok(), "{}", settled.unwrap_err());
    }

    /// Wakes, answers and crashes in any order and number lead where one look at the last head leads.
    #[test]
    fn reordered_and_repeated_inputs_give_the_same_state(
        dice in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
    ) {
        let budget = Budget { objections: 0, failures: 0, closes: 0, drafts: 0, people: 0, ..large() };
        let mut world = World::new(two(), "ann", false, budget);
        play(&mut world, &dice);
        prop_assert_eq!(world.settle(&policy()), Ok(()));
        let mut calm = World::new(two(), "ann", false, Budget::default());
        prop_assert_eq!(calm.settle(&policy()), Ok(()));
        prop_assert_eq!(&world.state.phase, &calm.state.phase);
        prop_assert_eq!(&world.facts.state, &PullState::Open);
        prop_assert!(world.is_approved_now());
    }
}

#[test]
fn a_world_that_merges_too_early_is_found() {
    let mut world = World::new(two(), "ann", false, large());
    world.act(Action::ChecksPass, &policy());
    let broken = world.broken.expect("a broken invariant");
    assert!(broken.contains("did not approve change 1"), "{broken}");
}
