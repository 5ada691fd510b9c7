//! The lanes of the lifecycle's effects. Apart from the machine, which the benchmark takes as it is.

use super::machine::{FLOOD, Lifecycle, RECONCILIATION};
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{
    Account, Command, Effect, Input, Policy, Progress, Session, State, Task, Timer,
};
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
    let (flooded, ..) = woken(&State::default(), RECONCILIATION);
    let retry = Input::Command {
        command: Command::Retry,
        by: "op".into(),
    };
    assert!(machine().step(&flooded, &retry, 0).hurries);
    let stale = Input::SessionStarted {
        dispatch: 99,
        session: "s".into(),
    };
    assert!(!machine().step(&flooded, &stale, 0).hurries);
    let (_, lanes, hurries) = woken(&State::default(), "webhook pull_request");
    assert_eq!((lanes, hurries), (vec![Lane::Fast], false));
}

#[test]
fn what_waited_for_the_next_day_s_quota_wakes_slowly() {
    let session = Session {
        dispatch: 4,
        task: Task::Review {
            can_escalate: Vec::new(),
            is_last: false,
        },
        agent: "quality".into(),
        head: "a".repeat(40).parse().expect("a commit"),
        id: None,
        failures: 0,
        progress: Progress::Quota {
            until: 0,
            quota: "the quota of ann".into(),
        },
    };
    let state = State {
        session: Some(session),
        ..State::default()
    };
    let timer = Timer::NextDay { dispatch: 4 };
    let step = machine().step(&state, &Input::Timer { seq: 5, timer }, 0);
    let [Planned::Effect { effect, lane, .. }] = &step.planned[..] else {
        panic!("{:?}", step.planned);
    };
    assert_eq!((effect, *lane), (&Effect::Probe, Lane::Slow));
}

#[test]
fn effects_that_are_given_up_are_counted() {
    let machine = machine();
    machine.failed(1, &Effect::Probe, "GitHub is down");
    assert_eq!(machine.given_up.load(Ordering::Relaxed), 1);
}
