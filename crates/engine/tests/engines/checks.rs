//! The duties of every engine while nobody dies. Each check has a store of its own.

use crate::diary::{Diary, HELD, SLEEP, judge, lines, reserve};
use crate::model::{Dice, Given, Plan, ends, sorted};
use crate::stage::{Stage, limits, until};
use crate::subject::{Node, Subject};
use crate::toy::{Input, Words, say};
use futures_util::future::join_all;
use reviewer_engine::Limits;
use std::collections::BTreeMap;
use std::time::Duration;

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

/// Several nodes want a session, which is a cell: one of them gets it, and whoever comes from an old version gets nothing. It
/// outlives a restart.
pub(crate) async fn sessions<S: Subject>(subject: &S) {
    const ROUNDS: i64 = 8;
    let stage = Stage::<S>::set(subject, limits()).await;
    for (round, seen) in (0..).zip(0..ROUNDS) {
        let texts: Vec<String> = (0..8).map(|n| format!("by {n} in {seen}")).collect();
        let all = (0..8).zip(&texts);
        let all = all.map(|(n, text)| stage.node(n).change_cell("session/1", seen, Some(text)));
        let changed = join_all(all).await;
        let winners: Vec<usize> = (0..8).filter(|n| changed[*n]).collect();
        let [winner] = winners[..] else {
            panic!("{winners:?} in {seen}");
        };
        let expected = Some((seen + 1, texts[winner].clone()));
        assert_eq!(stage.node(round).cell("session/1").await, expected);
    }
    let stage = stage.restart().await;
    assert!(
        !stage
            .node(0)
            .change_cell("session/1", ROUNDS - 1, None)
            .await
    );
    assert!(stage.node(1).change_cell("session/1", ROUNDS, None).await);
    assert_eq!(stage.node(0).cell("session/1").await, None);
    stage.close().await;
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

/// Slow effects that the world holds back wait, and are tried once when it lets them go. An input that hurries their key ends the
/// wait, and nothing else waits for them.
pub(crate) async fn holding_back<S: Subject>(subject: &S) {
    let limits = Limits {
        attempts: 1,
        ..limits()
    };
    let stage = Stage::<S>::set(subject, limits).await;
    let reserve = reserve(&stage.diary());
    std::fs::write(&reserve, "").unwrap();
    let slow = |key: &str| Given {
        key: key.to_owned(),
        id: key.to_owned(),
        input: Input::Say(Words {
            text: format!("{SLEEP}1"),
            slow: true,
            then: 0,
        }),
    };
    let (held, hurried) = (format!("{HELD}1"), format!("{HELD}2"));
    let mut given = vec![slow(&held), slow(&hurried), slow("1/1")];
    stage.deliver_all(&given).await;
    let working = stage.work();
    let begun = |key: &str| lines(&stage.diary()).iter().any(|line| line.key == key);
    until("an effect that is not held back", || begun("1/1")).await;
    assert!(!begun(&held) && !begun(&hurried));
    let hurry = Given {
        key: hurried.clone(),
        id: "hurry".to_owned(),
        input: Input::Add(1),
    };
    stage.deliver_all(std::slice::from_ref(&hurry)).await;
    given.push(hurry);
    until("the hurried effect", || begun(&hurried)).await;
    assert!(!begun(&held));
    std::fs::remove_file(&reserve).unwrap();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&given, 0).await;
    stage.close().await;
}

/// A key that has been still for long and has nothing to do can be removed, once; it begins anew then. One with a timer cannot.
pub(crate) async fn forgetting<S: Subject>(subject: &S) {
    let stage = Stage::<S>::set(subject, limits()).await;
    let add = |key: &str, n: u64| Given {
        key: key.to_owned(),
        id: format!("{key} {n}"),
        input: Input::Add(1),
    };
    let say = Given {
        input: say(&format!("{SLEEP}1")),
        ..add("1/1", 0)
    };
    stage.deliver_all(&[say]).await;
    stage.deliver_all(&[add("1/1", 1), add("1/2", 1)]).await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.deliver_all(&[later(3, 600_000, "1/3")]).await;
    let (seen, _) = stage.state("1/1").await;
    assert_eq!(seen, 3);
    let kept = stage.node(0).forget("1/1", seen).await;
    assert_eq!(kept, Ok(false), "not still for long");
    // From now on nothing has to be still.
    let limits = Limits {
        inbox_ms: 0,
        ..limits()
    };
    let stage = stage.restart_with(limits).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    for (key, seen) in [("1/1", seen - 1), ("1/3", 1), ("1/4", 0)] {
        assert_eq!(stage.node(0).forget(key, seen).await, Ok(false), "{key}");
    }
    // A question that the server still counts as a call is a reason to keep a key, too.
    let mut attempts = 0;
    while stage.node(1).forget("1/1", seen).await != Ok(true) {
        attempts += 1;
        assert!(attempts < 100);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(stage.node(0).forget("1/1", seen).await, Ok(false));
    assert_eq!(stage.node(1).state("1/1").await, Ok(None));
    stage.deliver_all(&[add("1/1", 2)]).await;
    let (version, sum) = stage.state("1/1").await;
    assert_eq!((version, sum.total), (1, 1));
    let (version, sum) = stage.state("1/2").await;
    assert_eq!((version, sum.total), (1, 1));
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
