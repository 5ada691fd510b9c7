//! The machine behind its JSON: what a call of a handler decides, without Restate. Separate, because the handlers carry and
//! this file decides, and because types with parameters cannot be handlers.

use super::wire::{Delivery, Kept, Order, Record, Stepped, Work};
use crate::clock::Clock;
use crate::error::{EngineError, Result};
use crate::limits::Limits;
use crate::machine::{EffectError, EffectId, Lane, Machine, Planned, Step, World};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// The error of an attempt that left none.
pub(super) const NO_ANSWER: &str = "the attempt ended without an answer";
/// Inputs that leave a history with one step, at most.
const DROPPED_AT_ONCE: i64 = 16;

/// A machine without its types.
pub(super) trait Steps: Send + Sync + fmt::Debug {
    fn step(&self, key: &str, kept: Option<&Kept>, delivery: &Delivery) -> Result<Stepped>;

    fn failed(&self, key: &str, order: &Order, error: &str) -> Result<Value>;
}

/// A world without its types.
pub(super) trait Acts: Send + Sync {
    fn execute(&self, id: EffectId, effect: Value) -> BoxFuture<'_, Result<Acted>>;

    fn holds_back<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<u64>>;
}

/// The answer of a world.
pub(super) type Acted = std::result::Result<Option<Value>, EffectError>;

/// A machine, and what its steps need besides.
pub(super) struct Stepper<M> {
    pub(super) machine: Arc<M>,
    pub(super) limits: Limits,
    pub(super) clock: Arc<dyn Clock>,
}

impl<M> fmt::Debug for Stepper<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper").finish_non_exhaustive()
    }
}

impl<M: Machine> Steps for Stepper<M> {
    fn step(&self, key: &str, kept: Option<&Kept>, delivery: &Delivery) -> Result<Stepped> {
        let state = match kept {
            Some(kept) => parse("the state", key, kept.state.clone())?,
            None => M::State::default(),
        };
        let input: M::Input = parse("an input", key, delivery.input.clone())?;
        let now = self.clock.now_ms();
        let mut step = self.machine.step(&state, &input, now);
        step.planned.sort_by_key(Planned::seq);
        let old = kept.map(Numbers::from_kept).unwrap_or_default();
        let numbers = old.after(key, &step)?;
        let work = step.planned.iter().map(|planned| work(key, planned));
        let n = kept.map_or(0, |kept| kept.version) + 1;
        let drop_from = kept.map_or(1, |kept| kept.first);
        let history = i64::try_from(self.limits.history).unwrap_or(i64::MAX);
        let oldest = n.saturating_sub(history).saturating_add(1);
        let phase = self.machine.phase(&step.state);
        Ok(Stepped {
            record: Record {
                n,
                at: now,
                delivery: delivery.id.clone(),
                input: delivery.input.clone(),
                log: step.log,
                phase: phase.clone(),
            },
            drop_from,
            work: work.collect::<Result<_>>()?,
            hurries: old.has_unhurried() && numbers.last_fast >= old.last_slow,
            kept: Kept {
                version: n,
                state: json(key, &step.state)?,
                phase,
                changed: now,
                last: numbers.last,
                last_fast: numbers.last_fast,
                last_slow: numbers.last_slow,
                first: oldest.clamp(drop_from, drop_from + DROPPED_AT_ONCE),
            },
        })
    }

    fn failed(&self, key: &str, order: &Order, error: &str) -> Result<Value> {
        let effect = parse("an effect", key, order.effect.clone())?;
        json(key, &self.machine.failed(order.seq, &effect, error))
    }
}

/// A world, with the machine whose types the trait object has forgotten.
pub(super) struct Acting<M, W> {
    pub(super) world: Arc<W>,
    pub(super) machine: PhantomData<fn() -> M>,
}

impl<M: Machine, W: World<M>> Acts for Acting<M, W> {
    fn execute(&self, id: EffectId, effect: Value) -> BoxFuture<'_, Result<Acted>> {
        Box::pin(async move {
            let effect: M::Effect = parse("an effect", &id.key, effect)?;
            let work = AssertUnwindSafe(self.world.execute(&id, effect));
            let Ok(acted) = work.catch_unwind().await else {
                tracing::error!("the effect {id} panicked");
                return Ok(Err(EffectError::temporary(NO_ANSWER)));
            };
            Ok(match acted {
                Ok(Some(input)) => Ok(Some(json(&id.key, &input)?)),
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            })
        })
    }

    fn holds_back<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<u64>> {
        Box::pin(self.world.holds_back(key))
    }
}

/// The highest numbers of all that was planned, of what is fast, and of what is slow.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    last: Option<u64>,
    last_fast: Option<u64>,
    last_slow: Option<u64>,
}

impl Numbers {
    fn from_kept(kept: &Kept) -> Self {
        Self {
            last: kept.last,
            last_fast: kept.last_fast,
            last_slow: kept.last_slow,
        }
    }

    /// True if a slow effect was planned that nothing has hurried. It may be done.
    fn has_unhurried(self) -> bool {
        self.last_slow > self.last_fast
    }

    /// Numbers grow: a send with one that there was would be dropped without a word.
    fn after<M: Machine>(mut self, key: &str, step: &Step<M>) -> Result<Self> {
        if step.hurries {
            self.last_fast = self.last;
        }
        for planned in &step.planned {
            let seq = planned.seq();
            if self.last.is_some_and(|last| seq <= last) {
                return Err(EngineError::RepeatedEffect {
                    id: format!("{key}/{seq}"),
                });
            }
            self.last = Some(seq);
            match planned {
                Planned::Effect {
                    lane: Lane::Fast, ..
                } => self.last_fast = Some(seq),
                Planned::Effect {
                    lane: Lane::Slow, ..
                } => self.last_slow = Some(seq),
                Planned::Timer { .. } => {}
            }
        }
        Ok(self)
    }
}

fn work<E: Serialize, I: Serialize>(key: &str, planned: &Planned<E, I>) -> Result<Work> {
    Ok(match planned {
        Planned::Effect { seq, effect, lane } => Work::Effect(Order {
            seq: *seq,
            slow: *lane == Lane::Slow,
            effect: json(key, effect)?,
        }),
        Planned::Timer {
            seq,
            after_ms,
            input,
        } => Work::Timer {
            seq: *seq,
            after_ms: *after_ms,
            input: json(key, input)?,
        },
    })
}

pub(super) fn json(key: &str, value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| unreadable("a value", key, &error))
}

pub(super) fn parse<T: DeserializeOwned>(what: &'static str, key: &str, value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| unreadable(what, key, &error))
}

fn unreadable(what: &'static str, key: &str, error: &serde_json::Error) -> EngineError {
    EngineError::Unreadable {
        what,
        key: key.to_owned(),
        why: error.to_string(),
    }
}
