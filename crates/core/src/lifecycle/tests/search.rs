//! An exhaustive search over small worlds: two reviewers, three pushes, inputs that are duplicated and reordered, a crash between any
//! two steps. In every state that can be reached the invariants hold, and from every one a fair world comes to rest.

use super::fixture::{agent, human, login, policy, settings, two};
use super::world::{Action, Budget, World};
use crate::lifecycle::{Policy, Settings};
use stateright::{Checker, Model, Property};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;

struct Small {
    world: World,
    policy: Policy,
    settled: Mutex<HashSet<u64>>,
}

impl Model for Small {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.world.clone()]
    }

    fn actions(&self, state: &World, actions: &mut Vec<Action>) {
        actions.extend(state.actions());
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut next = last.clone();
        next.act(action, &self.policy);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("the invariants hold", |_, world: &World| {
                world.broken.is_none()
            }),
            Property::always(
                "a fair world comes to rest",
                |model: &Self, world: &World| {
                    let mut world = world.clone();
                    // A world that passes through a known one comes to rest as that one does.
                    let is_known = |world: &World| {
                        let mut hasher = DefaultHasher::new();
                        world.hash(&mut hasher);
                        !model.settled.lock().unwrap().insert(hasher.finish())
                    };
                    let settled = world.settle_until(&model.policy, is_known);
                    settled.inspect_err(|error| println!("{error}")).is_ok()
                },
            ),
            Property::sometimes("it is merged", |_, world: &World| {
                world.state.phase.name() == "merged"
            }),
        ]
    }
}

/// Searches the whole world, and tells its size.
fn search(name: &str, world: &World) {
    let mut policy = policy();
    policy.retry_delays_ms.truncate(1);
    let model = Small {
        world: world.clone(),
        policy,
        settled: Mutex::default(),
    };
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, {} transitions, depth {}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// A pull request of a person; agents look, and the service merges.
fn small(settings: Settings, budget: Budget) -> World {
    let settings = Settings {
        auto_merge: true,
        max_fix_cycles: 1,
        ..settings
    };
    World {
        eager: true,
        ..World::new(settings, "ann", false, budget)
    }
}

#[test]
fn a_person_pushes_three_times() {
    let budget = Budget {
        pushes: 3,
        ..Budget::default()
    };
    let world = World {
        posts: false,
        ..small(two(), budget)
    };
    search("three pushes", &world);
}

#[test]
fn inputs_are_repeated_while_heads_change_or_stay_the_same_by_content() {
    let budget = Budget {
        pushes: 1,
        updates: 1,
        repeats: 1,
        ..Budget::default()
    };
    let world = World {
        posts: false,
        ..small(two(), budget)
    };
    search("a push and an update, repeated inputs", &world);
}

#[test]
fn the_process_ends_between_any_two_steps() {
    let budget = Budget {
        pushes: 1,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        eager: false,
        ..small(settings(vec![agent("quality", &[])]), budget)
    };
    search("a crash", &world);
}

#[test]
fn sessions_and_effects_fail() {
    let budget = Budget {
        failures: 2,
        ..Budget::default()
    };
    search("failures", &small(two(), budget));
}

#[test]
fn quotas_keep_sessions_from_beginning_while_people_push_and_ask() {
    let budget = Budget {
        quotas: 2,
        pushes: 1,
        people: 1,
        ..Budget::default()
    };
    let world = World {
        posts: false,
        ..small(settings(vec![agent("quality", &[])]), budget)
    };
    search("quotas", &world);
}

#[test]
fn the_authors_agent_fixes() {
    let budget = Budget {
        objections: 2,
        pushes: 1,
        quotas: 1,
        ..Budget::default()
    };
    let mut world = small(settings(vec![agent("quality", &[])]), budget);
    world.facts.author = Some(login("author-bot"));
    world.facts.last_push_by = Some(login("author-bot"));
    search("fixes", &world);
}

#[test]
fn an_armed_merge_meets_a_push_and_a_draft() {
    let budget = Budget {
        pushes: 1,
        drafts: 1,
        ..Budget::default()
    };
    let world = World {
        arms: true,
        posts: false,
        ..small(settings(vec![agent("quality", &[])]), budget)
    };
    search("an armed merge", &world);
}

#[test]
fn people_review_close_and_reopen() {
    let budget = Budget {
        people: 2,
        closes: 2,
        ..Budget::default()
    };
    let reviewers = vec![agent("quality", &[]), human("ada", &[])];
    let world = World {
        posts: false,
        ..small(settings(reviewers), budget)
    };
    search("people", &world);
}

/// Two reviewers, pushes, repeated and reordered inputs and a crash between any two steps, all in one world.
fn together(name: &str, pushes: u8, eager: bool) {
    let budget = Budget {
        pushes,
        repeats: 1,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        posts: false,
        eager,
        ..small(two(), budget)
    };
    search(name, &world);
}

#[test]
#[ignore = "takes minutes: make soak SERVE=1"]
fn two_reviewers_meet_three_pushes_a_repeated_input_and_a_crash() {
    together("two reviewers, three pushes, a repeat, a crash", 3, true);
}

#[test]
fn two_reviewers_meet_a_push_in_every_order_a_repeated_input_and_a_crash() {
    together("two reviewers, a push in every order", 1, false);
}
