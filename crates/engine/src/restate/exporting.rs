//! All of a store in Restate as a file. The server is asked, and no process has to answer it.

use super::address::Address;
use super::client::Client;
use super::lists::{self, literal, of_objects};
use super::registration::query;
use super::registry::{AGENTS, ALL, CELLS, Registry, STORE, TOKENS};
use super::wire::{
    CellRow, HISTORY, KEPT, Kept, LISTED, Order, PENDING, PULL, Pending, REGISTRY, Record,
    StateRow, StoreRow, Work,
};
use crate::archive::wire::{
    CellLine, DeliveryLine, EffectLine, InputLine, LifeLine, Line, TimerLine,
};
use crate::archive::{Moved, Writer};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{EngineError, Result};
use crate::records::{Filter, Listed};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::Write;

/// Rows that are read with one question.
const PAGE: u32 = 500;

/// Lives that are read with one question.
const LIVES: usize = 100;

/// A value in the state of a life.
#[derive(Deserialize)]
struct Row {
    service_key: String,
    #[serde(flatten)]
    value: StateRow,
}

/// A delivery that the server recognises.
#[derive(Deserialize)]
struct Known {
    id: String,
    key: String,
    delivery: String,
    at: i64,
}

/// Writes all of a store that no process works on.
pub(crate) async fn export(store: &str, to: &mut (dyn Write + Send)) -> Result<Moved> {
    let client = Client::new(Address::parse(store)?)?;
    let named = || client.address.ingress.clone();
    let import = Registry::of(client.clone()).import().await?;
    if import.is_some_and(|import| !import.whole) {
        return Err(EngineError::HalfImported { store: named() });
    }
    let id: Vec<(String, StoreRow)> = rows(&client, STORE, "").await?;
    let (_, id) = id
        .into_iter()
        .next()
        .ok_or_else(|| EngineError::Nothing { store: named() })?;
    let mut file = Writer::begin(to, &id.id, SystemClock::default().now_ms())?;
    for (_, agent) in rows(&client, AGENTS, "").await? {
        file.put(&Line::Agent(agent))?;
    }
    for (_, token) in rows(&client, TOKENS, "").await? {
        file.put(&Line::Token(token))?;
    }
    cells(&client, &mut file).await?;
    lives(&client, &mut file).await?;
    deliveries(&client, &mut file).await?;
    Ok(file.end()?)
}

/// A page of the registry's rows of a table, after this key.
pub(super) async fn rows<T: DeserializeOwned>(
    client: &Client,
    table: &str,
    after: &str,
) -> Result<Vec<(String, T)>> {
    let question = format!(
        "SELECT key, value_utf8 FROM state
         WHERE {} AND starts_with(key, '{table}') AND key > {} ORDER BY key LIMIT {PAGE}",
        of_objects(REGISTRY, &[ALL]),
        literal(after)
    );
    let rows: Vec<StateRow> = query(client, &question).await?;
    rows.into_iter()
        .map(|row| Ok((row.key.clone(), value("the row", &row.key, &row)?)))
        .collect()
}

fn value<T: DeserializeOwned>(what: &'static str, key: &str, row: &StateRow) -> Result<T> {
    serde_json::from_str(&row.value_utf8).map_err(|error| EngineError::Unreadable {
        what,
        key: key.to_owned(),
        why: error.to_string(),
    })
}

async fn cells(client: &Client, file: &mut Writer<'_>) -> Result<()> {
    let mut last = String::new();
    loop {
        let page: Vec<(String, CellRow)> = rows(client, CELLS, &last).await?;
        let Some((end, _)) = page.last() else {
            return Ok(());
        };
        last.clone_from(end);
        for (key, CellRow { version, text }) in page {
            let name = key.strip_prefix(CELLS).unwrap_or(&key).to_owned();
            file.put(&Line::Cell(CellLine {
                name,
                version,
                text,
            }))?;
        }
    }
}

async fn lives(client: &Client, file: &mut Writer<'_>) -> Result<()> {
    let mut filter = Filter {
        most: PAGE,
        ..Filter::default()
    };
    loop {
        let page = lists::list(client, &filter).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        filter.after.clone_from(&last.key);
        for lives in page.chunks(LIVES) {
            for life in together(client, lives).await? {
                file.put(&Line::Life(Box::new(life)))?;
            }
        }
    }
}

/// Lives that follow each other, with one question: the server looks through all states for each.
async fn together(client: &Client, lives: &[Listed]) -> Result<Vec<LifeLine>> {
    let (Some(first), Some(last)) = (lives.first(), lives.last()) else {
        return Ok(Vec::new());
    };
    let question = format!(
        "SELECT service_key, key, value_utf8 FROM state
         WHERE service_name = '{PULL}' AND key <> '{LISTED}' AND service_key >= {} AND service_key <= {}",
        literal(&first.key),
        literal(&last.key)
    );
    let mut found: BTreeMap<String, Vec<StateRow>> = BTreeMap::new();
    for row in query::<Row>(client, &question).await? {
        found.entry(row.service_key).or_default().push(row.value);
    }
    found
        .into_iter()
        .map(|(key, rows)| life(&key, &rows))
        .collect()
}

fn life(key: &str, rows: &[StateRow]) -> Result<LifeLine> {
    let (mut kept, mut history, mut pending) = (None, Vec::new(), Vec::new());
    for row in rows {
        if row.key == KEPT {
            kept = Some(value::<Kept>("the state", key, row)?);
        } else if row.key.starts_with(HISTORY) {
            history.push(input(value("an input", key, row)?));
        } else if row.key.starts_with(PENDING) {
            pending.push(value::<Pending>("an effect", key, row)?);
        }
    }
    let kept = kept.ok_or_else(|| EngineError::Unreadable {
        what: "the state",
        key: key.to_owned(),
        why: "it is not there".to_owned(),
    })?;
    history.sort_by_key(|input| input.n);
    pending.sort_by_key(Pending::seq);
    let (effects, timers) = waiting(&kept, pending);
    Ok(LifeLine {
        key: key.to_owned(),
        version: kept.version,
        state: kept.state,
        phase: kept.phase,
        changed: kept.changed,
        history,
        effects,
        timers,
    })
}

fn input(record: Record) -> InputLine {
    InputLine {
        n: record.n,
        at: record.at,
        delivery: record.delivery,
        input: record.input,
        log: record.log,
        phase: record.phase,
    }
}

/// Effects and timers. A slow effect that was hurried is a fast one.
fn waiting(kept: &Kept, pending: Vec<Pending>) -> (Vec<EffectLine>, Vec<TimerLine>) {
    let (mut effects, mut timers) = (Vec::new(), Vec::new());
    for one in pending {
        let (due, created) = (one.due(), one.at);
        match one.work {
            Work::Effect(Order { seq, slow, effect }) => effects.push(EffectLine {
                seq,
                slow: slow && kept.last_fast.is_none_or(|last| last < seq),
                effect,
                created,
            }),
            Work::Timer { seq, input, .. } => timers.push(TimerLine {
                seq,
                due,
                input,
                created,
            }),
        }
    }
    (effects, timers)
}

async fn deliveries(client: &Client, file: &mut Writer<'_>) -> Result<()> {
    let mut last = String::new();
    loop {
        let question = format!(
            "SELECT id, target_service_key AS key, idempotency_key AS delivery,
                    CAST(to_unixtime(created_at) * 1000 AS BIGINT) AS at
             FROM sys_invocation
             WHERE target_service_name = '{PULL}' AND target_handler_name = 'deliver'
               AND status = 'completed' AND idempotency_key IS NOT NULL AND id > {}
             ORDER BY id LIMIT {PAGE}",
            literal(&last)
        );
        let page: Vec<Known> = query(client, &question).await?;
        let Some(end) = page.last() else {
            return Ok(());
        };
        last.clone_from(&end.id);
        for known in page {
            // As it was made for the header.
            let id = percent_decode_str(&known.delivery)
                .decode_utf8_lossy()
                .into_owned();
            file.put(&Line::Delivery(DeliveryLine {
                id,
                key: known.key,
                at: known.at,
            }))?;
        }
    }
}
