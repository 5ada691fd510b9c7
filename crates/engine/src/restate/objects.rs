//! The handlers that a Restate server calls: one virtual object per key for its state, and one for its effects.
//!
//! Effects are a virtual object, too, and not a stateless service: calls of one key then wait for each other, in the order in
//! which they were sent, which is that of their numbers. So the effects of a key are executed one at a time and in order, as
//! on the other engines, while those of different keys run beside each other. An effect ends by calling `answer` and waiting
//! for it, so the next one of the key starts after the answer was stepped. An effect for which no process has room waits in the
//! server until it is woken; it holds no connection meanwhile, so that a flood leaves them to all others.
//!
//! What was planned also lies in the object until it has ended: the server shows states, but not what waits in its queues, and
//! whoever moves the store has to see both.
//!
//! Handlers decide inside `run`, which keeps the decision in the journal: a call that is repeated, by this version or a
//! later one, applies what was decided. Only the order of the commands below must not change while calls are under way; a
//! handler that needs another order gets another name.

use super::gate::Place;
use super::office::{Attempt, Office};
use super::steps::Steps;
use super::wire::{
    Delivery, EFFECTS, EXECUTE, End, HISTORY, KEPT, Kept, LISTED, Order, Outcome, PENDING, PULL,
    Page, Pending, Record, Restored, Stepped, TICKET, Taken, Ticket, Turn, Work,
};
use crate::delivery::caused_by;
use crate::error::EngineError;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const UNPROCESSABLE: u16 = 422;

fn history_key(n: i64) -> String {
    format!("{HISTORY}{n}")
}

fn pending_key(seq: u64) -> String {
    format!("{PENDING}{seq}")
}

/// The state of one key.
#[derive(Debug, Clone)]
pub(super) struct Pull {
    pub(super) steps: Arc<dyn Steps>,
}

#[restate_sdk::object(name = "opencode-reviewer.pull", client_visibility = "pub(super)")]
impl Pull {
    /// Steps one input from outside. One that the store knows from before it was moved is only noted by the server.
    #[handler]
    async fn deliver(
        &self,
        ctx: ObjectContext<'_>,
        delivery: Json<Delivery>,
    ) -> HandlerResult<Json<Taken>> {
        let caller = delivery.0.caller.clone();
        if delivery.0.known {
            let state = Value::Null;
            return Ok(Json(Taken { caller, state }));
        }
        let state = step(&self.steps, &ctx, delivery.0).await?;
        Ok(Json(Taken { caller, state }))
    }

    /// Ends an effect or a timer, and steps its answer if it has one. Apart from `deliver`, so that nobody outside can
    /// anticipate one, and because the server need not know it for days: it sends each once.
    #[handler(ingress_private = true)]
    async fn answer(&self, ctx: ObjectContext<'_>, end: Json<End>) -> HandlerResult<()> {
        let End { seq, input } = end.into_inner();
        if let Some(input) = input {
            let delivery = Delivery {
                id: caused_by(&format!("{}/{seq}", ctx.key())),
                input,
                caller: String::new(),
                known: false,
            };
            step(&self.steps, &ctx, delivery).await?;
        }
        ctx.clear(&pending_key(seq));
        Ok(())
    }

    /// Takes a part of what another store had for this key: inputs, and with the last part the state and what it waits for.
    /// Nothing is sent, because calls would be bound to the process that imports.
    #[handler]
    #[expect(clippy::unused_async, reason = "as every handler is called")]
    async fn restore(&self, ctx: ObjectContext<'_>, part: Json<Restored>) -> HandlerResult<()> {
        let Restored {
            records,
            kept,
            pending,
        } = part.into_inner();
        for record in records {
            ctx.set(&history_key(record.n), Json(record));
        }
        if let Some(kept) = kept {
            keep(&ctx, kept);
        }
        for pending in pending {
            ctx.set(&pending_key(pending.seq()), Json(pending));
        }
        Ok(())
    }

    /// Sends everything that has not ended, at this time. The server drops what it has already.
    #[handler]
    async fn resume(&self, ctx: ObjectContext<'_>, now: Json<i64>) -> HandlerResult<()> {
        let mut all = Vec::new();
        for key in ctx.get_keys().await? {
            if key.starts_with(PENDING)
                && let Some(Json(pending)) = ctx.get::<Json<Pending>>(&key).await?
            {
                all.push(pending);
            }
        }
        all.sort_by_key(Pending::seq);
        for pending in all {
            send(&ctx, pending, now.0);
        }
        Ok(())
    }

    /// The state, beside whoever writes.
    #[handler]
    async fn status(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Kept>>> {
        let kept = ctx.get::<Json<Kept>>(KEPT).await?;
        Ok(Json(kept.map(Json::into_inner)))
    }

    /// Removes everything of the key, if it is at this version. False: it is kept.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>, seen: Json<i64>) -> HandlerResult<Json<bool>> {
        let kept = ctx.get::<Json<Kept>>(KEPT).await?;
        let is_seen = kept.is_some_and(|Json(kept)| kept.version == seen.0);
        if is_seen {
            ctx.clear_all();
        }
        Ok(Json(is_seen))
    }

    /// One page of inputs, the oldest first. A page, because the server bounds the size of an answer.
    #[handler]
    async fn history(
        &self,
        ctx: SharedObjectContext<'_>,
        page: Json<Page>,
    ) -> HandlerResult<Json<Vec<Record>>> {
        let Some(Json(kept)) = ctx.get::<Json<Kept>>(KEPT).await? else {
            return Ok(Json(Vec::new()));
        };
        let last = page.0.last.min(kept.version);
        let first = last.saturating_sub(page.0.most).saturating_add(1);
        let mut records = Vec::new();
        for n in first.max(kept.first)..=last {
            let key = history_key(n);
            if let Some(Json(record)) = ctx.get::<Json<Record>>(&key).await? {
                records.push(record);
            }
        }
        Ok(Json(records))
    }
}

/// Steps one input, and sends what follows from it; the state.
async fn step(
    steps: &Arc<dyn Steps>,
    ctx: &ObjectContext<'_>,
    delivery: Delivery,
) -> Result<Value, HandlerError> {
    let kept = ctx.get::<Json<Kept>>(KEPT).await?.map(Json::into_inner);
    let (steps, key) = (Arc::clone(steps), ctx.key().to_owned());
    let decide = move || async move {
        match steps.step(&key, kept.as_ref(), &delivery) {
            Ok(stepped) => Ok(Json(stepped)),
            Err(error @ EngineError::RepeatedEffect { .. }) => {
                tracing::error!("{error}");
                let told = error.to_string();
                Err(TerminalError::new_with_code(UNPROCESSABLE, told).into())
            }
            // It waits in the server for a process of the service.
            Err(error @ EngineError::HalfImported { .. }) => Err(HandlerError::from(error)),
            // It waits in the server for a version that can read it.
            Err(error) => {
                tracing::error!("{error}");
                Err(HandlerError::from(error))
            }
        }
    };
    let Json(stepped) = ctx.run(decide).name("step").await?;
    let state = stepped.kept.state.clone();
    write(ctx, stepped);
    Ok(state)
}

fn write(ctx: &ObjectContext<'_>, stepped: Stepped) {
    let Stepped {
        kept,
        record,
        drop_from,
        work,
        hurries,
    } = stepped;
    for n in drop_from..kept.first {
        ctx.clear(&history_key(n));
    }
    let at = record.at;
    ctx.set(&history_key(record.n), Json(record));
    keep(ctx, kept);
    for work in work {
        let pending = Pending { at, work };
        ctx.set(&pending_key(pending.seq()), Json(pending.clone()));
        send(ctx, pending, at);
    }
    if hurries {
        let target = RequestTarget::object(EFFECTS, ctx.key(), "hurry");
        drop(ctx.request::<(), ()>(target, ()).send());
    }
}

fn keep(ctx: &ObjectContext<'_>, kept: Kept) {
    let listed = (kept.version, kept.changed, kept.phase.clone());
    ctx.set(LISTED, Json(listed));
    ctx.set(KEPT, Json(kept));
}

/// Sends without waiting: the server has it with the commit of the call.
fn send(ctx: &ObjectContext<'_>, pending: Pending, now: i64) {
    let key = ctx.key();
    let due = pending.due();
    match pending.work {
        Work::Effect(order) => {
            let id = format!("{key}/{}", order.seq);
            let target = RequestTarget::object(EFFECTS, key, EXECUTE);
            let request = ctx.request::<Json<Order>, ()>(target, Json(order));
            drop(request.idempotency_key(id).send());
        }
        Work::Timer { seq, input, .. } => {
            let end = End {
                seq,
                input: Some(input),
            };
            let target = RequestTarget::object(PULL, key, "answer");
            let request = ctx.request::<Json<End>, ()>(target, Json(end));
            let wait = u64::try_from(due.saturating_sub(now)).unwrap_or(0);
            let wait = Duration::from_millis(wait);
            let id = caused_by(&format!("{key}/{seq}"));
            drop(request.idempotency_key(id).send_after(wait));
        }
    }
}

/// The effects of one key.
#[derive(Debug, Clone)]
pub(super) struct Effects {
    pub(super) office: Arc<Office>,
}

#[restate_sdk::object(name = "opencode-reviewer.effects", client_visibility = "pub(super)")]
impl Effects {
    /// Wakes an effect that waits and became fast.
    #[handler(ingress_private = true)]
    async fn hurry(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<()> {
        if let Some(Json(ticket)) = ctx.get::<Json<Ticket>>(TICKET).await? {
            ctx.resolve_awakeable(&ticket.id, ());
        }
        Ok(())
    }

    /// Executes one effect, as often as it takes, and delivers its answer.
    #[handler(ingress_private = true)]
    async fn execute(&self, ctx: ObjectContext<'_>, order: Json<Order>) -> HandlerResult<()> {
        let mut attempt = Attempt {
            key: ctx.key().to_owned(),
            order: Arc::new(order.into_inner()),
            number: 1,
        };
        // Its place is free once the answer was stepped, or the server has taken the call back to wait for that.
        let (input, _place) = loop {
            match self.attempt(&ctx, attempt.clone()).await? {
                (Outcome::Ended { input }, place) => break (input, place),
                (Outcome::Again { wait_ms, error }, place) => {
                    drop(place);
                    tracing::debug!("an effect of {} failed: {error}", attempt.key);
                    ctx.sleep(Duration::from_millis(wait_ms)).await?;
                }
            }
            attempt.number += 1;
        };
        let Attempt { key, order, .. } = attempt;
        let seq = order.seq;
        let id = caused_by(&format!("{key}/{seq}"));
        let target = RequestTarget::object(PULL, key, "answer");
        let request = ctx.request::<Json<End>, ()>(target, Json(End { seq, input }));
        request.idempotency_key(id).call().await?;
        Ok(())
    }
}

impl Effects {
    /// Two entries of the journal, without the waits: who began the attempt, and what came of it. If the second is made by
    /// another process than the first, the attempt ended in a crash, and counts.
    async fn attempt(
        &self,
        ctx: &ObjectContext<'_>,
        attempt: Attempt,
    ) -> Result<(Outcome, Option<Place>), HandlerError> {
        let place = Arc::default();
        let starter = self.begin(ctx, &attempt, &place).await?;
        let (office, taken) = (Arc::clone(&self.office), Arc::clone(&place));
        let act = move || async move {
            let place = lock(&taken).take();
            let (outcome, place) = office.attempt(&attempt, &starter, place).await?;
            *lock(&taken) = place;
            Ok(Json(outcome))
        };
        let Json(outcome) = ctx.run(act).name("attempt").await?;
        let place = lock(&place).take();
        Ok((outcome, place))
    }

    /// Begins an attempt, after as many waits as it takes; the process that did.
    async fn begin(
        &self,
        ctx: &ObjectContext<'_>,
        attempt: &Attempt,
        place: &Taking,
    ) -> Result<String, HandlerError> {
        if let Turn::Begun(process) = self.enter(ctx, attempt, place, None).await? {
            return Ok(process);
        }
        let mut waits = 0;
        loop {
            let (id, woken) = ctx.awakeable::<()>();
            let ticket = Ticket {
                id,
                slow: attempt.order.slow,
            };
            ctx.set(TICKET, Json(ticket.clone()));
            let turn = self.enter(ctx, attempt, place, Some((ticket, waits)));
            match turn.await? {
                Turn::Begun(process) => {
                    ctx.clear(TICKET);
                    return Ok(process);
                }
                Turn::Later { longest_ms } => restate_sdk::select! {
                    _ = woken => {},
                    _ = ctx.sleep(Duration::from_millis(longest_ms)) => waits += 1,
                },
            }
        }
    }

    async fn enter(
        &self,
        ctx: &ObjectContext<'_>,
        attempt: &Attempt,
        place: &Taking,
        ticket: Option<(Ticket, u32)>,
    ) -> Result<Turn, HandlerError> {
        let (office, place) = (Arc::clone(&self.office), Arc::clone(place));
        let Attempt { key, order, .. } = attempt.clone();
        let enter = move || async move {
            let (turn, entered) = office.enter(&key, &order, ticket).await?;
            *lock(&place) = entered;
            Ok(Json(turn))
        };
        Ok(ctx.run(enter).name("begin").await?.into_inner())
    }
}

/// A place that is handed from one entry of the journal to the next, as long as both are made by one process.
type Taking = Arc<Mutex<Option<Place>>>;

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
