//! The handlers that a Restate server calls: one virtual object per key for its state, one for its effects, one registry.
//!
//! Effects are a virtual object, too, and not a stateless service: calls of one key then wait for each other, in the order in
//! which they were sent, which is that of their numbers. So the effects of a key are executed one at a time and in order, as
//! on the other engines, while those of different keys run beside each other. An effect ends by calling `answer` and waiting
//! for it, so the next one of the key starts after the answer was stepped.
//!
//! Handlers decide inside `run`, which keeps the decision in the journal: a call that is repeated, by this version or a
//! later one, applies what was decided. Only the order of the commands below must not change while calls are under way; a
//! handler that needs another order gets another name.

use super::office::{Attempt, Office};
use super::steps::Steps;
use super::wire::{
    Change, Delivery, EFFECTS, Kept, LISTED, Order, Outcome, PULL, Page, Record, Row, Stepped,
    Taken, Work,
};
use crate::delivery::caused_by;
use crate::error::EngineError;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The state's own key within the object.
const KEPT: &str = "kept";
const UNPROCESSABLE: u16 = 422;

fn history_key(n: i64) -> String {
    format!("history/{n}")
}

/// The state of one key.
#[derive(Debug)]
pub(super) struct Pull {
    pub(super) steps: Arc<dyn Steps>,
}

#[restate_sdk::object(name = "opencode-reviewer.pull", client_visibility = "pub(super)")]
impl Pull {
    /// Steps one input from outside.
    #[handler]
    async fn deliver(
        &self,
        ctx: ObjectContext<'_>,
        delivery: Json<Delivery>,
    ) -> HandlerResult<Json<Taken>> {
        let caller = delivery.0.caller.clone();
        let state = step(&self.steps, &ctx, delivery.0).await?;
        Ok(Json(Taken { caller, state }))
    }

    /// Steps the answer of an effect, or the input of a timer. Apart from `deliver`, so that nobody outside can anticipate
    /// one, and because the server need not know it for days: it sends each once.
    #[handler(ingress_private = true)]
    async fn answer(&self, ctx: ObjectContext<'_>, delivery: Json<Delivery>) -> HandlerResult<()> {
        step(&self.steps, &ctx, delivery.0).await?;
        Ok(())
    }

    /// The state, beside whoever writes.
    #[handler]
    async fn status(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Kept>>> {
        let kept = ctx.get::<Json<Kept>>(KEPT).await?;
        Ok(Json(kept.map(Json::into_inner)))
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
    } = stepped;
    let listed = (kept.version, kept.changed, kept.phase.clone());
    for n in drop_from..kept.first {
        ctx.clear(&history_key(n));
    }
    ctx.set(&history_key(record.n), Json(record));
    ctx.set(LISTED, Json(listed));
    ctx.set(KEPT, Json(kept));
    for work in work {
        send(ctx, work);
    }
}

/// Sends without waiting: the server has it with the commit of the call.
fn send(ctx: &ObjectContext<'_>, work: Work) {
    let key = ctx.key();
    match work {
        Work::Effect(order) => {
            let id = format!("{key}/{}", order.seq);
            let target = RequestTarget::object(EFFECTS, key, "execute");
            let request = ctx.request::<Json<Order>, ()>(target, Json(order));
            drop(request.idempotency_key(id).send());
        }
        Work::Timer {
            seq,
            after_ms,
            input,
        } => {
            let id = caused_by(&format!("{key}/{seq}"));
            let delivery = Delivery {
                id: id.clone(),
                input,
                caller: String::new(),
            };
            let target = RequestTarget::object(PULL, key, "answer");
            let request = ctx.request::<Json<Delivery>, ()>(target, Json(delivery));
            let wait = Duration::from_millis(after_ms);
            drop(request.idempotency_key(id).send_after(wait));
        }
    }
}

/// The effects of one key.
#[derive(Debug)]
pub(super) struct Effects {
    pub(super) office: Arc<Office>,
}

#[restate_sdk::object(name = "opencode-reviewer.effects", client_visibility = "pub(super)")]
impl Effects {
    /// Executes one effect, as often as it takes, and delivers its answer.
    #[handler(ingress_private = true)]
    async fn execute(&self, ctx: ObjectContext<'_>, order: Json<Order>) -> HandlerResult<()> {
        let mut attempt = Attempt {
            key: ctx.key().to_owned(),
            order: Arc::new(order.into_inner()),
            number: 1,
        };
        let input = loop {
            match self.attempt(&ctx, attempt.clone()).await? {
                Outcome::Ended { input } => break input,
                Outcome::Again { wait_ms, error } => {
                    tracing::debug!("an effect of {} failed: {error}", attempt.key);
                    ctx.sleep(Duration::from_millis(wait_ms)).await?;
                }
            }
            attempt.number += 1;
        };
        let Some(input) = input else { return Ok(()) };
        let Attempt { key, order, .. } = attempt;
        let id = caused_by(&format!("{key}/{}", order.seq));
        let delivery = Delivery {
            id: id.clone(),
            input,
            caller: String::new(),
        };
        let target = RequestTarget::object(PULL, key, "answer");
        let request = ctx.request::<Json<Delivery>, ()>(target, Json(delivery));
        request.idempotency_key(id).call().await?;
        Ok(())
    }
}

impl Effects {
    /// Two entries of the journal: who began the attempt, and what came of it. If the second is made by another process than
    /// the first, the attempt ended in a crash, and counts.
    async fn attempt(
        &self,
        ctx: &ObjectContext<'_>,
        attempt: Attempt,
    ) -> Result<Outcome, HandlerError> {
        let place = Arc::new(Mutex::new(None));
        let (office, entered) = (Arc::clone(&self.office), Arc::clone(&place));
        let copy = attempt.clone();
        let begin = move || async move {
            let place = office.enter(&copy.key, &copy.order).await?;
            *entered.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
            Ok(office.process.clone())
        };
        let starter = ctx.run(begin).name("begin").await?;
        let office = Arc::clone(&self.office);
        let act = move || async move {
            let place = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(Json(office.attempt(&attempt, &starter, place).await?))
        };
        let Json(outcome) = ctx.run(act).name("attempt").await?;
        Ok(outcome)
    }
}

/// Agents and API tokens, all in one object. They are read by the server's SQL, so that a service can start with them.
#[derive(Debug)]
pub(super) struct Registry;

#[restate_sdk::object(name = "opencode-reviewer.registry", client_visibility = "pub(super)")]
impl Registry {
    /// Adds a row. False: there is one with this key.
    #[handler]
    async fn add(&self, ctx: ObjectContext<'_>, row: Json<Row>) -> HandlerResult<Json<bool>> {
        let Json(row) = row;
        let is_new = ctx.get::<Json<Value>>(&row.key).await?.is_none();
        if is_new {
            ctx.set(&row.key, Json(row.fields));
        }
        Ok(Json(is_new))
    }

    /// Changes one field of a row. False: there is none with this key.
    #[handler]
    async fn change(
        &self,
        ctx: ObjectContext<'_>,
        change: Json<Change>,
    ) -> HandlerResult<Json<bool>> {
        let Json(Change { key, field, value }) = change;
        let Some(Json(mut fields)) = ctx.get::<Json<Value>>(&key).await? else {
            return Ok(Json(false));
        };
        if let Some(place) = fields.get_mut(&field) {
            *place = value;
        }
        ctx.set(&key, Json(fields));
        Ok(Json(true))
    }

    /// Removes a row. False: there is none with this key.
    #[handler]
    async fn remove(&self, ctx: ObjectContext<'_>, key: Json<String>) -> HandlerResult<Json<bool>> {
        let Json(key) = key;
        let is_there = ctx.get::<Json<Value>>(&key).await?.is_some();
        ctx.clear(&key);
        Ok(Json(is_there))
    }
}
