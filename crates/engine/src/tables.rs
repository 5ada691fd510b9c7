//! Everything in the tables of a store, out to a file and in from one. Separate from the queries of a service, because these
//! concern all keys at once, while nobody works.

use crate::archive::wire::{
    AgentLine, CellLine, DeliveryLine, EffectLine, InputLine, LifeLine, Line, TimerLine, TokenLine,
};
use crate::archive::{Moved, Reader, Writer};
use crate::clock::SystemClock;
use crate::delivery::{OUTSIDE, parse};
use crate::error::{EngineError, Result};
use crate::machine::{EffectId, Lane};
use crate::session::Session;
use crate::store::Store;
use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;
use std::io::Write;

/// Rows that are read at once.
const PAGE: i64 = 200;
/// The tables in which a store keeps what is moved, with the words for their rows.
const TABLES: [(&str, &str); 5] = [
    ("SELECT COUNT(*) AS found FROM pull", "pull requests"),
    ("SELECT COUNT(*) AS found FROM agent", "agents"),
    ("SELECT COUNT(*) AS found FROM token", "API tokens"),
    ("SELECT COUNT(*) AS found FROM cell", "sessions"),
    ("SELECT COUNT(*) AS found FROM inbox", "deliveries"),
];

/// Writes all of a store that no process works on.
pub(crate) async fn export(store: &Store, to: &mut (dyn Write + Send)) -> Result<Moved> {
    let id = store.id().await?;
    let mut session = store.begin().await?;
    // One moment of all tables, also if somebody writes to them meanwhile.
    if !session.dialect.snapshot.is_empty() {
        session.script(session.dialect.snapshot).await?;
    }
    let now = session.now(&SystemClock::default()).await?;
    if store.is_shared() {
        let leased =
            sqlx::query("SELECT COUNT(*) AS found FROM task WHERE owner <> '' AND due > $1");
        let effects = count(&mut session, leased.bind(now)).await?;
        if effects > 0 {
            return Err(EngineError::AtWork {
                store: store.name().to_owned(),
                effects,
            });
        }
    }
    let mut file = Writer::begin(to, &id, now)?;
    agents(&mut session, &mut file).await?;
    tokens(&mut session, &mut file).await?;
    cells(&mut session, &mut file).await?;
    lives(&mut session, &mut file).await?;
    deliveries(&mut session, &mut file).await?;
    Ok(file.end()?)
}

async fn count(session: &mut Session, query: crate::session::Statement<'_>) -> Result<i64> {
    match session.optional(query).await? {
        Some(row) => Ok(row.try_get("found")?),
        None => Ok(0),
    }
}

async fn agents(session: &mut Session, file: &mut Writer<'_>) -> Result<()> {
    let query =
        sqlx::query("SELECT name, login, sealed, persona, created FROM agent ORDER BY name");
    for row in session.all(query).await? {
        file.put(&Line::Agent(AgentLine {
            name: row.try_get("name")?,
            login: row.try_get("login")?,
            sealed: row.try_get("sealed")?,
            persona: row.try_get("persona")?,
            created: row.try_get("created")?,
        }))?;
    }
    Ok(())
}

async fn tokens(session: &mut Session, file: &mut Writer<'_>) -> Result<()> {
    let query = sqlx::query("SELECT name, hash, role, created FROM token ORDER BY name");
    for row in session.all(query).await? {
        file.put(&Line::Token(TokenLine {
            name: row.try_get("name")?,
            hash: row.try_get("hash")?,
            role: row.try_get("role")?,
            created: row.try_get("created")?,
        }))?;
    }
    Ok(())
}

async fn cells(session: &mut Session, file: &mut Writer<'_>) -> Result<()> {
    let mut last = String::new();
    loop {
        let query = sqlx::query(
            "SELECT name, version, text FROM cell WHERE name > $1 ORDER BY name LIMIT $2",
        );
        let rows = session.all(query.bind(last.clone()).bind(PAGE)).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            last = row.try_get("name")?;
            file.put(&Line::Cell(CellLine {
                name: last.clone(),
                version: row.try_get("version")?,
                text: row.try_get("text")?,
            }))?;
        }
    }
}

async fn lives(session: &mut Session, file: &mut Writer<'_>) -> Result<()> {
    let mut last = String::new();
    loop {
        let query = sqlx::query(
            "SELECT key, version, state, phase, changed FROM pull WHERE key > $1 ORDER BY key LIMIT $2",
        );
        let rows = session.all(query.bind(last.clone()).bind(PAGE)).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            last = row.try_get("key")?;
            let life = life(session, &last, &row).await?;
            file.put(&Line::Life(Box::new(life)))?;
        }
    }
}

async fn life(session: &mut Session, key: &str, row: &AnyRow) -> Result<LifeLine> {
    let (effects, timers) = tasks(session, key).await?;
    Ok(LifeLine {
        key: key.to_owned(),
        version: row.try_get("version")?,
        state: json("the state", key, row, "state")?,
        phase: row.try_get("phase")?,
        changed: row.try_get("changed")?,
        history: history(session, key).await?,
        effects,
        timers,
    })
}

async fn history(session: &mut Session, key: &str) -> Result<Vec<InputLine>> {
    let query = sqlx::query(
        "SELECT n, at, delivery, input, log, phase FROM history WHERE key = $1 ORDER BY n",
    );
    let rows = session.all(query.bind(key)).await?;
    let inputs = rows.iter().map(|row| {
        let log: String = row.try_get("log")?;
        Ok(InputLine {
            n: row.try_get("n")?,
            at: row.try_get("at")?,
            delivery: row.try_get("delivery")?,
            input: json("an input", key, row, "input")?,
            log: parse("the log", key, &log)?,
            phase: row.try_get("phase")?,
        })
    });
    inputs.collect()
}

/// A slow effect with a fast one of its key behind it is a fast one, too.
async fn tasks(session: &mut Session, key: &str) -> Result<(Vec<EffectLine>, Vec<TimerLine>)> {
    let query = sqlx::query(
        "SELECT seq, timer, lane, work, created, due FROM task WHERE key = $1 ORDER BY seq",
    );
    let (mut effects, mut timers) = (Vec::<EffectLine>::new(), Vec::new());
    for row in session.all(query.bind(key)).await? {
        let (seq, timer, lane): (i64, i64, i64) = (
            row.try_get("seq")?,
            row.try_get("timer")?,
            row.try_get("lane")?,
        );
        let seq = u64::try_from(seq).unwrap_or(0);
        let created = row.try_get("created")?;
        if timer == 0 {
            let slow = lane != Lane::Fast.number();
            for before in &mut effects {
                before.slow &= slow;
            }
            effects.push(EffectLine {
                seq,
                slow,
                effect: json("an effect", key, &row, "work")?,
                created,
            });
        } else {
            timers.push(TimerLine {
                seq,
                due: row.try_get("due")?,
                input: json("a timer", key, &row, "work")?,
                created,
            });
        }
    }
    Ok((effects, timers))
}

/// Those from outside: an effect that ended is no task any more, so nobody delivers its outcome again.
async fn deliveries(session: &mut Session, file: &mut Writer<'_>) -> Result<()> {
    let mut last = OUTSIDE.to_owned();
    // The sign after the colon.
    let end = OUTSIDE.replace(':', ";");
    loop {
        let query = sqlx::query(
            "SELECT delivery, key, at FROM inbox WHERE delivery > $1 AND delivery < $2
             ORDER BY delivery LIMIT $3",
        );
        let query = query.bind(last.clone()).bind(end.clone()).bind(PAGE);
        let rows = session.all(query).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            last = row.try_get("delivery")?;
            file.put(&Line::Delivery(DeliveryLine {
                id: last.clone(),
                key: row.try_get("key")?,
                at: row.try_get("at")?,
            }))?;
        }
    }
}

fn json(what: &'static str, key: &str, row: &AnyRow, column: &str) -> Result<Value> {
    let text: String = row.try_get(column)?;
    parse(what, key, &text)
}

/// Puts all of a file into an empty store: all of it, or nothing.
pub(crate) async fn import(store: &Store, file: &mut Reader<'_>) -> Result<Moved> {
    let mut session = store.begin().await?;
    if !session.dialect.lock_tables.is_empty() {
        session.script(session.dialect.lock_tables).await?;
    }
    let mut has = Vec::new();
    for (query, words) in TABLES {
        let found = count(&mut session, sqlx::query(query)).await?;
        if found > 0 {
            has.push(format!("{words}: {found}"));
        }
    }
    if !has.is_empty() {
        return Err(EngineError::NotEmpty {
            store: store.name().to_owned(),
            has: has.join(", "),
        });
    }
    let name = sqlx::query(
        "INSERT INTO meta (name, value) VALUES ('store', $1)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    session.execute(name.bind(file.head.store.clone())).await?;
    while let Some(line) = file.next()? {
        put(&mut session, line).await?;
    }
    session.commit().await?;
    Ok(file.moved())
}

async fn put(session: &mut Session, line: Line) -> Result<()> {
    let query = match line {
        Line::Life(whole) => return put_life(session, &whole).await,
        Line::Agent(agent) => sqlx::query(
            "INSERT INTO agent (name, login, sealed, persona, created) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(agent.name)
        .bind(agent.login)
        .bind(agent.sealed)
        .bind(agent.persona)
        .bind(agent.created),
        Line::Token(token) => {
            sqlx::query("INSERT INTO token (name, hash, role, created) VALUES ($1, $2, $3, $4)")
                .bind(token.name)
                .bind(token.hash)
                .bind(token.role)
                .bind(token.created)
        }
        Line::Cell(cell) => {
            sqlx::query("INSERT INTO cell (name, version, text) VALUES ($1, $2, $3)")
                .bind(cell.name)
                .bind(cell.version)
                .bind(cell.text)
        }
        // Restate keeps them apart by their keys, the tables do not.
        Line::Delivery(delivery) => sqlx::query(
            "INSERT INTO inbox (delivery, key, at) VALUES ($1, $2, $3) ON CONFLICT (delivery) DO NOTHING",
        )
        .bind(delivery.id)
        .bind(delivery.key)
        .bind(delivery.at),
    };
    session.execute(query).await?;
    Ok(())
}

async fn put_life(session: &mut Session, life: &LifeLine) -> Result<()> {
    let insert = sqlx::query(
        "INSERT INTO pull (key, version, state, phase, changed) VALUES ($1, $2, $3, $4, $5)",
    );
    let insert = insert.bind(&life.key).bind(life.version);
    let insert = insert.bind(life.state.to_string()).bind(&life.phase);
    session.execute(insert.bind(life.changed)).await?;
    for input in &life.history {
        let insert = sqlx::query(
            "INSERT INTO history (key, n, at, delivery, input, log, phase) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        );
        let insert = insert.bind(&life.key).bind(input.n).bind(input.at);
        let insert = insert.bind(&input.delivery).bind(input.input.to_string());
        let log = Value::from(input.log.clone()).to_string();
        session.execute(insert.bind(log).bind(&input.phase)).await?;
    }
    for effect in &life.effects {
        let lane = if effect.slow { Lane::Slow } else { Lane::Fast };
        let task = Task {
            seq: effect.seq,
            timer: 0,
            lane,
            work: &effect.effect,
            created: effect.created,
            due: effect.created,
        };
        task.put(session, &life.key).await?;
    }
    for timer in &life.timers {
        let task = Task {
            seq: timer.seq,
            timer: 1,
            lane: Lane::Fast,
            work: &timer.input,
            created: timer.created,
            due: timer.due,
        };
        task.put(session, &life.key).await?;
    }
    Ok(())
}

/// An effect or a timer on its way into the table `task`.
struct Task<'a> {
    seq: u64,
    timer: i64,
    lane: Lane,
    work: &'a Value,
    created: i64,
    due: i64,
}

impl Task<'_> {
    async fn put(&self, session: &mut Session, key: &str) -> Result<()> {
        let id = EffectId {
            key: key.to_owned(),
            seq: self.seq,
        };
        let insert = sqlx::query(
            "INSERT INTO task (id, key, seq, timer, lane, work, created, due, attempt, owner, error)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', '')",
        );
        let seq = i64::try_from(self.seq).unwrap_or(i64::MAX);
        let insert = insert.bind(id.to_string()).bind(key).bind(seq);
        let insert = insert.bind(self.timer).bind(self.lane.number());
        let insert = insert.bind(self.work.to_string()).bind(self.created);
        session.execute(insert.bind(self.due)).await?;
        Ok(())
    }
}
