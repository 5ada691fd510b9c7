use super::{Gate, ROOM};
use crate::limits::Limits;
use crate::machine::Lane;
use futures_util::FutureExt;
use std::sync::Arc;

fn gate(at_once: usize, slow_at_once: usize) -> Arc<Gate> {
    Arc::new(Gate::new(&Limits {
        at_once,
        slow_at_once,
        ..Limits::default()
    }))
}

#[tokio::test]
async fn one_slow_effect_at_most_starts_ahead_of_a_fast_one_that_waits() {
    let gate = gate(1, 8);
    let working = gate.enter(Lane::Fast).await.unwrap();
    let mut waiting = Box::pin(gate.enter(Lane::Fast));
    assert!((&mut waiting).now_or_never().is_none());
    let ahead = gate.enter(Lane::Slow).now_or_never();
    assert!(ahead.is_some());
    assert!(gate.enter(Lane::Slow).now_or_never().is_none());
    drop(working);
    let next = (&mut waiting).now_or_never().unwrap();
    assert!(gate.enter(Lane::Slow).now_or_never().is_some());
    drop((next, ahead));
}

#[tokio::test]
async fn one_that_gives_up_waiting_holds_nobody_back() {
    let gate = gate(1, 8);
    let working = gate.enter(Lane::Fast).await.unwrap();
    let mut waiting = Box::pin(gate.enter(Lane::Fast));
    assert!((&mut waiting).now_or_never().is_none());
    let ahead = gate.enter(Lane::Slow).await.unwrap();
    assert!(gate.enter(Lane::Slow).now_or_never().is_none());
    drop(waiting);
    let beside = gate.enter(Lane::Slow).now_or_never().unwrap();
    assert!(gate.emptied().now_or_never().is_none());
    drop((working, ahead, beside));
    assert!(gate.emptied().now_or_never().is_some());
}

#[tokio::test]
async fn those_without_room_wait_outside_and_are_called_in_turn_once() {
    let gate = gate(1, 1);
    let working = gate.enter(Lane::Fast).await.unwrap();
    let mut inside: Vec<_> = (0..ROOM)
        .map(|_| Box::pin(gate.enter(Lane::Fast)))
        .collect();
    for one in &mut inside {
        assert!(one.now_or_never().is_none());
    }
    assert!(gate.enter(Lane::Fast).await.is_none());
    for (key, ticket) in [("1/1", "a"), ("1/2", "b"), ("1/3", "c"), ("1/1", "d")] {
        gate.wait_outside(Lane::Fast, key, ticket.to_owned());
    }
    assert!(gate.next_called().now_or_never().is_none());
    drop(inside.split_off(ROOM - 3));
    assert_eq!(
        gate.next_called().await,
        ["d", "b"],
        "two for one that began"
    );
    assert!(gate.next_called().now_or_never().is_none());
    drop((inside, working));
    assert_eq!(gate.next_called().await, ["c"]);
    assert!(gate.next_called().now_or_never().is_none());
}

#[tokio::test]
async fn a_full_lane_leaves_the_other_one_its_room() {
    let gate = gate(1, 1);
    let working = gate.enter(Lane::Slow).await.unwrap();
    let mut inside: Vec<_> = (0..ROOM)
        .map(|_| Box::pin(gate.enter(Lane::Slow)))
        .collect();
    for one in &mut inside {
        assert!(one.now_or_never().is_none());
    }
    assert!(gate.enter(Lane::Slow).await.is_none());
    assert!(gate.enter(Lane::Fast).await.is_some());
    drop((inside, working));
}
