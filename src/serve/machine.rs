//! The lifecycle as the engine's machine: `step` with the operator's policy.

use reviewer_core::lifecycle::{self, Effect, Input, Policy, State};
use reviewer_engine::{Lane, Machine, Planned, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The beginning of the cause of a wake that comes in floods: somebody pushed to a base branch.
pub(crate) const FLOOD: &str = "push to ";

/// The cause of a wake by a reconciliation, which comes in floods after a start without a store.
pub(crate) const RECONCILIATION: &str = "reconciliation";

/// The lifecycle of pull requests, under one policy.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    pub policy: Policy,
    /// Effects that were given up, for the metrics.
    pub given_up: Arc<AtomicU64>,
}

impl Machine for Lifecycle {
    type State = State;
    type Input = Input;
    type Effect = Effect;

    fn step(&self, state: &State, input: &Input, now: i64) -> Step<Self> {
        let transition = lifecycle::step(state, input, &self.policy, now);
        let is_of_flood = matches!(input, Input::Woken { cause } if cause.starts_with(FLOOD) || cause == RECONCILIATION);
        let lane = if is_of_flood { Lane::Slow } else { Lane::Fast };
        // What wakes this pull request alone does not wait behind the flood for a probe that is asked for already.
        let is_awaited = matches!(input, Input::Woken { .. } | Input::Command { .. });
        let hurries = is_awaited && !is_of_flood && state.probe.is_some();
        let planned = transition.effects.into_iter().map(|numbered| {
            let seq = numbered.seq;
            match numbered.effect {
                Effect::Wake { after_ms, input } => Planned::Timer {
                    seq,
                    after_ms,
                    input: *input,
                },
                effect => Planned::Effect { seq, effect, lane },
            }
        });
        Step {
            planned: planned.collect(),
            hurries,
            state: transition.state,
            log: transition.log.into_iter().map(|line| line.0).collect(),
        }
    }

    fn failed(&self, seq: u64, _effect: &Effect, error: &str) -> Input {
        self.given_up.fetch_add(1, Ordering::Relaxed);
        Input::EffectFailed {
            seq,
            error: error.to_owned(),
        }
    }

    fn phase(&self, state: &State) -> String {
        state.phase.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_core::domain::Login;
    use reviewer_core::lifecycle::Account;

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
}
