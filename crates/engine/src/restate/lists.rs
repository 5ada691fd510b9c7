//! Lists over all keys, by the server's SQL over the states and calls that it keeps. No index of ours that could differ.

use super::client::Client;
use super::error::RestateError;
use super::objects::{EFFECTS, LISTED, PULL};
use super::registration::query;
use crate::queue::Backlog;
use crate::records::{Filter, Listed};
use serde::Deserialize;

type Result<T> = std::result::Result<T, RestateError>;

#[derive(Deserialize)]
struct ListedRow {
    service_key: String,
    value_utf8: String,
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
    let mut question = format!(
        "SELECT service_key, value_utf8 FROM state
         WHERE service_name = {} AND key = '{LISTED}' AND service_key > {}",
        literal(PULL),
        literal(&filter.after)
    );
    if let Some(phase) = &filter.phase {
        question.push_str(" AND split_part(value_utf8, chr(10), 1) = ");
        question.push_str(&literal(phase));
    }
    question.push_str(" ORDER BY service_key");
    if filter.most > 0 {
        question.push_str(&format!(" LIMIT {}", filter.most));
    }
    let rows: Vec<ListedRow> = query(client, &question).await?;
    Ok(rows.into_iter().map(listed).collect())
}

/// The number of keys in each phase.
pub(super) async fn phases(client: &Client) -> Result<Vec<(String, u64)>> {
    let question = format!(
        "SELECT split_part(value_utf8, chr(10), 1) AS phase, COUNT(*) AS keys FROM state
         WHERE service_name = {} AND key = '{LISTED}' GROUP BY phase ORDER BY phase",
        literal(PULL)
    );
    let rows: Vec<PhaseRow> = query(client, &question).await?;
    Ok(rows.into_iter().map(|row| (row.phase, row.keys)).collect())
}

pub(super) async fn backlog(client: &Client) -> Result<Backlog> {
    let question = format!(
        "SELECT COUNT(CASE WHEN target_service_name = {effects} THEN 1 END) AS effects,
                COUNT(CASE WHEN target_service_name = {pull} AND status = 'scheduled' THEN 1 END) AS timers,
                CAST((to_unixtime(now()) - to_unixtime(MIN(CASE WHEN target_service_name = {effects}
                      THEN created_at END))) * 1000 AS BIGINT) AS oldest_ms
         FROM sys_invocation
         WHERE target_service_name IN ({effects}, {pull}) AND status <> 'completed'",
        effects = literal(EFFECTS),
        pull = literal(PULL),
    );
    let rows: Vec<BacklogRow> = query(client, &question).await?;
    Ok(rows.first().map_or_else(Backlog::default, |row| Backlog {
        effects: row.effects,
        timers: row.timers,
        oldest_ms: row.oldest_ms.unwrap_or(0).max(0),
    }))
}

fn listed(row: ListedRow) -> Listed {
    let mut lines = row.value_utf8.split('\n');
    let phase = lines.next().unwrap_or_default().to_owned();
    let mut number = || lines.next().and_then(|line| line.parse().ok());
    Listed {
        key: row.service_key,
        phase,
        version: number().unwrap_or(0),
        changed: number().unwrap_or(0),
    }
}

/// A text within a question.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
