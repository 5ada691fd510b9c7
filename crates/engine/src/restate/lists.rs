//! Lists over all keys, by the server's SQL over the states and calls that it keeps. No index of ours that could differ.

use super::client::Client;
use super::registration::{Calls, query};
use super::wire::{EFFECTS, EXECUTE, LISTED, PULL, TICKET, Ticket};
use crate::queue::Backlog;
use crate::records::{Filter, Listed};
use crate::restate_error::RestateError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

type Result<T> = std::result::Result<T, RestateError>;

/// A state of a key, whose name the question gives.
#[derive(Deserialize)]
pub(super) struct KeyedRow {
    pub service_key: String,
    pub value_utf8: String,
}

#[derive(Deserialize)]
struct PhaseRow {
    phase: String,
    keys: u64,
}

#[derive(Deserialize)]
struct BacklogRow {
    effects: i64,
    timers: i64,
    oldest_ms: Option<i64>,
}

pub(super) async fn list(client: &Client, filter: &Filter) -> Result<Vec<Listed>> {
    let question = format!(
        "SELECT service_key, value_utf8 FROM state
         WHERE service_name = {} AND key = '{LISTED}' AND service_key > {} {}
         ORDER BY service_key LIMIT {}",
        literal(PULL),
        literal(&filter.after),
        of_phase(filter.phase.as_deref()),
        match filter.most {
            0 => i64::MAX,
            most => i64::from(most),
        }
    );
    listed(client, &question).await
}

/// The condition that a key is listed with a phase; empty for every phase. The phase is the last element of the array.
pub(super) fn of_phase(phase: Option<&str>) -> String {
    let Some(phase) = phase else {
        return String::new();
    };
    let end = literal(&format!(",{}]", json!(phase)));
    format!("AND ends_with(value_utf8, {end})")
}

/// The answer to a question for what is kept of keys for lists.
pub(super) async fn listed(client: &Client, question: &str) -> Result<Vec<Listed>> {
    let rows: Vec<KeyedRow> = query(client, question).await?;
    let listed = rows.into_iter().map(|row| {
        let (version, changed, phase) = read(client, &row.value_utf8)?;
        Ok(Listed {
            key: row.service_key,
            version,
            phase,
            changed,
        })
    });
    listed.collect()
}

/// The number of keys in each phase.
pub(super) async fn phases(client: &Client) -> Result<Vec<(String, u64)>> {
    let question = format!(
        "SELECT regexp_replace(value_utf8, '^.[-0-9]+,[-0-9]+,', '[') AS phase, COUNT(*) AS keys
         FROM state WHERE service_name = {} AND key = '{LISTED}' GROUP BY phase",
        literal(PULL)
    );
    let rows: Vec<PhaseRow> = query(client, &question).await?;
    let phases = rows.into_iter().map(|row| {
        let (phase,) = read(client, &row.phase)?;
        Ok((phase, row.keys))
    });
    let mut phases = phases.collect::<Result<Vec<_>>>()?;
    phases.sort();
    Ok(phases)
}

pub(super) async fn backlog(client: &Client) -> Result<Backlog> {
    let question = format!(
        "SELECT COUNT(CASE WHEN target_handler_name = {effect} THEN 1 END) AS effects,
                COUNT(CASE WHEN target_service_name = {pull} AND status = 'scheduled' THEN 1 END) AS timers,
                CAST((to_unixtime(now()) - to_unixtime(MIN(CASE WHEN target_handler_name = {effect}
                      THEN created_at END))) * 1000 AS BIGINT) AS oldest_ms
         FROM sys_invocation
         WHERE target_service_name IN ({effects}, {pull}) AND status <> 'completed'",
        effects = literal(EFFECTS),
        effect = literal(EXECUTE),
        pull = literal(PULL),
    );
    let rows: Vec<BacklogRow> = query(client, &question).await?;
    Ok(rows.first().map_or_else(Backlog::default, |row| Backlog {
        effects: row.effects,
        timers: row.timers,
        oldest_ms: row.oldest_ms.unwrap_or(0).max(0),
    }))
}

/// The keys of effects that wait to be woken, with their tickets.
pub(super) async fn tickets(client: &Client) -> Result<Vec<(String, Ticket)>> {
    let question = format!(
        "SELECT service_key, value_utf8 FROM state WHERE service_name = {} AND key = '{TICKET}'",
        literal(EFFECTS)
    );
    let rows: Vec<KeyedRow> = query(client, &question).await?;
    let tickets = rows.into_iter();
    let tickets = tickets.map(|row| Ok((row.service_key, read(client, &row.value_utf8)?)));
    tickets.collect()
}

/// True if an effect or a timer of a key is not done.
pub(super) async fn waits(client: &Client, key: &str) -> Result<bool> {
    let question = format!(
        "SELECT COUNT(*) AS calls FROM sys_invocation
         WHERE target_service_name IN ({}, {}) AND target_service_key = {} AND status <> 'completed'",
        literal(EFFECTS),
        literal(PULL),
        literal(key),
    );
    let counted: Vec<Calls> = query(client, &question).await?;
    Ok(counted.first().is_none_or(|counted| counted.calls > 0))
}

pub(super) fn read<T: DeserializeOwned>(client: &Client, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| RestateError::Refused {
        address: client.address.admin.clone(),
        what: "a list",
        why: format!("{text} cannot be read: {error}"),
    })
}

/// The condition that a state is one of these objects. The server then reads these alone and not all states, but only where a scope is
/// ruled out, which no object of ours has.
pub(super) fn of_objects(service: &str, keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| literal(key)).collect();
    let (service, keys) = (literal(service), keys.join(", "));
    format!("service_name = {service} AND scope IS NULL AND service_key IN ({keys})")
}

/// A text within a question.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
