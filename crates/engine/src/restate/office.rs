//! Executes effects in this process: as long as there is a world, at most so many at once, each with its attempts counted.
//! Separate from the handlers, because nothing here knows the protocol of Restate.

use super::client::{Call, Client};
use super::gate::{Gate, Place};
use super::steps::{Acted, Acts, NO_ANSWER, Steps};
use super::wire::{Kept, Order, Outcome, PULL};
use crate::error::EngineError;
use crate::limits::Limits;
use crate::machine::{EffectError, EffectId, Lane};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// An effect that waits for so long gives its connection back to the server, which sends it again.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time after which a slow effect asks again whether a fast one of its key waits behind it.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The reason why an effect was not tried; the server calls again.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotNow {
    #[error("nobody executes effects here now")]
    NoWorld,
    #[error("all places for effects are taken")]
    NoPlace,
    #[error("what has no hurry is held back")]
    HeldBack,
    #[error("the process ends")]
    Ending,
    #[error(transparent)]
    Unreadable(#[from] EngineError),
}

/// A world while its `run` lasts.
#[derive(Clone)]
struct Shift {
    world: Arc<dyn Acts>,
    over: watch::Receiver<bool>,
}

/// The effects of one process.
pub(super) struct Office {
    /// Names the process in journals. An attempt that another one began was ended by a crash.
    pub(super) process: String,
    limits: Limits,
    steps: Arc<dyn Steps>,
    client: Client,
    shift: watch::Sender<Option<Shift>>,
    gate: Arc<Gate>,
}

impl std::fmt::Debug for Office {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Office").finish_non_exhaustive()
    }
}

/// One attempt.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) key: String,
    pub(super) order: Arc<Order>,
    pub(super) number: u32,
}

impl Office {
    pub(super) fn new(
        process: String,
        limits: Limits,
        steps: Arc<dyn Steps>,
        client: Client,
    ) -> Self {
        Self {
            process,
            limits,
            steps,
            client,
            shift: watch::Sender::new(None),
            gate: Arc::new(Gate::new(&limits)),
        }
    }

    /// Executes effects by this world until `shutdown` ends, and then gives those that run the grace of the limits.
    pub(super) async fn work(
        &self,
        world: Arc<dyn Acts>,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let (end, over) = watch::channel(false);
        self.shift.send_replace(Some(Shift { world, over }));
        shutdown.await;
        self.shift.send_replace(None);
        let grace = Duration::from_millis(self.limits.grace_ms);
        if tokio::time::timeout(grace, self.gate.emptied())
            .await
            .is_err()
        {
            tracing::warn!("effects are left to the next process");
        }
        end.send_replace(true);
    }

    /// Waits for a world and for a place beside the other effects.
    pub(super) async fn enter(&self, key: &str, order: &Order) -> Result<Place, NotNow> {
        let mut shifts = self.shift.subscribe();
        let there = shifts.wait_for(Option::is_some);
        if tokio::time::timeout(PATIENCE, there).await.is_err() {
            return Err(NotNow::NoWorld);
        }
        if order.slow && self.is_held_back(key).await && !self.is_hurried(key, order.seq).await {
            // The server sends it again soon. It keeps no track of what was not begun, so this is no attempt.
            tokio::time::sleep(PATIENCE).await;
            return Err(NotNow::HeldBack);
        }
        let place = self.place(key, order);
        let place = tokio::time::timeout(PATIENCE, place).await;
        place.map_err(|_| NotNow::NoPlace)
    }

    async fn is_held_back(&self, key: &str) -> bool {
        let shift = self.shift.borrow().clone();
        match shift {
            Some(shift) => shift.world.holds_back(key).await.is_some(),
            None => false,
        }
    }

    /// A slow effect counts as fast while a fast one of its key waits behind it, and once it is hurried.
    async fn place(&self, key: &str, order: &Order) -> Place {
        if !order.slow {
            return self.gate.enter(Lane::Fast).await;
        }
        loop {
            let slow = tokio::time::timeout(ASK_EVERY, self.gate.enter(Lane::Slow));
            if let Ok(place) = slow.await {
                return place;
            }
            if self.is_hurried(key, order.seq).await {
                return self.gate.enter(Lane::Fast).await;
            }
        }
    }

    async fn is_hurried(&self, key: &str, seq: u64) -> bool {
        let call = Call {
            what: "for a state",
            service: PULL,
            key,
            handler: "status",
            idempotency: None,
            body: None::<&()>,
        };
        let kept = self.client.with_patience(ASK_EVERY).call(&call).await;
        let kept: Option<Kept> = kept.unwrap_or_default();
        kept.and_then(|kept| kept.last_fast)
            .is_some_and(|last| last >= seq)
    }

    /// Makes an attempt that the process `starter` began, and decides what follows. The place is the caller's for as long as
    /// that is written down.
    pub(super) async fn attempt(
        &self,
        attempt: &Attempt,
        starter: &str,
        place: Option<Place>,
    ) -> Result<(Outcome, Option<Place>), NotNow> {
        let Attempt { key, order, .. } = attempt;
        if starter != self.process {
            let died = EffectError {
                retry_after_ms: Some(0),
                ..EffectError::temporary(NO_ANSWER)
            };
            return Ok((self.outcome(attempt, Err(died))?, None));
        }
        let place = match place {
            Some(place) => place,
            None => self.enter(key, order).await?,
        };
        let acted = self.act(key, order).await?;
        Ok((self.outcome(attempt, acted)?, Some(place)))
    }

    /// Decides what follows from an attempt.
    fn outcome(&self, attempt: &Attempt, acted: Acted) -> Result<Outcome, NotNow> {
        let Attempt { key, order, number } = attempt;
        let error = match acted {
            Ok(input) => return Ok(Outcome::Ended { input }),
            Err(error) => error,
        };
        if error.permanent || *number >= self.limits.attempts {
            let input = self.steps.failed(key, order, &error.message)?;
            return Ok(Outcome::Ended { input: Some(input) });
        }
        let wait = error.retry_after_ms;
        Ok(Outcome::Again {
            wait_ms: wait.unwrap_or_else(|| self.limits.backoff(i64::from(*number))),
            error: error.message,
        })
    }

    async fn act(&self, key: &str, order: &Order) -> Result<Acted, NotNow> {
        let shift = self.shift.borrow().clone();
        let mut shift = shift.ok_or(NotNow::NoWorld)?;
        let id = EffectId {
            key: key.to_owned(),
            seq: order.seq,
        };
        tokio::select! {
            acted = shift.world.execute(id, order.effect.clone()) => Ok(acted?),
            _ = shift.over.wait_for(|over| *over) => Err(NotNow::Ending),
        }
    }
}
