//! Executes one leased effect: heartbeats while the world works, then its outcome in one transaction.

use crate::delivery::{Delivery, apply, caused_by, parse};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::limits::after;
use crate::machine::{EffectError, Lane, Machine, World};
use crate::queue::{self, Task};
use crate::retry::Retry;
use crate::session::boundary;
use std::time::Duration;

/// A heartbeat may take so long at least, however short the lease is.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);
/// The error of an attempt that left none.
const NO_ANSWER: &str = "the attempt ended without an answer";

/// Executes a task and ends it, or gives it back. One whose key cannot go on is set aside; errors of the store leave it
/// to its lease.
pub(crate) async fn work<M: Machine, W: World<M>>(
    engine: &Engine<M>,
    world: &W,
    task: Task,
    lane: Lane,
) {
    let ended = match attempt(engine, world, &task, lane).await {
        Err(error) if error.is_of_one_key() => set_aside(engine, &task, &error).await,
        ended => ended,
    };
    if let Err(error) = ended {
        tracing::error!("the effect {} is left to its lease: {error}", task.id);
    }
}

async fn attempt<M: Machine, W: World<M>>(
    engine: &Engine<M>,
    world: &W,
    task: &Task,
    lane: Lane,
) -> Result<()> {
    let effect = parse("an effect", &task.id.key, &task.work)?;
    if task.attempt > i64::from(engine.limits.attempts) {
        let error = match task.error.as_str() {
            "" => NO_ANSWER,
            error => error,
        };
        return give_up(engine, task, &effect, error).await;
    }
    if lane == Lane::Slow && held_back(engine, world, task).await? {
        return Ok(());
    }
    boundary();
    let executed = tokio::select! {
        executed = world.execute(&task.id, effect) => executed,
        () = lost_lease(engine, task) => {
            tracing::warn!("the lease of the effect {} was lost", task.id);
            return Ok(());
        }
    };
    boundary();
    match executed {
        Ok(input) => done(engine, task, input).await,
        Err(error) => failed(engine, task, &error).await,
    }
}

/// Gives a slow effect back, if the world holds it back and nothing hurries it.
async fn held_back<M: Machine, W: World<M>>(
    engine: &Engine<M>,
    world: &W,
    task: &Task,
) -> Result<bool> {
    let Some(wait) = world.holds_back(&task.id.key).await else {
        return Ok(false);
    };
    let mut session = engine.store.session().await?;
    let due = after(engine.now(&mut session).await?, wait);
    queue::hold_back(&mut session, task, due).await
}

/// Lengthens the lease again and again. Ends when it is lost, or when it has passed without a heartbeat: then another worker
/// may have it.
async fn lost_lease<M: Machine>(engine: &Engine<M>, task: &Task) {
    let _hold = engine.clock.hold();
    let lease = engine.limits.lease_ms;
    let patience = Duration::from_millis(lease).max(LEAST_PATIENCE);
    let mut passed = after(engine.clock.now_ms(), lease);
    loop {
        let asked = engine.clock.now_ms();
        engine
            .clock
            .sleep_until(after(asked, (lease / 3).max(1)))
            .await;
        let begun = engine.clock.now_ms();
        // A server that vanished from the network leaves the question without an answer.
        let beat = tokio::time::timeout(patience, beat(engine, task, lease)).await;
        match beat.unwrap_or(Err(sqlx::Error::PoolTimedOut.into())) {
            Ok(true) => passed = after(begun, lease),
            Ok(false) => return,
            Err(error) => {
                tracing::warn!("no heartbeat of the effect {}: {error}", task.id);
                if engine.clock.now_ms() >= passed {
                    return;
                }
            }
        }
    }
}

async fn beat<M: Machine>(engine: &Engine<M>, task: &Task, lease: u64) -> Result<bool> {
    let mut session = engine.store.session().await?;
    let until = after(engine.now(&mut session).await?, lease);
    queue::heartbeat(&mut session, task, until).await
}

/// Delivers the task's input and removes the task, both or neither. Attempts end with the lease.
pub(crate) async fn done<M: Machine>(
    engine: &Engine<M>,
    task: &Task,
    input: Option<M::Input>,
) -> Result<()> {
    let mut retry = Retry::new(&engine.store, &*engine.clock, engine.limits.lease_ms);
    loop {
        match done_once(engine, task, input.as_ref()).await {
            Ok(()) => return Ok(()),
            Err(error) => retry.after(error).await?,
        }
    }
}

async fn done_once<M: Machine>(
    engine: &Engine<M>,
    task: &Task,
    input: Option<&M::Input>,
) -> Result<()> {
    let mut session = engine.store.begin().await?;
    // The row of the key is locked before the task's, in the order of an input that hurries its effects.
    if let Some(input) = input {
        let delivery = Delivery {
            key: &task.id.key,
            id: caused_by(&task.id.to_string()),
            input,
            now: engine.now(&mut session).await?,
        };
        apply(&mut session, &engine.machine, &delivery).await?;
    }
    if !queue::remove(&mut session, task).await? {
        tracing::warn!("the outcome of the effect {} came too late", task.id);
        return Ok(());
    }
    session.commit().await
}

async fn failed<M: Machine>(engine: &Engine<M>, task: &Task, error: &EffectError) -> Result<()> {
    if error.permanent || task.attempt >= i64::from(engine.limits.attempts) {
        let effect = parse("an effect", &task.id.key, &task.work)?;
        return give_up(engine, task, &effect, &error.message).await;
    }
    let wait = error.retry_after_ms;
    let wait = wait.unwrap_or_else(|| engine.limits.backoff(task.attempt));
    postpone(engine, task, wait, &error.message).await
}

/// Gives a task back for so long.
async fn postpone<M: Machine>(
    engine: &Engine<M>,
    task: &Task,
    wait: u64,
    error: &str,
) -> Result<()> {
    let mut retry = Retry::new(&engine.store, &*engine.clock, engine.limits.lease_ms);
    loop {
        let postponed = async {
            let mut session = engine.store.session().await?;
            let due = after(engine.now(&mut session).await?, wait);
            queue::postpone(&mut session, task, due, error).await
        };
        match postponed.await {
            Ok(_) => return Ok(()),
            Err(error) => retry.after(error).await?,
        }
    }
}

async fn give_up<M: Machine>(
    engine: &Engine<M>,
    task: &Task,
    effect: &M::Effect,
    error: &str,
) -> Result<()> {
    let input = engine.machine.failed(task.id.seq, effect, error);
    done(engine, task, Some(input)).await
}

/// Keeps a task that this version cannot read, or whose state it cannot read, for the version that wrote it.
pub(crate) async fn set_aside<M: Machine>(
    engine: &Engine<M>,
    task: &Task,
    error: &EngineError,
) -> Result<()> {
    tracing::error!("{error}");
    let wait = engine.limits.longest_backoff_ms;
    postpone(engine, task, wait, &error.to_string()).await
}
