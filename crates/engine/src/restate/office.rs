//! Executes effects in this process: as long as there is a world, at most so many at once, each with its attempts counted.
//! Separate from the handlers, because nothing here knows the protocol of Restate.

use super::client::{Call, Client};
use super::gate::{Gate, Place, Sleeper};
use super::lists;
use super::steps::{Acted, Acts, NO_ANSWER, Steps};
use super::wire::{Kept, Order, Outcome, PULL, Ticket, Turn, lane};
use crate::error::EngineError;
use crate::limits::Limits;
use crate::machine::{EffectError, EffectId, Lane};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// An effect that waits for so long in the process goes on waiting in the server. Shorter than the silence after which the server
/// takes it back by itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// An effect that nobody has woken asks again after the time of a lease, because the process that would wake it may be gone. The
/// time doubles with each wait, up to this one.
const LONGEST_WAIT: Duration = Duration::from_mins(4);

/// The reason why an effect was not tried; the server calls again.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotNow {
    #[error("nobody executes effects here now")]
    NoWorld,
    #[error("all places for effects are taken")]
    NoPlace,
    #[error("the state is not known: {0}")]
    NoState(String),
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
        let waking = async { tokio::join!(self.take_over(), self.wake()) };
        tokio::select! {
            () = shutdown => {}
            _ = waking => {}
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

    /// Notes the effects that an earlier process would have woken.
    async fn take_over(&self) {
        match lists::tickets(&self.client).await {
            Ok(tickets) => {
                for (key, ticket) in tickets {
                    self.gate.take_over(sleeper(&key, ticket));
                }
            }
            // They ask by themselves later.
            Err(error) => tracing::warn!("effects that wait were not found: {error}"),
        }
    }

    /// Wakes effects that wait in the server as soon as there is room for them.
    async fn wake(&self) {
        let client = self.client.with_patience(PATIENCE);
        loop {
            let woken = self.gate.to_wake().await;
            let told = join_all(woken.iter().map(|one| client.resolve(&one.ticket))).await;
            if let Some(error) = told.iter().find_map(|one| one.as_ref().err()) {
                tracing::warn!("effects that wait were not woken: {error}");
            }
            for (sleeper, told) in woken.into_iter().zip(told) {
                if told.is_err() {
                    self.gate.sleeps(sleeper);
                }
            }
        }
    }

    /// Waits for a world and for a place beside the other effects. Without room for it, or while it is held back, the effect has
    /// to wait in the server, where it is woken by its ticket.
    pub(super) async fn enter(
        &self,
        key: &str,
        order: &Order,
        ticket: Option<(Ticket, u32)>,
    ) -> Result<(Turn, Option<Place>), NotNow> {
        let end = Instant::now() + PATIENCE;
        let mut shifts = self.shift.subscribe();
        let there = timeout_at(end, shifts.wait_for(Option::is_some)).await;
        there
            .map_err(|_| NotNow::NoWorld)?
            .map_err(|_| NotNow::NoWorld)?;
        let mut lane = order.lane();
        // Whoever has a ticket is woken by that, but perhaps it happened before.
        if lane == Lane::Slow && ticket.is_some() && self.is_hurried(key, order.seq).await? {
            lane = Lane::Fast;
        }
        if lane == Lane::Slow {
            let held = timeout_at(end, self.held_back(key)).await;
            if let Some(held) = held.map_err(|_| NotNow::NoPlace)? {
                return Ok((later(held), None));
            }
        }
        let place = timeout_at(end, self.gate.enter(key, lane)).await;
        if let Ok(Some(place)) = place {
            return Ok((Turn::Begun(self.process.clone()), Some(place)));
        }
        let Some((ticket, waits)) = ticket else {
            return Ok((later(Duration::ZERO), None));
        };
        self.gate.sleeps(Sleeper {
            lane,
            ..sleeper(key, ticket)
        });
        let lease = Duration::from_millis(self.limits.lease_ms);
        let longest = lease.saturating_mul(2_u32.saturating_pow(waits));
        Ok((later(longest.min(LONGEST_WAIT)), None))
    }

    /// The time for which a slow effect is held back.
    async fn held_back(&self, key: &str) -> Option<Duration> {
        let shift = self.shift.borrow().clone();
        let wait = shift?.world.holds_back(key).await?;
        Some(Duration::from_millis(wait))
    }

    /// True for a slow effect while a fast one of its key waits behind it, and once it is hurried. It counts as fast then.
    async fn is_hurried(&self, key: &str, seq: u64) -> Result<bool, NotNow> {
        let call = Call {
            what: "for a state",
            service: PULL,
            key,
            handler: "status",
            idempotency: None,
            body: None::<&()>,
        };
        let kept = self.client.with_patience(PATIENCE).call(&call).await;
        let kept: Option<Kept> = kept.map_err(|error| NotNow::NoState(error.to_string()))?;
        let last_fast = kept.and_then(|kept| kept.last_fast);
        Ok(last_fast.is_some_and(|last| last >= seq))
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
            None => self.again(key).await?,
        };
        let acted = self.act(key, order).await?;
        Ok((self.outcome(attempt, acted)?, Some(place)))
    }

    /// Another place for an attempt that has begun in this process, however it waited before.
    async fn again(&self, key: &str) -> Result<Place, NotNow> {
        let place = timeout(PATIENCE, self.gate.enter(key, Lane::Fast)).await;
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

fn sleeper(key: &str, ticket: Ticket) -> Sleeper {
    Sleeper {
        lane: lane(ticket.slow),
        key: key.to_owned(),
        ticket: ticket.id,
    }
}

fn later(longest: Duration) -> Turn {
    Turn::Later {
        longest_ms: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX),
    }
}
