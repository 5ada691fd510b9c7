//! A machine that adds numbers and has sentences said. The unit tests of the engine use it, and the suite over all engines.

use reviewer_engine::{Lane, Machine, Planned, Step};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Toy;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) next: u64,
    pub(crate) total: i64,
    /// A word for each input, in their order.
    pub(crate) seen: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Input {
    Add(i64),
    Say(Words),
    Later { after_ms: u64, add: i64 },
    Said(String),
    Failed { seq: u64, error: String },
}

/// An effect. `then` further ones follow, each after the answer of the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) slow: bool,
    pub(crate) then: u32,
}

pub(crate) fn say(text: &str) -> Input {
    Input::Say(Words {
        text: text.to_owned(),
        slow: false,
        then: 0,
    })
}

impl Machine for Toy {
    type State = Sum;
    type Input = Input;
    type Effect = Words;

    fn step(&self, state: &Sum, input: &Input, _now: i64) -> Step<Self> {
        let mut state = state.clone();
        let seq = state.next + 1;
        let mut planned = Vec::new();
        match input {
            Input::Add(amount) => state.total += amount,
            Input::Say(words) => {
                let lane = if words.slow { Lane::Slow } else { Lane::Fast };
                planned.push(Planned::Effect {
                    seq,
                    effect: words.clone(),
                    lane,
                });
            }
            Input::Later { after_ms, add } => planned.push(Planned::Timer {
                seq,
                after_ms: *after_ms,
                input: Input::Add(*add),
            }),
            Input::Said(_) => state.total += 1,
            Input::Failed { .. } => state.total -= 1,
        }
        state.next += u64::try_from(planned.len()).unwrap();
        state.seen.push(word(input));
        Step {
            log: vec![word(input)],
            state,
            planned,
            hurries: matches!(input, Input::Add(_)),
        }
    }

    fn failed(&self, seq: u64, _effect: &Words, error: &str) -> Input {
        Input::Failed {
            seq,
            error: error.to_owned(),
        }
    }

    fn phase(&self, state: &Sum) -> String {
        let phase = if state.total < 0 { "owing" } else { "solvent" };
        phase.to_owned()
    }
}

fn word(input: &Input) -> String {
    match input {
        Input::Add(amount) => format!("add {amount}"),
        Input::Say(words) => format!("say {}", words.text),
        Input::Later { .. } => "later".to_owned(),
        Input::Said(text) => format!("said {text}"),
        Input::Failed { error, .. } => format!("failed: {error}"),
    }
}

/// The answer to a said sentence.
pub(crate) fn answer(words: Words) -> Input {
    match words.then {
        0 => Input::Said(words.text),
        then => Input::Say(Words {
            then: then - 1,
            ..words
        }),
    }
}
