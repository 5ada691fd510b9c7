//! One input, stepped and written: state, effects, timers and history in the transaction of the caller.

use crate::error::{EngineError, Result};
use crate::machine::{EffectId, Machine, Planned, Step};
use crate::queue;
use crate::session::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;

/// An input on its way to the state of a key.
pub(crate) struct Delivery<'a, I> {
    pub(crate) key: &'a str,
    /// Unique among the deliveries of the last days.
    pub(crate) id: String,
    pub(crate) input: &'a I,
    /// The time at which the transaction began. The input is stepped when the row of the key is locked.
    pub(crate) now: i64,
}

/// The begin of the ids of deliveries from outside.
pub(crate) const OUTSIDE: &str = "event:";

/// Deliveries from outside and outcomes of effects have names apart, so that nobody outside can anticipate an outcome.
pub(crate) fn outside(id: &str) -> String {
    format!("{OUTSIDE}{id}")
}

/// The delivery that an effect or a timer causes.
pub(crate) fn caused_by(id: &str) -> String {
    format!("effect:{id}")
}

/// The state after an input, or `None` for a delivery that was here before; then nothing was written.
pub(crate) async fn apply<M: Machine>(
    session: &mut Session,
    machine: &M,
    delivery: &Delivery<'_, M::Input>,
) -> Result<Option<M::State>> {
    let Delivery {
        key,
        id,
        input,
        now,
    } = delivery;
    let inbox = sqlx::query(
        "INSERT INTO inbox (delivery, key, at) VALUES ($1, $2, $3) ON CONFLICT (delivery) DO NOTHING",
    );
    let new = session.execute(inbox.bind(id).bind(*key).bind(*now));
    if new.await? == 0 {
        return Ok(None);
    }
    let locked = lock::<M>(session, key, *now).await?;
    let now = locked.now;
    let step = machine.step(&locked.state, input, now);
    let n = locked.version + 1;
    let phase = machine.phase(&step.state);
    let update = sqlx::query(
        "UPDATE pull SET version = $2, state = $3, phase = $4, changed = $5 WHERE key = $1",
    );
    let update = update.bind(*key).bind(n).bind(json(key, &step.state)?);
    session.execute(update.bind(&phase).bind(now)).await?;
    let delivery = Delivery {
        id: id.clone(),
        now,
        ..*delivery
    };
    record::<M>(session, &delivery, n, &step, &phase).await?;
    if step.hurries {
        queue::hurry(session, key, now).await?;
    }
    for planned in &step.planned {
        plan(session, key, now, planned).await?;
    }
    Ok(Some(step.state))
}

/// The locked row of a key.
struct Locked<S> {
    version: i64,
    state: S,
    /// Inputs of a key are stepped in the order of their locks, so its times follow each other.
    now: i64,
}

/// Creates or locks the row of a key.
async fn lock<M: Machine>(session: &mut Session, key: &str, now: i64) -> Result<Locked<M::State>> {
    let upsert = sqlx::query(session.dialect.lock_key);
    let row = session.optional(upsert.bind(key).bind(now)).await?;
    let row = row.ok_or(sqlx::Error::RowNotFound)?;
    let text: String = row.try_get("state")?;
    Ok(Locked {
        version: row.try_get("version")?,
        state: match text.as_str() {
            "" => M::State::default(),
            text => parse("the state", key, text)?,
        },
        now: row.try_get("now")?,
    })
}

async fn record<M: Machine>(
    session: &mut Session,
    delivery: &Delivery<'_, M::Input>,
    n: i64,
    step: &Step<M>,
    phase: &str,
) -> Result<()> {
    let key = delivery.key;
    let insert = sqlx::query(
        "INSERT INTO history (key, n, at, delivery, input, log, phase) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    );
    let insert = insert.bind(key).bind(n).bind(delivery.now);
    let insert = insert.bind(&delivery.id).bind(json(key, delivery.input)?);
    let insert = insert.bind(json(key, &step.log)?).bind(phase);
    session.execute(insert).await?;
    Ok(())
}

async fn plan<E: Serialize, I: Serialize>(
    session: &mut Session,
    key: &str,
    now: i64,
    planned: &Planned<E, I>,
) -> Result<()> {
    let id = EffectId {
        key: key.to_owned(),
        seq: planned.seq(),
    };
    let (timer, lane, due, work) = match planned {
        Planned::Effect { effect, lane, .. } => (0_i64, lane.number(), now, json(key, effect)?),
        Planned::Timer {
            after_ms, input, ..
        } => {
            let after = i64::try_from(*after_ms).unwrap_or(i64::MAX);
            (1, 0, now.saturating_add(after), json(key, input)?)
        }
    };
    let insert = sqlx::query(
        "INSERT INTO task (id, key, seq, timer, lane, work, created, due, attempt, owner, error)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', '') ON CONFLICT (id) DO NOTHING",
    );
    let seq = i64::try_from(id.seq).unwrap_or(i64::MAX);
    let insert = insert.bind(id.to_string()).bind(key).bind(seq);
    let insert = insert.bind(timer).bind(lane).bind(work);
    if session.execute(insert.bind(now).bind(due)).await? == 0 {
        return Err(EngineError::RepeatedEffect { id: id.to_string() });
    }
    Ok(())
}

fn json(key: &str, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unreadable("a value", key, &error))
}

/// Reads JSON of the store.
pub(crate) fn parse<T: DeserializeOwned>(what: &'static str, key: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(what, key, &error))
}

fn unreadable(what: &'static str, key: &str, error: &serde_json::Error) -> EngineError {
    EngineError::Unreadable {
        what,
        key: key.to_owned(),
        why: error.to_string(),
    }
}
