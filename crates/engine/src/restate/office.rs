//! Executes effects in this process: as long as there is a world, at most so many at once, each with its attempts counted.
//! Separate from the handlers, because nothing here knows the protocol of Restate.

use super::client::{Call, Client};
use super::gate::{Gate, Place};
use super::lists;
use super::steps::{Acted, Acts, NO_ANSWER, Steps};
use super::wire::{Entry, Kept, Order, Outcome, PULL};
use crate::error::EngineError;
use crate::limits::Limits;
use crate::machine::{EffectError, EffectId, Lane};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// An effect that waits for so long in the process goes on waiting in the server. Shorter than the silence after which the server
/// takes it back by itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// An effect that nobody has called asks again after the time of a lease, because the process that would call it may be gone. The
/// time doubles with each wait, up to this one.
const LONGEST_WAIT: Duration = Duration::from_mins(10);
/// Those who were called have so long to come before others are.
const BETWEEN_CALLS: Duration = Duration::from_millis(30);

/// The reason why an effect was not tried; the server calls again.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotNow {
    #[error("nobody executes effects here now")]
    NoWorld,
    #[error("all places for effects are taken")]
    NoPlace,
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

/// The place in the server of an effect that waits there.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    /// By which the effect is called.
    pub(super) id: String,
    /// The times that nobody has called it.
    pub(super) waits: u32,
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
        let calling = async {
            self.take_over().await;
            self.call().await;
        };
        tokio::select! {
            () = shutdown => {}
            () = calling => {}
        }
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

    /// Notes the effects that an earlier process would have called.
    async fn take_over(&self) {
        match lists::tickets(&self.client).await {
            Ok(tickets) => {
                for (key, ticket) in tickets {
                    self.gate.take_over(key, ticket);
                }
            }
            // They ask by themselves later.
            Err(error) => tracing::warn!("effects that wait were not found: {error}"),
        }
    }

    /// Calls effects that wait in the server as soon as there is room for them.
    async fn call(&self) {
        loop {
            let called = self.gate.next_called().await;
            let calls = called.iter().map(|id| self.client.resolve(id));
            for told in join_all(calls).await {
                // It asks by itself later.
                if let Err(error) = told {
                    tracing::warn!("an effect that waits was not called: {error}");
                }
            }
            tokio::time::sleep(BETWEEN_CALLS).await;
        }
    }

    /// Waits for a world and for a place beside the other effects. Without room for it, or while it is held back, the effect has
    /// to wait in the server; with its ticket it is called from there.
    pub(super) async fn enter(
        &self,
        key: &str,
        order: &Order,
        ticket: Option<&Ticket>,
    ) -> Result<(Entry, Option<Place>), NotNow> {
        let mut shifts = self.shift.subscribe();
        let there = shifts.wait_for(Option::is_some);
        if tokio::time::timeout(PATIENCE, there).await.is_err() {
            return Err(NotNow::NoWorld);
        }
        let outside = |wait: Duration| {
            let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            Ok((Entry::Outside { longest_ms: ms }, None))
        };
        let mut lane = order.lane();
        // It is told to whoever has a ticket, but perhaps it happened before.
        if lane == Lane::Slow && ticket.is_some() && self.is_hurried(key, order.seq).await {
            lane = Lane::Fast;
        }
        if lane == Lane::Slow
            && let Some(held) = self.held_back(key).await
        {
            return outside(held);
        }
        let place = tokio::time::timeout(PATIENCE, self.gate.enter(lane)).await;
        if let Ok(Some(place)) = place {
            let process = self.process.clone();
            return Ok((Entry::Begun { process }, Some(place)));
        }
        let waits = ticket.map_or(0, |ticket| ticket.waits);
        if let Some(ticket) = ticket {
            self.gate.wait_outside(lane, key, ticket.id.clone());
        }
        let lease = Duration::from_millis(self.limits.lease_ms);
        let longest = lease.saturating_mul(2_u32.saturating_pow(waits));
        outside(longest.min(LONGEST_WAIT))
    }

    /// The time for which a slow effect is held back.
    async fn held_back(&self, key: &str) -> Option<Duration> {
        let shift = self.shift.borrow().clone();
        let wait = shift?.world.holds_back(key).await?;
        Some(Duration::from_millis(wait))
    }

    /// True for a slow effect while a fast one of its key waits behind it, and once it is hurried. It counts as fast then.
    async fn is_hurried(&self, key: &str, seq: u64) -> bool {
        let call = Call {
            what: "for a state",
            service: PULL,
            key,
            handler: "status",
            idempotency: None,
            body: None::<&()>,
        };
        let kept = self.client.with_patience(PATIENCE).call(&call).await;
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
            // The server has taken the effect back after it had begun.
            None => self.again(order).await?,
        };
        let acted = self.act(key, order).await?;
        Ok((self.outcome(attempt, acted)?, Some(place)))
    }

    /// Another place for an attempt that has begun in this process.
    async fn again(&self, order: &Order) -> Result<Place, NotNow> {
        let place = tokio::time::timeout(PATIENCE, self.gate.enter(order.lane())).await;
        place.ok().flatten().ok_or(NotNow::NoPlace)
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
