//! Reads of states and histories, and the removal of old rows.

use crate::delivery::parse;
use crate::error::Result;
use crate::limits::{Limits, after};
use crate::machine::Machine;
use crate::session::Session;
use sqlx::Row;
use sqlx::any::AnyRow;

/// The state of a key, and since when.
#[derive(Debug, Clone)]
pub struct Status<S> {
    pub state: S,
    /// The number of inputs that led to it.
    pub version: i64,
    pub phase: String,
    pub changed: i64,
}

/// One input in the history of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub n: i64,
    pub at: i64,
    /// `event:` and the id of a delivery, or `effect:` and the id of an effect or a timer.
    pub delivery: String,
    /// As JSON.
    pub input: String,
    pub log: Vec<String>,
    /// The phase after it.
    pub phase: String,
}

/// A choice of keys.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub phase: Option<String>,
    /// Only keys after this one: the last key of the page before.
    pub after: String,
    /// 0: all.
    pub most: u32,
}

/// A key in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub key: String,
    pub version: i64,
    pub phase: String,
    pub changed: i64,
}

pub(crate) async fn status<M: Machine>(
    session: &mut Session,
    key: &str,
) -> Result<Option<Status<M::State>>> {
    let query = sqlx::query("SELECT version, state, phase, changed FROM pull WHERE key = $1");
    let row = session.optional(query.bind(key)).await?;
    row.map(|row| read::<M>(key, &row)).transpose()
}

pub(crate) fn read<M: Machine>(key: &str, row: &AnyRow) -> Result<Status<M::State>> {
    let state: String = row.try_get("state")?;
    Ok(Status {
        state: parse("the state", key, &state)?,
        version: row.try_get("version")?,
        phase: row.try_get("phase")?,
        changed: row.try_get("changed")?,
    })
}

/// The last inputs of a key, the oldest first: at most so many, and of so many bytes but for the last one.
pub(crate) async fn history(
    session: &mut Session,
    key: &str,
    most: i64,
    bytes: u64,
) -> Result<Vec<Entry>> {
    let query = sqlx::query(
        "SELECT n, at, delivery, input, log, phase FROM (
            SELECT n, at, delivery, input, log, phase,
                   SUM(LENGTH(input)) OVER (ORDER BY n DESC) - LENGTH(input) AS later FROM (
                SELECT n, at, delivery, input, log, phase FROM history
                WHERE key = $1 ORDER BY n DESC LIMIT $2) AS last) AS measured
         WHERE later < $3 ORDER BY n DESC",
    );
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let query = query.bind(key).bind(most).bind(bytes);
    let rows = session.all(query).await?;
    let entries = rows.iter().rev().map(|row| {
        let log: String = row.try_get("log")?;
        Ok(Entry {
            n: row.try_get("n")?,
            at: row.try_get("at")?,
            delivery: row.try_get("delivery")?,
            input: row.try_get("input")?,
            log: parse("the log", key, &log)?,
            phase: row.try_get("phase")?,
        })
    });
    entries.collect()
}

pub(crate) async fn list(session: &mut Session, filter: &Filter) -> Result<Vec<Listed>> {
    let query = sqlx::query(
        "SELECT key, version, phase, changed FROM pull
         WHERE key > $1 AND ($2 = 0 OR phase = $3) ORDER BY key LIMIT $4",
    );
    let most = match filter.most {
        0 => i64::MAX,
        most => i64::from(most),
    };
    let query = query.bind(&filter.after);
    let query = query.bind(i64::from(filter.phase.is_some()));
    let query = query.bind(filter.phase.as_deref().unwrap_or("")).bind(most);
    let rows = session.all(query).await?;
    rows.iter().map(listed).collect()
}

pub(crate) fn listed(row: &AnyRow) -> Result<Listed> {
    Ok(Listed {
        key: row.try_get("key")?,
        version: row.try_get("version")?,
        phase: row.try_get("phase")?,
        changed: row.try_get("changed")?,
    })
}

/// The number of keys in each phase.
pub(crate) async fn phases(session: &mut Session) -> Result<Vec<(String, u64)>> {
    let query =
        sqlx::query("SELECT phase, COUNT(*) AS keys FROM pull GROUP BY phase ORDER BY phase");
    let rows = session.all(query).await?;
    let counted = rows.iter().map(|row| {
        let keys: i64 = row.try_get("keys")?;
        Ok((row.try_get("phase")?, u64::try_from(keys).unwrap_or(0)))
    });
    counted.collect()
}

pub(crate) async fn purge(session: &mut Session, now: i64, limits: &Limits) -> Result<u64> {
    let deliveries = purge_inbox(session, now, limits).await?;
    let history = sqlx::query(
        "DELETE FROM history WHERE n <= (SELECT p.version FROM pull p WHERE p.key = history.key) - $1",
    );
    let kept = i64::try_from(limits.history).unwrap_or(i64::MAX);
    Ok(deliveries + session.execute(history.bind(kept)).await?)
}

/// Removes deliveries that are not recognised any more.
async fn purge_inbox(session: &mut Session, now: i64, limits: &Limits) -> Result<u64> {
    let inbox = sqlx::query("DELETE FROM inbox WHERE at < $1");
    session.execute(inbox.bind(oldest(now, limits))).await
}

/// The time before which no delivery is recognised.
fn oldest(now: i64, limits: &Limits) -> i64 {
    now.saturating_sub(after(0, limits.inbox_ms))
}

/// Removes a key that is at this version, still for long, and waits for nothing. An input meanwhile has the row locked, and leads to
/// another version.
pub(crate) async fn forget(
    session: &mut Session,
    (key, seen): (&str, i64),
    now: i64,
    limits: &Limits,
) -> Result<bool> {
    let state = sqlx::query(
        "DELETE FROM pull WHERE key = $1 AND version = $2 AND changed < $3
         AND NOT EXISTS (SELECT 1 FROM task WHERE task.key = pull.key)",
    );
    let state = state.bind(key).bind(seen).bind(oldest(now, limits));
    if session.execute(state).await? == 0 {
        return Ok(false);
    }
    let history = sqlx::query("DELETE FROM history WHERE key = $1");
    session.execute(history.bind(key)).await?;
    // The numbers of effects begin anew, so no outcome of the key may be left here. All are older than its last change.
    purge_inbox(session, now, limits).await?;
    Ok(true)
}
