//! The lanes of the lifecycle's effects. Apart from the machine, which the benchmark takes as it is.

use super::machine::{FLOOD, Lifecycle, RECONCILIATION};
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Effect, Input, Policy, State};
use reviewer_engine::{Lane, Machine as _, Planned};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn machine() -> Lifecycle {
    let login = Login::new("quality-agent");
    Lifecycle {
        policy: Policy::new(Vec::new(), Account::Personal { login }),
        given_up: Arc::default(),
    }
}

fn woken(state: &State, cause: &str) -> (State, Vec<Lane>, bool) {
    let cause = cause.to_owned();
    let step = machine().step(state, &Input::Woken { cause }, 0);
    let lanes = step.planned.iter().filter_map(|planned| match planned {
        Planned::Effect { lane, .. } => Some(*lane),
        Planned::Timer { .. } => None,
    });
    (step.state, lanes.collect(), step.hurries)
}

#[test]
fn floods_and_reconciliations_are_slow_and_what_wakes_one_pull_request_hurries_their_probes() {
    for cause in [&format!("{FLOOD}main"), RECONCILIATION] {
        let (flooded, lanes, _) = woken(&State::default(), cause);
        assert_eq!(lanes, [Lane::Slow], "{cause}");
        let (_, lanes, hurries) = woken(&flooded, cause);
        assert_eq!((lanes, hurries), (Vec::new(), false), "{cause}");
        let (_, lanes, hurries) = woken(&flooded, "webhook pull_request_review");
        assert_eq!((lanes, hurries), (Vec::new(), true), "{cause}");
    }
    let (_, lanes, hurries) = woken(&State::default(), "webhook pull_request");
    assert_eq!((lanes, hurries), (vec![Lane::Fast], false));
}

#[test]
fn effects_that_are_given_up_are_counted() {
    let machine = machine();
    machine.failed(1, &Effect::Probe, "GitHub is down");
    assert_eq!(machine.given_up.load(Ordering::Relaxed), 1);
}
