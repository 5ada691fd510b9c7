//! The duties of every engine while nobody dies. Each check has a store of its own.

use crate::diary::{Diary, SLEEP, judge, lines};
use crate::model::{Dice, Given, Plan, ends, sorted};
use crate::stage::{Stage, limits};
use crate::subject::{Node, Subject};
use crate::toy::{Input, Words, say};
use futures_util::future::join_all;
use reviewer_engine::Limits;
use std::collections::BTreeMap;

/// Sequences of inputs, delivered at the same time, some of them again, by all nodes: the states are those of the model,
/// and every effect was executed as often as it should be.
pub(crate) async fn sequences<S: Subject>(subject: &S, seed: u64) {
    let mut dice = Dice::new(seed);
    let plan = Plan::draw(&mut dice, 12);
    let stage = Stage::<S>::set(subject, limits()).await;
    let working = stage.work();
    let (before, after) = plan.order.split_at(plan.order.len() / 2);
    stage.deliver_all(before).await;
    stage.deliver_all(after).await;
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&plan.inputs, 0).await;
    let store = stage.store.clone();
    stage.close().await;
    subject.remove(&store).await;
}

/// A delivery counts once, wherever and however often it arrives, before and after a restart.
pub(crate) async fn dedupe<S: Subject>(subject: &S) {
    let stage = Stage::<S>::set(subject, limits()).await;
    let input = Input::Add(5);
    let answers = join_all((0..32).map(|n| stage.node(n).deliver("1/7", "guid", &input))).await;
    let fresh = answers.into_iter().filter(|one| *one == Ok(false)).count();
    assert_eq!(fresh, 1);
    let stage = stage.restart().await;
    assert_eq!(stage.node(1).deliver("1/7", "guid", &input).await, Ok(true));
    let (version, sum) = stage.state("1/7").await;
    assert_eq!((version, sum.total), (1, 5));
    stage.close().await;
}

/// A key has one writer at a time, so no input is stepped on an old state.
pub(crate) async fn one_writer<S: Subject>(subject: &S) {
    let stage = Stage::<S>::set(subject, limits()).await;
    let given: Vec<Given> = (0..64)
        .map(|n| Given {
            key: format!("1/{}", n % 2),
            id: format!("d{n}"),
            input: Input::Add(1),
        })
        .collect();
    stage.deliver_all(&given).await;
    for key in ["1/0", "1/1"] {
        let (version, sum) = stage.state(key).await;
        assert_eq!((version, sum.total, sum.seen.len()), (32, 32, 32));
    }
    stage.close().await;
}

/// Effects of a key are executed in their order and one at a time, those of other keys meanwhile.
pub(crate) async fn order<S: Subject>(subject: &S) {
    let stage = Stage::<S>::set(subject, limits()).await;
    let given: Vec<Given> = (0..24)
        .map(|n| Given {
            key: format!("1/{}", n % 8),
            id: format!("d{n}"),
            input: say(&format!("{SLEEP}{}", 5 + n % 3)),
        })
        .collect();
    stage.deliver_all(&given).await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&given, 0).await;
    let mut orders: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in lines(&stage.diary()).into_iter().filter(|line| line.begin) {
        orders.entry(line.key).or_default().push(line.seq);
    }
    assert_eq!(orders.len(), 8);
    assert!(orders.values().all(|seqs| *seqs == [1, 2, 3]), "{orders:?}");
    stage.close().await;
}

/// Timers outlive a restart, and each fires once. The earlier one of a key fires first.
pub(crate) async fn timers<S: Subject>(subject: &S) {
    let stage = Stage::<S>::set(subject, limits()).await;
    let mut given: Vec<Given> = (0..40_u64).map(|n| later(n, 20 * (n % 7), "1/1")).collect();
    given.push(later(90, 2_000, "1/2"));
    given.push(later(91, 600, "1/2"));
    stage.deliver_all(&given).await;
    let working = stage.work();
    stage.stop(working).await;
    let stage = stage.restart().await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&given, 0).await;
    let (_, sum) = stage.state("1/2").await;
    let mut fired = sum.seen.iter().filter(|word| word.starts_with("add"));
    assert_eq!(fired.next().unwrap(), "add 91");
    assert_eq!(fired.next().unwrap(), "add 90");
    stage.close().await;
}

fn later(n: u64, after_ms: u64, key: &str) -> Given {
    Given {
        key: key.to_owned(),
        id: format!("d{n}"),
        input: Input::Later {
            after_ms,
            add: i64::try_from(n).unwrap(),
        },
    }
}

/// An effect that takes longer than its lease is executed once, while other nodes look for work.
pub(crate) async fn long_effects<S: Subject>(subject: &S) {
    let limits = Limits {
        lease_ms: 1_500,
        ..limits()
    };
    let stage = Stage::<S>::set(subject, limits).await;
    let given: Vec<Given> = (0..3)
        .map(|n| Given {
            key: format!("1/{n}"),
            id: format!("d{n}"),
            input: Input::Say(Words {
                text: format!("{SLEEP}4000"),
                slow: n == 0,
                then: 0,
            }),
        })
        .collect();
    stage.deliver_all(&given).await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&given, 0).await;
    stage.close().await;
}

impl<S: Subject> Stage<S> {
    /// Compares the stage with the model. So many effects may have been at work when something died.
    pub(crate) async fn judge(&self, inputs: &[Given], interrupted: usize) {
        let executed = judge(&lines(&self.diary()));
        for (key, end) in ends(inputs) {
            let (version, state) = self.state(&key).await;
            let state = sorted(state);
            assert_eq!(usize::try_from(version), Ok(state.seen.len()));
            assert_eq!(state, end.state, "{key}");
            let counts = executed.iter().filter(|((of, _), _)| *of == key);
            let counts: Vec<usize> = counts.map(|(_, count)| *count).collect();
            assert_eq!(counts.len(), end.effects, "{key}: {executed:?}");
            let all: usize = counts.iter().sum();
            let most = end.executions + interrupted;
            assert!(all >= end.executions && all <= most, "{key}: {executed:?}");
        }
    }
}

/// A world for a node.
pub(crate) fn world(stage: &std::path::Path, owner: &str) -> std::sync::Arc<Diary> {
    std::sync::Arc::new(Diary::new(stage, owner))
}
