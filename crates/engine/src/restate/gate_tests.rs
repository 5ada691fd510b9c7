use super::Gate;
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
    let working = gate.enter(Lane::Fast).await;
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
    let working = gate.enter(Lane::Fast).await;
    let mut waiting = Box::pin(gate.enter(Lane::Fast));
    assert!((&mut waiting).now_or_never().is_none());
    let ahead = gate.enter(Lane::Slow).await;
    assert!(gate.enter(Lane::Slow).now_or_never().is_none());
    drop(waiting);
    let beside = gate.enter(Lane::Slow).now_or_never().unwrap();
    assert!(gate.emptied().now_or_never().is_none());
    drop((working, ahead, beside));
    assert!(gate.emptied().now_or_never().is_some());
}
