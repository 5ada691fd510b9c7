use super::super::lane_queue::ROOM;
use super::{Gate, Sleeper};
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
    let working = gate.enter("1/1", Lane::Fast).await.unwrap();
    let mut waiting = Box::pin(gate.enter("1/1", Lane::Fast));
    assert!((&mut waiting).now_or_never().is_none());
    let ahead = gate.enter("1/1", Lane::Slow).now_or_never();
    assert!(ahead.is_some());
    assert!(gate.enter("1/1", Lane::Slow).now_or_never().is_none());
    drop(working);
    let next = (&mut waiting).now_or_never().unwrap();
    assert!(gate.enter("1/1", Lane::Slow).now_or_never().is_some());
    drop((next, ahead));
}

#[tokio::test]
async fn one_that_gives_up_waiting_holds_nobody_back() {
    let gate = gate(1, 8);
    let working = gate.enter("1/1", Lane::Fast).await.unwrap();
    let mut waiting = Box::pin(gate.enter("1/1", Lane::Fast));
    assert!((&mut waiting).now_or_never().is_none());
    let ahead = gate.enter("1/1", Lane::Slow).await.unwrap();
    assert!(gate.enter("1/1", Lane::Slow).now_or_never().is_none());
    drop(waiting);
    let beside = gate.enter("1/1", Lane::Slow).now_or_never().unwrap();
    assert!(gate.emptied().now_or_never().is_none());
    drop((working, ahead, beside));
    assert!(gate.emptied().now_or_never().is_some());
}

#[tokio::test]
async fn whoever_finds_no_room_sleeps_and_is_woken_when_a_place_is_given() {
    let gate = gate(1, 1);
    let working = gate.enter("1/0", Lane::Fast).await.unwrap();
    let mut inside: Vec<_> = (0..ROOM)
        .map(|_| Box::pin(gate.enter("2/0", Lane::Fast)))
        .collect();
    for one in &mut inside {
        assert!(one.now_or_never().is_none());
    }
    assert!(gate.enter("1/1", Lane::Fast).await.is_none());
    let sleeper = |ticket: &str| Sleeper {
        lane: Lane::Fast,
        key: "1/1".to_owned(),
        ticket: ticket.to_owned(),
    };
    gate.sleeps(sleeper("own"));
    gate.take_over(sleeper("old"));
    assert!(gate.to_wake().now_or_never().is_none());
    // The other lane has its own room.
    assert!(gate.enter("3/1", Lane::Slow).await.is_some());
    drop(working);
    let next = inside.remove(0).await;
    assert_eq!(gate.to_wake().await, [sleeper("own")]);
    assert!(gate.to_wake().now_or_never().is_none());
    drop(next);
}
