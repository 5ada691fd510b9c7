//! Reads for people who look at many keys: the newest ones, their states, and what waits for one. Each is one question to the store,
//! however many keys there are.

use crate::cells::places;
use crate::error::Result;
use crate::machine::Machine;
use crate::records::{self, Listed, Status};
use crate::session::Session;
use sqlx::{AssertSqlSafe, Row};

/// A choice of the keys that changed last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    pub phase: Option<String>,
    /// Only keys that changed before this one: the time and the key of the last one of the page before.
    pub before: Option<(i64, String)>,
    pub most: u32,
}

/// An effect or a timer that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub seq: u64,
    pub is_timer: bool,
    /// The effect, or the input that the timer delivers, as JSON.
    pub work: String,
    pub created: i64,
    /// The time at which a timer is due.
    pub due: Option<i64>,
    /// Attempts so far, where the store counts them.
    pub attempts: Option<i64>,
    /// The error of the last attempt, or nothing.
    pub error: String,
}

pub(crate) async fn recent(session: &mut Session, wanted: &Recent) -> Result<Vec<Listed>> {
    // Each condition stands there only where it is needed, so that an index answers.
    let (phase, before, most) = match (&wanted.phase, &wanted.before) {
        (None, None) => ("", "", "$1"),
        (Some(_), None) => ("AND phase = $1", "", "$2"),
        (None, Some(_)) => ("", "AND changed <= $1 AND (changed < $1 OR key < $2)", "$3"),
        (Some(_), Some(_)) => (
            "AND phase = $1",
            "AND changed <= $2 AND (changed < $2 OR key < $3)",
            "$4",
        ),
    };
    let text = format!(
        "SELECT key, version, phase, changed FROM pull WHERE version > 0 {phase} {before}
         ORDER BY changed DESC, key DESC LIMIT {most}"
    );
    let mut query = sqlx::query(AssertSqlSafe(text));
    if let Some(phase) = &wanted.phase {
        query = query.bind(phase);
    }
    if let Some((changed, key)) = &wanted.before {
        query = query.bind(*changed).bind(key);
    }
    let rows = session.all(query.bind(i64::from(wanted.most))).await?;
    rows.iter().map(records::listed).collect()
}

pub(crate) async fn states<M: Machine>(
    session: &mut Session,
    keys: &[String],
) -> Result<Vec<(String, Status<M::State>)>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let places = places(keys.len());
    let text =
        format!("SELECT key, version, state, phase, changed FROM pull WHERE key IN ({places})");
    let mut query = sqlx::query(AssertSqlSafe(text));
    for key in keys {
        query = query.bind(key);
    }
    let rows = session.all(query).await?;
    let read = rows.iter().map(|row| {
        let key: String = row.try_get("key")?;
        let found = records::read::<M>(&key, row)?;
        Ok((key, found))
    });
    read.collect()
}

pub(crate) async fn waiting(session: &mut Session, key: &str, most: u32) -> Result<Vec<Waiting>> {
    let query = sqlx::query(
        "SELECT seq, timer, work, created, due, attempt, error FROM task WHERE key = $1 ORDER BY seq LIMIT $2",
    );
    let rows = session.all(query.bind(key).bind(i64::from(most))).await?;
    let waiting = rows.iter().map(|row| {
        let (seq, timer): (i64, i64) = (row.try_get("seq")?, row.try_get("timer")?);
        let due: i64 = row.try_get("due")?;
        let attempt: i64 = row.try_get("attempt")?;
        Ok(Waiting {
            seq: u64::try_from(seq).unwrap_or(0),
            is_timer: timer != 0,
            work: row.try_get("work")?,
            created: row.try_get("created")?,
            due: (timer != 0).then_some(due),
            attempts: (timer == 0).then_some(attempt),
            error: row.try_get("error")?,
        })
    });
    waiting.collect()
}
