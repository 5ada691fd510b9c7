//! The queue in the table `task`: leases with fences, heartbeats, timers, and how long everything waits.

use crate::error::Result;
use crate::machine::{EffectId, Lane};
use crate::session::Session;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

/// A task of the store. `attempt` is the fence: whoever leases it later has a higher one.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) id: EffectId,
    /// The effect or the timer's input, as JSON.
    pub(crate) work: String,
    pub(crate) attempt: i64,
    /// The error of the last attempt.
    pub(crate) error: String,
}

/// Work that waits in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Effects that are not done, those being executed included.
    pub effects: i64,
    pub timers: i64,
    /// The age of the oldest effect that is not done.
    pub oldest_ms: i64,
}

impl Task {
    fn read(row: &AnyRow) -> Result<Self> {
        let seq: i64 = row.try_get("seq")?;
        Ok(Self {
            id: EffectId {
                key: row.try_get("key")?,
                seq: u64::try_from(seq).unwrap_or(0),
            },
            work: row.try_get("work")?,
            attempt: row.try_get("attempt")?,
            error: row.try_get("error")?,
        })
    }
}

/// The lane of a slow effect that is held back.
const HELD: i64 = 2;

/// The statement that leases tasks: of each key the effect with the lowest number, so that a key has one at a time.
/// A slow effect counts as fast while a fast one of its key waits behind it, and as slow when it was held back.
///
/// Several processes on PostgreSQL execute it at once, each with a snapshot of its own (READ COMMITTED). It holds there, too:
/// - A row that another process leased since the snapshot is skipped while it is locked. Afterwards its condition is judged
///   again on the new row: `due` is in the future, or the row is gone.
/// - The next effect of a key is chosen only by a snapshot without the effect before it, so only after the commit that
///   ended that one. An effect with a lower number never appears later: the row in `pull` orders the steps of a key.
/// - A subquery in `IN (…)` may be executed once per row, and then takes more rows than `LIMIT` allows. One in `WITH` that
///   locks rows is executed once.
pub(crate) fn lease_statement(skip_locked: &str) -> String {
    format!(
        "WITH chosen AS (
            SELECT t.id FROM task t WHERE t.due <= $3 AND t.timer = 0
               AND NOT EXISTS (SELECT 1 FROM task e WHERE e.key = t.key AND e.timer = 0 AND e.seq < t.seq)
               AND (SELECT MIN(CASE WHEN f.lane = 0 THEN 0 ELSE 1 END) FROM task f WHERE f.key = t.key AND f.timer = 0) = $4
            ORDER BY t.due, t.created, t.id LIMIT $5 {skip_locked})
         UPDATE task SET due = $1, attempt = attempt + 1, owner = $2 WHERE id IN (SELECT id FROM chosen)
         RETURNING key, seq, work, attempt, error"
    )
}

/// A request for tasks.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    pub(crate) statement: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) now: i64,
    pub(crate) until: i64,
}

impl Lease<'_> {
    /// Takes at most `most` tasks of a lane that are due.
    pub(crate) async fn take(
        &self,
        session: &mut Session,
        lane: Lane,
        most: usize,
    ) -> Result<Vec<Task>> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let query = sqlx::query(AssertSqlSafe(self.statement));
        let query = query.bind(self.until).bind(self.owner).bind(self.now);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = session
            .changed_rows(query.bind(lane.number()).bind(most))
            .await?;
        rows.iter().map(Task::read).collect()
    }
}

/// Lengthens a lease. False: it was lost, or the task was given back, and this comes late.
pub(crate) async fn heartbeat(session: &mut Session, task: &Task, until: i64) -> Result<bool> {
    let query =
        sqlx::query("UPDATE task SET due = $3 WHERE id = $1 AND attempt = $2 AND owner <> ''");
    let query = query.bind(task.id.to_string()).bind(task.attempt);
    Ok(session.execute(query.bind(until)).await? == 1)
}

/// Removes a task that is done. False: the lease was lost, and whoever has it now ends the task.
pub(crate) async fn remove(session: &mut Session, task: &Task) -> Result<bool> {
    let query = sqlx::query("DELETE FROM task WHERE id = $1 AND attempt = $2");
    let query = query.bind(task.id.to_string()).bind(task.attempt);
    Ok(session.execute(query).await? == 1)
}

/// Gives a task back until `due`, with the error of this attempt.
pub(crate) async fn postpone(
    session: &mut Session,
    task: &Task,
    due: i64,
    error: &str,
) -> Result<bool> {
    let query = sqlx::query(
        "UPDATE task SET due = $3, error = $4, owner = '' WHERE id = $1 AND attempt = $2",
    );
    let query = query.bind(task.id.to_string()).bind(task.attempt);
    // PostgreSQL's texts hold every character but this one.
    let error = error.replace('\0', "\u{fffd}");
    Ok(session.execute(query.bind(due).bind(error)).await? == 1)
}

/// Gives a slow effect back until `due`. The attempt does not count, because nothing was tried. False: the effect was hurried
/// meanwhile, or the lease was lost.
pub(crate) async fn hold_back(session: &mut Session, task: &Task, due: i64) -> Result<bool> {
    let query = sqlx::query(
        "UPDATE task SET due = $3, lane = $4, attempt = attempt - 1, owner = ''
         WHERE id = $1 AND attempt = $2 AND lane <> 0",
    );
    let query = query.bind(task.id.to_string()).bind(task.attempt);
    Ok(session.execute(query.bind(due).bind(HELD)).await? == 1)
}

/// Makes the waiting effects of a key fast. What was held back is due at once.
pub(crate) async fn hurry(session: &mut Session, key: &str, now: i64) -> Result<()> {
    let query = sqlx::query(
        "UPDATE task SET due = CASE WHEN lane = $3 THEN $2 ELSE due END, lane = 0 WHERE key = $1 AND timer = 0",
    );
    session
        .execute(query.bind(key).bind(now).bind(HELD))
        .await?;
    Ok(())
}

/// Timers that are due, the earliest first.
pub(crate) async fn due_timers(session: &mut Session, now: i64, most: i64) -> Result<Vec<Task>> {
    let query = sqlx::query(
        "SELECT key, seq, work, attempt, error FROM task WHERE due <= $1 AND timer = 1
         ORDER BY due, created, seq, id LIMIT $2",
    );
    let rows = session.all(query.bind(now).bind(most)).await?;
    rows.iter().map(Task::read).collect()
}

/// The next time after `now` at which something becomes due.
pub(crate) async fn next_due(session: &mut Session, now: i64) -> Result<Option<i64>> {
    let query = sqlx::query("SELECT MIN(due) AS due FROM task WHERE due > $1");
    match session.optional(query.bind(now)).await? {
        Some(row) => Ok(row.try_get("due")?),
        None => Ok(None),
    }
}

/// Ends the leases of an earlier process, which is dead. Its tasks are due at once.
pub(crate) async fn take_back(session: &mut Session, now: i64) -> Result<u64> {
    let query = sqlx::query("UPDATE task SET due = $1, owner = '' WHERE owner <> ''");
    session.execute(query.bind(now)).await
}

pub(crate) async fn backlog(session: &mut Session, now: i64) -> Result<Backlog> {
    let query = sqlx::query(
        "SELECT COUNT(CASE WHEN timer = 0 THEN 1 END) AS effects, COUNT(CASE WHEN timer = 1 THEN 1 END) AS timers,
                MIN(CASE WHEN timer = 0 THEN created END) AS oldest FROM task",
    );
    let Some(row) = session.optional(query).await? else {
        return Ok(Backlog::default());
    };
    let oldest: Option<i64> = row.try_get("oldest")?;
    Ok(Backlog {
        effects: row.try_get("effects")?,
        timers: row.try_get("timers")?,
        oldest_ms: oldest.map_or(0, |oldest| (now - oldest).max(0)),
    })
}
