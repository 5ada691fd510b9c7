//! The lifecycle as the engine's machine: `step` with the operator's policy.

use reviewer_core::lifecycle::{self, Effect, Input, Policy, State, Timer};
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
        let is_of_flood = match input {
            Input::Woken { cause } => cause.starts_with(FLOOD) || cause == RECONCILIATION,
            // All that a quota has kept waiting wakes at the same midnight.
            Input::Timer { timer, .. } => matches!(timer, Timer::NextDay { .. }),
            _ => false,
        };
        let lane = if is_of_flood { Lane::Slow } else { Lane::Fast };
        // Whatever happens to this pull request alone does not wait behind the flood, nor behind a probe that is held back.
        let waits = state.probe.is_some() && transition.state.probe == state.probe;
        let hurries = waits
            && !is_of_flood
            && (transition.state.probe_again || !transition.effects.is_empty());
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
