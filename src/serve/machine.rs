//! The lifecycle as the engine's machine: `step` with the operator's policy.

use reviewer_core::lifecycle::{self, Effect, Input, Policy, State};
use reviewer_engine::{Lane, Machine, Planned, Step};

/// The beginning of the cause of a wake that comes in floods: somebody pushed to a base branch.
pub(crate) const FLOOD: &str = "push to ";

/// The lifecycle of pull requests, under one policy.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    pub policy: Policy,
}

impl Machine for Lifecycle {
    type State = State;
    type Input = Input;
    type Effect = Effect;

    fn step(&self, state: &State, input: &Input, now: i64) -> Step<Self> {
        let transition = lifecycle::step(state, input, &self.policy, now);
        let lane = match input {
            Input::Woken { cause } if cause.starts_with(FLOOD) => Lane::Slow,
            _ => Lane::Fast,
        };
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
            state: transition.state,
            log: transition.log.into_iter().map(|line| line.0).collect(),
        }
    }

    fn failed(&self, seq: u64, _effect: &Effect, error: &str) -> Input {
        Input::EffectFailed {
            seq,
            error: error.to_owned(),
        }
    }

    fn phase(&self, state: &State) -> String {
        state.phase.name().to_owned()
    }
}
