//! Reads for people who look at many keys, by the server's SQL. The times and phases of keys are elements of what is kept for lists.

use super::client::Client;
use super::lists::{KeyedRow, listed, literal, of_objects, of_phase, read};
use super::registration::query;
use super::wire::{KEPT, Kept, LISTED, PENDING, PULL, Pending, StateRow, Work};
use crate::overview::{Recent, Waiting};
use crate::records::Listed;
use crate::restate_error::RestateError;

type Result<T> = std::result::Result<T, RestateError>;

pub(super) async fn recent(client: &Client, wanted: &Recent) -> Result<Vec<Listed>> {
    let before = wanted.before.as_ref().map(|(changed, key)| {
        let key = literal(key);
        format!("WHERE changed < {changed} OR (changed = {changed} AND service_key < {key})")
    });
    // The time is the second element of the array. The server may look at it before it looks at the name of the state, and other
    // states have none.
    let question = format!(
        "SELECT service_key, value_utf8 FROM (
           SELECT service_key, value_utf8, TRY_CAST(split_part(value_utf8, ',', 2) AS BIGINT) AS changed
           FROM state WHERE service_name = {} AND key = '{LISTED}' {}) {}
         ORDER BY changed DESC, service_key DESC LIMIT {}",
        literal(PULL),
        of_phase(wanted.phase.as_deref()),
        before.unwrap_or_default(),
        wanted.most
    );
    listed(client, &question).await
}

pub(super) async fn states(client: &Client, keys: &[String]) -> Result<Vec<(String, Kept)>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let question = format!(
        "SELECT service_key, value_utf8 FROM state WHERE {} AND key = '{KEPT}'",
        of_objects(PULL, &keys)
    );
    let rows: Vec<KeyedRow> = query(client, &question).await?;
    let states = rows.into_iter().map(|row| {
        let kept = read(client, &row.value_utf8)?;
        Ok((row.service_key, kept))
    });
    states.collect()
}

/// The server counts attempts for itself alone.
pub(super) async fn waiting(client: &Client, key: &str, most: u32) -> Result<Vec<Waiting>> {
    let question = format!(
        "SELECT key, value_utf8 FROM state
         WHERE {} AND starts_with(key, '{PENDING}') ORDER BY key LIMIT {most}",
        of_objects(PULL, &[key])
    );
    let rows: Vec<StateRow> = query(client, &question).await?;
    let waiting = rows.into_iter().map(|row| {
        let pending: Pending = read(client, &row.value_utf8)?;
        let (seq, due) = (pending.seq(), pending.due());
        let (is_timer, work) = match pending.work {
            Work::Effect(order) => (false, order.effect),
            Work::Timer { input, .. } => (true, input),
        };
        Ok(Waiting {
            seq,
            is_timer,
            work: work.to_string(),
            created: pending.at,
            due: is_timer.then_some(due),
            attempts: None,
            error: String::new(),
        })
    });
    let mut waiting = waiting.collect::<Result<Vec<_>>>()?;
    waiting.sort_by_key(|one| one.seq);
    Ok(waiting)
}
