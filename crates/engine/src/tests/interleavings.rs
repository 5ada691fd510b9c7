//! Any order of concurrent, repeated deliveries, with restarts and failing attempts, ends as a run one after another.

use super::toy::{
    Input, Mouth, Place, Running, Sum, Toy, ToyEngine, Words, answer, deliver, settle,
};
use crate::{EffectError, Machine, Planned};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        (-9_i64..9).prop_map(Input::Add),
        (0_u64..5_000, -9_i64..9).prop_map(|(after_ms, add)| Input::Later { after_ms, add }),
        ("[a-d]", any::<bool>(), 0_u32..3).prop_map(|(text, slow, then)| Input::Say(Words {
            text,
            slow,
            then
        })),
    ]
}

/// Inputs with their keys, and the order of their deliveries: some of them several times.
fn plan() -> impl Strategy<Value = (Vec<(u8, Input)>, Vec<usize>)> {
    prop::collection::vec((0_u8..3, input()), 1..12).prop_flat_map(|inputs| {
        let all: Vec<usize> = (0..inputs.len()).collect();
        let again = prop::collection::vec(0..inputs.len(), 0..8);
        let order = again.prop_flat_map(move |again| {
            let order: Vec<usize> = all.iter().copied().chain(again).collect();
            Just(order).prop_shuffle()
        });
        (Just(inputs), order)
    })
}

/// The same inputs without a store, one after another.
fn sequential(inputs: &[(u8, Input)]) -> BTreeMap<String, Sum> {
    let mut states: BTreeMap<String, Sum> = BTreeMap::new();
    for (key, input) in inputs {
        let state = states.entry(format!("1/{key}")).or_default();
        let mut open = VecDeque::from([input.clone()]);
        while let Some(input) = open.pop_front() {
            let step = Toy.step(state, &input, 0);
            *state = step.state;
            open.extend(step.planned.into_iter().map(|planned| match planned {
                Planned::Effect { effect, .. } => answer(effect),
                Planned::Timer { input, .. } => input,
            }));
        }
    }
    states
        .into_iter()
        .map(|(key, sum)| (key, sorted(sum)))
        .collect()
}

fn sorted(mut sum: Sum) -> Sum {
    sum.seen.sort();
    sum
}

async fn deliver_all(engine: &ToyEngine, inputs: &[(u8, Input)], order: &[usize]) {
    let callers: Vec<_> = order
        .iter()
        .map(|n| {
            let (engine, (key, input)) = (Arc::clone(engine), inputs[*n].clone());
            let (key, id) = (format!("1/{key}"), format!("d{n}"));
            tokio::spawn(async move { deliver(&engine, &key, &id, input).await })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

/// Half of the deliveries, a sudden end, the other half.
async fn interleaved(inputs: &[(u8, Input)], order: &[usize]) -> BTreeMap<String, Sum> {
    let place = Place::new();
    let mouth = Arc::new(Mouth {
        errors: Mutex::new(BTreeMap::from([
            ("a".to_owned(), vec![EffectError::temporary("busy"); 2]),
            ("b".to_owned(), vec![EffectError::temporary("busy")]),
        ])),
        ..Mouth::default()
    });
    let (before, after) = order.split_at(order.len() / 2);
    let engine = place.open().await;
    let running = Running::start(&engine, &mouth);
    deliver_all(&engine, inputs, before).await;
    drop(engine);
    running.kill().await;
    let engine = place.open().await;
    let running = Running::start(&engine, &mouth);
    deliver_all(&engine, inputs, after).await;
    running.stop_with(&engine).await;
    settle(engine, &mouth, &place.clock).await;

    let engine = place.open().await;
    let mut states = BTreeMap::new();
    for listed in engine.list(&crate::Filter::default()).await.unwrap() {
        let kept = engine.status(&listed.key).await.unwrap().unwrap();
        let replayed = engine.replay(&listed.key).await.unwrap().unwrap();
        assert_eq!(replayed, kept.state);
        states.insert(listed.key, sorted(kept.state));
    }
    assert_eq!(engine.backlog().await.unwrap(), crate::Backlog::default());
    states
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_ends_as_a_sequential_run((inputs, order) in plan()) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let states = runtime.block_on(interleaved(&inputs, &order));
        prop_assert_eq!(states, sequential(&inputs));
    }
}
