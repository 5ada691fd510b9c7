//! The reference: a sequence of inputs drawn from a seed, and what it leads to without a store, one input after another.

use crate::diary::{GONE, GONE_MESSAGE, failures};
use crate::toy::{Input, Sum, Toy, Words, answer};
use reviewer_engine::{Machine, Planned};
use std::collections::{BTreeMap, VecDeque};

/// Numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % most
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(u64::try_from(last + 1).unwrap());
            items.swap(last, usize::try_from(other).unwrap());
        }
    }
}

/// A delivery of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) input: Input,
}

/// Deliveries in the order in which they are made. Some come several times.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) inputs: Vec<Given>,
    pub(crate) order: Vec<Given>,
}

impl Plan {
    /// Between `least` and twice as many inputs, on three keys.
    pub(crate) fn draw(dice: &mut Dice, least: u64) -> Self {
        let count = least + dice.below(least + 1);
        let inputs: Vec<Given> = (0..count)
            .map(|n| Given {
                key: format!("1/{}", dice.below(3)),
                id: format!("d{n}"),
                input: input(dice),
            })
            .collect();
        let mut order = inputs.clone();
        for _ in 0..dice.below(least) {
            order.push(inputs[usize::try_from(dice.below(count)).unwrap()].clone());
        }
        dice.shuffle(&mut order);
        Self { inputs, order }
    }
}

fn input(dice: &mut Dice) -> Input {
    let add = i64::try_from(dice.below(19)).unwrap() - 9;
    match dice.below(4) {
        0 => Input::Add(add),
        1 => Input::Later {
            after_ms: dice.below(300),
            add,
        },
        _ => Input::Say(Words {
            text: ["a", "b", "sleep 5", "sleep 40", "fail 1", "fail 2", GONE]
                [usize::try_from(dice.below(7)).unwrap()]
            .to_owned(),
            slow: dice.below(4) == 0,
            then: u32::try_from(dice.below(3)).unwrap(),
        }),
    }
}

/// The end of a key: its state, the number of its effects, and how often they are executed if no process dies.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct End {
    pub(crate) state: Sum,
    pub(crate) effects: usize,
    pub(crate) executions: usize,
}

/// The end of each key. Words of inputs are sorted, because inputs of one key may come in any order.
pub(crate) fn ends(inputs: &[Given]) -> BTreeMap<String, End> {
    let mut ends: BTreeMap<String, End> = BTreeMap::new();
    for given in inputs {
        let end = ends.entry(given.key.clone()).or_default();
        let mut open = VecDeque::from([given.input.clone()]);
        while let Some(input) = open.pop_front() {
            let step = Toy.step(&end.state, &input, 0);
            end.state = step.state;
            for planned in step.planned {
                if let Planned::Effect { effect, .. } = &planned {
                    end.effects += 1;
                    end.executions += 1 + failures(&effect.text);
                }
                open.push_back(outcome(planned));
            }
        }
        end.state = sorted(std::mem::take(&mut end.state));
    }
    ends
}

fn outcome(planned: Planned<Words, Input>) -> Input {
    match planned {
        Planned::Timer { input, .. } => input,
        Planned::Effect { seq, effect, .. } if effect.text == GONE => {
            Toy.failed(seq, &effect, GONE_MESSAGE)
        }
        Planned::Effect { effect, .. } => answer(effect),
    }
}

pub(crate) fn sorted(mut sum: Sum) -> Sum {
    sum.seen.sort();
    sum
}
